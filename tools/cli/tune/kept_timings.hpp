// Timings in a file beside the profile: as long as nothing has come of them, a run that was cut off is not lost.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernels/backend.hpp"

namespace blaslift::cli {

class KeptTimings {
 public:
  using Timings = std::map<std::string, std::vector<double>>;  ///< seconds by round

  /// @param what  "blaslift tune qr, 1": whose timings in which form; another's, or another device's or driver's, say
  ///              nothing
  KeptTimings(std::string path, const std::string& what, const DeviceFacts& facts);

  /// Null: not timed yet.
  /// @param key  words
  const std::vector<double>* find(const std::string& key) const;
  /// All whose keys begin like this.
  Timings under(const std::string& prefix) const;
  std::size_t count(const std::string& prefix) const { return under(prefix).size(); }
  void add(const Timings& timings);
  void drop(const std::string& prefix);
  void drop_all_but(const std::set<std::string>& keys);

  bool empty() const { return timings_.empty(); }
  const std::string& path() const { return path_; }

 private:
  void write() const;

  const std::string path_, head_;
  Timings timings_;
};

}  // namespace blaslift::cli
