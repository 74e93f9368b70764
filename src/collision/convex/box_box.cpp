#include "collision/convex/box_box.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace catena {

namespace {

/// Relative preference of faces over edges, and of A's faces over B's.
constexpr double kFacePreference = 0.05, kFirstPreference = 0.02;
/// The same in units of the smallest half edge, for boxes that just touch.
constexpr double kTouchPreference = 1e-5;
/// Two clipped points nearer to each other than this part of the smallest half edge are
/// one, and a clipped point this near to a corner bears its name.
constexpr double kSnap = 1e-2;
/// Areas that differ by less than this part are equal.
constexpr double kAsLarge = 2e-3;
/// A corner beside a face may be lower than the gap by this part of the smallest half edge.
constexpr double kBeside = 2e-4;
/// Edges whose directions differ by less (sine) are parallel: a face axis tells the same.
constexpr double kParallel = 1e-5;

/// Feature kinds beside faces, which use the bits below.
constexpr std::int32_t kEdgeFeature = 1 << 20, kClosestFeature = 1 << 21;

struct Box {
  Vec3 half;
  Vec3 p;
  Mat3 r;
};

/// The axis of the separating-axis test with the largest separation.
struct Axis {
  double separation = -std::numeric_limits<double>::infinity();
  Vec3 normal = Vec3::Zero();  ///< world, from A to B
  int i = 0, j = 0;            ///< face: axis i of the box; edge: axes i of A and j of B
};

struct AxisSearch {
  Axis face_a, face_b, edge;
};

/// Half the width of a box along a unit world axis.
double half_width(const Box& box, const Vec3& axis) {
  return (box.r.transpose() * axis).cwiseAbs().dot(box.half);
}

void try_axis(const Box& a, const Box& b, const Vec3& axis, int i, int j, Axis& best) {
  const double along = axis.dot(b.p - a.p);
  const double separation = std::abs(along) - half_width(a, axis) - half_width(b, axis);
  if (separation > best.separation) {
    best = {separation, along < 0.0 ? Vec3(-axis) : axis, i, j};
  }
}

/// False as soon as an axis separates the boxes by `margin` or more.
bool search_axes(const Box& a, const Box& b, double margin, AxisSearch& found) {
  for (int i = 0; i < 3; ++i) try_axis(a, b, a.r.col(i), i, 0, found.face_a);
  if (found.face_a.separation >= margin) return false;
  for (int i = 0; i < 3; ++i) try_axis(a, b, b.r.col(i), i, 0, found.face_b);
  if (found.face_b.separation >= margin) return false;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const Vec3 cross = a.r.col(i).cross(b.r.col(j));
      const double sine = cross.norm();
      if (sine > kParallel) try_axis(a, b, cross / sine, i, j, found.edge);
    }
  }
  return found.edge.separation < margin;
}

/// Corner of the incident face as it is clipped: a point between two edges, 0-3 those of
/// the incident face, 4-7 the reference face's sides.
struct ClipPoint {
  Vec3 p;  ///< reference frame: (u, v) in the face, gap above it
  int edge_before, edge_after;
  std::int32_t name;  ///< of the two edges
};

std::int32_t name_of(int edge, int other) {
  return std::min(edge, other) * 8 + std::max(edge, other);
}

struct Polygon {
  std::array<ClipPoint, 12> at;
  int n = 0;
  void add(const Vec3& p, int before, int after) {
    at[n++] = {p, before, after, name_of(before, after)};
  }
  const ClipPoint& operator[](int k) const { return at[k]; }
};

/// Sutherland-Hodgman against one side: keeps sign * p[axis] <= limit.
Polygon clip(const Polygon& in, int axis, double sign, double limit, int side) {
  Polygon out;
  for (int k = 0; k < in.n; ++k) {
    const ClipPoint &here = in[k], &next = in[(k + 1) % in.n];
    const double outside = sign * here.p[axis] - limit, outside_next = sign * next.p[axis] - limit;
    const bool cut = (outside <= 0.0) != (outside_next <= 0.0);
    if (outside <= 0.0) out.add(here.p, here.edge_before, here.edge_after);
    if (!cut) continue;
    const Vec3 p = here.p + outside / (outside - outside_next) * (next.p - here.p);
    if (outside <= 0.0) {
      out.add(p, here.edge_after, side);  // leaves along this edge, goes on along the side
    } else {
      out.add(p, side, here.edge_after);
    }
  }
  return out;
}

/// Gives clipped points the name of the corner that they are next to, of the incident face
/// or else of the reference face (half edges `u`, `v`), so that a corner that lies on a
/// side keeps its name whichever side of it it falls on; then drops all but the lowest of
/// points that coincide or share a name.
void name_and_merge(Polygon& polygon, const Polygon& corners, double u, double v, double snap) {
  for (int k = 0; k < polygon.n; ++k) {
    ClipPoint& point = polygon.at[k];
    const double from_u = std::abs(std::abs(point.p.x()) - u),
                 from_v = std::abs(std::abs(point.p.y()) - v);
    if (from_u < snap && from_v < snap) {
      point.name = name_of(point.p.x() > 0.0 ? 4 : 6, point.p.y() > 0.0 ? 5 : 7);
    }
    for (int c = 0; c < corners.n; ++c) {
      if ((point.p - corners[c].p).squaredNorm() < snap * snap) point.name = corners[c].name;
    }
  }
  int n = 0;
  for (int k = 0; k < polygon.n; ++k) {
    const ClipPoint point = polygon[k];
    int twin = 0;
    while (twin < n && polygon[twin].name != point.name &&
           (polygon[twin].p - point.p).squaredNorm() >= snap * snap) {
      ++twin;
    }
    ClipPoint& slot = polygon.at[twin];
    if (twin == n) {
      slot = point;
      ++n;
    } else if (point.p.z() < slot.p.z()) {
      slot = point;
    }
  }
  polygon.n = n;
}

/// Drops of more than 4 points those that hardly stand out from the line between their neighbours,
/// the least first: where sides of two boxes coincide but for a hair, they cross anywhere.
void drop_collinear(Polygon& polygon, double snap) {
  while (polygon.n > 4) {
    int flattest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int k = 0; k < polygon.n; ++k) {
      const Vec3 &before = polygon[(k + polygon.n - 1) % polygon.n].p,
                 &after = polygon[(k + 1) % polygon.n].p;
      const Vec3 d = after - before, e = polygon[k].p - before;
      const double height = std::abs(d.x() * e.y() - d.y() * e.x()) / std::hypot(d.x(), d.y());
      if (height < least) least = height, flattest = k;
    }
    if (!(least < snap)) return;
    for (int k = flattest; k + 1 < polygon.n; ++k) polygon.at[k] = polygon[k + 1];
    --polygon.n;
  }
}

double area(const Polygon& polygon, const std::array<int, 4>& corner) {
  const Vec3 d1 = polygon[corner[2]].p - polygon[corner[0]].p;
  const Vec3 d2 = polygon[corner[3]].p - polygon[corner[1]].p;
  return std::abs(d1.x() * d2.y() - d1.y() * d2.x());
}

/// Keeps all of at most 8 points of faces `flat` on each other, since four that are chosen by depth
/// leave out what carries, and then the choice alternates; of others the deepest and the three
/// with which it spans the largest area. Of equally deep ones one that is farthest out, of equally
/// far ones that of the lowest name, of equally large areas the first.
void reduce(Polygon& polygon, double size, bool flat) {
  drop_collinear(polygon, kSnap * size);
  if (polygon.n <= 4 || flat) return;
  double lowest = std::numeric_limits<double>::infinity();
  for (int k = 0; k < polygon.n; ++k) lowest = std::min(lowest, polygon[k].p.z());
  const double level = 1e-9 * size;
  // of those about as far out as the farthest, so no point in the midst of a side
  Vec3 lower = polygon[0].p, upper = polygon[0].p;
  for (int k = 1; k < polygon.n; ++k) {
    lower = lower.cwiseMin(polygon[k].p);
    upper = upper.cwiseMax(polygon[k].p);
  }
  const Vec3 middle = 0.5 * (lower + upper);
  const auto far = [&](int k) {
    const bool deep = polygon[k].p.z() <= lowest + level;
    return deep ? (polygon[k].p - middle).head<2>().squaredNorm() : -1.0;
  };
  double farthest = 0.0;
  for (int k = 0; k < polygon.n; ++k) farthest = std::max(farthest, far(k));
  int deepest = -1;
  for (int k = 0; k < polygon.n; ++k) {
    if (far(k) < (1.0 - kAsLarge) * farthest) continue;
    if (deepest < 0 || polygon[k].name < polygon[deepest].name) deepest = k;
  }
  deepest = std::max(deepest, 0);  // not a number
  std::array<int, 4> best{};
  double largest = -1.0;
  for (int i = 1; i < polygon.n; ++i) {
    for (int j = i + 1; j < polygon.n; ++j) {
      for (int k = j + 1; k < polygon.n; ++k) {
        const std::array<int, 4> corner = {deepest, (deepest + i) % polygon.n,
                                           (deepest + j) % polygon.n, (deepest + k) % polygon.n};
        const double span = area(polygon, corner);
        if (span > largest * (1.0 + kAsLarge)) largest = span, best = corner;
      }
    }
  }
  int n = 0;
  for (int k = 0; k < polygon.n; ++k) {
    if (std::ranges::find(best, k) != best.end()) polygon.at[n++] = polygon[k];
  }
  polygon.n = n;
}

/// Corners of the face of `box` most turned against `normal`, in the frame of columns
/// (u, v, normal) at `origin`.
Polygon incident_face(const Box& box, const Vec3& normal, const Vec3& origin, const Mat3& frame,
                      int& face) {
  const Vec3 n = box.r.transpose() * normal;
  int axis = 0;
  for (int k = 1; k < 3; ++k) {
    if (std::abs(n[k]) > std::abs(n[axis]) + 1e-9) axis = k;
  }
  const double side = n[axis] > 0.0 ? -1.0 : 1.0;
  face = 2 * axis + (side < 0.0 ? 1 : 0);
  const int u = (axis + 1) % 3, v = (axis + 2) % 3;
  constexpr std::array<std::array<double, 2>, 4> kRound = {{{1, 1}, {-1, 1}, {-1, -1}, {1, -1}}};
  Polygon polygon;
  for (int k = 0; k < 4; ++k) {
    Vec3 corner;
    corner[axis] = side * box.half[axis];
    corner[u] = kRound[k][0] * box.half[u];
    corner[v] = kRound[k][1] * box.half[v];
    polygon.add(frame.transpose() * (box.p + box.r * corner - origin), (k + 3) % 4, k);
  }
  return polygon;
}

/// Points between the reference face (axis `axis.i` of `reference`, outward along
/// `outward`) and the incident box. `flip`: the reference is B. Returns the least gap, of those
/// that are left out, too; infinite if there are no points.
double face_points(const Box& reference, const Box& incident, const Axis& axis, bool flip,
                   double margin, std::vector<ContactPoint>& out) {
  const Vec3 outward = flip ? Vec3(-axis.normal) : axis.normal;
  const int u = (axis.i + 1) % 3, v = (axis.i + 2) % 3;
  Mat3 frame;
  frame << reference.r.col(u), reference.r.col(v), outward;
  const Vec3 origin = reference.p + reference.half[axis.i] * outward;
  int face = 0;
  const Polygon corners = incident_face(incident, outward, origin, frame, face);
  Polygon polygon = clip(corners, 0, 1.0, reference.half[u], 4);
  polygon = clip(polygon, 1, 1.0, reference.half[v], 5);
  polygon = clip(polygon, 0, -1.0, reference.half[u], 6);
  polygon = clip(polygon, 1, -1.0, reference.half[v], 7);
  const double size = std::min(reference.half.minCoeff(), incident.half.minCoeff());
  name_and_merge(polygon, corners, reference.half[u], reference.half[v], kSnap * size);
  int n = 0;
  for (int k = 0; k < polygon.n; ++k) {
    if (polygon[k].p.z() < margin) polygon.at[n++] = polygon[k];
  }
  polygon.n = n;
  if (n == 0 && axis.separation <= 0.0) {
    // clipped away by rounding or by a preferred axis: the lowest corner still tells
    int lowest = 0;
    for (int k = 1; k < 4; ++k) {
      if (corners[k].p.z() < corners[lowest].p.z()) lowest = k;
    }
    polygon.at[0] = corners[lowest];
    polygon.n = 1;
  }
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < polygon.n; ++k) least = std::min(least, polygon[k].p.z());
  reduce(polygon, size, std::abs(outward.dot(incident.r.col(face / 2))) > kFlat);
  const bool positive = outward.dot(reference.r.col(axis.i)) > 0.0;
  const std::int32_t code = ((flip ? 6 : 0) + 2 * axis.i + (positive ? 0 : 1)) * 6 + face;
  for (int k = 0; k < polygon.n; ++k) {
    const Vec3& p = polygon[k].p;
    const Vec3 middle(p.x(), p.y(), 0.5 * p.z());
    out.push_back({origin + frame * middle, axis.normal, p.z(), code * 64 + polygon[k].name});
  }
  return least;
}

struct Segment {
  Vec3 centre, direction;  ///< ends at centre +- direction
};

/// The edge of `box` along its axis i that reaches farthest along `outward`; `number`
/// tells which of the four it is.
Segment support_edge(const Box& box, int i, const Vec3& outward, int& number) {
  Vec3 centre = box.p;
  number = 0;
  for (int k = 1; k < 3; ++k) {
    const int axis = (i + k) % 3;
    const bool positive = outward.dot(box.r.col(axis)) > 0.0;
    centre += (positive ? box.half[axis] : -box.half[axis]) * box.r.col(axis);
    number = 2 * number + (positive ? 1 : 0);
  }
  return {centre, box.half[i] * box.r.col(i)};
}

/// Parameters in [-1, 1] of the points of two segments that are closest; false if they
/// were cut short at an end. The segments are not parallel.
bool closest_of_lines(const Segment& a, const Segment& b, double& s, double& t) {
  const Vec3 d = b.centre - a.centre;
  const double aa = a.direction.squaredNorm(), bb = b.direction.squaredNorm(),
               ab = a.direction.dot(b.direction);
  const double det = aa * bb - ab * ab;
  const double da = d.dot(a.direction), db = d.dot(b.direction);
  s = (da * bb - db * ab) / det;
  t = (da * ab - db * aa) / det;
  const bool inside = std::abs(s) <= 1.0 && std::abs(t) <= 1.0;
  s = std::clamp(s, -1.0, 1.0);
  t = std::clamp(t, -1.0, 1.0);
  return inside;
}

/// One point between the two supporting edges; false if they are apart and their closest
/// points are ends.
bool edge_point(const Box& a, const Box& b, const Axis& axis, std::vector<ContactPoint>& out) {
  int number_a = 0, number_b = 0;
  const Segment edge_a = support_edge(a, axis.i, axis.normal, number_a);
  const Segment edge_b = support_edge(b, axis.j, -axis.normal, number_b);
  double s = 0.0, t = 0.0;
  const bool inside = closest_of_lines(edge_a, edge_b, s, t);
  if (!inside && axis.separation > 0.0) return false;
  const Vec3 on_a = edge_a.centre + s * edge_a.direction;
  const Vec3 on_b = edge_b.centre + t * edge_b.direction;
  const std::int32_t feature = kEdgeFeature + ((axis.i * 3 + axis.j) * 4 + number_a) * 4 + number_b;
  out.push_back({0.5 * (on_a + on_b), axis.normal, axis.separation, feature});
  return true;
}

/// Closest points of two boxes that are apart: between corners and boxes, or edges.
struct Closest {
  double distance2 = std::numeric_limits<double>::infinity();
  Vec3 on_a = Vec3::Zero(), on_b = Vec3::Zero();
  std::int32_t feature = 0;

  void offer(const Vec3& a, const Vec3& b, std::int32_t name) {
    const double d2 = (b - a).squaredNorm();
    if (d2 < distance2) *this = {d2, a, b, name};
  }
};

Vec3 nearest_in_box(const Box& box, const Vec3& p) {
  const Vec3 local = box.r.transpose() * (p - box.p);
  return box.p + box.r * local.cwiseMax(-box.half).cwiseMin(box.half);
}

Segment edge_of(const Box& box, int i, int number) {
  Vec3 centre = box.p;
  for (int k = 1; k < 3; ++k) {
    const int axis = (i + k) % 3;
    centre += ((number >> (k - 1)) & 1 ? box.half[axis] : -box.half[axis]) * box.r.col(axis);
  }
  return {centre, box.half[i] * box.r.col(i)};
}

void closest_point(const Box& a, const Box& b, double margin, std::vector<ContactPoint>& out) {
  Closest best;
  for (int k = 0; k < 8; ++k) {
    const Vec3 corner_a = a.p + a.r * box_corner(a.half, k);
    best.offer(corner_a, nearest_in_box(b, corner_a), k);
    const Vec3 corner_b = b.p + b.r * box_corner(b.half, k);
    best.offer(nearest_in_box(a, corner_b), corner_b, 8 + k);
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      if (a.r.col(i).cross(b.r.col(j)).norm() <= kParallel) continue;
      for (int k = 0; k < 16; ++k) {
        const Segment edge_a = edge_of(a, i, k % 4), edge_b = edge_of(b, j, k / 4);
        double s = 0.0, t = 0.0;
        if (!closest_of_lines(edge_a, edge_b, s, t)) continue;
        best.offer(edge_a.centre + s * edge_a.direction, edge_b.centre + t * edge_b.direction,
                   16 + (i * 3 + j) * 16 + k);
      }
    }
  }
  const double gap = std::sqrt(best.distance2);
  if (!(gap < margin) || gap == 0.0) return;
  out.push_back({0.5 * (best.on_a + best.on_b), (best.on_b - best.on_a) / gap, gap,
                 kClosestFeature + best.feature});
}

}  // namespace

void collide_boxes(const Vec3& half_a, const Pose& pose_a, const Vec3& half_b, const Pose& pose_b,
                   double margin, std::vector<ContactPoint>& out) {
  const Box a{half_a, pose_a.p, pose_a.q.toRotationMatrix()};
  const Box b{half_b, pose_b.p, pose_b.q.toRotationMatrix()};
  AxisSearch found;
  if (!search_axes(a, b, margin, found)) return;
  const double touch = kTouchPreference * std::min(half_a.minCoeff(), half_b.minCoeff());
  const double largest =
      std::max({found.face_a.separation, found.face_b.separation, found.edge.separation});
  const auto clearly_above = [touch](double x, double y, double relative) {
    return x > y + relative * std::abs(y) + touch;
  };
  const auto use_face = [&](bool of_b) {
    return of_b ? face_points(b, a, found.face_b, true, margin, out)
                : face_points(a, b, found.face_a, false, margin, out);
  };
  const std::size_t first = out.size();
  if (found.face_a.normal.dot(found.face_b.normal) > kFlat) {
    // faces flat on each other: which axis is best is up to the least tilt, so A's face if its
    // points tell what the best axis does, else B's
    for (const bool of_b : {false, true}) {
      const double least = use_face(of_b);
      if (std::abs(least - largest) <= kFlatTells * std::abs(largest) + touch) return;
      out.resize(first);
    }
  }
  const bool b_is_reference =
      clearly_above(found.face_b.separation, found.face_a.separation, kFirstPreference);
  const Axis& face = b_is_reference ? found.face_b : found.face_a;
  const Axis& other = b_is_reference ? found.face_a : found.face_b;
  if (clearly_above(found.edge.separation, face.separation, kFacePreference)) {
    // an edge that lies along a face and crosses another one at a small angle: the face's points
    // tell the same, though a corner beside the face is lower
    if (found.edge.normal.dot(face.normal) > kFlat &&
        found.edge.separation - face.separation < kBeside * touch / kTouchPreference) {
      const double least = use_face(b_is_reference);
      if (std::abs(least - largest) <= kFlatTells * std::abs(largest) + touch) return;
      out.resize(first);
    }
    if (edge_point(a, b, found.edge, out)) return;
  } else {
    // the deepest point lies beside a face that was only preferred: take the true axis
    const bool beside = use_face(b_is_reference) > face.separation + touch;
    if (beside && found.edge.separation > std::max(face.separation, other.separation)) {
      const std::size_t end = out.size();
      if (edge_point(a, b, found.edge, out)) {
        out.erase(out.begin() + first, out.begin() + end);
      }
    } else if (beside && other.separation > face.separation) {
      out.resize(first);
      use_face(!b_is_reference);
    }
  }
  if (out.size() == first && largest > 0.0) closest_point(a, b, margin, out);
}

}  // namespace catena
