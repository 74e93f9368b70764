// Memory of large lists goes back to the system before it is needed elsewhere.
#pragma once

#include <cstddef>
#include <vector>

namespace catena {

/// Empties vectors and gives their memory back.
template <class... Vectors>
void release(Vectors&... vectors) {
  // an empty list would be assigned and the memory kept
  ((vectors = Vectors()), ...);
}

/// Empties a list that is filled again soon; the memory of a large one is given back.
template <class T>
void clear_large(std::vector<T>& list) {
  constexpr std::size_t kLarge = std::size_t{16} << 20;  // bytes
  list.clear();
  if (list.capacity() * sizeof(T) > kLarge) release(list);
}

}  // namespace catena
