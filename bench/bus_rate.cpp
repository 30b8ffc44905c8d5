// How fast the transfer engine moves matrices between pageable memory and the device, through the same door as the
// library (kernels/backend.hpp).
//
//   bus_rate [--backend cuda|host] [--modules DIR] MxN[:LD] ...
//
// DIR is where libblaslift_<backend>.so lies (../lib beside this program).  Prints a line of JSON a matrix of doubles:
// bytes a second to the device and back, medians of several transfers of the m x n entries of two host matrices in
// turn, first touched and warm.  Everything that comes back is compared, the rows between m and LD included, which no
// transfer may touch; exit status 1 if something differs.  Ends with 77 where the module cannot be opened.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/product.hpp"
#include "impl/route/device.hpp"

namespace blaslift {
namespace {

constexpr int repetitions = 7;
constexpr int exit_skipped = 77;
constexpr double untouched = -7;  // in the rows between m and ld of what is downloaded into
constexpr After at_once{nullptr, 0};

void require(Status status, const char* what) {
  if (status != Status::done)
    throw std::runtime_error(std::string(what) + " failed, status " + std::to_string(static_cast<int>(status)));
}

/// A lane for one measurement, with room on the device for one packed matrix.
class Call {
 public:
  Call(Backend& backend, std::size_t bytes) : backend_(backend) {
    require(backend.allocate(bytes, memory_), "allocate");
    Status status = Status::lost;
    lane_ = backend.acquire(nothing_underneath, bytes, status);
    if (!lane_) require(status, "acquire");
  }
  ~Call() {
    backend_.release(lane_);
    backend_.free(memory_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void upload(const double* from, index m, index n, index ld) {
    require(lane_->upload({memory_, m, const_cast<double*>(from), ld, m, n, sizeof(double)}, at_once), "upload");
    require(lane_->drain(), "upload");
  }

  /// Piece by piece, as schedules do: whole columns, as many as a piece holds.
  void download(double* to, index m, index n, index ld) {
    const auto cols = static_cast<index>(backend_.facts().piece_bytes / sizeof(double)) / m;
    if (cols < 1) throw std::runtime_error("a column is larger than a piece");
    std::vector<std::atomic<bool>> landed(static_cast<std::size_t>((n + cols - 1) / cols));
    for (index j = 0; j < n; j += cols) {
      const Transfer piece{
          static_cast<double*>(memory_) + j * m, m, to + j * ld, ld, m, std::min(cols, n - j), sizeof(double)};
      if (const Status status = lane_->download(piece, at_once, landed[static_cast<std::size_t>(j / cols)]);
          status != Status::done) {
        (void)lane_->drain();  // `landed` must outlive what is under way
        require(status, "download");
      }
    }
    require(lane_->drain(), "download");
    for (const std::atomic<bool>& piece : landed)
      if (!piece.load()) throw std::runtime_error("a piece has not landed");
  }

 private:
  static void no_product(const void*, const Operation&) {}
  static constexpr UnderlyingBlas nothing_underneath{no_product, nullptr};

  Backend& backend_;
  void* memory_ = nullptr;
  Lane* lane_ = nullptr;
};

template <class Timed>
double seconds(const Timed& operation) {
  const auto start = std::chrono::steady_clock::now();
  operation();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool same(const double* sent, const double* back, std::size_t m, std::size_t n, std::size_t ld) {
  std::atomic<bool> same{true};
  bench::in_parallel(n, [&](std::size_t first, std::size_t last) {
    for (std::size_t j = first; j < last; ++j) {
      const double* column = back + j * ld;
      const auto gap = std::count(column + m, column + ld, untouched);
      if (std::memcmp(sent + j * ld, column, m * sizeof(double)) != 0 || static_cast<std::size_t>(gap) != ld - m)
        same = false;
    }
  });
  return same;
}

bool time_matrix(Backend& backend, int m, int n, int ld) {
  const std::size_t storage = bench::elements(ld, n), bytes = bench::elements(m, n) * sizeof(double);
  std::unique_ptr<double[]> sent[2], back[2];
  for (int i = 0; i < 2; ++i) {
    sent[i].reset(new double[storage]);
    back[i].reset(new double[storage]);
    bench::fill_uniform(sent[i].get(), storage, static_cast<std::uint64_t>(i) + 1);
    bench::fill(back[i].get(), storage, untouched);
  }
  Call call(backend, bytes);
  std::vector<double> in, out;
  bool right = true;
  for (int r = -1; r < repetitions; ++r) {  // the first one warms
    const double *from = sent[r & 1].get(), *to = back[r & 1].get();
    const double up = seconds([&] { call.upload(from, m, n, ld); });
    const double down = seconds([&] { call.download(const_cast<double*>(to), m, n, ld); });
    if (r >= 0) in.push_back(up), out.push_back(down);
    right =
        right && same(from, to, static_cast<std::size_t>(m), static_cast<std::size_t>(n), static_cast<std::size_t>(ld));
  }
  const auto rate = [bytes](const std::vector<double>& times) {
    return static_cast<double>(bytes) / bench::median(times);
  };
  std::printf("{\"m\": %d, \"n\": %d, \"ld\": %d, \"in\": %.5g, \"out\": %.5g, \"right\": %s}\n", m, n, ld, rate(in),
              rate(out), right ? "true" : "false");
  std::fflush(stdout);
  return right;
}

bool run(const std::string& backend_name, std::string modules, char** sizes) {
  std::string why;
  Backend* backend = open_module(modules, backend_name.c_str(), {.local_size = 1}, why);
  if (!backend) {
    std::fprintf(stderr, "bus_rate: %s\n", why.c_str());
    std::exit(exit_skipped);
  }
  bool right = true;
  for (; *sizes; ++sizes) {
    int m = 0, n = 0, ld = 0;
    const int found = std::sscanf(*sizes, "%dx%d:%d", &m, &n, &ld);
    if (found == 2) ld = m;
    if (found < 2 || m < 1 || n < 1 || ld < m) throw std::runtime_error(std::string("not a size: ") + *sizes);
    right = time_matrix(*backend, m, n, ld) && right;
  }
  if (!right) std::fprintf(stderr, "bus_rate: other bytes came back than were sent\n");
  return right;
}

}  // namespace
}  // namespace blaslift

int main(int, char** argv) {
  const std::string program = argv[0], folder = program.substr(0, program.rfind('/') + 1);
  std::string backend = "cuda", modules = folder + "../lib";
  for (++argv; argv[0] && argv[1] && **argv == '-'; argv += 2)
    (std::string(argv[0]) == "--backend" ? backend : modules) = argv[1];
  if (!argv[0]) {
    std::fprintf(stderr, "usage: bus_rate [--backend cuda|host] [--modules DIR] MxN[:LD] ...\n");
    return 2;
  }
  try {
    return blaslift::run(backend, modules, argv) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bus_rate: %s\n", error.what());
    return 1;
  }
}
