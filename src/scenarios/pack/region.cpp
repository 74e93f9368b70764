#include "scenarios/pack/region.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace catena::scenarios {

namespace {

/// What brings x between lo + r and hi - r.
double way_between(double x, double lo, double hi, double r) {
  if (x < lo + r) return lo + r - x;
  return x > hi - r ? hi - r - x : 0.0;
}

}  // namespace

PackRegion::PackRegion(const PackRegionSettings& s, const PeriodicBox& periodic,
                       const Geometry* surface)
    : s_(s), images_(periodic) {
  images_.active = {};
  images_.shear_rate = 0.0;  // a shear begins with the run
  if (surface != nullptr) surface_.emplace(*surface, Pose{s.at, s.orientation.value()});
  if (s.cylinder || s.sphere || surface_) return;
  for (int i = 0; i < 3; ++i) {
    if (!periodic.active[i] || s.lower[i] > periodic.lo[i] || s.upper[i] < periodic.hi[i]) continue;
    images_.active[i] = true;
    s_.lower[i] = periodic.lo[i];
    s_.upper[i] = periodic.hi[i];
  }
}

double PackRegion::volume() const { return surface_ ? surface_->volume() : volume_of(s_); }

Aabb PackRegion::bounds() const {
  if (surface_) return surface_->bounds();
  if (s_.sphere) return {s_.centre.array() - s_.radius, s_.centre.array() + s_.radius};
  if (!s_.cylinder) return {s_.lower, s_.upper};
  const Vec3 axis = (s_.to - s_.from).normalized();
  const Vec3 rim = s_.radius * (Vec3::Ones() - axis.cwiseAbs2()).cwiseMax(0.0).cwiseSqrt();
  return {s_.from.cwiseMin(s_.to) - rim, s_.from.cwiseMax(s_.to) + rim};
}

bool PackRegion::holds(const Vec3& p) const {
  if (surface_) return surface_->holds(p);
  return way_in(p, 0.0).isZero(0.0);
}

double PackRegion::largest_radius() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (surface_) return kInfinity;
  if (s_.sphere) return s_.radius;
  if (s_.cylinder) return std::min(s_.radius, 0.5 * (s_.to - s_.from).norm());
  return 0.5 * (s_.upper - s_.lower).minCoeff();  // along a periodic direction, of one's own image
}

Vec3 PackRegion::way_in(const Vec3& centre, double radius) const {
  if (surface_) return way_into_surface(centre, radius);
  if (s_.cylinder) return way_into_cylinder(centre, radius);
  if (s_.sphere) {
    const Vec3 out = centre - s_.centre;
    const double apart = out.norm(), room = s_.radius - radius;
    return apart > room ? Vec3((room - apart) / apart * out) : Vec3(Vec3::Zero());
  }
  Vec3 way = Vec3::Zero();
  for (int i = 0; i < 3; ++i)
    if (!images_.active[i]) way[i] = way_between(centre[i], s_.lower[i], s_.upper[i], radius);
  return way;
}

Vec3 PackRegion::way_into_cylinder(const Vec3& centre, double radius) const {
  const Vec3 axis = (s_.to - s_.from).normalized();
  const double along = axis.dot(centre - s_.from);
  const Vec3 out = centre - s_.from - along * axis;
  const double apart = out.norm(), room = s_.radius - radius;
  Vec3 way = way_between(along, 0.0, (s_.to - s_.from).norm(), radius) * axis;
  if (apart > room) way += (room - apart) / apart * out;
  return way;
}

Vec3 PackRegion::way_into_surface(const Vec3& centre, double radius) const {
  // out of an edge or corner into which a ball is pressed, from one face after the other
  constexpr int kFaces = 8;
  constexpr double kRound = 1e-12;
  Vec3 p = centre;
  for (int k = 0; k < kFaces; ++k) {
    const ClosedSurface::Nearest at = surface_->nearest(p, radius);
    if (!at.found || at.depth >= radius * (1.0 - kRound)) break;
    p += (radius - at.depth) * at.inward;
  }
  return p - centre;
}

}  // namespace catena::scenarios
