// What a process is besides its results: errno, signals, threads, loaded objects, how it ends.  One subject per first
// argument.
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"

using namespace promises;

namespace {

template <class T>
void product(int m, int n, int k, Via via = Via::fortran) {
  const Problem<T> p('N', 'T', m, n, k, make<T>(0.75, 0), make<T>(-0.5, 0), 5);
  run_and_check(p, Expected<T>(p), via);
}

/// A few products of all precisions by all interfaces.
void calls() {
  for (int i = 0; i < 2; ++i)
    for (const Via via : every_via) for_each_precision([&]<class T>(T*) { product<T>(17 + i, 19, 23, via); });
}

std::vector<std::string> lines_of(const char* path) {
  std::vector<std::string> lines;
  char line[1024];
  std::FILE* file = std::fopen(path, "r");
  while (file && std::fgets(line, sizeof line, file)) lines.emplace_back(line);
  if (file) std::fclose(file);
  return lines;
}

/// No module of ours, no CUDA, no OpenMP, no second thread.
void nothing_opened() {
  for (const std::string& line : lines_of("/proc/self/maps"))
    for (const char* object : {"libblaslift_", "libcuda", "libcublas", "libnvidia", "libgomp"})
      if (line.find(object) != line.npos) fail("opened: %s", line.c_str());
  for (const std::string& line : lines_of("/proc/self/status"))
    if (line.starts_with("Threads:") && std::atoi(line.c_str() + 8) != 1) fail("%s", line.c_str());
}
bool preloaded() {
  for (const std::string& line : lines_of("/proc/self/maps"))
    if (line.find("libblaslift.so") != line.npos) return true;
  return false;
}

/// The address keeps the linker from dropping the library; nothing is called.
void untouched() {
  static void (*volatile function)(const char*, const char*, const int*, const int*, const int*, const double*,
                                   const double*, const int*, const double*, const int*, const double*, double*,
                                   const int*, std::size_t, std::size_t) = dgemm_;
  if (!function || !preloaded()) fail("blaslift is not there: nothing is tested");
  nothing_opened();
}

void small_calls_only() {
  calls();
  nothing_opened();
}

void errno_kept() {
  const Problem<double> small('N', 'N', 5, 4, 3, 1.0, 0.5, 1), large('N', 'N', 760, 730, 3, 1.0, 0.5, 1);
  const int before = 4321;
  for (int turn = 0; turn < 3; ++turn)
    for (const Via via : every_via)
      for (const Problem<double>* p : {&small, &large}) {
        Matrix<double> out = p->C;
        errno = before;
        p->run(via, out);
        const int after = errno;
        if (after != before)
          fail("turn %d, %s by %s: errno became %d (%s)", turn, p->name().c_str(), name_of(via), after,
               std::strerror(after));
      }
}

void handler(int) {}

void signals() {
  struct sigaction mine {};
  mine.sa_handler = handler;
  mine.sa_flags = SA_RESTART;
  for (const int number : {SIGUSR1, SIGPIPE, SIGFPE, SIGSEGV, SIGCHLD}) sigaction(number, &mine, nullptr);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  sigaddset(&mask, SIGTERM);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  struct sigaction before[65] = {};
  for (int number = 1; number < 65; ++number) sigaction(number, nullptr, &before[number]);

  product<double>(17, 19, 23);
  product<double>(760, 730, 3);  // C is 4.2 MiB: threads copy it
  product<double>(760, 730, 3);

  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int number = 1; number < 65; ++number) {
    if (sigismember(&mask, number) != sigismember(&after, number)) fail("signal %d: the mask changed", number);
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    if (now.sa_handler != before[number].sa_handler || now.sa_flags != before[number].sa_flags)
      fail("signal %d: the handler changed", number);
  }
  int helpers = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* task = readdir(tasks)) {
    if (std::atoi(task->d_name) == 0 || std::atoi(task->d_name) == getpid()) continue;
    ++helpers;
    for (const std::string& line : lines_of((std::string("/proc/self/task/") + task->d_name + "/status").c_str())) {
      if (!line.starts_with("SigBlk:")) continue;
      const std::uint64_t open = ~std::strtoull(line.c_str() + 7, nullptr, 16);
      // SIGKILL and SIGSTOP cannot be blocked; 32 and 33 belong to the C library; what a thread's own instruction
      // raises, the program may repair.
      std::uint64_t allowed = 1ull << 31 | 1ull << 32;
      for (const int number : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS})
        allowed |= 1ull << (number - 1);
      if (open & ~allowed)
        fail("a helper thread leaves signals open: %llx", static_cast<unsigned long long>(open & ~allowed));
    }
  }
  closedir(tasks);
  std::printf("helpers %d\n", helpers);
}

/// Matrices of n x n in mappings of their own.
constexpr int mapped_n = 400;
double* mapped(double value) {
  void* memory =
      mmap(nullptr, sizeof(double) * mapped_n * mapped_n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  std::fill_n(static_cast<double*>(memory), mapped_n * mapped_n, value);
  return static_cast<double*>(memory);
}

void mapped_product(const double* A, const double* B, double* C) {
  const int n = mapped_n;
  const double one = 1, zero = 0;
  dgemm_("N", "N", &n, &n, &n, &one, A, &n, B, &n, &zero, C, &n, 1, 1);
}

double *other_A, *other_C;
std::atomic<int> repaired_pages{0};

/// Makes a page usable, as programs do that load or log pages when they are touched; the first time it multiplies.
void repair(int, siginfo_t* info, void*) {
  constexpr std::uintptr_t page = 4096;
  void* begin = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(info->si_addr) / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) std::abort();
  if (repaired_pages.fetch_add(1) == 0) mapped_product(other_A, other_A, other_C);
}

void repaired() {
  double *A = mapped(2), *B = mapped(3), *C = mapped(0);
  other_A = mapped(1), other_C = mapped(0);
  mapped_product(A, B, C);
  mapped_product(A, B, C);
  struct sigaction mine {};
  mine.sa_sigaction = repair;
  mine.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &mine, nullptr);
  for (int turn = 0; turn < 3; ++turn) {
    double* whom = turn == 0 ? A : turn == 1 ? C : B;
    repaired_pages = 0;
    std::fill_n(C, mapped_n * mapped_n, -1.0);
    mprotect(whom, sizeof(double) * mapped_n * mapped_n, turn == 1 ? PROT_READ : PROT_NONE);
    mapped_product(A, B, C);
    if (repaired_pages.load() == 0) fail("turn %d: no page was repaired", turn);
    for (int i = 0; i < mapped_n * mapped_n; ++i)
      if (C[i] != 6.0 * mapped_n) return fail("turn %d: element %d is %g", turn, i, C[i]);
    for (int i = 0; i < mapped_n * mapped_n; ++i)
      if (other_C[i] != mapped_n) return fail("turn %d: the handler's element %d is %g", turn, i, other_C[i]);
  }
}

/// Threads are cancelled while they multiply; what they had finished is right, and others go on.
void cancelled() {
  for (int turn = 0; turn < 20; ++turn) {
    struct Work {
      double *A = mapped(1), *B = mapped(2), *C = mapped(0);
    } work;
    std::thread thread([&work] {
      for (;;) {
        mapped_product(work.A, work.B, work.C);
        pthread_testcancel();
      }
    });
    usleep(static_cast<unsigned>(3000 * (1 + turn % 5)));
    pthread_cancel(thread.native_handle());
    thread.join();
    mapped_product(work.A, work.B, work.C);
    for (int i = 0; i < mapped_n * mapped_n; ++i)
      if (work.C[i] != 2.0 * mapped_n) return fail("turn %d: element %d is %g", turn, i, work.C[i]);
  }
}

/// dlclose(argv[2]) RTLD_LOCAL, call, close, and call again: by the kept address and as the program was linked.
void closed(const char* path) {
  using Dgemm = decltype(&dgemm_);
  for (int turn = 0; turn < 2; ++turn) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const auto dgemm = library ? reinterpret_cast<Dgemm>(dlsym(library, "dgemm_")) : nullptr;
    if (!dgemm) return fail("%s", dlerror()), void();
    const Problem<double> p('N', 'T', 17, 19, 23, 0.75, -0.5, 9);
    const Expected<double> expected(p);
    for (int open = 1; open >= 0; --open) {
      Matrix<double> out = p.C;
      const int lda = p.A.ld(), ldb = p.B.ld(), ldc = out.ld();
      dgemm("N", "T", &p.m, &p.n, &p.k, &p.alpha, p.A.data(), &lda, p.B.data(), &ldb, &p.beta, out.data(), &ldc, 1, 1);
      calls_made['d'] += 1;
      if (const std::string wrong = expected.compare(out); !wrong.empty()) fail("open %d: %s", open, wrong.c_str());
      if (open && dlclose(library) != 0) fail("dlclose: %s", dlerror());
    }
    Matrix<double> out = p.C;  // not ours: nothing is preloaded
    raw_gemm(Via::fortran, 'N', 'T', p.m, p.n, p.k, p.alpha, p.A.data(), p.A.ld(), p.B.data(), p.B.ld(), p.beta,
             out.data(), out.ld());
    if (const std::string wrong = expected.compare(out); !wrong.empty()) fail("linked: %s", wrong.c_str());
  }
}

/// R of a QR factorisation whose panels are multiplied by dgemm: R'R = A'A.
/// ||A - QR||_F <= gamma_mn ||A||_F (Higham 19.4), so that R'R differs from A'A by about twice that times ||A||_F.
void check_r(const Matrix<double>& A, const Matrix<double>& R, int m, int n) {
  double norm = 0;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) norm += A.at(i, j) * A.at(i, j);
  const double bound = 4.0 * m * n * std::numeric_limits<double>::epsilon() * norm;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i <= j; ++i) {
      double ours = 0, wanted = 0;
      for (int p = 0; p <= i; ++p) ours += R.at(p, i) * R.at(p, j);
      for (int p = 0; p < m; ++p) wanted += A.at(p, i) * A.at(p, j);
      if (!(std::fabs(ours - wanted) <= bound)) return fail("R'R(%d, %d): %g instead of %g", i, j, ours, wanted);
    }
}

void lapack() {
  const int m = 210, n = 200, lwork = 64 * n;
  const Matrix<double> A(m, n, 3, 21);
  Matrix<double> R = A;
  std::vector<double> tau(n), work(lwork);
  int info = -1;
  const int ld = R.ld();
  dgeqrf_(&m, &n, R.data(), &ld, tau.data(), work.data(), &lwork, &info);
  if (info != 0 || !R.guarded()) fail("dgeqrf: info %d", info);
  check_r(A, R, m, n);
}

/// The first calls of the process, when it has used up all the memory that it may have.
/// @param to_the_end  or else there is some again before the second ones
void no_memory(bool to_the_end) {
  std::vector<std::function<void()>> run, check;
  for (const int n : {5, 70})
    for (const Via via : every_via)
      for_each_precision([&]<class T>(T*) {
        const auto p = std::make_shared<Problem<T>>('N', 'T', n, n + 1, n + 2, make<T>(0.75, 0), make<T>(-0.5, 0), 5);
        const auto expected = std::make_shared<Expected<T>>(*p);
        const auto out = std::make_shared<Matrix<T>>(p->C);
        run.emplace_back([=] { p->run(via, *out); });
        check.emplace_back([=] {
          if (const std::string wrong = expected->compare(*out); !wrong.empty())
            fail("%s by %s: %s", p->name().c_str(), name_of(via), wrong.c_str());
          *out = p->C;
        });
      });
  // Others find more of the library underneath, each in its way.
  const int rows = 40, cols = 30, enough = 20000, one_step = 1;
  const double one = 1, zero = 0;
  const Matrix<double> A(rows, cols, 3, 21);
  Matrix<double> R = A, compact = A;
  const int ld = R.ld();
  std::vector<double> tau(cols), T(enough), work(enough), x(cols, 1.0), y(cols, -1.0);
  run.emplace_back([&] {
    int info = -1;
    R = A;
    compact = A;
    dsymv_("U", &cols, &one, A.data(), &ld, x.data(), &one_step, &zero, y.data(), &one_step, 1);
    dgeqrf_(&rows, &cols, R.data(), &ld, tau.data(), work.data(), &enough, &info);
    if (info != 0) fail("dgeqrf: info %d", info);
    dgeqr_(&rows, &cols, compact.data(), &ld, T.data(), &enough, work.data(), &enough, &info);
    if (info != 0) fail("dgeqr: info %d", info);
  });
  check.emplace_back([&] {
    check_r(A, R, rows, cols);
    check_r(A, compact, rows, cols);
    for (int i = 0; i < cols; ++i) {
      double wanted = 0;
      for (int j = 0; j < cols; ++j) wanted += i <= j ? A.at(i, j) : A.at(j, i);
      if (!(std::fabs(y[static_cast<std::size_t>(i)] - wanted) <= 1e-12)) fail("dsymv, row %d", i);
    }
  });
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit none{0, before.rlim_max};
  if (setrlimit(RLIMIT_AS, &none) != 0) return fail("there is no such limit here: nothing is tested");
  struct Block {
    Block* next;
  }* hoard = nullptr;
  for (std::size_t bytes = std::size_t{1} << 24; bytes >= sizeof(Block); bytes /= 2)
    while (auto* block = static_cast<Block*>(std::malloc(bytes))) {
      block->next = hoard;
      hoard = block;
    }
  for (const auto& call : run) call();
  if (!to_the_end) {
    setrlimit(RLIMIT_AS, &before);
    while (hoard) std::free(std::exchange(hoard, hoard->next));
  }
  for (const auto& judge : check) judge();
  for (const auto& call : run) call();
  for (const auto& judge : check) judge();
}

}  // namespace

int main(int, char** arguments) {
  const std::string_view which = arguments[1] ? arguments[1] : "";
  if (which == "calls")
    calls();
  else if (which == "untouched")
    untouched();
  else if (which == "small_calls_only")
    small_calls_only();
  else if (which == "errno_kept")
    errno_kept();
  else if (which == "signals")
    signals();
  else if (which == "repaired")
    repaired();
  else if (which == "cancelled")
    cancelled();
  else if (which == "no_memory" || which == "no_memory_to_the_end")
    no_memory(which == "no_memory_to_the_end");
  else if (which == "closed")
    closed(arguments[2]);
  else if (which == "lapack")
    lapack();
  else if (which == "killed" || which == "_exit" || which == "abort") {
    calls();
    verdict();
    if (which == "_exit") _exit(0);
    raise(which == "killed" ? SIGKILL : SIGABRT);
  } else
    return 2;
  return verdict();
}
