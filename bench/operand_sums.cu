// What it could gain to add blocks while a product loads its operands, as a leaf of Strassen's levels would:
// C := (A1 - A2) (B1 + B2), of square quarters of larger matrices, by
//
//   cublas     cuBLAS's product of A1 and B1: no additions, for comparison
//   passes     S := A1 - A2, T := B1 + B2, each a pass over memory, then cuBLAS's product of S and T
//   pass       S alone, then cuBLAS's product of S and B1
//   plain      CUTLASS's product of A1 and B1, operands copied to shared memory asynchronously
//   staged     the same through registers, in two stages, as additions on the way need it
//   summed     staged, and both blocks of each operand are loaded and added on the way to shared memory
//   half       the same with A's alone
//
//   operand_sums [--precision s|d] [--sizes N,...] [--repetitions R] [--only WHAT,...]
//
// Each is timed R times in turns, after a pass over as much memory as S and T (a GPU that multiplies without a pause
// draws more power, which slows it).  Prints a line of JSON for each shape ("threadblock/warp/instruction/stages", of C
// transposed, as CUTLASS's row-major C wants it), then one with what follows for the size:
//
//   best       fastest of CUTLASS's kernels of each kind, over cuBLAS's product
//   at_most    passes over the fastest product without additions, of whomever: all that there is to gain
//   gain       passes over the fastest summed
//   half       pass over the fastest half
//
// The check: eight rows and columns of C beside sums in twice the precision, errors relative to the largest entry seen;
// C is all NaN before.  Exit status 1 if something is wrong.
//
// Built where BLASLIFT_CUTLASS_DIR names CUTLASS's headers (4.x; PyPI's nvidia-cutlass has them).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/samples.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/gemm/kernel/default_gemm.h"
#include "cutlass/gemm/threadblock/mma_pipelined.h"
#include "cutlass/gemm/threadblock/threadblock_swizzle.h"
#include "cutlass/version.h"

namespace bench {
namespace {

// ---- additions on the way to shared memory

/// Loads tiles of two matrices of one layout that lie `second` elements apart; the fragment holds one's, then the
/// other's, and nothing waits for either before the fragment is used.
template <class Tiles>
class TwoTiles {
 public:
  using Element = typename Tiles::Element;
  using Layout = typename Tiles::Layout;
  using TensorRef = typename Tiles::TensorRef;
  using TensorCoord = typename Tiles::TensorCoord;
  using AccessType = typename Tiles::AccessType;
  using Pointer = typename Tiles::Pointer;
  using One = typename Tiles::Fragment;
  using Fragment = cutlass::Array<Element, 2 * One::kElements>;
  struct Params : Tiles::Params {
    index second = 0;
    using Tiles::Params::Params;
  };

  CUTLASS_DEVICE TwoTiles(const Params& params, Pointer at, TensorCoord extent, int thread, const TensorCoord& offset,
                          const int* indices)
      : first_(params, at, extent, thread, offset, indices),
        second_(params, at + params.second, extent, thread, offset, indices) {}

  CUTLASS_DEVICE void load(Fragment& fragment) {
    One* parts = reinterpret_cast<One*>(&fragment);
    first_.load(parts[0]);
    second_.load(parts[1]);
  }
  CUTLASS_DEVICE TwoTiles& operator++() {
    ++first_;
    ++second_;
    return *this;
  }
  CUTLASS_DEVICE void clear_mask(bool clear) {
    first_.clear_mask(clear);
    second_.clear_mask(clear);
  }

 private:
  Tiles first_, second_;
};

/// What TwoTiles has loaded, added.
template <class Fragment, int sign>
struct Add {
  static constexpr int count = Fragment::kElements / 2;
  CUTLASS_DEVICE cutlass::Array<typename Fragment::Element, count> operator()(const Fragment& both) const {
    cutlass::Array<typename Fragment::Element, count> sum;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < count; ++i) sum[i] = both[i] + sign * both[count + i];
    return sum;
  }
};

template <class Fragment>
struct Keep {
  CUTLASS_DEVICE const Fragment& operator()(const Fragment& fragment) const { return fragment; }
};

/// CUTLASS writes tiles of doubles for the tensor cores by asynchronous copies only: the same places, from registers.
template <class Places, int down, int right>
class FromRegisters : public Places {
 public:
  using Fragment = cutlass::Array<typename Places::Element,
                                  Places::ThreadMap::Iterations::kCount * Places::ThreadMap::kElementsPerAccess>;
  using Places::Places;

  CUTLASS_DEVICE void store(const Fragment& fragment) {
    using Access = typename Places::AccessType;
    static_assert(sizeof(Access) * Places::ThreadMap::Iterations::kCount == sizeof(Fragment));
    const Access* from = reinterpret_cast<const Access*>(&fragment);
    this->set_iteration_index(0);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < Places::ThreadMap::Iterations::kCount; ++i) {
      *this->get() = from[i];
      Places::operator++();
    }
  }
  CUTLASS_DEVICE FromRegisters& operator++() {
    this->add_tile_offset({down, right});
    return *this;
  }
};

// ---- kernels

using cutlass::gemm::GemmCoord;
using cutlass::gemm::GemmShape;
using cutlass::layout::RowMajor;
using Swizzle = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>;

/// C transposed is B transposed times A transposed, all in rows.
template <class T>
struct Operands {
  int n;
  const T *A1, *A2, *B1, *B2;
  index ld;  ///< of A and B
  T* C;
  index ldc;
};

/// CUTLASS's own has no bound on registers, and large blocks could not start.
template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreadCount)
    product(const __grid_constant__ typename Kernel::Params params) {
  extern __shared__ __align__(16) char memory[];
  Kernel()(params, *reinterpret_cast<typename Kernel::SharedStorage*>(memory));
}

template <class Kernel>
void start(const Operands<typename Kernel::Epilogue::OutputTileIterator::Element>& x) {
  using T = typename Kernel::Epilogue::OutputTileIterator::Element;
  const GemmCoord size{x.n, x.n, x.n}, tile{Kernel::Mma::Shape::kM, Kernel::Mma::Shape::kN, Kernel::Mma::Shape::kK};
  const GemmCoord tiles = Swizzle::get_tiled_shape(size, tile, 1);
  const RowMajor layout(x.ld), layout_c(x.ldc);
  typename Kernel::Params params(size, tiles, {const_cast<T*>(x.B1), layout}, {const_cast<T*>(x.A1), layout},
                                 {x.C, layout_c}, {x.C, layout_c}, {T{1}, T{0}});
  if constexpr (requires { params.params_A.second; }) params.params_A.second = x.B2 - x.B1;
  if constexpr (requires { params.params_B.second; }) params.params_B.second = x.A2 - x.A1;
  constexpr auto bytes = static_cast<int>(sizeof(typename Kernel::SharedStorage));
  static const bool allowed = [] {
    check(cudaFuncSetAttribute(product<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    return true;
  }();
  static_cast<void>(allowed);
  product<Kernel><<<Swizzle::get_grid_shape(tiles), Kernel::kThreadCount, bytes>>>(params);
  check(cudaGetLastError());
}

template <class T>
struct Variant {
  const char *what, *shape;
  std::function<void(const Operands<T>&)> start;
};

template <class T, class Class, class Arch, class Block, class Warp, class Instruction, int stages, int wide>
struct Kernels {
  using Output = cutlass::epilogue::thread::LinearCombination<T, wide, T, T>;
  template <int depth>
  using Default =
      cutlass::gemm::kernel::DefaultGemm<T, RowMajor, 1, T, RowMajor, 1, T, RowMajor, T, Class, Arch, Block, Warp,
                                         Instruction, Output, Swizzle, depth, false, cutlass::arch::OpMultiplyAdd>;
  static constexpr bool simt = std::is_same_v<Class, cutlass::arch::OpClassSimt>;
  /// CUTLASS has iterators of a product in two stages for SIMT only; the tensor cores' do for any number of stages.
  using Core =
      cutlass::gemm::threadblock::DefaultMmaCore<Block, Warp, Instruction, T, RowMajor, T, RowMajor, T, RowMajor, Class,
                                                 simt ? 2 : stages, cutlass::arch::OpMultiplyAdd>;
  using SharedA =
      std::conditional_t<simt, typename Core::SmemIteratorA, FromRegisters<typename Core::SmemIteratorA, 0, 1>>;
  using SharedB =
      std::conditional_t<simt, typename Core::SmemIteratorB, FromRegisters<typename Core::SmemIteratorB, 1, 0>>;
  using TilesA =
      cutlass::transform::threadblock::PredicatedTileIterator<cutlass::MatrixShape<Block::kM, Block::kK>, T, RowMajor,
                                                              1, typename Core::IteratorThreadMapA, 1>;
  using TilesB =
      cutlass::transform::threadblock::PredicatedTileIterator<cutlass::MatrixShape<Block::kK, Block::kN>, T, RowMajor,
                                                              0, typename Core::IteratorThreadMapB, 1>;
  template <class A, class B, class OnA, class OnB>
  using Staged =
      cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::MmaPipelined<Block, A, SharedA, B, SharedB, T, RowMajor,
                                                                           typename Core::MmaPolicy, OnA, OnB>,
                                  typename Default<stages>::Epilogue, Swizzle, false>;

  /// CUTLASS's A is B transposed.
  static void plain(const Operands<T>& x) { start<typename Default<stages>::GemmKernel>(x); }
  static void staged(const Operands<T>& x) {
    start<Staged<TilesA, TilesB, Keep<typename TilesA::Fragment>, Keep<typename TilesB::Fragment>>>(x);
  }
  static void summed(const Operands<T>& x) {
    using A = TwoTiles<TilesA>;
    using B = TwoTiles<TilesB>;
    start<Staged<A, B, Add<typename A::Fragment, 1>, Add<typename B::Fragment, -1>>>(x);
  }
  static void half(const Operands<T>& x) {
    using B = TwoTiles<TilesB>;
    start<Staged<TilesA, B, Keep<typename TilesA::Fragment>, Add<typename B::Fragment, -1>>>(x);
  }
};

template <class Block, class Warp, int stages>
using Sm90 =
    Kernels<double, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm90, Block, Warp, GemmShape<16, 8, 4>, stages, 2>;
template <class Block, class Warp, int stages>
using Sm80 =
    Kernels<double, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, Block, Warp, GemmShape<8, 8, 4>, stages, 2>;
template <class Block, class Warp, int stages>
using Simt =
    Kernels<float, cutlass::arch::OpClassSimt, cutlass::arch::Sm80, Block, Warp, GemmShape<1, 1, 1>, stages, 1>;

template <class T>
std::vector<Variant<T>> variants() {
  if constexpr (std::is_same_v<T, double>) {
    using Large = Sm90<GemmShape<128, 128, 16>, GemmShape<32, 64, 16>, 3>;
    using Small = Sm90<GemmShape<64, 64, 16>, GemmShape<32, 32, 16>, 5>;
    using Middle = Sm90<GemmShape<128, 64, 16>, GemmShape<32, 32, 16>, 4>;
    return {
        {"plain", "128x128x16/32x64/16x8x4/3", Large::plain},
        {"plain", "128x128x16/32x64/16x8x4/4", Sm90<GemmShape<128, 128, 16>, GemmShape<32, 64, 16>, 4>::plain},
        {"plain", "128x128x16/64x32/16x8x4/3", Sm90<GemmShape<128, 128, 16>, GemmShape<64, 32, 16>, 3>::plain},
        {"plain", "128x64x16/32x32/16x8x4/4", Middle::plain},
        {"plain", "128x64x16/64x32/16x8x4/4", Sm90<GemmShape<128, 64, 16>, GemmShape<64, 32, 16>, 4>::plain},
        {"plain", "64x64x16/32x32/16x8x4/5", Small::plain},
        {"plain", "128x128x16/32x64/8x8x4/3", Sm80<GemmShape<128, 128, 16>, GemmShape<32, 64, 16>, 3>::plain},
        {"plain", "128x64x16/32x32/8x8x4/4", Sm80<GemmShape<128, 64, 16>, GemmShape<32, 32, 16>, 4>::plain},
        {"staged", "128x128x16/32x64/16x8x4/2", Large::staged},
        {"staged", "128x64x16/32x32/16x8x4/2", Middle::staged},
        {"staged", "64x64x16/32x32/16x8x4/2", Small::staged},
        {"summed", "128x128x16/32x64/16x8x4/2", Large::summed},
        {"summed", "128x64x16/32x32/16x8x4/2", Middle::summed},
        {"summed", "64x64x16/32x32/16x8x4/2", Small::summed},
        {"half", "128x128x16/32x64/16x8x4/2", Large::half},
        {"half", "128x64x16/32x32/16x8x4/2", Middle::half},
    };
  } else {
    using Large = Simt<GemmShape<256, 128, 8>, GemmShape<64, 64, 8>, 3>;
    using Wide = Simt<GemmShape<128, 256, 8>, GemmShape<64, 64, 8>, 3>;
    using Middle = Simt<GemmShape<128, 128, 8>, GemmShape<32, 64, 8>, 4>;
    return {
        {"plain", "256x128x8/64x64/1x1x1/3", Large::plain},    {"plain", "128x256x8/64x64/1x1x1/3", Wide::plain},
        {"plain", "128x128x8/32x64/1x1x1/4", Middle::plain},   {"staged", "256x128x8/64x64/1x1x1/2", Large::staged},
        {"staged", "128x256x8/64x64/1x1x1/2", Wide::staged},   {"staged", "128x128x8/32x64/1x1x1/2", Middle::staged},
        {"summed", "256x128x8/64x64/1x1x1/2", Large::summed},  {"summed", "128x256x8/64x64/1x1x1/2", Wide::summed},
        {"summed", "128x128x8/32x64/1x1x1/2", Middle::summed}, {"half", "256x128x8/64x64/1x1x1/2", Large::half},
        {"half", "128x128x8/32x64/1x1x1/2", Middle::half},
    };
  }
}

// ---- the passes that are saved

/// S := X + sign * Y, of n rows and columns, 16 bytes of a column at a time.
template <class T>
struct alignas(16) Pack {
  T of[16 / sizeof(T)];
};
template <class T>
struct AddBlocks {
  const T *x, *y;
  index ld, packs;  ///< of a column
  T sign, *to;      ///< packed
  BENCH_BOTH void operator()(index i) const {
    constexpr index wide = 16 / sizeof(T);
    const index row = i % packs * wide, col = i / packs;
    const auto a = *reinterpret_cast<const Pack<T>*>(x + row + col * ld);
    const auto b = *reinterpret_cast<const Pack<T>*>(y + row + col * ld);
    Pack<T> sum;
    for (index j = 0; j < wide; ++j) sum.of[j] = a.of[j] + sign * b.of[j];
    *reinterpret_cast<Pack<T>*>(to + i * wide) = sum;
  }
};

/// Whether column y of it is right.
template <class T>
struct Differs {
  const T *x, *y, *sum;
  index ld, n;
  double sign;
  int* found;
  BENCH_BOTH void operator()(index col) const {
    for (index row = 0; row < n; ++row) {
      const double exact = static_cast<double>(x[row + col * ld]) + sign * static_cast<double>(y[row + col * ld]);
      if (sum[row + col * n] != static_cast<T>(exact)) *found = 1;
    }
  }
};

// ---- one size

struct Event {
  cudaEvent_t get = nullptr;
  Event() { check(cudaEventCreate(&get)); }
  ~Event() { cudaEventDestroy(get); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record() { check(cudaEventRecord(get)); }
  double seconds_since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.get, get));
    return 1e-3 * milliseconds;
  }
};

struct Cublas {
  cublasHandle_t handle = nullptr;
  Cublas() { check(cublasCreate(&handle)); }
  ~Cublas() { cublasDestroy(handle); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  void multiply(int n, const double* A, index lda, const double* B, index ldb, double* C) {
    const double one = 1, zero = 0;
    check(cublasDgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, A, lda, B, ldb, &zero, C, n));
  }
  void multiply(int n, const float* A, index lda, const float* B, index ldb, float* C) {
    const float one = 1, zero = 0;
    check(cublasSgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, A, lda, B, ldb, &zero, C, n));
  }
};

struct Arguments {
  char precision = 'd';
  std::string sizes = "2560,4096,5120,8192", only;
  int repetitions = 9;
};

template <class T>
class Problem {
 public:
  Problem(Cublas& cublas, const Arguments& arguments, int n)
      : arguments_(arguments),
        cublas_(cublas),
        n_(n),
        A_(4 * square()),
        B_(4 * square()),
        S_(square()),
        T_(square()),
        C_(square()),
        differs_(1) {
    const index ld = 2 * n_;
    // The quarters that RUM's first products take.
    x_ = {n, A_.get(), A_.get() + n_, B_.get() + n_ + n_ * ld, B_.get() + n_ * ld, ld, C_.get(), n_};
    variants_.push_back(
        {"cublas", "", [this](const Operands<T>& x) { cublas_.multiply(x.n, x.A1, x.ld, x.B1, x.ld, x.C); }});
    variants_.push_back({"passes", "", [this](const Operands<T>& x) {
                           add_a(), add_b();
                           cublas_.multiply(x.n, S_.get(), x.n, T_.get(), x.n, x.C);
                         }});
    variants_.push_back({"pass", "", [this](const Operands<T>& x) {
                           add_a();
                           cublas_.multiply(x.n, S_.get(), x.n, x.B1, x.ld, x.C);
                         }});
    for (const Variant<T>& v : variants<T>())
      if (arguments_.only.empty() ||
          ("," + arguments_.only + ",").find("," + std::string(v.what) + ",") != std::string::npos)
        variants_.push_back(v);
  }

  /// Prints its lines; false if something is wrong.
  bool measure() {
    for_each(A_.count(), FillUniform<T>{A_.get(), 1});
    for_each(B_.count(), FillUniform<T>{B_.get(), 2});
    add_a(), add_b();
    bool right = sums_are_right();
    if (!right) std::fprintf(stderr, "operand_sums: a sum of blocks is wrong\n");

    std::vector<double> sums;
    std::vector<std::vector<double>> seconds(variants_.size());
    for (const Variant<T>& v : variants_) v.start(x_);
    for (int r = 0; r < arguments_.repetitions; ++r)
      for (std::size_t i = 0; i < variants_.size(); ++i) {
        start_.record();
        add_a(), add_b();
        middle_.record();
        variants_[i].start(x_);
        end_.record();
        check(cudaEventSynchronize(end_.get));
        sums.push_back(middle_.seconds_since(start_));
        seconds[i].push_back(end_.seconds_since(middle_));
      }
    const double sum = median(sums), bytes = 6.0 * static_cast<double>(square()) * sizeof(T);
    std::printf("{\"precision\": \"%c\", \"n\": %lld, \"what\": \"sums\", \"seconds\": %.7f, \"rate\": %.4g}\n",
                arguments_.precision, static_cast<long long>(n_), sum, bytes / sum);

    const View<T> a = view(x_.A1, static_cast<int>(x_.ld), 'N'), b = view(x_.B1, static_cast<int>(x_.ld), 'N'),
                  s = view<T>(S_.get(), static_cast<int>(n_), 'N'), t = view<T>(T_.get(), static_cast<int>(n_), 'N'),
                  c = view<T>(C_.get(), static_cast<int>(n_), 'N');
    struct Check {
      Samples<T> rows, cols;
      Check(const View<T>& A, const View<T>& B, const View<T>& C, index n)
          : rows(A, B, C, n, n, n, 1), cols(B.swapped(), A.swapped(), C.swapped(), n, n, n, 2) {}
    };
    Check plain(a, b, c, n_), half(s, b, c, n_), summed(s, t, c, n_);
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      const Variant<T>& v = variants_[i];
      for_each(C_.count(), Fill<T>{C_.get(), std::numeric_limits<T>::quiet_NaN()});
      v.start(x_);
      const std::string what = v.what;
      Check& check = what == "passes" || what == "summed" ? summed : what == "pass" || what == "half" ? half : plain;
      right = print(v, seconds[i], check.rows, check.cols) && right;
    }
    print_summary(seconds);
    return right;
  }

 private:
  index square() const { return n_ * n_; }
  double tflops(double seconds) const {
    return 2e-12 * static_cast<double>(n_) * static_cast<double>(square()) / seconds;
  }

  void add(const T* x, const T* y, T sign, T* sum) {
    const index packs = n_ * static_cast<index>(sizeof(T)) / 16;
    for_each(packs * n_, AddBlocks<T>{x, y, x_.ld, packs, sign, sum});
  }
  void add_a() { add(x_.A1, x_.A2, -1, S_.get()); }
  void add_b() { add(x_.B1, x_.B2, 1, T_.get()); }
  bool sums_are_right() {
    check(cudaMemset(differs_.get(), 0, sizeof(int)));
    for_each(n_, Differs<T>{x_.A1, x_.A2, S_.get(), x_.ld, n_, -1, differs_.get()});
    for_each(n_, Differs<T>{x_.B1, x_.B2, T_.get(), x_.ld, n_, 1, differs_.get()});
    finish();
    int found = 1;
    bring(&found, differs_.get(), sizeof found);
    return found == 0;
  }

  /// A wrong tile is off by about the largest entry.  The bound is far below that and far above what rounding makes.
  bool print(const Variant<T>& v, std::vector<double> seconds, Samples<T>& rows, Samples<T>& cols) {
    rows.take_ours(), cols.take_ours();
    rows.take_others(), cols.take_others();
    const Finding by_rows = rows.compare(0), by_cols = cols.compare(0);
    const double size = std::max(by_rows.size, by_cols.size), error = std::max(by_rows.ours, by_cols.ours) / size;
    const double bound = 8.0 * std::numeric_limits<T>::epsilon() * static_cast<double>(n_);
    const bool right = error <= bound;
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    const double middle = median(seconds);
    std::printf(
        "{\"precision\": \"%c\", \"n\": %lld, \"what\": \"%s\", \"shape\": \"%s\", \"seconds\": %.7f, \"least\": %.7f, "
        "\"most\": %.7f, \"tflops\": %.2f, \"error\": %.3g, \"bound\": %.3g, \"right\": %s}\n",
        arguments_.precision, static_cast<long long>(n_), v.what, v.shape, middle, *least, *most, tflops(middle),
        std::min(error, no_number), bound, right ? "true" : "false");
    std::fflush(stdout);
    return right;
  }

  void print_summary(const std::vector<std::vector<double>>& seconds) const {
    const auto fastest = [&](const char* what) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < variants_.size(); ++i)
        if (variants_[i].what == std::string(what)) least = std::min(least, median(seconds[i]));
      return least;
    };
    const double cublas = fastest("cublas"), passes = fastest("passes"), plain = fastest("plain"),
                 staged = fastest("staged"), summed = fastest("summed"), half = fastest("half");
    // What --only left out is 0 times as fast.
    std::printf(
        "{\"precision\": \"%c\", \"n\": %lld, \"what\": \"summary\", \"best\": {\"plain\": %.4f, \"staged\": %.4f, "
        "\"summed\": %.4f, \"half\": %.4f}, \"at_most\": %.4f, \"gain\": %.4f, \"half\": %.4f}\n",
        arguments_.precision, static_cast<long long>(n_), cublas / plain, cublas / staged, cublas / summed,
        cublas / half, passes / std::min({cublas, plain, staged}), passes / summed, fastest("pass") / half);
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  Cublas& cublas_;
  const index n_;
  Array<T> A_, B_, S_, T_, C_;
  Array<int> differs_;
  Operands<T> x_{};
  std::vector<Variant<T>> variants_;
  Event start_, middle_, end_;
};

// ---- the program

template <class T>
bool run(const Arguments& arguments) {
  Cublas cublas;
  int device = 0, version = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device));
  check(cudaGetDeviceProperties(&properties, device));
  check(cublasGetVersion(cublas.handle, &version));
  std::printf("{\"device\": \"%s\", \"cublas\": %d, \"cutlass\": \"%d.%d.%d\"}\n", properties.name, version,
              CUTLASS_MAJOR, CUTLASS_MINOR, CUTLASS_PATCH);
  bool right = true;
  for (std::string rest = arguments.sizes; !rest.empty();) {
    const std::string word = rest.substr(0, rest.find(','));
    rest.erase(0, word.size() + 1);
    const int n = std::atoi(word.c_str());
    if (n < 4 || n % 4 != 0) throw std::runtime_error(word + " is not a multiple of four");
    right = Problem<T>(cublas, arguments, n).measure() && right;
  }
  return right;
}

Arguments parse(char** words) {
  Arguments a;
  for (++words; *words; ++words) {
    const std::string option = *words;
    if (!*++words) throw std::runtime_error(option + " has no value");
    const std::string value = *words;
    if (option == "--precision" && (value == "s" || value == "d"))
      a.precision = value[0];
    else if (option == "--sizes")
      a.sizes = value;
    else if (option == "--only")
      a.only = value;
    else if (option == "--repetitions" && std::atoi(value.c_str()) >= 1)
      a.repetitions = std::atoi(value.c_str());
    else
      throw std::runtime_error(option + " " + value);
  }
  return a;
}

}  // namespace
}  // namespace bench

int main(int, char** argv) {
  using namespace bench;
  try {
    const Arguments a = parse(argv);
    const bool right = a.precision == 's' ? run<float>(a) : run<double>(a);
    if (!right) std::fprintf(stderr, "operand_sums: a result is wrong: see \"right\"\n");
    return right ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "operand_sums: %s\n", error.what());
    return 2;
  }
}
