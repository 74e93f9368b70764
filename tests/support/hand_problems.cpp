#include "support/hand_problems.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "catena/base/error.hpp"

namespace catena::test {
namespace {

constexpr double kHalfEdge = 0.1;  ///< m, of the cubes

Vec3 cube_inertia() { return Vec3::Constant(4.0 * kHalfEdge * kHalfEdge / 6.0); }

/// Uniform numbers, the same with every standard library.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : engine_(seed) {}
  double operator()(double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(engine_() >> 11) * 0x1.0p-53;
  }
  Vec3 vector(double size) {
    const double x = (*this)(-size, size), y = (*this)(-size, size);
    return {x, y, (*this)(-size, size)};
  }

 private:
  std::mt19937_64 engine_;
};

/// Four contacts between the faces of two cubes, one above the other (or on the plane).
void add_face_contacts(Scene& scene, GlobalId below, GlobalId above, double friction) {
  for (const double x : {-kHalfEdge, kHalfEdge})
    for (const double y : {-kHalfEdge, kHalfEdge})
      scene.add_contact(below, above, Vec3::UnitZ(), Vec3(x, y, kHalfEdge), Vec3(x, y, -kHalfEdge),
                        0.0, friction);
}

std::vector<double> random_spd(Uniform& uniform, int n) {
  Eigen::MatrixXd a(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a(i, j) = uniform(-1.0, 1.0);
  const Eigen::MatrixXd spd = a * a.transpose() + 0.5 * Eigen::MatrixXd::Identity(n, n);
  return {spd.data(), spd.data() + spd.size()};
}

struct PileContact {
  double gap;
  GlobalId a, b;
};

}  // namespace

Scene incline_scene(double mass, double tilt, double friction, double step) {
  Scene scene;
  scene.add_prescribed();
  scene.add_rigid(mass, Vec3::Constant(mass * 0.01), {Vec3(0, 0, -kGravity * step), Vec3::Zero()});
  const Vec3 normal(std::sin(tilt), 0.0, std::cos(tilt));
  RigidContact& contact =
      scene.add_contact(0, 1, normal, Vec3::Zero(), Vec3::Zero(), 0.0, friction);
  contact.tangent = Vec3(-std::cos(tilt), 0.0, std::sin(tilt));
  return scene;
}

ConstraintProblem block_on_incline(double mass, double tilt, double friction, double step) {
  return whole(incline_scene(mass, tilt, friction, step));
}

Scene two_spheres_on_plane(double friction, double step, double speed) {
  constexpr double kRadius = 0.1;
  const Vec3 inertia = Vec3::Constant(0.4 * kRadius * kRadius);
  const Vec3 fall(0, 0, -kGravity * step);
  Scene scene;
  scene.add_prescribed();
  scene.add_rigid(1.0, inertia, {fall + Vec3(speed, 0, 0), Vec3::Zero()});
  scene.add_rigid(1.0, inertia, {fall - Vec3(speed, 0, 0), Vec3::Zero()});
  const Vec3 down(0, 0, -kRadius);
  scene.add_contact(0, 1, Vec3::UnitZ(), Vec3(-kRadius, 0, 0), down, 0.0, friction);
  scene.add_contact(0, 2, Vec3::UnitZ(), Vec3(kRadius, 0, 0), down, 0.0, friction);
  scene.add_contact(1, 2, Vec3::UnitX(), Vec3(kRadius, 0, 0), Vec3(-kRadius, 0, 0), 0.0, friction);
  return scene;
}

Scene box_on_plane(double friction, double step, double speed) {
  Scene scene = box_stack(1, friction, step);
  scene.bodies[1].free_velocity[0] = speed;
  return scene;
}

Scene box_stack(int n, double friction, double step) {
  Scene scene;
  scene.add_prescribed();
  for (int i = 1; i <= n; ++i) {
    scene.add_rigid(1.0, cube_inertia(), {Vec3(0, 0, -kGravity * step), Vec3::Zero()});
    add_face_contacts(scene, i - 1, i, friction);
  }
  return scene;
}

Scene sphere_pile(int n_spheres, int n_contacts, double friction, double step, std::uint64_t seed) {
  constexpr double kSpacing = 0.195;
  constexpr double kDensity = 2500.0;
  Uniform uniform(seed);
  Scene scene;
  scene.add_prescribed();
  const int side = static_cast<int>(std::ceil(std::cbrt(n_spheres) - 1e-9));
  std::vector<Vec3> centre(1, Vec3::Zero());
  std::vector<double> radius(1, 0.0);
  for (int i = 0; i < n_spheres; ++i) {
    centre.push_back(kSpacing * Vec3(i % side, i / side % side, i / side / side) +
                     Vec3(0, 0, 0.5 * kSpacing) + uniform.vector(0.008));
    radius.push_back(0.1 * uniform(0.95, 1.05));
    const double mass = kDensity * 4.0 / 3.0 * M_PI * std::pow(radius.back(), 3);
    Twist twist{uniform.vector(0.1), uniform.vector(1.0)};
    twist.v.z() -= kGravity * step;
    scene.add_rigid(mass, Vec3::Constant(0.4 * mass * radius.back() * radius.back()), twist);
  }
  std::vector<PileContact> found;
  for (GlobalId b = 1; b <= n_spheres; ++b) {
    const auto at_b = static_cast<std::size_t>(b);
    found.push_back({centre[at_b].z() - radius[at_b], 0, b});
    for (GlobalId a = 1; a < b; ++a) {
      const auto at_a = static_cast<std::size_t>(a);
      const double distance = (centre[at_b] - centre[at_a]).norm();
      found.push_back({distance - radius[at_a] - radius[at_b], a, b});
    }
  }
  CATENA_CHECK(static_cast<int>(found.size()) >= n_contacts, "more contacts than pairs");
  std::sort(found.begin(), found.end(), [](const PileContact& l, const PileContact& r) {
    return std::pair(l.gap, l.b) < std::pair(r.gap, r.b);
  });
  found.resize(static_cast<std::size_t>(n_contacts));
  std::sort(found.begin(), found.end(), [](const PileContact& l, const PileContact& r) {
    return std::pair(l.a, l.b) < std::pair(r.a, r.b);
  });
  for (const PileContact& c : found) {
    const auto a = static_cast<std::size_t>(c.a);
    const auto b = static_cast<std::size_t>(c.b);
    const Vec3 normal = c.a == 0 ? Vec3(Vec3::UnitZ()) : (centre[b] - centre[a]).normalized();
    const Vec3 point = centre[b] - (radius[b] + 0.5 * c.gap) * normal;
    scene.add_contact(c.a, c.b, normal, point - centre[a], point - centre[b],
                      std::max(c.gap / step, -1.0), friction);
  }
  return scene;
}

Scene pendulum(double mass, double inertia, double length, double step) {
  Scene scene;
  scene.add_rigid(mass, Vec3(0.5 * inertia, inertia, inertia),
                  {Vec3(0, 0, -kGravity * step), Vec3::Zero()});
  SceneBlock joint;
  joint.kind = BlockKind::bilateral;
  joint.bodies = {0};
  // u = v + w x r of the point r = (-length, 0, 0)
  joint.jacobians = {{1, 0, 0, 0, 0, 0,        //
                      0, 1, 0, 0, 0, -length,  //
                      0, 0, 1, 0, length, 0}};
  joint.q = {0, 0, 0};
  scene.blocks.push_back(joint);
  return scene;
}

Scene limit(double mass, double clearance, double step) {
  Scene scene;
  scene.add_rigid(mass, Vec3::Constant(mass), {Vec3(0, 0, -kGravity * step), Vec3::Zero()});
  SceneBlock block;
  block.kind = BlockKind::unilateral;
  block.bodies = {0};
  block.jacobians = {{0, 0, 1, 0, 0, 0}};
  block.q = {-clearance / step};
  scene.blocks.push_back(block);
  return scene;
}

Scene motor(double inertia, double speed, double max_impulse) {
  Scene scene;
  scene.add_rigid(1.0, Vec3(inertia, inertia, inertia));
  SceneBlock block;
  block.kind = BlockKind::boxed;
  block.bodies = {0};
  block.jacobians = {{0, 0, 0, 0, 0, 1}};
  block.q = {speed};
  block.lower = {-max_impulse};
  block.upper = {max_impulse};
  block.angular = {1};
  scene.blocks.push_back(block);
  return scene;
}

namespace {

void add_ring_bodies(Scene& scene, int n, Uniform& uniform) {
  scene.add_prescribed({uniform.vector(1.0), uniform.vector(1.0)});
  for (int i = 1; i < n; ++i) {
    if (i % 3 == 1) {
      const std::vector<double> i3 = random_spd(uniform, 3);
      scene.add_rigid_full(uniform(0.5, 2.0), Eigen::Map<const Mat3>(i3.data()),
                           {uniform.vector(1.0), uniform.vector(1.0)});
      continue;
    }
    const int dofs = i % 3 == 2 ? 3 : 9;
    std::vector<double> v;
    for (int d = 0; d < dofs; ++d) v.push_back(uniform(-1.0, 1.0));
    scene.add_dense(random_spd(uniform, dofs), v);
  }
}

SceneBlock random_block(const Scene& scene, BlockKind kind, std::size_t rows,
                        const std::vector<GlobalId>& bodies, Uniform& uniform) {
  SceneBlock block;
  block.kind = kind;
  block.bodies = bodies;
  for (const GlobalId b : bodies) {
    std::vector<double> g;
    const std::size_t dofs = scene.bodies[static_cast<std::size_t>(b)].free_velocity.size();
    for (std::size_t i = 0; i < rows * dofs; ++i) g.push_back(uniform(-1.0, 1.0));
    block.jacobians.push_back(g);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    block.q.push_back(uniform(-1.0, 1.0));
    block.compliance.push_back(kind == BlockKind::contact ? 0.0 : uniform(0.0, 0.5));
    block.lower.push_back(kind == BlockKind::boxed ? uniform(-1.0, 0.0) : 0.0);
    block.upper.push_back(kind == BlockKind::boxed ? uniform(0.0, 1.0) : 0.0);
    block.angular.push_back(kind != BlockKind::contact && i % 2 == 1 ? 1 : 0);
  }
  if (kind == BlockKind::contact) block.friction = uniform(0.1, 0.9);
  return block;
}

}  // namespace

Scene mixed_ring(int n, std::uint64_t seed) {
  CATENA_CHECK(n >= 4, "a ring of at least four bodies");
  Uniform uniform(seed);
  Scene scene;
  add_ring_bodies(scene, n, uniform);
  // rigid contacts: each rigid body with the moving prescribed one and with the next rigid one
  for (int i = 1; i < n; i += 3) {
    for (const int a : {0, i - 3}) {
      if (a < 0) continue;
      scene.add_contact(a, i, uniform.vector(1.0).normalized(), uniform.vector(0.5),
                        uniform.vector(0.5), uniform(-1.0, 1.0), uniform(0.0, 1.0));
    }
  }
  constexpr std::array<BlockKind, 4> kKinds = {BlockKind::bilateral, BlockKind::contact,
                                               BlockKind::boxed, BlockKind::unilateral};
  for (int i = 0; i < n; ++i) {
    const BlockKind kind = kKinds[static_cast<std::size_t>(i) % 4];
    std::vector<GlobalId> bodies = {i, (i + 1) % n};
    if (i % 5 == 3) bodies.push_back((i + 2) % n);
    if (i % 5 == 4) bodies = {i};
    const std::size_t rows = kind == BlockKind::contact ? 3 : 1 + static_cast<std::size_t>(i % 3);
    scene.blocks.push_back(random_block(scene, kind, rows, bodies, uniform));
  }
  return scene;
}

}  // namespace catena::test
