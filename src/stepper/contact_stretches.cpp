#include "catena/stepper/contact_stretches.hpp"

#include <algorithm>
#include <cmath>

#include "catena/constraints/block_diagonal.hpp"
#include "catena/stepper/time_stepper.hpp"
#include "stepper/contact_solution.hpp"

namespace catena {

namespace {

/// The part of its bound from which on friction is taken to slide.
constexpr double kHeld = 1.0 - 1e-9;
/// Share of an overlap of the start that a step may undo: it is gone after some hundred steps, so
/// that nothing is thrown.
constexpr double kRelaxed = 0.01;
/// Rolling stiffness over normal stiffness times the square of the rolling friction (K. Iwashita,
/// M. Oda, Rolling resistance at contacts in simulation of shear band development by DEM, 1998).
constexpr double kRollingStiffness = 2.25;

/// A tangential vector turned about the normal; what is along the normal stays.
Vec3 about_normal(const Vec3& normal, double angle, const Vec3& x) {
  const Vec3 along = x.dot(normal) * normal;
  const Vec3 across = x - along;
  return along + std::cos(angle) * across + std::sin(angle) * normal.cross(across);
}

/// equivalent_radius() without a call for spheres, which most contacts have.
double radius_of(const Shape& shape, std::span<const Geometry> geometries) {
  return shape.type == ShapeType::sphere ? shape.size.x() : equivalent_radius(shape, geometries);
}

}  // namespace

/// What a step undoes of an overlap of the start, m.
double ContactStretches::relaxed_part(double start_overlap) const {
  return std::min(kRelaxed * start_overlap, step_ * model_.contact.recovery_speed);
}

double ContactStretches::curvature(const BodyConstants& body) const {
  // walls and floors are flat, those that move as prescribed, too; a sphere is always round
  if (body.kind != BodyKind::dynamic && body.shape.type != ShapeType::sphere) return 0.0;
  return 1.0 / radius_of(body.shape, model_.geometries);
}

double ContactStretches::reduced_radius(const BodyConstants& a, const BodyConstants& b) const {
  return 1.0 / (curvature(a) + curvature(b));
}

double ContactStretches::smaller_radius(const Contact& contact, const LocalBodies& local) const {
  return std::min(radius_of(local.constants[contact.body_a].shape, model_.geometries),
                  radius_of(local.constants[contact.body_b].shape, model_.geometries));
}

/// xi of the tangents' rows at the step's start.
std::array<double, 2> ContactStretches::stretch(const KeptContact& kept,
                                                const RigidContact& rows) const {
  const double by = step_ / kept.given.tangent_share;
  return {by * (rows.tangent_bias[0] - kept.drift[1]), by * (rows.tangent_bias[1] - kept.drift[2])};
}

/// That of rolling or spinning row r, rad.
double ContactStretches::turn(const KeptContact& kept, const GeneralBlocks& blocks, Index r) const {
  return -step_ / kept.given.tangent_share * blocks.q[blocks.row_begin[kept.slot] + r];
}

void ContactStretches::fill_rows(const Contact& contact, const LocalBodies& local,
                                 const PairMaterial& pair, const State& state, double own_step,
                                 const ProblemBodies& bodies, KeptContact& kept,
                                 RigidContact& rows) const {
  const KeyedImpulse* old = kept.old == kNoIndex ? nullptr : &state.impulses[kept.old];
  if (old != nullptr)
    kept.start_overlap = old->start_overlap - relaxed_part(old->start_overlap);
  else if (state.step == 0 && contact.gap < 0.0)
    kept.start_overlap = -contact.gap;
  const std::array<double, 2> mobility = contact_mobility(bodies, rows);
  if (!(mobility[0] > 0.0)) return;  // nothing moves
  const Vec3 relative = velocity_at(local.twist(rows.body_b), rows.arm_b) -
                        velocity_at(local.twist(rows.body_a), rows.arm_a);
  ContactState now;
  now.gap = contact.gap + kept.start_overlap;
  now.normal_speed = rows.normal.dot(relative) + kept.drift[0];
  now.mobility = mobility[0];
  now.mean_mobility = mean_mobility(mobility);
  now.points = kept.points;
  now.pressed = old != nullptr && old->impulse.dot(rows.normal) > 0.0;
  now.cohesive = rows.cohesion > 0.0;
  if (model_.contact.stiffness == Stiffness::automatic) {
    now.size = smaller_radius(contact, local);
    if (contact.gap > kFarContact * now.size && !bodies.is_prescribed(rows.body_a) &&
        !bodies.is_prescribed(rows.body_b)) {
      // tangents' arms to the middle of a wide gap are longer than any of a touch
      RigidContact touching = rows;
      shift_arms(0.5 * contact.gap, touching);
      now.mean_mobility = mean_mobility(contact_mobility(bodies, touching));
    }
  }
  if (model_.contact.stiffness == Stiffness::material)
    now.radius = reduced_radius(local.constants[rows.body_a], local.constants[rows.body_b]);
  kept.given = stiffness_.rows(now, pair, own_step);
  const ContactRowsGiven& given = kept.given;
  if (old != nullptr) kept.kept_energy = old->elastic_energy;
  rows.bias = given.bias + kept.drift[0];
  rows.tangent_bias = {kept.drift[1], kept.drift[2]};
  rows.compliance = given.impact ? 0.0 : stiffness_.sigma(given.normal, given.normal_share);
  rows.tangent_compliance = stiffness_.sigma(given.tangent, given.tangent_share);
  kept.diagonal = {mobility[0] + rows.compliance, mobility[1] + rows.tangent_compliance};
  if (old == nullptr) return;
  // turned with the normal: as long as before, in the new tangent plane
  const Vec3& kept_stretch = old->stretch;
  Vec3 xi = kept_stretch - kept_stretch.dot(rows.normal) * rows.normal;
  const double length = xi.norm();
  if (!(length > 0.0)) return;
  xi *= kept_stretch.norm() / length;
  // a stiffer contact would store more
  if (given.tangent < old->tangent_compliance) xi *= given.tangent / old->tangent_compliance;
  const double by = given.tangent_share / step_;
  rows.tangent_bias[0] += by * xi.dot(rows.tangent);
  rows.tangent_bias[1] += by * xi.dot(rows.normal.cross(rows.tangent));
}

void ContactStretches::fill_couples(const KeptContact& kept, const RigidContact& rows,
                                    const State& state, double own_step,
                                    ConstraintProblem& problem) const {
  GeneralBlocks& blocks = problem.blocks;
  const ContactFrame frame = frame_of(kept, rows, blocks);
  const KeyedCouple* old = kept.old_couple == kNoIndex ? nullptr : &state.couples[kept.old_couple];
  const ContactRowsGiven& given = kept.given;
  for (Index r = 3; r < frame.rows; ++r) {
    const Vec3& axis = frame.axis[r];
    const std::size_t row = blocks.row_begin[kept.slot] + r;
    const double mobility = turn_mobility(problem.bodies, rows, axis);
    if (!(mobility > 0.0)) continue;
    double compliance = 0.0;  // rad/(N m)
    if (model_.contact.stiffness == Stiffness::automatic) {
      compliance =
          mobility * own_step * own_step / (given.tangent_share * model_.contact.stiffness_ratio);
    } else {
      const double arm =
          axis == frame.axis[0] ? blocks.spinning[kept.slot] : blocks.rolling[kept.slot];
      compliance = given.normal / (kRollingStiffness * arm * arm);
    }
    blocks.compliance[row] = stiffness_.sigma(compliance, given.tangent_share);
    if (old != nullptr) blocks.q[row] = -given.tangent_share / step_ * old->stretch.dot(axis);
  }
}

void ContactStretches::at_start(const KeptContact& kept, const RigidContact& rows,
                                const GeneralBlocks& blocks, double* of_rows) const {
  if (!(rows.tangent_compliance > 0.0)) return;
  const auto [x1, x2] = stretch(kept, rows);
  of_rows[1] = x1;
  of_rows[2] = x2;
  for (Index r = 3; kept.couples && r < blocks.rows(kept.slot); ++r)
    of_rows[r] = turn(kept, blocks, r);
}

/// xi at the step's end. Where friction holds, the bodies' own way: what a tolerance leaves of w is
/// no slip there, and taken for one it would add up over steps to a creep. Friction holds where
/// both lambda_t and lambda_t - w_t/N_tt are within its bound: lambda_t alone is so, too, where
/// methods that end within the cones let a contact slide.
std::array<double, 2> ContactStretches::next_stretch(const ContactSolution& solution,
                                                     const Vec3& u) const {
  const auto& [kept, rows, problem, lambda, twists] = solution;
  if (rigid() || is_zero(lambda)) return {};
  std::array<double, 2> xi = stretch(kept, rows);
  const bool frictionless = model_.contact.law == ContactLaw::frictionless;
  const double bound = frictionless ? 0.0 : kHeld * rows.friction * kept.pressing;
  const bool box = model_.contact.law == ContactLaw::box;
  std::array<double, 2> trial;  // lambda_t - w_t/N_tt
  const auto square = [](double x, double y) { return x * x + y * y; };
  for (std::size_t i = 0; i < 2; ++i) {
    const double w =
        u[to_index(i) + 1] + rows.tangent_compliance * lambda[i + 1] + rows.tangent_bias[i];
    trial[i] = lambda[i + 1] - w / kept.diagonal[1];
  }
  const double friction =
      std::sqrt(std::max(square(lambda[1], lambda[2]), square(trial[0], trial[1])));
  for (std::size_t i = 0; i < 2; ++i) {
    const double own = std::max(std::abs(lambda[i + 1]), std::abs(trial[i]));
    if ((box ? own : friction) < bound)
      xi[i] += step_ * (u[to_index(i) + 1] + kept.drift[to_index(i) + 1]);
    else
      xi[i] = (1.0 - kept.given.tangent_share) * xi[i] -
              step_ * rows.tangent_compliance * lambda[i + 1];
  }
  return xi;
}

/// The same of rolling or spinning row r, rad.
double ContactStretches::next_turn(const ContactSolution& solution, Index r) const {
  const auto& [kept, rows, problem, lambda, twists] = solution;
  const GeneralBlocks& blocks = problem.blocks;
  const ContactFrame frame = solution.frame();
  const bool spins = solution.is_spinning(r);
  const double coefficient = spins ? blocks.spinning[kept.slot] : blocks.rolling[kept.slot];
  double friction = 0.0, trial = 0.0;  // squares, over the rows of the disc
  for (Index k = spins ? r : 3; k < (spins ? r + 1 : 5); ++k) {
    const double mobility = turn_mobility(problem.bodies, rows, frame.axis[k]);
    const double next = lambda[k] - solution.couple_slip(k, frame.axis[k]) /
                                        (mobility + blocks.compliance[solution.row(k)]);
    friction += lambda[k] * lambda[k];
    trial += next * next;
  }
  const double turned = turn(kept, blocks, r);
  if (std::sqrt(std::max(friction, trial)) < kHeld * coefficient * kept.pressing)
    return turned + step_ * frame.axis[r].dot(solution.relative_spin());
  return (1.0 - kept.given.tangent_share) * turned -
         step_ * blocks.compliance[solution.row(r)] * lambda[r];
}

/// How far ahead of the step's start its springs act, s: energies of resolved contacts are those of
/// the mean overlap over a step.
double ContactStretches::spring_time(const ContactRowsGiven& given) const {
  return given.resolved && kind_ == StepperKind::spook ? 0.5 * step_ : step_;
}

/// What the overlap stores at the step's end, J; `speed`: the normal row of G V, m/s.
double ContactStretches::end_energy(const KeptContact& kept, double speed) const {
  const double overlap = -kept.gap - kept.start_overlap;
  return ContactStiffness::energy(kept.given, overlap - spring_time(kept.given) * speed);
}

void ContactStretches::keep(const ContactSolution& solution, const ContactForce& force,
                            const Vec3& u, State& state) const {
  const auto& [kept, rows, problem, lambda, twists] = solution;
  const double spin = rows.normal.dot(solution.spin(rows.body_a) + solution.spin(rows.body_b));
  const Vec3& normal = rows.normal;
  const auto turned = [&](const Vec3& x) { return about_normal(normal, 0.5 * step_ * spin, x); };
  const bool overlapped = kept.start_overlap >= kLeastStartOverlap;
  if (!force.impulse.isZero(0.0) || overlapped) {
    const auto [x1, x2] = kept.next_stretch;
    const Vec3 xi = x1 * rows.tangent + x2 * rows.normal.cross(rows.tangent);
    const bool compliant = rows.tangent_compliance > 0.0;
    state.impulses.push_back(
        {kept.key, force.impulse, turned(xi), compliant ? kept.given.tangent : 0.0,
         overlapped ? kept.start_overlap : 0.0, problem.lagged ? solution.friction_slip(u) : 0.0,
         compliant ? end_energy(kept, kept.drift[0] + u[0]) : 0.0});
  }
  if (!force.couple.isZero(0.0)) {
    const ContactFrame frame = solution.frame();
    Vec3 turn = Vec3::Zero();
    for (Index r = 3; r < frame.rows; ++r) turn += next_turn(solution, r) * frame.axis[r];
    state.couples.push_back({kept.key, force.couple, turned(turn)});
  }
}

void ContactStretches::add_elastic(const ContactSolution& solution, const PointVelocities& at_point,
                                   AuditTerms& audit) const {
  const auto& [kept, rows, problem, lambda, twists] = solution;
  if (rigid() || !(rows.tangent_compliance > 0.0)) return;
  // the normal row of G V
  const double before = kept.drift[0] + rows.normal.dot(at_point.before_b - at_point.before_a);
  const double after = kept.drift[0] + rows.normal.dot(at_point.after_b - at_point.after_a);
  const ContactRowsGiven& given = kept.given;
  const double overlap = -kept.gap - kept.start_overlap;
  const double h = spring_time(given);
  const double lag = h == step_ ? 0.0 : h * before;
  const double at_start = ContactStiffness::energy(given, overlap + lag);
  const double at_end = end_energy(kept, after);
  // of the start overlap that was left a step ago
  const double undone = std::min(kRelaxed / (1.0 - kRelaxed) * kept.start_overlap,
                                 step_ * model_.contact.recovery_speed);
  const double relaxed =
      undone == 0.0 ? 0.0 : at_start - ContactStiffness::energy(given, overlap + lag - undone);
  // the bodies' gain by the impulse, and what the contact lost of all that it had
  const double gain = 0.5 * lambda[0] * (before + after);
  const double lost = at_start - at_end - gain;
  const double unforeseen = at_start - relaxed - kept.kept_energy;
  const bool undoes = !given.resolved && given.normal_share > 1.0 - 1e-9;
  const double neither =
      undoes && lambda[0] >= 0.0 ? std::max(0.0, std::min(lost, unforeseen)) : 0.0;
  audit[EnergyTerm::elastic_jump] += at_start - neither;
  if (kept.old != kNoIndex) {
    audit[EnergyTerm::recovery_work] += relaxed;
    audit[EnergyTerm::elastic_jump] -= relaxed;
  }
  const auto square = [](const std::array<double, 2>& x) { return x[0] * x[0] + x[1] * x[1]; };
  double sheared = 0.5 * square(stretch(kept, rows)) / given.tangent;
  double sheared_at_end = 0.5 * square(kept.next_stretch) / given.tangent;
  if (kept.couples) {
    const GeneralBlocks& blocks = problem.blocks;
    for (Index r = 3; r < blocks.rows(kept.slot); ++r) {
      const double sigma = blocks.compliance[solution.row(r)];
      if (!(sigma > 0.0)) continue;
      const double eps = stiffness_.compliance(sigma, given.tangent_share);
      const double turned = turn(kept, blocks, r);
      const double next = next_turn(solution, r);
      sheared += 0.5 * turned * turned / eps;
      sheared_at_end += 0.5 * next * next / eps;
    }
  }
  audit[EnergyTerm::elastic_jump] += sheared;
  audit[EnergyTerm::elastic_energy] += at_end + sheared_at_end;
  audit[EnergyTerm::dissipation_impact] += at_start - at_end - neither;
  audit[EnergyTerm::dissipation_friction] -= sheared_at_end - sheared;
}

}  // namespace catena
