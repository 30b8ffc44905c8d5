// Each invalid argument of dgemm_ and cblas_dgemm in turn, with an xerbla of the program's own that returns, leaves by
// longjmp, throws, or exits (first argument).  Prints what it was told; after each, a valid product must come out
// right.
#include <csetjmp>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "check.hpp"

using namespace promises;

namespace {

enum class Leave { by_return, by_longjmp, by_throw, by_exit } leave;
std::jmp_buf back;
std::string told;

struct Refused {
  int argument;
};

void left(const char* who, const char* routine, std::size_t length, int argument) {
  std::string name(routine, length);
  while (!name.empty() && (name.back() == ' ' || name.back() == '\0')) name.pop_back();
  told += std::string(who) + "(" + name + ", " + std::to_string(argument) + ") ";
  if (leave == Leave::by_longjmp) std::longjmp(back, 1);
  if (leave == Leave::by_throw) throw Refused{argument};
  if (leave == Leave::by_exit) std::exit(42);
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) void xerbla_(const char* routine, const int* argument, std::size_t length) {
  left("xerbla", routine, length < 32 ? length : 6, *argument);
}
__attribute__((visibility("default"))) void cblas_xerbla(int argument, const char* routine, const char*, ...) {
  left("cblas_xerbla", routine, std::strlen(routine), argument);
}
}

namespace {

struct Call {
  int layout;  // 0: dgemm_
  int ta, tb;  // characters, or CBLAS codes
  int m, n, k, lda, ldb, ldc;
};

void print(const Call& c) {
  std::printf("%d %d %d m=%d n=%d k=%d ld=%d,%d,%d: ", c.layout, c.ta, c.tb, c.m, c.n, c.k, c.lda, c.ldb, c.ldc);
}

void call(const Call& c, const double* A, const double* B, double* C) {
  const double alpha = 1, beta = 2;
  if (c.layout) return cblas_dgemm(c.layout, c.ta, c.tb, c.m, c.n, c.k, alpha, A, c.lda, B, c.ldb, beta, C, c.ldc);
  const char ta = static_cast<char>(c.ta), tb = static_cast<char>(c.tb);
  dgemm_(&ta, &tb, &c.m, &c.n, &c.k, &alpha, A, &c.lda, B, &c.ldb, &beta, C, &c.ldc, 1, 1);
}

/// Makes the call, and comes back whichever way xerbla leaves.
void guarded_call(const Call& c, const double* A, const double* B, double* C) {
  if (leave == Leave::by_longjmp) {
    if (setjmp(back) == 0) call(c, A, B, C);
    return;
  }
  try {
    call(c, A, B, C);
  } catch (const Refused& refused) {
    told += "caught " + std::to_string(refused.argument) + " ";
  }
}

}  // namespace

int main(int, char** arguments) {
  const std::string_view how = arguments[1] ? arguments[1] : "return";
  leave = how == "throw"     ? Leave::by_throw
          : how == "longjmp" ? Leave::by_longjmp
          : how == "exit"    ? Leave::by_exit
                             : Leave::by_return;

  std::vector<Call> calls;
  for (const int layout : {0, 102, 101}) {
    const int N = layout ? 111 : 'N', T = layout ? 112 : 't';
    const Call good{layout, N, N, 6, 5, 4, 8, 8, 8};
    for (int Call::*field : {&Call::ta, &Call::tb}) {
      for (const int op : {0, 88, 114}) {
        Call c = good;
        c.*field = op;
        calls.push_back(c);
      }
    }
    for (int Call::*field : {&Call::m, &Call::n, &Call::k, &Call::lda, &Call::ldb, &Call::ldc})
      for (const int value : {-1, field == &Call::m || field == &Call::n || field == &Call::k ? -2000000000 : 3}) {
        Call c = good;
        c.*field = value;
        calls.push_back(c);
      }
    // Leading dimensions that are enough for one op and too small for the other, and several faults at once.
    calls.push_back({layout, T, N, 6, 5, 9, 8, 9, 6});
    calls.push_back({layout, N, T, 6, 9, 4, 9, 8, 9});
    calls.push_back({layout, T, T, 9, 6, 6, 6, 5, 9});
    calls.push_back({layout, 0, 0, -1, -1, -1, 0, 0, 0});
    calls.push_back({layout, N, N, 0, -3, 0, 0, 0, 0});
    calls.push_back({layout, N, N, 0, 0, 0, 0, 1, 1});  // nothing to do, and yet lda is wrong
  }
  calls.push_back({103, 111, 111, 6, 5, 4, 8, 8, 8});
  calls.push_back({-1, 111, 111, 6, 5, 4, 8, 8, 8});

  const Problem<double> valid('N', 'T', 12, 9, 7, 0.75, -0.5, 3);
  const Expected<double> expected(valid);
  int refused = 0;
  for (const Call& c : calls) {
    Matrix<double> A(16, 16, 0, 1), B(16, 16, 0, 2), C(16, 16, 0, 3);
    const Matrix<double> was_a = A, was_b = B, was_c = C;
    told.clear();
    guarded_call(c, A.data(), B.data(), C.data());
    print(c);
    std::printf("%s\n", told.empty() ? "accepted" : told.c_str());
    refused += !told.empty();
    if (!told.empty() && !(A.same_bits(was_a) && B.same_bits(was_b) && C.same_bits(was_c)))
      fail("an operand was written");
    for (const Via via : every_via) {
      told.clear();
      run_and_check(valid, expected, via);
      if (!told.empty()) fail("a valid product was refused: %s", told.c_str());
    }
  }
  std::printf("refused %d of %zu\n", refused, calls.size());
  calls_made['d'] += static_cast<int>(calls.size());
  return verdict();
}
