// Places of ids in a list.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "catena/base/index.hpp"

namespace catena {

/// Finds ids of a list: a table where they lie close together, else by bisection.
class IdIndex {
 public:
  template <class IdOf>
  IdIndex(std::size_t n, IdOf id_of) {
    if (n == 0) return;
    GlobalId highest = id_of(0);
    lowest_ = highest;
    for (std::size_t i = 1; i < n; ++i) {
      lowest_ = std::min(lowest_, id_of(i));
      highest = std::max(highest, id_of(i));
    }
    if (highest - lowest_ < kSparse * static_cast<GlobalId>(n)) {
      table_.assign(highest - lowest_ + 1, kNoIndex);
      for (std::size_t i = 0; i < n; ++i) {
        table_[id_of(i) - lowest_] = to_index(i);
      }
      return;
    }
    sorted_.reserve(n);
    for (std::size_t i = 0; i < n; ++i) sorted_.emplace_back(id_of(i), to_index(i));
    std::sort(sorted_.begin(), sorted_.end());
  }
  /// An index of items with a member `id`.
  template <class Item>
  explicit IdIndex(const std::vector<Item>& items)
      : IdIndex(items.size(), [&items](std::size_t i) { return items[i].id; }) {}

  /// kNoIndex where it is not in the list.
  Index find(GlobalId id) const {
    if (!table_.empty()) {
      const bool inside = id >= lowest_ && id - lowest_ < static_cast<GlobalId>(table_.size());
      return inside ? table_[id - lowest_] : kNoIndex;
    }
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair(id, Index{0}));
    return at != sorted_.end() && at->first == id ? at->second : kNoIndex;
  }

 private:
  static constexpr GlobalId kSparse = 8;  ///< ids per place, up to which a table is made

  GlobalId lowest_ = 0;
  std::vector<Index> table_;
  std::vector<std::pair<GlobalId, Index>> sorted_;
};

}  // namespace catena
