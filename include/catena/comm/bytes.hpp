// Values to bytes and back, for parcels between ranks of the same program.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "catena/base/error.hpp"

namespace catena::partition_detail {

// Eigen's fixed-size types have user-written copies, so they are not trivially copyable to
// the compiler; their object representation may be copied all the same.
template <class T>
concept PlainBytes = std::is_trivially_destructible_v<T> && !std::is_pointer_v<T>;

template <PlainBytes T>
void put(std::vector<std::byte>& out, const T* values, std::size_t count) {
  if (count == 0) return;
  const std::size_t old = out.size();
  out.resize(old + count * sizeof(T));
  std::memcpy(out.data() + old, static_cast<const void*>(values), count * sizeof(T));
}

template <PlainBytes T>
void put(std::vector<std::byte>& out, const T& value) {
  put(out, &value, 1);
}

template <PlainBytes T>
std::vector<std::byte> to_bytes(const std::vector<T>& values) {
  std::vector<std::byte> out;
  put(out, values.data(), values.size());
  return out;
}

/// Takes values from the front of `bytes`.
template <PlainBytes T>
void take(std::span<const std::byte>& bytes, T* values, std::size_t count) {
  CATENA_CHECK(bytes.size() >= count * sizeof(T), "parcel shorter than announced");
  if (count == 0) return;
  std::memcpy(static_cast<void*>(values), bytes.data(), count * sizeof(T));
  bytes = bytes.subspan(count * sizeof(T));
}

template <PlainBytes T>
T take(std::span<const std::byte>& bytes) {
  T value;
  take(bytes, &value, 1);
  return value;
}

template <PlainBytes T>
std::vector<T> from_bytes(std::span<const std::byte> bytes) {
  CATENA_CHECK(bytes.size() % sizeof(T) == 0, "parcel is no whole number of values");
  std::vector<T> values(bytes.size() / sizeof(T));
  take(bytes, values.data(), values.size());
  return values;
}

}  // namespace catena::partition_detail
