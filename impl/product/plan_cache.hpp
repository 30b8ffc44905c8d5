// Plans: schedules of products that were made lately, for programs that repeat a product.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "impl/product/product_plan.hpp"
#include "impl/strassen/strassen.hpp"

namespace blaslift {

/// All that such a schedule follows from, where nothing of an operand that is on the device is missing there.
struct PlanKey {
  Precision precision{};
  index m = 0, n = 0, k = 0;
  bool transposed_a = false, transposed_b = false, reads_c = false;
  bool whole[3] = {}, in_place[3] = {};  ///< A, B, C
  const strassen::Level* list;
  int levels;
  index tile;
  index head;  ///< of k, in front of the rest
  std::size_t room, piece;
  Part part = Part::whole;
  Update update = Update::rank_k;
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

/// The last few.  By any thread.
class Plans {
 public:
  using Plan = std::shared_ptr<const GemmSchedule>;

  /// The plan for the key: one made before, or what `make` returns.
  Plan get(const PlanKey& key, const std::function<Plan()>& make);

 private:
  struct Entry {
    PlanKey key;
    Plan plan;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;  ///< the last used one last
};

}  // namespace blaslift
