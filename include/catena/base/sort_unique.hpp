// Lists as sets.
#pragma once

#include <algorithm>

namespace catena {

/// Sorts a list and drops what stands in it more than once.
void sort_unique(auto& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace catena
