#include "scenarios/pieces/solid.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "catena/base/index.hpp"

namespace catena::scenarios {

namespace {

/// A triangle's part on one side of a plane: at most four corners, in the triangle's order.
struct Clipped {
  std::array<Vec3, 4> corner;
  std::array<bool, 4> on_plane{};
  int n = 0;
  void add(const Vec3& p, bool on) {
    corner[static_cast<std::size_t>(n)] = p;
    on_plane[static_cast<std::size_t>(n++)] = on;
  }
};

using Triangle = std::array<std::int32_t, 3>;

/// Above the plane; what is within `rounding` of it is on it.
double height_of(const Vec3& p, const CutPlane& plane, double rounding) {
  const double h = plane.height(p);
  return std::abs(h) <= rounding ? 0.0 : h;
}

std::array<double, 3> heights_of(const Facet& t, const CutPlane& plane, double rounding) {
  std::array<double, 3> h{};
  for (std::size_t k = 0; k < 3; ++k) h[k] = height_of(t[k], plane, rounding);
  return h;
}

std::vector<double> heights_of(const std::vector<Vec3>& points, const CutPlane& plane,
                               double rounding) {
  std::vector<double> h(points.size());
  for (std::size_t i = 0; i < h.size(); ++i) h[i] = height_of(points[i], plane, rounding);
  return h;
}

/// Where an edge meets the plane, from its lower end on: neighbours get the same point.
Vec3 crossing(const Vec3& a, double ha, const Vec3& b, double hb) {
  return ha < hb ? a + ha / (ha - hb) * (b - a) : b + hb / (hb - ha) * (a - b);
}

/// The part with side * height <= 0; nothing of a triangle that only touches the plane or lies on
/// it: the cap has that.
Clipped clip(const Facet& t, const std::array<double, 3>& h, double side) {
  Clipped part;
  bool inside = false;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t next = (k + 1) % 3;
    const double here = side * h[k], there = side * h[next];
    inside = inside || here < 0.0;
    if (here <= 0.0) part.add(t[k], here == 0.0);
    if (here * there < 0.0) part.add(crossing(t[k], h[k], t[next], h[next]), true);
  }
  if (!inside) part.n = 0;
  return part;
}

double six_volumes(const Vec3& o, const Vec3& a, const Vec3& b, const Vec3& c) {
  return (a - o).dot((b - o).cross(c - o));
}

Vec3 point_on(const CutPlane& plane) { return plane.offset * plane.normal; }

void add_fan(const Clipped& part, std::vector<Facet>& out) {
  for (int k = 1; k + 1 < part.n; ++k) {
    const auto i = static_cast<std::size_t>(k);
    out.push_back({part.corner[0], part.corner[i], part.corner[i + 1]});
  }
}

/// The cap's triangle over each edge of the part that lies on the plane.
void add_caps(const Clipped& part, const Vec3& apex, std::vector<Facet>& caps) {
  const auto n = static_cast<std::size_t>(part.n);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t next = (k + 1) % n;
    if (part.on_plane[k] && part.on_plane[next])
      caps.push_back({apex, part.corner[next], part.corner[k]});
  }
}

/// Corners of the cell that the plane makes, inside the body.
std::vector<Vec3> new_corners(const Solid& part, const CutPlane& plane, const ClosedSurface& body,
                              double rounding) {
  std::vector<Vec3> found;
  for (std::size_t i = 0; i < part.planes.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      Mat3 normals;
      normals << plane.normal.transpose(), part.planes[i].normal.transpose(),
          part.planes[k].normal.transpose();
      constexpr double kParallel = 1e-9;
      if (std::abs(normals.determinant()) < kParallel) continue;
      const Vec3 p =
          normals.inverse() * Vec3(plane.offset, part.planes[i].offset, part.planes[k].offset);
      bool in_cell = true;
      for (const CutPlane& other : part.planes) in_cell = in_cell && other.height(p) <= rounding;
      if (in_cell && body.holds(p)) found.push_back(p);
    }
  }
  return found;
}

/// Points of a half by what they were: a point of the part, or one on an edge between two of these.
class Renumbered {
 public:
  Renumbered(const Solid& part, std::vector<Vec3>& points)
      : part_(part), points_(points), known_(part.points.size(), -1) {}
  std::int32_t point(std::int32_t i) {
    if (known_[i] < 0) known_[i] = add(part_.points[i]);
    return known_[i];
  }
  std::int32_t crossing(std::int32_t i, std::int32_t k, const Vec3& p) {
    const auto [at, is_new] = on_edges_.try_emplace(std::minmax(i, k), 0);
    if (is_new) at->second = add(p);
    return at->second;
  }

 private:
  std::int32_t add(const Vec3& p) {
    points_.push_back(p);
    return narrow<std::int32_t>(points_.size()) - 1;
  }
  const Solid& part_;
  std::vector<Vec3>& points_;
  std::vector<std::int32_t> known_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> on_edges_;
};

/// The surface's part of a half.
void clip_surface(const Solid& part, const std::vector<double>& heights, double side,
                  const Vec3& apex, Solid& half) {
  Renumbered renumbered(part, half.points);
  for (const Triangle& t : part.surface) {
    const std::array<double, 3> h = {heights[t[0]], heights[t[1]], heights[t[2]]};
    const Clipped in = clip(part.facet(t), h, side);
    std::array<std::int32_t, 4> corner{};
    std::size_t n = 0;
    // the order of clip()
    for (std::size_t k = 0; k < 3 && in.n > 0; ++k) {
      const std::size_t next = (k + 1) % 3;
      if (side * h[k] <= 0.0) corner[n++] = renumbered.point(t[k]);
      if (h[k] * h[next] < 0.0) {
        corner[n] = renumbered.crossing(t[k], t[next], in.corner[n]);
        ++n;
      }
    }
    for (std::size_t k = 1; k + 1 < n; ++k)
      half.surface.push_back({corner[0], corner[k], corner[k + 1]});
    add_caps(in, apex, half.caps);
  }
}

/// The part below the plane, or with `side` -1 above it.
Solid half_of(const Solid& part, const CutPlane& plane, double side, double rounding) {
  Solid half;
  const Vec3 apex = point_on(plane);
  clip_surface(part, heights_of(part.points, plane, rounding), side, apex, half);
  for (const Facet& t : part.caps) {
    const Clipped in = clip(t, heights_of(t, plane, rounding), side);
    add_fan(in, half.caps);
    add_caps(in, apex, half.caps);
  }
  for (const Vec3& p : part.corners)
    if (side * plane.height(p) <= rounding) half.corners.push_back(p);
  half.planes = part.planes;
  half.planes.push_back({side * plane.normal, side * plane.offset});
  return half;
}

}  // namespace

Halves cut(const Solid& part, const CutPlane& plane, const ClosedSurface& body, double rounding) {
  Halves halves{half_of(part, plane, 1.0, rounding), half_of(part, plane, -1.0, rounding)};
  for (const Vec3& p : new_corners(part, plane, body, rounding)) {
    halves.below.corners.push_back(p);
    halves.above.corners.push_back(p);
  }
  for (Solid* half : {&halves.below, &halves.above}) {
    const Vec3 apex = point_on(plane);
    const auto add = [&](const Facet& t) {
      half->volume += six_volumes(apex, t[0], t[1], t[2]) / 6.0;
    };
    for (const Triangle& t : half->surface) add(half->facet(t));
    for (const Facet& t : half->caps) add(t);
  }
  return halves;
}

HalvesSpan span_of_halves(const Solid& part, const CutPlane& plane, const ClosedSurface& body,
                          double rounding) {
  HalvesSpan halves;
  // from a point of the plane, so that the cap of this cut adds nothing
  const Vec3 apex = point_on(plane);
  const std::vector<double> heights = heights_of(part.points, plane, rounding);
  const auto take = [&](const Facet& t, const std::array<double, 3>& h, double side,
                        std::vector<Vec3>* points, double& volume) {
    const Clipped in = clip(t, h, side);
    for (int k = 0; k < in.n; ++k) {
      const auto i = static_cast<std::size_t>(k);
      if (k > 0 && k + 1 < in.n)
        volume += six_volumes(apex, in.corner[0], in.corner[i], in.corner[i + 1]) / 6.0;
      if (points != nullptr && in.on_plane[i]) points->push_back(in.corner[i]);
    }
  };
  for (const Triangle& t : part.surface) {
    const std::array<double, 3> h = {heights[t[0]], heights[t[1]], heights[t[2]]};
    const bool below = std::min({h[0], h[1], h[2]})<0.0, above = std::max({h[0], h[1], h[2]})> 0.0;
    const Facet corners = part.facet(t);
    if (below) take(corners, h, 1.0, &halves.below, halves.volume_below);
    if (above) take(corners, h, -1.0, &halves.above, halves.volume_above);
  }
  for (std::size_t i = 0; i < heights.size(); ++i) {
    if (heights[i] < 0.0) halves.below.push_back(part.points[i]);
    if (heights[i] > 0.0) halves.above.push_back(part.points[i]);
  }
  for (const Facet& t : part.caps) {
    const std::array<double, 3> h = heights_of(t, plane, rounding);
    take(t, h, 1.0, nullptr, halves.volume_below);
    take(t, h, -1.0, nullptr, halves.volume_above);
  }
  for (const Vec3& p : part.corners) {
    if (plane.height(p) <= rounding) halves.below.push_back(p);
    if (plane.height(p) >= -rounding) halves.above.push_back(p);
  }
  for (const Vec3& p : new_corners(part, plane, body, rounding)) {
    halves.below.push_back(p);
    halves.above.push_back(p);
  }
  return halves;
}

std::vector<Vec3> span_of(const Solid& part) {
  std::vector<Vec3> points = part.corners;
  points.insert(points.end(), part.points.begin(), part.points.end());
  return points;
}

}  // namespace catena::scenarios
