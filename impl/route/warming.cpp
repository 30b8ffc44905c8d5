#include "impl/route/warming.hpp"

#include <algorithm>
#include <atomic>
#include <complex>
#include <exception>
#include <vector>

#include "impl/route/family.hpp"

namespace blaslift {
namespace {

using Kind = Operation::Kind;

/// One operation after the other, on matrices of a lease.
template <class T>
class Sample {
 public:
  Sample(Backend& backend, Arena& arena, index n)
      : backend_(backend),
        arena_(arena),
        order_(n),
        elements_(static_cast<std::size_t>(n * n)),
        bytes_((3 * elements_ + static_cast<std::size_t>(5 * n)) * sizeof(T)),
        matrix_(elements_),
        result_(elements_) {
    // Small numbers beside a large diagonal: such a matrix has every factor and decomposition.
    std::uint32_t state = 1;
    for (T& x : matrix_) x = static_cast<Real<T>>((state = state * 1664525u + 1013904223u) >> 8) / Real<T>(1 << 24);
    for (index i = 0; i < order_; ++i) matrix_[static_cast<std::size_t>(i * (order_ + 1))] = Real<T>(2 * order_ + i);
    Status status = Status::lost;
    if (arena_.take(bytes_, false, memory_) != Status::done) memory_ = nullptr;
    if (memory_) lane_ = backend_.acquire({}, bytes_, status);
  }
  ~Sample() {
    if (lane_) backend_.release(lane_);
    if (memory_) arena_.give_back(memory_, bytes_);
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  /// False: nothing more can be computed.
  bool compute(Kind kind) {
    switch (kind) {
      case Kind::gemm:
        return ask(product(Op::none, Op::none)) && ask(product(Op::none, Op::conjugate)) &&
               ask(product(Op::conjugate, Op::none));
      case Kind::trsm:
        return ask(Trsm{.precision = precision,
                        .side = Side::left,
                        .uplo = Uplo::lower,
                        .trans = Op::none,
                        .unit = false,
                        .m = order_,
                        .n = order_,
                        .alpha = &one,
                        .A = at(first),
                        .lda = order_,
                        .B = at(second),
                        .ldb = order_});
      case Kind::potrf:
        return ask(Potrf{.precision = precision,
                         .uplo = Uplo::lower,
                         .n = order_,
                         .A = at(first),
                         .lda = order_,
                         .failed = at(rest)}) &&
               compute(Kind::trsm);  // as potrf has them
      case Kind::getrf:
        return ask(Getrf{.precision = precision,
                         .m = order_,
                         .n = order_,
                         .A = at(first),
                         .lda = order_,
                         .pivots = vector(0),
                         .failed = at(rest)});
      case Kind::syevd:
        return ask(Syevd{.precision = precision,
                         .vectors = true,
                         .uplo = Uplo::lower,
                         .n = order_,
                         .first = 0,
                         .count = order_,
                         .A = at(first),
                         .lda = order_,
                         .V = at(first),
                         .ldv = order_,
                         .w = vector(0),
                         .failed = at(rest)});
      case Kind::gebrd:
        return ask(Gebrd{.precision = precision,
                         .m = order_,
                         .n = order_,
                         .A = at(first),
                         .lda = order_,
                         .d = vector(0),
                         .e = vector(1),
                         .tauq = vector(2),
                         .taup = vector(3),
                         .failed = at(rest)});
      case Kind::sytrd:
        return ask(Sytrd{.precision = precision,
                         .uplo = Uplo::lower,
                         .n = order_,
                         .A = at(first),
                         .lda = order_,
                         .d = vector(0),
                         .e = vector(1),
                         .tau = vector(2),
                         .failed = at(rest)});
      case Kind::gehrd:
        return ask(Gehrd{.precision = precision,
                         .rows = order_,
                         .cols = order_,
                         .above = 0,
                         .A = at(first),
                         .lda = order_,
                         .tau = vector(0),
                         .failed = at(rest)});
      case Kind::geqp3:
        return ask(Geqp3{.precision = precision,
                         .m = order_,
                         .n = order_,
                         .A = at(first),
                         .lda = order_,
                         .fixed = vector(0),
                         .order = vector(1),
                         .tau = vector(2),
                         .failed = at(rest)});
      case Kind::svd:
        return ask(Svd{.precision = precision,
                       .m = order_,
                       .n = order_,
                       .u_cols = order_,
                       .vt_rows = order_,
                       .u_in_a = false,
                       .vt_in_a = false,
                       .A = at(first),
                       .lda = order_,
                       .U = at(second),
                       .ldu = order_,
                       .VT = at(third),
                       .ldvt = order_,
                       .s = vector(0),
                       .failed = at(rest)});
      case Kind::geev:
        return ask(Geev{.precision = precision,
                        .vectors = true,
                        .n = order_ / 4,  // it takes long
                        .A = at(first),
                        .lda = order_,
                        .VR = at(second),
                        .ldvr = order_,
                        .w = vector(0),
                        .wi = vector(1),
                        .failed = at(rest)});
      default: return true;  // a kernel or two of our own, which are loaded in no time
    }
  }

 private:
  static constexpr Precision precision = precision_of<T>;
  enum { first, second, third, rest };  ///< three matrices; an element that says what failed, and four vectors
  static constexpr T one{1}, zero{0};

  void* at(int area) const { return static_cast<T*>(memory_) + static_cast<std::size_t>(area) * elements_; }
  void* vector(index i) const { return static_cast<T*>(at(rest)) + (1 + i) * order_; }

  Gemm product(Op a, Op b) const {
    return {.precision = precision,
            .transa = a,
            .transb = b,
            .m = order_,
            .n = order_,
            .k = order_,
            .alpha = &one,
            .A = at(first),
            .lda = order_,
            .B = at(second),
            .ldb = order_,
            .beta = &zero,
            .C = at(third),
            .ldc = order_};
  }

  /// With the matrix in both of the first areas, whatever was there.  What comes back is of no use but for the way.
  bool ask(const auto& x) {
    if (!lane_) return false;
    constexpr Ticket uploads[] = {0, 1};
    bool good = true;
    for (const int area : {first, second})
      good = good && lane_->upload({.device = at(area),
                                    .ldd = order_,
                                    .host = matrix_.data(),
                                    .ldh = order_,
                                    .rows = order_,
                                    .cols = order_,
                                    .element = sizeof(T)},
                                   {nullptr, 0}) == Status::done;
    good = good && lane_->ask(x, {uploads, 2}) == Status::done;
    constexpr Ticket operation = 2;
    std::atomic<bool> landed{false};
    const auto column = order_ * static_cast<index>(sizeof(T));
    const index cols = std::min(order_, static_cast<index>(backend_.facts().piece_bytes) / column);
    if (good && cols > 0)
      good = lane_->download({.device = at(third),
                              .ldd = order_,
                              .host = result_.data(),
                              .ldh = order_,
                              .rows = order_,
                              .cols = cols,
                              .element = sizeof(T)},
                             {&operation, 1}, landed) == Status::done;
    return lane_->drain() == Status::done && good;
  }

  Backend& backend_;
  Arena& arena_;
  const index order_;
  const std::size_t elements_, bytes_;
  std::vector<T> matrix_, result_;
  void* memory_ = nullptr;
  Lane* lane_ = nullptr;
};

template <class T>
void warm_for(Operation::Kinds kinds, Sample<T>&& sample, const std::function<bool(Operation::Kind, Precision)>& can,
              const std::function<bool()>& goes_on) {
  (void)kinds.all(
      [&](Operation::Kind kind) { return goes_on() && (!can(kind, precision_of<T>) || sample.compute(kind)); });
}

}  // namespace

void warm(Backend& backend, Arena& arena, const Routines& expected,
          const std::function<bool(Operation::Kind, Precision)>& can, const std::function<bool()>& goes_on,
          index order) try {
  const auto prepare = [&]<class T>(Operation::Kinds kinds, T) {
    warm_for(kinds, Sample<T>(backend, arena, order), can, goes_on);
  };
  if (!backend.facts().loads_when_used) return;
  for (const Precision precision : {Precision::d, Precision::s, Precision::z, Precision::c}) {
    bool any = expected.none() && precision == Precision::d;
    Operation::Kinds kinds = Operation::Kinds::none();
    if (any) kinds = Kind::gemm;
    for (int r = 0; r < routine_count; ++r) {
      const auto routine = static_cast<Routine>(r);
      if (!expected[static_cast<std::size_t>(r)] || name_of(routine)[0] != letter(precision)) continue;
      any = true;
      const Family& family = family_of(routine);
      kinds = kinds | family.needs;
      if (!family.lives_on_copies) kinds = kinds | Kind::gemm;
    }
    if (!any) continue;
    switch (precision) {
      case Precision::s: prepare(kinds, float()); break;
      case Precision::d: prepare(kinds, double()); break;
      case Precision::c: prepare(kinds, std::complex<float>()); break;
      case Precision::z: prepare(kinds, std::complex<double>()); break;
    }
  }
} catch (const std::exception&) {  // without memory on the host: calls do it themselves
}

}  // namespace blaslift
