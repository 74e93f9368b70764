#include "catena/base/huge_pages.hpp"

#ifdef __linux__
#include <malloc.h>
#include <sys/mman.h>
#endif

namespace catena {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
/// From here on the rest of a last huge page is small beside the whole.
constexpr std::size_t kLarge = 4 * kHugePage;

std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{bytes >= kLarge ? kHugePage : kCacheLine};
}

}  // namespace

void* allocate_huge(std::size_t bytes) {
  void* p = ::operator new(bytes, alignment_of(bytes));
#ifdef MADV_HUGEPAGE
  // advice only: without huge pages everything works the same, slower
  if (bytes >= kLarge) madvise(p, bytes, MADV_HUGEPAGE);
#endif
  return p;
}

void return_large_blocks() {
#ifdef __GLIBC__
  constexpr int kBlock = 4 << 20;
  mallopt(M_MMAP_THRESHOLD, kBlock);
#endif
}

void free_huge(void* p, std::size_t bytes) noexcept { ::operator delete(p, alignment_of(bytes)); }

}  // namespace catena
