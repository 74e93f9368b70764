// Members of rows as columns for datasets, made piece by piece while they are written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "io/hdf5/file.hpp"

namespace catena {

/// One member of every row, one after the other. Refers to `rows`.
template <class Value, class Row, class Get>
hdf5::Pieces<Value> column(const std::vector<Row>& rows, Get get) {
  return [&rows, get](std::uint64_t first, std::span<Value> values) {
    auto row = rows.begin() + first;
    for (auto value = values.begin(); value != values.end(); ++row) {
      const auto& item = get(*row);
      if constexpr (std::is_arithmetic_v<std::decay_t<decltype(item)>>) {
        *value++ = static_cast<Value>(item);
      } else {
        value = std::copy(std::begin(item), std::end(item), value);
      }
    }
  };
}

/// Strings of equal length for a dataset; `length` is the same on all ranks. Refers to `rows`.
template <class Row, class Get>
hdf5::Pieces<char> text_column(const std::vector<Row>& rows, std::size_t length, Get get) {
  return [&rows, get, length](std::uint64_t first, std::span<char> text) {
    std::fill(text.begin(), text.end(), '\0');
    for (std::size_t i = 0; i * length < text.size(); ++i) {
      const std::string item = get(rows[first + i]);
      std::copy_n(item.begin(), std::min(item.size(), length), text.begin() + (i * length));
    }
  };
}

}  // namespace catena
