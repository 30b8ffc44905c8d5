#include "kernels/cuda/systolic/systolic.hpp"

namespace blaslift::systolic {

cudaError_t multiply(const GemmBatch& p, cudaStream_t stream) {
  const Schedule schedule = schedule_of(p);
  const Deal deal = filling(schedule.m, schedule.n, p.count);
  return p.precision == Precision::s ? start(Variant::st, schedule, deal, operands_of<float>(p), stream)
                                     : start(Variant::st, schedule, deal, operands_of<double>(p), stream);
}

}  // namespace blaslift::systolic
