// Tables with one entry for each enumerator.
#pragma once

#include <array>
#include <cstddef>

#include "catena/base/index.hpp"

namespace catena {

/// One value for each of the kSize enumerators of Enum, which count from 0.
template <class Enum, class T, std::size_t kSize>
class EnumArray {
 public:
  EnumArray() : values_() {}
  explicit EnumArray(const T& value) { values_.fill(value); }

  T& operator[](Enum e) { return values_[ordinal(e)]; }
  const T& operator[](Enum e) const { return values_[ordinal(e)]; }
  const std::array<T, kSize>& values() const { return values_; }

  EnumArray& operator+=(const EnumArray& other) {
    for (std::size_t i = 0; i < kSize; ++i) values_[i] += other.values_[i];
    return *this;
  }

 private:
  std::array<T, kSize> values_;
};

}  // namespace catena
