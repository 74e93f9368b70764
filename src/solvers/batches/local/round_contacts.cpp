#include "solvers/batches/local/round_contacts.hpp"

#include <algorithm>
#include <cmath>

#include "catena/constraints/contact_cone.hpp"
#include "solvers/sphere_contacts.hpp"

namespace catena {
namespace {

using Row = Eigen::Map<const Vec3>;

/// A reference's Jacobian of 6 velocities, by rows in full.
class Side {
 public:
  Side(const double* jacobian, const std::array<int, 6>& place) : g_(jacobian), place_(place) {}
  bool has(int row) const { return place_[row] >= 0; }
  Vec3 linear(int row) const { return Row(g_ + Offset{6} * place_[row]); }
  Vec3 angular(int row) const { return Row(g_ + Offset{6} * place_[row] + 3); }

 private:
  const double* g_;
  std::array<int, 6> place_;
};

/// A rigid body that turns alike about all axes.
bool is_round(const ProblemBodies& bodies, Index b) {
  if (bodies.mass_kind[b] != MassKind::rigid) return false;
  const auto mass = std::span(bodies.inverse_mass).subspan(bodies.mass_begin[b], 7);
  return mass[0] > 0.0 && mass[1] > 0.0 && is_isotropic(mass);
}

constexpr double kNear = 1e-12;

bool is_near(const Vec3& x, const Vec3& y, double size) {
  return (x - y).squaredNorm() <= kNear * kNear * size * size;
}

/// Whether rows are `sign` times those of a contact with the frame n, t1, t2 and an arm along n.
bool has_arm(const Side& g, double sign, const std::array<Vec3, 3>& frame, double arm) {
  const double size = std::abs(arm);
  const std::array<Vec3, 6> angular = {Vec3(Vec3::Zero()),     sign * arm * frame[2],
                                       -sign * arm * frame[1], sign * frame[1],
                                       sign * frame[2],        sign * frame[0]};
  for (int i = 0; i < 6; ++i) {
    if (!g.has(i)) continue;
    const Vec3 linear = i < 3 ? Vec3(sign * frame[i]) : Vec3(Vec3::Zero());
    if (!is_near(g.linear(i), linear, 1.0)) return false;
    if (!is_near(g.angular(i), angular[i], i < 3 ? size : 1.0)) return false;
  }
  return true;
}

/// Impulses of round contacts are held in the world frame: by what a frame is off, they would leave
/// their cones.
bool is_frame(const std::array<Vec3, 3>& frame) {
  constexpr double kRoundOff = 1e-14, kTangents = 5e-14;
  return std::abs(frame[0].squaredNorm() - 1.0) <= kRoundOff &&
         std::abs(frame[1].squaredNorm() - 1.0) <= kTangents &&
         std::abs(frame[0].dot(frame[1])) <= kTangents &&
         is_near(frame[0].cross(frame[1]), frame[2], kTangents / kNear);
}

/// Whether sliding and rolling are so nearly one row that the local solve would have to shift them.
bool is_nearly_singular(const ProblemBodies& bodies, const RoundContact& c) {
  constexpr double kSmall = 1e-8;
  double slide = 0.0, roll = 0.0, both = 0.0;
  for (const RoundContact::Side& side : {c.a, c.b}) {
    if (side.body == kNoIndex) continue;
    const double* mass = bodies.inverse_mass.data() + bodies.mass_begin[side.body];
    slide += mass[0] + side.arm * side.arm * mass[1];
    roll += mass[1];
    both += side.arm * mass[1];
  }
  return !(slide * roll - both * both > kSmall * slide * roll);
}

/// Whether two rows of one kind are made from the same numbers along two axes.
bool are_alike(double x, double y) {
  constexpr double kRoundOff = 1e-13;
  return std::abs(x - y) <= kRoundOff * std::abs(x);
}

}  // namespace

std::optional<RoundContact> find_round_contact(const ConstraintProblem& problem, Index k) {
  const GeneralBlocks& blocks = problem.blocks;
  const Index i = k - to_index(problem.contacts.size());
  if (blocks.kind[i] != BlockKind::contact || blocks.rows(i) < 4 || !has_kernels(problem))
    return {};
  if (blocks.body_begin[i + 1] - blocks.body_begin[i] != 2) return {};
  const Index first = blocks.body_begin[i];
  const std::array<Index, 2> body = {blocks.body[first], blocks.body[first + 1]};
  const ProblemBodies& bodies = problem.bodies;
  std::array<bool, 2> still;
  for (std::size_t j = 0; j < 2; ++j) {
    still[j] = bodies.is_prescribed(body[j]);
    if (bodies.dofs(body[j]) != 6 || (!still[j] && !is_round(bodies, body[j]))) return {};
  }
  if ((still[0] && still[1]) || body[0] == body[1]) return {};

  const BlockView view = block_view(problem, k);
  RoundContact c;
  c.row = view.row;
  c.place = standard_row_slots(view);
  const std::array<Side, 2> g = {
      Side(blocks.jacobian.data() + blocks.jacobian_begin[first], c.place),
      Side(blocks.jacobian.data() + blocks.jacobian_begin[first + 1], c.place)};
  const std::size_t moving = still[1] ? 0 : 1;
  const double sign = moving == 0 ? -1.0 : 1.0;
  const std::array<Vec3, 3> frame = {sign * g[moving].linear(0), sign * g[moving].linear(1),
                                     sign * g[moving].linear(2)};
  if (!is_frame(frame)) return {};
  c.normal = frame[0];
  c.tangent1 = frame[1];
  c.tangent2 = frame[2];
  for (std::size_t j = 0; j < 2; ++j) {
    if (still[j]) continue;
    const double s = j == 0 ? -1.0 : 1.0;
    RoundContact::Side& side = j == 0 ? c.a : c.b;
    side = {body[j], s * g[j].angular(1).dot(frame[2])};
    if (!has_arm(g[j], s, frame, side.arm)) return {};
  }
  if (is_nearly_singular(bodies, c)) return {};
  for (int row = 0; row < 6; ++row) {
    if (c.place[row] < 0) continue;
    const Index at = blocks.row_begin[i] + c.place[row];
    c.bias[row] = -blocks.q[at];
    c.compliance[row] = blocks.compliance[at];
    for (std::size_t j = 0; j < 2; ++j) {
      if (!still[j]) continue;
      const double* v = bodies.free_velocity.data() + bodies.dof_begin[body[j]];
      c.bias[row] += g[j].linear(row).dot(Row(v)) + g[j].angular(row).dot(Row(v + 3));
    }
  }
  if (!are_alike(c.compliance[1], c.compliance[2]) || !are_alike(c.compliance[3], c.compliance[4]))
    return {};
  c.friction.bound = {view.friction, std::max(0.0, view.rolling), std::max(0.0, view.spinning)};
  c.cohesion = view.cohesion;
  return c;
}

}  // namespace catena
