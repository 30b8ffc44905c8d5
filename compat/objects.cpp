#include "compat/objects.hpp"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <vector>

namespace blaslift {
namespace {

std::string_view basename_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

template <class T>
const T* pointer(std::uintptr_t address) {
  return reinterpret_cast<const T*>(address);
}

bool is_this_library(const Object& x) {
  static const char here = 0;
  return x.contains(&here);
}

Object object_of(const dl_phdr_info& info) {
  Object x{};
  x.name = info.dlpi_name ? info.dlpi_name : "";
  x.base = info.dlpi_addr;
  x.segments = {info.dlpi_phdr, info.dlpi_phnum};
  for (const ElfW(Phdr) & p : x.segments)
    if (p.p_type == PT_DYNAMIC) x.dynamic = pointer<ElfW(Dyn)>(x.base + p.p_vaddr);
  const ElfW(Dyn)* soname = nullptr;
  for (const ElfW(Dyn)* d = x.dynamic; d && d->d_tag != DT_NULL; ++d) {
    // The loader relocates these, but not the kernel's own object's (vdso).
    const std::uintptr_t at = d->d_un.d_ptr < x.base ? d->d_un.d_ptr + x.base : d->d_un.d_ptr;
    if (d->d_tag == DT_STRTAB) x.strings = pointer<char>(at);
    if (d->d_tag == DT_SYMTAB) x.symbols = pointer<ElfW(Sym)>(at);
    if (d->d_tag == DT_VERSYM) x.versions = pointer<ElfW(Half)>(at);
    if (d->d_tag == DT_GNU_HASH) x.gnu_hash = pointer<std::uint32_t>(at);
    if (d->d_tag == DT_HASH) x.hash = pointer<std::uint32_t>(at);
    if (d->d_tag == DT_VERDEF) x.defined_versions = pointer<ElfW(Verdef)>(at);
    if (d->d_tag == DT_VERNEED) x.needed_versions = pointer<ElfW(Verneed)>(at);
    if (d->d_tag == DT_SONAME) soname = d;
  }
  if (soname && x.strings) x.soname = x.strings + soname->d_un.d_val;
  x.ours = is_this_library(x);
  x.passed_over = x.ours || never_underneath(x.name);
  return x;
}

constexpr ElfW(Half) version_index = 0x7fff, not_the_default = 0x8000;

template <class T>
const T* behind(const void* at, std::size_t bytes) {
  return reinterpret_cast<const T*>(static_cast<const char*>(at) + bytes);
}

/// The name of a version that the object defines; null for the base, its own name.
const char* defined_version(const Object& object, ElfW(Half) index) {
  for (const auto* v = object.defined_versions; v; v = behind<ElfW(Verdef)>(v, v->vd_next)) {
    if ((v->vd_ndx & version_index) == index)
      return v->vd_flags & VER_FLG_BASE ? nullptr : object.strings + behind<ElfW(Verdaux)>(v, v->vd_aux)->vda_name;
    if (v->vd_next == 0) break;
  }
  return nullptr;
}

/// The name of a version that the object needs; null if it is none.
const char* needed_version(const Object& object, ElfW(Half) index) {
  for (const auto* v = object.needed_versions; v; v = behind<ElfW(Verneed)>(v, v->vn_next)) {
    const auto* name = behind<ElfW(Vernaux)>(v, v->vn_aux);
    for (int i = 0; i < v->vn_cnt; ++i, name = behind<ElfW(Vernaux)>(name, name->vna_next))
      if ((name->vna_other & version_index) == index) return object.strings + name->vna_name;
    if (v->vn_next == 0) break;
  }
  return nullptr;
}

/// The candidates for a name, one after the other.
struct Choice {
  const Object& object;
  const char* name;
  Version version;
  Definition chosen;

  enum class Fit { no, perhaps, best };

  /// dl-lookup.c, check_match.
  Fit fit(std::size_t index) const {
    if (!object.versions) return Fit::best;
    const ElfW(Half) of = object.versions[index] & version_index;
    const bool is_default = !(object.versions[index] & not_the_default);
    if (version.name) {
      const char* its = defined_version(object, of);
      return (its ? !std::strcmp(its, version.name) : is_default) ? Fit::best : Fit::no;
    }
    constexpr ElfW(Half) first_version = 2;
    if (version.linked && of <= first_version) return Fit::best;
    return is_default && !version.linked ? Fit::best : Fit::perhaps;
  }

  /// Whether no other can be better.
  bool consider(std::size_t index) {
    const ElfW(Sym)& s = object.symbols[index];
    const int type = ELF64_ST_TYPE(s.st_info), binding = ELF64_ST_BIND(s.st_info);
    const int visibility = ELF64_ST_VISIBILITY(s.st_other);
    if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS || s.st_value == 0) return false;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return false;
    if (binding != STB_GLOBAL && binding != STB_WEAK && binding != STB_GNU_UNIQUE) return false;
    if (visibility == STV_HIDDEN || visibility == STV_INTERNAL) return false;
    if (std::strcmp(object.strings + s.st_name, name) != 0) return false;
    const Fit fits = fit(index);
    if (fits == Fit::no) return false;
    const bool is_default = !object.versions || !(object.versions[index] & not_the_default);
    if (fits == Fit::best || !chosen || is_default)
      chosen = {reinterpret_cast<void*>(object.base + s.st_value), type == STT_GNU_IFUNC, s.st_size,
                object.versions ? defined_version(object, object.versions[index] & version_index) : nullptr};
    return fits == Fit::best;
  }
};

/// How many symbols an object's table has, as far as its hash tables tell.  Those that it does not define come first.
std::size_t symbol_count_of(const Object& object) {
  if (object.hash) return object.hash[1];
  if (!object.gnu_hash) return 0;
  const std::uint32_t buckets = object.gnu_hash[0], first = object.gnu_hash[1], words = object.gnu_hash[2];
  const auto* bucket =
      reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const ElfW(Addr)*>(object.gnu_hash + 4) + words);
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < buckets; ++i) last = std::max(last, bucket[i]);
  if (last < first) return first;
  while (!(chain[last - first] & 1)) ++last;
  return last + 1;
}

/// https://flapenguin.me/elf-dt-gnu-hash
void look_up_gnu(Choice& choice) {
  std::uint32_t hash = 5381;
  for (const char* c = choice.name; *c; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  const std::uint32_t* table = choice.object.gnu_hash;
  const std::uint32_t buckets = table[0], first = table[1], words = table[2], shift = table[3];
  const auto* filter = reinterpret_cast<const ElfW(Addr)*>(table + 4);
  const auto* bucket = reinterpret_cast<const std::uint32_t*>(filter + words);
  constexpr std::uint32_t bits = 8 * sizeof(ElfW(Addr));
  const ElfW(Addr) word = words ? filter[hash / bits % words] : 0;
  if (!buckets || !(word >> hash % bits & word >> (hash >> shift) % bits & 1)) return;
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t index = bucket[hash % buckets];
  if (index < first) return;  // empty
  do {
    if ((chain[index - first] | 1) == (hash | 1) && choice.consider(index)) return;
  } while (!(chain[index++ - first] & 1));
}

/// System V ABI, "Hash Table".
void look_up(Choice& choice) {
  std::uint32_t hash = 0;
  for (const char* c = choice.name; *c; ++c) {
    hash = (hash << 4) + static_cast<unsigned char>(*c);
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0xfffffff;
  }
  const std::uint32_t* table = choice.object.hash;
  const std::uint32_t buckets = table[0];
  const std::uint32_t *bucket = table + 2, *chain = bucket + buckets;
  if (!buckets) return;
  for (std::uint32_t index = bucket[hash % buckets]; index != STN_UNDEF; index = chain[index])
    if (choice.consider(index)) return;
}

/// What one walk through the objects finds, and whom to show it to.
struct Walk {
  std::vector<Object> objects;
  std::vector<const Object*> tree;
  std::size_t count;
  void (*look)(Objects&, void*);
  void* context;
};

int collect(dl_phdr_info* info, std::size_t, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  if (walk.count < walk.objects.size()) walk.objects[walk.count] = object_of(*info);
  ++walk.count;
  return 0;
}

/// Which of them were there when the program was started.  Those stay, and stand before all that come later, so that
/// they are found once.
void mark_the_start(std::span<Object> all, Objects& objects) {
  static constinit std::atomic<std::size_t> known{0};
  std::size_t count = known.load(std::memory_order_relaxed);
  const bool is_known = count != 0;
  const auto reach = [&](const Object& root) {
    for (const Object* x : objects.tree(root)) count = std::max(count, static_cast<std::size_t>(x - all.data()) + 1);
  };
  if (!is_known) reach(objects.program());
  any_preloaded([&](std::string_view name) {
    char path[PATH_MAX];
    if (name.size() >= sizeof path) return false;
    path[name.copy(path, name.size())] = '\0';
    if (const Object* x = objects.named(path)) {
      all[static_cast<std::size_t>(x - all.data())].preloaded = true;
      if (!is_known) reach(*x);
    }
    return false;
  });
  known.store(count, std::memory_order_relaxed);
  for (Object& x : all.first(std::min(count, all.size()))) x.from_start = true;
}

/// Called for the first object.  Whoever walks holds the lock; the walk inside this one takes it once more.
int collect_and_look(dl_phdr_info*, std::size_t, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  for_each_object(collect, data);
  if (walk.count <= walk.objects.size()) {
    const std::span<Object> all(walk.objects.data(), walk.count);
    Objects objects(all, walk.tree);
    mark_the_start(all, objects);
    walk.look(objects, walk.context);
  }
  return 1;
}

/// Without the loader's locks, of a forked child whose parent had threads.
constinit std::atomic<bool> lock_may_be_lost{false};

bool is_mapped(std::uintptr_t address) {
  constexpr std::uintptr_t page = 4096;
  unsigned char resident;
  return address && mincore(reinterpret_cast<void*>(address / page * page), page, &resident) == 0;
}

/// What dl_iterate_phdr says of an object, from its own headers.  False where they are not as usual.
bool describe(const link_map& map, bool program, dl_phdr_info& info) {
  info.dlpi_addr = map.l_addr;
  info.dlpi_name = map.l_name;
  if (program) {
    info.dlpi_phdr = pointer<ElfW(Phdr)>(getauxval(AT_PHDR));
    info.dlpi_phnum = static_cast<ElfW(Half)>(getauxval(AT_PHNUM));
    return info.dlpi_phdr != nullptr;
  }
  if (!is_mapped(map.l_addr)) return false;
  const auto& header = *pointer<ElfW(Ehdr)>(map.l_addr);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  const std::uintptr_t segments = map.l_addr + header.e_phoff, end = segments + header.e_phnum * sizeof(ElfW(Phdr));
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || !is_mapped(segments) || !is_mapped(end - 1)) return false;
  info.dlpi_phdr = pointer<ElfW(Phdr)>(segments);
  info.dlpi_phnum = header.e_phnum;
  const auto* const last = info.dlpi_phdr + info.dlpi_phnum;
  return std::any_of(info.dlpi_phdr, last, [&map](const ElfW(Phdr) & p) {
    return p.p_type == PT_DYNAMIC && map.l_addr + p.p_vaddr == reinterpret_cast<std::uintptr_t>(map.l_ld);
  });
}

}  // namespace

int for_each_object(int (*look)(dl_phdr_info*, std::size_t, void*), void* data) {
  if (!lock_may_be_lost.load(std::memory_order_relaxed)) return dl_iterate_phdr(look, data);
  for (const link_map* map = _r_debug.r_map; map; map = map->l_next) {
    dl_phdr_info info{};
    if (!describe(*map, map == _r_debug.r_map, info)) continue;
    if (const int answer = look(&info, sizeof info, data)) return answer;
  }
  return 0;
}

bool locks_may_be_lost() { return lock_may_be_lost.load(std::memory_order_relaxed); }

/// Found by a thread of our own, which otherwise waits for ever and holds nothing.
constinit std::atomic<bool> locks_taken{false};

bool locks_are_free() {
  if (!locks_may_be_lost()) return true;
  pthread_t thread;
  const auto try_them = [](void*) -> void* {
    dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 1; }, nullptr);
    std::atexit([] {});
    locks_taken.store(true, std::memory_order_release);
    return nullptr;
  };
  if (!locks_taken.load(std::memory_order_acquire)) {
    if (pthread_create(&thread, nullptr, try_them, nullptr) != 0) return false;
    pthread_detach(thread);
  }
  for (int i = 0; i < 500 && !locks_taken.load(std::memory_order_acquire); ++i) {
    const timespec millisecond{0, 1000000};
    nanosleep(&millisecond, nullptr);
  }
  return locks_taken.load(std::memory_order_acquire);
}

void forget_lost_locks() {
  locks_taken.store(false, std::memory_order_relaxed);
  if (!__libc_single_threaded) lock_may_be_lost.store(true, std::memory_order_relaxed);
}

bool named_as_ours(const char* path) { return basename_of(path).starts_with("libblaslift"); }

// A second copy (one preloaded, one linked) must not be taken for a BLAS: the two would call each other forever.
bool never_underneath(const char* path) {
  return named_as_ours(path) || basename_of(path).starts_with("libblastrampoline");
}

bool Object::contains(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return std::any_of(segments.begin(), segments.end(), [&](const ElfW(Phdr) & p) {
    return p.p_type == PT_LOAD && at >= base + p.p_vaddr && at < base + p.p_vaddr + p.p_memsz;
  });
}

void* Definition::function() const {
  using Resolver = void* (*)();
  return resolver ? reinterpret_cast<Resolver>(at)() : at;
}

Definition find_definition(const Object& object, const char* name, Version version) {
  Choice choice{object, name, version, {}};
  if (!object.strings || !object.symbols) return {};
  if (object.gnu_hash)
    look_up_gnu(choice);
  else if (object.hash)
    look_up(choice);
  return choice.chosen;
}

bool is_finalised(const Object& object) {
  std::uintptr_t array = 0, size = 0;
  for (const ElfW(Dyn)* d = object.dynamic; d && d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_FINI_ARRAY) array = object.base + d->d_un.d_ptr;
    if (d->d_tag == DT_FINI_ARRAYSZ) size = d->d_un.d_val;
  }
  const auto* functions = pointer<std::uintptr_t>(array);
  for (std::size_t i = 0; array && i < size / sizeof *functions; ++i) {
    // __do_global_dtors_aux begins with cmpb $0, completed(%rip), behind an endbr64 or not.
    constexpr std::size_t most = 11;
    const auto* code = pointer<unsigned char>(functions[i]);
    if (!object.contains(code) || !object.contains(code + most)) continue;
    constexpr unsigned char landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
    if (std::memcmp(code, landing, sizeof landing) == 0) code += sizeof landing;
    if (code[0] != 0x80 || code[1] != 0x3d || code[6] != 0) continue;
    std::int32_t distance = 0;
    std::memcpy(&distance, code + 2, sizeof distance);
    const unsigned char* completed = code + 7 + distance;
    if (object.contains(completed)) return *completed != 0;
  }
  return false;
}

Version reference_in(const Object& object, const char* name) {
  if (!object.strings || !object.symbols) return {};
  // Hash tables of GNU's kind leave out what is not defined, and it stands before the others.
  const std::size_t count = object.hash ? object.hash[1] : object.gnu_hash ? object.gnu_hash[1] : 0;
  for (std::size_t i = 1; i < count; ++i) {
    const ElfW(Sym)& s = object.symbols[i];
    if (s.st_shndx != SHN_UNDEF || std::strcmp(object.strings + s.st_name, name) != 0) continue;
    return {true, object.versions ? needed_version(object, object.versions[i] & version_index) : nullptr};
  }
  return {};
}

Version version_at(const Object& object, const void* address) {
  if (!object.strings || !object.symbols || !object.versions) return {};
  const std::size_t count = symbol_count_of(object);
  for (std::size_t i = 1; i < count; ++i) {
    const ElfW(Sym)& s = object.symbols[i];
    if (s.st_shndx == SHN_UNDEF || s.st_value == 0) continue;
    if (reinterpret_cast<const void*>(object.base + s.st_value) != address) continue;
    const char* name = defined_version(object, object.versions[i] & version_index);
    if (name) return {true, name};
  }
  return {};
}

const Object* Objects::ours() const {
  const auto found = std::find_if(all_.begin(), all_.end(), [](const Object& x) { return x.ours; });
  return found == all_.end() ? nullptr : &*found;
}

const Object* Objects::around(const void* address) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Object& x) { return x.contains(address); });
  return found == all_.end() ? nullptr : &*found;
}

const Object* Objects::named(const char* name) const {
  for (const Object& x : all_)
    if (!std::strcmp(name, x.name) || (x.soname && !std::strcmp(name, x.soname))) return &x;
  // The loader also remembers by which names it was asked for an object.  Those are what a file or a link to it is
  // called: libblas.so.3, whatever the SONAME of the library behind it.
  const std::string_view base = basename_of(name);
  for (const Object& x : all_)
    if (base == basename_of(x.name)) return &x;
  // Several links in one directory, libblas.so.3 and liblapack.so.3, may be one library, which has the first one's
  // name.
  for (const Object& x : all_) {
    const std::string_view path = x.name, directory = path.substr(0, path.size() - basename_of(path).size());
    char link[PATH_MAX];
    struct stat wanted, there;
    const int length = std::snprintf(link, sizeof link, "%.*s%.*s", static_cast<int>(directory.size()),
                                     directory.data(), static_cast<int>(base.size()), base.data());
    if (directory.empty() || length >= static_cast<int>(sizeof link) || stat(link, &wanted) != 0) continue;
    if (stat(x.name, &there) == 0 && wanted.st_dev == there.st_dev && wanted.st_ino == there.st_ino) return &x;
  }
  return nullptr;
}

std::span<const Object* const> Objects::tree(const Object& root) {
  room_[0] = &root;
  std::size_t count = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Object& object = *room_[i];
    for (const ElfW(Dyn)* d = object.dynamic; object.strings && d && d->d_tag != DT_NULL; ++d) {
      if (d->d_tag != DT_NEEDED) continue;
      const Object* next = named(object.strings + d->d_un.d_val);
      const auto known = room_.first(count);
      if (next && std::find(known.begin(), known.end(), next) == known.end()) room_[count++] = next;
    }
  }
  return room_.first(count);
}

void look_at_objects(void (*look)(Objects&, void*), void* context) {
  Walk walk{{}, {}, 128, look, context};
  do {
    const std::size_t room = walk.count + walk.count / 4;  // some may be loaded meanwhile
    walk.objects.resize(room);
    walk.tree.resize(room);
    walk.count = 0;
    for_each_object(collect_and_look, &walk);
  } while (walk.count > walk.objects.size());
}

}  // namespace blaslift
