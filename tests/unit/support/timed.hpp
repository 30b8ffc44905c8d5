// A lane that computes nothing and says how long a device would take: with a bus each way, two streams beside each
// other, and whatever surveys are to find.
#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#include "kernels/backend.hpp"

namespace blaslift {

struct TimedDevice {
  double flops, bytes, in, out;  ///< a second
  double step = 5e-6;            ///< seconds of anything besides
  double latency = 40e-6;        ///< until the host knows that something has landed
};

/// Time passes while the caller waits: asking for what comes after an upload waits until all of that has been handed to
/// the device, a little before its end.  Transfers move one after the other.  What is in both streams shares the
/// device: a product and another one beside it take as long as one after the other.
class Timed final : public Lane {
 public:
  explicit Timed(const TimedDevice& device) : device_(device) {}

  /// What a survey finds, by the device's address of its block: the largest magnitude.
  std::function<double(const Survey&)> finds = [](const Survey&) { return 1.0; };
  index notes = 0;  ///< numbers that surveys note, GemmSchedule's: all that is there of the operands' memory

  Status upload(const Transfer& t, After after) override {
    if (t.ldd == notes)
      std::memcpy(t.device, t.host, static_cast<std::size_t>(t.rows) * t.element);  // zeros for what surveys note
    else
      bytes_in += bytes(t);
    return add(in_, after, device_.step + bytes(t) / device_.in, nullptr, &uploads);
  }
  Status ask(const Operation& operation, After after) override {
    return operation.visit([&](const auto& x) { return ask_for(x, after); });
  }
  Status ask_for(const Gemm& g, After after) {
    const double own = 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
    flops += own;
    last_product = now;
    return compute(g.stream, after, device_.step + own / device_.flops);
  }
  Status ask_for(const Combination& c, After after) {
    const double size =
        static_cast<double>(c.rows) * static_cast<double>(c.cols) * static_cast<double>(element_size(c.precision));
    return compute(c.stream, after, device_.step + (c.sources + c.targets) * size / device_.bytes);
  }
  Status ask_for(const Survey& s, After after) {
    const double found = finds(s);
    const auto raise = [found](auto* at, index count) {
      for (index i = 0; i < count; ++i) at[i] = std::max(at[i], static_cast<std::decay_t<decltype(*at)>>(found));
    };
    const auto raise_all = [&](auto* rows, auto* cols) { raise(rows, s.rows), raise(cols, s.cols); };
    if (s.precision == Precision::s)
      raise_all(static_cast<float*>(s.row_max), static_cast<float*>(s.col_max));
    else
      raise_all(static_cast<double*>(s.row_max), static_cast<double*>(s.col_max));
    const double size =
        static_cast<double>(s.rows) * static_cast<double>(s.cols) * static_cast<double>(element_size(s.precision));
    return compute(s.stream, after, device_.step + size / device_.bytes);
  }
  template <class Other>
  Status ask_for(const Other&, After) {
    return Status::lost;
  }
  Status download(const Transfer& t, After after, std::atomic<bool>& landed) override {
    if (t.ldd == notes)
      std::memcpy(t.host, t.device, static_cast<std::size_t>(t.rows) * t.element);
    else
      bytes_out += bytes(t);
    return add(out_, after, device_.step + bytes(t) / device_.out, &landed, nullptr);
  }
  bool started(Ticket upload) override { return operations_.at(static_cast<std::size_t>(upload)).handed <= now; }
  Status await(const std::atomic<bool>& landed) override {
    for (const Asked& x : operations_)
      if (x.landed == &landed) pass(x.end + device_.latency);
    return landed ? Status::done : Status::lost;
  }
  void abandon() override {}
  Status drain() override {
    for (const Asked& x : operations_) pass(x.end);
    return Status::done;
  }

  double now = 0;    ///< seconds since the call
  double flops = 0;  ///< asked for
  double bytes_in = 0, bytes_out = 0;
  double last_product = 0;  ///< when it was asked for
  int uploads = 0;

 private:
  struct Asked {
    double handed, end;
    bool is_upload;
    std::atomic<bool>* landed;
  };
  static double bytes(const Transfer& t) {
    return static_cast<double>(t.rows) * static_cast<double>(t.cols) * static_cast<double>(t.element);
  }
  Status compute(int stream, After after, double seconds) {
    for (int i = 0; i < after.count; ++i) {
      const Asked& x = operations_.at(static_cast<std::size_t>(after.tickets[i]));
      if (x.is_upload) pass(x.handed);
    }
    return add(streams_[stream], after, seconds, nullptr, nullptr);
  }
  Status add(double& queue, After after, double seconds, std::atomic<bool>* landed, int* count) {
    double begin = std::max(now, queue);
    for (int i = 0; i < after.count; ++i)
      begin = std::max(begin, operations_.at(static_cast<std::size_t>(after.tickets[i])).end);
    const bool computes = !landed && !count;
    if (computes) {
      // The other stream's work fills the device until then.
      const double other = std::max(busy_, begin);
      queue = begin + seconds;
      busy_ = other + seconds;
      queue = std::max(queue, busy_);
    } else {
      queue = begin + seconds;
    }
    if (landed)
      for (Asked& x : operations_)
        if (x.landed == landed) x.landed = nullptr;  // a flag that is used again
    constexpr double last_slots = 2e-4;
    operations_.push_back({std::max(begin, queue - last_slots), queue, count != nullptr, landed});
    if (count) ++*count;
    now += 2e-6;
    pass(now);
    return Status::done;
  }
  void pass(double until) {
    now = std::max(now, until);
    for (Asked& x : operations_)
      if (x.landed && x.end + device_.latency <= now) x.landed->store(true);
  }

  const TimedDevice device_;
  double in_ = 0, out_ = 0, streams_[2] = {}, busy_ = 0;
  std::vector<Asked> operations_;
};

}  // namespace blaslift
