#include "tools/cli/doctor/elf_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace blaslift::cli {
namespace {

std::string name_of_machine(unsigned machine) {
  switch (machine) {
    case EM_386: return "32-bit x86";
    case EM_X86_64: return "x86-64";
    case EM_ARM: return "32-bit ARM";
    case EM_AARCH64: return "64-bit ARM";
    case EM_PPC64: return "POWER";
    case EM_RISCV: return "RISC-V";
    case EM_S390: return "IBM Z";
    default: return "machine " + std::to_string(machine);
  }
}

}  // namespace

/// Empty where any of it lies outside the file, or not where a T may lie.
template <class T>
std::span<const T> ElfFile::table(std::uint64_t offset, std::uint64_t bytes) const {
  const std::string_view all = file_.bytes();
  if (offset > all.size() || bytes > all.size() - offset || offset % alignof(T) != 0) return {};
  return {reinterpret_cast<const T*>(all.data() + offset), bytes / sizeof(T)};
}

/// The string that begins at `at` in the string table; empty if it does not end in there.
std::string_view ElfFile::string_at(std::uint64_t offset, std::uint64_t size, std::uint64_t at) const {
  const auto strings = table<char>(offset, size);
  if (at >= strings.size()) return {};
  const char* begin = strings.data() + at;
  const void* end = std::memchr(begin, '\0', strings.size() - at);
  return end ? std::string_view(begin, static_cast<std::size_t>(static_cast<const char*>(end) - begin))
             : std::string_view();
}

std::optional<std::uint64_t> ElfFile::offset_of(std::uint64_t address) const {
  for (const Elf64_Phdr& p : segments_)
    if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
      return p.p_offset + (address - p.p_vaddr);
  return std::nullopt;
}

ElfFile::ElfFile(MappedFile file) : file_(std::move(file)) {
  const auto ident = table<unsigned char>(0, EI_NIDENT);
  if (ident.empty() || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0) return;
  const auto headers = table<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr));
  kind_ = Kind::foreign;
  if (headers.empty() || ident[EI_DATA] != ELFDATA2LSB) {
    machine_ = "another byte order";
    return;
  }
  const Elf64_Ehdr& header = headers.front();  // up to e_machine the same in 32 bits
  machine_ = name_of_machine(header.e_machine);
  if (header.e_machine != EM_X86_64) return;
  if (ident[EI_CLASS] != ELFCLASS64) {
    machine_ = "x32";
    return;
  }

  if (header.e_phentsize == sizeof(Elf64_Phdr))
    segments_ = table<Elf64_Phdr>(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  std::span<const Elf64_Dyn> dynamic;
  for (const Elf64_Phdr& p : segments_) {
    if (p.p_type == PT_INTERP) interpreter_ = string_at(p.p_offset, p.p_filesz, 0);
    if (p.p_type != PT_DYNAMIC) continue;
    dynamic = table<Elf64_Dyn>(p.p_offset, p.p_filesz);
    if (offset_of(p.p_vaddr) != p.p_offset) audited_ = true;
  }
  read_dynamic(dynamic);
  read_sections(header);
  if (!interpreter_.empty())
    kind_ = Kind::program;
  else if (header.e_type == ET_DYN && (header.e_entry == 0 || !soname_.empty() || !needed_.empty()))
    kind_ = Kind::library;
  else
    kind_ = Kind::static_program;
}

void ElfFile::read_dynamic(std::span<const Elf64_Dyn> dynamic) {
  std::uint64_t strings = 0, strings_size = 0, symbols = 0, lazy = 0, lazy_size = 0, rela = 0, rela_size = 0;
  std::uint64_t hash = 0, gnu_hash = 0, flags = 0, versions = 0, version_needs = 0, version_count = 0;
  for (const Elf64_Dyn& d : dynamic) {
    const std::uint64_t value = d.d_un.d_val;
    if (d.d_tag == DT_NULL) break;
    if (d.d_tag == DT_STRTAB) strings = offset_of(value).value_or(0);
    if (d.d_tag == DT_STRSZ) strings_size = value;
    if (d.d_tag == DT_SYMTAB) symbols = offset_of(value).value_or(0);
    if (d.d_tag == DT_JMPREL) lazy = offset_of(value).value_or(0);
    if (d.d_tag == DT_PLTRELSZ) lazy_size = value;
    if (d.d_tag == DT_RELA) rela = offset_of(value).value_or(0);
    if (d.d_tag == DT_RELASZ) rela_size = value;
    if (d.d_tag == DT_HASH) hash = offset_of(value).value_or(0);
    if (d.d_tag == DT_VERSYM) versions = offset_of(value).value_or(0);
    if (d.d_tag == DT_VERNEED) version_needs = offset_of(value).value_or(0);
    if (d.d_tag == DT_VERNEEDNUM) version_count = value;
    if (d.d_tag == DT_GNU_HASH) gnu_hash = offset_of(value).value_or(0);
    if (d.d_tag == DT_FLAGS) flags = value;
    if (d.d_tag == DT_SYMBOLIC) symbolic_ = true;
    if (d.d_tag == DT_AUDIT || d.d_tag == DT_DEPAUDIT) audited_ = true;
  }
  if (flags & DF_SYMBOLIC) symbolic_ = true;
  for (const Elf64_Dyn& d : dynamic) {
    if (d.d_tag == DT_NULL) break;
    if (d.d_tag == DT_NEEDED) needed_.emplace_back(string_at(strings, strings_size, d.d_un.d_val));
    if (d.d_tag == DT_SONAME) soname_ = string_at(strings, strings_size, d.d_un.d_val);
  }
  if (symbols == 0 || strings == 0) return;

  const auto all = table<Elf64_Sym>(symbols, count_of_symbols(hash, gnu_hash) * sizeof(Elf64_Sym));
  Dynamic more{.is = true, .relocated = std::vector<bool>(all.size())};
  for (const auto& [offset, size] : {std::pair{lazy, lazy_size}, {rela, rela_size}})
    for (const Elf64_Rela& r : table<Elf64_Rela>(offset, offset ? size : 0))
      if (const std::uint64_t index = ELF64_R_SYM(r.r_info); index < all.size()) more.relocated[index] = true;
  more.versions = table<Elf64_Half>(versions, versions ? all.size() * sizeof(Elf64_Half) : 0);
  more.version_names = versions_asked_for(version_needs, version_count, strings, strings_size);
  add_symbols(all, strings, strings_size, more);
}

/// Two chains of records, each telling how far the next one is.
std::vector<std::string_view> ElfFile::versions_asked_for(std::uint64_t needs, std::uint64_t count,
                                                          std::uint64_t strings, std::uint64_t strings_size) const {
  std::vector<std::string_view> names;
  constexpr unsigned most = 1 << 12;
  for (std::uint64_t at = needs; at && count > 0; --count) {
    const auto need = table<Elf64_Verneed>(at, sizeof(Elf64_Verneed));
    if (need.empty() || names.size() > most) break;
    std::uint64_t version_at = at + need.front().vn_aux;
    for (unsigned i = 0; i < need.front().vn_cnt; ++i) {
      const auto version = table<Elf64_Vernaux>(version_at, sizeof(Elf64_Vernaux));
      if (version.empty()) break;
      const unsigned number = version.front().vna_other & 0x7fff;
      if (number < most) {
        if (number >= names.size()) names.resize(number + 1);
        names[number] = string_at(strings, strings_size, version.front().vna_name);
      }
      if (version.front().vna_next == 0) break;
      version_at += version.front().vna_next;
    }
    if (need.front().vn_next == 0) break;
    at += need.front().vn_next;
  }
  return names;
}

/// The length of the dynamic symbol table stands nowhere; its hash tables lead to the last symbol.
std::uint64_t ElfFile::count_of_symbols(std::uint64_t hash, std::uint64_t gnu_hash) const {
  using Word = std::uint32_t;
  constexpr std::uint64_t word = sizeof(Word);
  if (const auto header = table<Word>(hash, hash ? 2 * word : 0); !header.empty()) return header[1];
  const auto header = table<Word>(gnu_hash, gnu_hash ? 4 * word : 0);
  if (header.empty()) return 0;
  const std::uint64_t first = header[1], buckets_at = gnu_hash + 4 * word + header[2] * sizeof(Elf64_Addr);
  std::uint64_t last = 0;
  for (const Word bucket : table<Word>(buckets_at, header[0] * word)) last = std::max<std::uint64_t>(last, bucket);
  if (last < first) return first;  // none is defined here
  const std::uint64_t chains_at = buckets_at + header[0] * word;
  const auto chains =
      table<Word>(chains_at, chains_at < file_.bytes().size() ? (file_.bytes().size() - chains_at) / word * word : 0);
  while (last - first < chains.size() && !(chains[last - first] & 1)) ++last;
  return last + 1;
}

/// The full symbol table, which knows local functions as well.
void ElfFile::read_sections(const Elf64_Ehdr& header) {
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return;
  const auto sections = table<Elf64_Shdr>(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections)
    if (section.sh_type == SHT_SYMTAB && section.sh_link < sections.size()) {
      stripped_ = false;
      const Elf64_Shdr& strings = sections[section.sh_link];
      add_symbols(table<Elf64_Sym>(section.sh_offset, section.sh_size), strings.sh_offset, strings.sh_size, {});
    }
}

void ElfFile::add_symbols(std::span<const Elf64_Sym> symbols, std::uint64_t strings, std::uint64_t size,
                          const Dynamic& dynamic) {
  for (std::size_t i = 1; i < symbols.size(); ++i) {
    const Elf64_Sym& s = symbols[i];
    const int type = ELF64_ST_TYPE(s.st_info), visibility = ELF64_ST_VISIBILITY(s.st_other);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
    const bool defined = s.st_shndx != SHN_UNDEF;
    if (!dynamic.is && !defined) continue;  // the dynamic table has it
    const std::string_view name = string_at(strings, size, s.st_name);
    if (name.empty()) continue;
    const bool seen = dynamic.is && (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
    const std::size_t number = i < dynamic.versions.size() ? dynamic.versions[i] & 0x7fff : 0;
    const std::string_view version =
        !defined && number < dynamic.version_names.size() ? dynamic.version_names[number] : std::string_view();
    symbols_.push_back({name, defined, seen, visibility == STV_PROTECTED, dynamic.is && dynamic.relocated[i],
                        ELF64_ST_BIND(s.st_info) == STB_WEAK, version});
  }
}

}  // namespace blaslift::cli
