// ScaLAPACK's names, over the program's own BLACS: what each routine's arguments are, and the call of BLAS or LAPACK
// that computes the same on one process.  How the processes agree on that way is in impl/scalapack/gathered.hpp.
//
// A routine has a struct: the numbers of its arguments (a matrix has four: array, two offsets, descriptor), `describe`,
// which every process runs on its own arguments, and `compute`, which the root runs.
#include <cstring>

#include "api/entries.hpp"
#include "compat/library.hpp"
#include "compat/say.hpp"
#include "impl/cholesky/potrf.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/eigen/syevd.hpp"
#include "impl/lu/getrf.hpp"
#include "impl/product/gemm.hpp"
#include "impl/product/symm.hpp"
#include "impl/product/trmm.hpp"
#include "impl/qr/geqrf.hpp"
#include "impl/qr/ormqr.hpp"
#include "impl/route/route.hpp"
#include "impl/scalapack/gathered.hpp"
#include "impl/solve/inverse.hpp"
#include "impl/solve/least_squares.hpp"
#include "impl/solve/sygv.hpp"
#include "impl/solve/system.hpp"
#include "impl/solve/trsm.hpp"

namespace blaslift::scalapack {

namespace {

/// What the caller has reached, and its surroundings.  Found once in a process, by the first call of the routine.
struct Underneath {
  std::atomic<void*> function{nullptr};
  std::atomic<bool> has_blacs{false};
  Blacs blacs{};
};

/// ScaLAPACK's function itself.  Lengths of letters follow, which may be more than it has.
template <int count>
void call_original(void* function, const Arguments& arguments) {
  constexpr int lengths = 4;
  CallWords words;
  for (int i = 0; i < count; ++i) words.set(i, arguments.at[static_cast<std::size_t>(i)]);
  for (int i = 0; i < lengths; ++i) words.word[count + i] = 1;
  call<count + lengths>(function, words);
}

/// Makes the root's call.
class RootCall {
 public:
  RootCall(const void* function, const GatheredCall& gathered) : call(gathered), function_(function) {}

  const GatheredCall& call;

  /// A call of BLAS's or LAPACK's whose words these are.  False: it was not made.
  template <class How, Symbol symbol>
  bool make(CallWords words) const {
    Site ephemeral;
    const Site& site = site_of(symbol, function_, ephemeral);
    thread_state.agreed = ThreadState::on_device;
    How::template make<Interface::fortran>(site, words);
    const bool made = thread_state.agreed == ThreadState::on_device;
    thread_state.agreed = ThreadState::nothing;
    return made && info == 0;
  }

  mutable std::int64_t info = 0;

 private:
  const void* function_;
};

/// An argument of the root's call by address, in any width.
struct Integer {
  std::int64_t value;
  explicit Integer(index x) : value(x) {}
  std::uint64_t word() const { return reinterpret_cast<std::uint64_t>(&value); }
};
std::uint64_t word(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

constexpr bool is_one_of(char c, const char* letters) {
  for (; *letters; ++letters)
    if (c == *letters) return true;
  return false;
}
constexpr Part part_of_letter(char uplo) { return uplo == 'U' ? Part::upper : Part::lower; }

/// What the kinds below have in common: reading what they are called with.
struct Described {
  GatheredCall& call;
  const Arguments& in;

  index size(int i) {
    const std::int32_t x = in.integer(i);
    call.agree_on(x);
    call.require(x > 0);
    return x;
  }
  /// One of everybody's, too.
  template <class Real>
  Real real(int i) {
    const Real x = *in.to<const Real>(i);
    std::int32_t words[sizeof x / sizeof(std::int32_t)];
    std::memcpy(words, &x, sizeof x);
    for (const std::int32_t word : words) call.agree_on(word);
    return x;
  }
  char letter(int i, const char* allowed) {
    const char c = in.letter(i);
    call.agree_on(c);
    call.require(is_one_of(c, allowed));
    return c;
  }
  /// A X = B, operands a and b: right-hand sides' rows lie where A's rows lie.
  void system(int a, int b, index order, index columns) {
    call.require_blocks(a);
    call.require_same_rows(a, b);
    call.problem.m = order;
    call.problem.n = columns;
  }
};

template <class T>
constexpr const char* transposes_of = is_complex(precision_of<T>) ? "NC" : "NT";

template <class T, Symbol symbol>
struct Gemm {
  enum { transa, transb, m, n, k, alpha, A, B = A + 4, beta = B + 4, C, count = C + 4 };
  static constexpr int work = -1;

  static void describe(Described x) {
    const char a = x.letter(transa, "NTC"), b = x.letter(transb, "NTC");
    const index rows = x.size(m), columns = x.size(n), inner = x.size(k);
    const T factor = *x.in.to<const T>(alpha);
    x.call.require(factor != T(0));
    x.call.template matrix<T>(A, a == 'N' ? rows : inner, a == 'N' ? inner : rows, Access::read);
    x.call.template matrix<T>(B, b == 'N' ? inner : columns, b == 'N' ? columns : inner, Access::read);
    x.call.template matrix<T>(C, rows, columns, *x.in.to<const T>(beta) == T(0) ? Access::written : Access::both);
    x.call.problem.m = rows;
    x.call.problem.n = columns;
    x.call.problem.k = inner;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer lda(x.ld(0)), ldb(x.ld(1)), ldc(x.ld(2)), rows(in.integer(m)), columns(in.integer(n)),
        inner(in.integer(k));
    return root.make<BlasCall<GemmSignature<T>, gemm<T>>, symbol>(
        CallWords(word(in.to<char>(transa)), word(in.to<char>(transb)), rows.word(), columns.word(), inner.word(),
                  word(in.to<T>(alpha)), word(x.at<T>(0)), lda.word(), word(x.at<T>(1)), ldb.word(),
                  word(in.to<T>(beta)), word(x.at<T>(2)), ldc.word()));
  }
};

template <class T, Symbol symbol, bool conjugated>
struct RankK {
  enum { uplo, trans, n, k, alpha, A, beta = A + 4, C, count = C + 4 };
  static constexpr int work = -1;
  using Scalar = std::conditional_t<conjugated, decltype(std::real(T())), T>;

  static void describe(Described x) {
    const Part part = part_of_letter(x.letter(uplo, "UL"));
    const char t = x.letter(trans, conjugated ? "NC" : is_complex(precision_of<T>) ? "NT" : "NTC");
    const index order = x.size(n), inner = x.size(k);
    x.call.require(*x.in.to<const Scalar>(alpha) != Scalar(0));
    x.call.template matrix<T>(A, t == 'N' ? order : inner, t == 'N' ? inner : order, Access::read);
    x.call.template matrix<T>(C, order, order,
                              *x.in.to<const Scalar>(beta) == Scalar(0) ? Access::written : Access::both, part);
    x.call.problem.m = x.call.problem.n = order;
    x.call.problem.k = inner;
    x.call.problem.part = part;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer lda(x.ld(0)), ldc(x.ld(1)), order(in.integer(n)), inner(in.integer(k));
    return root.make<BlasCall<RankKSignature<T, conjugated>, syrk<T>>, symbol>(CallWords(
        word(in.to<char>(uplo)), word(in.to<char>(trans)), order.word(), inner.word(), word(in.to<Scalar>(alpha)),
        word(x.at<T>(0)), lda.word(), word(in.to<Scalar>(beta)), word(x.at<T>(1)), ldc.word()));
  }
};
template <class T, Symbol symbol>
using Syrk = RankK<T, symbol, false>;
template <class T, Symbol symbol>
using Herk = RankK<T, symbol, true>;

template <class T, Symbol symbol, bool conjugated>
struct Rank2K {
  enum { uplo, trans, n, k, alpha, A, B = A + 4, beta = B + 4, C, count = C + 4 };
  static constexpr int work = -1;
  using Scalar = std::conditional_t<conjugated, decltype(std::real(T())), T>;  // beta's

  static void describe(Described x) {
    const Part part = part_of_letter(x.letter(uplo, "UL"));
    const char t = x.letter(trans, conjugated ? "NC" : is_complex(precision_of<T>) ? "NT" : "NTC");
    const index order = x.size(n), inner = x.size(k);
    x.call.require(*x.in.to<const T>(alpha) != T(0));
    for (const int operand : {+A, +B})
      x.call.template matrix<T>(operand, t == 'N' ? order : inner, t == 'N' ? inner : order, Access::read);
    x.call.template matrix<T>(C, order, order,
                              *x.in.to<const Scalar>(beta) == Scalar(0) ? Access::written : Access::both, part);
    x.call.problem.m = x.call.problem.n = order;
    x.call.problem.k = inner;
    x.call.problem.update = Update::rank_2k;
    x.call.problem.part = part;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer lda(x.ld(0)), ldb(x.ld(1)), ldc(x.ld(2)), order(in.integer(n)), inner(in.integer(k));
    return root.make<BlasCall<Rank2KSignature<T, conjugated>, syr2k<T>>, symbol>(
        CallWords(word(in.to<char>(uplo)), word(in.to<char>(trans)), order.word(), inner.word(), word(in.to<T>(alpha)),
                  word(x.at<T>(0)), lda.word(), word(x.at<T>(1)), ldb.word(), word(in.to<Scalar>(beta)),
                  word(x.at<T>(2)), ldc.word()));
  }
};
template <class T, Symbol symbol>
using Syr2k = Rank2K<T, symbol, false>;
template <class T, Symbol symbol>
using Her2k = Rank2K<T, symbol, true>;

template <class T, Symbol symbol, bool hermitian>
struct SymmetricProduct {
  enum { side, uplo, m, n, alpha, A, B = A + 4, beta = B + 4, C, count = C + 4 };
  static constexpr int work = -1;

  static void describe(Described x) {
    const bool left = x.letter(side, "LR") == 'L';
    const Part part = part_of_letter(x.letter(uplo, "UL"));
    const index rows = x.size(m), columns = x.size(n), order = left ? rows : columns;
    x.call.require(*x.in.to<const T>(alpha) != T(0));
    x.call.template matrix<T>(A, order, order, Access::read, part);
    x.call.template matrix<T>(B, rows, columns, Access::read);
    x.call.template matrix<T>(C, rows, columns, *x.in.to<const T>(beta) == T(0) ? Access::written : Access::both);
    x.call.problem.m = rows;
    x.call.problem.n = columns;
    x.call.problem.left = left;
    x.call.problem.part = part;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer lda(x.ld(0)), ldb(x.ld(1)), ldc(x.ld(2)), rows(in.integer(m)), columns(in.integer(n));
    return root.make<BlasCall<SymmetricProductSignature<T, hermitian>, symm<T>>, symbol>(
        CallWords(word(in.to<char>(side)), word(in.to<char>(uplo)), rows.word(), columns.word(), word(in.to<T>(alpha)),
                  word(x.at<T>(0)), lda.word(), word(x.at<T>(1)), ldb.word(), word(in.to<T>(beta)), word(x.at<T>(2)),
                  ldc.word()));
  }
};
template <class T, Symbol symbol>
using Symm = SymmetricProduct<T, symbol, false>;
template <class T, Symbol symbol>
using Hemm = SymmetricProduct<T, symbol, true>;

/// @tparam Local  trmm's call on one process, or trsm's
template <class T, Symbol symbol, class Local>
struct Triangular {
  enum { side, uplo, transa, diag, m, n, alpha, A, B = A + 4, count = B + 4 };
  static constexpr int work = -1;

  static void describe(Described x) {
    const bool left = x.letter(side, "LR") == 'L';
    const Part part = part_of_letter(x.letter(uplo, "UL"));
    x.letter(transa, "NTC");
    x.letter(diag, "NU");
    const index rows = x.size(m), columns = x.size(n), order = left ? rows : columns;
    x.call.require(*x.in.to<const T>(alpha) != T(0));
    x.call.template matrix<T>(A, order, order, Access::read, part);
    x.call.template matrix<T>(B, rows, columns, Access::both);
    x.call.problem.m = rows;
    x.call.problem.n = columns;
    x.call.problem.left = left;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer lda(x.ld(0)), ldb(x.ld(1)), rows(in.integer(m)), columns(in.integer(n));
    return root.make<Local, symbol>(CallWords(word(in.to<char>(side)), word(in.to<char>(uplo)),
                                              word(in.to<char>(transa)), word(in.to<char>(diag)), rows.word(),
                                              columns.word(), word(in.to<T>(alpha)), word(x.at<T>(0)), lda.word(),
                                              word(x.at<T>(1)), ldb.word()));
  }
};
template <class T, Symbol symbol>
using Trmm = Triangular<T, symbol, BlasCall<TrmmSignature<T>, trmm<T>>>;
template <class T, Symbol symbol>
using Trsm = Triangular<T, symbol, BlasCall<TrsmSignature<T>, trsm<T>>>;

/// In the place of one triangle.
/// @tparam Local  potrf's call on one process, or potri's with the factors that potrf has left
template <class T, Symbol symbol, class Local>
struct Definite {
  enum { uplo, n, A, info = A + 4, count };
  static constexpr int work = -1;

  static void describe(Described x) {
    const Part part = part_of_letter(x.letter(uplo, "UL"));
    const index order = x.size(n);
    x.call.require_blocks(x.call.template matrix<T>(A, order, order, Access::both, part));
    x.call.problem.m = x.call.problem.n = order;
    x.call.problem.part = part;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Integer order(x.arguments().integer(n)), lda(x.ld(0));
    return root.make<Local, symbol>(
        CallWords(word(x.arguments().to<char>(uplo)), order.word(), word(x.at<T>(0)), lda.word(), word(&root.info)));
  }
};
template <class T, Symbol symbol>
using Potrf = Definite<T, symbol, LapackCall<PotrfSignature<T>, potrf<T>>>;
template <class T, Symbol symbol>
using Potri = Definite<T, symbol, LapackCall<PotriSignature<T>, invert<T>>>;

/// With factors that potrf has left, or of A.
template <class T, Symbol symbol, class Signature, bool factored>
struct DefiniteSystem {
  enum { uplo, n, nrhs, A, B = A + 4, info = B + 4, count };
  static constexpr int work = -1;

  static void describe(Described x) {
    const Part part = part_of_letter(x.letter(uplo, "UL"));
    const index order = x.size(n), columns = x.size(nrhs);
    const int a = x.call.template matrix<T>(A, order, order, factored ? Access::read : Access::both, part);
    const int b = x.call.template matrix<T>(B, order, columns, Access::both);
    x.system(a, b, order, columns);
    x.call.problem.part = part;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer order(in.integer(n)), columns(in.integer(nrhs)), lda(x.ld(0)), ldb(x.ld(1));
    return root.make<LapackCall<Signature, solve_system<T>>, symbol>(
        CallWords(word(in.to<char>(uplo)), order.word(), columns.word(), word(x.at<T>(0)), lda.word(), word(x.at<T>(1)),
                  ldb.word(), word(&root.info)));
  }
};
template <class T, Symbol symbol>
using Potrs = DefiniteSystem<T, symbol, PotrsSignature<T>, true>;
template <class T, Symbol symbol>
using Posv = DefiniteSystem<T, symbol, PosvSignature<T>, false>;

template <class T, Symbol symbol>
struct Getrf {
  enum { m, n, A, ipiv = A + 4, info, count };
  static constexpr int work = -1;

  static void describe(Described x) {
    const index rows = x.size(m), columns = x.size(n);
    const int a = x.call.template matrix<T>(A, rows, columns, Access::both);
    x.call.require_blocks(a);
    x.call.pivots(ipiv, a, std::min(rows, columns), Access::written);
    x.call.problem.m = rows;
    x.call.problem.n = columns;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Integer rows(x.arguments().integer(m)), columns(x.arguments().integer(n)), lda(x.ld(0));
    return root.make<LapackCall<GetrfSignature<T>, getrf<T>>, symbol>(
        CallWords(rows.word(), columns.word(), word(x.at<T>(0)), lda.word(), word(x.at<void>(1)), word(&root.info)));
  }
};

template <class T, Symbol symbol>
struct Getrs {
  enum { trans, n, nrhs, A, ipiv = A + 4, B, info = B + 4, count };
  static constexpr int work = -1;

  static void describe(Described x) {
    x.call.problem.adjoint = x.letter(trans, "NTC") != 'N';
    const index order = x.size(n), columns = x.size(nrhs);
    const int a = x.call.template matrix<T>(A, order, order, Access::read);
    x.call.pivots(ipiv, a, order, Access::read);
    const int b = x.call.template matrix<T>(B, order, columns, Access::both);
    x.system(a, b, order, columns);
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer order(in.integer(n)), columns(in.integer(nrhs)), lda(x.ld(0)), ldb(x.ld(2));
    return root.make<LapackCall<GetrsSignature<T>, solve_system<T>>, symbol>(
        CallWords(word(in.to<char>(trans)), order.word(), columns.word(), word(x.at<T>(0)), lda.word(),
                  word(x.at<void>(1)), word(x.at<T>(2)), ldb.word(), word(&root.info)));
  }
};

template <class T, Symbol symbol>
struct Gesv {
  enum { n, nrhs, A, ipiv = A + 4, B, info = B + 4, count };
  static constexpr int work = -1;

  static void describe(Described x) {
    const index order = x.size(n), columns = x.size(nrhs);
    const int a = x.call.template matrix<T>(A, order, order, Access::both);
    x.call.pivots(ipiv, a, order, Access::written);
    const int b = x.call.template matrix<T>(B, order, columns, Access::both);
    x.system(a, b, order, columns);
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer order(in.integer(n)), columns(in.integer(nrhs)), lda(x.ld(0)), ldb(x.ld(2));
    return root.make<LapackCall<GesvSignature<T>, solve_system<T>>, symbol>(
        CallWords(order.word(), columns.word(), word(x.at<T>(0)), lda.word(), word(x.at<void>(1)), word(x.at<T>(2)),
                  ldb.word(), word(&root.info)));
  }
};

template <class T, Symbol symbol>
struct Trtri {
  enum { uplo, diag, n, A, info = A + 4, count };
  static constexpr int work = -1;

  static void describe(Described x) {
    const Part part = part_of_letter(x.letter(uplo, "UL"));
    x.letter(diag, "NU");
    const index order = x.size(n);
    x.call.require_blocks(x.call.template matrix<T>(A, order, order, Access::both, part));
    x.call.problem.m = x.call.problem.n = order;
    x.call.problem.part = part;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer order(in.integer(n)), lda(x.ld(0));
    return root.make<LapackCall<TrtriSignature<T>, invert<T>>, symbol>(
        CallWords(word(in.to<char>(uplo)), word(in.to<char>(diag)), order.word(), word(x.at<T>(0)), lda.word(),
                  word(&root.info)));
  }
};

// With workspaces, of which the root's LAPACK has what its documentation asks for at least: the device needs none.

/// From the factors and pivots that getrf has left.
template <class T, Symbol symbol>
struct Getri {
  static constexpr bool has_integers = true;
  enum { n, A, ipiv = A + 4, work, info = work + 4, count };
  static constexpr int work_end = info;

  static void describe(Described x) {
    const index order = x.size(n);
    const int a = x.call.template matrix<T>(A, order, order, Access::both);
    x.call.require_blocks(a);
    x.call.pivots(ipiv, a, order, Access::read);
    x.call.template workspace<T>(order);
    x.call.problem.m = x.call.problem.n = order;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Integer order(x.arguments().integer(n)), lda(x.ld(0)), lwork(x.count(2));
    return root.make<LapackCall<GetriSignature<T>, invert<T>>, symbol>(
        CallWords(order.word(), word(x.at<T>(0)), lda.word(), word(x.at<void>(1)), word(x.at<T>(2)), lwork.word(),
                  word(&root.info)));
  }
};

template <class T, Symbol symbol>
struct Geqrf {
  static constexpr bool has_integers = false;
  enum { m, n, A, tau = A + 4, work, info = work + 2, count };
  static constexpr int work_end = info;

  static void describe(Described x) {
    const index rows = x.size(m), columns = x.size(n);
    const int a = x.call.template matrix<T>(A, rows, columns, Access::both);
    x.call.template per_column<T>(tau, a, std::min(rows, columns), Access::written);
    x.call.template workspace<T>(columns);
    x.call.problem.m = rows;
    x.call.problem.n = columns;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Integer rows(x.arguments().integer(m)), columns(x.arguments().integer(n)), lda(x.ld(0)), lwork(x.count(2));
    return root.make<LapackCall<GeqrfSignature<T>, geqrf<T>>, symbol>(
        CallWords(rows.word(), columns.word(), word(x.at<T>(0)), lda.word(), word(x.at<T>(1)), word(x.at<T>(2)),
                  lwork.word(), word(&root.info)));
  }
};

template <class T, Symbol symbol>
struct Ormqr {
  static constexpr bool has_integers = false;
  enum { side, trans, m, n, k, A, tau = A + 4, C, work = C + 4, info = work + 2, count };
  static constexpr int work_end = info;

  static void describe(Described x) {
    const bool left = x.letter(side, "LR") == 'L';
    const char t = x.letter(trans, transposes_of<T>);
    const index rows = x.size(m), columns = x.size(n), reflectors = x.size(k), order = left ? rows : columns;
    x.call.require(reflectors <= order);
    const int a = x.call.template matrix<T>(A, order, reflectors, Access::read);
    x.call.template per_column<T>(tau, a, reflectors, Access::read);
    const int c = x.call.template matrix<T>(C, rows, columns, Access::both);
    if (left) x.call.require_same_rows(a, c);
    x.call.template workspace<T>(std::max(rows, columns));
    x.call.problem.m = rows;
    x.call.problem.n = columns;
    x.call.problem.k = reflectors;
    x.call.problem.left = left;
    x.call.problem.adjoint = t != 'N';
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer rows(in.integer(m)), columns(in.integer(n)), reflectors(in.integer(k)), lda(x.ld(0)), ldc(x.ld(2)),
        lwork(x.count(3));
    return root.make<LapackCall<OrmqrSignature<T>, ormqr<T>>, symbol>(
        CallWords(word(in.to<char>(side)), word(in.to<char>(trans)), rows.word(), columns.word(), reflectors.word(),
                  word(x.at<T>(0)), lda.word(), word(x.at<T>(1)), word(x.at<T>(2)), ldc.word(), word(x.at<T>(3)),
                  lwork.word(), word(&root.info)));
  }
};

template <class T, Symbol symbol>
struct Orgqr {
  static constexpr bool has_integers = false;
  enum { m, n, k, A, tau = A + 4, work, info = work + 2, count };
  static constexpr int work_end = info;

  static void describe(Described x) {
    const index rows = x.size(m), columns = x.size(n), reflectors = x.size(k);
    x.call.require(columns <= rows && reflectors <= columns);
    const int a = x.call.template matrix<T>(A, rows, columns, Access::both);
    x.call.template per_column<T>(tau, a, reflectors, Access::read);
    x.call.template workspace<T>(columns);
    x.call.problem.m = rows;
    x.call.problem.n = columns;
    x.call.problem.k = reflectors;
    x.call.problem.left = x.call.problem.of_identity = true;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer rows(in.integer(m)), columns(in.integer(n)), reflectors(in.integer(k)), lda(x.ld(0)),
        lwork(x.count(2));
    return root.make<LapackCall<OrgqrSignature<T>, ormqr<T>>, symbol>(
        CallWords(rows.word(), columns.word(), reflectors.word(), word(x.at<T>(0)), lda.word(), word(x.at<T>(1)),
                  word(x.at<T>(2)), lwork.word(), word(&root.info)));
  }
};

template <class T, Symbol symbol>
struct Gels {
  static constexpr bool has_integers = false;
  enum { trans, m, n, nrhs, A, B = A + 4, work = B + 4, info = work + 2, count };
  static constexpr int work_end = info;

  static void describe(Described x) {
    const bool adjoint = x.letter(trans, transposes_of<T>) != 'N';
    const index rows = x.size(m), columns = x.size(n), right = x.size(nrhs), order = std::min(rows, columns);
    const int a = x.call.template matrix<T>(A, rows, columns, Access::both);
    // Of which the equations' rows are read, and the unknowns' written.
    x.call.template matrix<T>(B, std::max(rows, columns), right, Access::both);
    x.call.require_blocks(a);
    x.call.template workspace<T>(order + std::max(order, right));
    x.call.problem.m = rows;
    x.call.problem.n = columns;
    x.call.problem.k = right;
    x.call.problem.adjoint = adjoint;
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer rows(in.integer(m)), columns(in.integer(n)), right(in.integer(nrhs)), lda(x.ld(0)), ldb(x.ld(1)),
        lwork(x.count(2));
    return root.make<LapackCall<GelsSignature<T>, least_squares<T>>, symbol>(
        CallWords(word(in.to<char>(trans)), rows.word(), columns.word(), right.word(), word(x.at<T>(0)), lda.word(),
                  word(x.at<T>(1)), ldb.word(), word(x.at<T>(2)), lwork.word(), word(&root.info)));
  }
};

/// What eigenproblems have in common: A, which LAPACK overwrites, and Z on its place.
/// @param vectors  whether Z is there; @param columns  of it
template <class T, class Kind>
void describe_eigen(Described x, index order, Part part, bool vectors, index columns) {
  using Real = decltype(std::real(T()));
  const int a = x.call.template matrix<T>(Kind::A, order, order, Access::read, part);
  x.call.template result_of_all<Real>(Kind::w, columns);
  x.call.require_blocks(a);
  // As LAPACK's documentation has them: lengths that its integers have to hold.
  const index squares = Kind::divides_it ? 2 * order * order : 0;
  x.call.require(1 + 8 * order + squares <= INT32_MAX);
  x.call.template workspace<T>(1 + 8 * order + squares);
  x.call.template workspace<Real>(1 + 7 * order + squares);
  x.call.template workspace<std::int64_t>(3 + 6 * order);
  x.call.problem.m = x.call.problem.n = order;
  x.call.problem.k = vectors ? columns : 0;
  x.call.problem.part = part;
  if (!vectors) return;
  const int z = x.call.template matrix<T>(Kind::Z, order, columns, Access::written);
  x.call.require_blocks(z);
  x.call.require_same_rows(a, z);
  if (!Kind::apart) x.call.share(z, a);
}

template <class T, Symbol symbol, bool divides>
struct Eigen {
  static constexpr bool is_complex_type = is_complex(precision_of<T>), has_integers = divides, divides_it = divides,
                        apart = false;
  enum { jobz, uplo, n, A, w = A + 4, Z, work = Z + 4, info = work + 2 * (1 + is_complex_type + divides), count };
  static constexpr int work_end = info;
  using Real = decltype(std::real(T()));

  static void describe(Described x) {
    // ScaLAPACK's own p?syevd has no other job.
    const bool vectors = x.letter(jobz, divides ? "V" : "NV") == 'V';
    const Part part = part_of_letter(x.letter(uplo, "UL"));
    const index order = x.size(n);
    describe_eigen<T, Eigen>(x, order, part, vectors, order);
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const Integer order(in.integer(n)), lda(x.ld(0)), lwork(x.count(2)), lrwork(x.count(3)), liwork(x.count(4));
    const std::uint64_t job = word(in.to<char>(jobz)), triangle = word(in.to<char>(uplo)), matrix = word(x.at<T>(0)),
                        values = word(x.at<Real>(1)), works = word(x.at<T>(2)), reals = word(x.at<Real>(3)),
                        integers = word(x.at<void>(4)), status = word(&root.info);
    using Call = LapackCall<std::conditional_t<divides, SyevdSignature<T>, SyevSignature<T>>, syevd<T>>;
    if constexpr (divides && is_complex_type)
      return root.make<Call, symbol>(CallWords(job, triangle, order.word(), matrix, lda.word(), values, works,
                                               lwork.word(), reals, lrwork.word(), integers, liwork.word(), status));
    else if constexpr (divides)
      return root.make<Call, symbol>(CallWords(job, triangle, order.word(), matrix, lda.word(), values, works,
                                               lwork.word(), integers, liwork.word(), status));
    else if constexpr (is_complex_type)
      return root.make<Call, symbol>(
          CallWords(job, triangle, order.word(), matrix, lda.word(), values, works, lwork.word(), reals, status));
    else
      return root.make<Call, symbol>(
          CallWords(job, triangle, order.word(), matrix, lda.word(), values, works, lwork.word(), status));
  }
};
template <class T, Symbol symbol>
using Syev = Eigen<T, symbol, false>;
template <class T, Symbol symbol>
using Syevd = Eigen<T, symbol, true>;

/// All eigenvalues, those of some numbers, or of an interval, of which all get to know how many there are.  Vectors are
/// orthogonal whatever orfac is, so there are no clusters to tell of.
/// @tparam generalized  of a pencil, whose B becomes its Cholesky factor
template <class T, Symbol symbol, bool generalized>
struct EigenExpert {
  static constexpr bool is_complex_type = is_complex(precision_of<T>), has_integers = true, divides_it = false,
                        apart = true;
  enum {
    ibtype,
    jobz = generalized,
    range,
    uplo,
    n,
    A,
    B = A + 4 * generalized,
    vl = B + 4,
    vu,
    il,
    iu,
    abstol,
    m,
    nz,
    w,
    orfac,
    Z,
    work = Z + 4,
    work_end = work + 2 * (2 + is_complex_type),
    ifail = work_end,
    iclustr,
    gap,
    info,
    count
  };
  using Real = decltype(std::real(T()));
  enum {
    op_a,
    op_w,
    op_work,
    op_rwork,
    op_iwork,
    op_z
  };  // in the order of describe_eigen; then B, if there is one, and how many were found

  static index most_found(const Arguments& in) {
    return in.letter(range) == 'I' ? in.integer(iu) - in.integer(il) + 1 : in.integer(n);
  }
  static void describe(Described x) {
    if (generalized) {
      const index type = x.size(ibtype);
      x.call.require(type >= 1 && type <= 3);
    }
    const bool vectors = x.letter(jobz, "NV") == 'V';
    const char which = x.letter(range, "AIV");
    const Part part = part_of_letter(x.letter(uplo, "UL"));
    const index order = x.size(n);
    if (which == 'I') {
      const index first = x.size(il), last = x.size(iu);
      x.call.require(first <= last && last <= order);
    }
    if (which == 'V') x.call.require(x.real<Real>(vl) < x.real<Real>(vu));
    describe_eigen<T, EigenExpert>(x, order, part, vectors, most_found(x.in));
    if (generalized) {
      const int b = x.call.template matrix<T>(B, order, order, Access::both, part);
      x.call.require_blocks(b);
      x.call.require_same_rows(op_a, b);
    }
    const int found = x.call.template result_of_all<std::int32_t>(m, 1);
    x.call.limit(op_w, found);
    if (vectors) x.call.limit(op_z, found);
  }
  static bool compute(const RootCall& root) {
    const GatheredCall& x = root.call;
    const Arguments& in = x.arguments();
    const bool vectors = in.letter(jobz) == 'V';
    const int op_b = vectors ? op_z + 1 : op_z, op_found = op_b + generalized;
    const Integer type(generalized ? in.integer(ibtype) : 1), order(in.integer(n)), lda(x.ld(op_a)),
        ldb(generalized ? x.ld(op_b) : 1), ldz(vectors ? x.ld(op_z) : 1), lwork(x.count(op_work)),
        first(in.integer(il)), last(in.integer(iu));
    std::int64_t values = 0;
    CallWords words;
    int next = 0;
    const auto add = [&](auto... more) { ((words.word[next++] = more), ...); };
    if (generalized) add(type.word());
    add(word(in.to<char>(jobz)), word(in.to<char>(range)), word(in.to<char>(uplo)), order.word(), word(x.at<T>(op_a)),
        lda.word());
    if (generalized) add(word(x.at<T>(op_b)), ldb.word());
    add(word(in.to<Real>(vl)), word(in.to<Real>(vu)), first.word(), last.word(), word(in.to<Real>(abstol)),
        word(&values), word(x.at<Real>(op_w)), vectors ? word(x.at<T>(op_z)) : word(x.at<T>(op_work)), ldz.word(),
        word(x.at<T>(op_work)), lwork.word());
    if (is_complex_type) add(word(x.at<Real>(op_rwork)));
    // Behind which vectors have failed: the integers that LAPACK works with.
    add(word(x.at<std::int64_t>(op_iwork) + order.value), word(x.at<std::int64_t>(op_iwork)), word(&root.info));
    bool made;
    if constexpr (generalized)
      made = root.make<LapackCall<SygvxSignature<T>, sygv<T>>, symbol>(words);
    else
      made = root.make<LapackCall<SyevxSignature<T>, syevd<T>>, symbol>(words);
    *x.at<std::int32_t>(op_found) = static_cast<std::int32_t>(values);
    const index most = most_found(in);
    return made && (in.letter(range) == 'V' ? values >= 0 && values <= most : values == most);
  }
  /// What follows from success, on every process.
  static void finish(const Grid& grid, const Arguments& in) {
    const std::int32_t values = *in.to<std::int32_t>(m);
    if (in.letter(jobz) != 'V') return;
    *in.to<std::int32_t>(nz) = values;
    std::fill_n(in.to<std::int32_t>(ifail), values, 0);
    std::fill_n(in.to<std::int32_t>(iclustr), 2 * grid.size(), 0);
    std::fill_n(in.to<Real>(gap), grid.size(), Real(-1));
  }
};
template <class T, Symbol symbol>
using Syevx = EigenExpert<T, symbol, false>;
template <class T, Symbol symbol>
using Sygvx = EigenExpert<T, symbol, true>;

/// What ScaLAPACK says its workspaces have to be: the first element of each of its own type.
struct Told {
  static constexpr std::size_t room = 256;
  alignas(16) char work[3][room];

  /// @tparam T  of the first one, whose real numbers the second one has; integers come last
  template <class T>
  double size(int number, bool of_integers) const {
    const auto first = [&](auto x) {
      std::memcpy(&x, work[number], sizeof x);
      return static_cast<double>(std::real(x));
    };
    if (of_integers) return first(std::int32_t{});
    return number == 0 ? first(T{}) : first(decltype(std::real(T{})){});
  }
};

/// Whether the caller asks for the sizes of workspaces.
template <class Kind>
bool is_query(const Arguments& in) {
  for (int i = Kind::work; i < Kind::work_end; i += 2)
    if (in.integer(i + 1) == -1) return true;
  return false;
}

/// Asks ScaLAPACK by a query of the same call, which is collective.
/// @return whether it finds the arguments right, and this caller's workspaces long enough
template <class Kind, class T>
bool ask_workspaces(void* original, const Arguments& in, Told& told) {
  static constexpr std::int32_t asks = -1;
  Arguments query = in;
  std::int32_t info = 0;
  constexpr int end = Kind::work_end;
  for (int i = Kind::work, number = 0; i < end; i += 2, ++number) {
    query.at[static_cast<std::size_t>(i)] = told.work[number];
    query.at[static_cast<std::size_t>(i) + 1] = const_cast<std::int32_t*>(&asks);
  }
  query.at[static_cast<std::size_t>(Kind::info)] = &info;
  call_original<Kind::count>(original, query);
  bool suffice = info == 0;
  for (int i = Kind::work, number = 0; i < end; i += 2, ++number)
    suffice = suffice && in.integer(i + 1) >= told.size<T>(number, Kind::has_integers && i + 2 == end);
  return suffice;
}

/// As ScaLAPACK leaves them.
template <class Kind, class T>
void tell_workspaces(const Arguments& in, const Told& told) {
  for (int i = Kind::work, number = 0; i < Kind::work_end; i += 2, ++number) {
    const bool integers = Kind::has_integers && i + 2 == Kind::work_end;
    const std::size_t bytes = integers ? sizeof(std::int32_t) : number == 0 ? sizeof(T) : sizeof(std::real(T{}));
    std::memcpy(in.to<void>(i), told.work[number], bytes);
  }
}

/// Calls of fewer operations are ScaLAPACK's without a word to the other processes: for these an agreement takes longer
/// than the call.  All processes have the same sizes, so they agree.
constexpr double least_flops = 1e9;

/// Where this process meets others, one call at a time: BLACS's messages are of one thread, too.
constinit Meeting meeting;
constinit std::atomic<bool> is_meeting{false};

/// Of a process that has invited others to no avail: each time it lets twice as many calls go by before it tries again.
struct Patience {
  int failures = 0, calls = 0;

  void fail() { calls = 1 << std::min(++failures, 10); }
  bool lets_go_by() { return calls > 0 && calls-- > 0; }
};
constinit Patience patience;

/// By the way of gathered.hpp.
/// @param is_only_one  no other thread of this process is in such a call
/// @param counts  becomes true on the process that counts the call
/// @return false: the caller's arrays are as they were, and the original call is to be made.
template <class Kind, class T, Symbol symbol>
bool compute_gathered(Underneath& under, void* original, const Arguments& arguments, Problem& problem, Learned& learned,
                      bool is_only_one, bool& counts) {
  // Not of integers of 64 bits, of which every other word here is zero.
  const auto* words = arguments.to<const std::int32_t>(Kind::A + 3);
  if (words[0] != 1 || words[4] < 1 || words[5] < 1) return false;
  const Grid grid = under.blacs.grid(words[1]);
  if (!grid.contains_me()) return false;
  if constexpr (Kind::work >= 0)
    if (is_query<Kind>(arguments)) return false;
  GatheredCall call(grid, arguments, meeting);
  call.problem.routine = info(symbol).routine;
  call.problem.element = precision_of<T>;
  Kind::describe({call, arguments});
  bool willing = false, forced = false;
  undisturbed([&] {
    if (!may_have_runtime()) return;
    const Runtime& r = runtime();
    problem = counted(call.problem);
    forced = policy_for(r, problem.routine).forced;
    if (problem.flops < least_flops && !forced) return;
    willing = is_only_one && r.options.on && !r.options.measure && !thread_state.inside;
    Site ephemeral;
    if (grid.is_root() && willing)
      willing = !patience.lets_go_by() && !site_of(symbol, original, ephemeral).wide &&
                is_worthwhile(problem, learned, call.bytes(), grid.size());
  });
  const bool large = problem.flops >= least_flops;
  if (!call.valid()) problem.flops = 0;  // nothing is learned from it
  if (!large && !forced) return false;
  counts = grid.is_root();
  if (!call.agree(under.blacs, willing)) return false;
  [[maybe_unused]] Told told;
  bool ready = true;
  if constexpr (Kind::work >= 0) ready = ask_workspaces<Kind, T>(original, arguments, told);
  if (!call.gather(under.blacs, ready)) {
    if (grid.is_root() && ready) patience.fail();
    return false;
  }
  if (grid.is_root()) patience = {};
  const bool computed = grid.is_root() && Kind::compute(RootCall(original, call));
  if (!call.scatter(under.blacs, computed)) return false;
  if constexpr (Kind::work >= 0) tell_workspaces<Kind, T>(arguments, told);
  if constexpr (requires { Kind::info; }) *arguments.to<std::int32_t>(Kind::info) = 0;
  if constexpr (requires { Kind::finish(grid, arguments); }) Kind::finish(grid, arguments);
  return true;
}

/// A call of ScaLAPACK's.
template <class Kind, class T, Symbol symbol>
void enter_distributed(Underneath& under, Learned& learned, const char* name, const void* caller,
                       const std::uint64_t* registers, const std::uint64_t* stack) {
  Arguments arguments;
  for (int i = 0; i < Kind::count; ++i)
    arguments.at[static_cast<std::size_t>(i)] = reinterpret_cast<void*>(i < 6 ? registers[i] : stack[i - 6]);
  void* original = under.function.load(std::memory_order_acquire);
  if (!original) {
    undisturbed([&] {
      const char* by = nullptr;
      original = find_function(name, caller, nullptr, by);
      under.has_blacs = original && under.blacs.find(original);
    });
    under.function.store(original, std::memory_order_release);
  }
  if (!original) {
    say("blaslift: no library that is loaded has ", name, ", which the program calls\n");
    std::abort();
  }
  // What ScaLAPACK calls of itself is a part of a call that has been decided on.
  if (thread_state.distributed || !under.has_blacs.load(std::memory_order_relaxed))
    return call_original<Kind::count>(original, arguments);
  thread_state.distributed = 1;
  Problem problem{};
  bool counts = false;
  const bool is_only_one = !is_meeting.exchange(true, std::memory_order_acquire);
  const bool computed =
      compute_gathered<Kind, T, symbol>(under, original, arguments, problem, learned, is_only_one, counts);
  if (is_only_one) is_meeting.store(false, std::memory_order_release);
  if (!computed) {
    const std::uint64_t start = now_ns();
    call_original<Kind::count>(original, arguments);
    bool succeeded = true;
    if constexpr (requires { Kind::info; }) succeeded = *arguments.to<const std::int32_t>(Kind::info) == 0;
    if (problem.flops >= least_flops && succeeded)
      learned.cpu.learn(problem.element, problem.flops, 1e-9 * static_cast<double>(now_ns() - start));
  }
  if (counts) (computed ? counters().gathered : counters().ungathered).fetch_add(1, std::memory_order_relaxed);
  thread_state.distributed = 0;
}

}  // namespace

}  // namespace blaslift::scalapack

using namespace blaslift;

/// All arguments are addresses.  On the stack is what follows the sixth word.
#define DISTRIBUTED(kind, name, local, type)                                                                        \
  BLASLIFT_EXPORT void name##_(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d, std::uint64_t e, \
                               std::uint64_t f) {                                                                   \
    static constinit scalapack::Underneath under;                                                                   \
    static constinit Undestroyed<Learned> learned;                                                                  \
    const std::uint64_t registers[] = {a, b, c, d, e, f};                                                           \
    scalapack::enter_distributed<scalapack::kind<type, Symbol::local##_>, type, Symbol::local##_>(                  \
        under, learned.value, #name "_", __builtin_return_address(0), registers,                                    \
        static_cast<const std::uint64_t*>(__builtin_dwarf_cfa()));                                                  \
  }
#include "api/scalapack.def"
