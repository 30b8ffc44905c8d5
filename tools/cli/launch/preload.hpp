// What LD_PRELOAD is given, so that what it names is what every loader of a process tree opens, or passes over.
#pragma once
#include <string>

namespace blaslift::cli {

/// Whether loaders take this path in LD_PRELOAD for what it is: it has neither what parts one entry from the next (a
/// colon, a space; for musl any white space) nor a dollar, which may begin a token that they replace.
bool can_be_preloaded(const std::string& path);

/// The name of a library of ours, in `directory`, for the processes of one command:
///
///   .../libasan.so/$PLATFORM/libblaslift.so
///
/// The GNU loader puts in the name of the processor's platform, and finds a link of that name to the directory.  musl's
/// and others know no such token, find nothing and go on; opened by them, our library would end the process.  And
/// AddressSanitizer's runtime, which insists on being the first library, looks for "libasan.so" in the first one's
/// path: ours has nothing that must come behind it.  The links come with the installation; where they do not, or its
/// path cannot be preloaded, they are made in the user's cache, where they stay for processes that outlive the command,
/// or else in a directory that goes with it.  Throws std::runtime_error if the library cannot be named at all.
std::string preload_name(const std::string& directory, const std::string& library);

/// The same for what stays in a shell's environment and is shown to people: the plain path, wherever that will do;
/// never what goes with this command.
std::string lasting_preload_name(const std::string& directory, const std::string& library);

/// A name for a library that is not ours: its path, or where that cannot be preloaded a link that goes with this
/// command.  Throws std::runtime_error.
std::string preload_name_of(const std::string& path);

/// Removes the links that go with this command.
void remove_preload_links();

}  // namespace blaslift::cli
