#include "solvers/gauss_seidel/looks.hpp"

#include <cmath>

#include "catena/model/material.hpp"

namespace catena {

bool Looks::due(int sweep, double change, bool asked, double excess) {
  const double now = at_ > 0 ? excess * std::pow(change / change_, exponent_) : kNotGiven;
  bool is_due = asked;
  if (asked && now > kFar && left_out_ < kMostLeftOut && sweep < last_sweep_) {
    is_due = false;
    ++left_out_;
  }
  // the last look's error is known one sweep later
  if (!is_due && now < kNear && sweep > at_ + 1) is_due = true;
  if (!is_due) return false;
  at_ = sweep;
  change_ = change;
  left_out_ = 0;
  return true;
}

}  // namespace catena
