#include "scenarios/pieces/convex_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "catena/collision/hull_builder.hpp"
#include "scenarios/pieces/candidates.hpp"
#include "scenarios/pieces/reach.hpp"
#include "scenarios/pieces/solid.hpp"

namespace catena::scenarios {

namespace {

/// Parts of the body's volume: more than this beyond it is a dent; a cut that leaves less on one
/// side is none.
constexpr double kExact = 1e-9, kLeastPart = 1e-5;

struct Piece {
  Solid solid;
  HullFaces faces;
  Geometry hull;       ///< in its principal frame
  double reach = 0.0;  ///< m
  bool final = false;  ///< no plane parts it
};

Geometry geometry_of(const HullFaces& faces) {
  Geometry hull;
  hull.type = ShapeType::hull;
  hull.vertices = faces.vertices;
  hull.face_begin = faces.face_begin;
  hull.face_corners = faces.face_corners;
  hull.face_normals = faces.face_normals;
  hull.face_offsets = faces.face_offsets;
  complete_geometry(hull, GeometryFrame::principal);
  return hull;
}

/// At most, by any of the points: a bound from below of their hull's volume.
double some_hull_volume(const std::vector<Vec3>& points) {
  constexpr std::size_t kSome = 128;
  if (points.size() <= kSome) return hull_volume(points).value_or(0.0);
  std::vector<Vec3> some(kSome);
  for (std::size_t i = 0; i < kSome; ++i) some[i] = points[i * points.size() / kSome];
  return hull_volume(some).value_or(0.0);
}

class Cutter {
 public:
  Cutter(const Geometry& mesh, double tolerance)
      : body_(mesh, {}), edges_(concave_edges(mesh)), tolerance_(tolerance) {
    const Aabb box = body_.bounds();
    rounding_ = 1e-9 * (box.hi - box.lo).maxCoeff();
    Solid whole;
    whole.points = mesh.vertices;
    whole.surface.assign(mesh.triangles.begin(), mesh.triangles.end());
    whole.volume = body_.volume();
    pieces_.push_back(piece_of(std::move(whole)));
  }

  void cut_until(int most) {
    while (std::ssize(pieces_) < most) {
      Piece* worst = nullptr;
      for (Piece& piece : pieces_) {
        if (piece.final || piece.reach <= tolerance_) continue;
        if (worst == nullptr || piece.reach > worst->reach) worst = &piece;
      }
      if (worst == nullptr) return;
      const std::optional<CutPlane> plane = best_plane(*worst);
      if (!plane.has_value()) {
        worst->final = true;
        continue;
      }
      Halves halves = cut(worst->solid, *plane, body_, rounding_);
      *worst = piece_of(std::move(halves.below));
      pieces_.push_back(piece_of(std::move(halves.above)));
    }
  }

  ConvexPieces result() const {
    ConvexPieces all;
    for (const Piece& piece : pieces_) {
      all.corners.push_back(piece.faces.vertices);
      all.volume += piece.hull.volume;
      all.reach = std::max(all.reach, piece.reach);
    }
    return all;
  }

 private:
  Piece piece_of(Solid solid) const {
    Piece piece;
    piece.faces = build_hull(span_of(solid));
    piece.hull = geometry_of(piece.faces);
    // what has no dent needs no search, which never returns exactly zero
    if (piece.hull.volume - solid.volume > kExact * body_.volume())
      piece.reach = reach_beyond(piece.faces, body_, 0.25 * tolerance_);
    piece.solid = std::move(solid);
    return piece;
  }

  /// A plane that may be the best one, and a bound from below of what it leaves beyond the body,
  /// m^3.
  struct Candidate {
    CutPlane plane;
    std::size_t number;  ///< among all
    double bound = 0.0;
  };

  /// In the order of the bounds, and of the planes where these are alike.
  std::vector<Candidate> bounded_candidates(const Piece& piece) const {
    std::vector<Candidate> candidates;
    std::size_t number = 0;
    for (const CutPlane& plane : candidate_planes(piece.solid, edges_, piece.hull, rounding_)) {
      ++number;
      const HalvesSpan halves = span_of_halves(piece.solid, plane, body_, rounding_);
      if (std::min(halves.volume_below, halves.volume_above) < kLeastPart * body_.volume())
        continue;
      // no hull is smaller than that of some of its points, nor than what it holds
      const double below = std::max(some_hull_volume(halves.below), halves.volume_below);
      const double above = std::max(some_hull_volume(halves.above), halves.volume_above);
      candidates.push_back(
          {plane, number, std::max(below + above - piece.solid.volume, rounded_off())});
    }
    std::ranges::stable_sort(candidates, {}, &Candidate::bound);
    return candidates;
  }

  /// Volumes that differ by less are alike: rounding decides nothing.
  double rounded_off() const { return kExact * body_.volume(); }

  /// The first of the planes with the least volume beyond the body. Hulls are made in the order of
  /// the bounds, and only until these are above what the best plane leaves.
  std::optional<CutPlane> best_plane(const Piece& piece) const {
    std::optional<Candidate> best;  // its bound is what it leaves
    for (Candidate candidate : bounded_candidates(piece)) {
      if (best.has_value() && candidate.bound > best->bound + rounded_off()) break;
      const HalvesSpan halves = span_of_halves(piece.solid, candidate.plane, body_, rounding_);
      const std::optional<double> below = hull_volume(halves.below);
      const std::optional<double> above = hull_volume(halves.above);
      if (!below.has_value() || !above.has_value()) continue;
      candidate.bound = *below + *above - piece.solid.volume;
      const double more = best.has_value() ? candidate.bound - best->bound : 0.0;
      const bool alike = std::abs(more) <= rounded_off();
      if (!best.has_value() || (alike ? candidate.number < best->number : more < 0.0))
        best = candidate;
      if (best->bound <= rounded_off()) break;  // of those that leave nothing the first comes first
    }
    return best.has_value() ? std::optional(best->plane) : std::nullopt;
  }

  ClosedSurface body_;
  std::vector<ConcaveEdge> edges_;
  double tolerance_, rounding_ = 0.0;
  std::vector<Piece> pieces_;
};

}  // namespace

ConvexPieces convex_pieces(const Geometry& mesh, int most, double tolerance) {
  Cutter cutter(mesh, tolerance);
  cutter.cut_until(most);
  return cutter.result();
}

}  // namespace catena::scenarios
