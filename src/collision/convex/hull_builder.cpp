#include "catena/collision/hull_builder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"

namespace catena {

namespace {

/// Parts of the size: distance from a face that counts as outside; flatness of merged faces;
/// thickness below which a hull is refused.
constexpr double kOutside = 1e-12, kFlatFacet = 1e-6, kThin = 1e-9;
/// Should rounding tear the surface, distances smaller by far than kFlatFacet are ignored instead.
constexpr double kCoarserOutside = 1e-9;

struct Triangle {
  std::array<std::int32_t, 3> corner;
  std::array<std::int32_t, 3> across;  ///< triangle beyond the edge from corner k to k + 1
  Vec3 normal;
  double offset = 0.0;
  /// First and last of the points above it that no earlier triangle has; -1: there are none.
  std::int32_t first_outside = -1, last_outside = -1;
  bool alive = true;
  std::int32_t mark = -1;  ///< the last point that this triangle was seen from
};

/// An edge between what a new corner sees and what it does not.
struct HorizonEdge {
  std::int32_t from, to, beyond;
};

class QuickHull {
 public:
  QuickHull(std::span<const Vec3> points, double outside) : points_(points) {
    Vec3 lo = points[0], hi = points[0];
    for (const Vec3& p : points) {
      lo = lo.cwiseMin(p);
      hi = hi.cwiseMax(p);
    }
    centre_ = 0.5 * (lo + hi);
    size_ = (hi - lo).norm();
    outside_ = outside * size_;
    next_.resize(points.size());
  }

  /// The tetrahedron of extreme points, with all others given to the faces that they are above;
  /// false if all points lie in one plane.
  bool start() {
    const std::int32_t a = farthest([&](std::int32_t i) { return local(i).norm(); });
    const std::int32_t b = farthest([&](std::int32_t i) { return (local(i) - local(a)).norm(); });
    const Vec3 axis = (local(b) - local(a)).stableNormalized();
    const std::int32_t c =
        farthest([&](std::int32_t i) { return (local(i) - local(a)).cross(axis).norm(); });
    const Vec3 normal = axis.cross(local(c) - local(a)).stableNormalized();
    const auto height = [&](std::int32_t i) { return normal.dot(local(i) - local(a)); };
    const std::int32_t d = farthest([&](std::int32_t i) { return std::abs(height(i)); });
    if (!(std::abs(height(d)) > kThin * size_)) return false;
    const bool up = height(d) > 0.0;
    const std::int32_t p = up ? b : c, q = up ? c : b;
    // (a, q, p) looks away from d
    add(a, q, p), add(a, p, d), add(p, q, d), add(q, a, d);
    triangles_[0].across = {3, 2, 1};
    triangles_[1].across = {0, 2, 3};
    triangles_[2].across = {0, 3, 1};
    triangles_[3].across = {0, 1, 2};
    std::vector<std::int32_t> all(points_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = narrow<std::int32_t>(i);
    give(all, 0);
    return true;
  }

  /// False if rounding tore the surface.
  bool build() {
    // triangles are only appended: each is checked when the loop comes to it
    for (std::size_t t = 0; t < triangles_.size(); ++t) {
      if (triangles_[t].alive && triangles_[t].first_outside >= 0 && !add_farthest(t)) return false;
    }
    return true;
  }

  /// Of what is built, m^3.
  double volume() const {
    double six = 0.0;
    for (const Triangle& t : triangles_) {
      if (t.alive) six += local(t.corner[0]).dot(local(t.corner[1]).cross(local(t.corner[2])));
    }
    return six / 6.0;
  }

  const std::vector<Triangle>& triangles() const { return triangles_; }
  double size() const { return size_; }
  const Vec3& point(std::int32_t i) const { return points_[i]; }

 private:
  Vec3 local(std::int32_t i) const { return points_[i] - centre_; }

  double above(const Triangle& t, std::int32_t i) const {
    return t.normal.dot(local(i)) - t.offset;
  }

  template <class Measure>
  std::int32_t farthest(Measure&& measure) const {
    std::int32_t best = 0;
    double most = -1.0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const double value = measure(narrow<std::int32_t>(i));
      if (value > most) most = value, best = narrow<std::int32_t>(i);
    }
    return best;
  }

  std::int32_t add(std::int32_t a, std::int32_t b, std::int32_t c) {
    Triangle t;
    t.corner = {a, b, c};
    t.across = {-1, -1, -1};
    t.normal = (local(b) - local(a)).cross(local(c) - local(a)).stableNormalized();
    t.offset = t.normal.dot(local(a));
    triangles_.push_back(t);
    return narrow<std::int32_t>(triangles_.size()) - 1;
  }

  /// Puts a point behind those that triangle t has.
  void append(Triangle& t, std::int32_t i) {
    next_[i] = -1;
    (t.first_outside < 0 ? t.first_outside : next_[t.last_outside]) = i;
    t.last_outside = i;
  }

  /// Gives points to the first triangle from `first` on that they are above.
  void give(const std::vector<std::int32_t>& points, std::size_t first) {
    for (const std::int32_t i : points) {
      for (std::size_t t = first; t < triangles_.size(); ++t) {
        if (above(triangles_[t], i) > outside_) {
          append(triangles_[t], i);
          break;
        }
      }
    }
  }

  /// Replaces all that the farthest point above triangle t sees by a cone to the horizon.
  bool add_farthest(std::size_t t) {
    std::int32_t apex = triangles_[t].first_outside;
    double most = above(triangles_[t], apex);
    for (std::int32_t i = next_[apex]; i >= 0; i = next_[i]) {
      const double height = above(triangles_[t], i);
      if (height > most) most = height, apex = i;
    }
    orphans_.clear();
    horizon_.clear();
    see(narrow<std::int32_t>(t), 0, apex);
    const auto first = narrow<std::int32_t>(triangles_.size());
    const auto n = narrow<std::int32_t>(horizon_.size());
    for (std::int32_t k = 0; k < n; ++k) {
      if (horizon_[k].to != horizon_[(k + 1) % n].from) return false;
    }
    for (std::int32_t k = 0; k < n; ++k) {
      const HorizonEdge edge = horizon_[k];
      const std::int32_t made = add(edge.from, edge.to, apex);
      triangles_[made].across = {edge.beyond, first + (k + 1) % n, first + (k + n - 1) % n};
      Triangle& beyond = triangles_[edge.beyond];
      for (std::size_t e = 0; e < 3; ++e) {
        if (beyond.corner[e] == edge.to && beyond.corner[(e + 1) % 3] == edge.from) {
          beyond.across[e] = made;
        }
      }
    }
    std::erase(orphans_, apex);
    give(orphans_, first);
    return true;
  }

  /// Walks over the triangles seen from `apex` in order, so that the horizon's edges follow one
  /// another; starts at edge `entry` of triangle t.
  void see(std::int32_t root, std::size_t root_entry, std::int32_t apex) {
    stack_.clear();
    const auto take = [&](std::int32_t k, std::size_t entry) {
      Triangle& t = triangles_[k];
      t.alive = false;
      t.mark = apex;
      for (std::int32_t i = t.first_outside; i >= 0; i = next_[i]) orphans_.push_back(i);
      stack_.push_back({k, entry, 0});
    };
    take(root, root_entry);
    while (!stack_.empty()) {
      Visit& visit = stack_.back();
      if (visit.done == 3) {
        stack_.pop_back();
        continue;
      }
      const std::size_t e = (visit.entry + visit.done++) % 3;
      const Triangle& here = triangles_[visit.triangle];
      const std::int32_t next = here.across[e];
      const Triangle& beyond = triangles_[next];
      if (beyond.mark == apex && !beyond.alive) continue;
      const std::int32_t from = here.corner[e], to = here.corner[(e + 1) % 3];
      if (above(beyond, apex) > outside_) {
        std::size_t back = 0;
        while (beyond.corner[back] != to) ++back;
        take(next, back);
      } else {
        horizon_.push_back({from, to, next});
      }
    }
  }

  std::span<const Vec3> points_;
  Vec3 centre_;
  double size_ = 0.0, outside_ = 0.0;
  std::vector<Triangle> triangles_;
  std::vector<std::int32_t> next_;  ///< the point behind each one in its triangle's list
  // of one corner
  struct Visit {
    std::int32_t triangle;
    std::size_t entry, done;
  };
  std::vector<Visit> stack_;
  std::vector<std::int32_t> orphans_;
  std::vector<HorizonEdge> horizon_;
};

/// Joins triangles that lie in one plane, largest first: group of each triangle, -1 for dead ones.
std::vector<std::int32_t> group_faces(const QuickHull& hull, std::int32_t& n_groups) {
  const std::vector<Triangle>& triangles = hull.triangles();
  std::vector<std::int32_t> group(triangles.size(), -1), order, queue;
  std::vector<double> area(triangles.size(), 0.0);
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    if (!triangles[t].alive) continue;
    const auto& c = triangles[t].corner;
    area[t] =
        (hull.point(c[1]) - hull.point(c[0])).cross(hull.point(c[2]) - hull.point(c[0])).norm();
    order.push_back(narrow<std::int32_t>(t));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return area[a] > area[b]; });
  n_groups = 0;
  for (const std::int32_t seed : order) {
    if (group[seed] >= 0) continue;
    const Triangle& plane = triangles[seed];
    const Vec3& on_plane = hull.point(plane.corner[0]);
    const std::int32_t id = n_groups++;
    queue.assign(1, seed);
    group[seed] = id;
    while (!queue.empty()) {
      const std::int32_t t = queue.back();
      queue.pop_back();
      for (const std::int32_t next : triangles[t].across) {
        if (group[next] >= 0) continue;
        const bool flat = std::ranges::all_of(triangles[next].corner, [&](std::int32_t i) {
          return std::abs(plane.normal.dot(hull.point(i) - on_plane)) <= kFlatFacet * hull.size();
        });
        if (!flat) continue;
        group[next] = id;
        queue.push_back(next);
      }
    }
  }
  return group;
}

/// The closed line of corners around each group.
std::vector<std::vector<std::int32_t>> outlines(const QuickHull& hull,
                                                const std::vector<std::int32_t>& group,
                                                std::int32_t n_groups) {
  const std::vector<Triangle>& triangles = hull.triangles();
  std::vector<std::vector<std::int32_t>> lines(n_groups);
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    if (group[t] < 0 || !lines[group[t]].empty()) continue;
    std::size_t e = 0;
    while (e < 3 && group[triangles[t].across[e]] == group[t]) ++e;
    if (e == 3) continue;  // a triangle in the middle: another one has the outline
    std::vector<std::int32_t>& line = lines[group[t]];
    std::size_t at_triangle = t;
    const std::int32_t start = triangles[t].corner[e];
    do {
      line.push_back(triangles[at_triangle].corner[e]);
      const std::int32_t corner = triangles[at_triangle].corner[(e + 1) % 3];
      e = (e + 1) % 3;
      // turn around the corner through the group until its border
      while (group[triangles[at_triangle].across[e]] == group[t]) {
        at_triangle = triangles[at_triangle].across[e];
        e = 0;
        while (triangles[at_triangle].corner[e] != corner) ++e;
      }
    } while (triangles[at_triangle].corner[e] != start && line.size() <= 3 * triangles.size());
  }
  return lines;
}

/// Newell's normal of a polygon.
Vec3 normal_of(const QuickHull& hull, const std::vector<std::int32_t>& line) {
  Vec3 sum = Vec3::Zero();
  const Vec3& origin = hull.point(line[0]);
  for (std::size_t k = 1; k + 1 < line.size(); ++k) {
    sum += (hull.point(line[k]) - origin).cross(hull.point(line[k + 1]) - origin);
  }
  return sum.stableNormalized();
}

}  // namespace

namespace {

/// Nothing if the points lie in one plane.
std::optional<QuickHull> quick_hull(std::span<const Vec3> points) {
  for (const double outside : {kOutside, kCoarserOutside}) {
    QuickHull hull(points, outside);
    if (!hull.start()) return std::nullopt;
    if (hull.build()) return hull;
  }
  CATENA_CHECK(false, "the surface of a hull is closed");
  return std::nullopt;
}

}  // namespace

std::optional<double> hull_volume(std::span<const Vec3> points) {
  if (points.size() < 4) return std::nullopt;
  const std::optional<QuickHull> hull = quick_hull(points);
  return hull.has_value() ? std::optional(hull->volume()) : std::nullopt;
}

HullFaces build_hull(std::span<const Vec3> points) {
  if (points.size() < 4) {
    throw Error("a hull needs at least 4 points, there are " + std::to_string(points.size()));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].allFinite()) {
      throw Error("point " + std::to_string(i + 1) + " of a hull is not a finite position");
    }
  }
  const std::optional<QuickHull> built = quick_hull(points);
  if (!built.has_value()) {
    throw Error("the points of a hull lie in one plane", "",
                "a hull needs a volume: give it thickness or use a mesh");
  }
  const QuickHull& hull = *built;
  std::int32_t n_groups = 0;
  const std::vector<std::int32_t> group = group_faces(hull, n_groups);
  std::vector<std::vector<std::int32_t>> lines = outlines(hull, group, n_groups);
  // a point where fewer than three faces meet is no corner
  std::vector<std::int32_t> n_faces(points.size(), 0), renumbered(points.size(), -1);
  for (const auto& line : lines) {
    for (const std::int32_t i : line) ++n_faces[i];
  }
  HullFaces out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (n_faces[i] < 3) continue;
    renumbered[i] = narrow<std::int32_t>(out.vertices.size());
    out.vertices.push_back(points[i]);
  }
  out.n_inside = points.size() - out.vertices.size();
  for (auto& line : lines) {
    std::erase_if(line, [&](std::int32_t i) { return n_faces[i] < 3; });
    if (line.size() < 3) continue;  // a sliver between two faces
    const Vec3 normal = normal_of(hull, line);
    double offset = -1e300;
    for (const std::int32_t i : line) {
      out.face_corners.push_back(renumbered[i]);
      offset = std::max(offset, normal.dot(hull.point(i)));
    }
    out.face_begin.push_back(narrow<std::int32_t>(out.face_corners.size()));
    out.face_normals.push_back(normal);
    out.face_offsets.push_back(offset);
  }
  return out;
}

}  // namespace catena
