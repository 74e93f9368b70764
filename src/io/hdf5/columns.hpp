// Members of rows as columns for datasets, made piece by piece while they are written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
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
      const auto& item = std::invoke(get, *row);
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

/// Writes members of rows as datasets of one group: this rank's `rows` are at `range` of all.
template <class Row>
class ColumnWriter {
 public:
  ColumnWriter(hdf5::File& file, std::string group, const std::vector<Row>& rows,
               const hdf5::RowRange& range)
      : file_(file), group_(std::move(group) + "/"), rows_(rows), range_(range) {}

  /// `get`: a member or a function of a row, a number or an array of fixed size.
  template <class Get>
  void numbers(const char* name, const char* unit, Get get) const {
    using Item = std::decay_t<std::invoke_result_t<Get, const Row&>>;
    if constexpr (std::is_arithmetic_v<Item>)
      write<Item>(name, unit, 0, get);
    else
      write<typename Item::value_type>(name, unit, sizeof(Item) / sizeof(typename Item::value_type),
                                       get);
  }
  /// As text_column.
  template <class Get>
  void text(const char* name, std::size_t length, Get get) const {
    file_.write_text_rows(group_ + name, text_column(rows_, length, get), length, range_);
  }

 private:
  template <class Number, class Get>
  void write(const char* name, const char* unit, std::uint64_t width, Get get) const {
    using Value = std::conditional_t<std::is_integral_v<Number>, std::int64_t, double>;
    file_.write_rows(group_ + name, column<Value>(rows_, get), range_, width, unit);
  }

  hdf5::File& file_;
  std::string group_;
  const std::vector<Row>& rows_;
  const hdf5::RowRange& range_;
};

}  // namespace catena
