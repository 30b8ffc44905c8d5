// By panels of columns, as LAPACK's xLAHR2 and xGEHRD (Quintana-Orti and van de Geijn, Improving the performance of
// reduction to Hessenberg form, ACM TOMS 32, 2006).  A panel's reflectors are H = I - V T V^H, with V's ones and zeros
// in memory, and Y = A V T says what the others of its columns have done to a column.  Of a column's kernels the first
// three make its reflector; then a product with all that is left of the matrix makes Y's column.  Sums of many blocks
// are added in an order that depends on the sizes alone.
#include "kernels/cuda/eigen/gehrd.hpp"

#include <algorithm>

#include "kernels/cuda/core/householder.hpp"
#include "kernels/cuda/qr/wide_panel.hpp"

namespace blaslift {
namespace of_gehrd {
namespace {

using namespace householder;

constexpr int width = warp;  // of a panel: a lane sums up each of its columns
constexpr index most_blocks = 1024;

/// A panel while one of its columns is worked on: m rows from its first reflector's on.
template <class T>
struct Panel {
  index m;
  int col;  ///< as many columns have a reflector
  T* A;     ///< that column
  T* V;     ///< m x width
  index ldv;
  T* Y;  ///< m x width
  index ldy;
  T* factor;  ///< T: width x width, zero below its diagonal
  T* tau;     ///< this column's
  // Between the kernels, by block: products of a vector with V's columns, and the column's length; the number that it
  // is reflected to.
  T* products;
  Squares<Real<T>>* squares;
  T* alpha;
};

/// What earlier reflectors have done to the column from the right: b -= Y w^H, with w their row of this column.
template <class T>
__global__ void update_from_right(Panel<T> p) {
  const index i = own_row();
  T b{};
  if (i < p.m) {
    b = p.A[i];
    for (int c = 0; c < p.col; ++c) b = minus_product(p.Y[i + c * p.ldy], conj(p.V[p.col - 1 + c * p.ldv]), b);
    p.A[i] = b;
  }
  start_products(p.V, p.ldv, p.m, p.col, b, p.products);
}

/// And from the left: b -= V T^H V^H b.  Then what its reflector is made of.
template <class T>
__global__ void update_from_left(Panel<T> p) {
  __shared__ T products[width], by_factor[width];
  if (p.col > 0) {
    finish_products(p.products, gridDim.x, p.col, products);
    if (threadIdx.x < p.col) {
      T sum{};
      for (int r = 0; r <= threadIdx.x; ++r)
        sum = add_product(conj(p.factor[r + threadIdx.x * width]), products[r], sum);
      by_factor[threadIdx.x] = sum;
    }
    __syncthreads();
  }
  const index i = own_row();
  T b{};
  if (i < p.m) {
    b = p.A[i];
    for (int c = 0; c < p.col; ++c) b = minus_product(p.V[i + c * p.ldv], by_factor[c], b);
    p.A[i] = b;
  }
  if (i == p.col) *p.alpha = b;
  if (i <= p.col) b = T{};
  const Squares<Real<T>> squares = squares_of_rows(b);
  if (threadIdx.x == 0) p.squares[blockIdx.x] = squares;
}

/// The reflector, as LAPACK's xLARFG defines it: to A and to V.
template <class T>
__global__ void reflect(Panel<T> p) {
  const Reflector<T> h(*p.alpha, sum_of_squares(p.squares, gridDim.x));
  const index i = own_row();
  T v{};
  if (i < p.m) {
    if (i == p.col) {
      v = number<T>(1);
      p.A[i] = h.beta;
    } else if (i > p.col) {
      v = h.of(p.A[i]);
      p.A[i] = v;
    }
    p.V[i + p.col * p.ldv] = v;
  }
  if (i == 0) *p.tau = h.tau;
  start_products(p.V, p.ldv, p.m, p.col, v, p.products);
}

/// Y's column, of which A v is there, and T's.
template <class T>
__global__ void finish_column(Panel<T> p) {
  __shared__ T products[width];
  if (p.col > 0) finish_products(p.products, gridDim.x, p.col, products);
  const T tau = *p.tau;
  const index i = own_row();
  if (i < p.m) {
    T& y = p.Y[i + p.col * p.ldy];
    T sum = y;
    for (int c = 0; c < p.col; ++c) sum = minus_product(p.Y[i + c * p.ldy], products[c], sum);
    y = times(tau, sum);
  }
  if (blockIdx.x > 0 || threadIdx.x > p.col) return;
  T sum = number<T>(-1);
  if (threadIdx.x < p.col) {
    sum = T{};
    for (int c = threadIdx.x; c < p.col; ++c) sum = add_product(p.factor[threadIdx.x + c * width], products[c], sum);
  }
  p.factor[threadIdx.x + p.col * width] = minus(times(tau, sum));
}

/// Says so where something is not finite.  Threads share a column, blocks the columns.
template <class T>
__global__ void look(Gehrd p) {
  const T *const A = static_cast<const T*>(p.A), *const tau = static_cast<const T*>(p.tau);
  const index size = p.rows - p.above;
  bool good = true;
  for (index j = blockIdx.x; j < p.cols; j += gridDim.x) {
    if (j + 1 < size) good = good && is_number(tau[j]);
    const index untouched = j == 0 || j >= size ? p.above + 1 : 0;
    for (index i = untouched + threadIdx.x; i < p.rows; i += threads) good = good && is_number(A[i + j * p.lda]);
  }
  if (!good) *static_cast<T*>(p.failed) = number<T>(1);
}

template <class T>
class Reduction {
 public:
  Reduction(const Gehrd& p, cudaStream_t stream, const std::function<cudaError_t(const Gemm&)>& multiply)
      : p_(p), stream_(stream), multiply_(multiply) {}

  cudaError_t run() {
    Parts counted(nullptr);
    lay_out(counted);
    void* memory = nullptr;
    if (const cudaError_t error = cudaMallocAsync(&memory, counted.bytes(), stream_); error != cudaSuccess)
      return error;
    Parts parts(memory);
    lay_out(parts);
    const cudaError_t error = reduce(), freed = cudaFreeAsync(memory, stream_);
    return error == cudaSuccess ? freed : error;
  }

 private:
  void lay_out(Parts& parts) {
    const index k = p_.reflectors();
    V_ = parts.add<T>(k * width);
    Y_ = parts.add<T>(p_.rows * width);
    X_ = parts.add<T>(p_.rows * width);
    W_ = parts.add<T>(p_.cols * width);
    factor_ = parts.add<T>(width * width);
    products_ = parts.add<T>(blocks_of(k) * static_cast<index>(width));
    squares_ = parts.add<Squares<Real<T>>>(blocks_of(k));
    alpha_ = parts.add<T>(1);
  }
  T* A(index row, index col) const { return static_cast<T*>(p_.A) + row + col * p_.lda; }

  cudaError_t reduce() {
    cudaError_t error = cudaMemsetAsync(p_.failed, 0, sizeof(T), stream_);
    if (error == cudaSuccess) error = cudaMemsetAsync(factor_, 0, sizeof(T) * width * width, stream_);
    for (index first = 0; error == cudaSuccess && first < p_.reflectors(); first += width) error = reduce_panel(first);
    if (error != cudaSuccess) return error;
    look<T><<<static_cast<unsigned>(std::min(p_.cols, most_blocks)), threads, 0, stream_>>>(p_);
    return cudaGetLastError();
  }

  /// Its columns, and what its reflectors do to those behind it.
  cudaError_t reduce_panel(index first) {
    const index m = p_.reflectors() - first, top = p_.rows - m, w = std::min<index>(width, m), behind = first + w,
                k = p_.reflectors();
    for (index j = 0; j < w; ++j)
      if (const cudaError_t error = reduce_column(first, m, static_cast<int>(j)); error != cudaSuccess) return error;
    cudaError_t error = cudaSuccess;
    const auto product = [&](Op opa, Op opb, index rows, index cols, index inner, int alpha, const T* a, index lda,
                             const T* b, index ldb, int beta, T* c, index ldc) {
      if (error == cudaSuccess) error = this->product(opa, opb, rows, cols, inner, alpha, a, lda, b, ldb, beta, c, ldc);
    };
    constexpr Op none = Op::none, adjoint = Op::conjugate;
    // From the right, rows above the reflectors': Y is A V T.
    product(none, none, top, w, m, 1, A(0, first + 1), p_.lda, V_, k, 0, X_, p_.rows);
    product(none, none, top, w, w, 1, X_, p_.rows, factor_, width, 0, Y_, p_.rows);
    product(none, adjoint, top, m, w, -1, Y_, p_.rows, V_, k, 1, A(0, first + 1), p_.lda);
    // Their own rows, whose first columns are done.
    product(none, adjoint, m, m - w + 1, w, -1, Y_ + top, p_.rows, V_ + w - 1, k, 1, A(top, behind), p_.lda);
    // From the left: A -= V (V T)^H A.
    product(none, none, m, w, w, 1, V_, k, factor_, width, 0, X_, p_.rows);
    product(adjoint, none, w, p_.cols - behind, m, 1, X_, p_.rows, A(top, behind), p_.lda, 0, W_, width);
    product(none, none, m, p_.cols - behind, w, -1, V_, k, W_, width, 1, A(top, behind), p_.lda);
    return error;
  }

  cudaError_t reduce_column(index first, index m, int j) {
    const index top = p_.rows - m, k = p_.reflectors();
    const Panel<T> panel{.m = m,
                         .col = j,
                         .A = A(top, first + j),
                         .V = V_,
                         .ldv = k,
                         .Y = Y_ + top,
                         .ldy = p_.rows,
                         .factor = factor_,
                         .tau = static_cast<T*>(p_.tau) + first + j,
                         .products = products_,
                         .squares = squares_,
                         .alpha = alpha_};
    const unsigned blocks = blocks_of(m);
    if (j > 0) update_from_right<T><<<blocks, threads, 0, stream_>>>(panel);
    update_from_left<T><<<blocks, threads, 0, stream_>>>(panel);
    reflect<T><<<blocks, threads, 0, stream_>>>(panel);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
    if (const cudaError_t error = product(Op::none, Op::none, m, 1, m - j, 1, A(top, first + 1 + j), p_.lda,
                                          V_ + j + j * k, k, 0, panel.Y + j * p_.rows, p_.rows);
        error != cudaSuccess)
      return error;
    finish_column<T><<<blocks, threads, 0, stream_>>>(panel);
    return cudaGetLastError();
  }

  cudaError_t product(Op opa, Op opb, index m, index n, index k, int alpha, const T* a, index lda, const T* b,
                      index ldb, int beta, T* c, index ldc) const {
    return multiply_({.precision = p_.precision,
                      .transa = opa,
                      .transb = opb,
                      .m = m,
                      .n = n,
                      .k = k,
                      .alpha = wide_panel::scalar(p_.precision, alpha),
                      .A = a,
                      .lda = lda,
                      .B = b,
                      .ldb = ldb,
                      .beta = wide_panel::scalar(p_.precision, beta),
                      .C = c,
                      .ldc = ldc});
  }

  const Gehrd& p_;
  const cudaStream_t stream_;
  const std::function<cudaError_t(const Gemm&)>& multiply_;
  T *V_ = nullptr, *Y_ = nullptr, *X_ = nullptr, *W_ = nullptr, *factor_ = nullptr, *products_ = nullptr,
    *alpha_ = nullptr;
  Squares<Real<T>>* squares_ = nullptr;
};

}  // namespace
}  // namespace of_gehrd

cudaError_t gehrd(const Gehrd& p, cudaStream_t stream, const std::function<cudaError_t(const Gemm&)>& multiply) {
  using namespace of_gehrd;
  switch (p.precision) {
    case Precision::s: return Reduction<float>(p, stream, multiply).run();
    case Precision::d: return Reduction<double>(p, stream, multiply).run();
    case Precision::c: return Reduction<Complex<float>>(p, stream, multiply).run();
    case Precision::z: break;
  }
  return Reduction<Complex<double>>(p, stream, multiply).run();
}

}  // namespace blaslift
