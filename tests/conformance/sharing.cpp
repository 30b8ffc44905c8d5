// What lanes of several devices copy from each other: nothing is read before it is there.
#include "impl/route/device.hpp"
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance {
namespace {

/// Another device of the backend's, if there is one; otherwise the same one, by another lane.
Backend& another() {
  static Backend* const other = [] {
    if (backend->facts().devices < 2 || !backend->facts().exchanges) return backend;
    std::string why;
    OpenRequest request{.memory_limit = memory_limit, .local_rank = 0, .local_size = 1};
    request.number = 1;
    Backend* opened = open_module(modules, backend_name.c_str(), request, why);
    EXPECT_NE(opened, nullptr) << why;
    return opened ? opened : backend;
  }();
  return *other;
}

template <class T>
struct OfDevice {
  OfDevice(Backend& of, index n) : its(of), size(static_cast<std::size_t>(n * n) * sizeof(T)) {
    for (void*& x : memory) EXPECT_EQ(its.allocate(size, x), Status::done);
    Status status = Status::done;
    lane = its.acquire(underlying, much, status);
    EXPECT_NE(lane, nullptr);
  }
  ~OfDevice() {
    its.release(lane);
    for (void* x : memory) its.free(x);
  }
  T* at(int i) const { return static_cast<T*>(memory[i]); }

  Backend& its;
  const std::size_t size;
  void* memory[2] = {};
  Lane* lane = nullptr;
};

template <class T>
class Shared : public testing::Test {};
TYPED_TEST_SUITE(Shared, Precisions, TypeNames);

/// Back and forth between two devices: each takes what the other one has made, multiplies it by a permutation, shares
/// it, and goes on without waiting for anything.
TYPED_TEST(Shared, IsCopiedOnceItHasBeenComputed) {
  using T = TypeParam;
  for (const index n : {1, 33, 256})
    for (int round = 0; round < 3; ++round) {
      OfDevice<T> devices[2] = {{*backend, n}, {another(), n}};
      Matrix<T> x(n, n, round), permutation(n, n, 0), back(n, n, 3);
      x.random(static_cast<unsigned>(round));
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) permutation(i, j) = T(i == (j + 1) % n ? 1 : 0);
      const auto upload = [&](OfDevice<T>& to, int i, Matrix<T>& from, Ticket& next) {
        ASSERT_EQ(to.lane->upload({to.at(i), n, from.data(), from.ld(), n, n, sizeof(T)}, {nullptr, 0}), Status::done);
        ++next;
      };
      Ticket next[2] = {};
      // Each device: the permutation in place 0, what goes back and forth in place 1, products by way of a lease.
      std::vector<void*> products;
      for (int d = 0; d < 2; ++d) upload(devices[d], 0, permutation, next[d]);
      upload(devices[0], 1, x, next[0]);
      const T one(1), zero(0);
      OnDevice from{};
      const int hops = 7;
      for (int hop = 0; hop < hops; ++hop) {
        OfDevice<T>& here = devices[hop % 2];
        Ticket& ticket = next[hop % 2];
        T* source = here.at(1);
        std::vector<Ticket> after{0};
        if (hop == 0) {
          after.push_back(1);
        } else {
          void* room = nullptr;
          ASSERT_EQ(here.its.allocate(here.size, room), Status::done);
          products.push_back(room);
          source = static_cast<T*>(room);
          ASSERT_EQ(here.lane->copy_shared(from, {source, n, nullptr, 0, n, n, sizeof(T)}, {nullptr, 0}), Status::done);
          after.push_back(ticket++);
        }
        void* room = nullptr;
        ASSERT_EQ(here.its.allocate(here.size, room), Status::done);
        products.push_back(room);
        const Gemm product{.precision = precision_of<T>,
                           .transa = Op::none,
                           .transb = Op::none,
                           .m = n,
                           .n = n,
                           .k = n,
                           .alpha = &one,
                           .A = source,
                           .lda = n,
                           .B = here.at(0),
                           .ldb = n,
                           .beta = &zero,
                           .C = room,
                           .ldc = n};
        ASSERT_EQ(here.lane->ask(product, {after.data(), static_cast<int>(after.size())}), Status::done);
        const Ticket computed = ticket++;
        from = {.memory = room, .ld = n};
        ASSERT_EQ(here.lane->share({&computed, 1}, from.mark), Status::done);
        ++ticket;
      }
      OfDevice<T>& last = devices[(hops - 1) % 2];
      const Ticket computed = next[(hops - 1) % 2] - 2;
      std::deque<std::atomic<bool>> landed;
      for (index j = 0; j < n; ++j)
        ASSERT_EQ(last.lane->download({const_cast<T*>(static_cast<const T*>(from.memory)) + j * n, n,
                                       back.data() + j * back.ld(), back.ld(), n, 1, sizeof(T)},
                                      {&computed, 1}, landed.emplace_back(false)),
                  Status::done);
      for (OfDevice<T>& x : devices) ASSERT_EQ(x.lane->drain(), Status::done);
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) ASSERT_EQ(back(i, j), x(i, (j + hops) % n)) << i << ", " << j << " of " << n;
      EXPECT_TRUE(back.canaries_intact());
      for (std::size_t i = 0; i < products.size(); ++i) {
        // hop 0 makes one, the others two: the first of these is copied to.
        const std::size_t hop = (i + 1) / 2;
        devices[hop % 2].its.free(products[i]);
      }
      EXPECT_EQ(devices[1].lane->exchanged_bytes(), 3 * devices[1].size);
    }
}

}  // namespace
}  // namespace blaslift::conformance
