// Memory for large arrays that are read in no simple order: on huge pages where the system has
// them.
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <vector>

namespace catena {

/// `bytes` of memory, aligned to a cache line; from a few MB on aligned to huge pages, which the
/// system is asked for (madvise), and which nearly double random access on large scenes. Throws
/// std::bad_alloc.
void* allocate_huge(std::size_t bytes);
/// Gives back `bytes` at `p`, which allocate_huge gave.
void free_huge(void* p, std::size_t bytes) noexcept;

/// For the start of a program: blocks of 4 MB and more go back to the system as soon as they are
/// freed (glibc otherwise keeps those of up to 32 MB, and a step's peak grows by a fifth). Does
/// nothing with other C libraries.
void return_large_blocks();

/// Allocates by allocate_huge, for containers of the standard library.
template <class T>
struct HugePageAllocator {
  using value_type = T;
  HugePageAllocator() = default;
  template <class U>
  HugePageAllocator(const HugePageAllocator<U>&) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_huge(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) noexcept { free_huge(p, n * sizeof(T)); }
  template <class U>
  bool operator==(const HugePageAllocator<U>&) const {
    return true;
  }
};

/// A vector on huge pages.
template <class T>
using HugeVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace catena
