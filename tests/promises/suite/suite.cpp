// The promises that every routine keeps, asked of each one's struct (suite.hpp).
//
//   suite --list                              what has joined, as JSON
//   suite MEMBER semantics COUNT              random calls in every precision and interface, some with Inf and NaN
//   suite MEMBER nothing | invalid | queries | overlap
//   suite MEMBER faults PRECISION SEED LEAST MOST   two calls in children, of which each operation fails in turn
//   suite MEMBER again                        calls with the same operands, of which elements are written in between
//   suite MEMBER shared                       calls and products whose operands lie anywhere in one array
//   suite MEMBER threads                      many at once with the same inputs, which are written between rounds
//   suite MEMBER large COUNT                  a few calls that are no trifle, for verification
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "tests/promises/programs/every_fault.hpp"
#include "tests/promises/suite/suite.hpp"

namespace suite {

using promises::fail;

std::vector<Member>& members() {
  static auto& all = *new std::vector<Member>;
  return all;
}

// ---------------------------------------------------------------------------------------------------------------------
// Memory

namespace {

const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

/// Elements around an operand that nobody may write.
constexpr std::size_t margin = 16;

std::size_t to_pages(std::size_t bytes) { return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page; }

// Copies of a length that the compiler knows: whole pages are written so.
template <class T>
void put(unsigned char* at, T x) {
  std::memcpy(at, &x, sizeof x);
}
template <class T>
void fill_with(unsigned char* at, std::size_t bytes, T x) {
  for (std::size_t i = 0; i < bytes; i += sizeof x) put(at + i, x);
}

void fill_with_canaries(unsigned char* at, std::size_t bytes, std::size_t part) {
  part == 4 ? fill_with(at, bytes, std::uint32_t{0x7fa5a5a5}) : fill_with(at, bytes, std::uint64_t{0x7ff5a5a5a5a5a5a5});
}

void put_number(unsigned char* at, std::size_t part, double x) {
  part == 4 ? put(at, static_cast<float>(x)) : put(at, x);
}
template <class T>
double read_as(const unsigned char* at) {
  T x;
  std::memcpy(&x, at, sizeof x);
  return static_cast<double>(x);
}
double number_at(const unsigned char* at, std::size_t part) {
  return part == 4 ? read_as<float>(at) : read_as<double>(at);
}

}  // namespace

Pages::Pages(std::size_t bytes) : size_(to_pages(bytes)) {
  void* p = mmap(nullptr, size_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(static_cast<char*>(p) + page, size_, PROT_READ | PROT_WRITE) != 0) std::abort();
  begin_ = static_cast<unsigned char*>(p) + page;
}
Pages::Pages(std::size_t bytes, std::size_t part) : Pages(bytes) { fill_with_canaries(begin_, size_, part); }
Pages::Pages(const Pages& other) : Pages(other.size_) { std::memcpy(begin_, other.begin_, size_); }
Pages::~Pages() { munmap(begin_ - page, size_ + 2 * page); }

Operand::Operand(Draw& draw, std::string_view operand, Role as, std::size_t element_bytes, std::size_t part_bytes,
                 index rows, index cols, index ld)
    : name(operand),
      role(as),
      element(element_bytes),
      part(part_bytes),
      rows_(rows),
      cols_(cols),
      ld_(ld),
      uses_(static_cast<std::size_t>(rows * cols), as == Role::input    ? read
                                                   : as == Role::output ? updated
                                                                        : written) {
  const std::size_t bytes = !empty() ? static_cast<std::size_t>(ld * (cols - 1) + rows) * element : std::size_t{0};
  pages_ = std::make_shared<Pages>(bytes + 2 * margin * element, part);
  // At the end of memory, or somewhere in it.
  offset_ = draw.below(2) ? pages_->size() - bytes : margin * element;
}
std::size_t Operand::bytes_written() const {
  return element * static_cast<std::size_t>(std::count_if(uses_.begin(), uses_.end(),
                                                          [](unsigned char use) { return (use & written) != 0; }));
}

void Operand::fill(Draw& draw) {
  for (index j = 0; j < cols_; ++j)
    for (index i = 0; i < rows_; ++i)
      for (std::size_t at_part = 0; at_part < element && (use_of(i, j) & read); at_part += part)
        if (at_part == 0 || !(use_of(i, j) & real)) put_number(at(i, j) + at_part, part, draw.number());
}
void Operand::fill_all(Draw& draw) {
  for (std::size_t i = 0; i < pages_->size(); i += part) put_number(pages_->begin() + i, part, draw.number());
}

// ---------------------------------------------------------------------------------------------------------------------
// Random arguments, judgements, symbols

int Draw::pick(int count) {
  const auto n = static_cast<std::uint32_t>(count);
  if (combinations_ < n) return below(count);
  combinations_ /= n;
  const auto picked = static_cast<int>(combination_ % n);
  combination_ /= n;
  return picked;
}

index Draw::size(index at_least) {
  const index first = std::max(least_, at_least);
  if (first >= most_) return first;
  // Small ones as often as large ones.
  return first + static_cast<index>(static_cast<double>(most_ - first + 1) * std::pow((number() + 1) / 2, 2));
}

void Judge::say(const char* format, ...) {
  if (!found.empty()) return;
  char text[300];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  found = text;
}

bool wide_integers() {
  static const char* const bits = std::getenv("SUITE_INTEGERS");
  return bits && std::string_view(bits) == "64";
}

void* symbol(const std::string& routine) {
  static std::mutex mutex;
  static auto& found = *new std::map<std::string, void*>;
  const bool is_cblas = routine.starts_with("cblas_");
  promises::note_call((is_cblas ? routine.substr(6) : routine).c_str());
  const std::lock_guard lock(mutex);
  void*& address = found[routine];
  if (!address) address = dlsym(RTLD_DEFAULT, (is_cblas ? routine : routine + '_').c_str());
  if (!address) {
    std::printf("WRONG: no %s: %s\n", routine.c_str(), dlerror());
    std::fflush(stdout);
    _exit(3);
  }
  return address;
}

namespace {

void open_libraries() {
  std::istringstream names(wide_integers() ? "libblas64.so.3 liblapack64.so.3" : "libblas.so.3 liblapack.so.3");
  for (std::string name; names >> name;)
    if (!dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) fail("%s", dlerror());
  // What these lack and newer ones have; beside the program.
  const auto newer =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename(wide_integers() ? "newer64.so" : "newer.so");
  if (!dlopen(newer.c_str(), RTLD_NOW | RTLD_GLOBAL)) fail("%s", dlerror());
}

// ---------------------------------------------------------------------------------------------------------------------
// One call

/// Whatever no operand lets be written has the bits that it had; empty, or what was written.
std::string strange_writes(Call& before, Call& after) {
  const std::vector<Operand*> was = before.operands(), is = after.operands();
  for (std::size_t first = 0; first < is.size(); ++first) {
    const Pages& pages = *is[first]->pages();
    if (std::any_of(is.begin(), is.begin() + static_cast<std::ptrdiff_t>(first),
                    [&](const Operand* x) { return x->pages().get() == &pages; }))
      continue;  // has been looked at
    const unsigned char *old = was[first]->pages()->begin(), *now = pages.begin();
    if (std::memcmp(old, now, pages.size()) == 0) continue;
    std::vector<char> may(pages.size());
    for (const Operand* x : is)
      for (index j = 0; x->pages().get() == &pages && j < x->cols(); ++j)
        for (index i = 0; i < x->rows(); ++i)
          if (x->use_of(i, j) & written)
            std::fill_n(may.begin() + (x->at(i, j) - now), static_cast<std::ptrdiff_t>(x->element), char{1});
    constexpr std::size_t block = 64;  // most of them are as they were
    for (std::size_t from = 0; from < pages.size(); from += block) {
      const std::size_t to = std::min(from + block, pages.size());
      if (std::memcmp(old + from, now + from, to - from) == 0) continue;
      for (std::size_t at = from; at < to; ++at)
        if (!may[at] && old[at] != now[at])
          return std::string(is[first]->name) + ": byte " +
                 std::to_string(static_cast<std::ptrdiff_t>(at - is[first]->offset())) + " was written";
    }
  }
  return "";
}

using promises::name_of;

/// In memory of its own, with the same contents.
std::unique_ptr<Call> copy_of(const Call& call) {
  std::unique_ptr<Call> copy = call.copy();
  std::map<const Pages*, std::shared_ptr<Pages>> pages;
  for (Operand* x : copy->operands()) {
    std::shared_ptr<Pages>& own = pages[x->pages().get()];
    if (!own) own = std::make_shared<Pages>(*x->pages());
    x->place(own, x->offset(), x->ld());
  }
  return copy;
}

void make_and_check(Call& call) {
  const std::unique_ptr<Call> before = copy_of(call);
  call.make();
  Judge judge;
  call.judge_as(*before, judge);
  if (judge.found.empty()) judge.found = strange_writes(*before, call);
  if (!judge.found.empty()) fail("%s by %s: %s", call.describe().c_str(), name_of(call.via), judge.found.c_str());
}

std::uint64_t hash_of(Call& call, std::uint64_t hash) {
  for (const Operand* x : call.operands())
    for (std::size_t i = 0; x->role == Role::output && i < x->pages()->size(); i += sizeof hash) {
      std::uint64_t part;
      std::memcpy(&part, x->pages()->begin() + i, sizeof part);
      hash = (hash ^ part) * 1099511628211u;
      hash ^= hash >> 29;
    }
  return hash;
}
void print_bits(std::uint64_t hash) { std::printf("bits %016llx\n", static_cast<unsigned long long>(hash)); }

/// A place in an operand that a call reads; none if it reads nothing.
unsigned char* some_element(Operand& operand, Draw& draw) {
  for (int attempt = 0; attempt < 100 && operand.rows() > 0 && operand.cols() > 0; ++attempt) {
    const index i = draw.below(static_cast<int>(operand.rows())), j = draw.below(static_cast<int>(operand.cols()));
    if (operand.use_of(i, j) & read) return operand.at(i, j);
  }
  return nullptr;
}

// ---------------------------------------------------------------------------------------------------------------------
// The aspects

void semantics(const Member& member, int count) {
  const bool on_device = std::getenv("INJECTED_DEVICE_MEMORY");
  const index least = on_device ? member.least_on_device : 1;
  for (const Type& type : member.types)
    for (int i = 0; i < count; ++i) {
      const auto seed = static_cast<std::uint32_t>(i);
      Draw draw(seed, least, i % 16 == 15 ? 2 * member.largest : member.largest);
      const auto call = type.draw(draw);
      if (member.poison && i % 4 == 3) {
        std::vector<Operand*> operands = call->operands();
        if (!member.poison_of_results && !on_device)
          std::erase_if(operands, [](const Operand* x) { return x->role == Role::output; });
        Operand& operand = *operands[static_cast<std::size_t>(draw.below(static_cast<int>(operands.size())))];
        constexpr double odd[] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
        if (unsigned char* at = some_element(operand, draw)) put_number(at, operand.part, odd[draw.below(2)]);
      }
      make_and_check(*call);
    }
}

/// What multiplies nothing, and reads nothing for it.
void nothing(const Member& member) {
  std::uint64_t hash = 0;
  for (const Type& type : member.types)
    for (int way = 0; way < member.ways_to_nothing; ++way)
      for (std::uint32_t seed = 0; seed < 24; ++seed) {
        Draw draw(seed, 1, 20, way);
        const auto call = type.draw(draw);
        make_and_check(*call);
        hash = hash_of(*call, hash);
      }
  print_bits(hash);
}

/// Each invalid argument in turn, of which xerbla tells.
void invalid(const Member& member) {
  int made = 0, refused = 0;
  for (const Type& type : member.types)
    for (std::uint32_t seed = 0; seed < 12; ++seed)
      for (int which = 0;; ++which) {
        Draw draw(seed, 4, 9);
        const auto call = type.draw(draw);
        if (!call->mistake(which)) break;
        const auto before = copy_of(*call);
        promises::told.clear();
        call->make();
        refused += !promises::told.empty();
        ++made;
        // The reference's CBLAS conjugates vectors of chemv and zhemv before anybody looks at the arguments.
        std::printf("%s by %s, mistake %d: %s, %016llx\n", call->describe().c_str(), name_of(call->via), which,
                    promises::told.empty() ? "accepted" : promises::told.c_str(),
                    static_cast<unsigned long long>(hash_of(*call, 0) ^ hash_of(*before, 0)));
      }
  std::printf("refused %d of %d\n", refused, made);
}

void queries(const Member& member) {
  for (const Type& type : member.types)
    for (std::uint32_t seed = 0; seed < 16; ++seed) {
      Draw draw(seed, 1, 300);  // beyond the orders from which LAPACK has blocks
      const auto call = type.draw(draw);
      const auto before = copy_of(*call);
      std::string wrong = call->query();
      if (wrong == "none") return;
      if (wrong.empty()) wrong = strange_writes(*before, *call);
      if (!wrong.empty()) fail("%s, a query: %s", call->describe().c_str(), wrong.c_str());
    }
}

/// Each output in each input's memory, and in each other output's.
void overlap(const Member& member) {
  std::uint64_t hash = 0;
  for (const Type& type : member.types)
    for (std::uint32_t seed = 0; seed < 12 && member.overlap; ++seed)
      for (std::size_t output = 0;; ++output) {
        Draw draw(seed, 9, 20);
        if (output == type.draw(draw)->operands().size()) break;
        for (std::size_t other = 0;; ++other) {
          Draw again(seed, 9, 20);
          const auto call = type.draw(again);
          const std::vector<Operand*> operands = call->operands();
          if (other == operands.size()) break;
          Operand &x = *operands[output], &y = *operands[other];
          const bool of_numbers = x.of_numbers && y.of_numbers;
          if (output == other || x.role != Role::output || y.role == Role::workspace || !of_numbers) continue;
          if (x.empty() || y.empty()) continue;
          // Some libraries read beyond their operands (OpenBLAS's cgemv).
          std::size_t bytes = std::size_t{1} << 16;
          for (const Operand* operand : operands)
            if (operand->of_numbers && operand->role != Role::workspace)
              while (bytes < 2 * static_cast<std::size_t>(operand->ld() * operand->cols()) * operand->element)
                bytes *= 2;
          for (Operand* operand : operands)
            if (!operand->empty() && operand->of_numbers && operand->role != Role::workspace)
              operand->place(std::make_shared<Pages>(bytes, operand->part), 2048, operand->ld());
          for (Operand* operand : operands) operand->fill_all(again);
          const auto room = std::make_shared<Pages>(bytes, x.part);
          x.place(room, 2048, x.ld());
          x.fill_all(again);
          // Of vectors that lie alike, so that elements of one are not between those of the other.
          const std::size_t step =
              x.rows() == 1 && y.rows() == 1 && x.ld() == y.ld() ? static_cast<std::size_t>(x.ld()) : 1;
          y.place(room, 2048 + (seed % 2 ? 3 * step * x.element : 0), y.ld());
          call->restore(again);
          call->make();
          hash = hash_of(*call, hash);
        }
      }
  print_bits(hash);
}

/// Two calls of which each operation fails in turn.
void faults(const Member& member, char precision, std::uint32_t seed, index least, index most) {
  for (const Type& type : member.types) {
    if (type.precision != precision) continue;
    std::vector<std::unique_ptr<Call>> calls;
    for (std::uint32_t i = 0; i < 2; ++i) {
      Draw draw(330 + 2 * seed + i, least, most);
      const auto& call = calls.emplace_back(type.draw(draw));
      std::size_t bytes = 0;
      for (const Operand* x : call->operands())  // integers are not what moves
        bytes += x->role == Role::output && x->of_numbers ? x->bytes_written() : 0;
      std::printf("brings %zu: %s by %s\n", bytes, call->describe().c_str(), name_of(call->via));
    }
    promises::at_every_fault([&] {
      for (const auto& call : calls) make_and_check(*call);
    });
  }
}

/// Until the process ends: memory that is mapped where other memory had copies gets none for a while.
std::unique_ptr<Call>& kept(std::unique_ptr<Call> call) {
  static auto& all = *new std::vector<std::unique_ptr<Call>>;
  return all.emplace_back(std::move(call));
}

#ifdef PROMISES_BRIEF
constexpr bool brief = true;  // under sanitizers, which make every run long
#else
constexpr bool brief = false;
#endif

void again(const Member& member) {
  std::uint64_t hash = 0;
  for (const Type& type : member.types)
    for (std::uint32_t seed = 0; seed < (brief ? 3 : 6); ++seed) {
      Draw draw(seed, 36, 72);
      const auto& call = kept(type.draw(draw));
      for (int round = 0; round < 5; ++round) {
        if (round > 0) {
          for (Operand* x : call->operands()) {
            if (x->role == Role::output) x->fill(draw);
            // Not in the first repetition: that finds all inputs as they were.
            unsigned char* at = x->role == Role::input && round > 1 && draw.below(2) ? some_element(*x, draw) : nullptr;
            if (at) put_number(at, x->part, draw.number());
          }
          call->restore(draw);
        }
        make_and_check(*call);
        hash = hash_of(*call, hash);
      }
    }
  print_bits(hash);
}

struct Area {
  index row, col, rows, cols;
  bool meets(const Area& x) const {
    return row < x.row + x.rows && x.row < row + rows && col < x.col + x.cols && x.col < col + cols;
  }
};

/// The last, or one of those before.
const Area& some_of(const std::vector<Area>& areas, Draw& draw) {
  const int back = draw.below(2) ? 0 : draw.below(std::min(4, int(areas.size())));
  return areas[areas.size() - 1 - static_cast<std::size_t>(back)];
}

/// Puts a call's operands anywhere in an array of that edge, or where others began; outputs meet nothing else.
void place_in(const std::shared_ptr<Pages>& array, index edge, std::vector<Area>& others, Call& call, Draw& draw) {
  std::vector<std::pair<Operand*, Area>> placed;
  for (int attempt = 0; attempt < 10000; ++attempt) {
    placed.clear();
    bool good = true;
    for (Operand* x : call.operands()) {
      // Where a routine knows no leading dimension, an address between columns of a matrix is one in it.
      if (x->role == Role::workspace || x->cols() == 1 || x->empty()) continue;
      const bool column = x->rows() == 1 && x->ld() == 1;  // BLAS's increment of 1
      Area area{0, 0, column ? x->cols() : x->rows(), column ? 1 : x->cols()};
      area.row = draw.below(static_cast<int>(edge - area.rows + 1));
      area.col = draw.below(static_cast<int>(edge - area.cols + 1));
      if (!others.empty() && draw.below(3)) {
        const Area& there = some_of(others, draw);
        if (there.row + area.rows <= edge && there.col + area.cols <= edge) area.row = there.row, area.col = there.col;
      }
      for (const auto& [other, there] : placed)
        good = good && (!area.meets(there) || (x->role == Role::input && other->role == Role::input));
      placed.emplace_back(x, area);
    }
    if (!good) continue;
    for (const auto& [x, area] : placed)
      x->place(array, static_cast<std::size_t>(area.row + area.col * edge) * x->element,
               x->rows() == 1 && x->ld() == 1 ? 1 : edge);
    for (const auto& [x, area] : placed) others.push_back(area);  // outputs come last
    return;
  }
  fail("%s: no room in an array of %ld", call.describe().c_str(), long(edge));
}

const Member& member_of(std::string_view name) {
  const auto at = std::find_if(members().begin(), members().end(), [&](const Member& m) { return m.name == name; });
  if (at == members().end()) std::exit(2);
  return *at;
}

/// What one call has left on the device is another one's operand there, as a whole or in part.
void shared(const Member& member) {
  constexpr index edge = 250;        // columns of a page at most: no page of a block is without a part of it
  constexpr double too_large = 1e6;  // all is filled anew, which leaves no copy good
  for (const Type& type : member.types) {
    const Member& products = member_of("gemm");
    const auto gemm = std::find_if(products.types.begin(), products.types.end(),
                                   [&](const Type& x) { return x.precision == type.precision; });
    std::shared_ptr<Pages> array;
    std::vector<Area> areas;
    for (std::uint32_t seed = 0; seed < (brief ? 18 : 36); ++seed) {
      // A product, or the routine; the routine, perhaps on its result; a product, perhaps with that: with all of it,
      // or, of every other three, with a part.
      const std::uint32_t turn = seed % 3;
      const index size = 36 + seed / 3 * 7 % 36, less = seed / 3 % 4 < 2 ? 0 : 6;
      Draw draw(seed * 37, size - less * turn, size - (turn == 2 ? less : 0));
      draw.tall = false;
      const auto& call = kept((turn == 2 || seed % 6 == 0 ? *gemm : type).draw(draw));
      const std::size_t part = call->operands()[0]->part, element = call->operands()[0]->element;
      if (!array) array = std::make_shared<Pages>(edge * edge * element, part);
      bool refill = seed == 0;
      for (std::size_t at = 0; at < array->size() && !refill; at += part)
        refill = !(std::fabs(number_at(array->begin() + at, part)) < too_large);
      place_in(array, edge, areas, *call, draw);
      if (refill) call->operands()[0]->fill_all(draw);
      // A program writes a column or an element of what was in use.
      for (int writes = draw.below(3); writes > 0; --writes) {
        const Area& there = some_of(areas, draw);
        const index row = there.row + draw.below(int(there.rows)), col = there.col + draw.below(int(there.cols));
        const index last = draw.below(2) ? row : there.row + there.rows - 1;
        for (index at = row + col * edge; at <= last + col * edge; ++at)
          for (std::size_t byte = 0; byte < element; byte += part)
            put_number(array->begin() + static_cast<std::size_t>(at) * element + byte, part, draw.number());
      }
      call->restore(draw);
      make_and_check(*call);
      if (!call->once()) make_and_check(*call);  // now its inputs may have been kept
    }
  }
}

void threads(const Member& member) {
  constexpr int count = 8, rounds = 8;
  constexpr int laps = brief ? 1 : 2;
  std::vector<std::unique_ptr<Call>> calls;
  for (std::uint32_t seed = 0; seed < rounds; ++seed) {
    Draw draw(seed, 40, 80);
    calls.push_back(member.types[seed % member.types.size()].draw(draw));
  }
#ifdef __SANITIZE_THREAD__
  // Entries are not instrumented (api/entry.hpp): it would not see that what they find out about a call's place, and
  // what they read of it, is ordered.
  for (const auto& call : calls) make_and_check(*copy_of(*call));
#endif
  Draw writes(5, 1, 1);
  int round = 0;
  const auto next = [&]() noexcept {
    for (Operand* x : calls[static_cast<std::size_t>(round)]->operands())
      if (unsigned char* at = x->role == Role::input ? some_element(*x, writes) : nullptr)
        put_number(at, x->part, writes.number());
    calls[static_cast<std::size_t>(round)]->restore(writes);
  };
  const auto advance = [&]() noexcept { round = (round + 1) % rounds; };
  std::barrier meet(count, next);
  std::barrier done(count, advance);
  const auto work = [&] {
    for (int i = 0; i < laps * rounds; ++i) {
      meet.arrive_and_wait();
      Call& of_all = *calls[static_cast<std::size_t>(round)];
      const auto call = copy_of(of_all);
      const std::vector<Operand*> own = call->operands(), common = of_all.operands();
      for (std::size_t x = 0; x < own.size(); ++x)
        if (own[x]->role == Role::input && member.shares)
          own[x]->place(common[x]->pages(), common[x]->offset(), common[x]->ld());
      make_and_check(*call);
      done.arrive_and_wait();
    }
  };
  std::vector<std::thread> others;
  for (int number = 0; number < count; ++number) others.emplace_back(work);
  for (std::thread& other : others) other.join();
}

void large(const Member& member, int count, index least, index most) {
  for (const Type& type : member.types)
    for (int i = 0; i < count; ++i) {
      Draw draw(static_cast<std::uint32_t>(i), least, most);
      make_and_check(*type.draw(draw));
    }
}

void list() {
  std::printf("{");
  const char* between = "";
  for (const Member& member : members()) {
    std::printf(
        "%s\n\"%s\": {\"modes\": \"%s\", \"mistake\": \"%s\", \"fault_memory\": \"%s\", \"fault_sizes\": \"%s\", "
        "\"overlap\": %s, "
        "\"moves_outputs\": %s, \"calls_others\": %s, \"in_device_memory\": %s, \"bytes_on_device\": %ld, "
        "\"of_host\": %s, \"dealt\": %s, \"together\": %s, "
        "\"routines\": [",
        between, member.name.c_str(), std::string(member.modes).c_str(), std::string(member.mistake_of_device).c_str(),
        std::string(member.fault_memory).c_str(), std::string(member.fault_sizes).c_str(),
        member.overlap ? "true" : "false", member.moves_outputs ? "true" : "false",
        member.calls_others ? "true" : "false", member.in_device_memory ? "true" : "false",
        long(member.bytes_on_device), member.of_host ? "true" : "false", member.dealt ? "true" : "false",
        member.together ? "true" : "false");
    const char* comma = "";
    for (const Type& type : member.types)
      for (const std::string& routine : type.routines)
        std::printf("%s\"%s\"", std::exchange(comma, ", "), routine.c_str());
    std::printf("]}");
    between = ",";
  }
  std::printf("\n}\n");
}

}  // namespace
}  // namespace suite

int main(int count, char** arguments) {
  using namespace suite;
  const auto argument = [&](int i) { return std::string_view(i < count ? arguments[i] : ""); };
  if (argument(1) == "--list") return list(), 0;
  if (count < 3) return 2;
  const Member& member = member_of(argument(1));
  const auto number = [&](int i) { return i < count ? std::atoi(arguments[i]) : 0; };
  open_libraries();
  constexpr std::pair<const char*, void (*)(const Member&)> aspects[] = {
      {"nothing", nothing}, {"invalid", invalid}, {"queries", queries}, {"overlap", overlap},
      {"again", again},     {"shared", shared},   {"threads", threads}};
  for (const auto& [name, aspect] : aspects)
    if (argument(2) == name && count == 3) return aspect(member), promises::verdict_of_calls();
  if (argument(2) == "semantics" && count == 4) return semantics(member, number(3)), promises::verdict_of_calls();
  if (argument(2) == "large" && count == 4) return large(member, number(3), 40, 80), promises::verdict_of_calls();
  if (argument(2) == "large" && count == 5)
    return large(member, number(3), number(4), number(4) + number(4) / 10), promises::verdict_of_calls();
  if (argument(2) == "faults" && count == 7)
    return faults(member, argument(3)[0], static_cast<std::uint32_t>(number(4)), number(5), number(6)),
           promises::verdict_of_calls();
  return 2;
}
