#include "collision/convex/manifold.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "catena/collision/hull_builder.hpp"
#include "collision/convex/box_box.hpp"

namespace catena {

namespace {

/// As for boxes (box_box.cpp): preference of faces over other features and of A's faces over B's,
/// as a part of the gap and of the size.
constexpr double kFacePreference = 0.05, kFirstPreference = 0.02, kTouchPreference = 1e-5;
/// Cosine of the angle (2 mrad) below which two normals are the same for this choice.
constexpr double kAlmostParallel = 1.0 - 2e-6;
/// Clipped points nearer to each other than this part of the size are one.
constexpr double kSnap = 1e-2, kSnapOnSurface = 1e-3;
/// Where faces lie flat on each other, points less deep than the deepest by less than this part of
/// its depth are as deep, but not beyond the second part of the size; lengths (squared) and areas
/// that differ by less than kClearGain are equal.
constexpr double kAsDeep = 0.5, kAsDeepOfSize = 2e-3, kClearGain = 2e-3;
/// Depth as a part of the size beyond which the deepest point is always kept.
constexpr double kShallow = 0.02;
/// Edges whose directions differ by less (sine) touch along a line.
constexpr double kParallel = 0.01;
/// A corner beside a face may be lower than the gap by this part of the size.
constexpr double kBeside = 2e-4;
/// Of a square on a length, what is flatter is a line.
constexpr double kLine = 1e-6;
/// A point this part of the size above the lowest one is as low.
constexpr double kLevel = 1e-3;
/// As many points as are kept of faces of surfaces, whose triangles cut corners off, and of rims,
/// whose corners stand for a circle; and of others: what two boxes' faces have at most.
constexpr int kMostOfMany = 4, kMostPoints = 8;
/// Corners that stand for the rim of a cylinder.
constexpr int kRim = 16;

/// Names of contacts that are not made by clipping.
constexpr std::int32_t kClosestFeature = 1 << 21, kLineFeature = 1 << 22, kLostFeature = 1 << 23;

/// A corner of the outline that is being clipped, between two of its sides (numbers below
/// kSideOfReference are its own) and named by them.
struct Corner {
  Vec3 p;  ///< (u, v) in the reference face, height above it
  std::int32_t before, after, name;
};
constexpr std::int32_t kSideOfReference = 1 << 9;
static_assert(kMostFaceCorners < kSideOfReference);

std::int32_t name_of(std::int32_t side, std::int32_t other) {
  return std::min(side, other) * 1024 + std::max(side, other);
}

/// An outline: a face, an edge (two corners) or a point.
class Outline {
 public:
  int size() const { return n_; }
  Corner& operator[](int k) { return at_[k]; }
  const Corner& operator[](int k) const { return at_[k]; }
  void clear() { n_ = 0; }
  void resize(int n) { n_ = n; }
  void add(const Vec3& p, std::int32_t before, std::int32_t after) {
    if (n_ < kMost) at_[n_++] = {p, before, after, name_of(before, after)};
  }
  void sort_by_name() {
    std::sort(at_.begin(), at_.begin() + n_,
              [](const Corner& x, const Corner& y) { return x.name < y.name; });
  }
  /// A corner of the body itself.
  void add_corner(const Vec3& p, int number, int count) {
    add(p, (number + count - 1) % count, number);
  }

 private:
  static constexpr int kMost = 2 * kMostFaceCorners;  // what two convex faces have in common
  std::array<Corner, kMost> at_;
  int n_ = 0;
};

/// Rim of a cylinder's cap (face 0: +z, 1: -z), counter-clockwise seen from outside. Corners keep
/// their places on the body, but the one next to the deepest point along `down` moves there.
void add_rim(const Convex& body, int face, const Vec3& down, Outline& out) {
  const Vec3 d = body.r.transpose() * down;
  const double side = face == 0 ? 1.0 : -1.0, radius = body.half.x();
  const double across = std::hypot(d.x(), d.y());
  int moved = -1;
  if (across > 0.0) {
    const double turn = std::atan2(side * d.y(), d.x()) / (2.0 * std::numbers::pi) * kRim;
    moved = (static_cast<int>(std::lround(turn)) + kRim) % kRim;
  }
  for (int k = 0; k < kRim; ++k) {
    const double angle = 2.0 * std::numbers::pi * k / kRim;
    Vec3 rim(radius * std::cos(angle), side * radius * std::sin(angle), side * body.half.z());
    if (k == moved) rim.head<2>() = radius / across * d.head<2>();
    out.add_corner(body.p + body.r * rim, k, kRim);
  }
}

void add_hull_face(const Convex& body, int face, Outline& out) {
  const Geometry& g = *body.geometry;
  const std::int32_t begin = g.face_begin[face], end = g.face_begin[face + 1];
  for (std::int32_t k = begin; k < end; ++k) {
    const Vec3& v = g.vertices[g.face_corners[k]];
    out.add_corner(body.p + body.scale * (body.r * v), k - begin, end - begin);
  }
}

/// Corners of a face, counter-clockwise seen from outside.
void face_outline(const Convex& body, int face, const Vec3& down, Outline& out) {
  out.clear();
  switch (body.core) {
    case Convex::Core::point:
    case Convex::Core::segment:
      break;
    case Convex::Core::box: {
      const int axis = face / 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
      const double side = face % 2 == 0 ? 1.0 : -1.0;
      constexpr std::array<std::array<double, 2>, 4> kRound = {
          {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}}};
      for (int k = 0; k < 4; ++k) {
        Vec3 corner;
        corner[axis] = side * body.half[axis];
        corner[u] = kRound[k][0] * body.half[u];
        corner[v] = side * kRound[k][1] * body.half[v];
        out.add_corner(body.p + body.r * corner, k, 4);
      }
      break;
    }
    case Convex::Core::cylinder:
      add_rim(body, face, down, out);
      break;
    case Convex::Core::hull:
      add_hull_face(body, face, out);
      break;
    case Convex::Core::triangle:
      for (int k = 0; k < 3; ++k) out.add_corner(body.corner[face == 0 ? k : 2 - k], k, 3);
      break;
  }
}

/// The line of a cylinder's side that reaches farthest along `down`.
std::array<Vec3, 2> side_line(const Convex& body, const Vec3& down) {
  const Vec3 across = down - down.dot(body.axis()) * body.axis();
  const double length = across.norm();
  const Vec3 middle = body.p + (length > 0.0 ? Vec3(body.half.x() / length * across)
                                             : Vec3(body.half.x() * body.r.col(0)));
  return {middle - body.half.z() * body.axis(), middle + body.half.z() * body.axis()};
}

/// What of the body is turned against a face with outward normal -down: its own face, an edge or a
/// point. `number` names it.
void incident_outline(const Convex& body, const Vec3& down, Outline& out, std::int32_t& number) {
  out.clear();
  number = 0;
  const auto line = [&](const Vec3& p, const Vec3& q) {
    out.add(p, 0, 1);
    out.add(q, 1, 2);
  };
  if (body.core == Convex::Core::point) {
    out.add(body.p, 0, 0);
  } else if (body.core == Convex::Core::segment) {
    line(body.p - body.half.z() * body.axis(), body.p + body.half.z() * body.axis());
  } else if (body.core == Convex::Core::cylinder &&
             std::abs(down.dot(body.axis())) < std::numbers::sqrt2 / 2.0) {
    const auto ends = side_line(body, down);
    line(ends[0], ends[1]);
    number = 2;
  } else {
    number = face_towards(body, down);
    face_outline(body, number, down, out);
  }
}

/// Keeps what lies to the left of the side from s to t of the reference face; outlines of two
/// corners are lines, not loops.
void clip(const Outline& in, const Vec3& s, const Vec3& t, std::int32_t side, Outline& out) {
  out.clear();
  const Vec3 d = t - s;
  const auto outside = [&](const Vec3& p) {
    return d.y() * (p.x() - s.x()) - d.x() * (p.y() - s.y());
  };
  const int n = in.size();
  for (int k = 0; k < n; ++k) {
    const Corner& here = in[k];
    const double o = outside(here.p);
    if (o <= 0.0) out.add(here.p, here.before, here.after);
    if (n == 1 || (n == 2 && k == 1)) continue;
    const Corner& next = in[(k + 1) % n];
    const double o_next = outside(next.p);
    if ((o <= 0.0) == (o_next <= 0.0)) continue;
    const Vec3 p = here.p + o / (o - o_next) * (next.p - here.p);
    if (o <= 0.0) {
      out.add(p, here.after, side);
    } else {
      out.add(p, side, here.after);
    }
  }
}

/// Gives clipped points the name of the corner that they are next to, so that a corner on a side
/// keeps its name whichever side of it it falls on; then drops all but the lowest of points
/// that coincide or share a name.
void name_and_merge(Outline& outline, const Outline& own, const Outline& reference, double snap) {
  for (int k = 0; k < outline.size(); ++k) {
    Corner& point = outline[k];
    for (int c = 0; c < reference.size(); ++c) {
      if ((point.p - reference[c].p).head<2>().squaredNorm() < snap * snap) {
        point.name =
            name_of(kSideOfReference + reference[c].before, kSideOfReference + reference[c].after);
      }
    }
    for (int c = 0; c < own.size(); ++c) {
      if ((point.p - own[c].p).squaredNorm() < snap * snap) point.name = own[c].name;
    }
  }
  int n = 0;
  for (int k = 0; k < outline.size(); ++k) {
    const Corner point = outline[k];
    int twin = 0;
    while (twin < n && outline[twin].name != point.name &&
           (outline[twin].p - point.p).squaredNorm() >= snap * snap) {
      ++twin;
    }
    if (twin == n) {
      outline[n++] = point;
    } else if (point.p.z() < outline[twin].p.z()) {
      outline[twin] = point;
    }
  }
  outline.resize(n);
}

/// Points of n (heights in z), by number.
struct Chosen {
  std::array<int, kMostPoints> number{};
  int n = 0;
};

/// Twice the area of a triangle, positive if it goes round counter-clockwise.
double area(const Vec3& p, const Vec3& q, const Vec3& r) {
  return (q.x() - p.x()) * (r.y() - p.y()) - (q.y() - p.y()) * (r.x() - p.x());
}

/// Adds to three or four chosen corners of an outline those below `highest` that add more than
/// `least` (twice an area), the one that adds most first. Their order round the outline is that of
/// their angles about the middle of those chosen first, which lies within all.
template <class PointAt>
void add_corners(int n, PointAt&& point, double highest, double least, int most, Chosen& chosen) {
  Vec3 middle = Vec3::Zero();
  for (int k = 0; k < chosen.n; ++k) middle += Vec3(point(chosen.number[k])) / chosen.n;
  const auto angle = [&](int k) {
    const Vec3 p = point(k);
    return std::atan2(p.y() - middle.y(), p.x() - middle.x());
  };
  const auto end = [&] { return chosen.number.begin() + chosen.n; };
  while (chosen.n < most) {
    std::sort(chosen.number.begin(), end(), [&](int i, int k) { return angle(i) < angle(k); });
    int best = -1;
    double largest = least;
    for (int k = 0; k < n; ++k) {
      const Vec3 p = point(k);
      if (!(p.z() < highest) || std::find(chosen.number.begin(), end(), k) != end()) continue;
      double beyond = 0.0;
      for (int i = 0; i < chosen.n; ++i)
        beyond = std::max(
            beyond, -area(point(chosen.number[i]), point(chosen.number[(i + 1) % chosen.n]), p));
      if (beyond > largest * (1.0 + kClearGain)) largest = beyond, best = k;
    }
    if (best < 0) return;
    chosen.number[chosen.n++] = best;
  }
}

/// The deepest (of equals the one farthest from the middle), the one farthest from it, the one
/// farthest from the line through both, and the one that lies farthest beyond the sides of these
/// three; fewer if the points lie in a line or a triangle. A clear gain only: equal choices must
/// not alternate from step to step. Of faces `flat` on each other also those that stand out beyond
/// the sides, up to `most`: four that are chosen by depth leave out what carries, and then the
/// choice alternates.
template <class PointAt>
Chosen choose_points(int n, PointAt&& point, double size, bool flat, int most) {
  Chosen chosen;
  // of the box around them: points that come and go on its sides do not move it
  Vec3 least_corner = point(0), largest_corner = point(0);
  for (int k = 1; k < n; ++k) {
    least_corner = least_corner.cwiseMin(point(k));
    largest_corner = largest_corner.cwiseMax(point(k));
  }
  const double lowest = least_corner.z();
  const Vec3 middle = 0.5 * (least_corner + largest_corner);
  const double exact = 1e-9 * size;
  const bool shallow = flat && std::abs(lowest) < kShallow * size;
  const double level =
      shallow ? std::clamp(kAsDeep * std::abs(lowest), exact, kAsDeepOfSize * size) : exact;
  // takes the point of the largest measure, if that is above `least`
  const auto take = [&](double least, auto&& measure) {
    int best = -1;
    double largest = least;
    for (int k = 0; k < n; ++k) {
      const double value = measure(Vec3(point(k)));
      if (value > largest && value > largest * (1.0 + kClearGain)) largest = value, best = k;
    }
    if (best >= 0) chosen.number[chosen.n++] = best;
    return best >= 0;
  };
  take(-1.0, [&](const Vec3& p) {
    return p.z() > lowest + level ? -1.0 : (p - middle).head<2>().squaredNorm();
  });
  const Vec3 a = point(chosen.number[0]);
  if (!take(0.0, [&](const Vec3& p) { return (p - a).head<2>().squaredNorm(); })) return chosen;
  const Vec3 b = point(chosen.number[1]);
  const double line = kLine * (b - a).head<2>().squaredNorm();
  if (take(line, [&](const Vec3& p) { return std::abs(area(a, b, p)); })) {
    const Vec3 c = point(chosen.number[2]);
    const double turn = area(a, b, c) < 0.0 ? -1.0 : 1.0;
    take(line, [&](const Vec3& p) {
      return -std::min({turn * area(a, b, p), turn * area(b, c, p), turn * area(c, a, p)});
    });
    // what touches before corners farther out that do not, of bodies with rounded edges
    for (const double highest : {kTouchPreference * size, std::numeric_limits<double>::infinity()})
      if (flat) add_corners(n, point, highest, line / kLine * 2.0 * kClearGain, most, chosen);
  } else {
    // of a line also the end on the other side, if the deepest lies between
    take(kClearGain * (b - a).head<2>().squaredNorm(),
         [&](const Vec3& p) { return -(b - a).head<2>().dot((p - a).head<2>()); });
  }
  std::sort(chosen.number.begin(), chosen.number.begin() + chosen.n);
  return chosen;
}

/// Two points at the ends of the common length of two parallel lines.
bool add_line_points(const std::array<Vec3, 2>& line_a, const std::array<Vec3, 2>& line_b,
                     const Convex& a, const Convex& b, const Vec3& n, double margin,
                     std::vector<ContactPoint>& out) {
  const Vec3 u = line_a[1] - line_a[0], v = line_b[1] - line_b[0];
  const double uu = u.squaredNorm(), vv = v.squaredNorm();
  if (!(uu > 0.0 && vv > 0.0) || u.cross(v).squaredNorm() > kParallel * kParallel * uu * vv) {
    return false;
  }
  const double s0 = u.dot(line_b[0] - line_a[0]) / uu, s1 = u.dot(line_b[1] - line_a[0]) / uu;
  const double from = std::max(0.0, std::min(s0, s1)), to = std::min(1.0, std::max(s0, s1));
  if (!(to - from > kSnap)) return false;
  for (const bool end : {false, true}) {
    const double s = end ? to : from;
    const Vec3 on_a = line_a[0] + s * u;
    const Vec3 on_b = line_b[0] + (s - s0) / (s1 - s0) * v;
    const double gap = n.dot(on_b - on_a) - a.radius - b.radius;
    if (!(gap < margin)) continue;
    const Vec3 surface_a = on_a + a.radius * n, surface_b = on_b - b.radius * n;
    out.push_back({0.5 * (surface_a + surface_b), n, gap, kLineFeature + (end ? 1 : 0)});
  }
  return true;
}

/// The line in which the body touches a plane across n (outward), if it does in a line.
bool support_line(const Convex& body, const Vec3& n, std::array<Vec3, 2>& line) {
  const double level = kLevel * body.size;
  if (body.core == Convex::Core::segment) {
    line = {body.p - body.half.z() * body.axis(), body.p + body.half.z() * body.axis()};
    return std::abs(n.dot(line[1] - line[0])) < level;
  }
  if (body.core == Convex::Core::cylinder) {
    line = side_line(body, n);
    return std::abs(n.dot(line[1] - line[0])) < level;
  }
  if (body.core == Convex::Core::point) return false;
  Polytope polytope;
  make_polytope(body, polytope);
  double top = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < polytope.vertices.size(); ++k) {
    top = std::max(top, n.dot(polytope.vertices[k]));
  }
  double longest = 0.0;
  for (const auto& edge : polytope.edges) {
    const Vec3 &p = polytope.vertices[edge[0]], &q = polytope.vertices[edge[1]];
    if (n.dot(p) < top - level || n.dot(q) < top - level) continue;
    if ((q - p).squaredNorm() > longest) longest = (q - p).squaredNorm(), line = {p, q};
  }
  return longest > 0.0;
}

ContactPoint closest_point(const Convex& a, const Convex& b, const ConvexGap& gap) {
  const Vec3 surface_a = gap.on_a + a.radius * gap.normal;
  const Vec3 surface_b = gap.on_b - b.radius * gap.normal;
  return {0.5 * (surface_a + surface_b), gap.normal, gap.gap, kClosestFeature};
}

/// Separation of `other` above a face, with its radius.
double above_face(const Convex& body, int face, const Convex& other) {
  const Vec3 n = face_normal(body, face);
  return n.dot(support(other, -n) - support(body, n)) - other.radius;
}

bool has_flat_faces(const Convex& body) {
  return body.core != Convex::Core::cylinder && face_towards(body, Vec3::UnitZ()) >= 0;
}

double lowest_gap(const std::vector<ContactPoint>& points, std::size_t first) {
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t k = first; k < points.size(); ++k) lowest = std::min(lowest, points[k].gap);
  return lowest;
}

void turn_round(std::vector<ContactPoint>& points, std::size_t first) {
  for (std::size_t k = first; k < points.size(); ++k) points[k].normal = -points[k].normal;
}

}  // namespace

Vec3 face_normal(const Convex& body, int face) {
  if (face < 0) return Vec3::Zero();
  switch (body.core) {
    default:
      return Vec3::Zero();
    case Convex::Core::box:
      return (face % 2 == 0 ? 1.0 : -1.0) * body.r.col(face / 2);
    case Convex::Core::cylinder:
      return (face == 0 ? 1.0 : -1.0) * body.r.col(2);
    case Convex::Core::hull:
      return body.r * body.geometry->face_normals[face];
    case Convex::Core::triangle:
      return (face == 0 ? 1.0 : -1.0) * (body.corner[1] - body.corner[0])
                                            .cross(body.corner[2] - body.corner[0])
                                            .stableNormalized();
  }
}

int face_towards(const Convex& body, const Vec3& direction) {
  const Vec3 d = body.r.transpose() * direction;
  int best = -1;
  switch (body.core) {
    default:
      break;
    case Convex::Core::box:
      best = 0;
      for (int k = 1; k < 3; ++k) {
        if (std::abs(d[k]) > std::abs(d[best]) + 1e-9) best = k;
      }
      best = 2 * best + (d[best] < 0.0 ? 1 : 0);
      break;
    case Convex::Core::cylinder:
      best = d.z() < 0.0 ? 1 : 0;
      break;
    case Convex::Core::hull: {
      double most = -2.0;
      for (std::size_t f = 0; f < body.geometry->face_normals.size(); ++f) {
        const double along = body.geometry->face_normals[f].dot(d);
        if (along > most + 1e-9) most = along, best = narrow<int>(f);
      }
      break;
    }
    case Convex::Core::triangle:
      best = face_normal(body, 0).dot(direction) < 0.0 ? 1 : 0;
      break;
  }
  return best;
}

double add_face_points(const Convex& a, int face, const Convex& b, double margin,
                       std::vector<ContactPoint>& out) {
  const Vec3 n = face_normal(a, face);
  Outline reference, own, buffer, other_buffer;
  face_outline(a, face, n, reference);
  const Vec3 origin = reference[0].p;
  Mat3 frame;
  frame.col(2) = n;
  frame.col(0) = (reference[1].p - origin).normalized();
  frame.col(1) = n.cross(frame.col(0));
  for (int k = 0; k < reference.size(); ++k) {
    reference[k].p = frame.transpose() * (reference[k].p - origin);
  }
  std::int32_t number = 0;
  incident_outline(b, -n, own, number);
  for (int k = 0; k < own.size(); ++k) own[k].p = frame.transpose() * (own[k].p - origin);
  const Outline* last = &own;
  Outline *next = &buffer, *spare = &other_buffer;
  for (int k = 0; k < reference.size(); ++k) {
    clip(*last, reference[k].p, reference[(k + 1) % reference.size()].p, kSideOfReference + k,
         *next);
    last = next;
    std::swap(next, spare);
    if (last->size() == 0) return std::numeric_limits<double>::infinity();
  }
  Outline& outline = *spare;  // the last one written
  // corners of triangles are no corners of the surface
  const bool of_surface = a.core == Convex::Core::triangle;
  const double size =
      b.core == Convex::Core::point || of_surface ? a.size : std::min(a.size, b.size);
  name_and_merge(outline, own, reference, (of_surface ? kSnapOnSurface : kSnap) * size);
  int kept = 0;
  for (int k = 0; k < outline.size(); ++k) {
    if (outline[k].p.z() - b.radius < margin) outline[kept++] = outline[k];
  }
  outline.resize(kept);
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kept; ++k) least = std::min(least, outline[k].p.z() - b.radius);
  const auto add = [&](const Corner& corner) {
    const double gap = corner.p.z() - b.radius;
    const Vec3 middle(corner.p.x(), corner.p.y(), 0.5 * gap);
    out.push_back(
        {origin + frame * middle, n, gap, (face * 64 + number) % 512 * (1 << 20) + corner.name});
  };
  if (kept <= 4) {
    for (int k = 0; k < kept; ++k) add(outline[k]);
    return least;
  }
  // the order of equals: where the outline starts may change with the least shift
  outline.sort_by_name();
  const Chosen chosen = choose_points(
      kept, [&](int i) { return Vec3(outline[i].p - b.radius * Vec3::UnitZ()); }, size,
      lies_flat(b, n), of_surface || a.core == Convex::Core::cylinder ? kMostOfMany : kMostPoints);
  for (int k = 0; k < chosen.n; ++k) add(outline[chosen.number[k]]);
  return least;
}

void add_manifold(const Convex& a, const Convex& b, const ConvexGap& gap, double margin,
                  std::vector<ContactPoint>& out) {
  const std::size_t first = out.size();
  const double touch = kTouchPreference * std::min(a.size, b.size);
  const auto clearly_above = [touch](double x, double y, double relative) {
    return x > y + relative * std::abs(y) + touch;
  };
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const int face_a = face_towards(a, gap.normal), face_b = face_towards(b, -gap.normal);
  const double of_a = face_a >= 0 ? above_face(a, face_a, b) - a.radius : kNone;
  const double of_b = face_b >= 0 ? above_face(b, face_b, a) - b.radius : kNone;
  const Vec3 n_a = face_normal(a, face_a), n_b = face_normal(b, face_b);
  const auto use_face = [&](bool b_face) {
    if (!b_face) return add_face_points(a, face_a, b, margin, out);
    const double least = add_face_points(b, face_b, a, margin, out);
    turn_round(out, first);
    for (std::size_t k = first; k < out.size(); ++k) out[k].feature ^= 1 << 30;
    return least;
  };
  if (face_a >= 0 && n_a.dot(gap.normal) > kFlat && lies_flat(b, n_a)) {
    // faces flat on each other: whether a face or two edges part them best is up to the least
    // tilt, so A's face if its points have the gap, else B's
    for (const bool use_b : {false, true}) {
      if (tells_gap(use_face(use_b), gap, a, b)) return;
      out.resize(first);
    }
  }
  // faces that are all but parallel: A's, whichever is higher by a hair
  const bool b_first = face_a < 0 || (clearly_above(of_b, of_a, kFirstPreference) &&
                                      -n_a.dot(n_b) < kAlmostParallel);
  for (const bool use_b : {b_first, !b_first}) {
    const double of_face = use_b ? of_b : of_a;
    if (of_face == kNone) continue;
    const double cosine = (use_b ? -n_b : n_a).dot(gap.normal);
    const bool along = cosine > kAlmostParallel;
    const bool edges_tell = !along && clearly_above(gap.gap, of_face, kFacePreference);
    // a corner beside the other face may be lower than all that lies above it, where an edge lies
    // along a face and crosses another edge at a small angle
    const bool near = cosine > kFlat && has_flat_faces(a) && has_flat_faces(b) &&
                      gap.gap - of_face < kBeside * std::min(a.size, b.size);
    if (edges_tell && !near) continue;
    const double lowest = use_face(use_b);
    const bool holds_deepest = (near && tells_gap(lowest, gap, a, b)) ||
                               (!edges_tell && (!clearly_above(lowest, of_face, 0.0) ||
                                                (along && !clearly_above(lowest, gap.gap, 0.0))));
    if (out.size() > first && holds_deepest) return;
    if (out.size() > first &&
        (a.core == Convex::Core::cylinder || b.core == Convex::Core::cylinder) &&
        gap.gap - of_face <= touch) {
      // corners cut the rim of a cap short: the deepest point as found
      if (out.size() - first == 4) out.pop_back();
      out.push_back(closest_point(a, b, gap));
      out.back().feature = kLostFeature;
      return;
    }
    out.resize(first);
  }
  std::array<Vec3, 2> line_a, line_b;
  if (support_line(a, gap.normal, line_a) && support_line(b, -gap.normal, line_b) &&
      add_line_points(line_a, line_b, a, b, gap.normal, margin, out)) {
    if (lowest_gap(out, first) <= gap.gap + 1e-9 * std::min(a.size, b.size)) return;
  }
  out.push_back(closest_point(a, b, gap));
}

bool lies_flat(const Convex& body, const Vec3& normal) {
  if (body.core == Convex::Core::cylinder) return false;  // its deepest point moves round the rim
  const int face = face_towards(body, -normal);
  return face >= 0 && -face_normal(body, face).dot(normal) > kFlat;
}

bool tells_gap(double least, const ConvexGap& gap, const Convex& a, const Convex& b) {
  const double touch = kTouchPreference * std::min(a.size, b.size);
  return std::abs(least - gap.gap) <= kFlatTells * std::abs(gap.gap) + touch;
}

void keep_few(std::vector<ContactPoint>& points, std::size_t first, double size, bool flat,
              bool of_surface) {
  const auto n = narrow<int>(points.size() - first);
  if (n <= 2) return;
  std::sort(points.begin() + first, points.end(), [](const ContactPoint& x, const ContactPoint& y) {
    return x.part != y.part ? x.part < y.part : x.feature < y.feature;
  });
  const Vec3 normal = points[first].normal;
  const Vec3 u = normal.unitOrthogonal(), v = normal.cross(u), origin = points[first].point;
  const Chosen chosen = choose_points(
      n,
      [&](int k) {
        const ContactPoint& p = points[first + k];
        return Vec3(u.dot(p.point - origin), v.dot(p.point - origin), p.gap);
      },
      size, flat, of_surface ? kMostOfMany : kMostPoints);
  for (int k = 0; k < chosen.n; ++k) {
    points[first + k] = points[first + chosen.number[k]];
  }
  points.resize(first + chosen.n);
}

}  // namespace catena
