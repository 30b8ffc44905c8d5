// What is read and written, of an operand with k elements in each of its rows (or columns): its largest magnitudes, in
// one pass (survey); what the guard and the scaling are made of, in a second; residues, in a third, which writes a byte
// for each modulus.  Then a product of INT8 for each modulus, and one pass that puts C together from them.
//
// Compiled without contraction: what is computed in floating point has to have the host's bits.
#include "kernels/cuda/product/residues.hpp"

#include <algorithm>

#include "kernels/cuda/product/survey.hpp"
#include "kernels/residues.hpp"

namespace blaslift {
namespace {

using namespace residues;
using arithmetic::Complex;

template <class T>
inline constexpr int parts_of = sizeof(T) / sizeof(Real<T>);
template <class R>
__device__ inline R part(R x, int) {
  return x;
}
template <class R>
__device__ inline R part(Complex<R> x, int which) {
  return which == 0 ? x.re : x.im;
}

/// op(A)'s rows or op(B)'s columns, of k elements each.
template <class T>
struct Vectors {
  const T* at;
  index distance;  ///< from vector to vector
  index step;      ///< from element to element
  index count, k;
  bool conjugated;
  __device__ T operator()(index vector, index h) const {
    return arithmetic::conjugate_if(conjugated, at[vector * distance + h * step]);
  }
};

constexpr int lanes = 32, rows_of_threads = 8, threads = lanes * rows_of_threads;
/// Of k, what a block of threads has a look at where neighbours are of different vectors, and where they are of the
/// same one: each thread at fewer than 256 elements.
constexpr index chunk = 512, long_chunk = 4096;

/// Of elements, a byte each: [s] those that are at most s below the largest.
struct Counts {
  std::uint64_t bytes = 0;
  __device__ void add(int below_top) {
    if (below_top < Found::fractions) bytes += 0x0101010101010101ull << (8 * below_top);
  }
};

template <class T>
__device__ inline void look(Found& found, Counts& counts, T x, int top) {
  int below = Found::fractions;
#pragma unroll
  for (int which = 0; which < parts_of<T>; ++which)
    if (part(x, which) != 0) below = min(below, top - found.add(static_cast<double>(part(x, which)), top));
  counts.add(below);
}

__device__ inline void note(Found* at, const Found& found) {
  if (found.squares == 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&at->squares), found.squares);
  atomicAdd(reinterpret_cast<unsigned long long*>(&at->sum), found.sum);
  for (int s = 0; s < Found::fractions; ++s)
    if (found.within[s] != 0) atomicAdd(&at->within[s], found.within[s]);
  atomicMin(&at->least, found.least);
  atomicMin(&at->lowest, found.lowest);
}

/// Sums of what its threads have found, by thread 0 of a warp.
__device__ inline void merge_lanes(Found& found) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    Found other;
    other.squares = __shfl_down_sync(~0u, found.squares, distance);
    other.sum = __shfl_down_sync(~0u, found.sum, distance);
    for (int s = 0; s < Found::fractions; ++s) other.within[s] = __shfl_down_sync(~0u, found.within[s], distance);
    other.least = __shfl_down_sync(~0u, found.least, distance);
    other.lowest = __shfl_down_sync(~0u, found.lowest, distance);
    found.merge(other);
  }
}

__device__ inline void unpack(Found& found, const Counts& counts) {
  for (int s = 0; s < Found::fractions; ++s) found.within[s] = counts.bytes >> (8 * s) & 0xff;
}

__global__ void forget(Found* found, index count) {
  const index i = blockIdx.x * static_cast<index>(blockDim.x) + threadIdx.x;
  if (i < count) found[i] = {};
}

template <class R>
__device__ inline bool has_scale(R largest) {
  return largest > 0 && largest <= largest_number<R>;
}

/// Where neighbours in memory are of different vectors: a thread has elements of one.
template <class T>
__global__ __launch_bounds__(threads) void look_across(Vectors<T> x, const Real<T>* largest, Found* found) {
  __shared__ Found shared[rows_of_threads][lanes];
  const index vector = blockIdx.x * static_cast<index>(lanes) + threadIdx.x, begin = blockIdx.y * chunk,
              end = min(x.k, begin + chunk);
  Found mine;
  if (vector < x.count && has_scale(largest[vector])) {
    const int top = magnitude_of(static_cast<double>(largest[vector])).top();
    Counts counts;
#pragma unroll 4
    for (index h = begin + threadIdx.y; h < end; h += rows_of_threads) look(mine, counts, x(vector, h), top);
    unpack(mine, counts);
  }
  shared[threadIdx.y][threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.y != 0 || vector >= x.count) return;
  for (int y = 1; y < rows_of_threads; ++y) mine.merge(shared[y][threadIdx.x]);
  note(found + vector, mine);
}

/// Where they are of the same vector: a warp has it.
template <class T>
__global__ __launch_bounds__(threads) void look_along(Vectors<T> x, const Real<T>* largest, Found* found) {
  const index vector = blockIdx.x * static_cast<index>(rows_of_threads) + threadIdx.y, begin = blockIdx.y * long_chunk,
              end = min(x.k, begin + long_chunk);
  if (vector >= x.count || !has_scale(largest[vector])) return;
  const int top = magnitude_of(static_cast<double>(largest[vector])).top();
  Found mine;
  Counts counts;
#pragma unroll 4
  for (index h = begin + threadIdx.x; h < end; h += lanes) look(mine, counts, x(vector, h), top);
  unpack(mine, counts);
  merge_lanes(mine);
  if (threadIdx.x == 0) note(found + vector, mine);
}

template <class R>
__global__ void scale_vectors(const R* largest, const Found* found, index count, index k, int parts, double root,
                              Scaling* scaling) {
  const index i = blockIdx.x * static_cast<index>(blockDim.x) + threadIdx.x;
  if (i < count) scaling[i] = scaling_of(static_cast<double>(largest[i]), found[i], k, parts, root);
}

/// The largest of what each thread brings, in all of them.
__device__ inline double largest_of_block(double x, double* shared) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) x = fmax(x, __shfl_xor_sync(~0u, x, distance));
  __syncthreads();
  if (threadIdx.x % lanes == 0) shared[threadIdx.x / lanes] = x;
  __syncthreads();
  for (int w = 0; w < static_cast<int>(blockDim.x) / lanes; ++w) x = fmax(x, shared[w]);
  return x;
}

/// The largest errors of rows of A and of columns of B.
__global__ void find_errors(const Scaling* a, index m, const Scaling* b, index n, double* errors) {
  __shared__ double shared[lanes];
  double sum_a = 0, sum_b = 0;
  for (index i = threadIdx.x; i < m; i += blockDim.x) sum_a = fmax(sum_a, a[i].sum);
  for (index j = threadIdx.x; j < n; j += blockDim.x) sum_b = fmax(sum_b, b[j].sum);
  sum_a = largest_of_block(sum_a, shared);
  sum_b = largest_of_block(sum_b, shared);
  double of_a = 0, of_b = 0;
  for (index i = threadIdx.x; i < m; i += blockDim.x) of_a = fmax(of_a, error_of(a[i], sum_b));
  for (index j = threadIdx.x; j < n; j += blockDim.x) of_b = fmax(of_b, error_of(b[j], sum_a));
  of_a = largest_of_block(of_a, shared);
  of_b = largest_of_block(of_b, shared);
  if (threadIdx.x != 0) return;
  errors[0] = of_a;
  errors[1] = of_b;
}

constexpr double to_integer = 6755399441055744.0;  // 1.5 * 2^52: what is added to it is rounded
constexpr float to_small_integer = 12582912.0f;    // 1.5 * 2^23

/// An integer of at most 2^31, modulo p: between -p / 2 and p / 2.
__device__ inline int residue(float, double x, double p, double inverse) {
  const double quotient = __dadd_rn(__fma_rn(x, inverse, to_integer), -to_integer);
  return __double2loint(__dadd_rn(__fma_rn(-p, quotient, x), to_integer));
}
/// Of at most 2^58.5.  The quotient may be off by one: what is left is small, and divided once more.
__device__ inline int residue(double, double x, double p, double inverse) {
  const double quotient = __dadd_rn(__fma_rn(x, inverse, to_integer), -to_integer);
  const float rest = static_cast<float>(__fma_rn(-p, quotient, x)), q = static_cast<float>(p),
              again = __fadd_rn(__fmaf_rn(rest, static_cast<float>(inverse), to_small_integer), -to_small_integer);
  return __float_as_int(__fadd_rn(__fmaf_rn(-q, again, rest), to_small_integer)) - __float_as_int(to_small_integer);
}

/// The lowest bytes of four numbers.
__device__ inline std::uint32_t bytes_of(const int (&x)[4]) {
  const auto pair = [](int low, int high) {
    return __byte_perm(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high), 0x0040);
  };
  return __byte_perm(pair(x[0], x[1]), pair(x[2], x[3]), 0x5410);
}

/// How far planes of bytes are from each other.
struct Planes {
  std::uint8_t* at;
  index padded, plane;
};

/// Residues of four elements that follow each other in k, of which the first one's are to go to `to` in the first
/// plane.
template <class R>
__device__ inline void split(const double (&x)[1][4], std::uint8_t* to, index plane) {
#pragma unroll
  for (int l = 0; l < count_of<R>; ++l) {
    const double p = modulus(l), inverse = 1 / p;
    int r[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) r[q] = residue(R{}, x[0][q], p, inverse);
    *reinterpret_cast<std::uint32_t*>(to + l * plane) = bytes_of(r);
  }
}
template <class R>
__device__ inline void split(const double (&x)[2][4], std::uint8_t* to, index plane) {
#pragma unroll
  for (int l = 0; l < count_of<R>; ++l) {
    const int p = modulus(l);
    const double inverse = 1 / static_cast<double>(p);
    int re[4], im[4], both[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      re[q] = residue(R{}, x[0][q], p, inverse);
      im[q] = residue(R{}, x[1][q], p, inverse);
      const int sum = re[q] + im[q];
      both[q] = sum > 127 ? sum - p : sum < -128 ? sum + p : sum;
    }
    std::uint8_t* const at = to + 3 * l * plane;
    *reinterpret_cast<std::uint32_t*>(at) = bytes_of(re);
    *reinterpret_cast<std::uint32_t*>(at + plane) = bytes_of(im);
    *reinterpret_cast<std::uint32_t*>(at + 2 * plane) = bytes_of(both);
  }
}

struct Factors {
  double near, far;
  __device__ explicit Factors(int exponent)
      : near(power_of_two(exponent / 2)), far(power_of_two(exponent - exponent / 2)) {}
};

constexpr index tile_k = 4 * lanes;  ///< of k: a warp writes so many bytes of a vector at a time

/// Of vectors in memory that a block of threads shares.
template <class T>
inline constexpr int tile_vectors = sizeof(T) > 8 ? lanes / 2 : lanes;

template <class T>
__global__ __launch_bounds__(threads) void split_across(Vectors<T> x, const Scaling* scaling, Planes to) {
  constexpr int parts = parts_of<T>, wide = tile_vectors<T>;
  __shared__ Real<T> tile[parts][wide][tile_k + 1];
  const index first = blockIdx.x * static_cast<index>(wide), begin = blockIdx.y * tile_k;
  const int thread = threadIdx.y * lanes + threadIdx.x, v = thread % wide;
  for (int h = thread / wide; h < tile_k; h += threads / wide) {
    const T element = first + v < x.count && begin + h < x.k ? x(first + v, begin + h) : T{};
#pragma unroll
    for (int which = 0; which < parts; ++which) tile[which][v][h] = part(element, which);
  }
  __syncthreads();
  const index h = begin + 4 * threadIdx.x;
  if (h >= to.padded) return;
  for (int row = threadIdx.y; row < wide && first + row < x.count; row += rows_of_threads) {
    const Factors factors(scaling[first + row].exponent);
    double integers[parts][4];
    for (int which = 0; which < parts; ++which)
      for (int q = 0; q < 4; ++q)
        integers[which][q] =
            scaled(static_cast<double>(tile[which][row][4 * threadIdx.x + q]), factors.near, factors.far);
    split<Real<T>>(integers, to.at + (first + row) * to.padded + h, to.plane);
  }
}

template <class T>
__global__ __launch_bounds__(threads) void split_along(Vectors<T> x, const Scaling* scaling, Planes to) {
  constexpr int parts = parts_of<T>;
  const index vector = blockIdx.x * static_cast<index>(rows_of_threads) + threadIdx.y,
              h = blockIdx.y * tile_k + 4 * threadIdx.x;
  if (vector >= x.count || h >= to.padded) return;
  const Factors factors(scaling[vector].exponent);
  double integers[parts][4];
  for (int q = 0; q < 4; ++q) {
    const T element = h + q < x.k ? x(vector, h + q) : T{};
    for (int which = 0; which < parts; ++which)
      integers[which][q] = scaled(static_cast<double>(part(element, which)), factors.near, factors.far);
  }
  split<Real<T>>(integers, to.at + vector * to.padded + h, to.plane);
}

/// The integer S that residues are of; |S| is less than half of the product of all moduli.  What is less than 2^64 is
/// computed modulo that.
template <int count>
struct Join {
  std::uint64_t weight[count], product;
  float share[count];
  Join() : product(static_cast<std::uint64_t>(Weights<count>().product)) {
    const Weights<count> weights;
    for (int l = 0; l < count; ++l) {
      weight[l] = static_cast<std::uint64_t>(weights.weight[l]);
      share[l] = weights.share[l];
    }
  }
  __device__ std::int64_t operator()(const int (&residue)[count]) const {
    float multiple = 0;
    std::uint64_t sum = 0;
#pragma unroll
    for (int l = 0; l < count; ++l) {
      multiple = __fmaf_rn(static_cast<float>(residue[l]), share[l], multiple);
      sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(residue[l])) * weight[l];
    }
    const auto times = static_cast<std::int64_t>(rintf(multiple));
    return static_cast<std::int64_t>(sum - static_cast<std::uint64_t>(times) * product);
  }
};
/// In limbs of 32 bits, whose sums have room in 64.
template <>
struct Join<15> {
  static constexpr int count = 15, limbs = 4;
  std::uint32_t weight[count][limbs], product[limbs];
  float share[count];
  Join() {
    const Weights<count> weights;
    for (int q = 0; q < limbs; ++q) product[q] = static_cast<std::uint32_t>(weights.product >> 32 * q);
    for (int l = 0; l < count; ++l) {
      for (int q = 0; q < limbs; ++q) weight[l][q] = static_cast<std::uint32_t>(weights.weight[l] >> 32 * q);
      share[l] = weights.share[l];
    }
  }
  __device__ int128 operator()(const int (&residue)[count]) const {
    float multiple = 0;
    std::int64_t sum[limbs] = {};
#pragma unroll
    for (int l = 0; l < count; ++l) {
      multiple = __fmaf_rn(static_cast<float>(residue[l]), share[l], multiple);
#pragma unroll
      for (int q = 0; q < limbs; ++q) sum[q] += static_cast<std::int64_t>(residue[l]) * weight[l][q];
    }
    const auto times = static_cast<std::int64_t>(rintf(multiple));
    uint128 all = 0;
#pragma unroll
    for (int q = limbs - 1; q >= 0; --q)
      all = (all << 32) + static_cast<uint128>(static_cast<int128>(sum[q] - times * product[q]));
    return static_cast<int128>(all);
  }
};

/// Of a sum of products of residues, less than 1.5 p large: the quotient is off by less than one, up to most_in_a_sum.
__device__ inline int reduced(int sum, int p) {
  return sum - p * __float2int_rn(static_cast<float>(sum) * (1.0f / static_cast<float>(p)));
}

/// Makes room for the products of more of k.
__global__ __launch_bounds__(threads) void reduce(int* sums, index count, int p) {
  const index i = blockIdx.x * static_cast<index>(threads) + threadIdx.x;
  if (i < count) sums[i] = reduced(sums[i], p);
}

/// Sums of products of residues of one element of C, those of other planes `plane` apart, put together.
template <class R>
__device__ inline R value_of(R, const int* sums, index plane, const Join<count_of<R>>& join, int exponent) {
  constexpr int count = count_of<R>;
  int residue[count];
#pragma unroll
  for (int l = 0; l < count; ++l) residue[l] = __ldcs(sums + l * plane);
#pragma unroll
  for (int l = 0; l < count; ++l) residue[l] = reduced(residue[l], modulus(l));
  return times_power(rounded(R{}, join(residue)), exponent);
}
/// Of (a + b i) (c + d i): a c - b d, and (a + b) (c + d) - a c - b d.
template <class R>
__device__ inline Complex<R> value_of(Complex<R>, const int* sums, index plane, const Join<count_of<R>>& join,
                                      int exponent) {
  constexpr int count = count_of<R>;
  int re[count], im[count];
#pragma unroll
  for (int l = 0; l < count; ++l) {
    const int *const at = sums + 3 * l * plane, p = modulus(l), ac = reduced(__ldcs(at), p),
                     bd = reduced(__ldcs(at + plane), p), both = reduced(__ldcs(at + 2 * plane), p);
    re[l] = ac - bd;
    im[l] = both - ac - bd;
  }
  return {times_power(rounded(R{}, join(re)), exponent), times_power(rounded(R{}, join(im)), exponent)};
}

template <class T>
struct Target {
  T* at;
  index ld;
  T alpha, beta;
};

template <class T>
__global__ __launch_bounds__(threads) void join(const int* sums, index ld, index plane, index m,
                                                __grid_constant__ const Join<count_of<Real<T>>> join, const Scaling* a,
                                                const Scaling* b, Target<T> c) {
  const index i = blockIdx.x * static_cast<index>(threads) + threadIdx.x, j = blockIdx.y;
  if (i >= m) return;
  const T x = value_of(T{}, sums + j * ld + i, plane, join, -(a[i].exponent + b[j].exponent));
  T* const to = c.at + j * c.ld + i;
  *to = arithmetic::updated(c.alpha, x, c.beta, to);
}

constexpr index most_rows_of_grid = 65535;

/// An operand's residues, and what was found on the way, in memory of the call's.
template <class R>
struct Operand {
  Planes planes;
  Scaling* scaling;
  Found* found;
  R *largest, *others;

  Operand(const ResidueMemory& memory, Precision precision, index k) {
    const Layout layout(precision, memory.count, k);
    char* const at = static_cast<char*>(memory.at);
    planes = {reinterpret_cast<std::uint8_t*>(at), layout.padded, layout.plane};
    scaling = reinterpret_cast<Scaling*>(at + layout.scaling);
    found = reinterpret_cast<Found*>(at + layout.found);
    largest = reinterpret_cast<R*>(at + layout.largest);
    others = largest + memory.count;
  }
};

unsigned blocks(index size, index of) { return static_cast<unsigned>((size + of - 1) / of); }

/// Finds out what the guard and the scaling need.
template <class T>
cudaError_t look(Precision precision, const Operand<Real<T>>& to, index first, Vectors<T> x, double root,
                 cudaStream_t stream) {
  const bool across = x.distance == 1;
  Real<T>*const largest = to.largest + first, *const others = to.others;
  Found* const found = to.found + first;
  const auto zero = [&](Real<T>* at, index count) {
    return cudaMemsetAsync(at, 0, static_cast<std::size_t>(count) * sizeof *at, stream);
  };
  if (const cudaError_t error = zero(largest, x.count); error != cudaSuccess) return error;
  if (const cudaError_t error = zero(others, x.k); error != cudaSuccess) return error;
  Survey pass{.precision = precision,
              .rows = x.count,
              .cols = x.k,
              .at = x.at,
              .ld = x.step,
              .row_max = largest,
              .col_max = others};
  if (!across) {
    std::swap(pass.rows, pass.cols);
    std::swap(pass.row_max, pass.col_max);
    pass.ld = x.distance;
  }
  if (const cudaError_t error = survey(pass, stream); error != cudaSuccess) return error;
  forget<<<blocks(x.count, threads), threads, 0, stream>>>(found, x.count);
  const dim3 block(lanes, rows_of_threads);
  if (across)
    look_across<<<dim3(blocks(x.count, lanes), blocks(x.k, chunk)), block, 0, stream>>>(x, largest, found);
  else
    look_along<<<dim3(blocks(x.count, rows_of_threads), blocks(x.k, long_chunk)), block, 0, stream>>>(x, largest,
                                                                                                      found);
  scale_vectors<<<blocks(x.count, threads), threads, 0, stream>>>(largest, found, x.count, x.k, parts_of<T>, root,
                                                                  to.scaling + first);
  return cudaGetLastError();
}

template <class T>
cudaError_t split(const Operand<Real<T>>& to, index first, Vectors<T> x, cudaStream_t stream) {
  const Scaling* const scaling = to.scaling + first;
  Planes planes = to.planes;
  planes.at += first * planes.padded;
  const dim3 block(lanes, rows_of_threads);
  const unsigned tiles = blocks(planes.padded, tile_k);
  if (x.distance == 1)
    split_across<<<dim3(blocks(x.count, tile_vectors<T>), tiles), block, 0, stream>>>(x, scaling, planes);
  else
    split_along<<<dim3(blocks(x.count, rows_of_threads), tiles), block, 0, stream>>>(x, scaling, planes);
  return cudaGetLastError();
}

template <class T>
ResiduesStarted multiply(const GemmByResidues& p, cublasHandle_t handle, cudaStream_t stream, double* findings) {
  using R = Real<T>;
  constexpr int count = count_of<R>;
  static const double root = root_of_moduli<count>();
  static const Join<count> joining;
  const Operand<R> a(p.split_a, p.precision, p.k), b(p.split_b, p.precision, p.k);
  const auto vectors = [&](const void* at, index ld, bool across, index of_them, Op op) {
    return Vectors<T>{static_cast<const T*>(at), across ? 1 : ld, across ? ld : 1, of_them, p.k, op == Op::conjugate};
  };
  const Vectors<T> rows_of_a = vectors(p.A, p.lda, p.transa == Op::none, p.m, p.transa),
                   cols_of_b = vectors(p.B, p.ldb, p.transb != Op::none, p.n, p.transb);
  const Scaling *const scaling_a = a.scaling + p.first_a, *const scaling_b = b.scaling + p.first_b;
  ResiduesStarted started;
  // The first failure; what comes later is not tried.
  const auto in_order = [&](auto... steps) { return (... && ((started.error = steps()) == cudaSuccess)); };
  const auto done = [] { return cudaSuccess; };
  if (!in_order([&] { return p.make_a ? look(p.precision, a, p.first_a, rows_of_a, root, stream) : done(); },
                [&] { return p.make_b ? look(p.precision, b, p.first_b, cols_of_b, root, stream) : done(); },
                [&] {
                  find_errors<<<1, 1024, 0, stream>>>(scaling_a, p.m, scaling_b, p.n, findings);
                  return cudaGetLastError();
                },
                [&] { return cudaStreamSynchronize(stream); }))
    return started;
  started.accepted = acceptable(findings[0], findings[1], limit_of<R>(p.k));
  if (!started.accepted && !p.kept) return started;
  if (!in_order([&] { return p.make_a ? split(a, p.first_a, rows_of_a, stream) : done(); },
                [&] { return p.make_b ? split(b, p.first_b, cols_of_b, stream) : done(); }) ||
      !started.accepted)
    return started;
  T alpha, beta;
  memcpy(&alpha, p.alpha, sizeof alpha);
  memcpy(&beta, p.beta, sizeof beta);
  int* const sums = static_cast<int*>(p.sums);
  const int one = 1, zero = 0;
  const Tile tile(p.precision, p.m, p.n, p.sums_bytes);
  for (index j = 0; j < p.n; j += tile.cols)
    for (index i = 0; i < p.m; i += tile.rows) {
      const index rows = std::min(tile.rows, p.m - i), cols = std::min(tile.cols, p.n - j), ld = Tile::rounded_up(rows),
                  wide = Tile::rounded_up(cols), plane = ld * wide;
      for (int l = 0; l < count_in(p.precision) * parts_split(p.precision); ++l)  // a batch has slower kernels
        for (index h = 0; h < a.planes.padded; h += most_in_a_sum) {
          if (h > 0)
            reduce<<<blocks(plane, threads), threads, 0, stream>>>(sums + l * plane, plane,
                                                                   modulus(l / parts_split(p.precision)));
          started.status = cublasGemmEx_64(
              handle, CUBLAS_OP_T, CUBLAS_OP_N, ld, wide, std::min(most_in_a_sum, a.planes.padded - h), &one,
              a.planes.at + l * a.planes.plane + (p.first_a + i) * a.planes.padded + h, CUDA_R_8I, a.planes.padded,
              b.planes.at + l * b.planes.plane + (p.first_b + j) * b.planes.padded + h, CUDA_R_8I, b.planes.padded,
              h > 0 ? &one : &zero, sums + l * plane, CUDA_R_32I, ld, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT);
          if (started.status != CUBLAS_STATUS_SUCCESS) return started;
        }
      for (index jj = 0; jj < cols; jj += most_rows_of_grid) {
        const index some = std::min(most_rows_of_grid, cols - jj);
        join<T><<<dim3(blocks(rows, threads), static_cast<unsigned>(some)), threads, 0, stream>>>(
            sums + jj * ld, ld, plane, rows, joining, scaling_a + i, scaling_b + j + jj,
            Target<T>{static_cast<T*>(p.C) + i + (j + jj) * p.ldc, p.ldc, alpha, beta});
      }
      if ((started.error = cudaGetLastError()) != cudaSuccess) return started;
    }
  return started;
}

}  // namespace

ResiduesStarted multiply_by_residues(const GemmByResidues& p, cublasHandle_t handle, cudaStream_t stream,
                                     double* findings) {
  switch (p.precision) {
    case Precision::s: return multiply<float>(p, handle, stream, findings);
    case Precision::d: return multiply<double>(p, handle, stream, findings);
    case Precision::c: return multiply<Complex<float>>(p, handle, stream, findings);
    case Precision::z: return multiply<Complex<double>>(p, handle, stream, findings);
  }
  return {};
}

}  // namespace blaslift
