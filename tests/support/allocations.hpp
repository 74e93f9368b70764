// Counts what a test program takes from the heap: link support/allocations.cpp into it alone.
#pragma once

#include <cstdint>

namespace catena::test {

/// Blocks that operator new has handed out since the program's start, in all threads.
std::int64_t allocations();

/// Blocks that `work` takes.
template <class Work>
std::int64_t allocations_of(Work&& work) {
  const std::int64_t before = allocations();
  work();
  return allocations() - before;
}

}  // namespace catena::test
