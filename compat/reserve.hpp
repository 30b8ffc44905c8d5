// Memory for what no call can do without, once the host has none left.
#pragma once

namespace blaslift {

/// While it lives, what this thread takes by operator new comes out of a reserve of the library's own where malloc has
/// nothing, or may be in the middle of something, since a signal handler calls.  It is for what is made once and stays,
/// a process's runtime and its call sites, and for what finding them takes meanwhile, which goes back to it.  At its
/// end operator new throws, as ever.
class Reserve {
 public:
  Reserve();
  ~Reserve();
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

 private:
  bool before_, first_before_;
};

/// In a forked child: whoever was about to take something from it is not there.  Only stores.
void forget_reserve();

}  // namespace blaslift
