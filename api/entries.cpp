#include "api/entries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace blaslift {
namespace {

template <class R>
double told_size(std::int64_t size) {
  const R told = static_cast<R>(size);
  return static_cast<double>(told) < static_cast<double>(size) ? std::nextafter(told, std::numeric_limits<R>::max())
                                                               : told;
}

struct RaiseTold final : signatures::Visitor {
  void workspace(const char*, signatures::Pointer at, index&, signatures::Asked<index> least) override {
    if (const Integers* const told = at.integers())
      told->set(0, std::max(told->get(0), least()));
    else
      raise_told(at.first(), least());
  }
};

}  // namespace

void raise_told(signatures::Scalar told, std::int64_t size) {
  const bool single = told.precision == Precision::s || told.precision == Precision::c;
  const double least = single ? told_size<float>(size) : told_size<double>(size);
  if (told.real() < least) told.set(least, 0);
}

void raise_told(signatures::Described call) { call.show(RaiseTold()); }

void finish(const Site& site, const signatures::Description& description, const CallWords& words,
            const Computed& computed) {
  const Places& places = description.fortran;
  if (places.workspace_count > 0 && computed == Computed::yes) {
    static constexpr std::int64_t asks = -1;  // in 32 bits, too
    CallWords query = words;
    for (int i = 0; i < places.workspace_count; ++i) query.set(places.workspaces[i].size, &asks);
    signatures::call_words(site.function, places, query);
  }
  set_integer(site, words.address<void>(places.status), computed.info);
}

}  // namespace blaslift
