// Members of rows as columns for datasets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

namespace catena {

/// One member of every row, one after the other.
template <class Value, class Row, class Get>
std::vector<Value> column(const std::vector<Row>& rows, Get get) {
  std::vector<Value> values;
  for (const Row& row : rows) {
    const auto& item = get(row);
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(item)>>) {
      values.reserve(rows.size());
      values.push_back(static_cast<Value>(item));
    } else {
      values.reserve(rows.size() * static_cast<std::size_t>(std::size(item)));
      values.insert(values.end(), std::begin(item), std::end(item));
    }
  }
  return values;
}

/// Strings of equal length for a dataset; `length` is the same on all ranks.
template <class Row, class Get>
std::vector<char> text_column(const std::vector<Row>& rows, std::size_t length, Get get) {
  std::vector<char> text(rows.size() * length, '\0');
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string item = get(rows[i]);
    std::copy_n(item.begin(), std::min(item.size(), length),
                text.begin() + static_cast<std::ptrdiff_t>(i * length));
  }
  return text;
}

}  // namespace catena
