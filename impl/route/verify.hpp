// Verification: a call's result against another library's from private copies of the operands, and against its own
// when it is computed again.
//
// The program gets the result that it would have got without: what is computed besides goes to private memory, and is
// thrown away.  A routine says what it needs in a Checkable; impl/judge/judge.hpp makes one from Args.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compat/site.hpp"
#include "impl/core/private_copy.hpp"
#include "impl/core/signature.hpp"
#include "impl/observe/counters.hpp"
#include "impl/route/decision.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

struct Runtime;

/// The worst of a result's elements.
struct Judgement {
  double ratio = 0;  ///< distance from the reference, in the units of the routine's test ratio
  double limit = 0;  ///< what rounding explains, of both
};

/// What a result is compared with.
struct JudgingLibrary {
  const Site& site;           ///< of the call's routine
  const Site* const* beside;  ///< of others in the same library, in the order of Checkable::beside
};

/// How verification judges calls with such Args: a family's part of their Way.
template <class Args>
struct Judging {
  /// How far a result is from right; null: their checkable() has something else.
  Judgement (*judge)(const JudgingLibrary& by, const Args& before, const Args& result, const Args& reference,
                     const Ending& ending) = nullptr;
  /// Which other routines of the library that takes; null: none.
  std::vector<Routine> (*with)() = nullptr;
  /// Whether a result is judged by what it gives back, so that no reference is computed; null: none is.
  bool (*alone)(const Args&) = nullptr;
  /// The routine whose operands these are, where several have them; null: the call's own.
  std::optional<Routine> (*same_as)(const Args&) = nullptr;
  /// The routine by which an oracle makes the reference, where few libraries have the call's own; null: that.
  Routine (*of_oracle)() = nullptr;
  /// The reference by that routine, or false if its integers are too narrow; null: by the call with these Args.
  bool (*reference)(const Site& library, const Args&) = nullptr;
};
/// A Judging's alone, of all calls.
template <class Args>
bool always(const Args&) {
  return true;
}

/// A call as verification sees it.  Addresses of operands come in the order of `operands`; those that are neither read
/// nor written are the program's, or, as scratch, private ones of each run after the first.
class Checkable {
 public:
  virtual ~Checkable() = default;

  std::vector<CheckedOperand> operands;  ///< at least one of them is written
  std::string arguments;                 ///< "transa=N ...": words of name=value, for people and for records
  bool overlaps = false;                 ///< an output shares bytes with another operand
  bool alone = false;                    ///< what is right shows in the result itself: there is no reference
  std::optional<Routine> same_as{};      ///< another routine that has these operands and this result
  std::optional<Routine> of_oracle{};    ///< by which an oracle computes the same, where not all have the call's own
  std::vector<Routine> beside{};         ///< routines that the judgement takes besides

  /// The program's call on the library underneath.
  virtual void underneath(void* const* at) const = 0;
  /// The same by another library, unless the result stands alone; false if its integers are too narrow.
  virtual bool by(const Site& oracle, void* const* at) const = 0;
  /// On the device again, as it has been there.
  virtual Ending on_device(void* const* at, const Decision& decision) const = 0;
  /// Throws std::bad_alloc.
  /// @param before     operands as they were before the call; an output that is not read may be anything
  /// @param result     the outputs, stored as the program's, among the operands as they were
  /// @param reference  the same, of another library
  virtual Judgement judge(const JudgingLibrary& by, void* const* before, void* const* result, void* const* reference,
                          const Ending& ending) const = 0;
};

/// One call under verification, from its beginning to its end; by its thread, inside of us.  Nothing it does throws.
class Check {
 public:
  /// @param describe  std::unique_ptr<Checkable>(): the call; may throw; null if there is nothing to check
  template <class Describe>
  Check(Runtime& runtime, const Site& site, Element precision, double flops, const Describe& describe)
      : runtime_(runtime),
        site_(site),
        precision_(precision),
        flops_(flops),
        describe_([](const void* context) { return (*static_cast<const Describe*>(context))(); }),
        context_(&describe) {}
  ~Check();
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  /// Before the result is computed, by the device or (null) the library underneath: copies what it needs, if the call
  /// is to be checked.
  void before(Backend* backend);
  /// What came of it on the device.
  void computed(const Decision& decision, const Ending& ending);
  /// Once the result is there: computes it otherwise, compares, counts and keeps what is wrong.
  void look();

 private:
  /// What a computation writes, in memory of our own.
  class Outputs {
   public:
    /// Contents as the operands had them before the call.  Throws std::bad_alloc.
    void make(const Check& of);
    bool intact() const;
    /// Whether all that is written, workspaces aside, is as at these addresses.
    bool same(const Check& of, void* const* other, std::size_t real) const;
    /// The operands' private addresses, with these outputs.
    std::vector<void*> at{};
    index info = 0;  ///< the ending's

   private:
    std::unique_ptr<PrivateCopy[]> copies_{};
    std::size_t count_ = 0;
  };

  void copy_operands(Backend* backend);
  bool find_library();
  void compare();
  bool repeat(Outputs& to, unsigned& findings, std::uint64_t& way);
  void leave(Unchecked why);
  void note(unsigned findings, const Judgement& judgement, const Outputs* again, const Outputs* reference);
  std::string keep(unsigned findings, const Judgement& judgement, const std::string& caller, const std::string& way,
                   const Outputs* again, const Outputs* reference);
  bool inputs_kept() const;
  bool inputs_intact() const;

  Runtime& runtime_;
  const Site& site_;
  const Element precision_;
  const double flops_;
  std::unique_ptr<Checkable> (*const describe_)(const void*);
  const void* const context_;

  bool asked_ = false, due_ = false, counted_ = false;
  std::unique_ptr<Checkable> call_{};  ///< while it is being checked
  std::unique_ptr<PrivateCopy[]> before_{};
  std::vector<void*> at_{};          ///< of these
  std::vector<void*> recorded_{};    ///< of what a record is to say of them
  const Site* reference_ = nullptr;  ///< the oracle, or the site
  std::vector<const Site*> beside_{};
  Decision decision_{};  ///< for the device, if it has computed the result
  Ending ending_{Reason::no_device};
};

}  // namespace blaslift
