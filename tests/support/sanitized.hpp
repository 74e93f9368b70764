// Whether the tests run under the address sanitizer, which is some twenty times slower: long ones
// then take smaller problems, or leave it to their shorter neighbours. It is found at run time,
// since tests compiled without it are linked against libraries compiled with it
// (tests/together.cmake).
#pragma once

extern "C" __attribute__((weak)) void __asan_init();

namespace catena::test {

inline const bool kSanitized = __asan_init != nullptr;

}  // namespace catena::test
