// An ELF file as it lies on disk: what it needs, defines and asks the dynamic linker for.  Nothing of it is loaded or
// run, and nothing in it is believed: tables that lie outside the file are taken for absent.
#pragma once
#include <elf.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/doctor/mapped_file.hpp"

namespace blaslift::cli {

class ElfFile {
 public:
  enum class Kind {
    other,           ///< no ELF
    foreign,         ///< ELF for another processor, or of 32 bits
    static_program,  ///< a program that comes without the dynamic linker
    program,         ///< one that the dynamic linker starts
    library,         ///< a shared object without an interpreter of its own
  };

  struct Symbol {
    std::string_view name;
    bool defined;       ///< in this object
    bool exported;      ///< in the dynamic table, for others to bind to
    bool is_protected;  ///< exported, yet bound to by the object itself without the dynamic linker
    bool relocated;     ///< the object asks the dynamic linker where it is
    bool weak;
    std::string_view version;  ///< that it asks for, if any
  };

  /// Takes over the file; never throws on account of what stands in it.
  explicit ElfFile(MappedFile file);

  Kind kind() const { return kind_; }
  const std::string& machine() const { return machine_; }          ///< in words, of a foreign one
  const std::string& interpreter() const { return interpreter_; }  ///< its dynamic linker
  const std::string& soname() const { return soname_; }
  const std::vector<std::string>& needed() const { return needed_; }
  /// It has the dynamic linker load auditors, which run before all else; or its dynamic table is not where it is
  /// loaded.
  bool is_audited() const { return audited_; }
  bool binds_itself() const { return symbolic_; }  ///< linked -Bsymbolic

  /// Functions by name, of the dynamic table and, unless it was stripped, the full one; a name may come twice.
  const std::vector<Symbol>& symbols() const { return symbols_; }

  /// Whether local functions' names are gone.
  bool is_stripped() const { return stripped_; }

  /// Whether these characters stand anywhere in the file.
  bool contains(std::string_view text) const { return file_.bytes().find(text) != std::string_view::npos; }

 private:
  template <class T>
  std::span<const T> table(std::uint64_t offset, std::uint64_t bytes) const;
  std::string_view string_at(std::uint64_t table, std::uint64_t size, std::uint64_t at) const;
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const;
  std::uint64_t count_of_symbols(std::uint64_t hash, std::uint64_t gnu_hash) const;
  void read_dynamic(std::span<const Elf64_Dyn> dynamic);
  void read_sections(const Elf64_Ehdr& header);
  std::vector<std::string_view> versions_asked_for(std::uint64_t needs, std::uint64_t count, std::uint64_t strings,
                                                   std::uint64_t strings_size) const;
  /// What the dynamic table alone knows, by index; empty for the full one.
  struct Dynamic {
    bool is = false;
    std::vector<bool> relocated{};
    std::span<const Elf64_Half> versions{};
    std::vector<std::string_view> version_names{};  ///< by number
  };
  void add_symbols(std::span<const Elf64_Sym> symbols, std::uint64_t strings, std::uint64_t size,
                   const Dynamic& dynamic);

  MappedFile file_;
  Kind kind_ = Kind::other;
  std::string machine_, interpreter_, soname_;
  std::vector<std::string> needed_;
  bool symbolic_ = false, stripped_ = true, audited_ = false;
  std::span<const Elf64_Phdr> segments_;
  std::vector<Symbol> symbols_;
};

}  // namespace blaslift::cli
