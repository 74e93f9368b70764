// Ids in one case of what has other ids in another one.
#pragma once

#include <algorithm>
#include <vector>

#include "catena/base/index.hpp"

namespace catena {

/// Ranges of ids before and the same things' ids now. Memory O(ranges).
class IdMap {
 public:
  /// Ids before .. before+count-1 are now .. now+count-1 now; ranges do not overlap.
  void add(GlobalId before, GlobalId count, GlobalId now) {
    if (count <= 0) return;
    const auto insert = [](std::vector<Range>& list, const Range& range) {
      list.insert(std::ranges::upper_bound(list, range.first, {}, &Range::first), range);
    };
    insert(from_before_, {before, count, now});
    insert(from_now_, {now, count, before});
  }
  bool empty() const { return from_before_.empty(); }
  /// kNoBody: it is not there now.
  GlobalId now_of(GlobalId before) const { return other(from_before_, before); }
  /// kNoBody: it was not there before.
  GlobalId before_of(GlobalId now) const { return other(from_now_, now); }
  /// Calls visit(a, b) for all longest ranges a .. b-1 in first .. last-1 that were not there
  /// before.
  template <class Visit>
  void for_each_new(GlobalId first, GlobalId last, const Visit& visit) const {
    for (const Range& range : from_now_) {
      if (range.first + range.count <= first) continue;
      const GlobalId end = std::min(range.first, last);
      if (first < end) visit(first, end);
      first = std::max(first, range.first + range.count);
    }
    if (first < last) visit(first, last);
  }

 private:
  struct Range {
    GlobalId first, count, other;
  };
  static GlobalId other(const std::vector<Range>& list, GlobalId id) {
    const auto after = std::ranges::upper_bound(list, id, {}, &Range::first);
    if (after == list.begin()) return kNoBody;
    const Range& range = *(after - 1);
    return id < range.first + range.count ? range.other + (id - range.first) : kNoBody;
  }
  std::vector<Range> from_before_, from_now_;  ///< ascending
};

}  // namespace catena
