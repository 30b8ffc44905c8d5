// The file that a measurement ends in.
#pragma once
#include <filesystem>
#include <string>

#include "impl/core/options.hpp"
#include "kernels/backend.hpp"

namespace blaslift::cli {

/// Throws std::runtime_error wherever the file cannot be what it is to be.
class ProfileFile {
 public:
  /// @param output  empty: where the library looks for this device's profile; a folder, which is or ends in a slash:
  ///                the file in it that bears this device's and its library's names
  ProfileFile(const DeviceFacts& facts, const std::string& output);

  const std::filesystem::path& path() const { return path_; }

  /// What can go wrong with the file at the end goes wrong here.
  void prepare() const;
  /// What is in it but for our own comment; empty where there is none.
  std::string text() const;
  /// Beneath our own comment; all of it or nothing, whatever happens meanwhile.
  void replace(const std::string& text) const;
  /// Says whether the library will find it.
  /// @param libraries  the directory that it is in
  void print_where(const Options& options, const std::string& libraries) const;

 private:
  const DeviceFacts& facts_;
  std::string own_, named_;
  std::filesystem::path path_;
};

/// Any file as a whole.
void replace_file(const std::string& path, const std::string& text);

}  // namespace blaslift::cli
