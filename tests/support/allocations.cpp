// The program's operator new. Arrays, and the forms that do not throw, come here, too.
#include "support/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> taken{0};

void* counted(void* block) {
  ++taken;
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

namespace catena::test {

std::int64_t allocations() { return taken; }

}  // namespace catena::test

void* operator new(std::size_t bytes) { return counted(std::malloc(bytes == 0 ? 1 : bytes)); }

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto boundary = static_cast<std::size_t>(alignment);
  // aligned_alloc takes whole multiples
  return counted(std::aligned_alloc(boundary, (bytes + boundary) / boundary * boundary));
}

void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
