// Looking at loaded objects: what is found in them is what the loader's own functions find.
#include "compat/objects.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/support/temporary.hpp"

namespace blaslift::objects_tests {
namespace {

using temporary::Directory;

/// The object around `address`, and what it has for `name`.
Definition found_in(const void* address, const char* name, bool by_gnu_hash = true) {
  Definition found;
  look_at_objects([&](Objects& objects) {
    const Object* object = objects.around(address);
    if (!object) return;
    Object x = *object;
    if (!by_gnu_hash) x.gnu_hash = nullptr;
    found = find_definition(x, name);
  });
  return found;
}

std::string path_of_named(const char* name) {
  char path[1000] = "";
  look_at_objects([&](Objects& objects) {
    if (const Object* object = objects.named(name)) std::strncpy(path, object->name, sizeof path - 1);
  });
  return path;
}

/// Names of the functions that the library in `path` defines, from its file.
std::set<std::string> functions_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::set<std::string> names;
  if (bytes.size() < sizeof(ElfW(Ehdr))) return names;
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(bytes.data());
  const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(bytes.data() + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    const char* strings = bytes.data() + sections[sections[i].sh_link].sh_offset;
    const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(bytes.data() + sections[i].sh_offset);
    for (std::size_t s = 0; s < sections[i].sh_size / sizeof *symbols; ++s) {
      const int type = ELF64_ST_TYPE(symbols[s].st_info);
      if (symbols[s].st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC))
        names.insert(strings + symbols[s].st_name);
    }
  }
  return names;
}

TEST(Objects, FunctionsAreWhereTheLoaderFindsThem) {
  void* blas = dlopen("libblas.so.3", RTLD_LAZY);  // if there is one
  int compared = 0, by_the_other_table = 0;
  for (const char* soname : {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libblas.so.3"}) {
    void* library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
    link_map* map = nullptr;
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) continue;
    const std::set<std::string> names = functions_in(map->l_name);
    EXPECT_GT(names.size(), 10u) << soname;
    for (const std::string& name : names) {
      void* expected = dlsym(library, name.c_str());
      if (!expected) continue;  // old versions alone
      const Definition found = found_in(map->l_ld, name.c_str());
      ASSERT_TRUE(found) << soname << " " << name;
      ASSERT_EQ(found.function(), expected) << soname << " " << name;
      ++compared;
      if (const Definition other = found_in(map->l_ld, name.c_str(), false)) {
        ASSERT_EQ(other.at, found.at) << soname << " " << name;
        ++by_the_other_table;
      }
    }
    for (const char* name : {"", "no_such_function", "dgemm"}) EXPECT_FALSE(found_in(map->l_ld, name)) << soname;
    dlclose(library);
  }
  if (blas) dlclose(blas);
  EXPECT_GT(compared, 2000);
  std::printf("%d functions, %d by the older hash table, too\n", compared, by_the_other_table);
}

TEST(Objects, OfSeveralVersionsTheDefaultOne) {
  void* library = dlopen(BLASLIFT_VERSIONS, RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  const void* inside = dlsym(library, "weak");
  for (const bool gnu : {true, false}) {
    const auto call = [&](const char* name) {
      const Definition found = found_in(inside, name, gnu);
      return found ? reinterpret_cast<int (*)()>(found.function())() : 0;
    };
    EXPECT_EQ(call("versioned"), 2);
    EXPECT_EQ(call("retired"), 4) << "there is no other";
    EXPECT_EQ(call("chosen"), 5);
    EXPECT_TRUE(found_in(inside, "chosen", gnu).resolver);
    EXPECT_EQ(call("weak"), 6);
    EXPECT_EQ(call("untyped"), 7);
    for (const char* none : {"data", "undefined_here", "resolved", "old_version", "FIRST", "free"})
      EXPECT_FALSE(found_in(inside, none, gnu)) << none;
  }
  dlclose(library);
}

TEST(Objects, OfSeveralVersionsTheOneThatIsAskedFor) {
  void* library = dlopen(BLASLIFT_VERSIONS, RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  const void* inside = dlsym(library, "weak");
  for (const bool gnu : {true, false}) {
    const auto call = [&](const char* name, Version version) {
      Definition found;
      look_at_objects([&](Objects& objects) {
        Object x = *objects.around(inside);
        if (!gnu) x.gnu_hash = nullptr;
        found = find_definition(x, name, version);
      });
      return found ? reinterpret_cast<int (*)()>(found.function())() : 0;
    };
    EXPECT_EQ(call("versioned", {true, "FIRST"}), 3);
    EXPECT_EQ(call("versioned", {true, "SECOND"}), 1);
    EXPECT_EQ(call("versioned", {true, "THIRD"}), 2);
    EXPECT_EQ(call("versioned", {true, "FOURTH"}), 0);
    EXPECT_EQ(call("versioned", {true, nullptr}), 3) << "a reference without a version means the first";
    EXPECT_EQ(call("versioned", {}), 2);
    EXPECT_EQ(call("retired", {true, "FIRST"}), 4);
    EXPECT_EQ(call("retired", {true, "THIRD"}), 0);
    EXPECT_EQ(call("weak", {true, nullptr}), 6);
  }
  // What dlvsym finds is under that version, and known to be.
  for (const char* version : {"FIRST", "SECOND", "THIRD"}) {
    const void* function = dlvsym(library, "versioned", version);
    Version its;
    look_at_objects([&](Objects& objects) { its = version_at(*objects.around(inside), function); });
    EXPECT_TRUE(its.linked);
    EXPECT_STREQ(its.name, version);
  }
  dlclose(library);
}

TEST(Objects, KnowWhatTheyReferTo) {
  void* library = dlopen(BLASLIFT_VERSIONS, RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  const void* inside = dlsym(library, "weak");
  Version of_libc, of_nobody, defined;
  bool finalised = true, from_start = true, program_from_start = false;
  look_at_objects([&](Objects& objects) {
    const Object& x = *objects.around(inside);
    of_libc = reference_in(x, "rand");
    of_nobody = reference_in(x, "undefined_here");
    defined = reference_in(x, "versioned");
    finalised = is_finalised(x);
    from_start = x.from_start;
    program_from_start = objects.program().from_start && objects.named("libc.so.6")->from_start;
  });
  EXPECT_TRUE(of_libc.linked);
  EXPECT_STREQ(of_libc.name, "GLIBC_2.2.5");
  EXPECT_TRUE(of_nobody.linked);
  EXPECT_EQ(of_nobody.name, nullptr);
  EXPECT_FALSE(defined.linked);
  EXPECT_FALSE(finalised);
  EXPECT_FALSE(from_start);
  EXPECT_TRUE(program_from_start);
  dlclose(library);
}

TEST(Objects, TreeOfTheProgramIsInTheLoadersOrder) {
  void* program = dlopen(nullptr, RTLD_LAZY);
  link_map* map = nullptr;
  ASSERT_EQ(dlinfo(program, RTLD_DI_LINKMAP, &map), 0);
  std::vector<std::string> loaded;
  std::vector<std::uintptr_t> order;
  for (; map; map = map->l_next) {
    loaded.emplace_back(map->l_name);
    order.push_back(map->l_addr);
  }
  dlclose(program);
  std::uintptr_t tree[100] = {}, all[100] = {};
  std::size_t tree_size = 0, all_size = 0;
  look_at_objects([&](Objects& objects) {
    for (const Object* x : objects.tree(objects.program()))
      if (tree_size < std::size(tree)) tree[tree_size++] = x->base;
    for (const Object& x : objects.all())
      if (all_size < std::size(all)) all[all_size++] = x.base;
  });
  EXPECT_EQ(std::vector<std::uintptr_t>(all, all + all_size), order);
  std::vector<std::uintptr_t> expected;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool in_tree = std::find(tree, tree + tree_size, order[i]) != tree + tree_size;
    if (in_tree) expected.push_back(order[i]);
    EXPECT_TRUE(in_tree || loaded[i].find("vdso") != std::string::npos || std::getenv("LD_PRELOAD")) << loaded[i];
  }
  EXPECT_EQ(std::vector<std::uintptr_t>(tree, tree + tree_size), expected);
}

TEST(Objects, TreeOfAPluginBeginsWithIt) {
  void* library = dlopen(BLASLIFT_VERSIONS, RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  const void* inside = dlsym(library, "weak");
  bool first = false, libc = false, program = false;
  look_at_objects([&](Objects& objects) {
    const auto tree = objects.tree(*objects.around(inside));
    first = tree.front()->contains(inside);
    for (const Object* x : tree) {
      libc = libc || x == objects.named("libc.so.6");
      program = program || x == &objects.program();
    }
  });
  EXPECT_TRUE(first);
  EXPECT_TRUE(libc);
  EXPECT_FALSE(program);
  dlclose(library);
}

TEST(Objects, KnowsWhereAddressesAre) {
  static const char here = 0;
  bool program = false, ours = false, libc = false, others = false, nowhere = true;
  look_at_objects([&](Objects& objects) {
    const Object* mine = objects.around(&here);
    program = mine == &objects.program();
    ours = mine && mine->passed_over;  // this program has the code of the library
    const Object* c = objects.named("libc.so.6");
    libc = c && c == objects.around(reinterpret_cast<const void*>(c->base + c->segments[0].p_vaddr));
    others = c && c->passed_over;
    nowhere = objects.around(nullptr) || objects.around(&nowhere);
  });
  EXPECT_TRUE(program);
  EXPECT_TRUE(ours);
  EXPECT_TRUE(libc);
  EXPECT_FALSE(others);
  EXPECT_FALSE(nowhere);
  EXPECT_TRUE(named_as_ours("/some/where/libblaslift_host.so"));
  EXPECT_FALSE(named_as_ours("/opt/libblaslift/libblas.so.3"));
  EXPECT_FALSE(named_as_ours("/lib/libblastrampoline.so.5"));
  EXPECT_TRUE(never_underneath("/lib/libblastrampoline.so.5"));
  EXPECT_TRUE(never_underneath("/some/where/libblaslift.so.0"));
  EXPECT_FALSE(never_underneath("/lib/libblas.so.3"));
}

TEST(Objects, NamesAreThoseOfFilesAndOfLinksToThem) {
  const std::string libc = path_of_named("libc.so.6");
  EXPECT_FALSE(libc.empty());
  EXPECT_EQ(path_of_named(libc.c_str()), libc);
  // As some distributions have it: libblas.so.3 and liblapack.so.3 are links to one library of another name.
  const Directory directory;
  const std::filesystem::path at = directory.path(), first = at / "libfirst.so.3";
  std::filesystem::copy_file(BLASLIFT_VERSIONS, at / "libmany.so");
  std::filesystem::create_symlink("libmany.so", first);
  std::filesystem::create_symlink("libmany.so", at / "libsecond.so.3");
  std::filesystem::copy_file(BLASLIFT_VERSIONS, at / "libother.so.3");
  EXPECT_EQ(path_of_named("libfirst.so.3"), "");
  void* library = dlopen(first.c_str(), RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  for (const char* name : {"libfirst.so.3", "$ORIGIN/libfirst.so.3", "libsecond.so.3", "libmany.so"})
    EXPECT_EQ(path_of_named(name), first) << name;
  EXPECT_EQ(path_of_named("libother.so.3"), "") << "the same content, but another file";
  EXPECT_EQ(path_of_named("libthird.so.3"), "");
  dlclose(library);
  EXPECT_EQ(path_of_named("libfirst.so.3"), "");
}

}  // namespace
}  // namespace blaslift::objects_tests
