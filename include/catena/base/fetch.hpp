// Memory is asked for before a loop comes to it.
#pragma once

#include <cstddef>

namespace catena {

/// Asks for the two lines at most that objects lie on from `first` to the end of `last`. Inlined by
/// force: g++ takes a function that only fetches for one without effect, and its calls out.
template <class First, class Last>
[[gnu::always_inline]] inline void fetch_span(const First& first, const Last& last) {
  __builtin_prefetch(&first);
  __builtin_prefetch(reinterpret_cast<const char*>(&last) + sizeof(Last) - 1);
}

}  // namespace catena
