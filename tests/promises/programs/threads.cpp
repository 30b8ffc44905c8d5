// Many threads at once.
//
//   threads check      16 threads with small stacks, then an OpenMP team: mixed precisions, every result checked
//   threads exit HOW   8 threads go on calling while the process ends: HOW is return, exit, or worker (a thread calls
//   exit)
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "check.hpp"

using namespace promises;

namespace {

#ifdef PROMISES_BRIEF
constexpr std::size_t smallest_stack = std::size_t{1} << 20;  // instrumented frames are larger
#else
constexpr std::size_t smallest_stack = std::size_t{64} << 10;
#endif

template <class T>
struct Case {
  Problem<T> problem;
  Expected<T> expected;
  explicit Case(std::uint32_t seed)
      : problem('T', 'N', 33 + static_cast<int>(seed % 7), 29, 41, make<T>(0.5, -0.75), make<T>(0.25, 0.5), seed),
        expected(problem) {}
};

/// A thread's own operands, one product per precision.
struct Work {
  explicit Work(std::uint32_t seed) : s(seed), d(seed), c(seed), z(seed) {}
  void run(int turn) const {
    const Via via = every_via[turn % 3];
    switch (turn % 4) {
      case 0: return run_and_check(s.problem, s.expected, via);
      case 1: return run_and_check(d.problem, d.expected, via);
      case 2: return run_and_check(c.problem, c.expected, via);
      default: return run_and_check(z.problem, z.expected, via);
    }
  }
  Case<float> s;
  Case<double> d;
  Case<std::complex<float>> c;
  Case<std::complex<double>> z;
};

struct Team {
  std::vector<Work> work;
  pthread_barrier_t start;
};
struct Member {
  Team* team;
  int number;
};

void* small_stack(void* argument) {
  const auto* member = static_cast<Member*>(argument);
  pthread_barrier_wait(&member->team->start);  // the very first calls of the process meet
  for (int turn = 0; turn < 36; ++turn)
    member->team->work[static_cast<std::size_t>(member->number)].run(member->number + turn);
  return nullptr;
}

void check_threads() {
  constexpr int count = 16;
  Team team;
  for (int t = 0; t < count; ++t) team.work.emplace_back(static_cast<std::uint32_t>(100 + t));
  pthread_barrier_init(&team.start, nullptr, count);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  Member members[count];
  pthread_t threads[count];
  for (int t = 0; t < count; ++t) {
    members[t] = {&team, t};
    // A library underneath with much thread-local storage (OpenBLAS: 60 KiB) leaves no thread so small a stack.
    std::size_t stack = smallest_stack;
    int status = EINVAL;
    for (; status == EINVAL && stack <= (std::size_t{8} << 20); stack *= 2) {
      pthread_attr_setstacksize(&attributes, stack);
      status = pthread_create(&threads[t], &attributes, small_stack, &members[t]);
    }
    if (status != 0) return fail("no thread: %s", std::strerror(status)), void();
    if (t == 0) std::printf("stack %zu\n", stack / 2);
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_barrier_destroy(&team.start);
#ifdef _OPENMP
#pragma omp parallel for num_threads(8) schedule(static, 1)
  for (int t = 0; t < count; ++t)
    for (int turn = 0; turn < 12; ++turn) team.work[static_cast<std::size_t>(t)].run(t + turn);
#endif
}

void keep_calling(int number, bool ends_the_process) {
  const auto* work = new Work(static_cast<std::uint32_t>(number));  // for ever: it is used until the process is gone
  for (int turn = 0;; ++turn) {
    work->run(number + turn);
    if (failures.load()) _exit(3);
    if (ends_the_process && turn == 12) std::exit(0);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int threads_main(int count, char** arguments) {
  if (count == 2 && std::string_view(arguments[1]) == "check") return check_threads(), verdict();
  if (count != 3) return 2;
  const std::string_view how = arguments[2];
  for (int t = 0; t < 8; ++t) std::thread(keep_calling, t, how == "worker" && t == 3).detach();
  usleep(static_cast<useconds_t>(5000 + getpid() % 10000));
  if (how == "worker") pause();
  if (how == "exit") std::exit(0);
  return 0;
}
