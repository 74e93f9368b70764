// Convex bodies as the general pair tests see them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "catena/model/geometry.hpp"
#include "catena/model/shape.hpp"

namespace catena {

/// A convex body at its place, in a frame with the world's axes whose origin is near the pair
/// (so that nothing is lost to rounding far from the world's origin): all points within `radius`
/// of a core. Refers to the geometry; made anew for each pair.
struct Convex {
  enum class Core : std::uint8_t {
    point,     ///< sphere
    segment,   ///< capsule: p +- half.z along the body's z axis
    box,       ///< half edges `half`
    cylinder,  ///< radius half.x, half length half.z
    hull,      ///< vertices of `geometry` times `scale`
    triangle,  ///< corner[0..2]; its front is counter-clockwise
  };
  Core core = Core::point;
  Vec3 p = Vec3::Zero();
  Mat3 r = Mat3::Identity();
  Vec3 half = Vec3::Zero();
  double radius = 0.0;
  const Geometry* geometry = nullptr;
  double scale = 1.0;
  std::array<Vec3, 3> corner{};
  double size = 0.0;  ///< length that tolerances are parts of: of the order of the body's size

  Vec3 axis() const { return r.col(2); }
  bool is_polytope() const { return core != Core::cylinder; }
};

/// `shape` (sphere, capsule, box, cylinder or hull) at `pose`, seen from `origin`.
Convex convex_of(const Shape& shape, const Pose& pose, const Vec3& origin,
                 std::span<const Geometry> geometries);

/// Triangle, corners seen from the same origin as the pair's other body.
Convex convex_of(const std::array<Vec3, 3>& corners);

/// Point of the core that lies farthest along `direction` (any length); the first of equals.
Vec3 support(const Convex& body, const Vec3& direction);

/// How far the bodies' cores are apart along the unit vector n (from A to B); negative if
/// their shadows overlap. Subtract both radii for the bodies themselves.
inline double separation(const Convex& a, const Convex& b, const Vec3& n) {
  return n.dot(support(b, -n) - support(a, n));
}

/// An array on the stack up to kMost items, else on the heap.
template <class T, std::size_t kMost>
class SmallArray {
 public:
  void resize(std::size_t n) {
    if (n > kMost) heap_ = std::make_unique<T[]>(n);
    size_ = n;
  }
  std::size_t size() const { return size_; }
  T* data() { return heap_ ? heap_.get() : here_.data(); }
  const T* data() const { return heap_ ? heap_.get() : here_.data(); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }

 private:
  std::array<T, kMost> here_;
  std::unique_ptr<T[]> heap_;
  std::size_t size_ = 0;
};

/// A flat core with straight edges in the pair's frame: what the separating-axis test walks over.
/// Face 0 of a triangle is its front and face 1 its back.
struct Polytope {
  using Edge = std::array<std::int32_t, 4>;  ///< as Geometry::edges

  SmallArray<Vec3, 32> vertices;
  SmallArray<Vec3, 64> normals;
  SmallArray<double, 64> offsets;
  std::span<const Edge> edges;
  /// Edges whose two faces are opposite or missing: any normal across them may be the body's.
  bool thin = false;
  Vec3 centre = Vec3::Zero();  ///< of a ball inside
  double inner_radius = 0.0;
};

/// Core of `body` as a polytope; `body` is not a cylinder and outlives it.
void make_polytope(const Convex& body, Polytope& out);

}  // namespace catena
