// Sums of a step's measures.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "catena/math/sum.hpp"

namespace catena::probes {

/// A part of a list of sums that are all plain or all exact (Sum). Plain ones lie close together:
/// an exact sum takes half a kilobyte.
class Sums {
 public:
  class Entry {
   public:
    Entry(double* plain, Sum* exact) : plain_(plain), exact_(exact) {}
    void operator+=(double x) {
      if (exact_ != nullptr)
        *exact_ += x;
      else
        *plain_ += x;
    }
    void operator-=(double x) { *this += -x; }

   private:
    double* plain_;
    Sum* exact_;
  };

  explicit Sums(std::span<double> plain) : plain_(plain.data()) {}
  explicit Sums(std::span<Sum> exact) : exact_(exact.data()) {}
  Entry operator[](std::size_t k) const {
    return exact_ != nullptr ? Entry(nullptr, exact_ + k) : Entry(plain_ + k, nullptr);
  }
  /// Adds numbers to the sums from place `first` on.
  template <std::size_t kSize>
  void add(std::size_t first, const std::array<double, kSize>& x) const {
    if (exact_ != nullptr)
      for (std::size_t k = 0; k < kSize; ++k) exact_[first + k] += x[k];
    else
      for (std::size_t k = 0; k < kSize; ++k) plain_[first + k] += x[k];
  }
  Sums from(std::size_t first) const {
    Sums rest = *this;
    (exact_ != nullptr) ? void(rest.exact_ += first) : void(rest.plain_ += first);
    return rest;
  }

 private:
  double* plain_ = nullptr;
  Sum* exact_ = nullptr;
};

}  // namespace catena::probes
