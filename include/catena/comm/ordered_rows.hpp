// Rows from all ranks, dealt in one global order: what makes files and ids independent of
// ownership.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/comm/row_range.hpp"
#include "catena/comm/typed_exchange.hpp"

namespace catena {

namespace detail {

/// Rows in the order of their keys, by a sort of the keys: rows are large.
template <class Key>
struct Place {
  Key key;
  std::size_t row = 0;
};

/// Where the rows stand in the order of their keys.
template <class Row, class KeyOf>
auto sorted_places(const std::vector<Row>& rows, KeyOf key_of) {
  std::vector<Place<decltype(key_of(rows[0]))>> places(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) places[k] = {key_of(rows[k]), k};
  std::ranges::sort(places, [](const auto& a, const auto& b) { return a.key < b.key; });
  return places;
}

/// Joins sorted runs of rows to one, behind what is in `rows`.
template <class Row, class KeyOf>
void merge_runs(const std::vector<Parcel>& parcels, KeyOf key_of, std::vector<Row>& rows) {
  struct Run {
    Row row;
    Unpacker rest;
  };
  const auto later = [&](const Run& a, const Run& b) { return key_of(b.row) < key_of(a.row); };
  const auto advance = [](Run& run) {
    if (run.rest.empty()) return false;
    run.row = run.rest.template get<Row>();
    return true;
  };
  std::vector<Run> runs;  // a heap, the run with the smallest row on top
  for (const Parcel& parcel : parcels) {
    Run run{{}, Unpacker(parcel.bytes)};
    if (advance(run)) runs.push_back(run);
  }
  std::make_heap(runs.begin(), runs.end(), later);
  while (!runs.empty()) {
    std::pop_heap(runs.begin(), runs.end(), later);
    Run run = runs.back();
    runs.pop_back();
    // as long as this run has the smallest row there is nothing to reorder
    bool more = true;
    while (more && (runs.empty() || !later(run, runs.front()))) {
      rows.push_back(run.row);
      more = advance(run);
    }
    if (!more) continue;
    runs.push_back(run);
    std::push_heap(runs.begin(), runs.end(), later);
  }
}

/// Where the parts of all ranks begin and end among the sorted places: part p is
/// cuts[p] .. cuts[p + 1]. Collective: splitters are the same on every rank.
template <class Key>
std::vector<std::size_t> cut_places(const Communicator& comm, const std::vector<Place<Key>>& places,
                                    std::size_t parts, std::size_t total) {
  // some for every part, from each rank as it has rows: parts are then equal to a few percent
  const std::size_t share = total == 0 ? 0 : (32 * parts * places.size() + total - 1) / total;
  const std::size_t n_samples = std::min(places.size(), share);
  std::vector<Key> samples;
  for (std::size_t k = 0; k < n_samples; ++k)
    samples.push_back(places[k * places.size() / n_samples].key);
  samples = all_gather_values(comm, samples);
  std::sort(samples.begin(), samples.end());

  std::vector<std::size_t> cuts(parts + 1, places.size());
  cuts[0] = 0;
  if (samples.empty()) return cuts;
  for (std::size_t p = 1; p < parts; ++p) {
    const auto cut =
        std::lower_bound(places.begin(), places.end(), samples[p * samples.size() / parts],
                         [](const auto& place, const Key& key) { return place.key < key; });
    cuts[p] = cut - places.begin();
  }
  return cuts;
}

}  // namespace detail

/// Collective. Sorts the rows of all ranks by key_of(row), which is different for all of them, and
/// leaves each rank a contiguous part of about equal length; `range` says which. Rows travel in
/// rounds of some MB for each rank, from the smallest to the largest key of its part: buffers stay
/// in use from round to round, where those for all at once would be fresh pages. Splitters come
/// from O(ranks x rounds) samples.
template <class Row, class KeyOf>
std::vector<Row> order_rows(const Communicator& comm, std::vector<Row> rows, KeyOf key_of,
                            RowRange& range) {
  using Key = decltype(key_of(rows[0]));
  // Eigen's fixed-size types have copies of their own, which copy bytes
  static_assert(std::is_trivially_destructible_v<Row> && std::is_trivially_copyable_v<Key>);
  constexpr std::size_t kRound = std::size_t{2} << 20;  // bytes
  const auto n_ranks = comm.size();
  const std::size_t total = comm.sum(std::ssize(rows));
  const std::size_t mean = total / n_ranks;
  const std::size_t rounds = std::clamp<std::size_t>(mean * sizeof(Row) / kRound, 1, 1024);

  const auto places = detail::sorted_places(rows, key_of);
  const std::vector<std::size_t> cuts = detail::cut_places(comm, places, n_ranks * rounds, total);
  std::vector<Row> ordered;
  ordered.reserve(mean + mean / 8 + 1);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<Parcel> parcels;
    for (Index r = 0; r < n_ranks; ++r) {
      const std::size_t begin = cuts[r * rounds + round], end = cuts[r * rounds + round + 1];
      if (begin == end) continue;
      Packer out((end - begin) * sizeof(Row));
      for (std::size_t k = begin; k < end; ++k) out.put(rows[places[k].row]);
      parcels.push_back({narrow<int>(r), out.take()});
    }
    detail::merge_runs(comm.exchange(std::move(parcels)), key_of, ordered);
  }
  const auto count = std::ssize(ordered);
  range.count = ordered.size();
  range.first = static_cast<std::uint64_t>(comm.exclusive_sum(count));
  range.total = total;
  return ordered;
}

/// Collective. Of two rows with one id keeps the first; rows are ordered by id over all ranks.
template <class Row>
void drop_doubles(const Communicator& comm, std::vector<Row>& rows, RowRange& range) {
  const std::array<std::int64_t, 1> last = {rows.empty() ? -1 : rows.back().id};
  const std::vector<std::int64_t> all = comm.all_gather(last);
  std::int64_t before = -1;  // of the ranks before: ids ascend over them
  for (int rank = 0; rank < comm.rank(); ++rank) before = std::max(before, all[rank]);
  std::erase_if(rows, [&](const Row& row) {
    const bool doubled = row.id == before;
    before = row.id;
    return doubled;
  });
  const auto count = std::ssize(rows);
  range.count = rows.size();
  range.first = static_cast<std::uint64_t>(comm.exclusive_sum(count));
  range.total = static_cast<std::uint64_t>(comm.sum(count));
}

}  // namespace catena
