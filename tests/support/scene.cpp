#include "support/scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/math/rotation.hpp"

namespace catena::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

bool is_dynamic(const Scene& scene, GlobalId body) {
  return scene.bodies[at(body)].mass != MassKind::prescribed;
}

std::vector<GlobalId> bodies_of(const RigidContact& contact) {
  return {contact.body_a, contact.body_b};
}

/// The body whose rank holds the block: the first dynamic one.
GlobalId home_of_block(const Scene& scene, const std::vector<GlobalId>& bodies) {
  for (const GlobalId b : bodies)
    if (is_dynamic(scene, b)) return b;
  return bodies.front();
}

/// Bodies of `rank`'s blocks that it does not own, as (owner, id), dynamic and prescribed.
struct Foreign {
  std::set<std::pair<int, GlobalId>> ghosts;
  std::set<GlobalId> prescribed;
};

Foreign foreign_bodies(const Scene& scene, const Owner& owner, int rank) {
  Foreign out;
  const auto visit = [&](const std::vector<GlobalId>& bodies) {
    if (owner(home_of_block(scene, bodies)) != rank) return;
    for (const GlobalId b : bodies) {
      if (owner(b) == rank) continue;
      if (is_dynamic(scene, b))
        out.ghosts.emplace(owner(b), b);
      else
        out.prescribed.insert(b);
    }
  };
  for (const RigidContact& c : scene.contacts) visit(bodies_of(c));
  for (const SceneBlock& block : scene.blocks) visit(block.bodies);
  return out;
}

void add_body(ProblemBodies& bodies, GlobalId id, const SceneBody& body) {
  const double* v = body.free_velocity.data();
  const auto twist = [&] { return Twist{Vec3(v[0], v[1], v[2]), Vec3(v[3], v[4], v[5])}; };
  switch (body.mass) {
    case MassKind::prescribed:
      bodies.add_prescribed(id, twist());
      return;
    case MassKind::rigid: {
      const double* m = body.inverse_mass.data();
      Mat3 inertia;
      inertia << m[1], m[2], m[3], m[2], m[4], m[5], m[3], m[5], m[6];
      bodies.add_rigid(id, m[0], inertia, twist());
      return;
    }
    case MassKind::dense:
      bodies.add_dense(id, body.inverse_mass, body.free_velocity);
      return;
  }
}

void add_block(GeneralBlocks& out, const SceneBlock& block, std::int64_t name,
               const std::vector<Index>& local) {
  const std::size_t rows = block.q.size();
  out.kind.push_back(block.kind);
  out.name.push_back(name);
  out.friction.push_back(block.friction);
  out.rolling.push_back(block.rolling);
  out.spinning.push_back(block.spinning);
  out.cohesion.push_back(block.cohesion);
  out.row_begin.push_back(out.row_begin.back() + static_cast<Index>(rows));
  out.body_begin.push_back(out.body_begin.back() + static_cast<Index>(block.bodies.size()));
  for (std::size_t j = 0; j < block.bodies.size(); ++j) {
    out.body.push_back(local[at(block.bodies[j])]);
    out.jacobian.insert(out.jacobian.end(), block.jacobians[j].begin(), block.jacobians[j].end());
    out.jacobian_begin.push_back(static_cast<std::int64_t>(out.jacobian.size()));
  }
  for (std::size_t i = 0; i < rows; ++i) {
    out.q.push_back(block.q[i]);
    out.compliance.push_back(block.compliance.empty() ? 0.0 : block.compliance[i]);
    out.lower.push_back(block.lower.empty() ? 0.0 : block.lower[i]);
    out.upper.push_back(block.upper.empty() ? 0.0 : block.upper[i]);
    out.angular.push_back(block.angular.empty() ? std::uint8_t{0} : block.angular[i]);
  }
}

/// Local bodies, their places (`local` by id) and the halo plan.
void distribute_bodies(const Scene& scene, const Owner& owner, LocalScene& out,
                       std::vector<Index>& local) {
  const int rank = out.problem.comm.rank();
  const int size = out.problem.comm.size();
  std::vector<Index> first_dof = {0};
  for (const SceneBody& body : scene.bodies)
    first_dof.push_back(first_dof.back() + static_cast<Index>(body.free_velocity.size()));
  local.assign(scene.bodies.size(), kNoIndex);
  ProblemBodies& bodies = out.problem.bodies;
  const auto add = [&](GlobalId b) {
    local[at(b)] = bodies.size();
    add_body(bodies, b, scene.bodies[at(b)]);
    for (Index d = first_dof[at(b)]; d < first_dof[at(b) + 1]; ++d) out.dof.push_back(d);
  };
  for (GlobalId b = 0; b < static_cast<GlobalId>(scene.bodies.size()); ++b)
    if (owner(b) == rank) add(b);
  bodies.n_owned = bodies.size();
  const Foreign mine = foreign_bodies(scene, owner, rank);
  for (const auto& ghost : mine.ghosts) add(ghost.second);
  for (const GlobalId b : mine.prescribed) add(b);
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    HaloPlan::Neighbour neighbour{other, {}, {}};
    for (const auto& [from, b] : foreign_bodies(scene, owner, other).ghosts)
      if (from == rank) neighbour.send.push_back(local[at(b)]);
    for (const auto& [from, b] : mine.ghosts)
      if (from == other) neighbour.receive.push_back(local[at(b)]);
    if (!neighbour.send.empty() || !neighbour.receive.empty())
      out.problem.ghosts.neighbours.push_back(std::move(neighbour));
  }
  out.scene_dofs = first_dof.back();
}

}  // namespace

GlobalId Scene::add_prescribed(const Twist& twist) {
  SceneBody body;
  body.free_velocity.assign(twist.v.data(), twist.v.data() + 3);
  body.free_velocity.insert(body.free_velocity.end(), twist.w.data(), twist.w.data() + 3);
  bodies.push_back(std::move(body));
  return static_cast<GlobalId>(bodies.size()) - 1;
}

GlobalId Scene::add_rigid(double mass, const Vec3& inertia, const Twist& free_twist) {
  return add_rigid_full(1.0 / mass, inertia.cwiseInverse().asDiagonal(), free_twist);
}

GlobalId Scene::add_rigid_full(double inverse_mass, const Mat3& inverse_inertia,
                               const Twist& free_twist) {
  const GlobalId id = add_prescribed(free_twist);
  SceneBody& body = bodies.back();
  body.mass = MassKind::rigid;
  const Mat3& i = inverse_inertia;
  body.inverse_mass = {inverse_mass, i(0, 0), i(0, 1), i(0, 2), i(1, 1), i(1, 2), i(2, 2)};
  return id;
}

GlobalId Scene::add_dense(std::vector<double> inverse_mass, std::vector<double> free_velocity) {
  bodies.push_back({MassKind::dense, std::move(inverse_mass), std::move(free_velocity)});
  return static_cast<GlobalId>(bodies.size()) - 1;
}

RigidContact& Scene::add_contact(GlobalId a, GlobalId b, const Vec3& normal, const Vec3& arm_a,
                                 const Vec3& arm_b, double bias, double friction) {
  CATENA_CHECK(a < b, "contact keys name the smaller id first");
  RigidContact c;
  c.body_a = static_cast<Index>(a);
  c.body_b = static_cast<Index>(b);
  c.normal = normal;
  Vec3 second_tangent;
  tangents_of(normal, c.tangent, second_tangent);
  c.arm_a = arm_a;
  c.arm_b = arm_b;
  c.bias = bias;
  c.friction = friction;
  const auto same_pair = [&](const RigidContact& o) { return o.key.a == a && o.key.b == b; };
  c.key = {a, b,
           static_cast<std::int32_t>(std::count_if(contacts.begin(), contacts.end(), same_pair)),
           0};
  return contacts.emplace_back(c);
}

SceneBlock wide_block(const RigidContact& contact, double rolling, double spinning,
                      double cohesion) {
  SceneBlock block;
  block.kind = BlockKind::contact;
  block.bodies = {contact.body_a, contact.body_b};
  std::array<double, 18> g_a, g_b;
  contact_jacobian(contact, g_a, g_b);
  block.jacobians = {{g_a.begin(), g_a.end()}, {g_b.begin(), g_b.end()}};
  block.q = {-contact.bias, -contact.tangent_bias[0], -contact.tangent_bias[1]};
  block.compliance = {contact.compliance, contact.tangent_compliance, contact.tangent_compliance};
  block.angular = {0, 0, 0};
  block.friction = contact.friction;
  block.rolling = rolling;
  block.spinning = spinning;
  block.cohesion = cohesion;
  const auto add_row = [&](const Vec3& axis) {
    for (int side = 0; side < 2; ++side)
      for (int i = 0; i < 6; ++i)
        block.jacobians[static_cast<std::size_t>(side)].push_back(
            i < 3 ? 0.0 : (side == 0 ? -axis[i - 3] : axis[i - 3]));
    block.q.push_back(0.0);
    block.compliance.push_back(0.0);
    block.angular.push_back(1);
  };
  if (rolling >= 0.0) {
    add_row(contact.tangent);
    add_row(contact.normal.cross(contact.tangent));
  }
  if (spinning >= 0.0) add_row(contact.normal);
  return block;
}

Scene with_couples(Scene scene, double rolling, double spinning, double cohesion) {
  for (const RigidContact& c : scene.contacts)
    scene.blocks.push_back(wide_block(c, rolling, spinning, cohesion));
  scene.contacts.clear();
  return scene;
}

Index Scene::n_rows() const {
  Index rows = 3 * static_cast<Index>(contacts.size());
  for (const SceneBlock& block : blocks) rows += static_cast<Index>(block.q.size());
  return rows;
}

Index Scene::n_dofs() const {
  Index dofs = 0;
  for (const SceneBody& body : bodies) dofs += static_cast<Index>(body.free_velocity.size());
  return dofs;
}

Owner deal(const Communicator& comm) {
  return [size = comm.size()](GlobalId b) { return static_cast<int>(b % size); };
}

Owner slabs(const Communicator& comm, const Scene& scene) {
  const auto n = static_cast<GlobalId>(scene.bodies.size());
  return [size = comm.size(), n](GlobalId b) { return static_cast<int>(b * size / n); };
}

LocalScene distribute(const Scene& scene, const Communicator& comm, const Owner& owner,
                      const SubdomainOf& subdomain) {
  LocalScene out{ConstraintProblem(comm), {}, {}, scene.n_rows(), 0};
  std::vector<Index> local;
  distribute_bodies(scene, owner, out, local);
  for (Index b = 0; subdomain && b < out.problem.bodies.n_owned; ++b)
    out.problem.body_subdomain.push_back(subdomain(out.problem.bodies.id[b]));
  Index row = 0;
  const auto take = [&](const std::vector<GlobalId>& bodies, Index rows) {
    const GlobalId home = home_of_block(scene, bodies);
    const bool mine = owner(home) == comm.rank();
    for (Index i = 0; mine && i < rows; ++i) out.row.push_back(row + i);
    row += rows;
    if (mine && subdomain) out.problem.block_subdomain.push_back(subdomain(home));
    return mine;
  };
  out.problem.law = scene.law;
  for (const RigidContact& c : scene.contacts) {
    if (!take(bodies_of(c), 3)) continue;
    RigidContact& copy = out.problem.contacts.emplace_back(c);
    copy.body_a = local[at(c.body_a)];
    copy.body_b = local[at(c.body_b)];
  }
  for (std::size_t k = 0; k < scene.blocks.size(); ++k)
    if (take(scene.blocks[k].bodies, static_cast<Index>(scene.blocks[k].q.size())))
      add_block(out.problem.blocks, scene.blocks[k], static_cast<std::int64_t>(k), local);
  check_problem(out.problem);
  return out;
}

Owner first_rank() {
  return [](GlobalId) { return 0; };
}

std::vector<double> wave(Index n) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(2.0 * static_cast<double>(i));
  return x;
}

ConstraintProblem whole(const Scene& scene, const SubdomainOf& subdomain) {
  return distribute(scene, Communicator::self(), first_rank(), subdomain).problem;
}

ConstraintProblem whole(const Scene& scene, ContactLaw law) {
  ConstraintProblem problem = whole(scene);
  problem.law = law;
  return problem;
}

std::vector<double> gather_rows(const LocalScene& local, std::span<const double> rows) {
  std::vector<double> all(at(local.scene_rows), 0.0);
  for (std::size_t i = 0; i < local.row.size(); ++i) all[at(local.row[i])] = rows[i];
  local.problem.comm.sum(all);
  return all;
}

std::vector<double> gather_velocities(const LocalScene& local, std::span<const double> velocities) {
  std::vector<double> all(at(local.scene_dofs), 0.0);
  const ProblemBodies& bodies = local.problem.bodies;
  const auto owned = at(bodies.dof_begin[at(bodies.n_owned)]);
  for (std::size_t i = 0; i < owned; ++i) all[at(local.dof[i])] = velocities[i];
  local.problem.comm.sum(all);
  return all;
}

std::vector<double> local_rows(const LocalScene& local, std::span<const double> scene_rows) {
  std::vector<double> out;
  for (const Index row : local.row) out.push_back(scene_rows[at(row)]);
  return out;
}

}  // namespace catena::test
