// The CPU's own LAPACK, which consumes what we leave: opened by the tests that want it, and only there.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "tests/unit/support/reference.hpp"

namespace blaslift::reference {

/// 32-bit integers, as Debian's liblapack.so.3 has them.
template <class T>
class Lapack {
 public:
  /// Null if there is none on this machine.
  static const Lapack* get() {
    static const Lapack lapack;
    return lapack.geqrf_ && lapack.ormqr_ && lapack.orgqr_ ? &lapack : nullptr;
  }

  int geqrf(int m, int n, T* A, int lda, T* tau) const {
    return with_workspace([&](T* work, int lwork, int& info) { geqrf_(&m, &n, A, &lda, tau, work, &lwork, &info); });
  }
  /// A: k reflectors, becomes Q's first n columns.
  int orgqr(int m, int n, int k, T* A, int lda, const T* tau) const {
    return with_workspace([&](T* w, int lwork, int& info) { orgqr_(&m, &n, &k, A, &lda, tau, w, &lwork, &info); });
  }
  int ormqr(char side, Op op, int m, int n, int k, const T* A, int lda, const T* tau, T* C, int ldc) const {
    const char trans = op == Op::none ? 'N' : complex_type<T> ? 'C' : 'T';
    return with_workspace([&](T* work, int lwork, int& info) {
      ormqr_(&side, &trans, &m, &n, &k, A, &lda, tau, C, &ldc, work, &lwork, &info, 1, 1);
    });
  }

 private:
  Lapack() {
    // ThreadSanitizer takes what OpenBLAS hands to its own threads for races.
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    setenv("OMP_NUM_THREADS", "1", 0);
    void* library = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    const std::string letter(1, blaslift::letter(precision_of<T>));
    auto find = [&](auto& function, const std::string& name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name.c_str()));
    };
    find(geqrf_, letter + "geqrf_");
    find(ormqr_, letter + (complex_type<T> ? "unmqr_" : "ormqr_"));
    find(orgqr_, letter + (complex_type<T> ? "ungqr_" : "orgqr_"));
  }

  template <class Call>
  static int with_workspace(const Call& call) {
    T most{};
    int info = 0;
    call(&most, -1, info);
    std::vector<T> work(static_cast<std::size_t>(std::real(most)) + 1);
    call(work.data(), static_cast<int>(work.size()), info);
    return info;
  }

  void (*geqrf_)(const int*, const int*, T*, const int*, T*, T*, const int*, int*) = nullptr;
  void (*ormqr_)(const char*, const char*, const int*, const int*, const int*, const T*, const int*, const T*, T*,
                 const int*, T*, const int*, int*, std::size_t, std::size_t) = nullptr;
  void (*orgqr_)(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*) = nullptr;
};

}  // namespace blaslift::reference
