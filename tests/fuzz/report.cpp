// Traces and counters: a valid file in which any bytes are others.  The input is a list of such bytes: where, how many,
// which; with nearly all of a file zero, libFuzzer would seldom find what matters in one.
#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "compat/shown.hpp"
#include "impl/observe/trace.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tools/cli/launch/counters_file.hpp"
#include "tools/cli/report/analysis.hpp"
#include "tools/cli/report/page.hpp"
#include "tools/cli/report/report_text.hpp"
#include "tools/cli/report/timeline.hpp"

using namespace blaslift;

namespace {

constexpr std::size_t event_count = 10;

/// A trace as a process leaves it: of each routine some calls, on either side.
std::string good_trace() {
  std::string bytes(Recording::events_at() + event_count * sizeof(TraceEvent), '\0');
  const auto r = std::make_unique<Recording>();
  Counters& c = r->counters;
  c.layout = Counters::this_layout;
  c.pid = 4711, c.parent = 1;
  c.started_ns = 1700000000000000000, c.now_ns = 1000000000, c.last_ns = 3000000000;
  std::strcpy(c.command, "solver");
  c.backend.set("cuda"), c.device.set("NVIDIA H100"), c.driver.set("CUDA 13.0"), c.residency.set("on");
  c.library.set("/usr/lib/libblas.so.3");
  c.threads = 1;
  for (int i = 0; i < routine_count; ++i) {
    c.routines[i].routed = 3;
    c.routines[i].stayed[i % reason_count] = 4;
    c.routines[i].stayed_ns[i % reason_count] = 5000000, c.routines[i].device_ns = 600000,
                                c.routines[i].bytes_in = 70000;
    c.slots[0].forwarded[i] = 1;
    c.checks[i].checked = 2;
  }
  for (NotedCall& call : c.worst) {
    call.routine = Routine::dgemm, call.ratio = 9, call.limit = 8, call.findings = 1, call.calls = 2;
    std::strcpy(call.arguments, "m=3 n=4 k=5"), std::strcpy(call.caller, "solver+0x1a");
    call.complete = 1;
  }
  r->layout = Recording::this_layout;
  std::strcpy(r->host, "node1"), std::strcpy(r->arguments, "./solver input.dat");
  r->guessed_profile.set("dgemm_rate 5e13\nin_rate 5e10\n");
  r->profile.set(
      "dgemm_rate 5e13\ndgemm_leaf_rate 512 1e13\ndgemm_leaf_rate 4096 5e13\npass_rate 2e12\nstep_seconds 1e-6\n");
  r->claimed = event_count;
  std::memcpy(bytes.data(), static_cast<void*>(r.get()), sizeof *r);
  for (std::size_t i = 0; i < event_count; ++i) {
    TraceEvent e{};
    e.complete = 1, e.thread = 1 + i % 3;
    e.begin_ns = 1000000000 + 1000000 * i, e.end_ns = e.begin_ns + (i % 5 == 0 ? 9000000 : 800000), e.own_ns = 700000;
    e.m = 500, e.n = 400, e.k = 300, e.flops = 1.2e8;
    e.bytes_in = 1000000, e.bytes_out = 500000;
    e.transfers = {e.begin_ns + 10, e.begin_ns + 90000, e.begin_ns + 50000, e.begin_ns + 200000};
    e.cpu_seconds = 1e-3f, e.device_seconds = 1e-4f;
    e.routine = static_cast<Routine>(i % routine_count);
    e.what = i == 1 ? Traced::opening : i % 2 ? Traced::on_device : Traced::on_cpu;
    e.reason = i % 2 ? Reason::faster : Reason::transfers;
    e.computed = i % 7 != 3;
    std::memcpy(&bytes[Recording::events_at() + i * sizeof e], static_cast<void*>(&e), sizeof e);
  }
  return bytes;
}

/// The folder of the trace, and the trace that lies in it.
struct Folder {
  const std::string good = good_trace();
  std::string path = "/dev/shm/blaslift-fuzz-XXXXXX", file;
  int fd = -1;

  Folder() {
    if (!mkdtemp(path.data())) {
      path = "./blaslift-fuzz-XXXXXX";
      fuzz::expect(mkdtemp(path.data()) != nullptr);
    }
    file = path + "/1.0";
    fd = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    write_at(0, good);
  }
  ~Folder() {
    unlink(file.c_str());
    rmdir(path.c_str());
  }
  void write_at(std::size_t at, std::string_view bytes) {
    fuzz::expect(pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at)) == static_cast<ssize_t>(bytes.size()));
  }
};

/// Where things stand, so that a byte of the input picks one of them.
constexpr std::size_t places[] = {
    0,
    offsetof(Counters, started_ns),
    offsetof(Counters, now_ns),
    offsetof(Counters, last_ns),
    offsetof(Counters, forwarded_reason),
    offsetof(Counters, command),
    offsetof(Counters, backend),
    offsetof(Counters, device),
    offsetof(Counters, driver),
    offsetof(Counters, detail),
    offsetof(Counters, warning),
    offsetof(Counters, residency),
    offsetof(Counters, library),
    offsetof(Counters, routines),
    offsetof(Counters, routines) + sizeof(RoutineCounters),
    offsetof(Counters, sizes),
    offsetof(Counters, offloadable_ns),
    offsetof(Counters, checks),
    offsetof(Counters, worst),
    offsetof(Counters, worst) + offsetof(NotedCall, routine),
    offsetof(Counters, worst) + offsetof(NotedCall, ratio),
    offsetof(Counters, worst) + offsetof(NotedCall, arguments),
    offsetof(Counters, worst) + sizeof(NotedCall),
    offsetof(Counters, verify_problem),
    offsetof(Counters, threads),
    offsetof(Counters, slots),
    offsetof(Recording, layout),
    offsetof(Recording, host),
    offsetof(Recording, arguments),
    offsetof(Recording, claimed),
    offsetof(Recording, dropped),
    offsetof(Recording, guessed_profile),
    offsetof(Recording, profile),
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Folder folder;
  // Each change: a place (the first bit: of an event, or in front of them), bytes behind it (two), a length, the bytes.
  struct Change {
    std::size_t at, bytes;
  };
  std::vector<Change> changes;
  bool cut = false;
  const std::size_t kind = size % 3;
  while (size >= 4) {
    const std::size_t place = data[0], further = data[1] | data[2] << 8, wanted = data[3] & 0x3f;
    const bool of_event = place & 0x80;
    std::size_t at = of_event ? Recording::events_at() + (place & 0x7f) % event_count * sizeof(TraceEvent) +
                                    further % sizeof(TraceEvent)
                              : places[(place & 0x7f) % std::size(places)] + further % 2048;
    cut = cut || data[3] == 0xff;
    data += 4, size -= 4;
    const std::size_t bytes =
        std::min<std::size_t>({wanted, size, folder.good.size() - std::min(at, folder.good.size())});
    at = std::min(at, folder.good.size());
    folder.write_at(at, fuzz::text_of(data, bytes));
    changes.push_back({at, bytes});
    data += bytes, size -= bytes;
  }
  if (cut && !changes.empty()) fuzz::expect(ftruncate(folder.fd, static_cast<off_t>(changes.back().at)) == 0);
  if (const Counters* c = cli::read_counters(folder.file)) {
    Summary summary;
    summary.add(*c);
    (void)to_text(summary);
    (void)to_json(summary, c);
    munmap(const_cast<Counters*>(c), sizeof *c);
  }
  try {
    cli::ReadRecording run = cli::read_recording(folder.path);
    // One of them each time, since they take longest.
    if (kind == 0) {
      std::ostringstream timeline;
      cli::write_timeline(run, timeline);
    }
    const cli::Analysis analysis = cli::analyse(std::move(run));
    if (kind == 1) {
      const std::string text = cli::report_text(analysis);
      fuzz::expect(text == shown_lines(text));
      (void)cli::to_json(analysis);
    }
    if (kind == 2) (void)cli::report_page(analysis);
  } catch (const std::runtime_error&) {
  }
  if (cut) folder.write_at(0, folder.good);
  for (const Change& change : changes)
    folder.write_at(change.at, std::string_view(folder.good).substr(change.at, change.bytes));
  return 0;
}
