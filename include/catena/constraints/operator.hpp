// Linear maps of distributed vectors.
#pragma once

#include <span>

#include "catena/base/index.hpp"

namespace catena {

/// y = A x, each rank holding its part of x and of y.
class Operator {
 public:
  virtual ~Operator() = default;
  virtual Index rows() const = 0;     ///< numbers in this rank's part of y
  virtual Index columns() const = 0;  ///< numbers in this rank's part of x
  /// Neighbours. y = A x; the two do not overlap.
  virtual void apply(std::span<const double> x, std::span<double> y) = 0;
};

}  // namespace catena
