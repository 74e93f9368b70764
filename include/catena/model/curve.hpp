// Smooth curves through given points.
#pragma once

#include <vector>

#include "catena/math/types.hpp"

namespace catena {

/// A point of a curve and its derivatives by the parameter.
struct CurvePoint {
  Vec3 p, slope, bend;
};

/// The cubic spline through points, whose curvature is continuous. Its parameter u is the length of
/// the polygon through them, m, which is near the length of the curve. Open curves have a third
/// derivative that is continuous at their second and last but one point too (de Boor's
/// not-a-knot), and go straight on beyond their ends; of three points it is a parabola, of two a
/// straight line. Closed ones, of three points at least, lead from the last point to the first, and
/// u counts on over the laps.
class Curve {
 public:
  /// Neighbours differ.
  Curve(std::vector<Vec3> points, bool closed);

  bool closed() const { return closed_; }
  const std::vector<Vec3>& points() const { return point_; }
  /// Along the curve from the first point to the last one, of a closed one back to it, m.
  double length() const { return way_.back(); }
  CurvePoint at(double u) const;
  /// Along the curve from the first point, m; < 0 before it.
  double way(double u) const;
  /// Parameter of a point nearest to p: the one that Newton's method reaches from `from`.
  double nearest(const Vec3& p, double from) const;
  /// Of the nearest one of all.
  double nearest(const Vec3& p) const;

 private:
  double end() const { return knot_.back(); }
  std::size_t pieces() const { return knot_.size() - 1; }
  std::size_t piece_of(double u) const;
  CurvePoint on_piece(std::size_t k, double u) const;
  double way_on(std::size_t k, double u) const;
  /// u within the first lap, and the laps before it.
  double in_lap(double u, double& laps) const;

  bool closed_;
  std::vector<Vec3> point_, slope_;  ///< of a closed one once more the first at the end
  std::vector<double> knot_, way_;   ///< of each point: u, and the way up to it, m
};

}  // namespace catena
