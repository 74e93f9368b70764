#include "catena/stepper/energy.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "catena/comm/sums.hpp"

namespace catena {

namespace {

/// Adds each owned body's kinetic and potential energy, momentum and angular momentum to eight
/// sums, in this order.
template <class Sums>
void add_bodies(const Model& model, const Bodies& bodies, const State& state, Sums& sums) {
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const BodyConstants& body = bodies.constants[i];
    if (body.kind != BodyKind::dynamic) continue;
    const BodyMotionState& s = state.body[i];
    const Vec3 p = body.mass * s.twist.v;
    // L = R I R^T omega about the centre of mass
    Vec3 spin = body.inertia.x() * s.twist.w;
    if (!is_isotropic(body)) {
      spin = s.pose.q * body.inertia.cwiseProduct(s.pose.q.conjugate() * s.twist.w);
    }
    sums[0] += 0.5 * (p.dot(s.twist.v) + spin.dot(s.twist.w));
    sums[1] -= body.mass * model.gravity.dot(s.pose.p);
    const Vec3 angular = s.pose.p.cross(p) + spin;
    for (int k = 0; k < 3; ++k) {
      sums[2 + k] += p[k];
      sums[5 + k] += angular[k];
    }
  }
}

template <class Numbers>
EnergyMomentum energy_momentum_of(const Numbers& n) {
  return {n[0], n[1], Vec3(n[2], n[3], n[4]), Vec3(n[5], n[6], n[7])};
}

}  // namespace

EnergyMomentum energy_and_momentum(const Model& model, const Bodies& bodies, const State& state) {
  std::array<double, 8> sums{};
  add_bodies(model, bodies, state, sums);
  return energy_momentum_of(sums);
}

EnergyMomentum total_energy_and_momentum(const Communicator& comm, const Model& model,
                                         const Bodies& bodies, const State& state) {
  std::vector<Sum> sums(8, Sum(model.deterministic));
  add_bodies(model, bodies, state, sums);
  SumWords words(model.deterministic);
  for (const Sum& sum : sums) words.add(sum);
  comm.sum(words.words());
  return energy_momentum_of(words);
}

namespace {

/// Velocity of body `b` at the contact point, from 6 numbers a body.
Vec3 point_velocity(std::span<const double> twists, Index b, const Vec3& arm) {
  const double* t = twists.data() + Offset{6} * b;
  const Vec3 v(t[0], t[1], t[2]);
  const Vec3 w(t[3], t[4], t[5]);
  return v + w.cross(arm);
}

Vec3 velocity_at(const Twist& twist, const Vec3& arm) { return twist.v + twist.w.cross(arm); }

/// Puts the work of a contact where it belongs: `normal_work` and `all_work` of its impulse on the
/// pair, `after` the normal row of G V.
void add_work(double lambda_n, double normal_work, double all_work, double after, bool recovering,
              AuditTerms& work) {
  work.dissipation_friction -= all_work - normal_work;
  if (lambda_n < 0.0) {
    work.cohesion_work += normal_work;
    return;
  }
  const double recovery = recovering ? std::max(0.0, 0.5 * lambda_n * after) : 0.0;
  work.dissipation_impact -= normal_work - recovery;
  work.recovery_work += recovery;
}

void add_rigid_contacts(const ConstraintProblem& problem, std::span<const double> impulses,
                        const LocalBodies& bodies, std::span<const double> twists,
                        std::span<const char> recovering, AuditTerms& work) {
  for (std::size_t k = 0; k < problem.contacts.size(); ++k) {
    const RigidContact& c = problem.contacts[k];
    const double* lambda = impulses.data() + 3 * k;
    if (lambda[0] == 0.0 && lambda[1] == 0.0 && lambda[2] == 0.0) continue;
    const Vec3 tangent2 = c.normal.cross(c.tangent);
    const Vec3 impulse = lambda[0] * c.normal + lambda[1] * c.tangent + lambda[2] * tangent2;
    const Vec3 after_a = point_velocity(twists, c.body_a, c.arm_a);
    const Vec3 after_b = point_velocity(twists, c.body_b, c.arm_b);
    const Vec3 before_a = velocity_at(bodies.twist(c.body_a), c.arm_a);
    const Vec3 before_b = velocity_at(bodies.twist(c.body_b), c.arm_b);
    const Vec3 mean = 0.5 * ((after_b - after_a) + (before_b - before_a));
    add_work(lambda[0], lambda[0] * c.normal.dot(mean), impulse.dot(mean),
             c.normal.dot(after_b - after_a), recovering[k] != 0, work);

    // u holds the prescribed bodies' velocity too: what they put in is not from the dynamic ones
    if (problem.bodies.is_prescribed(c.body_a)) {
      work.external_work += 0.5 * impulse.dot(after_a + before_a);
    }
    if (problem.bodies.is_prescribed(c.body_b)) {
      work.external_work -= 0.5 * impulse.dot(after_b + before_b);
    }
  }
}

/// The same for contacts with explicit rows.
void add_blocks(const ConstraintProblem& problem, std::span<const double> impulses,
                const LocalBodies& bodies, std::span<const double> twists,
                std::span<const char> recovering, AuditTerms& work) {
  const auto n_contacts = to_index(problem.contacts.size());
  const GeneralBlocks& blocks = problem.blocks;
  for (Index g = 0; g < blocks.size(); ++g) {
    const std::size_t block = g;
    if (blocks.kind[block] != BlockKind::contact) continue;
    const BlockView view = block_view(problem, n_contacts + g);
    const std::size_t rows = view.rows;
    const double* lambda = impulses.data() + view.row;
    double normal_work = 0.0, all_work = 0.0, after = 0.0;
    for (std::size_t j = blocks.body_begin[block];
         j < static_cast<std::size_t>(blocks.body_begin[block + 1]); ++j) {
      const double* jacobian = blocks.jacobian.data() + blocks.jacobian_begin[j];
      const std::size_t dof = Offset{6} * blocks.body[j];
      const Twist& before = bodies.twist(blocks.body[j]);
      double on_body = 0.0;
      for (std::size_t row = 0; row < rows; ++row) {
        double before_row = 0.0, after_row = 0.0;
        for (std::size_t c = 0; c < 6; ++c) {
          const Eigen::Index axis = c % 3;
          before_row += jacobian[6 * row + c] * (c < 3 ? before.v[axis] : before.w[axis]);
          after_row += jacobian[6 * row + c] * twists[dof + c];
        }
        const double row_work = 0.5 * lambda[row] * (before_row + after_row);
        on_body += row_work;
        if (row == 0) normal_work += row_work, after += after_row;
      }
      all_work += on_body;
      if (problem.bodies.is_prescribed(blocks.body[j])) work.external_work -= on_body;
    }
    add_work(lambda[0], normal_work, all_work, after, recovering[n_contacts + block] != 0, work);
  }
}

}  // namespace

void add_contact_work(const ConstraintProblem& problem, std::span<const double> impulses,
                      const LocalBodies& bodies, std::span<const double> twists,
                      std::span<const char> recovering, AuditTerms& audit) {
  add_rigid_contacts(problem, impulses, bodies, twists, recovering, audit);
  add_blocks(problem, impulses, bodies, twists, recovering, audit);
}

}  // namespace catena
