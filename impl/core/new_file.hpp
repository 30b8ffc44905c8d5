// Files that are there as a whole or not at all, whatever happens while they are written.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <string>

namespace blaslift {

/// Where a file is written before it takes its place; `attempt` counts from 0, and another path is asked for where
/// something is already.
using Beside = std::string (*)(const std::string& path, int attempt);

/// PATH.partial, PATH.1.partial ...
std::string numbered_beside(const std::string& path, int attempt);

/// A new file beside the one whose place it takes at the end.  What is there already, a link above all, is not ours: it
/// is neither followed nor written to, and the new one is its owner's alone unless permit() says otherwise.  After the
/// first error nothing more happens; without put_in_place() nothing is left.
class NewFile {
 public:
  explicit NewFile(const std::string& path, Beside beside = numbered_beside);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void permit(mode_t mode);
  void reach_the_disk();  ///< as far as the file system says so
  int put_in_place();     ///< 0, or an errno: then the file that was there is as it was

 private:
  const std::string path_;
  std::string partial_;
  int fd_ = -1, error_ = 0;
  bool unfinished_ = false;  ///< there is a file to be removed
};

}  // namespace blaslift
