// The module, its facts, copies, and where memory is.
#include "impl/route/device.hpp"
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::transfers_tests {
namespace {

// ---- the module and its facts

TEST(Module, SaysWhyItCannotBeOpened) {
  std::string why;
  EXPECT_EQ(open_module("/nowhere", backend_name.c_str(), {}, why), nullptr);
  EXPECT_NE(why.find("/nowhere"), std::string::npos) << why;
}

TEST(Module, RefusesAnotherVersion) {
  void* module = dlopen((modules + "/libblaslift_" + backend_name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << dlerror();
  const auto open = reinterpret_cast<OpenBackend>(dlsym(module, open_backend_name));
  ASSERT_NE(open, nullptr);
  char why[128] = "";
  const OpenRequest request{};
  EXPECT_EQ(open(backend_version + 1, &request, why, sizeof why), nullptr);
  EXPECT_NE(std::string(why).find("version"), std::string::npos) << why;
}

TEST(Facts, AreFilledIn) {
  const DeviceFacts& facts = backend->facts();
  EXPECT_GT(strnlen(facts.name, sizeof facts.name), 0u);
  EXPECT_LT(strnlen(facts.name, sizeof facts.name), sizeof facts.name);
  EXPECT_LT(strnlen(facts.driver, sizeof facts.driver), sizeof facts.driver);
  EXPECT_GT(strnlen(facts.profile, sizeof facts.profile), 0u);
  EXPECT_LT(strnlen(facts.profile, sizeof facts.profile), sizeof facts.profile);
  EXPECT_GT(facts.memory, 0u);
  EXPECT_LE(facts.memory, memory_limit);
  EXPECT_GE(facts.piece_bytes, sizeof(std::complex<double>));
}

// ---- copies
template <class T>
class Copies : public testing::Test {};
TYPED_TEST_SUITE(Copies, Precisions, TypeNames);

TYPED_TEST(Copies, StridedBlocksArriveAndGapsStay) {
  using T = TypeParam;
  const struct {
    index rows, cols, lds_gap, ldd_gap;
  } cases[] = {{1, 1, 0, 0},   {7, 5, 0, 0},  {7, 5, 4, 0},      {7, 5, 0, 6},
               {65, 33, 3, 9}, {1, 40, 2, 1}, {300, 129, 31, 15}};
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.rows << " x " << c.cols << " lds+" << c.lds_gap << " ldd+" << c.ldd_gap);
    const index lds = c.rows + c.lds_gap;
    // The source's last column ends at unreadable memory, and nothing of it can be written: reading its gap, or using
    // it as room to work in, would end the test.
    Guarded<T> source((c.cols - 1) * lds + c.rows), back((c.cols - 1) * lds + c.rows);
    Matrix<T> expected(c.rows, c.cols, c.ldd_gap);
    expected.random(11);
    for (index j = 0; j < c.cols; ++j)
      for (index i = 0; i < c.rows; ++i) source.data()[i + j * lds] = expected(i, j);
    source.make_read_only();

    Matrix<T> there(c.rows, c.cols, c.ldd_gap);  // nothing but canaries
    Call call(room(expected));
    const Placed<T> device = call.put(there);
    call.upload(device.at, expected.ld(), source.data(), lds, c.rows, c.cols, {device.ready});
    call.drain();  // before `there`, the source of the first upload, is written
    call.get(there, device.at, {});
    EXPECT_TRUE(there == expected) << "uploaded block, or the device's gaps, differ";

    // Back the other way: the block alone, out of its leading dimension and into the program's, up to the last byte.
    call.fetch(back.data(), lds, device.at, expected.ld(), c.rows, c.cols, {});
    Guarded<T> untouched((c.cols - 1) * lds + c.rows);
    for (index j = 0; j < c.cols; ++j)
      for (index i = 0; i < lds && (i < c.rows || j + 1 < c.cols); ++i)
        ASSERT_TRUE(same_bits(back.data()[i + j * lds], i < c.rows ? expected(i, j) : untouched.data()[i + j * lds]))
            << i << "," << j;
  }
}

TYPED_TEST(Copies, OfATriangleTouchNothingElseOnTheHost) {
  using T = TypeParam;
  const struct {
    index rows, cols, below;
  } cases[] = {{1, 1, 0},    {9, 9, 0}, {40, 7, 0}, {7, 40, -33}, {30, 30, 5},
               {30, 30, -7}, {5, 5, 9}, {5, 5, -9}, {200, 130, 0}};
  for (const auto& c : cases)
    for (const Part part : {Part::upper, Part::lower})
      for (const std::size_t moves : {much, little}) {
        SCOPED_TRACE(testing::Message() << c.rows << " x " << c.cols << " below " << c.below << " of part "
                                        << static_cast<int>(part) << ", " << moves << " bytes");
        const auto counts = [&](index i, index j) {
          const Rows rows = rows_in(part, c.below - j, c.rows);
          return (part == Part::upper ? i + c.below <= j : i + c.below >= j) && i >= rows.first &&
                 i < rows.first + rows.count;
        };
        Matrix<T> from(c.rows, c.cols, 3), back(c.rows, c.cols, 5), kept(c.rows, c.cols, 2);
        from.random(5);
        back.random(6);
        kept.random(7);
        const Matrix<T> before = back, kept_before = kept;
        Call call(room(from), moves);
        T* device = call.part<T>(from.ld() * c.cols);
        const index most = static_cast<index>(piece_bytes() / sizeof(T)), width = std::max<index>(1, most / c.rows);
        const Transfer up{device, from.ld(), from.data(), from.ld(), c.rows, c.cols, sizeof(T), false, part, c.below};
        ASSERT_EQ(call.lane().upload(up, {nullptr, 0}), Status::done);
        const Ticket first = 0;
        std::deque<std::atomic<bool>> landed;
        for (index j = 0; j < c.cols; j += width) {
          const Transfer down{device + j * from.ld(),
                              from.ld(),
                              back.data() + j * back.ld(),
                              back.ld(),
                              c.rows,
                              std::min(width, c.cols - j),
                              sizeof(T),
                              false,
                              part,
                              c.below - j,
                              kept.data() + j * kept.ld(),
                              kept.ld()};
          ASSERT_EQ(call.lane().download(down, {&first, 1}, landed.emplace_back(false)), Status::done);
        }
        call.drain();
        for (const auto& x : landed) EXPECT_TRUE(x.load());
        for (index j = 0; j < c.cols; ++j)
          for (index i = 0; i < c.rows; ++i) {
            ASSERT_TRUE(same_bits(back(i, j), counts(i, j) ? from(i, j) : before(i, j))) << i << "," << j;
            ASSERT_TRUE(same_bits(kept(i, j), counts(i, j) ? before(i, j) : kept_before(i, j))) << i << "," << j;
          }
        EXPECT_TRUE(back.canaries_intact() && kept.canaries_intact());
      }
}

TEST(Copy, SourceMayChangeAfterDrain) {
  // Several times what a lane can stage at once, in columns of a quarter piece.
  const auto rows = static_cast<index>(piece_bytes() / sizeof(double) / 4);
  Matrix<double> x(rows, 13);
  const Matrix<double> original = x.random(5);
  Call call(room(x));
  const double* device = call.put(x).at;
  call.drain();
  x.fill(-7);
  call.get(x, device, {});
  EXPECT_TRUE(x == original);
}

TEST(Copy, TimesSayWhenBytesMoved) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
  };
  const auto rows = static_cast<index>(piece_bytes() / sizeof(double) / 4);
  for (const auto& [moves, cols] : {std::pair{much, index{13}}, std::pair{little, index{1}}}) {
    Matrix<double> x(rows, cols);
    x.random(5);
    Call call(room(x), moves);
    call.drain();
    TransferTimes times = call.lane().transfer_times();
    EXPECT_EQ(times.in_begin | times.in_end | times.out_begin | times.out_end, 0u) << "nothing has moved";
    const std::uint64_t before = now();
    const double* device = call.put(x).at;
    call.drain();
    const std::uint64_t between = now();
    times = call.lane().transfer_times();
    EXPECT_TRUE(before <= times.in_begin && times.in_begin <= times.in_end && times.in_end <= between);
    EXPECT_EQ(times.out_begin | times.out_end, 0u);
    call.get(x, device, {});
    times = call.lane().transfer_times();
    EXPECT_EQ(times.in_begin | times.in_end, 0u) << "told once";
    EXPECT_TRUE(between <= times.out_begin && times.out_begin <= times.out_end && times.out_end <= now());
  }
}

TEST(Copy, ADownloadKeepsWhatItOverwrites) {
  for (const index rows : {index{50}, static_cast<index>(piece_bytes() / sizeof(double) / 3)}) {
    Matrix<double> source(rows, 9, 2), back(rows, 9, 7), kept(rows, 9, 4);
    source.random(3);
    back.random(4);
    const Matrix<double> before = back;
    Call call(room(source));
    const auto device = call.put(source);
    call.download(back.data(), back.ld(), device.at, source.ld(), rows, 9, {device.ready}, false, kept.data(),
                  kept.ld());
    call.drain();
    EXPECT_TRUE(back.canaries_intact() && kept.canaries_intact());
    for (index j = 0; j < 9; ++j) {
      const std::size_t column = static_cast<std::size_t>(rows) * sizeof(double);
      ASSERT_EQ(std::memcmp(&back(0, j), &source(0, j), column), 0) << "column " << j;
      ASSERT_EQ(std::memcmp(&kept(0, j), &before(0, j), column), 0) << "column " << j;
    }
  }
}

TEST(Copy, ColumnsLongerThanAPiece) {
  const auto rows = static_cast<index>(piece_bytes() / sizeof(double) * 3 / 2 + 1);
  const Matrix<double> blank(rows, 3, 3);
  Matrix<double> source(rows, 3, 5), there = blank, back(rows, 3, 7);
  source.random(6);
  Call call(room(blank));
  const auto device = call.put(blank);
  const Ticket uploaded = call.upload(device.at, there.ld(), source.data(), source.ld(), rows, 3, {device.ready});
  call.download(back.data(), back.ld(), device.at, there.ld(), rows, 3, {uploaded});
  call.get(there, device.at, {uploaded});
  EXPECT_TRUE(there.canaries_intact());
  EXPECT_TRUE(back.canaries_intact());
  for (index j = 0; j < 3; ++j)
    for (const Matrix<double>* x : {&there, &back})
      ASSERT_EQ(std::memcmp(&(*x)(0, j), &source(0, j), static_cast<std::size_t>(rows) * sizeof(double)), 0)
          << "column " << j;
}

TEST(Copy, APieceHoldsWhatItPromises) {
  const auto elements = static_cast<index>(piece_bytes() / sizeof(std::complex<double>));
  ASSERT_GE(elements, 1);
  for (const index cols : {index{1}, elements}) {
    Matrix<std::complex<double>> x(elements / cols, cols), back(elements / cols, cols);
    x.random(7);
    Call call(room(x));
    const auto device = call.put(x);
    ASSERT_EQ(call.download(back.data(), back.ld(), device.at, x.ld(), x.rows(), cols, {device.ready}).size(), 1u);
    call.drain();
    EXPECT_TRUE(back == x);
  }
}

TEST(Copy, OneColumnMayHaveAnyLeadingDimension) {
  constexpr index huge = index{1} << 40;
  for (const index rows : {index{1}, index{1000}, static_cast<index>(piece_bytes() / sizeof(double) + 1)}) {
    Guarded<double> source(rows), back(rows);
    Matrix<double> x(rows, 1);
    x.random(12);
    std::memcpy(source.data(), x.data(), static_cast<std::size_t>(rows) * sizeof(double));
    Call call(room(x));
    auto* device = call.part<double>(rows);
    const Ticket uploaded = call.upload(device, huge, source.data(), huge, rows, 1);
    call.fetch(back.data(), huge, device, huge, rows, 1, {uploaded});
    EXPECT_EQ(std::memcmp(back.data(), x.data(), static_cast<std::size_t>(rows) * sizeof(double)), 0) << rows;
  }
}

TEST(Copy, DownloadsLandAndLeaveTheGaps) {
  // Many at once, of many widths, into one matrix side by side.
  const index rows = 333, widths[] = {1, 2, 50, 3, 200, 7, 1, 90, 11};
  index cols = 0;
  for (const index width : widths) cols += width;
  Matrix<float> x(rows, cols, 5);
  x.random(13);
  for (int time = 0; time < 10; ++time) {
    Matrix<float> back(rows, cols, 9);
    Call call(room(x));
    const auto device = call.put(x);
    index col = 0;
    for (const index width : widths) {
      call.download(&back(0, col), back.ld(), device.at + col * x.ld(), x.ld(), rows, width, {device.ready});
      col += width;
    }
    call.drain();
    EXPECT_TRUE(back.canaries_intact());
    for (index j = 0; j < cols; ++j)
      ASSERT_EQ(std::memcmp(&back(0, j), &x(0, j), static_cast<std::size_t>(rows) * sizeof(float)), 0) << j;
  }
}

// ---- where memory is, and transfers without staging

TEST(MemoryKind, OrdinaryMemoryIsPageable) {
  std::vector<double> heap(std::size_t{1} << 20);
  double stack[16];
  static double global[16];
  Guarded<double> mapped(100000), constant(1000);
  constant.make_read_only();
  for (const bool everywhere : {false, true}) {
    EXPECT_EQ(backend->memory_kind(heap.data(), heap.size() * sizeof(double), everywhere), MemoryKind::pageable);
    EXPECT_EQ(backend->memory_kind(heap.data() + 77, 1, everywhere), MemoryKind::pageable);
    EXPECT_EQ(backend->memory_kind(stack, sizeof stack, everywhere), MemoryKind::pageable);
    EXPECT_EQ(backend->memory_kind(global, sizeof global, everywhere), MemoryKind::pageable);
    EXPECT_EQ(backend->memory_kind(mapped.data(), 100000 * sizeof(double), everywhere), MemoryKind::pageable);
    EXPECT_EQ(backend->memory_kind(constant.data(), 1000 * sizeof(double), everywhere), MemoryKind::pageable);
    // Nothing is touched to find out: behind `mapped`, nothing is readable.
    EXPECT_EQ(backend->memory_kind(mapped.data() + 100000, 100, everywhere), MemoryKind::pageable);
  }
}

/// Memory that the program may have got from the device's own libraries, to be looked up in those that the module
/// brought along.
struct Reachable {
  const char* library;
  const char* allocate;  ///< int (void**, size_t)
  const char* free;      ///< int (void*)
  MemoryKind kind;
  unsigned flags = 0;  ///< a third argument of the first
};
constexpr Reachable reachable[] = {
    {"libcuda.so.1", "cuMemAllocHost_v2", "cuMemFreeHost", MemoryKind::reachable},
    {"libcuda.so.1", "cuMemAllocManaged", "cuMemFree_v2", MemoryKind::reachable, 1},
    {"libcuda.so.1", "cuMemAlloc_v2", "cuMemFree_v2", MemoryKind::on_a_device},
};

TEST(Direct, CopiesToAndFromWhereTheDeviceReaches) {
  const bool cuda = backend_name == "cuda";
  void* library = cuda ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) : nullptr;
  if (!library) GTEST_SKIP() << "this device reaches nothing but its own memory";
  const auto set_current = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuCtxSetCurrent"));
  const auto retain = reinterpret_cast<int (*)(void**, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
  void* context = nullptr;
  ASSERT_TRUE(set_current && retain && retain(&context, 0) == 0 && set_current(context) == 0);
  for (const Reachable& r : reachable) {
    SCOPED_TRACE(r.allocate);
    const auto allocate = reinterpret_cast<int (*)(void**, std::size_t, unsigned)>(dlsym(library, r.allocate));
    const auto release = reinterpret_cast<int (*)(void*)>(dlsym(library, r.free));
    ASSERT_TRUE(allocate && release);
    constexpr index rows = 300, cols = 170, ldh = 311;
    constexpr std::size_t bytes = ldh * cols * sizeof(double);
    void* memory[2] = {};
    for (void*& m : memory) ASSERT_EQ(allocate(&m, bytes, r.flags), 0);
    for (const bool everywhere : {false, true}) {
      EXPECT_EQ(backend->memory_kind(memory[0], bytes, everywhere), r.kind);
      EXPECT_EQ(backend->memory_kind(static_cast<char*>(memory[0]) + 8, 1, everywhere), r.kind);
    }
    auto *from = static_cast<double*>(memory[0]), *to = static_cast<double*>(memory[1]);
    Matrix<double> x(rows, cols, ldh - rows), back(rows, cols, ldh - rows);
    x.random(14);
    for (const std::size_t moves : {much, little}) {
      Call call(3 * room(x), moves);
      // Through the device's memory into theirs, from there directly to the device and back into the other, and out.
      const auto first = call.put(x);
      double* second = call.part<double>(ldh * cols);
      double* third = call.part<double>(ldh * cols);
      Tickets after = call.download(from, ldh, first.at, ldh, ldh, cols, {first.ready}, true);
      const Ticket up = call.upload(second, rows, from, ldh, rows, cols, after, true);
      const Tickets clear = call.download(to, ldh, first.at, ldh, ldh, cols, {first.ready}, true);
      after = clear;
      after.push_back(up);
      after = call.download(to, ldh, second, rows, rows, cols, after, true);
      const Ticket last = call.upload(third, ldh, to, ldh, ldh, cols, after, true);
      call.get(back, third, {last});
      EXPECT_TRUE(back == x);
    }
    for (void* m : memory) EXPECT_EQ(release(m), 0);
  }
  set_current(nullptr);
}

}  // namespace
}  // namespace blaslift::conformance::transfers_tests
