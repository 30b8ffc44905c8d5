// The device's kernel for squares on a triangle's diagonal, on the CPU: every element of the triangle becomes what it
// is to be, and none of the other is read or written.
#include <gtest/gtest.h>

#include <complex>

#include "tests/unit/support/cuda_on_host.hpp"
#include "tests/unit/support/reference.hpp"

// After cuda_on_host.hpp.
#include "kernels/cuda/product/triangle_kernel.hpp"
#include "tests/precisions.hpp"

namespace blaslift::triangle_kernel_tests {
namespace {

using namespace reference;
using triangle_kernels::Keeps;

template <class T>
struct OnDevice {
  using type = T;
};
template <class R>
struct OnDevice<std::complex<R>> {
  using type = arithmetic::Complex<R>;
};

template <class T>
class TriangleKernel : public testing::Test {};
TYPED_TEST_SUITE(TriangleKernel, Precisions);

TYPED_TEST(TriangleKernel, AddsATriangleAndTouchesNothingElse) {
  using T = TypeParam;
  using D = typename OnDevice<T>::type;
  const T nothing = scalar<T>(std::nan(""), std::nan("")), beta = scalar<T>(-0.75, 0.5);
  for (const index n : {1, 2, 7, 300})
    for (const Part part : {Part::upper, Part::lower})
      for (const Keeps keeps : {Keeps::nothing, Keeps::all, Keeps::scaled})
        for (const bool adds : {false, true})
          for (const unsigned blocks : {1u, 3u}) {
            Matrix<T> W(n, n, 3), C(n, n, 2);
            W.random(1);
            C.random(2);
            const auto counts = [part](index i, index j) { return part == Part::upper ? i <= j : i >= j; };
            const Matrix<T> numbers = C;
            for (index j = 0; j < n; ++j)
              for (index i = 0; i < n; ++i) {
                if (!counts(i, j)) W(i, j) = nothing;
                if (!counts(i, j) || keeps == Keeps::nothing) C(i, j) = nothing;
              }
            const Matrix<T> before = C;
            D factor;
            std::memcpy(static_cast<void*>(&factor), &beta, sizeof factor);
            const D* const w = adds ? reinterpret_cast<const D*>(W.data()) : nullptr;
            for (unsigned b = 0; b < blocks; ++b) {
              cuda_on_host::Block& block = cuda_on_host::block;
              block.number = b;
              block.more = {blocks, 0, 0};
              block.run(triangle_kernels::threads, 1, [&] {
                triangle_kernels::triangle_kernel<D>(part, n, w, W.ld(), factor, keeps, reinterpret_cast<D*>(C.data()),
                                                     C.ld());
              });
            }
            for (index j = 0; j < n; ++j)
              for (index i = 0; i < n; ++i) {
                if (!counts(i, j)) {
                  ASSERT_TRUE(same_bits(C(i, j), before(i, j))) << n << ", " << i << ", " << j;
                  continue;
                }
                const T kept = keeps == Keeps::nothing ? T(0)
                               : keeps == Keeps::all   ? numbers(i, j)
                                                       : beta * numbers(i, j);
                const T due = (adds ? W(i, j) : T(0)) + kept;
                ASSERT_LE(std::abs(C(i, j) - due), 4 * std::numeric_limits<Real<T>>::epsilon() * 4)
                    << n << ", " << i << ", " << j;
              }
            ASSERT_TRUE(C.canaries_intact());
          }
}

}  // namespace
}  // namespace blaslift::triangle_kernel_tests
