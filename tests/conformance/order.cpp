// What comes after what, in one stream, in two, and among lanes.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::order_tests {
namespace {

TEST(Order, DrainsMayBeEmptyAndMany) {
  Call call;
  call.drain();
  call.drain();
  Call(0).drain();
}

TEST(Order, EachDownloadHoldsItsOwnMoment) {
  const index n = 200;
  Matrix<double> first(n, n), second(n, n);
  first.random(8);
  second.random(9);
  for (int time = 0; time < 20; ++time) {
    Matrix<double> before(n, n), after(n, n);
    Call call(room(first));
    const auto device = call.put(first);
    const Tickets down = call.download(before.data(), n, device.at, n, n, n, {device.ready});
    const Ticket up = call.upload(device.at, n, second.data(), n, n, n, down);
    call.get(after, device.at, {up});
    ASSERT_TRUE(before == first) << time;
    ASSERT_TRUE(after == second) << time;
  }
}

TEST(Order, WhatIsAwaitedIsThereBeforeTheDrain) {
  const Load load;
  const index n = 200;
  Matrix<double> first(n, n), second(n, n);
  first.random(8);
  second.random(9);
  const Matrix<double> i = identity(load.n);
  for (const std::size_t moves : {little, much}) {
    Matrix<double> back(n, n);
    Call call(room(first) + 2 * room(i), moves);
    const auto device = call.put(first), factor = call.put(i);
    load.put_on(call, factor.at, call.part<double>(load.n * load.n), {factor.ready});  // under way all the time
    const Tickets down = call.download(back.data(), n, device.at, n, n, n, {device.ready});
    call.await();
    ASSERT_TRUE(back == first) << moves;
    const Ticket up = call.upload(device.at, n, second.data(), n, n, n, down);
    call.download(back.data(), n, device.at, n, n, n, {up});
    call.await();
    call.await();
    ASSERT_TRUE(back == second) << moves;
    call.drain();
    ASSERT_TRUE(back == second) << moves;
  }
}

TEST(Order, AwaitingEndsWhereALaneIsAbandoned) {
  for (const std::size_t moves : {little, much}) {
    {
      Call call(0, moves);
      const std::atomic<bool> never{false};
      call.lane().abandon();
      EXPECT_EQ(call.lane().await(never), Status::lost);
      EXPECT_EQ(call.lane().drain(), Status::lost);
    }
    Problem<double>(Op::none, Op::none, 20, 30, 40, 0.5, -2).expect_right(moves);  // the lane is as good as new
  }
}

TEST(Order, ProductsFollowEachOther) {
  // 2^10 x exactly, to and fro between two blocks.
  const index n = 150;
  Matrix<double> x(n, n);
  const Matrix<double> original = Matrix<double>(n, n).random(10), unit = identity(n);
  Call call(3 * room(x));
  const auto i = call.put(unit), from = call.put(original);
  double *a = from.at, *c = call.part<double>(n * n);
  Tickets after{i.ready, from.ready};
  for (int step = 0; step < 10; ++step, std::swap(a, c))
    after = {call.ask(plain(n, n, n, &two, a, i.at, &zero, c), after)};
  call.get(x, a, after);
  for (index col = 0; col < n; ++col)
    for (index row = 0; row < n; ++row) ASSERT_EQ(x(row, col), 1024 * original(row, col));
}

TEST(Order, UploadsDoNotOvertakeTheProductThatReadsTheBlock) {
  // a, times the identity, is replaced over and over, while the product that reads it waits behind others.
  constexpr int rounds = 12;
  const Load load;
  const index n = load.n;
  const Matrix<double> unit = identity(n);
  Matrix<double> sources[] = {{n, n}, {n, n}};
  for (Matrix<double>& x : sources) x.random(static_cast<unsigned>(&x - sources) + 20);
  std::vector<Matrix<double>> results(rounds, Matrix<double>(n, n));
  Call call(4 * room(unit));
  const auto i = call.put(unit);
  double *a = call.part<double>(n * n), *c = call.part<double>(n * n), *d = call.part<double>(n * n);
  Ticket product = nothing, loaded = i.ready;
  Tickets down;  // what was in c before
  for (int round = 0; round < rounds; ++round) {
    const Ticket up = call.upload(a, n, sources[round % 2].data(), n, n, n, {product});
    loaded = load.put_on(call, i.at, d, {i.ready, loaded});
    Tickets after{i.ready, up, loaded};
    after.insert(after.end(), down.begin(), down.end());
    product = call.ask(plain(n, n, n, &one, a, i.at, &zero, c), after);
    down = call.download(results[static_cast<std::size_t>(round)].data(), n, c, n, n, n, {product});
  }
  call.drain();
  for (int round = 0; round < rounds; ++round)
    EXPECT_TRUE(results[static_cast<std::size_t>(round)] == sources[round % 2]) << "round " << round;
}

TEST(Order, DownloadsGetTheFinishedProductWhileUploadsStream) {
  const Load load;
  const index n = load.n;
  const Matrix<double> unit = identity(n);
  Matrix<double> x(n, n), result(n, n), stream(n, 2 * n), streamed(n, 2 * n);
  x.random(30);
  stream.random(31);
  const Matrix<double> blank = Matrix<double>(n, n).fill(-1);
  for (int time = 0; time < 6; ++time) {
    result.fill(-1);
    streamed.fill(-1);
    Call call(4 * room(unit) + room(stream));
    const auto i = call.put(unit), a = call.put(x), c = call.put(blank);
    auto* d = call.part<double>(n * n);
    auto* s = call.part<double>(2 * n * n);
    const Ticket first = call.upload(s, n, stream.data(), n, n, n);
    const Ticket loaded = load.put_on(call, i.at, d, {i.ready});
    const Ticket product = call.ask(plain(n, n, n, &one, a.at, i.at, &zero, c.at), {a.ready, i.ready, c.ready, loaded});
    const Ticket second = call.upload(s + n * n, n, stream.data() + n * n, n, n, n);
    call.download(result.data(), n, c.at, n, n, n, {product});
    call.get(streamed, s, {first, second});
    ASSERT_TRUE(result == x) << "time " << time;
    ASSERT_TRUE(streamed == stream) << "time " << time;
  }
}

/// c := (step + 1) x b - c, 200 times, with x in one of two blocks that are replaced in turn, and c brought down now
/// and then.  In small integers: exact in any order.
void chain(unsigned seed) {
  constexpr int steps = 200, sources = 7, seldom = 20;
  constexpr index m = 400, n = 3, k = 100;
  const auto integers = [&seed](Matrix<double> x) {
    x.random(++seed);
    for (index j = 0; j < x.cols(); ++j)
      for (index i = 0; i < x.rows(); ++i) x(i, j) = std::round(4 * x(i, j));
    return x;
  };
  std::vector<Matrix<double>> x, expected, results;
  for (int s = 0; s < sources; ++s) x.push_back(integers({m, k}));
  const Matrix<double> b = integers({k, n}), c = integers({m, n});
  const double minus_one = -1;
  std::vector<double> alphas(steps);
  for (int step = 0; step < steps; ++step) alphas[static_cast<std::size_t>(step)] = step + 1;

  Matrix<double> here = c;
  for (std::size_t step = 0; step < steps; ++step) {
    naive(plain(m, n, k, &alphas[step], x[step % sources].data(), b.data(), &minus_one, here.data()));
    if (step % seldom == seldom - 1) expected.push_back(here);
  }

  results.assign(expected.size(), Matrix<double>(m, n));
  Call call(room(b) + room(c) + 2 * room(x[0]));
  const auto there_b = call.put(b), there_c = call.put(c);
  double* blocks[] = {call.part<double>(m * k), call.part<double>(m * k)};
  Ticket readers[] = {nothing, nothing};
  Tickets after{there_b.ready, there_c.ready};
  for (std::size_t step = 0; step < steps; ++step) {
    double* block = blocks[step % 2];
    Ticket& reader = readers[step % 2];
    after.push_back(call.upload(block, m, x[step % sources].data(), m, m, k, {reader}));
    reader = call.ask(plain(m, n, k, &alphas[step], block, there_b.at, &minus_one, there_c.at), after);
    after = {reader};
    if (step % seldom == seldom - 1)
      for (const Ticket down : call.download(results[step / seldom].data(), m, there_c.at, m, m, n, {reader}))
        after.push_back(down);
  }
  call.drain();
  for (std::size_t r = 0; r < results.size(); ++r)
    if (!(results[r] == expected[r])) throw std::runtime_error("wrong after " + std::to_string((r + 1) * seldom));
}

TEST(Order, AChainOfProductsAndUploads) { chain(0); }

TEST(Order, AReleasedLaneLeavesNothingBehind) {
  // No drain: release does it, and then the memory goes away at once.
  const index n = 200;
  Matrix<double> x(n, n);
  x.random(40);
  const Matrix<double> unit = identity(n);
  const auto bytes = static_cast<std::size_t>(n * n) * sizeof(double);
  for (int time = 0; time < 6; ++time) {
    Guarded<double> up(n * n), down(n * n);
    std::memcpy(up.data(), x.data(), bytes);
    {
      Call call(3 * room(x));
      const auto i = call.put(unit);
      double *a = call.part<double>(n * n), *c = call.part<double>(n * n);
      const Ticket uploaded = call.upload(a, n, up.data(), n, n, n);
      const Ticket product = call.ask(plain(n, n, n, &one, a, i.at, &zero, c), {uploaded, i.ready});
      call.download(down.data(), n, c, n, n, n, {product});
      for (int more = 0; more < 5; ++more) call.upload(a, n, up.data(), n, n, n, {product});
    }
    ASSERT_EQ(std::memcmp(down.data(), x.data(), bytes), 0) << "time " << time;
  }
  Problem<double>(Op::none, Op::none, 20, 30, 40, 1, 0).expect_right();
}

/// @param all_awaited  or every other one is said not to be, though another stream's operation comes after it
void follow_each_other_in_two_streams(bool all_awaited) {
  // Twice the sum of ones, again and again, in one stream and in the other; a product with one in between.
  constexpr index n = 200;
  Matrix<double> x(n, n), identity(n, n), result(n, n);
  x.fill(1);
  identity.fill(0);
  for (index i = 0; i < n; ++i) identity(i, i) = 1;
  Call call(4 * Call::part_size<double>(n * n), much);
  const auto ones = call.put(x), unit = call.put(identity);
  double* sum = call.part<double>(n * n);
  double* product = call.part<double>(n * n);
  const double alpha = 1, beta = 0;
  Ticket last = call.ask(Combination{.precision = Precision::d,
                                     .rows = n,
                                     .cols = n,
                                     .sources = 1,
                                     .targets = 1,
                                     .source = {{ones.at, n, false}},
                                     .target = {{sum, n, {1}}},
                                     .scale = nullptr,
                                     .stream = 1},
                         {ones.ready});
  double expected = 1;
  for (std::int8_t round = 0; round < 40; ++round, expected *= 2) {
    const auto stream = static_cast<std::int8_t>(round / 2 % 2), other = static_cast<std::int8_t>(1 - stream);
    last = call.ask(Gemm{.precision = Precision::d,
                         .transa = Op::none,
                         .transb = Op::none,
                         .m = n,
                         .n = n,
                         .k = n,
                         .alpha = &alpha,
                         .A = sum,
                         .lda = n,
                         .B = unit.at,
                         .ldb = n,
                         .beta = &beta,
                         .C = product,
                         .ldc = n,
                         .stream = stream,
                         .awaited = all_awaited || round % 3 == 0},
                    {last, unit.ready});
    last = call.ask(Combination{.precision = Precision::d,
                                .rows = n,
                                .cols = n,
                                .sources = 2,
                                .targets = 1,
                                .source = {{sum, n, false}, {product, n, false}},
                                .target = {{sum, n, {1, 1}}},
                                .scale = nullptr,
                                .stream = other,
                                .awaited = all_awaited || round % 2 == 0},
                    {last});
  }
  call.download(result.data(), n, sum, n, n, n, {last});
  call.drain();
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i) ASSERT_EQ(result(i, j), expected) << i << "," << j;
}

TEST(Order, OperationsOfTwoStreamsFollowEachOtherWhereTheySaySo) { follow_each_other_in_two_streams(true); }

TEST(Order, WhatIsAwaitedAgainstExpectationIsStillWaitedFor) { follow_each_other_in_two_streams(false); }

/// Blocks of doubles without gaps.
Combination of_two(index n, const double* x, const double* y, double* target, signed char sign_y) {
  return {.precision = Precision::d,
          .rows = n,
          .cols = n,
          .sources = 2,
          .targets = 1,
          .source = {{x, n, false}, {y, n, false}},
          .target = {{target, n, {1, sign_y}}},
          .scale = nullptr};
}

TEST(Order, CombinationsComeAfterUploadsAndProductsAndBeforeDownloads) {
  // Each round: s := a + b of a new a, c := s * identity, d := c - b, which is brought back.  In small integers: exact.
  constexpr int rounds = 12;
  const Load load;
  const index n = load.n;
  const auto integers = [n](unsigned seed) {
    Matrix<double> x(n, n);
    x.random(seed);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) x(i, j) = std::round(100 * x(i, j));
    return x;
  };
  const Matrix<double> unit = identity(n), b = integers(60);
  const Matrix<double> sources[] = {integers(61), integers(62)};
  std::vector<Matrix<double>> results(rounds, Matrix<double>(n, n));
  Call call(7 * room(unit));
  const auto i = call.put(unit), there_b = call.put(b);
  double *a = call.part<double>(n * n), *s = call.part<double>(n * n), *c = call.part<double>(n * n),
         *d = call.part<double>(n * n), *idle = call.part<double>(n * n);
  Ticket first = nothing, last = i.ready;
  Tickets down;
  for (int round = 0; round < rounds; ++round) {
    // Now the upload is in a hurry, now the sum.
    Tickets after{call.upload(a, n, sources[round % 2].data(), n, n, n, {first}), there_b.ready, last};
    if (round % 2) after.push_back(load.put_on(call, i.at, idle, {i.ready, last}));
    first = call.ask(of_two(n, a, there_b.at, s, 1), after);
    down.push_back(call.ask(plain(n, n, n, &one, s, i.at, &zero, c), {first, i.ready}));
    last = call.ask(of_two(n, c, there_b.at, d, -1), down);
    down = call.download(results[static_cast<std::size_t>(round)].data(), n, d, n, n, n, {last});
  }
  call.drain();
  for (int round = 0; round < rounds; ++round)
    EXPECT_TRUE(results[static_cast<std::size_t>(round)] == sources[round % 2]) << "round " << round;
}

TEST(Lanes, EightChainsAtOnce) {
  on_threads([](int t) { chain(1000 * static_cast<unsigned>(t)); });
}

}  // namespace
}  // namespace blaslift::conformance::order_tests
