// QR of a matrix of tiles on the host's threads: tile sizes compared, as in Takayanagi's Tile CAQR (2021), chapter 8,
// and trees, which that names as future work.
//
//   qr_trees s|d M N THREADS REPETITIONS TILE[,TILE...] TREE[,TREE...] [TIMELINE]
//
// TREE: flat, binary, or the tile rows of a domain.  Prints a line of JSON for each tile size and tree: median and
// least seconds; "predicted", from each kernel's time, while all threads work, and the graph alone (chapter 6 counts
// how often the slowest ones come; here the tasks are given to the threads as they become ready); tasks, and how many
// of them are in a row at most; and |A e - Q R e| / |A e|, e all ones.  Exit status 1 if that is over 10 sqrt(m) eps,
// or not a number.
//
// TIMELINE: a file that gets a line of JSON for each task of the last repetitions: who did it, from when to when.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <queue>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/product.hpp"
#include "bench/tile_qr.hpp"

namespace blaslift {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kinds[] = {"geqrt", "larfb", "tsqrt", "ssrfb", "ttqrt", "ttmqr"};
constexpr index inner_block = 32;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Span {
  QrTask task;
  int worker;
  double begin, end;
};

/// Notes who did what, and when.
class Timeline {
 public:
  explicit Timeline(std::size_t tasks) { spans_.reserve(tasks); }

  template <class Run>
  void around(const QrTask& task, const Run& run) {
    const double begin = seconds_since(start_);
    run();
    const double end = seconds_since(start_);
    const std::lock_guard lock(mutex_);
    const int worker =
        workers_.try_emplace(std::this_thread::get_id(), static_cast<int>(workers_.size())).first->second;
    spans_.push_back({task, worker, begin, end});
  }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::map<std::thread::id, int> workers_;
  std::vector<Span> spans_;
};

std::string name_of(QrTree tree) {
  return tree.domain == 0 ? "flat" : tree.domain == 1 ? "binary" : std::to_string(tree.domain);
}

std::vector<std::string> words_of(const char* text) {
  std::vector<std::string> words;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  return words;
}

/// -1 if it is none, or not positive.
index number(const std::string& word) {
  char* end = nullptr;
  const long value = std::strtol(word.c_str(), &end, 10);
  return word.empty() || *end || value < 1 ? -1 : value;
}

int chain(const QrGraph& g) {
  std::vector<int> length(g.tasks.size());
  for (std::size_t i = 0; i < length.size(); ++i) {
    for (const QrEdge& e : g.after[i]) length[i] = std::max(length[i], length[static_cast<std::size_t>(e.task)]);
    ++length[i];
  }
  return *std::max_element(length.begin(), length.end());
}

/// Each task goes to the thread that is free first, as soon as what it waits for has ended; earlier ones first.
double predicted(const QrGraph& g, int threads, const double* seconds) {
  const std::size_t count = g.tasks.size();
  std::vector<std::vector<std::size_t>> before(count);
  std::vector<std::size_t> waits(count);
  for (std::size_t i = 0; i < count; ++i)
    for (const QrEdge& e : g.after[i]) before[static_cast<std::size_t>(e.task)].push_back(i), ++waits[i];
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  using End = std::pair<double, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> running;
  for (std::size_t i = 0; i < count; ++i)
    if (waits[i] == 0) ready.push(i);
  double now = 0;
  while (!ready.empty() || !running.empty()) {
    while (!ready.empty() && running.size() < static_cast<std::size_t>(threads)) {
      running.push({now + seconds[static_cast<int>(g.tasks[ready.top()].kind)], ready.top()});
      ready.pop();
    }
    now = running.top().first;
    for (const std::size_t i : before[running.top().second])
      if (--waits[i] == 0) ready.push(i);
    running.pop();
  }
  return now;
}

template <class T>
struct Bench {
  index m, n;
  int threads, repetitions;
  char letter;
  std::FILE* timeline;
  std::vector<T> original, A;

  /// Median seconds of each kind of kernel that this tree has, while all threads work: they share what a core has.
  void time_kernels(index tile, QrTree tree, double* seconds) {
    A = original;
    TileQr<T> f(m, n, A.data(), m, tile, std::min(tile, inner_block), tree);
    const QrGraph g = f.graph();
    Timeline times(g.tasks.size());
    f.factor(g, threads, [&](const QrTask& task, const auto& run) { times.around(task, run); });
    std::vector<double> of[6];
    for (const Span& s : times.spans()) of[static_cast<int>(s.task.kind)].push_back(s.end - s.begin);
    for (int kind = 0; kind < 6; ++kind)
      if (!of[kind].empty()) {
        std::sort(of[kind].begin(), of[kind].end());
        seconds[kind] = of[kind][of[kind].size() / 2];
      }
  }

  bool measure(index tile, QrTree tree, const double* kernel_seconds) {
    std::vector<double> seconds;
    double error = 0;
    std::size_t tasks = 0;
    double model = 0;
    int longest = 0;
    for (int r = 0; r < repetitions; ++r) {
      A = original;
      TileQr<T> f(m, n, A.data(), m, tile, std::min(tile, inner_block), tree);
      const QrGraph g = f.graph();
      Timeline times(g.tasks.size());
      const bool last = r + 1 == repetitions;
      const auto start = Clock::now();
      if (last && timeline)
        f.factor(g, threads, [&](const QrTask& task, const auto& run) { times.around(task, run); });
      else
        f.factor(g, threads, [](const QrTask&, const auto& run) { run(); });
      seconds.push_back(seconds_since(start));
      if (!last) continue;
      for (const Span& s : times.spans())
        std::fprintf(timeline,
                     "{\"tile\": %ld, \"tree\": \"%s\", \"kind\": \"%s\", \"k\": %ld, \"row\": %ld, \"col\": %ld, "
                     "\"worker\": %d, \"begin\": %.9f, \"end\": %.9f}\n",
                     tile, name_of(tree).c_str(), kinds[static_cast<int>(s.task.kind)], s.task.k, s.task.row,
                     s.task.col, s.worker, s.begin, s.end);
      tasks = g.tasks.size();
      model = predicted(g, threads, kernel_seconds);
      longest = chain(g);
      error = error_of(f);
    }
    std::sort(seconds.begin(), seconds.end());
    const double k = static_cast<double>(std::min(m, n)), most = static_cast<double>(std::max(m, n)),
                 median = seconds[seconds.size() / 2];
    const bool right =
        error <= 10 * std::sqrt(static_cast<double>(m)) * static_cast<double>(std::numeric_limits<T>::epsilon());
    std::printf(
        "{\"precision\": \"%c\", \"m\": %ld, \"n\": %ld, \"threads\": %d, \"tile\": %ld, \"tree\": \"%s\", "
        "\"seconds\": %.6g, "
        "\"least\": %.6g, \"predicted\": %.6g, \"GFLOP/s\": %.4g, \"tasks\": %zu, \"in_a_row\": %d, \"error\": %.2g, "
        "\"right\": %s}\n",
        letter, m, n, threads, tile, name_of(tree).c_str(), median, seconds.front(), model,
        2e-9 * k * k * (most - k / 3) / median, tasks, longest, error, right ? "true" : "false");
    std::fflush(stdout);
    return right;
  }

  double error_of(TileQr<T>& f) const {
    std::vector<T> y(static_cast<std::size_t>(m));
    std::vector<double> due(y.size());
    const auto at = [this](const std::vector<T>& x, index i, index j) {
      return x[static_cast<std::size_t>(i + j * m)];
    };
    for (index i = 0; i < m; ++i) {
      double sum = 0;
      for (index j = i; j < n; ++j) sum += static_cast<double>(at(A, i, j));
      y[static_cast<std::size_t>(i)] = static_cast<T>(sum);
    }
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) due[static_cast<std::size_t>(i)] += static_cast<double>(at(original, i, j));
    f.apply(false, y.data(), m, 1, threads);
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      difference = std::hypot(difference, static_cast<double>(y[i]) - due[i]), norm = std::hypot(norm, due[i]);
    return difference / norm;
  }
};

template <class T>
bool run(char letter, index m, index n, int threads, int repetitions, const std::vector<index>& tiles,
         const std::vector<QrTree>& trees, std::FILE* timeline) {
  Bench<T> bench{m, n, threads, repetitions, letter, timeline, std::vector<T>(static_cast<std::size_t>(m * n)), {}};
  for (std::size_t i = 0; i < bench.original.size(); ++i) bench::set_uniform(bench.original[i], 1, i);
  bool right = true;
  for (const index tile : tiles) {
    double seconds[6] = {};
    for (const QrTree tree : {QrTree::binary(), QrTree::domains(2)}) bench.time_kernels(tile, tree, seconds);
    for (const QrTree tree : trees) right = bench.measure(tile, tree, seconds) && right;
  }
  return right;
}

int usage() {
  std::fprintf(stderr, "usage: qr_trees s|d M N THREADS REPETITIONS TILE[,TILE...] TREE[,TREE...] [TIMELINE]\n");
  return 2;
}

int main_of(int argc, char** argv) {
  if (argc < 8 || argc > 9 || std::strlen(argv[1]) != 1 || !std::strchr("sd", argv[1][0])) return usage();
  const index m = number(argv[2]), n = number(argv[3]);
  const auto threads = static_cast<int>(number(argv[4])), repetitions = static_cast<int>(number(argv[5]));
  std::vector<index> tiles;
  std::vector<QrTree> trees;
  for (const std::string& word : words_of(argv[6])) tiles.push_back(number(word));
  for (const std::string& word : words_of(argv[7]))
    trees.push_back(word == "flat"     ? QrTree::flat()
                    : word == "binary" ? QrTree::binary()
                                       : QrTree::domains(number(word)));
  const auto positive = [](index x) { return x > 0; };
  const auto is_tree = [](QrTree x) { return x.domain >= 0; };  // flat's is 0
  if (m < 1 || n < 1 || threads < 1 || repetitions < 1 || tiles.empty() || trees.empty() ||
      !std::all_of(tiles.begin(), tiles.end(), positive) || !std::all_of(trees.begin(), trees.end(), is_tree))
    return usage();
  std::FILE* timeline = argc == 9 ? std::fopen(argv[8], "w") : nullptr;
  if (argc == 9 && !timeline) return std::fprintf(stderr, "qr_trees: cannot write %s\n", argv[8]), 2;
  const bool right = argv[1][0] == 's' ? run<float>('s', m, n, threads, repetitions, tiles, trees, timeline)
                                       : run<double>('d', m, n, threads, repetitions, tiles, trees, timeline);
  if (timeline && std::fclose(timeline) != 0) return std::fprintf(stderr, "qr_trees: %s is not whole\n", argv[8]), 2;
  return right ? 0 : 1;
}

}  // namespace
}  // namespace blaslift

int main(int argc, char** argv) { return blaslift::main_of(argc, argv); }
