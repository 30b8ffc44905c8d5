// Calls ScaLAPACK's routines on a grid of processes, and compares all that is in the local arrays afterwards with what
// the same program has kept of a run without blaslift: what the library leaves as it was has to be what it was, to the
// bit, and everything else has to agree within rounding.
//
//   mpirun -n P*Q calls keep|compare|same P Q SEED BLOCK...
//
// For each block width all routines, in four precisions.  `keep` leaves each process's results in a file of the working
// directory, `compare` reads that, and so does `same`, without what ScaLAPACK cannot do (eigen_routines).  Process (0,
// 0) says "calls N wrong M".  Linked with ScaLAPACK alone: messages are BLACS's.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

extern "C" {
void blacs_pinfo_(int*, int*);
void blacs_get_(const int*, const int*, int*);
void blacs_gridinit_(int*, const char*, const int*, const int*, long);
void blacs_gridinfo_(const int*, int*, int*, int*, int*);
void blacs_gridexit_(const int*);
void blacs_exit_(const int*);
void dgsum2d_(const int*, const char*, const char*, const int*, const int*, double*, const int*, const int*, const int*,
              long, long);
void igsum2d_(const int*, const char*, const char*, const int*, const int*, int*, const int*, const int*, const int*,
              long, long);
}

namespace {

int context, rows_of_grid, columns_of_grid, my_row, my_column;
std::mt19937_64 everybodys(1);  // the same numbers on all processes
int calls = 0, wrong = 0;
std::set<std::string> names;  ///< of what was called

/// Numbers that begin anywhere at no cost (splitmix64).
struct Quick {
  using result_type = std::uint64_t;
  std::uint64_t state;
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return UINT64_MAX; }
  std::uint64_t operator()() {
    std::uint64_t x = state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
};

int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(everybodys); }

template <class T>
using RealOf = decltype(std::real(T()));
template <class T>
constexpr bool is_complex = !std::is_same_v<T, RealOf<T>>;
template <class T>
constexpr char letter = std::is_same_v<T, float>           ? 's'
                        : std::is_same_v<T, double>        ? 'd'
                        : std::is_same_v<RealOf<T>, float> ? 'c'
                                                           : 'z';

template <class T, class Random>
T number(Random& random) {
  std::uniform_real_distribution<RealOf<T>> x(-1, 1);
  if constexpr (is_complex<T>) {
    const RealOf<T> real = x(random);
    return {real, x(random)};
  } else {
    return x(random);
  }
}

/// A call, by any name: all arguments are addresses, and lengths of letters follow.
void call(void* function, std::vector<void*> x) {
  for (int i = 0; i < 4; ++i) x.push_back(reinterpret_cast<void*>(1));
  x.resize(40);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    reinterpret_cast<void (*)(decltype((static_cast<void>(I), static_cast<void*>(nullptr)))...)>(function)(x[I]...);
  }
  (std::make_index_sequence<40>());
}

int owned(int n, int block, int mine, int source, int processes) {
  int count = 0;
  for (int i = 0; i < n; ++i) count += (i / block + source) % processes == mine;
  return count;
}

/// An array of the caller's, its contents before a call, after it, and what was kept of that.
struct Array {
  std::size_t bytes;  ///< of an element
  std::vector<char> before, ours, theirs;
  std::function<double(const void*, const void*)> distance;  ///< of two elements; none: bits
  /// Collective: what two right results may differ by is made the same in both; none: nothing is.
  std::function<void(std::vector<char>&)> settle;
  std::size_t defined = SIZE_MAX;  ///< so many elements; what comes behind is the routine's to work with
};

template <class T>
Array array_of(std::vector<T> x) {
  Array a{sizeof(T), std::vector<char>(sizeof(T) * x.size()), {}, {}, {}, {}, SIZE_MAX};
  std::memcpy(a.before.data(), x.data(), a.before.size());
  if constexpr (!std::is_integral_v<T>)
    a.distance = [](const void* p, const void* q) {
      T one, other;
      std::memcpy(&one, p, sizeof one);
      std::memcpy(&other, q, sizeof other);
      return static_cast<double>(std::abs(one - other)) / (1 + static_cast<double>(std::abs(other)));
    };
  return a;
}

/// A distributed matrix, larger than the part that a call is about, in a local array with room to spare.
struct Matrix {
  int desc[9];
  int i, j;  ///< where the part begins, from 1
  Array array;
};

/// Where a matrix is in its grid.
struct Place {
  int row_block, column_block, before_i, before_j, source_i, source_j;
};

/// @param special  adds to the element (r, c) of the part, whose diagonal is real then
template <class T>
Matrix placed(int m, int n, const Place& at, const std::function<T(int, int)>& special = {}, RealOf<T> scale = 1) {
  Matrix x{};
  const int rows = at.before_i + m + pick(0, 5), columns = at.before_j + n + pick(0, 5);
  const int local_rows = owned(rows, at.row_block, my_row, at.source_i, rows_of_grid),
            local_columns = owned(columns, at.column_block, my_column, at.source_j, columns_of_grid);
  const int lld = std::max(1, local_rows) + 3;
  const int desc[] = {1, context, rows, columns, at.row_block, at.column_block, at.source_i, at.source_j, lld};
  std::copy(desc, desc + 9, x.desc);
  x.i = at.before_i + 1;
  x.j = at.before_j + 1;
  const std::uint64_t seed = everybodys();
  std::vector<T> local(static_cast<std::size_t>(lld) * static_cast<std::size_t>(std::max(1, local_columns)));
  Quick mine{seed + 7919u * static_cast<unsigned>(my_row * columns_of_grid + my_column)};
  for (T& e : local) e = number<T>(mine);
  int lc = 0;
  for (int c = 0; c < columns; ++c) {
    if ((c / at.column_block + at.source_j) % columns_of_grid != my_column) continue;
    int lr = 0;
    for (int r = 0; r < rows; ++r) {
      if ((r / at.row_block + at.source_i) % rows_of_grid != my_row) continue;
      Quick element{seed ^ (static_cast<std::uint64_t>(r) << 40) ^ (static_cast<std::uint64_t>(c) << 20)};
      T& e = local[static_cast<std::size_t>(lr + lc * lld)];
      e = scale * number<T>(element);
      const int pr = r - at.before_i, pc = c - at.before_j;
      if (special && pr >= 0 && pc >= 0 && pr < m && pc < n) e = special(pr, pc) + (pr == pc ? T(std::real(e)) : e);
      ++lr;
    }
    ++lc;
  }
  x.array = array_of(local);
  return x;
}

/// Square blocks, of which the part begins with one, as factorisations want it.
/// @param first  it begins with the whole matrix, and that at process (0, 0)
template <class T>
Matrix matrix(int m, int n, int block, const std::function<T(int, int)>& special = {}, bool first = false,
              RealOf<T> scale = 1) {
  const int before_i = first ? 0 : block * pick(0, 2), before_j = first ? 0 : block * pick(0, 2),
            source_i = first ? 0 : pick(0, rows_of_grid - 1), source_j = first ? 0 : pick(0, columns_of_grid - 1);
  return placed<T>(m, n, {block, block, before_i, before_j, source_i, source_j}, special, scale);
}

/// Any blocks, any part: products are content with that.
template <class T>
Matrix loose(int m, int n, int block, const std::function<T(int, int)>& special = {}, RealOf<T> scale = 1) {
  const int row_block = pick(1, 2 * block), column_block = pick(1, 2 * block), before_i = pick(0, 20),
            before_j = pick(0, 20), source_i = pick(0, rows_of_grid - 1), source_j = pick(0, columns_of_grid - 1);
  return placed<T>(m, n, {row_block, column_block, before_i, before_j, source_i, source_j}, special, scale);
}

enum class Mode { keep, compare, same } mode;
std::FILE* kept;

/// A call, and what it leaves beside what was kept of it.
/// @param arrays  in the order of `arguments`' null addresses; @param unlike  how far elements may be apart
/// @param unsure     arrays whose contents after the call are not defined
/// @param as_before  the library's results are another routine's, from the call before
void check(const std::string& name, std::vector<void*> arguments, const std::vector<Array*>& arrays, double unlike,
           const std::vector<const Array*>& unsure = {}, bool as_before = false) {
  if (as_before && mode != Mode::compare) return;
  void* function = dlsym(RTLD_DEFAULT, name.c_str());
  if (!function) std::fprintf(stderr, "%s is missing\n", name.c_str()), std::exit(2);
  std::size_t next = 0;
  for (void*& x : arguments)
    if (!x) {
      arrays[next]->ours = arrays[next]->before;
      x = arrays[next++]->ours.data();
    }
  if (next != arrays.size()) std::abort();
  call(function, arguments);
  ++calls;
  names.insert(name);
  if (!as_before)
    for (Array* a : arrays) {
      const bool is_kept = std::find(unsure.begin(), unsure.end(), a) == unsure.end();
      a->theirs = a->ours;
      if (!is_kept) continue;
      const std::size_t done = mode == Mode::keep ? std::fwrite(a->ours.data(), 1, a->ours.size(), kept)
                                                  : std::fread(a->theirs.data(), 1, a->theirs.size(), kept);
      if (done != a->ours.size()) std::fprintf(stderr, "what was kept is of another run\n"), std::exit(2);
    }
  if (mode == Mode::keep) return;
  int bad = 0;
  for (Array* a : arrays)
    if (a->settle) a->settle(a->ours), a->settle(a->theirs);
  for (const Array* a : arrays) {
    if (std::find(unsure.begin(), unsure.end(), a) != unsure.end()) continue;
    for (std::size_t at = 0; at + a->bytes <= a->before.size() && at / a->bytes < a->defined; at += a->bytes) {
      const char *before = a->before.data() + at, *mine = a->ours.data() + at, *other = a->theirs.data() + at;
      if (std::memcmp(mine, other, a->bytes) == 0) continue;
      const bool was_left = std::memcmp(before, other, a->bytes) == 0;
      if (was_left || !a->distance || !(a->distance(mine, other) <= unlike)) ++bad;
    }
  }
  const int one = 1, all = -1;
  igsum2d_(&context, "A", " ", &one, &one, &bad, &one, &all, &all, 1, 1);
  if (bad > 0) {
    ++wrong;
    if (my_row == 0 && my_column == 0) std::printf("WRONG %s: %d elements\n", name.c_str(), bad);
  }
}

/// Of the part's first `count` rows; behind these, and a block beyond all rows, is room to work with.
Array pivots_of(const Matrix& x, int count, int block) {
  const auto rows = [&](int n) { return static_cast<std::size_t>(owned(n, block, my_row, x.desc[6], rows_of_grid)); };
  Array a = array_of(std::vector<int>(rows(x.desc[2]) + static_cast<std::size_t>(block), -7));
  a.defined = rows(x.i - 1 + count);
  return a;
}

/// A matrix of `columns` whose rows are where those of A are.
template <class T>
Matrix beside(const Matrix& A, int rows, int columns, int block) {
  const auto owner = [&](const Matrix& x) { return (x.desc[6] + (x.i - 1) / block) % rows_of_grid; };
  for (;;) {
    Matrix x = matrix<T>(rows, columns, block);
    if (owner(x) == owner(A)) return x;
  }
}

template <class T>
void* letter_of(char c) {
  static char letters[256];
  letters[static_cast<unsigned char>(c)] = c;
  return &letters[static_cast<unsigned char>(c)];
}

template <class T>
void product(int block) {
  int m = pick(30, 70), n = pick(30, 70), k = pick(20, 50);
  T alpha = number<T>(everybodys), beta = number<T>(everybodys), zero = 0;
  const auto M = [](Matrix& x, std::vector<void*>& to) { to.insert(to.end(), {nullptr, &x.i, &x.j, x.desc}); };
  for (const char ta : {'N', 'T', 'C'})
    for (const bool beta_zero : {false, true}) {
      const char tb = "NTC"[pick(0, 2)];
      Matrix A = ta == 'N' ? loose<T>(m, k, block) : loose<T>(k, m, block),
             B = tb == 'N' ? loose<T>(k, n, block) : loose<T>(n, k, block), C = loose<T>(m, n, block);
      std::vector<void*> x{letter_of<T>(ta), letter_of<T>(tb), &m, &n, &k, &alpha};
      M(A, x), M(B, x), x.push_back(beta_zero ? &zero : &beta), M(C, x);
      check(std::string("p") + letter<T> + "gemm_", x, {&A.array, &B.array, &C.array},
            1000.0 * static_cast<double>(std::numeric_limits<RealOf<T>>::epsilon()) * k);
    }
}

template <class T>
void all_routines(int block) {
  using Real = RealOf<T>;
  const double rounding = std::numeric_limits<Real>::epsilon();
  const std::string p = std::string("p") + letter<T>, o = p + (is_complex<T> ? "un" : "or");
  const int m0 = pick(30, 70), n0 = pick(30, 70), k0 = pick(20, 50), few = pick(1, 9);
  const double close = 1000 * rounding;
  const auto L = [](char c) { return letter_of<T>(c); };
  const auto I = [](int& x) { return static_cast<void*>(&x); };
  int m = m0, n = n0, k = k0, nrhs = few;
  T alpha = number<T>(everybodys), beta = number<T>(everybodys), zero = 0;
  Real real_alpha = std::abs(alpha), real_beta = -real_alpha / 2, real_zero = 0;
  const auto M = [](Matrix& x, std::vector<void*>& to) { to.insert(to.end(), {nullptr, &x.i, &x.j, x.desc}); };
  const auto info = [] { return array_of<int>({-99}); };
  const char t = is_complex<T> ? 'C' : 'T';
  const auto diagonal = [](T x) { return [x](int r, int c) { return r == c ? x : T(0); }; };
  product<T>(block);
  for (const char uplo : {'U', 'L'})
    for (const char trans : {'N', t})
      for (const bool beta_zero : {false, true}) {
        const char other = is_complex<T> && trans != 'N' ? 'T' : trans;  // of csyrk and zsyrk
        Matrix A = trans == 'N' ? loose<T>(n, k, block) : loose<T>(k, n, block), C = loose<T>(n, n, block);
        std::vector<void*> x{L(uplo), L(other), I(n), I(k), &alpha};
        M(A, x), x.push_back(beta_zero ? &zero : &beta), M(C, x);
        check(p + "syrk_", x, {&A.array, &C.array}, close * k);
        if (!is_complex<T>) continue;
        // The diagonal is taken for real, if it is read.
        Matrix H = loose<T>(n, n, block, [](int, int) { return T(0); });
        std::vector<void*> y{L(uplo), L(trans), I(n), I(k), &real_alpha};
        M(A, y), y.push_back(beta_zero ? static_cast<void*>(&real_zero) : &real_beta), M(H, y);
        check(p + "herk_", y, {&A.array, &H.array}, close * k);
      }
  for (const char uplo : {'U', 'L'})
    for (const char trans : {'N', t})
      for (const bool beta_zero : {false, true}) {
        const char other = is_complex<T> && trans != 'N' ? 'T' : trans;  // of csyr2k and zsyr2k
        const auto factor = [&] { return trans == 'N' ? loose<T>(n, k, block) : loose<T>(k, n, block); };
        Matrix A = factor(), B = factor(), C = loose<T>(n, n, block);
        std::vector<void*> x{L(uplo), L(other), I(n), I(k), &alpha};
        M(A, x), M(B, x), x.push_back(beta_zero ? &zero : &beta), M(C, x);
        check(p + "syr2k_", x, {&A.array, &B.array, &C.array}, close * k);
        if (!is_complex<T>) continue;
        Matrix H = loose<T>(n, n, block, [](int, int) { return T(0); });
        std::vector<void*> y{L(uplo), L(trans), I(n), I(k), &alpha};
        M(A, y), M(B, y), y.push_back(beta_zero ? static_cast<void*>(&real_zero) : &real_beta), M(H, y);
        check(p + "her2k_", y, {&A.array, &B.array, &H.array}, close * k);
      }
  for (const char side : {'L', 'R'})
    for (const char uplo : {'U', 'L'})
      for (const bool beta_zero : {false, true}) {
        const int order = side == 'L' ? m : n;
        Matrix A = loose<T>(order, order, block, [](int, int) { return T(0); }), B = loose<T>(m, n, block),
               C = loose<T>(m, n, block);
        for (const char* name : {"symm_", "hemm_"}) {
          if (!is_complex<T> && name[0] == 'h') continue;
          Matrix result = C;
          std::vector<void*> x{L(side), L(uplo), I(m), I(n), &alpha};
          M(A, x), M(B, x), x.push_back(beta_zero ? &zero : &beta), M(result, x);
          check(p + name, x, {&A.array, &B.array, &result.array}, close * order);
        }
      }
  for (const char side : {'L', 'R'})
    for (const char uplo : {'U', 'L'})
      for (const char trans : {'N', 'T', 'C'})
        for (const char diag : {'N', 'U'}) {
          int order = side == 'L' ? m : n;
          const auto large = diagonal(T(static_cast<Real>(2 * order)));
          // With a diagonal of ones, what stands beside it is small, or the solution would be anything.
          Matrix A = diag == 'N' ? loose<T>(order, order, block, large)
                                 : loose<T>(order, order, block, {}, Real(1) / static_cast<Real>(order));
          Matrix B = loose<T>(m, n, block);
          std::vector<void*> y{L(side), L(uplo), L(trans), L(diag), I(m), I(n), &alpha};
          M(A, y), M(B, y);
          check(p + "trsm_", y, {&A.array, &B.array}, close);
          Matrix product = B;
          std::vector<void*> z{L(side), L(uplo), L(trans), L(diag), I(m), I(n), &alpha};
          M(A, z), M(product, z);
          check(p + "trmm_", z, {&A.array, &product.array}, close * order);
        }
  for (const char uplo : {'U', 'L'}) {
    const auto definite = [&](int r, int c) { return r == c ? T(static_cast<Real>(2 * n)) : T(0); };
    Matrix A = matrix<T>(n, n, block, definite), B = beside<T>(A, n, nrhs, block);
    Array i = info();
    std::vector<void*> x{L(uplo), I(n)};
    M(A, x), x.push_back(nullptr);
    check(p + "potrf_", x, {&A.array, &i}, close);
    Matrix F = A;
    F.array.before = A.array.theirs;
    Array i2 = info();
    std::vector<void*> y{L(uplo), I(n), I(nrhs)};
    M(F, y);
    Matrix B2 = beside<T>(F, n, nrhs, block);
    M(B2, y), y.push_back(nullptr);
    check(p + "potrs_", y, {&F.array, &B2.array, &i2}, close);
    Array i4 = info();
    std::vector<void*> v{L(uplo), I(n)};
    M(F, v), v.push_back(nullptr);
    check(p + "potri_", v, {&F.array, &i4}, 10 * close);
    for (const char diag : {'N', 'U'}) {
      const auto large = diagonal(T(static_cast<Real>(2 * n)));
      // With a diagonal of ones, what stands beside it is small, or the inverse would be anything.
      Matrix R = diag == 'N' ? matrix<T>(n, n, block, large)
                             : matrix<T>(n, n, block, {}, false, Real(1) / static_cast<Real>(n));
      Array i5 = info();
      std::vector<void*> r{L(uplo), L(diag), I(n)};
      M(R, r), r.push_back(nullptr);
      check(p + "trtri_", r, {&R.array, &i5}, close);
    }
    Array i3 = info();
    Matrix A3 = A, B3 = B2;
    std::vector<void*> z{L(uplo), I(n), I(nrhs)};
    M(A3, z), M(B3, z), z.push_back(nullptr);
    check(p + "posv_", z, {&A3.array, &B3.array, &i3}, close);
  }
  {
    Matrix A = matrix<T>(m, n, block);
    Array pivots = pivots_of(A, std::min(m, n), block), i = info();
    std::vector<void*> x{I(m), I(n)};
    M(A, x), x.insert(x.end(), {nullptr, nullptr});
    check(p + "getrf_", x, {&A.array, &pivots, &i}, 100 * close);
  }
  {
    Matrix A = matrix<T>(n, n, block), B = beside<T>(A, n, nrhs, block);
    Array pivots = pivots_of(A, n, block), i = info();
    std::vector<void*> x{I(n), I(nrhs)};
    M(A, x), x.push_back(nullptr), M(B, x), x.push_back(nullptr);
    check(p + "gesv_", x, {&A.array, &pivots, &B.array, &i}, 10000 * close);
    Matrix F = A;
    F.array.before = A.array.theirs;
    pivots.before = pivots.theirs;
    for (const char trans : {'N', t}) {
      Array i2 = info();
      Matrix B2 = B;
      std::vector<void*> y{L(trans), I(n), I(nrhs)};
      M(F, y), y.push_back(nullptr), M(B2, y), y.push_back(nullptr);
      check(p + "getrs_", y, {&F.array, &pivots, &B2.array, &i2}, 10000 * close);
    }
    const int room = 400000;
    int lwork = room, liwork = room;
    Array work = array_of(std::vector<T>(static_cast<std::size_t>(room))), i3 = info(),
          iwork = array_of(std::vector<int>(static_cast<std::size_t>(room)));
    std::vector<void*> z{I(n)};
    M(F, z), z.insert(z.end(), {nullptr, nullptr, I(lwork), nullptr, I(liwork), nullptr});
    check(p + "getri_", z, {&F.array, &pivots, &work, &iwork, &i3}, 10000 * close, {&work, &iwork});
  }
  {
    const int room = 400000;
    int lwork = room;
    Matrix A = matrix<T>(std::max(m, n), std::min(m, n), block);
    int rows = std::max(m, n), columns = std::min(m, n);
    const int local = std::max(1, owned(A.desc[3], block, my_column, A.desc[7], columns_of_grid));
    Array tau = array_of(std::vector<T>(static_cast<std::size_t>(local), T(-5))), i = info(),
          work = array_of(std::vector<T>(static_cast<std::size_t>(room)));
    std::vector<void*> x{I(rows), I(columns)};
    M(A, x), x.insert(x.end(), {nullptr, nullptr, I(lwork), nullptr});
    check(p + "geqrf_", x, {&A.array, &tau, &work, &i}, 10 * close, {&work});
    Matrix V = A;
    V.array.before = A.array.theirs;
    tau.before = tau.theirs;
    int reflectors = columns;
    for (const char trans : {'N', t}) {
      Matrix C = beside<T>(V, rows, k, block);
      Array i2 = info();
      std::vector<void*> y{L('L'), L(trans), I(rows), I(k), I(reflectors)};
      M(V, y), y.push_back(nullptr), M(C, y), y.insert(y.end(), {nullptr, I(lwork), nullptr});
      check(o + "mqr_", y, {&V.array, &tau, &C.array, &work, &i2}, 10 * close, {&work});
      Matrix R = matrix<T>(k, rows, block);
      Array i5 = info();
      std::vector<void*> right{L('R'), L(trans), I(k), I(rows), I(reflectors)};
      M(V, right), right.push_back(nullptr), M(R, right), right.insert(right.end(), {nullptr, I(lwork), nullptr});
      check(o + "mqr_", right, {&V.array, &tau, &R.array, &work, &i5}, 10 * close, {&work});
    }
    Array i3 = info();
    Matrix Q = V;
    std::vector<void*> z{I(rows), I(columns), I(reflectors)};
    M(Q, z), z.insert(z.end(), {nullptr, nullptr, I(lwork), nullptr});
    check(o + "gqr_", z, {&Q.array, &tau, &work, &i3}, 10 * close, {&work});
    for (const bool wide : {false, true})
      for (const char trans : {'N', t}) {
        int equations = wide ? columns : rows, unknowns = wide ? rows : columns;
        Matrix G = matrix<T>(equations, unknowns, block),
               B = equations < unknowns ? matrix<T>(rows, nrhs, block) : beside<T>(G, rows, nrhs, block);
        Array i4 = info();
        std::vector<void*> w{L(trans), I(equations), I(unknowns), I(nrhs)};
        M(G, w), M(B, w), w.insert(w.end(), {nullptr, I(lwork), nullptr});
        check(p + "gels_", w, {&G.array, &B.array, &work, &i4}, 1000 * close, {&work});
      }
  }
}

/// Gives the vectors in Z the phase in which vector `first` + j has a positive element `first` + j, the largest one.
template <class T>
void settle_phases(std::vector<char>& Z, int n, int first, int vectors, int block, int lld) {
  const auto at = [&](int i, int j) {
    return sizeof(T) * static_cast<std::size_t>(i / block / rows_of_grid * block + i % block +
                                                lld * (j / block / columns_of_grid * block + j % block));
  };
  std::vector<double> phases(2 * static_cast<std::size_t>(vectors), 0);
  for (int j = 0; j < vectors; ++j)
    if ((first + j) / block % rows_of_grid == my_row && j / block % columns_of_grid == my_column) {
      T x;
      std::memcpy(&x, Z.data() + at(first + j, j), sizeof x);
      phases[static_cast<std::size_t>(2 * j)] = static_cast<double>(std::real(x) / std::abs(x));
      phases[static_cast<std::size_t>(2 * j + 1)] = static_cast<double>(std::imag(x) / std::abs(x));
    }
  const int count = 2 * vectors, one = 1, all = -1;
  dgsum2d_(&context, "A", " ", &count, &one, phases.data(), &count, &all, &all, 1, 1);
  for (int j = 0; j < vectors; ++j)
    for (int i = 0; i < n && j / block % columns_of_grid == my_column; ++i) {
      if (i / block % rows_of_grid != my_row) continue;
      T x;
      std::memcpy(&x, Z.data() + at(i, j), sizeof x);
      const auto real = static_cast<RealOf<T>>(phases[static_cast<std::size_t>(2 * j)]);
      if constexpr (is_complex<T>)
        x *= T(real, -static_cast<RealOf<T>>(phases[static_cast<std::size_t>(2 * j + 1)]));
      else
        x *= real;
      std::memcpy(Z.data() + at(i, j), &x, sizeof x);
    }
}

/// Eigenvalues agree; eigenvectors agree but for a factor of modulus 1.
///
/// ScaLAPACK 2.2's p?heevd refuses its own workspaces (DESCINIT), and its p?syevd gives no eigenvalues to processes
/// that have nothing of the matrix, so these are compared with what p?heev and p?syev have found.
template <class T>
void eigen_routines(int block) {
  using Real = RealOf<T>;
  const double rounding = std::numeric_limits<Real>::epsilon();
  const std::string p = std::string("p") + letter<T> + (is_complex<T> ? "he" : "sy");
  const auto L = [](char c) { return letter_of<T>(c); };
  int n = pick(20, 50), room = 2000000;
  void* const uplo = L(pick(0, 1) ? 'U' : 'L');
  // Well apart, so that their vectors are known.
  Matrix A = matrix<T>(
      n, n, block, [](int r, int c) { return r == c ? T(static_cast<Real>(8 * r)) : T(0); }, true);
  Matrix Z = A;
  Array w = array_of(std::vector<Real>(static_cast<std::size_t>(n))), i = array_of<int>({-99}),
        work = array_of(std::vector<T>(static_cast<std::size_t>(room))),
        rwork = array_of(std::vector<Real>(static_cast<std::size_t>(room))),
        iwork = array_of(std::vector<int>(static_cast<std::size_t>(room)));
  const auto settle_from = [&](int first, int vectors) {
    Z.array.settle = [=, lld = Z.desc[8]](std::vector<char>& z) { settle_phases<T>(z, n, first, vectors, block, lld); };
  };
  settle_from(0, n);
  for (const bool divides : {false, true}) {
    std::vector<void*> x{L('V'), uplo, &n, nullptr, &A.i, &A.j, A.desc, nullptr, nullptr, &Z.i, &Z.j, Z.desc};
    std::vector<Array*> arrays{&A.array, &w, &Z.array, &work};
    x.insert(x.end(), {nullptr, &room});
    if (is_complex<T>) x.insert(x.end(), {nullptr, &room}), arrays.push_back(&rwork);
    if (divides) x.insert(x.end(), {nullptr, &room}), arrays.push_back(&iwork);
    x.push_back(nullptr), arrays.push_back(&i);
    check(p + (divides ? "evd_" : "ev_"), x, arrays, 3000 * n * rounding, {&A.array, &work, &rwork, &iwork}, divides);
  }
  for (const char job : {'V', 'N'})
    for (const char range : {'A', 'I', 'V'}) {
      int first = range == 'A' ? 1 : pick(1, n / 2), last = range == 'A' ? n : pick(n / 2, n),
          values = last - first + 1;
      // In the middle between eigenvalues, which are near the diagonal's elements.
      const Real below = static_cast<Real>(8 * (first - 1) - 4), above = static_cast<Real>(8 * (last - 1) + 4);
      Real low = below, high = above, abstol = 0, orfac = Real(1e-3);
      Array ifail = array_of(std::vector<int>(static_cast<std::size_t>(n), -3)),
            iclustr = array_of(std::vector<int>(static_cast<std::size_t>(2 * rows_of_grid * columns_of_grid))),
            gap = array_of(std::vector<Real>(static_cast<std::size_t>(rows_of_grid * columns_of_grid))),
            m = array_of<int>({-9}), nz = array_of<int>({-9}), status = array_of<int>({-99});
      w.defined = static_cast<std::size_t>(values);
      ifail.defined = job == 'V' ? w.defined : 0;
      std::vector<void*> x{L(job), L(range), uplo,    &n,      nullptr, &A.i,   &A.j,    A.desc, &low, &high, &first,
                           &last,  &abstol,  nullptr, nullptr, nullptr, &orfac, nullptr, &Z.i,   &Z.j, Z.desc};
      std::vector<Array*> arrays{&A.array, &m, &nz, &w, &Z.array, &work};
      x.insert(x.end(), {nullptr, &room});
      if (is_complex<T>) x.insert(x.end(), {nullptr, &room}), arrays.push_back(&rwork);
      x.insert(x.end(), {nullptr, &room, nullptr, nullptr, nullptr, nullptr});
      arrays.insert(arrays.end(), {&iwork, &ifail, &iclustr, &gap, &status});
      std::vector<const Array*> unsure{&A.array, &work, &rwork, &iwork, &iclustr, &gap};
      settle_from(first - 1, values);
      if (job == 'N') Z.array.settle = {}, unsure.insert(unsure.end(), {&Z.array, &nz});
      check(p + "evx_", x, arrays, 3000 * n * rounding, unsure);
      // B is so near to a multiple of the identity that vectors have their largest elements where those of A have.
      for (int type = 1; type <= (job == 'V' && range != 'A' ? 3 : 1); ++type) {
        const Real by_b = static_cast<Real>(20 * n), times = type == 1 ? 1 / by_b : by_b;
        low = times * below, high = times * above;
        const auto near_identity = [&](int r, int c) { return r == c ? T(static_cast<Real>(20 * n)) : T(0); };
        Matrix B = matrix<T>(n, n, block, near_identity, true);
        while (!std::equal(A.desc, A.desc + 9, B.desc)) B = matrix<T>(n, n, block, near_identity, true);
        std::vector<void*> y = x;
        y.insert(y.begin(), &type);
        y.insert(y.begin() + 9, {nullptr, &B.i, &B.j, B.desc});
        std::vector<Array*> more = arrays;
        more.insert(more.begin() + 1, &B.array);
        check(p + "gvx_", y, more, 3000 * n * rounding, unsure);
      }
    }
}

/// Calls of all processes, and at once afterwards calls of the first one alone on a grid of its own, whose root is the
/// same: it goes on while others may still be at the call before.
void alternate_grids() {
  const int zero = 0, minus = -1, one = 1;
  int small;
  blacs_get_(&minus, &zero, &small);
  blacs_gridinit_(&small, "R", &one, &one, 1);
  for (int i = 0; i < 5; ++i) {
    product<double>(8);
    if (my_row != 0 || my_column != 0) continue;
    const std::mt19937_64 in_common = everybodys;
    const int all_grid[] = {context, rows_of_grid, columns_of_grid};
    context = small;
    rows_of_grid = columns_of_grid = 1;
    product<double>(8);
    context = all_grid[0];
    rows_of_grid = all_grid[1];
    columns_of_grid = all_grid[2];
    everybodys = in_common;
  }
  if (my_row == 0 && my_column == 0) blacs_gridexit_(&small);
}

}  // namespace

int main(int count, char** words) {
  if (count < 6) return std::fprintf(stderr, "usage: calls keep|compare|same P Q SEED BLOCK...\n"), 2;
  const std::string what = words[1];
  mode = what == "keep" ? Mode::keep : what == "compare" ? Mode::compare : Mode::same;
  const int P = std::atoi(words[2]), Q = std::atoi(words[3]), zero = 0, minus = -1;
  everybodys.seed(static_cast<std::uint64_t>(std::atoll(words[4])));
  int me, all;
  blacs_pinfo_(&me, &all);
  blacs_get_(&minus, &zero, &context);
  blacs_gridinit_(&context, "R", &P, &Q, 1);
  blacs_gridinfo_(&context, &rows_of_grid, &columns_of_grid, &my_row, &my_column);
  if (my_row >= 0) {
    const std::string file = "kept." + std::to_string(my_row) + "." + std::to_string(my_column);
    kept = std::fopen(file.c_str(), mode == Mode::keep ? "wb" : "rb");
    if (!kept) return std::perror(file.c_str()), 2;
    for (int i = 5; i < count; ++i) {
      const int block = std::atoi(words[i]);
      all_routines<float>(block);
      all_routines<double>(block);
      all_routines<std::complex<float>>(block);
      all_routines<std::complex<double>>(block);
      eigen_routines<float>(block);
      eigen_routines<double>(block);
      eigen_routines<std::complex<float>>(block);
      eigen_routines<std::complex<double>>(block);
    }
    alternate_grids();
    std::fclose(kept);
    if (my_row == 0 && my_column == 0) {
      for (const std::string& name : names) std::printf("called %s\n", name.c_str());
      std::printf("calls %d wrong %d\n", calls, wrong);
    }
    blacs_gridexit_(&context);
  }
  blacs_exit_(&zero);
  return 0;
}
