// Whether the tests run under the address sanitizer, which is some twenty times slower: long ones
// then take smaller problems, or leave it to their shorter neighbours.
#pragma once

namespace catena::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace catena::test
