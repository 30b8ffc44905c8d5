#include <algorithm>

#include "kernels/cuda/qr/qr_panel.hpp"
#include "kernels/cuda/qr/qr_panel_kernels.hpp"

namespace blaslift {
namespace {

using namespace qr_kernels;

template <class T>
std::size_t bytes() {
  Job<T> job{};
  return place_workspace(job, nullptr);
}

template <class T, int N>
constexpr std::size_t most_shared() {
  return std::max({sizeof(GramShared<T, N>), sizeof(SolveShared<T, N>), sizeof(SmallShared<Wide<T>, N>),
                   sizeof(HouseholderShared<T, N>)});
}

}  // namespace

index qr_panel_columns(Precision precision) {
  return is_complex(precision) ? most_columns<Complex<double>> : most_columns<double>;
}

std::size_t qr_panel_workspace() {
  return std::max({bytes<float>(), bytes<double>(), bytes<Complex<float>>(), bytes<Complex<double>>()});
}

std::size_t qr_panel_shared_memory() {
  return std::max({most_shared<float, 64>(), most_shared<double, 64>(), most_shared<Complex<float>, 32>(),
                   most_shared<Complex<double>, 32>()});
}

cudaError_t qr_panel(const QrPanel& p, void* workspace, cudaStream_t stream, bool householder) {
  switch (p.precision) {
    case Precision::s: return qr_panel_s(p, workspace, stream, householder);
    case Precision::d: return qr_panel_d(p, workspace, stream, householder);
    case Precision::c: return qr_panel_c(p, workspace, stream, householder);
    case Precision::z: return qr_panel_z(p, workspace, stream, householder);
  }
  return cudaErrorInvalidValue;
}

}  // namespace blaslift
