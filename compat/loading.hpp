// Opening and pinning of objects by us, and the end of that when the process exits: with each object that the loader
// finalises it forgets that it has initialised it, and whoever then opens one that needs it initialises it again.
#pragma once

namespace blaslift {

/// Around a dlopen of ours.  The process's exit waits until it is done, two seconds at most.
class Loading {
 public:
  Loading();
  ~Loading();
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

  /// False once exit has begun: what can be done without is not to be opened.
  bool allowed() const { return allowed_; }

 private:
  bool allowed_;
};

/// Sees to it that loading has ended when exit comes to finalise objects.  To be called before anything else, by every
/// caller: what a library's constructor would register is run too late, after the program has been finalised.
void end_loading_at_exit();

bool exit_has_begun();

/// In a forked child: threads that were loading are not there.  Only stores.
void forget_loading();

}  // namespace blaslift
