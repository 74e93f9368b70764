// Rows from all ranks, dealt in one global order: what makes files independent of ownership.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "io/hdf5_file.hpp"

namespace catena {

namespace detail {

template <class T>
std::vector<T> from_bytes(std::span<const std::byte> bytes) {
  std::vector<T> items(bytes.size() / sizeof(T));
  if (!items.empty()) std::memcpy(items.data(), bytes.data(), bytes.size());
  return items;
}

}  // namespace detail

/// Collective. Sorts the rows of all ranks by `less` (a total order on rows that are all
/// different) and leaves each rank a contiguous part of about equal length; `range` says
/// which. Splitters come from O(ranks) samples of each rank.
template <class Row, class Less>
std::vector<Row> order_rows(const Communicator& comm, std::vector<Row> rows, Less less,
                            hdf5::RowRange& range) {
  static_assert(std::is_trivially_copyable_v<Row>);
  std::sort(rows.begin(), rows.end(), less);
  const auto n_ranks = static_cast<std::size_t>(comm.size());
  if (n_ranks > 1) {
    std::vector<Row> samples;
    const std::size_t n_samples = std::min<std::size_t>(rows.size(), 16);
    for (std::size_t k = 0; k < n_samples; ++k)
      samples.push_back(rows[k * rows.size() / n_samples]);
    samples = detail::from_bytes<Row>(comm.all_gather_bytes(std::as_bytes(std::span(samples))));
    std::sort(samples.begin(), samples.end(), less);

    std::vector<Parcel> parcels;
    std::size_t begin = 0;
    for (std::size_t r = 0; r < n_ranks; ++r) {
      std::size_t end = rows.size();
      if (r + 1 < n_ranks && !samples.empty()) {
        const Row& splitter = samples[(r + 1) * samples.size() / n_ranks];
        end = static_cast<std::size_t>(std::lower_bound(rows.begin(), rows.end(), splitter, less) -
                                       rows.begin());
      }
      const auto bytes = std::as_bytes(std::span(rows).subspan(begin, end - begin));
      if (!bytes.empty()) parcels.push_back({static_cast<int>(r), {bytes.begin(), bytes.end()}});
      begin = end;
    }
    rows.clear();
    for (const Parcel& parcel : comm.exchange(std::move(parcels))) {
      const std::vector<Row> part = detail::from_bytes<Row>(parcel.bytes);
      rows.insert(rows.end(), part.begin(), part.end());
    }
    std::sort(rows.begin(), rows.end(), less);
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  range.count = rows.size();
  range.first = static_cast<std::uint64_t>(comm.exclusive_sum(count));
  range.total = static_cast<std::uint64_t>(comm.sum(count));
  return rows;
}

/// Collective. Of two rows with one id keeps the first; rows are ordered by id over all ranks.
template <class Row>
void drop_doubles(const Communicator& comm, std::vector<Row>& rows, hdf5::RowRange& range) {
  const std::array<std::int64_t, 1> last = {rows.empty() ? -1 : rows.back().id};
  const std::vector<std::int64_t> all = comm.all_gather(last);
  std::int64_t before = -1;  // of the ranks before: ids ascend over them
  for (int rank = 0; rank < comm.rank(); ++rank)
    before = std::max(before, all[static_cast<std::size_t>(rank)]);
  std::erase_if(rows, [&](const Row& row) {
    const bool doubled = row.id == before;
    before = row.id;
    return doubled;
  });
  const auto count = static_cast<std::int64_t>(rows.size());
  range.count = rows.size();
  range.first = static_cast<std::uint64_t>(comm.exclusive_sum(count));
  range.total = static_cast<std::uint64_t>(comm.sum(count));
}

}  // namespace catena
