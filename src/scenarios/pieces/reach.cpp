#include "scenarios/pieces/reach.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <vector>

namespace catena::scenarios {

namespace {

/// A triangle of a face, with a bound on the distance of its points.
struct Patch {
  std::array<Vec3, 3> corner;
  double bound = 0.0;
  bool operator<(const Patch& other) const { return bound < other.bound; }
};

class Search {
 public:
  explicit Search(const ClosedSurface& body) : body_(body) {}

  /// Distances change no faster than places do, and that from one of the surface's triangles, which
  /// is convex, is largest at a corner: the smaller bound of both.
  void add(const std::array<Vec3, 3>& corner) {
    const Vec3 middle = (corner[0] + corner[1] + corner[2]) / 3.0;
    const ClosedSurface::Nearest near = body_.nearest(middle);
    double around = 0.0, from_triangle = 0.0;
    for (const Vec3& p : corner) {
      around = std::max(around, (p - middle).norm());
      from_triangle = std::max(from_triangle, body_.distance_from(near.triangle, p));
    }
    ++n_asked_;
    found_ = std::max(found_, -near.depth);
    const double bound = std::min(around - near.depth, from_triangle);
    if (bound > found_) patches_.push({corner, bound});
  }
  /// Halves the longest edge of the patch that may reach farthest.
  void refine() {
    const std::array<Vec3, 3> t = patches_.top().corner;
    patches_.pop();
    std::size_t k = 0;
    for (std::size_t i = 1; i < 3; ++i)
      if ((t[(i + 1) % 3] - t[i]).squaredNorm() > (t[(k + 1) % 3] - t[k]).squaredNorm()) k = i;
    const Vec3 &a = t[k], &b = t[(k + 1) % 3], &c = t[(k + 2) % 3];
    const Vec3 half = 0.5 * (a + b);
    add({a, half, c});
    add({half, b, c});
  }
  double found() const { return found_; }
  double bound() const {
    return patches_.empty() ? found_ : std::max(found_, patches_.top().bound);
  }
  int n_asked() const { return n_asked_; }

 private:
  const ClosedSurface& body_;
  std::priority_queue<Patch> patches_;
  double found_ = 0.0;
  int n_asked_ = 0;
};

}  // namespace

double reach_beyond(const HullFaces& hull, const ClosedSurface& body, double precision) {
  constexpr int kMost = 20000;
  constexpr double kRelative = 1.05;
  Search search(body);
  for (std::size_t f = 0; f + 1 < hull.face_begin.size(); ++f) {
    const auto at = [&](std::int32_t k) {
      return hull
          .vertices[static_cast<std::size_t>(hull.face_corners[static_cast<std::size_t>(k)])];
    };
    const std::int32_t begin = hull.face_begin[f], end = hull.face_begin[f + 1];
    for (std::int32_t k = begin + 1; k + 1 < end; ++k) search.add({at(begin), at(k), at(k + 1)});
  }
  while (search.bound() > std::max(kRelative * search.found(), search.found() + precision) &&
         search.n_asked() < kMost)
    search.refine();
  return search.bound();
}

}  // namespace catena::scenarios
