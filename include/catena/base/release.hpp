// Memory of lists that every step fills anew (docs/design/0005-time-step.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace catena {

/// Empties vectors and gives their memory back.
template <class... Vectors>
void release(Vectors&... vectors) {
  // an empty list would be assigned and the memory kept
  ((vectors = Vectors()), ...);
}

/// Before a list is filled anew with `n` items: it keeps its memory as long as they fit. One that
/// is too small takes a thirty-second, and 64 items, more than that, so that lists whose length
/// goes up and down seldom move; one from 1 MB on of which less than a quarter is needed gives back
/// what it has. What the list held may be gone.
template <class List>
void make_room(List& list, std::size_t n) {
  constexpr std::size_t kSmall = std::size_t{1} << 20;  // bytes
  constexpr std::size_t kLeastSlack = 64;
  const std::size_t room = list.capacity();
  const bool too_large = room / 4 > n && room * sizeof(list[0]) > kSmall;
  if (room >= n && !too_large) return;
  release(list);
  list.reserve(n + std::max(n / 32, kLeastSlack));
}

/// The list becomes `n` times `value`, by the same rule.
template <class List>
void assign_with_room(List& list, std::size_t n, const typename List::value_type& value) {
  make_room(list, n);
  list.assign(n, value);
}

/// Whether a list's memory is worth giving back until it is filled again.
template <class List>
bool is_large(const List& list) {
  constexpr std::size_t kLarge = std::size_t{16} << 20;  // bytes
  return list.capacity() * sizeof(list[0]) > kLarge;
}

/// Empties a list that is filled again soon; the memory of a large one is given back.
template <class List>
void clear_large(List& list) {
  list.clear();
  if (is_large(list)) release(list);
}

}  // namespace catena
