// Own time: while the library holds what others wait for, nothing of the program's runs on the thread that holds it.
//
// A handler of the program's may leave by a jump, by pthread_exit or by an exception, and a thread may be cancelled
// between any two instructions.  So what takes a lock, a lane or a file runs undisturbed: asynchronous signals and
// cancellation wait for its end, and act then, still inside the program's call, where nothing is held.  Signals that an
// instruction raises come at once, as ever.
//
// Whatever unwinds a thread from between two instructions ends the process in a function with exception tables, which
// say what may throw: no other instruction does.  So functions that run outside of own time (entries, replays, and what
// leads there) have no such tables: they have nothing to destroy, and catch nothing.  tests/world/leaving checks that.
#pragma once

namespace blaslift {

/// Runs work(context) in own time.  It does not throw.  Whatever has been waiting may leave this call for good at its
/// end, when nothing of ours is held any more.  Inside of own time, a plain call.
void undisturbed(void (*work)(void* context), void* context);

template <class Work>
void undisturbed(const Work& work) {
  undisturbed([](void* context) { (*static_cast<const Work*>(context))(); }, const_cast<Work*>(&work));
}

/// The other way round, for the program's own call or code inside of own time.  It may throw, and leave for good.
void disturbed(void (*work)(void* context), void* context);

template <class Work>
void disturbed(const Work& work) {
  disturbed([](void* context) { (*static_cast<const Work*>(context))(); }, const_cast<Work*>(&work));
}

/// In own time that may last: signals that the program does not handle act at once.  They end it, stop it, or do
/// nothing.
void admit_unhandled_signals();

/// In own time: whether the program's call came from one of its signal handlers, which may have interrupted malloc or
/// the C library anywhere.  Handlers that leave their own signal open (SA_NODEFER) are not noticed.
bool in_handler();

/// In own time: runs work(context), which does not throw, on a stack of `bytes` of its own if the thread's may be
/// small: a handler's, or one that the program has made.
void with_room(unsigned long bytes, void (*work)(void* context), void* context);

template <class Work>
void with_room(unsigned long bytes, const Work& work) {
  with_room(
      bytes, [](void* context) { (*static_cast<const Work*>(context))(); }, const_cast<Work*>(&work));
}

/// Whether `frame` is on a stack that with_room has made for this thread: it may be above or below the thread's own.
bool is_in_room(const void* frame);

/// A call that a jump out of a handler has left in own time, of which this thread is not rid: see
/// impl/route/replay.cpp.
void abandon_own_time();

}  // namespace blaslift
