#include "catena/partition/assignment.hpp"

#include <limits>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"

namespace catena {

// One row after the other is added: Dijkstra over reduced costs finds the cheapest way to free a
// column for it. `u` and `v` are the duals; column n is a root that holds the row being added.
std::vector<int> largest_assignment(std::span<const std::int64_t> gain, int n_rows) {
  const std::size_t n = n_rows;
  CATENA_CHECK(gain.size() == n * n, "a square matrix");
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  constexpr std::size_t kFree = std::numeric_limits<std::size_t>::max();
  std::vector<std::int64_t> u(n, 0), v(n + 1, 0), distance(n);
  std::vector<std::size_t> row_of(n + 1, kFree), before(n);
  std::vector<char> done(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    row_of[n] = i;
    distance.assign(n, kFar);
    done.assign(n + 1, 0);
    std::size_t at = n;
    while (row_of[at] != kFree) {
      done[at] = 1;
      const std::size_t row = row_of[at];
      std::int64_t least = kFar;
      std::size_t next = n;
      for (std::size_t j = 0; j < n; ++j) {
        if (done[j] != 0) continue;
        const std::int64_t reduced = -gain[row * n + j] - u[row] - v[j];
        if (reduced < distance[j]) {
          distance[j] = reduced;
          before[j] = at;
        }
        if (distance[j] < least) {
          least = distance[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= n; ++j) {
        if (done[j] != 0) {
          u[row_of[j]] += least;
          v[j] -= least;
        } else {
          distance[j] -= least;
        }
      }
      at = next;
    }
    while (at != n) {
      row_of[at] = row_of[before[at]];
      at = before[at];
    }
  }
  std::vector<int> column(n);
  for (std::size_t j = 0; j < n; ++j) column[row_of[j]] = narrow<int>(j);
  return column;
}

}  // namespace catena
