// Traces: whole events whoever writes them, room that ends, processes that come and go, and what an event costs.
#include "impl/observe/trace.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/unit/support/temporary.hpp"
#include "tools/cli/report/analysis.hpp"
#include "tools/cli/report/trace_reader.hpp"

namespace blaslift::trace_tests {
namespace {

using namespace temporary;
using cli::read_recording, cli::ReadRecording, cli::Span;

TraceEvent event(std::uint64_t number) {
  return {.begin_ns = 1000000 + 10 * number,
          .end_ns = 1000007 + 10 * number,
          .own_ns = 7,
          .m = static_cast<std::int64_t>(number),
          .n = static_cast<std::int64_t>(number),
          .k = static_cast<std::int64_t>(number),
          .flops = 2,
          .bytes_in = number,
          .bytes_out = number,
          .bytes_spared = number,
          .routine = Routine::dgemm,
          .what = Traced::on_cpu,
          .computed = true};
}

/// In a process that traces into the directory and has counted a call.
void begin(const Directory& directory) {
  set_counters_up(nullptr, Reason::small);
  static std::string path;
  path = directory.path();
  set_trace_up(path.c_str());
  counters().routines[static_cast<int>(Routine::dgemm)].routed = 1;
}

bool is_whole(const Span& s) {
  const auto number = static_cast<std::uint64_t>(s.m);
  return s.n == s.m && s.k == s.m && s.bytes_in == number && s.bytes_out == number && s.bytes_spared == number &&
         s.elapsed() == 7;
}

TEST(Trace, LeavesNothingWhereItIsOff) {
  const Directory directory;
  EXPECT_EQ(in_child([] {
              forget_counters();
              set_counters_up(nullptr, Reason::small);
              set_trace_up(nullptr);
              counters();
              trace(event(1));
              return tracing() ? 1 : 0;
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Trace, ThreadsLoseNoEvent) {
  const Directory directory;
  constexpr std::uint64_t threads = 6, each = 3000;
  static_assert(threads * each > 4 * trace_chunk_events);
  EXPECT_EQ(in_child([&] {
              forget_counters();
              begin(directory);
              std::vector<std::thread> running;
              for (std::uint64_t t = 0; t < threads; ++t)
                running.emplace_back([t] {
                  for (std::uint64_t i = 0; i < each; ++i) trace(event(t * each + i));
                });
              for (std::thread& thread : running) thread.join();
              return 0;
            }),
            0);
  const ReadRecording read = read_recording(directory.path());
  ASSERT_EQ(read.processes.size(), 1u);
  const auto& spans = read.processes[0].spans;
  ASSERT_EQ(spans.size(), threads * each);
  std::vector<bool> seen(threads * each);
  std::map<std::uint32_t, int> by_thread;
  for (const Span& s : spans) {
    ASSERT_TRUE(is_whole(s)) << s.m;
    seen[static_cast<std::size_t>(s.m)] = true;
    ++by_thread[s.thread];
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(threads * each));
  EXPECT_EQ(by_thread.size(), threads);
  for (const auto& [thread, count] : by_thread) EXPECT_EQ(count, static_cast<int>(each));
  EXPECT_EQ(read.processes[0].dropped + read.processes[0].unfinished, 0u);
}

TEST(Trace, DropsAndCountsWhatFindsNoRoom) {
  const Directory directory;
  EXPECT_EQ(in_child([&] {
              forget_counters();
              begin(directory);
              for (std::uint64_t i = 0; i < most_trace_events + 123; ++i) trace(event(i));
              return 0;
            }),
            0);
  const ReadRecording read = read_recording(directory.path());
  EXPECT_EQ(read.processes.at(0).spans.size(), most_trace_events);
  EXPECT_EQ(read.processes[0].dropped, 123u);
  EXPECT_EQ(read.processes[0].unfinished, 0u);
}

TEST(Trace, AFileThatMayNotGrowEndsNothing) {
  const Directory directory;
  // Over its limit, a process that writes to a file is ended by SIGXFSZ.
  EXPECT_EQ(
      in_child([&] {
        forget_counters();
        const rlimit limit{Recording::events_at() + 3 * trace_chunk_events * sizeof(TraceEvent) / 2, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &limit);
        begin(directory);
        errno = 77;
        for (std::uint64_t i = 0; i < trace_chunk_events + 5; ++i) trace(event(i));
        return errno == 77 ? 0 : 1;
      }),
      0);
  const ReadRecording read = read_recording(directory.path());
  EXPECT_EQ(read.processes.at(0).spans.size(), trace_chunk_events);
  EXPECT_EQ(read.processes[0].dropped, 5u);
  const Directory another;
  EXPECT_EQ(in_child([&] {
              forget_counters();
              const rlimit limit{1000, RLIM_INFINITY};
              setrlimit(RLIMIT_FSIZE, &limit);
              begin(another);
              trace(event(1));
              return tracing() ? 1 : 0;
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(another.path()));
}

TEST(Trace, KilledAndForkedProcessesHaveLeftTheirOwn) {
  const Directory directory;
  EXPECT_EQ(in_child([&] {
              forget_counters();
              begin(directory);
              for (std::uint64_t i = 0; i < 10; ++i) trace(event(i));
              const int child = in_child([&] {
                forget_counters();  // as the library's fork handler does
                begin(directory);
                for (std::uint64_t i = 100; i < 103; ++i) trace(event(i));
                raise(SIGKILL);
                return 0;
              });
              trace(event(10));
              return child == -SIGKILL ? 0 : 1;
            }),
            0);
  const ReadRecording read = read_recording(directory.path());
  ASSERT_EQ(read.processes.size(), 2u);
  EXPECT_EQ(read.processes[0].spans.size(), 11u);
  ASSERT_EQ(read.processes[1].spans.size(), 3u);
  EXPECT_EQ(read.processes[1].spans[0].m, 100);
  EXPECT_EQ(read.processes[1].parent, read.processes[0].pid);
  EXPECT_NE(read.processes[1].spans[0].thread, read.processes[0].spans[0].thread);
}

TEST(Trace, AnEventCostsLittle) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "what sanitizers add costs more";
#endif
  const Directory directory;
  EXPECT_EQ(in_child([&] {
              forget_counters();
              begin(directory);
              constexpr int batches = 200, each = 500;
              const TraceEvent e = event(1);
              std::vector<double> whole, call;  // ns each; the call that an event makes differs most between machines
              const auto ns_each = [](auto&& what) {
                const auto start = std::chrono::steady_clock::now();
                for (int i = 0; i < each; ++i) what();
                const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
                return elapsed.count() / each;
              };
              for (int b = 0; b < batches; ++b) {
                whole.push_back(ns_each([&] { trace(e); }));
                call.push_back(ns_each([] { syscall(SYS_gettid); }));
              }
              std::sort(whole.begin(), whole.end());
              std::sort(call.begin(), call.end());
              std::printf("an event: %.0f ns at best, %.0f in the middle; of them gettid %.0f at best\n", whole.front(),
                          whole[batches / 2], call.front());
              std::fflush(stdout);
              return whole.front() - call.front() <= 150 ? 0 : 1;  // the middle says how busy the machine is
            }),
            0);
}

// ---- what a run says

Span on_cpu(double begin, double end, Reason reason = Reason::transfers, std::int64_t n = 4096) {
  const double nd = static_cast<double>(n);
  return {.begin = static_cast<std::int64_t>(1e9 * begin),
          .end = static_cast<std::int64_t>(1e9 * end),
          .own_ns = static_cast<std::uint64_t>(1e9 * (end - begin)),
          .thread = 1,
          .m = n,
          .n = n,
          .k = n,
          .flops = 2 * nd * nd * nd,
          .routine = Routine::dgemm,
          .what = Traced::on_cpu,
          .reason = reason,
          .computed = true,
          .beta_zero = true};
}

ReadRecording run_of(std::vector<Span> spans, double seconds) {
  ReadRecording run;
  run.processes.push_back({.pid = 1, .begin = 0, .end = static_cast<std::int64_t>(1e9 * seconds), .spans = spans});
  run.processes[0].profile = "in_rate 1e10\nout_rate 1e10\nlatency_seconds 0\ndgemm_rate 1e12\n";
  return run;
}

TEST(Share, IsWhatTheModelPredicts) {
  // Four products of 2 n^3 = 137 Gflop in 2 s each, half of a run of 16 s.
  const cli::Analysis a = cli::analyse(run_of({on_cpu(1, 3), on_cpu(3, 5), on_cpu(6, 8), on_cpu(10, 12)}, 16));
  EXPECT_NEAR(a.cpu_union_seconds, 8, 1e-9);
  EXPECT_NEAR(a.least_seconds(), 8, 1e-9);
  const auto& reason = a.reasons.at(Reason::transfers);
  EXPECT_EQ(reason.recorded, 4u);
  EXPECT_EQ(reason.resident.calls, 4u);
  // Resident: the flops alone.  An H100 has leaf rates of its own, which this profile does not touch.
  const double resident = cli::what_if(a.run.processes[0].spans[0], a.profile)->resident,
               moving = cli::what_if(a.run.processes[0].spans[0], a.profile)->moving;
  EXPECT_NEAR(reason.resident.saved(), 4 * (2 - resident), 1e-9);
  EXPECT_NEAR(a.seconds_with(&cli::ReasonAccount::resident), 16 - 4 * (2 - resident), 1e-6);
  EXPECT_GT(moving, resident + 2 * 4096.0 * 4096 * 8 / 1e10 * 0.3) << "three matrices over a slow bus";
  EXPECT_GT(a.seconds_with(&cli::ReasonAccount::moving), a.seconds_with(&cli::ReasonAccount::resident));
}

TEST(Share, CallsThatCannotGoSaveNothing) {
  const cli::Analysis a = cli::analyse(run_of({on_cpu(0, 2, Reason::overlap), on_cpu(2, 4, Reason::invalid)}, 4));
  EXPECT_NEAR(a.seconds_with(&cli::ReasonAccount::resident), 4, 1e-9);
  EXPECT_NEAR(a.least_seconds(), 0, 1e-9);
}

TEST(Share, OverlappingThreadsSaveOnce) {
  Span other = on_cpu(1, 5);
  other.thread = 2;
  const cli::Analysis a = cli::analyse(run_of({on_cpu(1, 5), other}, 10));
  EXPECT_NEAR(a.cpu_union_seconds, 4, 1e-9);
  EXPECT_NEAR(a.outermost_seconds, 8, 1e-9);
  EXPECT_GT(a.seconds_with(&cli::ReasonAccount::resident), 6 - 1e-9);
}

TEST(Share, OfACallAndThoseInsideItTheBetterCounts) {
  // A factorisation of 10 s with two products of 4 s in it: all of it on the device beats the products alone.
  Span whole = on_cpu(0, 10);
  whole.routine = Routine::dgeqrf;
  whole.k = 0;
  whole.own_ns = 2000000000;
  const cli::Analysis a = cli::analyse(run_of({whole, on_cpu(1, 5), on_cpu(5, 9)}, 10));
  EXPECT_NEAR(a.outermost_seconds, 10, 1e-9);
  EXPECT_EQ(a.reasons.at(Reason::transfers).recorded, 3u);
  EXPECT_EQ(a.reasons.at(Reason::transfers).resident.calls, 1u);
  EXPECT_NEAR(a.reasons.at(Reason::transfers).resident.seconds, 10, 1e-9);
  // One that may not go leaves the products.
  whole.reason = Reason::overlap;
  const cli::Analysis b = cli::analyse(run_of({whole, on_cpu(1, 5), on_cpu(5, 9)}, 10));
  EXPECT_EQ(b.reasons.at(Reason::transfers).resident.calls, 2u);
  EXPECT_NEAR(b.reasons.at(Reason::transfers).resident.seconds, 8, 1e-9);
}

TEST(Share, TransfersBothWaysCountOnce) {
  Span s = on_cpu(0, 1);
  s.in_begin = 100, s.in_end = 500, s.out_begin = 400, s.out_end = 900;
  EXPECT_EQ(s.moving(), 800);
  s.out_begin = 600;
  EXPECT_EQ(s.moving(), 700);
  s.in_begin = s.in_end = 0;
  EXPECT_EQ(s.moving(), 300);
}

}  // namespace
}  // namespace blaslift::trace_tests
