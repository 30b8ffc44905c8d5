// What lanes of several devices copy from each other: nothing is read before it is there.
#include "impl/plan/gang.hpp"
#include "impl/route/device.hpp"
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::sharing_tests {
namespace {

/// Another device of the backend's, if there is one; otherwise the same one, by another lane.
Backend& another() {
  static Backend* const other = [] {
    if (backend->facts().devices < 2) return backend;
    std::string why;
    OpenRequest request{.memory_limit = memory_limit, .local_rank = 0, .local_size = 1};
    request.number = 1;
    Backend* opened = open_module(modules, backend_name.c_str(), request, why);
    EXPECT_NE(opened, nullptr) << why;
    return opened ? opened : backend;
  }();
  return *other;
}

/// Device memory for one matrix.
class Room {
 public:
  Room(Backend& of, std::size_t bytes) : its_(of) { EXPECT_EQ(its_.allocate(bytes, memory_), Status::done); }
  ~Room() { its_.free(memory_); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  template <class T>
  T* of() const {
    return static_cast<T*>(memory_);
  }

 private:
  Backend& its_;
  void* memory_ = nullptr;
};

constexpr int hops = 7;

/// Every other hop, by a thread of the device's own: takes what the other device has made in the hop before, multiplies
/// it by a permutation, shares that, and goes on without waiting for anything.  The last one brings it home.
template <class T>
void hop_from(Backend& its, Gang& gang, int first, const Matrix<T>& x, const Matrix<T>& permutation, Matrix<T>& back) {
  const index n = x.rows();
  const std::size_t size = static_cast<std::size_t>(n * n) * sizeof(T);
  Seat seat(gang, first);
  std::deque<Room> rooms;
  const auto room = [&] { return rooms.emplace_back(its, size).template of<T>(); };
  Status status = Status::done;
  Lane* const lane = its.acquire(underlying, much, status);
  ASSERT_NE(lane, nullptr);
  Ticket next = 0;
  const auto upload = [&](const Matrix<T>& from) {
    T* const to = room();
    EXPECT_EQ(lane->upload({to, n, const_cast<T*>(from.data()), from.ld(), n, n, sizeof(T)}, {nullptr, 0}),
              Status::done);
    return Placed<T>{to, next++};
  };
  const Placed<T> factor = upload(permutation);
  const T one(1), zero(0);
  int copied = 0;
  std::deque<std::atomic<bool>> landed;
  for (int hop = first; hop < hops; hop += 2) {
    Placed<T> source{};
    if (hop == 0) {
      source = upload(x);
    } else {
      const std::vector<OnDevice>* from = gang.await(hop - 1, [] { return true; });
      ASSERT_NE(from, nullptr);
      source = {room(), next++};
      ASSERT_EQ(lane->copy_shared(from->front(), {source.at, n, nullptr, 0, n, n, sizeof(T)}, {nullptr, 0}),
                Status::done);
      ++copied;
    }
    T* const made = room();
    const Gemm product{.precision = precision_of<T>,
                       .transa = Op::none,
                       .transb = Op::none,
                       .m = n,
                       .n = n,
                       .k = n,
                       .alpha = &one,
                       .A = source.at,
                       .lda = n,
                       .B = factor.at,
                       .ldb = n,
                       .beta = &zero,
                       .C = made,
                       .ldc = n};
    const Ticket after[] = {source.ready, factor.ready};
    ASSERT_EQ(lane->ask(product, {after, 2}), Status::done);
    const Ticket computed = next++;
    void* mark = nullptr;
    ASSERT_EQ(lane->share({&computed, 1}, mark), Status::done);
    ++next;
    gang.publish(hop, {{.memory = made, .ld = n, .mark = mark}});
    for (index j = 0; hop + 1 == hops && j < n; ++j)
      ASSERT_EQ(lane->download({made + j * n, n, back.data() + j * back.ld(), back.ld(), n, 1, sizeof(T)},
                               {&computed, 1}, landed.emplace_back(false)),
                Status::done);
  }
  EXPECT_EQ(lane->drain(), Status::done);
  EXPECT_EQ(lane->exchanged_bytes(), static_cast<std::size_t>(copied) * size);
  EXPECT_TRUE(seat.agree(true));
  its.release(lane);
}

template <class T>
class Shared : public testing::Test {};
TYPED_TEST_SUITE(Shared, Precisions, TypeNames);

TYPED_TEST(Shared, IsCopiedOnceItHasBeenComputed) {
  using T = TypeParam;
  if (!backend->facts().exchanges) GTEST_SKIP() << "no other device to copy from";
  Backend& other = another();
  for (const index n : {1, 33, 256})
    for (int round = 0; round < 3; ++round) {
      Matrix<T> x(n, n, round), permutation(n, n, 0), back(n, n, 3);
      x.random(static_cast<unsigned>(round));
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) permutation(i, j) = T(i == (j + 1) % n ? 1 : 0);
      Gang gang(2);
      std::thread second([&] { hop_from(other, gang, 1, x, permutation, back); });
      hop_from(*backend, gang, 0, x, permutation, back);
      second.join();
      if (testing::Test::HasFailure()) return;
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) ASSERT_EQ(back(i, j), x(i, (j + hops) % n)) << i << ", " << j << " of " << n;
      EXPECT_TRUE(back.canaries_intact());
    }
}

}  // namespace
}  // namespace blaslift::conformance::sharing_tests
