#include "scenarios/pieces/convex_pieces.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "catena/base/error.hpp"
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

/// Of the hull of points; nothing if they span none.
std::optional<double> hull_volume(const std::vector<Vec3>& points) {
  try {
    return geometry_of(build_hull(points)).volume;
  } catch (const Error&) {
    return std::nullopt;
  }
}

class Cutter {
 public:
  Cutter(const Geometry& mesh, double tolerance)
      : body_(mesh, {}), edges_(concave_edges(mesh)), tolerance_(tolerance) {
    const Aabb box = body_.bounds();
    rounding_ = 1e-9 * (box.hi - box.lo).maxCoeff();
    Solid whole;
    for (const auto& t : mesh.triangles)
      whole.surface.push_back({mesh.vertices[t[0]], mesh.vertices[t[1]], mesh.vertices[t[2]]});
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

  /// The first of the planes with the least volume beyond the body.
  std::optional<CutPlane> best_plane(const Piece& piece) const {
    const double whole = body_.volume();
    std::optional<CutPlane> best;
    double least = 0.0;
    for (const CutPlane& plane : candidate_planes(piece.solid, edges_, piece.hull, rounding_)) {
      const HalvesSpan halves = span_of_halves(piece.solid, plane, body_, rounding_);
      if (std::min(halves.volume_below, halves.volume_above) < kLeastPart * whole) continue;
      const std::optional<double> below = hull_volume(halves.below);
      const std::optional<double> above = hull_volume(halves.above);
      if (!below.has_value() || !above.has_value()) continue;
      const double beyond = *below + *above - piece.solid.volume;
      // differences by rounding decide nothing
      if (best.has_value() && beyond > least - kExact * whole) continue;
      best = plane;
      least = beyond;
      if (least <= kExact * whole) break;
    }
    return best;
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
