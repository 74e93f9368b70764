#include "collision/convex/bullet_epa.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

// Bullet's headers do not compile cleanly with our warnings
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <BulletCollision/CollisionShapes/btConvexInternalShape.h>
#include <BulletCollision/NarrowPhaseCollision/btGjkEpa2.h>
#pragma GCC diagnostic pop

namespace catena {

namespace {

/// Disagreement of Bullet's depth and the support functions that is refused, part of the size.
constexpr double kAgree = 1e-7;

btVector3 to_bullet(const Vec3& x) { return {x.x(), x.y(), x.z()}; }
Vec3 from_bullet(const btVector3& x) { return {x.x(), x.y(), x.z()}; }

/// A core as Bullet sees it, in the pair's frame: Bullet's transforms stay the identity.
class SupportShape final : public btConvexInternalShape {
 public:
  explicit SupportShape(const Convex& body) : body_(body) {
    m_shapeType = CUSTOM_CONVEX_SHAPE_TYPE;
    m_collisionMargin = 0.0;
  }
  btVector3 localGetSupportingVertex(const btVector3& v) const override {
    return to_bullet(support(body_, from_bullet(v)));
  }
  btVector3 localGetSupportingVertexWithoutMargin(const btVector3& v) const override {
    return to_bullet(support(body_, from_bullet(v)));
  }
  void batchedUnitVectorGetSupportingVertexWithoutMargin(const btVector3* v, btVector3* out,
                                                         int n) const override {
    for (int k = 0; k < n; ++k) out[k] = localGetSupportingVertexWithoutMargin(v[k]);
  }
  void getAabb(const btTransform&, btVector3& lo, btVector3& hi) const override {
    for (int k = 0; k < 3; ++k) {
      lo[k] = support(body_, -Vec3::Unit(k))[k];
      hi[k] = support(body_, Vec3::Unit(k))[k];
    }
  }
  void calculateLocalInertia(btScalar, btVector3& inertia) const override {
    inertia.setValue(0.0, 0.0, 0.0);
  }
  const char* getName() const override { return "Catena"; }

 private:
  const Convex& body_;
};

/// Rounds of a climb. A hundred are usual; on an edge of the separation, which is not smooth, steps
/// get short before the top is reached, and the rest of the way would take millions.
constexpr int kMaxRounds = 500;

/// Climbs to a local maximum of the separation over the sphere of normals.
double climb(const Convex& a, const Convex& b, Vec3& n) {
  double best = separation(a, b, n);
  double step = 0.1;
  for (int round = 0; round < kMaxRounds && step > 1e-10; ++round) {
    const Vec3 u = n.unitOrthogonal(), v = n.cross(u);
    bool better = false;
    for (int k = 0; k < 8; ++k) {
      const double angle = 0.25 * k * std::numbers::pi;
      const Vec3 next = (n + step * (std::cos(angle) * u + std::sin(angle) * v)).normalized();
      const double s = separation(a, b, next);
      if (s > best) best = s, n = next, better = true;
    }
    if (!better) step *= 0.5;
  }
  return best;
}

}  // namespace

void overlap_by_epa(const Convex& a, const Convex& b, ConvexGap& out) {
  const SupportShape shape_a(a), shape_b(b);
  const btTransform identity = btTransform::getIdentity();
  const Vec3 d = b.p - a.p;
  const double tolerance = kAgree * std::max(a.size, b.size);
  // a start that fails for its symmetry does not when it is turned a little
  const std::array<Vec3, 4> starts = {d, Vec3(0.3, -0.5, 0.8), Vec3(-0.7, 0.6, 0.2),
                                      Vec3(0.1, 0.9, -0.4)};
  double best = -std::numeric_limits<double>::infinity();
  const auto offer = [&](const Vec3& n, const Vec3& on_a, const Vec3& on_b) {
    const double s = separation(a, b, n);
    if (s > best) {
      best = s;
      out.normal = n;
      out.on_a = on_a;
      out.on_b = on_b;
    }
  };
  bool found = false;
  for (std::size_t k = 0; k < starts.size() && !found; ++k) {
    btGjkEpaSolver2::sResults results;
    if (!btGjkEpaSolver2::Penetration(&shape_a, identity, &shape_b, identity, to_bullet(starts[k]),
                                      results, false)) {
      continue;
    }
    const Vec3 n = from_bullet(results.normal);
    if (!n.allFinite() || !(std::abs(n.norm() - 1.0) < 1e-3)) continue;
    const Vec3 w0 = from_bullet(results.witnesses[0]), w1 = from_bullet(results.witnesses[1]);
    offer(n.normalized(), w0, w1);
    offer(-n.normalized(), w0, w1);
    found = std::abs(best - results.distance) <= tolerance;
  }
  if (!found) {
    // a mere touch, or Bullet gave up: from the direction that GJK left and the bodies' own
    const Vec3 left = out.normal;
    const auto search = [&](Vec3 n) {
      if (!n.allFinite() || !(n.squaredNorm() > 0.0)) return;
      n.normalize();
      climb(a, b, n);
      const Vec3 on_a = support(a, n), on_b = support(b, -n);
      offer(n, on_a, on_b);
    };
    search(left);
    search(d);
    const Vec3 across = a.axis().cross(b.axis());
    search(across);
    search(-across);
    for (int k = 0; k < 3; ++k) {
      search(a.r.col(k));
      search(-a.r.col(k));
      search(b.r.col(k));
      search(-b.r.col(k));
    }
  }
  out.gap = best - a.radius - b.radius;
}

}  // namespace catena
