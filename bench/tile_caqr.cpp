// Tile CAQR on one node as Takayanagi's thesis has it (Tile CAQR, 2021, chapters 5 and 7): tiles in the host's memory,
// factors by the CPU's cores (LAPACK's tile kernels), updates by the device, to which everything that one needs is sent
// and from which it comes back.  The device is reached by the door that the library uses (kernels/backend.hpp), so that
// the host backend does for a GPU where there is none.
//
//   tile_caqr --m M --n N [--tile B] [--inner IB] [--tree flat|binary|greedy|domains:ROWS|cyclic:COUNT]
//             [--method bulk|double|stream|recursive|cpu] [--order waves|panels] [--small S] [--threads T] [--lanes L]
//             [--join] [--check] [--repetitions R] [--backend host|cuda] [--modules DIR]
//   tile_caqr --kernels --n N [--tile B] [--inner IB] [--backend ...]
//   tile_caqr --bus BYTES [--backend ...]
//
// Methods, the thesis's sections 7.3 to 7.5:
//
//   bulk       what is on the right in a row of tiles is one rectangle; two rows fit onto the device: the one that
//              annihilates stays until its step has ended, the others come and go one after the other
//   double     the same with room for four: the next row comes while one is computed
//   stream     each column of tiles is a chain of its own, in a stream of its own as far as there are some: L lanes
//              have two each.  V and T of a factor are sent once a lane
//   recursive  double; and a tile is factored as tiles of S x S by all T threads, whose reflectors the device applies
//   cpu        without a device: updates by the cores, too
//
// --order: the device updates in waves, as the factors of all panels could be made at the earliest (the default), or
// panel by panel, with which the factors of two panels at most are made at the same time. Waves need room for a row
// more of each panel that is in work.
//
// --join: fork-join instead of tasks (listing 4.1): a factor waits until all updates before it have ended, updates of a
// row run at the same time.  A tile is IB columns of reflectors at a time in every kernel, also on the device.
//
// Prints a line of JSON: median and least seconds, what was sent (of one repetition), how often each factor kernel ran
// and its median, and |A x - Q R x| / (|A| |x|) of a random x, with --check |A - Q R| / |A| instead; and |Q^T Q y - y|
// / |y|.  Exit status 1 if one is over 2 (m + min(m, n)) eps, as in tests/unit/qr/tile_qr.cpp, 2 if it cannot run, 77
// where the module cannot be opened.  --kernels: medians of the six kernels, updates on the device, of one tile and of
// N columns.  --bus: seconds of an upload, and of a download, by themselves and behind each other, of growing sizes up
// to BYTES.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/product.hpp"
#include "impl/route/device.hpp"
#include "kernels/host/host.hpp"
#include "kernels/host/run_tasks.hpp"

extern "C" {
void dgeqrt_(const int*, const int*, const int*, double*, const int*, double*, const int*, double*, int*);
void dgemqrt_(const char*, const char*, const int*, const int*, const int*, const int*, const double*, const int*,
              const double*, const int*, double*, const int*, double*, int*, std::size_t, std::size_t);
void dtpqrt_(const int*, const int*, const int*, const int*, double*, const int*, double*, const int*, double*,
             const int*, double*, int*);
void dtpmqrt_(const char*, const char*, const int*, const int*, const int*, const int*, const int*, const double*,
              const int*, const double*, const int*, double*, const int*, double*, const int*, double*, int*,
              std::size_t, std::size_t);
}

namespace blaslift {
namespace {

constexpr int exit_cannot = 2, exit_skipped = 77;
constexpr double one = 1, minus_one = -1, zero = 0;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
int as_int(index x) { return static_cast<int>(x); }
std::size_t as_size(index x) { return static_cast<std::size_t>(x); }

enum class Method { bulk, twice, stream, recursive, cpu };
constexpr const char* methods[] = {"bulk", "double", "stream", "recursive", "cpu"};

struct Request {
  index m = 0, n = 0, tile = 0, inner = 0, small = 0, bus = 0;
  int threads = 0, lanes = 8, repetitions = 3;
  std::string tree_name = "flat", backend = "host", modules;
  QrTree tree;
  Method method = Method::bulk;
  bool join = false, waves = true, whole_check = false, kernels = false;

  /// Fork-join goes panel by panel, and so does what is written down of updates by the cores.
  bool in_waves() const { return waves && !join && method != Method::cpu; }
};

// ---- tiles

/// A row of tiles is a b x n matrix in one piece, so that what is on the right in it is one rectangle, and a tile, too,
/// has its columns one behind the other.
class Tiles {
 public:
  Tiles(index rows, index columns, index tile)
      : m(rows),
        n(columns),
        b(tile),
        p((rows + tile - 1) / tile),
        q((columns + tile - 1) / tile),
        memory_(new double[as_size(p * tile * columns)]) {}

  /// Of row `row` of tiles, from the matrix's column `col` on; distance of columns: b.
  double* at(index row, index col) const { return memory_.get() + row * b * n + col * b; }
  double& element(index i, index j) const { return at(i / b, j)[i % b]; }
  index rows(index row) const { return std::min(b, m - row * b); }
  index cols(index k) const { return std::min(b, n - k * b); }
  index steps() const { return std::min(p, q); }

  const index m, n, b, p, q;

 private:
  std::unique_ptr<double[]> memory_;
};

double original(const Tiles& A, index i, index j) { return bench::uniform(1, static_cast<std::uint64_t>(i + j * A.m)); }

template <class Body>
void for_columns(index n, const Body& body) {
  bench::in_parallel(as_size(n), [&](std::size_t first, std::size_t last) {
    for (std::size_t j = first; j < last; ++j) body(static_cast<index>(j));
  });
}

void fill(const Tiles& A) {
  for_columns(A.n, [&](index j) {
    for (index i = 0; i < A.m; ++i) A.element(i, j) = original(A, i, j);
  });
}

// ---- reflectors

/// What one call of a kernel leaves: `count` reflectors with V of `rows` rows.
struct Block {
  QrTaskKind kind;    ///< geqrt, tsqrt or ttqrt
  index top, bottom;  ///< first rows of the (smaller) tiles in theirs; of geqrt the tile is the upper one
  index rows, count;
  index at;   ///< first column in V and T
  index col;  ///< first column in its tile
};

/// Of one factor task: one block, or many of smaller tiles.  V as products take it, with its ones and zeros.
struct Reflectors {
  index ld = 0, inner = 0, columns = 0;
  std::vector<Block> blocks;
  std::vector<double> V, T;  ///< ld x columns, inner x columns
};

/// @param m, n  of the tile that is factored, or annihilated
/// @param s     size of the smaller tiles
Reflectors plan(QrTaskKind kind, index m, index n, index s, index inner) {
  Reflectors f;
  const auto add = [&](QrTaskKind small, index top, index bottom, index rows, index count) {
    f.blocks.push_back({small, top, bottom, rows, count, f.columns, 0});
    f.columns += count;
  };
  for (index c = 0; c < (kind == QrTaskKind::geqrt ? std::min(m, n) : n); c += s) {
    const index width = std::min(s, n - c), before = as_int(static_cast<index>(f.blocks.size()));
    if (kind == QrTaskKind::geqrt) {
      const index rows = std::min(s, m - c);
      add(kind, c, 0, rows, std::min(rows, width));
      for (index r = c + s; r < m; r += s) add(QrTaskKind::tsqrt, c, r, std::min(s, m - r), width);
    } else if (kind == QrTaskKind::tsqrt) {
      for (index r = 0; r < m; r += s) add(kind, c, r, std::min(s, m - r), width);
    } else {  // what is below the triangle's diagonal is not there
      const index all = std::min(m, n);
      for (index r = 0; r <= c && r < all; r += s)
        add(r == c ? kind : QrTaskKind::tsqrt, c, r, std::min(s, all - r), width);
    }
    for (auto i = as_size(before); i < f.blocks.size(); ++i) f.blocks[i].col = c;
  }
  f.ld = s;
  f.inner = std::min(inner, s);
  f.V.assign(as_size(f.ld * f.columns), 0);
  f.T.assign(as_size(f.inner * f.columns), 0);
  return f;
}

int triangle_rows(const Block& x) { return x.kind == QrTaskKind::ttqrt ? as_int(std::min(x.rows, x.count)) : 0; }

/// LAPACK allows no wider block than there are reflectors.
index inner_of(const Reflectors& f, const Block& x) { return std::min(f.inner, x.count); }

/// A block's factor, in place, with V and T as products take them.
/// @param top, bottom  the tiles in which the block's rows are, at their first columns; distance of columns: ld
void factor_block(Reflectors& f, const Block& x, double* top, double* bottom, int ld) {
  const bool alone = x.kind == QrTaskKind::geqrt;
  double* const upper = top + x.top + x.col * ld;
  double* const lower = alone ? upper : bottom + x.bottom + x.col * ld;
  double* const T = f.T.data() + x.at * f.inner;
  const int rows = as_int(x.rows), ib = as_int(inner_of(f, x)), ldt = as_int(f.inner), l = triangle_rows(x);
  std::vector<double> work(as_size(f.inner * f.ld));
  int info = 0;
  // The columns on a wide tile's right get its reflectors as an update.
  const int count = as_int(x.count);
  if (alone)
    dgeqrt_(&rows, &count, &ib, upper, &ld, T, &ldt, work.data(), &info);
  else
    dtpqrt_(&rows, &count, &l, &ib, upper, &ld, lower, &ld, T, &ldt, work.data(), &info);
  if (info != 0) throw std::runtime_error("LAPACK refused a tile");
  for (index j = 0; j < x.count; ++j) {
    double* const v = f.V.data() + (x.at + j) * f.ld;
    const double* const a = lower + j * ld;
    if (alone) {
      v[j] = 1;
      std::copy(a + j + 1, a + x.rows, v + j + 1);
    } else {
      std::copy(a, a + (x.kind == QrTaskKind::ttqrt ? std::min(x.rows, j + 1) : x.rows), v);
    }
    std::fill(T + j * f.inner + j % ib + 1, T + (j + 1) * f.inner, 0.0);  // LAPACK may have worked there
  }
}

/// A block's reflectors on columns of C, by a core.
void apply_block(const Reflectors& f, const Block& x, bool adjoint, double* top, double* bottom, int ld, index cols) {
  if (cols <= 0) return;
  const double* const V = f.V.data() + x.at * f.ld;
  const double* const T = f.T.data() + x.at * f.inner;
  const int rows = as_int(x.rows), count = as_int(x.count), ib = as_int(inner_of(f, x)), ldv = as_int(f.ld),
            ldt = as_int(f.inner), l = triangle_rows(x), n = as_int(cols);
  std::vector<double> work(as_size(cols * f.inner));
  int info = 0;
  const char* const op = adjoint ? "T" : "N";
  if (x.kind == QrTaskKind::geqrt)
    dgemqrt_("L", op, &rows, &n, &count, &ib, V, &ldv, T, &ldt, top + x.top, &ld, work.data(), &info, 1, 1);
  else
    dtpmqrt_("L", op, &rows, &n, &count, &l, &ib, V, &ldv, T, &ldt, top + x.top, &ld, bottom + x.bottom, &ld,
             work.data(), &info, 1, 1);
  if (info != 0) throw std::runtime_error("LAPACK refused reflectors");
}

/// A factor task's reflectors on columns of C: Q^T, or Q in the reverse order.
void apply(const Reflectors& f, bool adjoint, double* top, double* bottom, index ld, index cols) {
  const std::size_t count = f.blocks.size();
  for (std::size_t i = 0; i < count; ++i)
    apply_block(f, f.blocks[adjoint ? i : count - 1 - i], adjoint, top, bottom, as_int(ld), cols);
}

/// Factors a tile (pair) of ld rows apart, and what is on the right in it, by so many threads.
void factor(Reflectors& f, double* top, double* bottom, index ld, index n, int threads) {
  struct Small {
    std::size_t block;
    index col;  ///< of an update: its first column; -1: the block's factor
  };
  std::vector<Small> tasks;
  std::vector<std::vector<QrEdge>> after;
  // Who wrote a smaller tile last: row r of the upper tile, or of the lower one, at a column.
  std::map<std::tuple<bool, index, index>, std::int32_t> writer;
  const auto add = [&](Small task, std::int32_t maker, index col) {
    const Block& x = f.blocks[task.block];
    const auto number = static_cast<std::int32_t>(tasks.size());
    std::vector<QrEdge> waits;
    if (maker >= 0) waits.push_back({maker, QrWait::right});
    const auto write = [&](bool lower, index row) {
      const auto [at, is_new] = writer.try_emplace({lower, row, col}, number);
      if (!is_new) waits.push_back({at->second, QrWait::down});
      at->second = number;
    };
    write(false, x.top);
    if (x.kind != QrTaskKind::geqrt) write(bottom != top, x.bottom);
    tasks.push_back(task);
    after.push_back(waits);
    return number;
  };
  for (std::size_t i = 0; i < f.blocks.size(); ++i) {
    const Block& x = f.blocks[i];
    const std::int32_t maker = add({i, -1}, -1, x.col);
    if (x.kind == QrTaskKind::geqrt && x.col + x.count < std::min(n, x.col + f.ld))  // a wide one's own right side
      add({i, x.col + x.count}, maker, x.col);
    for (index c = x.col + f.ld; c < n; c += f.ld) add({i, c}, maker, c);
  }
  std::atomic<bool> failed{false};
  run_tasks(after, threads, [&](std::size_t t) {
    const Block& x = f.blocks[tasks[t].block];
    const index col = tasks[t].col, end = std::min(n, (col / f.ld + 1) * f.ld);
    try {
      if (col < 0)
        factor_block(f, x, top, bottom, as_int(ld));
      else
        apply_block(f, x, true, top + col * ld, bottom + col * ld, as_int(ld), end - col);
    } catch (const std::exception&) {  // no task may throw
      failed = true;
    }
  });
  if (failed) throw std::runtime_error("a tile could not be factored");
}

// ---- the device

struct Sent {
  long uploads = 0, downloads = 0, operations = 0;
  double bytes_in = 0, bytes_out = 0;

  void add(const Sent& x) {
    uploads += x.uploads, downloads += x.downloads, operations += x.operations;
    bytes_in += x.bytes_in, bytes_out += x.bytes_out;
  }
};

void require(Status status, const char* what) {
  if (status != Status::done)
    throw std::runtime_error(std::string("the device failed: ") + what + ", status " +
                             std::to_string(static_cast<int>(status)));
}

/// The host backend's products; one core, as everything else is done by many.
void multiply(const void*, const Operation& operation) {
  const Gemm& p = *operation.get<Gemm>();
  const auto letter = [](Op op) { return static_cast<char>(op); };
  const char a = letter(p.transa), b = letter(p.transb);
  const int m = as_int(p.m), n = as_int(p.n), k = as_int(p.k), lda = as_int(p.lda), ldb = as_int(p.ldb),
            ldc = as_int(p.ldc);
  dgemm_(&a, &b, &m, &n, &k, static_cast<const double*>(p.alpha), static_cast<const double*>(p.A), &lda,
         static_cast<const double*>(p.B), &ldb, static_cast<const double*>(p.beta), static_cast<double*>(p.C), &ldc, 1,
         1);
}

using Tickets = std::vector<Ticket>;

/// A download in pieces, which others than the asking thread may look at.
struct Arrival {
  explicit Arrival(int of) : pieces(new std::atomic<bool>[as_size(of)]), count(of) {
    for (int i = 0; i < count; ++i) pieces[as_size(i)] = false;
  }
  bool landed() const {
    return std::all_of(pieces.get(), pieces.get() + count, [](const std::atomic<bool>& piece) { return piece.load(); });
  }
  const std::unique_ptr<std::atomic<bool>[]> pieces;
  const int count;
};

/// Device memory, given back at the end.
class Memory {
 public:
  Memory(Backend& backend, index elements) : backend_(backend) {
    require(backend.allocate(as_size(std::max<index>(elements, 1)) * sizeof(double), memory_), "allocate");
  }
  ~Memory() { backend_.free(memory_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  double* get() const { return static_cast<double*>(memory_); }

 private:
  Backend& backend_;
  void* memory_ = nullptr;
};

/// A lane that counts what it is asked for, for one thread.
class Lease {
 public:
  explicit Lease(Backend& backend) : backend_(backend) {
    // So much that the engine's threads move it: what is small lands only where its own thread waits for it.
    constexpr std::size_t bytes = std::size_t{1} << 30;
    Status status = Status::lost;
    lane_ = backend.acquire({multiply, nullptr}, bytes, status);
    if (!lane_) require(status, "acquire");
  }
  ~Lease() { backend_.release(lane_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Ticket upload(double* device, const double* host, index ld, index rows, index cols, const Tickets& after) {
    require(lane_->upload({device, ld, const_cast<double*>(host), ld, rows, cols, sizeof(double)}, view(after)),
            "upload");
    ++sent.uploads;
    sent.bytes_in += static_cast<double>(rows * cols) * sizeof(double);
    return next_++;
  }

  /// Whole columns, as many at once as a piece may have.
  const Arrival& download(const double* device, double* host, index ld, index rows, index cols, const Tickets& after,
                          Tickets& tickets) {
    const auto most = static_cast<index>(backend_.facts().piece_bytes / sizeof(double)) / rows;
    if (most < 1) throw std::runtime_error("a column of a tile is larger than the device's pieces");
    const index count = (cols + most - 1) / most;
    const Arrival& arrival = arrivals->emplace_back(as_int(count));
    tickets.clear();
    for (index i = 0; i < count; ++i) {
      const index col = i * most;
      const Transfer piece{const_cast<double*>(device) + col * ld,
                           ld,
                           host + col * ld,
                           ld,
                           rows,
                           std::min(most, cols - col),
                           sizeof(double)};
      require(lane_->download(piece, view(after), arrival.pieces[as_size(i)]), "download");
      tickets.push_back(next_++);
    }
    ++sent.downloads;
    sent.bytes_out += static_cast<double>(rows * cols) * sizeof(double);
    return arrival;
  }

  Ticket ask(const Operation& operation, const Tickets& after) {
    require(lane_->ask(operation, view(after)), "compute");
    ++sent.operations;
    return next_++;
  }

  void await(const Arrival& arrival) {
    for (int i = 0; i < arrival.count; ++i) require(lane_->await(arrival.pieces[as_size(i)]), "await");
  }

  void drain() {
    require(lane_->drain(), "drain");
    next_ = 0;
  }
  /// A ticket has a mark on the device until drain().
  bool has_many() const { return next_ > 16384; }

  Sent sent;
  /// Others may look until all is over, whatever has failed.
  const std::shared_ptr<std::deque<Arrival>> arrivals = std::make_shared<std::deque<Arrival>>();

 private:
  static After view(const Tickets& tickets) { return {tickets.data(), static_cast<int>(tickets.size())}; }

  Backend& backend_;
  Lane* lane_ = nullptr;
  Ticket next_ = 0;
};

/// Listing 7.2 of the thesis in inner blocks, C1 (top) and C2 (bottom): W := V^T C2 + C1, W := T^T W, C1 -= W, C2 -= V
/// W; of geqrt's without C1.  The first geam is the product's E.
struct Updater {
  index ld;
  double *W, *product;  ///< inner x cols each
  std::int8_t stream;

  /// @return the last one's ticket
  Ticket update(Lease& lane, const Reflectors& f, const double* V, const double* T, double* top, double* bottom,
                index cols, Tickets after) const {
    Ticket last = -1;
    const auto ask = [&](const auto& operation) {
      last = lane.ask(operation, after);
      after.clear();  // what follows is in the same stream
    };
    for (std::size_t i = 0; i < f.blocks.size(); ++i) {
      const Block& x = f.blocks[i];
      const index ib = inner_of(f, x);
      const bool alone = x.kind == QrTaskKind::geqrt;
      for (index j = 0; j < x.count; j += ib) {
        const index w = std::min(ib, x.count - j), skipped = alone ? j : 0,
                    h = x.kind == QrTaskKind::ttqrt ? std::min(x.rows, j + w) : x.rows - skipped;
        const double *const v = V + skipped + (x.at + j) * f.ld, *const t = T + (x.at + j) * f.inner;
        double *const upper = top + x.top + j, *const lower = alone ? upper : bottom + x.bottom;
        Gemm gather{.precision = Precision::d,
                    .transa = Op::transpose,
                    .transb = Op::none,
                    .m = w,
                    .n = cols,
                    .k = h,
                    .alpha = &one,
                    .A = v,
                    .lda = f.ld,
                    .B = lower,
                    .ldb = ld,
                    .beta = alone ? &zero : &one,
                    .C = W,
                    .ldc = f.inner,
                    .E = alone ? nullptr : upper,
                    .lde = alone ? 0 : ld,
                    .stream = stream,
                    .awaited = false};
        ask(gather);
        ask(Gemm{.precision = Precision::d,
                 .transa = Op::transpose,
                 .transb = Op::none,
                 .m = w,
                 .n = cols,
                 .k = w,
                 .alpha = &one,
                 .A = t,
                 .lda = f.inner,
                 .B = W,
                 .ldb = f.inner,
                 .beta = &zero,
                 .C = product,
                 .ldc = f.inner,
                 .stream = stream,
                 .awaited = false});
        if (!alone) {
          Combination difference{.precision = Precision::d, .rows = w, .cols = cols, .sources = 2, .targets = 1};
          difference.source[0] = {upper, ld, false};
          difference.source[1] = {product, f.inner, false};
          difference.target[0] = {upper, ld, {1, -1}};
          difference.scale = nullptr;
          difference.stream = stream;
          difference.awaited = false;
          ask(difference);
        }
        ask(Gemm{.precision = Precision::d,
                 .transa = Op::none,
                 .transb = Op::none,
                 .m = h,
                 .n = cols,
                 .k = w,
                 .alpha = &minus_one,
                 .A = v,
                 .lda = f.ld,
                 .B = product,
                 .ldb = f.inner,
                 .beta = &one,
                 .C = lower,
                 .ldc = ld,
                 .stream = stream,
                 .awaited = i + 1 == f.blocks.size() && j + ib >= x.count});
      }
    }
    return last;
  }
};

// ---- a run

/// What the threads of a run know of each other.
struct Run {
  Run(const Request& request, const Tiles& matrix)
      : options(request),
        A(matrix),
        arrived(as_size(A.p * A.q)),
        small(options.method == Method::recursive ? options.small : A.b) {
    for (const QrTask& task : factor_graph(A.p, A.q, options.tree).tasks)
      if (task.col < 0) factors.push_back(task);
    if (options.in_waves()) sort_by_waves();
    find_ends();
    made = std::vector<std::atomic<bool>>(factors.size());
    reflectors.resize(factors.size());
    seconds.resize(factors.size());
  }

  const Request& options;
  const Tiles& A;
  std::vector<QrTask> factors;  ///< in an order in which they can run one by one
  struct Ends {
    bool row, by;  ///< no later factor of this step has to do with that row of tiles
  };
  std::vector<Ends> ends;  ///< by factor
  int open = 0;            ///< rows of tiles that are between their first and last factor of a step, at most
  std::vector<Reflectors> reflectors;
  std::vector<double> seconds;
  std::vector<std::atomic<bool>> made;                     ///< a factor's reflectors are there
  std::vector<std::atomic<const Arrival*>> arrived;        ///< by tile, column by column: after its last update
  std::vector<std::unique_ptr<std::atomic<index>>> ended;  ///< by lane, with --join: factors whose updates have ended
  const index small;

  std::vector<std::shared_ptr<std::deque<Arrival>>> arrivals;  ///< by lane: what `arrived` points to

  std::atomic<bool> failed{false};
  std::mutex failing;
  std::string failure;

  void fail(const char* why) {
    const std::lock_guard lock(failing);
    if (!failed.exchange(true)) failure = why;
  }
  /// Waits without taking a core from those that copy.  False if all is over.
  template <class There>
  bool wait_for(const There& there) const {
    for (int tries = 0; !there(); ++tries) {
      if (failed) return false;
      if (tries < 50)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
    return true;
  }

  bool await_tile(index row, index k) const {
    if (k == 0) return true;
    const std::atomic<const Arrival*>& tile = arrived[as_size(row + k * A.p)];
    return wait_for([&] { return tile.load() && tile.load()->landed(); });
  }

  void make(std::size_t at, int threads) {
    const QrTask& x = factors[at];
    const bool alone = x.kind == QrTaskKind::geqrt;
    double* const bottom = A.at(x.row, x.k * A.b);
    double* const top = alone ? bottom : A.at(x.by, x.k * A.b);
    const double begin = now();
    Reflectors f = plan(x.kind, A.rows(x.row), A.cols(x.k), small, options.inner);
    factor(f, top, bottom, A.b, A.cols(x.k), threads);
    reflectors[at] = std::move(f);
    seconds[at] = now() - begin;
  }

  /// Factors wait for those before them that have worked on the same rows of tiles.
  std::vector<std::vector<QrEdge>> chain() const {
    std::vector<std::vector<QrEdge>> after(factors.size());
    std::vector<std::int32_t> last(as_size(A.p), -1);
    for (std::size_t i = 0; i < factors.size(); ++i)
      for (const index row : {factors[i].row, factors[i].by})
        if (row >= 0) {
          std::int32_t& before = last[as_size(row)];
          if (before >= 0) after[i].push_back({before, QrWait::down});
          before = static_cast<std::int32_t>(i);
        }
    return after;
  }

 private:
  /// By the number of factors that must have been made, one after the other, before.
  void sort_by_waves() {
    std::vector<index> ready(as_size(A.p), 0);
    std::vector<std::pair<index, QrTask>> waves;
    for (const QrTask& x : factors) {
      index wave = ready[as_size(x.row)];
      if (x.by >= 0) wave = std::max(wave, ready[as_size(x.by)]);
      waves.emplace_back(wave, x);
      ready[as_size(x.row)] = wave + 1;
      if (x.by >= 0) ready[as_size(x.by)] = wave + 1;
    }
    std::stable_sort(waves.begin(), waves.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < waves.size(); ++i) factors[i] = waves[i].second;
  }

  void find_ends() {
    std::set<std::pair<index, index>> later;
    ends.resize(factors.size());
    for (std::size_t i = factors.size(); i-- > 0;) {
      const QrTask& x = factors[i];
      ends[i] = {later.insert({x.k, x.row}).second, x.by >= 0 && later.insert({x.k, x.by}).second};
    }
    std::set<std::pair<index, index>> now;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const QrTask& x = factors[i];
      now.insert({x.k, x.row});
      if (x.by >= 0) now.insert({x.k, x.by});
      open = std::max(open, as_int(static_cast<index>(now.size())));
      if (ends[i].row) now.erase({x.k, x.row});
      if (ends[i].by) now.erase({x.k, x.by});
    }
  }
};

/// What is on the device of some columns of the matrix: a few rows of tiles of them, the least recently used of which
/// goes where another one is needed.
class Columns {
 public:
  /// @param tile  column of tiles; -1: all that are on the right of the one that is factored
  Columns(Run& run, Backend& backend, index tile, int slots, std::int8_t stream)
      : run_(run),
        A_(run.A),
        tile_(tile),
        width_(tile < 0 ? A_.n : A_.cols(tile)),
        W_(backend, 2 * inner() * width_),
        updater_{A_.b, W_.get(), W_.get() + inner() * width_, stream},
        home_(as_size(A_.p)) {
    for (int i = 0; i < slots; ++i)
      slots_.push_back({std::make_unique<Memory>(backend, A_.b * width_), -1, -1, false, 0, {}, {}});
  }

  bool takes_part(index k) const { return tile_ < 0 ? (k + 1) * A_.b < A_.n : k < tile_; }

  /// Begins to send the rows that a task needs.
  void bring(Lease& lane, const QrTask& x) {
    if (x.by >= 0) (void)bring(lane, x.by, x.k, -1);
    (void)bring(lane, x.row, x.k, x.by);
  }

  /// @param after  V and T have been sent
  Ticket update(Lease& lane, const QrTask& x, Run::Ends ends, const Reflectors& f, const double* V, const double* T,
                Tickets after) {
    Slot& bottom = *find(x.row);
    Slot& top = x.by >= 0 ? *find(x.by) : bottom;
    for (Slot* slot : {&bottom, &top}) {
      after.insert(after.end(), slot->loaded.begin(), slot->loaded.end());
      slot->loaded.clear();
      slot->dirty = true;
    }
    const Ticket last = updater_.update(lane, f, V, T, top.memory->get(), bottom.memory->get(), cols(x.k), after);
    top.busy = bottom.busy = {last};
    if (ends.row) finish(lane, bottom);
    if (ends.by) finish(lane, top);
    return last;
  }

  void forget_tickets() {
    for (Slot& slot : slots_) slot.busy.clear(), slot.loaded.clear();
  }

 private:
  struct Slot {
    std::unique_ptr<Memory> memory;
    index row, k;  ///< what is there, of which step; row -1: nothing
    bool dirty;
    long used;
    Tickets loaded;  ///< uploads that nothing has come after yet
    Tickets busy;    ///< must have ended before something else comes here

    std::pair<bool, long> order() const { return {row >= 0, used}; }  ///< empty ones go first
  };

  index inner() const { return std::min(run_.options.inner, run_.small); }
  index first(index k) const { return tile_ < 0 ? (k + 1) * A_.b : tile_ * A_.b; }
  index cols(index k) const { return tile_ < 0 ? A_.n - first(k) : width_; }

  Slot* find(index row) {
    const auto at = std::find_if(slots_.begin(), slots_.end(), [row](const Slot& slot) { return slot.row == row; });
    return at == slots_.end() ? nullptr : &*at;
  }

  Slot& bring(Lease& lane, index row, index k, index kept) {
    Slot* slot = find(row);
    if (!slot) {
      for (Slot& other : slots_)
        if ((kept < 0 || other.row != kept) && (!slot || other.order() < slot->order())) slot = &other;
      if (slot->dirty) put_back(lane, *slot, false);
      if (const Arrival* before = home_[as_size(row)]) lane.await(*before);
      slot->loaded = {lane.upload(slot->memory->get(), A_.at(row, first(k)), A_.b, A_.rows(row), cols(k), slot->busy)};
      slot->busy = slot->loaded;
      slot->row = row;
      slot->k = k;
    }
    slot->used = ++clock_;
    return *slot;
  }

  void finish(Lease& lane, Slot& slot) {
    put_back(lane, slot, true);
    slot.row = -1;
  }

  /// @param last  in its step
  void put_back(Lease& lane, Slot& slot, bool last) {
    const index k = slot.k;
    Tickets tickets;
    const Arrival& arrival = lane.download(slot.memory->get(), A_.at(slot.row, first(k)), A_.b, A_.rows(slot.row),
                                           cols(k), slot.busy, tickets);
    home_[as_size(slot.row)] = &arrival;
    if (last && (tile_ < 0 || tile_ == k + 1)) run_.arrived[as_size(slot.row + (k + 1) * A_.p)] = &arrival;
    slot.busy = tickets;
    slot.dirty = false;
  }

  Run& run_;
  const Tiles& A_;
  const index tile_, width_;
  const Memory W_;
  const Updater updater_;
  std::vector<Slot> slots_;
  std::vector<const Arrival*> home_;  ///< by row of tiles: since when the host has what the device had
  long clock_ = 0;
};

/// One lane's thread: all updates of its columns, in the order of the factors.
class Device {
 public:
  Device(Run& run, Backend& backend, int number) : run_(run), ended_(*run.ended[as_size(number)]), lane_(backend) {
    run.arrivals[as_size(number)] = lane_.arrivals;
    const bool by_tiles = run.options.method == Method::stream;
    const int room = run.options.in_waves() ? std::max(2, run.open) : 2;
    if (by_tiles) {
      std::int8_t stream = 0;
      for (index tile = 1 + number; tile < run.A.q; tile += run.options.lanes, stream ^= 1)
        columns_.push_back(std::make_unique<Columns>(run, backend, tile, room, stream));
    } else {
      const int more = run.options.method == Method::bulk ? 0 : 2;  // that come and go while others are computed
      columns_.push_back(std::make_unique<Columns>(run, backend, -1, room + more, 0));
    }
    index most = 0;
    for (const QrTaskKind kind : {QrTaskKind::geqrt, QrTaskKind::tsqrt, QrTaskKind::ttqrt})
      most = std::max(most, plan(kind, run.A.b, run.A.b, run.small, run.options.inner).columns);
    for (int i = 0; i < (run.options.method == Method::bulk ? 1 : 2); ++i)
      factors_.push_back({std::make_unique<Memory>(backend, run.small * most),
                          std::make_unique<Memory>(backend, std::min(run.options.inner, run.small) * most),
                          {}});
  }

  void work() {
    for (std::size_t i = 0; i < run_.factors.size(); ++i) {
      const QrTask& x = run_.factors[i];
      const auto for_mine = [&](const auto& act) {
        for (const auto& columns : columns_)
          if (columns->takes_part(x.k)) act(*columns);
      };
      // Rows can be on their way before their reflectors are made.
      bool any = false;
      for_mine([&](Columns& columns) {
        any = true;
        columns.bring(lane_, x);
      });
      if (!run_.wait_for([&] { return run_.made[i].load(); })) return;
      if (any) {
        const Reflectors& f = run_.reflectors[i];
        Factor& to = factors_[i % factors_.size()];
        const Tickets sent = {lane_.upload(to.V->get(), f.V.data(), f.ld, f.ld, f.columns, to.busy),
                              lane_.upload(to.T->get(), f.T.data(), f.inner, f.inner, f.columns, to.busy)};
        to.busy.clear();
        for_mine([&](Columns& columns) {
          to.busy.push_back(columns.update(lane_, x, run_.ends[i], f, to.V->get(), to.T->get(), sent));
        });
        if (run_.options.join || lane_.has_many()) drain();
      }
      ended_ = static_cast<index>(i) + 1;
    }
    drain();
  }

  const Sent& sent() const { return lane_.sent; }

 private:
  struct Factor {
    std::unique_ptr<Memory> V, T;
    Tickets busy;
  };

  void drain() {
    lane_.drain();
    for (const auto& columns : columns_) columns->forget_tickets();
    for (Factor& factor : factors_) factor.busy.clear();
  }

  Run& run_;
  std::atomic<index>& ended_;
  // The lane goes first: nothing may be under way in memory that is given back.
  std::vector<std::unique_ptr<Columns>> columns_;
  std::vector<Factor> factors_;
  Lease lane_;
};

void run_with_device(Run& run, Backend& backend, Sent& sent) {
  const Request& o = run.options;
  const int lanes = o.method == Method::stream ? std::min(o.lanes, std::max(1, as_int(run.A.q) - 1)) : 1;
  for (int i = 0; i < lanes; ++i) run.ended.push_back(std::make_unique<std::atomic<index>>(0));
  run.arrivals.resize(as_size(lanes));
  std::mutex counting;
  std::vector<std::thread> devices;
  for (int i = 0; i < lanes; ++i)
    devices.emplace_back([&, i] {
      try {
        Device device(run, backend, i);
        device.work();
        const std::lock_guard lock(counting);
        sent.add(device.sent());
      } catch (const std::exception& error) {
        run.fail(error.what());
      }
    });
  const bool nested = o.method == Method::recursive;
  // Why this cannot hang: the earliest factor that is not made is never behind a thread that waits.  Threads take the
  // earliest one that is ready, and what makes one ready goes on with it, or with an earlier one.
  run_tasks(run.chain(), nested || o.join ? 1 : o.threads, [&](std::size_t i) {
    const QrTask& x = run.factors[i];
    if (o.join && !run.wait_for([&] {
          return std::all_of(run.ended.begin(), run.ended.end(),
                             [&](const auto& lane) { return lane->load() >= static_cast<index>(i); });
        }))
      return;
    if (!run.await_tile(x.row, x.k) || (x.by >= 0 && !run.await_tile(x.by, x.k))) return;
    try {
      run.make(i, nested ? o.threads : 1);
      run.made[i] = true;
    } catch (const std::exception& error) {
      run.fail(error.what());
    }
  });
  for (std::thread& device : devices) device.join();
  if (run.failed) throw std::runtime_error(run.failure);
}

void run_on_cores(Run& run) {
  const Request& o = run.options;
  const Tiles& A = run.A;
  const QrGraph graph = factor_graph(A.p, A.q, o.tree);
  std::vector<std::size_t> number(graph.tasks.size());  // of the factor that a task is, or applies
  std::size_t next = 0;
  std::vector<std::vector<QrEdge>> after = graph.after;
  std::vector<QrEdge> since;  // the updates since the last factor
  std::int32_t last = -1;
  for (std::size_t i = 0; i < number.size(); ++i) {
    const bool makes = graph.tasks[i].col < 0;
    number[i] = makes ? next++ : next - 1;  // updates follow their factor
    if (!o.join) continue;
    const auto at = static_cast<std::int32_t>(i);
    if (makes) {
      after[i] = since;
      if (since.empty() && last >= 0) after[i].push_back({last, QrWait::down});
      since.clear();
      last = at;
    } else {
      after[i] = {{last, QrWait::right}};
      since.push_back({at, QrWait::right});
    }
  }
  run_tasks(after, o.threads, [&](std::size_t i) {
    const QrTask& x = graph.tasks[i];
    if (run.failed) return;
    try {
      if (x.col < 0) return run.make(number[i], 1);
      double* const bottom = A.at(x.row, x.col * A.b);
      apply(run.reflectors[number[i]], true, x.by >= 0 ? A.at(x.by, x.col * A.b) : bottom, bottom, A.b, A.cols(x.col));
    } catch (const std::exception& error) {
      run.fail(error.what());
    }
  });
  if (run.failed) throw std::runtime_error(run.failure);
}

// ---- checks

/// Q or Q^T, as the reflectors have it, to C of as many rows.
void apply_q(const Run& run, bool adjoint, const Tiles& C) {
  const std::size_t count = run.factors.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = adjoint ? i : count - 1 - i;
    const QrTask& x = run.factors[at];
    double* const bottom = C.at(x.row, 0);
    apply(run.reflectors[at], adjoint, x.by >= 0 ? C.at(x.by, 0) : bottom, bottom, C.b, C.n);
  }
}

double norm(const Tiles& C) {
  double sum = 0;
  for (index j = 0; j < C.n; ++j)
    for (index i = 0; i < C.m; ++i) sum = std::hypot(sum, C.element(i, j));
  return sum;
}

/// |A - Q R| / |A|.
double whole_residual(const Run& run) {
  const Tiles& A = run.A;
  const Tiles C(A.m, A.n, A.b);
  for (index j = 0; j < A.n; ++j)
    for (index i = 0; i < A.m; ++i) C.element(i, j) = i <= j ? A.element(i, j) : 0;
  apply_q(run, false, C);
  double size = 0;
  for (index j = 0; j < A.n; ++j)
    for (index i = 0; i < A.m; ++i) {
      size = std::hypot(size, original(A, i, j));
      C.element(i, j) -= original(A, i, j);
    }
  return norm(C) / size;
}

double random_element(index j) { return bench::uniform(2, static_cast<std::uint64_t>(j)); }

/// |A x - Q R x| / (|A| |x|).
double residual_of_vector(const Run& run) {
  const Tiles& A = run.A;
  const Tiles y(A.m, 1, A.b);
  std::vector<double> due(as_size(A.m)), squares(as_size(A.m));
  for_columns(A.m, [&](index i) {
    double r = 0;
    for (index j = 0; j < A.n; ++j) {
      const double a = original(A, i, j);
      due[as_size(i)] += a * random_element(j);
      squares[as_size(i)] += a * a;
      if (i <= j) r += A.element(i, j) * random_element(j);
    }
    y.element(i, 0) = r;
  });
  apply_q(run, false, y);
  double x = 0, size = 0;
  for (index j = 0; j < A.n; ++j) x = std::hypot(x, random_element(j));
  for (index i = 0; i < A.m; ++i) {
    size += squares[as_size(i)];
    y.element(i, 0) -= due[as_size(i)];
  }
  return norm(y) / (std::sqrt(size) * x);
}

/// |Q^T Q y - y| / |y|.
double orthogonality(const Run& run) {
  const Tiles y(run.A.m, 1, run.A.b);
  for (index i = 0; i < y.m; ++i) y.element(i, 0) = random_element(i);
  const double size = norm(y);
  apply_q(run, false, y);
  apply_q(run, true, y);
  for (index i = 0; i < y.m; ++i) y.element(i, 0) -= random_element(i);
  return norm(y) / size;
}

// ---- what it prints

constexpr const char* kinds[] = {"geqrt", "larfb", "tsqrt", "ssrfb", "ttqrt", "ttmqr"};

std::string kernels_of(const Run& run) {
  std::string text;
  for (const QrTaskKind kind : {QrTaskKind::geqrt, QrTaskKind::tsqrt, QrTaskKind::ttqrt}) {
    std::vector<double> found;
    for (std::size_t i = 0; i < run.factors.size(); ++i)
      if (run.factors[i].kind == kind) found.push_back(run.seconds[i]);
    char line[96];
    std::snprintf(line, sizeof line, "%s\"%s\": {\"count\": %zu, \"seconds\": %.4g}", text.empty() ? "" : ", ",
                  kinds[static_cast<int>(kind)], found.size(), found.empty() ? 0.0 : bench::median(found));
    text += line;
  }
  return text;
}

bool time_whole(const Request& o, Backend* backend) {
  const Tiles A(o.m, o.n, o.tile);
  std::vector<double> seconds;
  std::unique_ptr<Run> run;
  Sent sent;
  for (int r = 0; r < o.repetitions; ++r) {
    fill(A);
    run = std::make_unique<Run>(o, A);
    sent = {};
    const double begin = now();
    if (backend)
      run_with_device(*run, *backend, sent);
    else
      run_on_cores(*run);
    seconds.push_back(now() - begin);
  }
  const double residual = o.whole_check ? whole_residual(*run) : residual_of_vector(*run), off = orthogonality(*run),
               allowed = 2 * static_cast<double>(o.m + std::min(o.m, o.n)) * std::numeric_limits<double>::epsilon();
  const bool right = residual <= allowed && off <= allowed;
  const auto printable = [](double x) { return std::isfinite(x) ? x : 1e99; };
  const double k = static_cast<double>(std::min(o.m, o.n)), most = static_cast<double>(std::max(o.m, o.n)),
               median = bench::median(seconds);
  std::printf(
      "{\"m\": %lld, \"n\": %lld, \"tile\": %lld, \"inner\": %lld, \"small\": %lld, \"tree\": \"%s\", \"method\": "
      "\"%s\", "
      "\"join\": %s, \"order\": \"%s\", \"backend\": \"%s\", \"device\": \"%s\", \"threads\": %d, \"lanes\": %d, "
      "\"seconds\": %.6g, "
      "\"least\": %.6g, \"GFLOP/s\": %.4g, \"uploads\": %ld, \"downloads\": %ld, \"operations\": %ld, \"bytes_in\": "
      "%.6g, "
      "\"bytes_out\": %.6g, \"factors\": {%s}, \"checked\": \"%s\", \"residual\": %.3g, \"orthogonality\": %.3g, "
      "\"allowed\": %.3g, \"right\": %s}\n",
      static_cast<long long>(o.m), static_cast<long long>(o.n), static_cast<long long>(o.tile),
      static_cast<long long>(o.inner), static_cast<long long>(run->small), o.tree_name.c_str(),
      methods[static_cast<int>(o.method)], o.join ? "true" : "false", o.in_waves() ? "waves" : "panels",
      backend ? o.backend.c_str() : "none", backend ? backend->facts().name : "", o.threads,
      o.method == Method::stream ? o.lanes
      : backend                  ? 1
                                 : 0,
      median, *std::min_element(seconds.begin(), seconds.end()), 2e-9 * k * k * (most - k / 3) / median, sent.uploads,
      sent.downloads, sent.operations, sent.bytes_in, sent.bytes_out, kernels_of(*run).c_str(),
      o.whole_check ? "whole" : "a vector", printable(residual), printable(off), allowed, right ? "true" : "false");
  std::fflush(stdout);
  if (!right) std::fprintf(stderr, "tile_caqr: the result is wrong\n");
  return right;
}

/// Median of some calls, after one.
template <class Body>
double time_calls(int calls, const Body& body) {
  std::vector<double> found;
  body();
  for (int i = 0; i < calls; ++i) {
    const double begin = now();
    body();
    found.push_back(now() - begin);
  }
  return bench::median(found);
}

/// The factors on one core, the updates on the device: of a tile, and of n columns.
void time_kernels(const Request& o, Backend& backend) {
  const index b = o.tile;
  const Tiles pool(2 * b, b, b);
  fill(pool);
  const Tiles work(2 * b, b, b);
  const Memory V(backend, b * b), T(backend, o.inner * b), rows(backend, 2 * b * o.n), W(backend, 2 * o.inner * o.n);
  Lease lane(backend);
  const std::vector<double> zeros(as_size(2 * b * o.n));
  lane.upload(rows.get(), zeros.data(), b, b, 2 * o.n, {});
  lane.drain();
  std::printf("{\"tile\": %lld, \"inner\": %lld, \"n\": %lld", static_cast<long long>(b),
              static_cast<long long>(o.inner), static_cast<long long>(o.n));
  const Updater updater{b, W.get(), W.get() + o.inner * o.n, 0};
  for (const QrTaskKind kind : {QrTaskKind::geqrt, QrTaskKind::tsqrt, QrTaskKind::ttqrt}) {
    Reflectors f;
    const double factor_seconds = time_calls(7, [&] {
      std::memcpy(work.at(0, 0), pool.at(0, 0), as_size(2 * b * b) * sizeof(double));
      f = plan(kind, b, b, b, o.inner);
      factor(f, work.at(0, 0), kind == QrTaskKind::geqrt ? work.at(0, 0) : work.at(1, 0), b, b, 1);
    });
    lane.upload(V.get(), f.V.data(), f.ld, f.ld, f.columns, {});
    lane.upload(T.get(), f.T.data(), f.inner, f.inner, f.columns, {});
    lane.drain();
    double updates[2];
    for (const bool row : {false, true}) {
      constexpr int calls = 8;  // behind each other, as in a run
      updates[row] = time_calls(5,
                                [&] {
                                  for (int i = 0; i < calls; ++i)
                                    (void)updater.update(lane, f, V.get(), T.get(), rows.get(), rows.get() + b * o.n,
                                                         row ? o.n : std::min(b, o.n), {});
                                  lane.drain();
                                }) /
                     calls;
    }
    const int number = static_cast<int>(kind);
    std::printf(", \"%s\": %.4g, \"%s\": %.4g, \"%s of n\": %.4g", kinds[number], factor_seconds, kinds[number + 1],
                updates[0], kinds[number + 1], updates[1]);
  }
  std::printf(", \"backend\": \"%s\"}\n", o.backend.c_str());
}

/// Messages to the device and back, for the least squares through which alpha and beta come: one by itself, and, as a
/// run has them, some behind each other.
bool time_bus(const Request& o, Backend& backend) {
  constexpr index column = 512, most = 16;  // doubles: a tile's
  bool right = true;
  const index all = o.bus / (column * static_cast<index>(sizeof(double)));  // columns
  if (all < 1) throw std::runtime_error("--bus: less than 4096 bytes");
  std::vector<double> sent(as_size(column * all)), back(sent.size());
  bench::fill_uniform(sent.data(), sent.size(), 1);
  const Memory memory(backend, column * all);
  Lease lane(backend);
  for (index cols = 1; cols <= all; cols *= 2) {
    const index many = std::clamp<index>(all / cols, 1, most);
    const auto up = [&](index count) {
      for (index i = 0; i < count; ++i)
        lane.upload(memory.get() + i * cols * column, sent.data() + i * cols * column, column, column, cols, {});
      lane.drain();
    };
    const auto down = [&](index count) {
      Tickets tickets;
      for (index i = 0; i < count; ++i)
        (void)lane.download(memory.get() + i * cols * column, back.data() + i * cols * column, column, column, cols, {},
                            tickets);
      lane.drain();
    };
    const double up_one = time_calls(9, [&] { up(1); }), down_one = time_calls(9, [&] { down(1); }),
                 up_row = time_calls(9, [&] { up(many); }) / static_cast<double>(many),
                 down_row = time_calls(9, [&] { down(many); }) / static_cast<double>(many);
    const bool same = std::equal(back.begin(), back.begin() + many * cols * column, sent.begin());
    right = right && same;
    std::printf(
        "{\"bytes\": %lld, \"up\": %.4g, \"down\": %.4g, \"up in a row\": %.4g, \"down in a row\": %.4g, "
        "\"right\": %s}\n",
        static_cast<long long>(cols * column) * static_cast<long long>(sizeof(double)), up_one, down_one, up_row,
        down_row, same ? "true" : "false");
    std::fflush(stdout);
  }
  return right;
}

// ---- options

index number(const std::string& option, const std::string& value) {
  index found = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), found);
  if (error != std::errc{} || end != value.data() + value.size() || found < 1 || found > 1 << 30)
    throw std::runtime_error(option + ": not a positive number: " + value);
  return found;
}

QrTree tree_of(const std::string& name) {
  if (name == "flat") return QrTree::flat();
  if (name == "binary") return QrTree::binary();
  if (name == "greedy") return QrTree::greedy();
  for (const auto& [word, make] : {std::pair{"domains:", &QrTree::domains}, std::pair{"cyclic:", &QrTree::cyclic}})
    if (name.starts_with(word)) return make(number("--tree", name.substr(std::strlen(word))));
  throw std::runtime_error("--tree: no such tree: " + name + " (flat, binary, greedy, domains:ROWS or cyclic:COUNT)");
}

Method method_of(const std::string& name) {
  for (int i = 0; i < 5; ++i)
    if (name == methods[i]) return static_cast<Method>(i);
  throw std::runtime_error("--method: no such method: " + name + " (bulk, double, stream, recursive or cpu)");
}

bool order_of(const std::string& name) {
  if (name != "waves" && name != "panels")
    throw std::runtime_error("--order: no such order: " + name + " (waves or panels)");
  return name == "waves";
}

Request parse(int argc, char** argv) {
  Request o;
  o.threads = as_int(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (bool* const flag = option == "--join"      ? &o.join
                           : option == "--check"   ? &o.whole_check
                           : option == "--kernels" ? &o.kernels
                                                   : nullptr) {
      *flag = true;
      continue;
    }
    if (i + 1 == argc) throw std::runtime_error("no such option, or nothing behind it: " + option);
    const std::string value = argv[++i];
    if (option == "--tree")
      o.tree = tree_of(o.tree_name = value);
    else if (option == "--method")
      o.method = method_of(value);
    else if (option == "--order")
      o.waves = order_of(value);
    else if (option == "--backend")
      o.backend = value;
    else if (option == "--modules")
      o.modules = value;
    else if (option == "--threads")
      o.threads = as_int(number(option, value));
    else if (option == "--lanes")
      o.lanes = as_int(number(option, value));
    else if (option == "--repetitions")
      o.repetitions = as_int(number(option, value));
    else if (index* const size = option == "--m"       ? &o.m
                                 : option == "--n"     ? &o.n
                                 : option == "--tile"  ? &o.tile
                                 : option == "--inner" ? &o.inner
                                 : option == "--small" ? &o.small
                                 : option == "--bus"   ? &o.bus
                                                       : nullptr)
      *size = number(option, value);
    else
      throw std::runtime_error("no such option: " + option);
  }
  if (o.backend != "host" && o.backend != "cuda")
    throw std::runtime_error("--backend: neither host nor cuda: " + o.backend);
  if (o.lanes > 16) throw std::runtime_error("--lanes: the device has no more than 16");
  if (o.bus) return o;
  if (!o.n || (!o.m && !o.kernels)) throw std::runtime_error("how large? --m M --n N");
  if (!o.tile) o.tile = 256;
  if (!o.small) o.small = std::max<index>(1, o.tile / 4);
  if (!o.inner) o.inner = std::min<index>(32, o.tile);
  if (o.inner > o.tile) throw std::runtime_error("--inner: wider than a tile");
  if (o.small > o.tile) throw std::runtime_error("--small: larger than a tile");
  return o;
}

Backend* open(const Request& o) {
  const OpenRequest request{.memory_limit = 0, .local_rank = 0, .local_size = 1};
  std::string folder = o.modules, why;
  if (folder.empty()) {
    char path[4096];
    const auto length = readlink("/proc/self/exe", path, sizeof path);
    const std::string self(path, length > 0 ? as_size(length) : 0);
    folder = self.substr(0, self.rfind('/')) + "/../lib";
  }
  Backend* const backend =
      o.backend == "host" ? make_host_backend(request) : open_module(folder, o.backend.c_str(), request, why);
  if (!backend) {
    std::fprintf(stderr, "tile_caqr: %s\n", why.c_str());
    std::exit(exit_skipped);
  }
  for (const Operation::Kind kind : {Operation::Kind::gemm, Operation::Kind::combine})
    if (!backend->facts().computes.can(kind, Precision::d) || !backend->equip(kind))
      throw std::runtime_error("the device cannot compute products and sums");
  return backend;
}

}  // namespace
}  // namespace blaslift

int main(int argc, char** argv) {
  using namespace blaslift;
  // A tile is factored by one core; OpenBLAS's threads would be in each other's way.
  if (const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(1);
  try {
    const Request o = parse(argc, argv);
    Backend* const backend = o.method == Method::cpu && !o.kernels && !o.bus ? nullptr : open(o);
    if (o.bus) return time_bus(o, *backend) ? 0 : 1;
    if (o.kernels) return time_kernels(o, *backend), 0;
    return time_whole(o, backend) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tile_caqr: %s\n", error.what());
    return exit_cannot;
  }
}
