// A call of ScaLAPACK's computed as one of LAPACK's or BLAS's: its processes, if they share a node, copy what they have
// of its operands to memory that they share, the root makes the call there with ours, and each copies its part of the
// result back.  All or none do so: that is agreed before, and what came of it afterwards.  Until a result is there the
// caller's arrays are as they were, so that the original call can always be made instead.
//
// Sources: Blackford et al., ScaLAPACK Users' Guide (SIAM 1997), chapters 4 (data distributions) and 5.3 (descriptors).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "compat/symbols.hpp"
#include "impl/core/problem.hpp"
#include "impl/route/learned.hpp"
#include "impl/scalapack/distribution.hpp"
#include "impl/scalapack/meeting.hpp"

namespace blaslift::scalapack {

/// The arguments as they came: addresses, as Fortran has them.
struct Arguments {
  static constexpr int most = 36;
  std::array<void*, most> at;

  template <class T>
  T* to(int i) const {
    return static_cast<T*>(at[static_cast<std::size_t>(i)]);
  }
  std::int32_t integer(int i) const { return *to<const std::int32_t>(i); }
  /// A letter, in upper case.
  char letter(int i) const {
    const char c = *to<const char>(i);
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
};

enum class Access : std::uint8_t { read, written, both };
constexpr bool reads(Access access) { return access != Access::written; }
constexpr bool writes(Access access) { return access != Access::read; }

class GatheredCall {
 public:
  /// @param meeting  the process's, of which this call is the only one meanwhile
  GatheredCall(const Grid& grid, const Arguments& arguments, Meeting& meeting)
      : grid_(grid), arguments_(arguments), meeting_(meeting) {}

  // What a kind of routines says of its call, on every process.  The numbers that these return name operands.

  /// The submatrix that an address, two offsets and a descriptor say, from argument `first` on.
  template <class T>
  int matrix(int first, index m, index n, Access access, Part part = Part::whole) {
    return add_matrix(first, m, n, sizeof(T), access, part);
  }
  /// `count` pivots of getrf, which are dealt out as the matrix's rows are, and are numbers of rows of all of A.
  int pivots(int argument, int matrix, index count, Access access);
  /// A number of `T` for each of the first `count` columns of a submatrix, dealt out as these are.
  template <class T>
  int per_column(int argument, int matrix, index count, Access access) {
    return add_array(Operand::per_column, argument, matrix, count, sizeof(T), access);
  }
  /// An array that all processes get.
  template <class T>
  int result_of_all(int argument, index count) {
    return add_array(Operand::of_all, argument, -1, count, sizeof(T), Access::written);
  }
  /// Of a matrix that is written or an array, so many columns or numbers count as the root's call says in another
  /// operand, an integer that all get.  What is behind them stays as it was.
  void limit(int operand, int by);
  /// Room for so many numbers, for the root alone.
  template <class T>
  int workspace(index count) {
    return add_array(Operand::workspace, -1, -1, count, sizeof(T), Access::read);
  }
  /// Has a matrix that is written, the last one described, lie where another one is that is read, for a root's call
  /// that overwrites it.
  void share(int written, int read);
  /// A letter or size, which has to be everybody's.
  void agree_on(std::int32_t word) { hash_ = (hash_ ^ static_cast<std::uint32_t>(word)) * 1099511628211u; }
  /// The call is ScaLAPACK's own unless this holds.
  void require(bool holds) { valid_ = valid_ && holds; }
  /// ScaLAPACK's factorisations want square blocks, and submatrices that begin with one.
  void require_blocks(int matrix);
  /// Rows of one are where rows of the other are.
  void require_same_rows(int a, int b);

  bool valid() const { return valid_; }

  Problem problem{};                              ///< that the call on the root will be
  std::size_t bytes() const { return brought_; }  ///< of the operands, in the memory that the processes share

  // For the root's call.

  template <class T>
  T* at(int operand) const {
    return static_cast<T*>(static_cast<void*>(place_of(operands_[static_cast<std::size_t>(operand)])));
  }
  index ld(int operand) const { return operands_[static_cast<std::size_t>(operand)].ld; }
  index count(int operand) const { return operands_[static_cast<std::size_t>(operand)].count; }
  const Arguments& arguments() const { return arguments_; }

  /// Whether all processes would go this way: on one node, the same call, which each of them has found valid.
  /// Collective.
  /// @param willing  the root's decision, and everybody's readiness
  bool agree(const Blacs& blacs, bool willing);
  /// Meets the others and brings all operands.  Collective; false on all of them if one cannot, or is not `ready`. Does
  /// not return if a process has died.
  bool gather(const Blacs& blacs, bool ready);
  /// The root's, after its call; the others wait for it here.  Everybody's results are there, or none are.
  bool scatter(const Blacs& blacs, bool computed);

 private:
  struct Operand {
    enum Kind : std::uint8_t { matrix, pivots, per_column, of_all, workspace } kind;
    Access access;
    std::size_t bytes;  ///< of an element, in the caller's memory
    void* local;
    Submatrix sub;  ///< its own, or that of the matrix that an array goes with
    index count;    ///< of an array
    index ld;
    std::size_t offset;
    int limit = -1;  ///< what says how much of it counts
  };
  static constexpr int most_operands = 10;

  int add_matrix(int first, index m, index n, std::size_t bytes, Access access, Part part);
  int add_array(Operand::Kind kind, int argument, int matrix, index count, std::size_t bytes, Access access);
  int add(const Operand& operand, std::size_t bytes);
  char* place_of(const Operand& x) const;
  void bring(const Operand& x) const;
  /// What of a result counts.
  Operand limited(const Operand& x) const;
  void take_home(const Operand& x) const;
  [[noreturn]] void give_up(const Blacs& blacs) const;

  const Grid& grid_;
  const Arguments& arguments_;
  std::array<Operand, most_operands> operands_;
  int count_ = 0;
  std::size_t brought_ = 0, works_ = 0;  ///< bytes of the operands, and of the workspaces behind them
  std::uint64_t hash_ = 1469598103934665603u;
  bool valid_ = true;
  Meeting& meeting_;
  bool keeps_ = false;  ///< the root's: the memory is little beside what the node has
};

/// Whether the root's call is expected to gain by this way, beside ScaLAPACK on so many processes.
/// @param learned  how long ScaLAPACK has taken for calls of the kind, on all of them together
bool is_worthwhile(const Problem& problem, const Learned& learned, std::size_t bytes, int processes);

}  // namespace blaslift::scalapack
