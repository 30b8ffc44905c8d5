// Residency: device copies of operands that stay valid between calls, and the decision which operands deserve one.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "impl/core/arena.hpp"
#include "impl/core/options.hpp"
#include "impl/core/stored.hpp"
#include "impl/residency/pages.hpp"

namespace blaslift {

/// Some elements of a matrix, to tell whether it seems to have changed.
using Sample = std::array<std::uint64_t, 64>;
Sample sample(const Stored& matrix);

/// Matrices that calls use again and again, as far as that can be told without a device to keep them on.
class Recurring {
 public:
  /// Remembers a use; whether one of the same contents was among the last ones.
  bool again(const Stored& matrix);

  /// In a forked child: whoever held the lock is not there.
  void forget_lock() { new (&mutex_) std::mutex; }

 private:
  struct Use {
    Stored of{};
    Sample contents{};
  };
  std::mutex mutex_;
  std::array<Use, 16> uses_{};
  std::size_t next_ = 0;  ///< makes way
};

class Residency {
  /// The device copy of a matrix.
  struct Copy {
    Stored of;
    Range pages;
    char* device;
    std::size_t bytes;
    std::vector<Stamp> since;  ///< by page: good unless the page was found written later
    Stamp oldest = 0;          ///< not larger than any of these
    int users = 0;
    bool alone = false;                   ///< being filled, sent again or written
    bool factors = false;                 ///< of another matrix, and nobody has used them yet
    double price = 0;                     ///< what the program may lose by it, until it has paid off
    std::uint64_t used = 0, written = 0;  ///< when last, by a call of ours

    /// The elements on these pages, as blocks; at most three for one run.
    void blocks_on(Range run, std::vector<Block>& blocks) const;
    /// Whether all of them are in this part of the copy.
    bool only_in(Range run, const Block& part) const;
  };

 public:
  /// A call's hold on one device copy.  Empty (no device memory) where there is none: the operand is streamed.
  struct Hold {
    void* device = nullptr;      ///< of the operand's first element
    index ld = 0;                ///< there
    std::size_t bytes = 0;       ///< of device memory that stay taken meanwhile
    std::vector<Block> missing;  ///< of the stored operand: what the call must upload before it reads it
    Part part = Part::whole;     ///< what the copy holds: of what is missing, all in this part must be uploaded
    explicit operator bool() const { return device != nullptr; }

   private:
    friend class Residency;
    std::list<Copy>::iterator copy{};
    bool fresh = false;                                      ///< never filled before
    bool alone = false;                                      ///< nobody else may use the copy meanwhile
    bool writes = false;                                     ///< the operand is the call's C
    Block where{};                                           ///< the operand in the copy
    Range pages{};                                           ///< the operand's
    std::vector<std::pair<std::size_t, Stamp>> good_from{};  ///< pages of the copy (by number) that are sent again
  };

  /// What one call has already found out; one for all of its operands.
  struct Glance {
    std::uint64_t call = 0;     ///< the first look's number
    std::uint64_t arrived = 0;  ///< when the call came, now_ns
    bool taken = false, blind = false;
    bool advanced = false;  ///< an operand has got a copy without any evidence for it
  };

  /// What a call does to an operand, and what is expected of later ones.
  struct Use {
    bool writes;           ///< it is C
    bool reads;            ///< it must be uploaded first
    bool factors = false;  ///< it becomes factors of what it was, which solvers use as they are
  };

  /// What is known of an operand before its call is decided.
  struct Prospect {
    Hold hold;               ///< a copy, if there is one
    double spared = 0;       ///< bytes of it that need not move
    bool unchanged = false;  ///< no copy yet, but it seems not to change between calls
    bool keepable = false;   ///< a copy could be kept, as far as is known
    double missed = 0;       ///< seconds that copies of it would have saved so far
  };

  explicit Residency(ResidencyMode mode) : mode_(mode) {}

  // None of these throws: where memory is short, copies are no longer used from then on.

  /// Once, when the device is open.
  /// @param pages  the process's one table, which all places share; null: off, because of `why`
  void open(Arena& arena, Backend& backend, std::shared_ptr<Pages> pages, const std::string& why);

  /// Null: off.
  std::shared_ptr<Pages> pages() const;

  /// "on", or "off: " and why; empty before open().
  std::string state() const;

  /// Whether operands of this size are worth a look; only then may they be looked up, kept or noted.
  bool cares(const Stored& operand) const;

  /// Looks an operand of a call up, takes hold of its copy if that can be used, and remembers the use.
  /// @param writes  it is C
  /// @param reads   it is read: not C with beta = 0
  Prospect look(const Stored& operand, bool writes, bool reads, Glance& glance) noexcept;

  /// Takes hold of the copy of an operand that is only read, without a look whether it is still good.  What is computed
  /// with it is a result only if confirm() says so, which may be asked while the device computes; close() it either
  /// way.
  Hold peek(const Stored& operand) noexcept;

  /// Whether the copy under a hold from peek() is what the program's memory holds now.  If not, let go of it and look.
  bool confirm(const Hold& hold, const Stored& operand, Glance& glance) noexcept;

  /// A copy to be filled by this call, if the operand deserves one and there is room.
  Hold keep(const Stored& operand, Use use, Glance& glance) noexcept;

  /// The call is about to write its results to C in the host's memory.
  void before_writing(const Stored& C) noexcept;

  /// The call is over; `good`: what was missing has been uploaded, and what was written is in the host's memory, too.
  void close(Hold& hold, bool good) noexcept;

  /// C has been written: its contents are remembered to see whether they are used again.
  void note_result(const Stored& C) noexcept;

  /// A copy of this operand would have saved so much.
  void note_missed(const Stored& operand, double seconds) noexcept;

  /// Gives up the copy that has not been used for longest, among those not in use; false if there is none.
  bool evict_one() noexcept;

 private:
  /// What is remembered of an operand, with or without a copy.
  struct Memory {
    Stored of{};
    Sample contents{};       ///< when last seen
    std::uint64_t used = 0;  ///< when that was
    int uses = 0;
    int unchanged = 0;    ///< uses in a row that found the same contents
    int rewritten = 0;    ///< copies that turned out to have been rewritten
    int chained = 0;      ///< results that a later call used, as they were
    bool result = false;  ///< the last call wrote it
    int refused = 0;      ///< uses until protecting is tried again
    double missed = 0;

    /// A call reads it.  @param same  with the contents that the last one left
    void note_read(bool same);
  };

  using Copies = std::list<Copy>;

  template <class F>
  void guarded(F step) noexcept;
  bool on() const { return pages_ && !gave_up_; }
  bool blind(Glance& glance);
  bool ordinary(Range memory) const;
  Memory& recall(const Stored& operand);
  bool deserves(const Memory& memory, double bytes, Glance& glance) const;
  bool affordable(double bytes) const;
  bool make_room(std::size_t bytes);
  Copies::iterator find(const Stored& operand, bool writes, Block& where);
  static Hold hold_on(Copies::iterator copy, const Block& where, const Stored& operand);
  Copies::iterator oldest_unused();
  Prospect take_hold(Copies::iterator copy, const Block& where, const Stored& operand, bool writes, bool reads,
                     Memory& memory);
  void drop(Copies::iterator copy) noexcept;

  const ResidencyMode mode_;
  std::atomic<bool> active_{false};  ///< so that nobody waits for the lock, or looks at operands, while it is off
  mutable std::mutex mutex_;         ///< never held while memory is asked for
  Arena* arena_ = nullptr;
  Backend* backend_ = nullptr;
  std::shared_ptr<Pages> pages_;
  std::string why_off_;
  bool gave_up_ = false;  ///< something threw: what the table of pages says may be incomplete
  std::size_t budget_ = 0, kept_ = 0;
  Copies copies_;
  std::list<Memory> memories_;  ///< last used first
  std::uint64_t uses_ = 0, opened_ns_ = 0;
  std::uint64_t blind_asked_ns_ = 0;  ///< when it was last asked, and
  bool blind_ = false;                ///< the answer
  int unused_factors_ = 0;            ///< copies of factors in a row that no solver has used, and factors without one
  double spent_ = 0;                  ///< seconds that the program may have lost to protection that has not paid off
};

}  // namespace blaslift
