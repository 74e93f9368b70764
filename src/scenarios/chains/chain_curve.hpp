// Where the joints of a chain stand at the start.
#pragma once

#include <array>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/scenarios/joint_settings.hpp"

namespace catena::scenarios {

/// Unit vector normal to `z`, a fixed function of it.
Vec3 perpendicular(const Vec3& z);

/// Rotation to the world of a frame with this z axis; its x axis is as near to `x` as can be, by
/// perpendicular() where they are parallel.
Quat frame_of(const Vec3& z, const Vec3& x);

/// Points 0 .. links, each link_length() from the next (the last of a closed chain is the first):
///
///   straight   on the line from `from` to `to`
///   polyline   on the path given by its corners, from its first to its last; chords of equal
///              length l, found such that the links-th ends where the path does
///   catenary   as equal uniform links hang: link i has the slope (i + 1/2 - v)/h, the ratio of
///              the vertical force in its middle to the horizontal one; h, v minimise the convex
///              function sum_i |(h, i + 1/2 - v)| - (h D - v R)/l  (D, R: distance across, rise)
///   curl       on a helix about `axis` through `centre`, equal angles
///
/// A pure function of its arguments; memory O(corners), of a catenary links/256.
class ChainCurve {
 public:
  /// Throws Error, without place, for what has no solution.
  ChainCurve(const ChainPathSettings& path, int links, const Vec3& gravity);

  double link_length() const { return length_; }  ///< m
  Vec3 point(GlobalId k) const { return points(k, k + 1).front(); }
  /// Points first .. last-1; O(last - first) but for the search of the first.
  std::vector<Vec3> points(GlobalId first, GlobalId last) const;
  /// What revolute joints turn about by default, unit: normal to the plane of a closed path, the
  /// axis of a helix, else horizontal and normal to the way from end to end.
  const Vec3& normal() const { return normal_; }

 private:
  using Real = long double;  // sums over 1e6 links end within 1e-15 of where they should
  struct Run {
    GlobalId first;  ///< point
    double at;       ///< its place along the segment, m
    std::size_t segment;
  };
  struct Segment {
    Vec3 from, direction;
    double length;
  };

  void set_polyline(const ChainPathSettings& path);
  double walk(double chord, std::vector<Run>* runs) const;
  void set_catenary(const ChainPathSettings& path);
  void hang(double across, double rise);
  template <class T>
  Real improve(T d, T r);
  void set_curl(const ChainPathSettings& path);
  std::array<Real, 2> step(GlobalId link) const;
  Vec3 straight_point(GlobalId k) const;
  Vec3 run_point(GlobalId k) const;
  Vec3 curl_point(GlobalId k) const;

  ChainPath kind_;
  GlobalId links_;
  double length_ = 0.0;
  Vec3 normal_ = Vec3::UnitY(), up_ = Vec3::UnitZ();
  Vec3 from_ = Vec3::Zero(), to_ = Vec3::Zero();
  std::vector<Segment> segments_;
  std::vector<Run> runs_;
  Real h_ = 0.0, v_ = 0.0;  ///< of the catenary
  Vec3 across_ = Vec3::UnitX();
  std::vector<std::array<Real, 2>> marks_;  ///< places across and up of every 256th point
  Real turn_ = 0.0;                         ///< of a helix per link, in turns
  Vec3 axis_ = Vec3::UnitZ(), first_radius_ = Vec3::UnitX();
  double radius_ = 0.0, pitch_ = 0.0;
};

}  // namespace catena::scenarios
