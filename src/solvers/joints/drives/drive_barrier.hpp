// Unknowns between bounds, as an interior-point method sees them.
#pragma once

#include <cstddef>
#include <vector>

namespace catena {

/// Impulses lo < lambda < hi and the slips z_l, z_u > 0 that their bounds bear, w = z_l - z_u, in
/// the primal-dual interior-point method of S. Mehrotra, On the implementation of a primal-dual
/// interior point method, 1992. A Newton step towards
///
///   z_l (lambda - lo) = t_l,   z_u (hi - lambda) = t_u
///
/// makes of each drive a row without bounds,
///
///   w + D lambda' = aim,   D = z_l / (lambda - lo) + z_u / (hi - lambda),
///   aim = t_l / (lambda - lo) - t_u / (hi - lambda) + D lambda,
///
/// with w the slip at the new impulses lambda'. A bound may be infinite. Local: no message.
class DriveBarrier {
 public:
  enum class Side { lower, between, upper };

  /// A drive whose impulse moves by the order of `size` (> 0, N s) while its slip does by `slip`
  /// (> 0, m/s or rad/s); it starts at `lambda`, moved inside its bounds, lower < upper.
  void add(double lambda, double lower, double upper, double size, double slip);

  double lambda(std::size_t g) const { return row_[g].lambda; }
  double stiffness(std::size_t g) const;
  double aim(std::size_t g) const;
  /// Largest product of a bound's distance and slip, J.
  double gap() const;

  /// The next step goes to the bounds.
  void aim_at_bounds();
  /// The next step goes to products `gap`, and takes out what the step of lengths `move`, J of
  /// each bound's own product, would leave for being straight.
  void aim_inside(double gap);

  /// `lambda`: where the step leads each drive.
  void set_step(std::size_t g, double lambda) { row_[g].next = lambda; }
  /// How much of the step leaves all distances and slips positive, at most 1.
  double longest() const;
  /// gap() after a part of the step.
  double gap_after(double part) const;
  void take(double part);

  /// Where the drive stands: at a bound whose slip is more than its distance to it would make.
  Side side(std::size_t g) const;

 private:
  /// Distance to a bound, the slip that it bears, and what their product is to be.
  struct Bound {
    double distance, slip, target;
    bool is_there;
    /// Of the slip, where the distance changes by `move`.
    double change(double move) const { return (target - slip * move) / distance - slip; }
  };
  struct Row {
    double lambda, next, slip_of_unit;
    Bound below, above;
  };
  template <class Visit>
  void for_each_bound(Visit&& visit) const;

  std::vector<Row> row_;
};

}  // namespace catena
