// Operands: where a call's matrices and vectors are, and what of them is on the device.
#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <span>

#include "impl/core/stored.hpp"
#include "impl/residency/residency.hpp"
#include "impl/route/runtime.hpp"

namespace blaslift {

class Seat;

/// What a call says of an operand.
struct OperandRole {
  Stored stored;
  bool transposed = false, writes = false, reads = false;
  bool vector = false;     ///< moves in every call: next to the matrices it is nothing
  bool destroyed = false;  ///< what is read of it is gone afterwards: of no use to later calls
  bool factors = false;    ///< what is written are its factors, which solvers use as they are
  index matrices = 1;      ///< so many like this one, which lie apart
};

/// An operand of a call: where the program has it, and what of it is on the device.
struct Operand : OperandRole {
  explicit Operand(const OperandRole& role, bool is_ephemeral = false) : OperandRole(role), ephemeral(is_ephemeral) {}

  MemoryKind memory = MemoryKind::pageable;
  bool cared_for = false;  ///< may have a copy that outlives the call
  bool ephemeral = false;  ///< its memory does not: verification's own
  Residency::Prospect known{};

  Resident resident() const;
  DeviceOperand placement(bool direct) const;

  bool touched() const { return (reads || writes) && stored.rows > 0 && stored.cols > 0; }
  /// After locate.
  bool out_of_reach() const { return touched() && memory == MemoryKind::on_a_device; }
  /// After look: a copy of it could serve later calls, as far as is known.
  bool reusable() const { return reads && !destroyed && !known.hold && known.unchanged; }

  /// Of so many bytes of the whole matrix, those that count: of a triangle a part.
  double counted(double bytes) const { return stored.part == Part::whole ? bytes : bytes * share_of_triangle(); }
  /// Bytes that need not be sent since its copy holds them.
  double spared() const;
  /// What has to be sent of it, now that it is known whether it has a copy.  Of a triangle as blocks of columns, which
  /// keep what they hold of the other one small.
  std::vector<Block> missing() const;

 private:
  double share_of_triangle() const;
  template <class Each>
  void for_each_missing(const Each& each) const;
};

/// Whether the host has memory for what the results overwrite, where that is kept until all of them are there.
bool can_keep(std::span<const Operand> operands);

/// The parts of `missing`, disjoint blocks of an n x n matrix, that hold what is missing of its triangle.
std::vector<Block> in_triangle(Part triangle, index n, const std::vector<Block>& missing);

/// A call's operands, in the order of its arguments; lets go of their copies at the end.
class Operands {
 public:
  static constexpr std::size_t most = 5;

  /// @param all        of them the first that is written is the result; where two are the same matrix, it is here once
  /// @param ephemeral  verification's own memory
  template <std::size_t count>
  requires(count <= most) Operands(Place& place, const OperandRole (&all)[count], bool ephemeral)
      : Operands(place, std::span<const OperandRole>(all), ephemeral) {}
  ~Operands() {
    close(false);
    std::destroy_n(first(), count_);
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  Operand& operator[](std::size_t i) { return first()[i]; }
  const Operand& operator[](std::size_t i) const { return first()[i]; }
  std::span<Operand> all() { return {first(), count_}; }
  std::span<const Operand> all() const { return {first(), count_}; }
  Operand& result() { return first()[result_]; }
  const Operand& result() const { return first()[result_]; }

  /// Once, as soon as the device is open.  What the call does not touch is as good as there.
  void locate(Backend& backend);

  /// After locate: takes hold of the first one's copy, if there is one.  It can be computed with before it has been
  /// looked at, for a result that counts once confirm() has said so meanwhile.
  void peek();
  bool unconfirmed() const { return unconfirmed_; }
  bool confirm();

  /// Once, after locate: takes hold of the copies that there are, in place of one that is unconfirmed.
  void look();
  /// After look: makes copies to be filled by this call, of what deserves one; the larger inputs first.
  void keep_inputs();
  void keep_result();
  void keep() { keep_inputs(), keep_result(); }

  /// `good`: what was uploaded and computed is there.
  void close(bool good);
  /// Goes on without copies.
  void forget();
  /// The result's copy holds something else now.
  void spoil_result();

  bool any_hold() const;
  std::size_t held_bytes() const;
  double spared() const;
  /// How many have copies that spare bytes.
  int reused() const;
  /// Bytes, there and back.
  double moved() const;
  /// Bytes that are read where they are, in device memory of the program's.
  double in_place() const;
  /// The parts of one call that is dealt out have the same number here; 0: this is no such part.
  std::uint64_t deal = 0;
  Seat* seat = nullptr;  ///< of a gang that computes the call together; this is one of its places' part

  /// What is not touched counts as there.
  bool all_in_device_memory() const;
  bool in_device_memory() const;
  bool writes_in_device_memory() const;

 private:
  Operands(Place& place, std::span<const OperandRole> all, bool ephemeral);
  void look_at(Operand& x);
  Operand* first() { return std::launder(reinterpret_cast<Operand*>(room_)); }
  const Operand* first() const { return std::launder(reinterpret_cast<const Operand*>(room_)); }

  Place& place_;
  const std::size_t count_;
  std::size_t result_ = 0;
  alignas(Operand) std::byte room_[most * sizeof(Operand)];  ///< small products are to cost little more than themselves
  Residency::Glance glance_;
  bool located_ = false, looked_ = false, unconfirmed_ = false;
};

}  // namespace blaslift
