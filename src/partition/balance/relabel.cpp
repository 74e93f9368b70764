#include <algorithm>
#include <tuple>

#include "catena/comm/typed_exchange.hpp"
#include "catena/partition/assignment.hpp"
#include "catena/partition/balance.hpp"

namespace catena {

namespace {

/// Parts up to which the best numbering is found; beyond, its n^3 operations take longer than the
/// bodies that it spares.
constexpr int kMaxOptimal = 512;

// How many bodies of a new part lie on a rank now.
struct Overlap {
  std::int64_t count = 0;
  std::int32_t part = 0;
  std::int32_t rank = 0;
};

bool larger(const Overlap& a, const Overlap& b) {
  return std::tuple(-a.count, a.part, a.rank) < std::tuple(-b.count, b.part, b.rank);
}

// The overlaps of this rank; of many parts the largest ones, few enough that rank 0 holds
// O(n_parts + ranks) of all.
std::vector<Overlap> overlaps_of(std::span<const int> part, int n_parts, int rank, int n_ranks) {
  std::vector<int> sorted(part.begin(), part.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<Overlap> overlaps;
  for (const int p : sorted) {
    if (overlaps.empty() || overlaps.back().part != p) overlaps.push_back({0, p, rank});
    ++overlaps.back().count;
  }
  if (n_parts <= kMaxOptimal) return overlaps;
  std::sort(overlaps.begin(), overlaps.end(), larger);
  constexpr int kSpare = 8;
  const std::size_t most = kSpare * ((n_parts + n_ranks - 1) / n_ranks + 1);
  if (overlaps.size() > most) overlaps.resize(most);
  return overlaps;
}

// New number of each part so that the most bodies stay: each number belongs to a rank.
std::vector<std::int32_t> best_numbers(const std::vector<Overlap>& overlaps, int n_parts,
                                       int n_ranks) {
  const std::size_t n = n_parts;
  std::vector<std::vector<std::size_t>> numbers(n_ranks);
  for (int p = 0; p < n_parts; ++p) {
    numbers[rank_of_part(p, n_parts, n_ranks)].push_back(p);
  }
  std::vector<std::int64_t> stays(n * n, 0);
  for (const Overlap& overlap : overlaps) {
    for (const std::size_t number : numbers[overlap.rank]) {
      stays[Offset{overlap.part} * n + number] = overlap.count;
    }
  }
  const std::vector<int> number = largest_assignment(stays, n_parts);
  return {number.begin(), number.end()};
}

// The same for many parts: the largest overlaps first choose their rank while it has numbers
// free; the parts left over take the numbers left over, both ascending.
std::vector<std::int32_t> choose_numbers(std::vector<Overlap> overlaps, int n_parts, int n_ranks) {
  std::sort(overlaps.begin(), overlaps.end(), larger);
  std::vector<std::vector<std::int32_t>> free(n_ranks);
  for (int p = n_parts - 1; p >= 0; --p) {
    free[rank_of_part(p, n_parts, n_ranks)].push_back(p);
  }
  std::vector<std::int32_t> number(static_cast<std::size_t>(n_parts), -1);
  for (const Overlap& overlap : overlaps) {
    auto& numbers = free[overlap.rank];
    std::int32_t& chosen = number[overlap.part];
    if (chosen >= 0 || numbers.empty()) continue;
    chosen = numbers.back();
    numbers.pop_back();
  }
  std::size_t rank = 0;
  for (std::int32_t& chosen : number) {
    if (chosen >= 0) continue;
    while (free[rank].empty()) ++rank;
    chosen = free[rank].back();
    free[rank].pop_back();
  }
  return number;
}

}  // namespace

void relabel_parts(const Communicator& comm, std::span<int> part, int n_parts) {
  const auto own = overlaps_of(part, n_parts, comm.rank(), comm.size());
  const std::vector<Overlap> overlaps = gather_values(comm, 0, own);
  std::vector<std::int32_t> number;
  if (comm.rank() == 0) {
    number = n_parts <= kMaxOptimal ? best_numbers(overlaps, n_parts, comm.size())
                                    : choose_numbers(overlaps, n_parts, comm.size());
  }
  broadcast_values(comm, 0, number);
  for (int& p : part) p = number[p];
}

}  // namespace catena
