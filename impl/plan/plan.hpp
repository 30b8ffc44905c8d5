// A plan: what a call does on the device, as data.  It can be printed, checked, and run (impl/plan/execute.hpp).
//
// Its steps are transfers of the call's operands, and operations (kernels/operation.hpp) whose matrices are parts of
// areas, pieces of device memory.  A family says which; who waits for whom follows from what the steps read and write.
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "impl/core/args.hpp"
#include "impl/core/blocks.hpp"
#include "impl/plan/gang.hpp"
#include "impl/plan/order.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// Scalars of operations, which a plan has no memory for.
enum class Scalar : std::uint8_t { zero, one, minus_one, alpha, beta };

enum class AccessMode : std::uint8_t { read, write, update };  ///< update: read, and written

/// A batch of products whose matrices lie in the accesses' regions in these forms.
struct PlannedBatch {
  GemmBatch products;
  BatchForm a, b, c;
};

/// Without addresses: its matrices are those of its step's accesses, in the order of the struct's fields, and so are
/// its scalars.
using PlannedOperation = std::variant<Gemm, Trsm, Potrf, Getrf, RowSwaps, Syevd, Gebrd, Svd, Assign, Geev, Mirror,
                                      QrPanel, Survey, PlannedBatch, Sytrd, Gehrd, Geqp3>;

/// Elements that so many reals take.
constexpr index elements_of_reals(index count, Precision precision) {
  return is_complex(precision) ? (count + 1) / 2 : count;
}

/// A copy of so many rows and columns, or of a part of a square, to where the step's accesses say.
constexpr Assign assignment(Precision precision, index rows, index cols, Part part = Part::whole) {
  return {.precision = precision,
          .part = part,
          .strict = false,
          .transposed = false,
          .m = rows,
          .n = cols,
          .below = 0,
          .A = nullptr,
          .lda = 0,
          .C = nullptr,
          .ldc = 0};
}
/// Of a matrix's adjoint.
constexpr Assign adjoint_assignment(Precision precision, index rows, index cols, Part part = Part::whole) {
  Assign x = assignment(precision, rows, cols, part);
  x.transposed = x.conjugated = true;
  return x;
}

struct Plan {
  struct Operand {
    const char* name;
    index rows, cols;
    bool result;              ///< all of it is brought home
    bool ours = false;        ///< not of the call, nor counted
    Part part = Part::whole;  ///< of a square one: of the rest nothing moves to a part of the lease, or home
    bool scratch = false;     ///< ours: what comes home counts, and is not put back; it may come again
  };
  /// Device memory: a part of a lease, column-major and packed, or an operand's own (Placed), which holds all of it.
  struct Area {
    std::string name;
    index rows, cols;  ///< in elements of the call
    int operand = -1;  ///< whose own it is
  };
  struct Region {
    int area;
    Block block;
  };
  /// What a region is meant to hold: a block of an operand, or what becomes of it.
  struct Content {
    int operand = -1;  ///< or something else
    index row = 0, col = 0;
  };
  struct Access {
    Region region;
    AccessMode mode;
    Content of{};
    Part part = Part::whole;  ///< of a square region: what of it is read
  };
  /// Where a block of an operand, from (row, col) on, lies in an area.  What follows names blocks as the operand has
  /// them.
  struct Origin {
    int area, operand;
    index row = 0, col = 0;
  };
  static Region region(const Origin& x, const Block& b) {
    return {x.area, {b.row - x.row, b.col - x.col, b.rows, b.cols}};
  }
  static Access access(const Origin& x, const Block& b, AccessMode mode) {
    return {region(x, b), mode, {x.operand, b.row, b.col}};
  }
  static Access read(const Origin& x, const Block& b, Part part = Part::whole) {
    Access a = access(x, b, AccessMode::read);
    a.part = part;
    return a;
  }
  static Access update(const Origin& x, const Block& b) { return access(x, b, AccessMode::update); }
  static Access written(const Origin& x, const Block& b) { return access(x, b, AccessMode::write); }

  /// What has come home may be uploaded again: it waits for that.
  struct Transfer {
    int operand;
    Block block;  ///< of the operand
  };
  enum class Kind : std::uint8_t { upload, compute, download, share, fetch };
  struct Step {
    Kind kind;
    std::vector<Access> accesses;  ///< a transfer has one: all of its block; share and fetch have the piece's parts
    Transfer transfer{};
    PlannedOperation operation{};
    Scalar alpha = Scalar::one, beta = Scalar::one;
    int group = 0;            ///< download: of those that are final together; in ascending order
    bool ends_group = false;  ///< the last one of these
    int piece = -1;           ///< of a gang's (Gang): share: that is there; fetch: that comes from another place
  };

  std::vector<Operand> operands{};
  std::vector<Area> areas{};
  std::vector<Step> steps{};    ///< in an order in which they could run one by one
  Order after{};                ///< by step: the earlier ones that it waits for
  std::vector<bool> staying{};  ///< by step, or empty: see staying()
  /// Of a gang's place: which one of how many, the pieces of all of them, and what of results the others bring home.
  int place = 0, places = 1, pieces = 0;
  std::vector<Transfer> elsewhere{};

  /// After a failure all of the result is put back, so all that it overwrites is kept.  Or its groups, of some columns
  /// or rows each, do not know each other, each is final once it is home, and what is kept is of so many of them, side
  /// by side or one below the other.  Of whole columns that move as such nothing need be kept.
  int kept_groups = 0;
  bool by_columns = false;
  index kept_rows = 0, kept_cols = 0;  ///< of the result, by all of these

  int add_area(std::string name, index rows, index cols) {
    areas.push_back({std::move(name), rows, cols});
    return static_cast<int>(areas.size()) - 1;
  }
  int add_own_area(int operand) {
    const Operand& x = operands[static_cast<std::size_t>(operand)];
    areas.push_back({x.name, x.rows, x.cols, operand});
    return static_cast<int>(areas.size()) - 1;
  }
  void upload(const Origin& to, const Block& b) {
    steps.push_back(
        {.kind = Kind::upload, .accesses = {access(to, b, AccessMode::write)}, .transfer = {to.operand, b}});
  }
  void download(const Origin& from, const Block& b, int group = 0, bool ends_group = false) {
    steps.push_back({.kind = Kind::download,
                     .accesses = {read(from, b)},
                     .transfer = {from.operand, b},
                     .group = group,
                     .ends_group = ends_group});
  }
  /// By the place that has computed a piece; and by others, who may leave out its last parts.
  void share(int piece, std::vector<Access> parts) {
    for (Access& x : parts) x.mode = AccessMode::read;
    steps.push_back({.kind = Kind::share, .accesses = std::move(parts), .piece = piece});
  }
  void fetch(int piece, std::vector<Access> parts) {
    for (Access& x : parts) x.mode = AccessMode::write;
    steps.push_back({.kind = Kind::fetch, .accesses = std::move(parts), .piece = piece});
  }
  void compute(const PlannedOperation& operation, std::vector<Access> accesses, Scalar alpha,
               Scalar beta = Scalar::one) {
    steps.push_back(
        {.kind = Kind::compute, .accesses = std::move(accesses), .operation = operation, .alpha = alpha, .beta = beta});
  }
  /// c := alpha op(a) op(b) + beta c, sized as c and what of a is summed over.
  /// @param part  of c, if not all: a syrk or herk
  void multiply(Precision precision, Scalar alpha, Op transa, const Access& a, Op transb, const Access& b, Scalar beta,
                const Access& c, Part part = Part::whole, std::int8_t stream = 0);

  /// Of the lease.
  std::size_t bytes(std::size_t element) const;
};

/// By step: the earlier ones that write what it reads or writes, or read what it writes.
Order order_of(const Plan& plan);

/// By step: an upload of what the device only reads, to where nothing else is written.
std::vector<bool> staying(const Plan& plan);

/// Proves of the steps, in the order of the list: nothing is read that nobody has written, or that has given way to
/// something else; every part of the result comes home once, from where it is, and is not written to afterwards;
/// systems have the workspace that they need; and a gang's place shares all of its pieces, and writes to none while
/// others may read it.  That what comes home is right is for a family's tests to show.  Returns the first fault, or an
/// empty string.
std::string check(const Plan& plan);

/// One line a step; what it writes has an asterisk.
std::string to_string(const Plan& plan);

}  // namespace blaslift
