// A rank's part of rows that all ranks have together.
#pragma once

#include <cstdint>

namespace catena {

/// `count` rows from `first` on, of `total`.
struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t total = 0;
};

}  // namespace catena
