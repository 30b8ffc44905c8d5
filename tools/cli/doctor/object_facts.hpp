// Executables and libraries as the dynamic linker would load them together: what each asks it for, and what it keeps to
// itself.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/cli/doctor/diagnosis.hpp"

namespace blaslift::cli {

struct ObjectFacts {
  std::string path;
  bool loadable = true;  ///< a program or library for the dynamic linker
  bool ours = false, blas = false;
  Names through_linker;     ///< intercepted names that it asks the dynamic linker for
  Names inside;             ///< intercepted names that it defines and does not ask for
  Names respelled, others;  ///< asked for
  std::set<std::string> exported;
  bool symbolic = false, is_protected = false;
  bool speaks = false;    ///< has BLAS's error message in it
  bool opens = false;     ///< asks for dlopen
  bool by_name = false;   ///< asks for dlsym
  Names spelled;          ///< names of BLAS in its text, if it asks for functions by name and has none otherwise
  Names versioned;        ///< intercepted names that it asks for by version, with it: dgemm_@BLAS_1
  std::string sanitizer;  ///< that it is built with
};

/// Reads the object's symbols.  Throws std::system_error if the file cannot be read.
ObjectFacts facts_of(const std::string& path);

/// Whether it has nothing to do with routines that are intercepted.
bool has_none(const ObjectFacts& facts);

/// What follows from each object, given the others.
/// @param all  the program first, and then as the dynamic linker searches them
void look_at_objects(std::vector<ObjectFacts> all, std::vector<Finding>& findings);

/// If nothing else was found: who calls BLAS and LAPACK all the same.
void look_at_others(const std::vector<ObjectFacts>& all, std::vector<Finding>& findings);

}  // namespace blaslift::cli
