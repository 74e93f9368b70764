#include "catena/base/suggest.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "catena/base/index.hpp"

namespace catena {

namespace {

/// Insertions, deletions, replacements and swaps of neighbours.
int edit_distance(std::string_view a, std::string_view b) {
  // rows of the table of distances between beginnings: two before, before, present
  std::vector<int> older(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    next[0] = narrow<int>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = std::min({row[j + 1] + 1, next[j] + 1, row[j] + (a[i] == b[j] ? 0 : 1)});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        next[j + 1] = std::min(next[j + 1], older[j - 1] + 1);
    }
    older.swap(row);
    row.swap(next);
  }
  return row.back();
}

}  // namespace

std::string nearest_word(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongest =
      64;  // longer words are no misspellings, and the distance is quadratic
  if (word.size() > kLongest) return {};
  const std::string* best = nullptr;
  int best_score = 0;
  for (const std::string& candidate : candidates) {
    const auto pair = std::mismatch(word.begin(), word.end(), candidate.begin(), candidate.end());
    const int prefix = narrow<int>(pair.first - word.begin());
    const int distance = edit_distance(word, candidate);
    const int allowed = std::max(1, narrow<int>(std::min(word.size(), candidate.size())) / 3);
    const int alike = std::clamp(narrow<int>(word.size()) - 1, 3, 4);  // a shared beginning
    if (distance > allowed && prefix < alike) continue;
    const int score = distance - 2 * prefix;
    if (best == nullptr || score < best_score) {
      best = &candidate;
      best_score = score;
    }
  }
  return best != nullptr ? *best : std::string();
}

}  // namespace catena
