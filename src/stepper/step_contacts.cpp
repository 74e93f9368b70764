#include "catena/stepper/step_contacts.hpp"

#include <algorithm>
#include <functional>

#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/solvers/gauss_seidel.hpp"

namespace catena {

namespace {

/// A contact's identity but for the periodic image, which changes where a body is wrapped; in the
/// same order.
ContactKey without_image(ContactKey key) {
  key.part /= kImages;
  return key;
}

/// First row of a contact; the general blocks begin with those of contacts.
Index first_row(Index slot, bool couples, const ConstraintProblem& problem) {
  if (!couples) return 3 * slot;
  return to_index(3 * problem.contacts.size()) + problem.blocks.row_begin[slot];
}

/// Velocity of body `b` at the contact point, from 6 numbers a body.
Vec3 point_velocity(std::span<const double> twists, Index b, const Vec3& arm) {
  const double* t = twists.data() + Offset{6} * b;
  const Vec3 v(t[0], t[1], t[2]);
  const Vec3 w(t[3], t[4], t[5]);
  return v + w.cross(arm);
}

Vec3 velocity_at(const Twist& twist, const Vec3& arm) { return twist.v + twist.w.cross(arm); }

/// Whether row r of a contact with couples is about the normal.
bool is_spinning_row(const GeneralBlocks& blocks, Index slot, Index r) {
  return blocks.rolling[slot] < 0.0 || r == 5;
}

bool is_zero(const double* lambda) {
  return lambda[0] == 0.0 && lambda[1] == 0.0 && lambda[2] == 0.0;
}

/// Puts the work of a contact where it belongs: `normal_work` and `all_work` of its impulse on the
/// pair, `after` the normal row of G V.
void add_to_terms(double lambda_n, double normal_work, double all_work, double after,
                  bool recovering, AuditTerms& work) {
  work[EnergyTerm::dissipation_friction] -= all_work - normal_work;
  if (lambda_n < 0.0) {
    work[EnergyTerm::cohesion_work] += normal_work;
    return;
  }
  const double recovery = recovering ? std::max(0.0, 0.5 * lambda_n * after) : 0.0;
  work[EnergyTerm::dissipation_impact] -= normal_work - recovery;
  work[EnergyTerm::recovery_work] += recovery;
}

/// Normal row of G V before and after the step.
struct NormalSpeeds {
  double before, after;
};

NormalSpeeds normal_speeds(const RigidContact& c, const LocalBodies& local,
                           std::span<const double> twists) {
  return {c.normal.dot(velocity_at(local.twist(c.body_b), c.arm_b) -
                       velocity_at(local.twist(c.body_a), c.arm_a)),
          c.normal.dot(point_velocity(twists, c.body_b, c.arm_b) -
                       point_velocity(twists, c.body_a, c.arm_a))};
}

Vec3 spin_of(Index b, std::span<const double> twists) {
  return Eigen::Map<const Vec3>(twists.data() + 6 * Offset{b} + 3);
}

/// G V of the contact's three rows, without bias and compliance.
Vec3 slip_of(const RigidContact& c, std::span<const double> twists) {
  return contact_slip(c, twists.data() + 6 * Offset{c.body_a},
                      twists.data() + 6 * Offset{c.body_b});
}

/// axis . I^-1 axis of a rigid body, 1/(kg m^2).
double turn_mobility(const ProblemBodies& bodies, Index b, const Vec3& axis) {
  if (bodies.is_prescribed(b)) return 0.0;
  const std::array<double, 6> torque = {0.0, 0.0, 0.0, axis.x(), axis.y(), axis.z()};
  std::array<double, 6> change;
  apply_inverse_mass(bodies, b, torque, change);
  return axis.x() * change[3] + axis.y() * change[4] + axis.z() * change[5];
}

/// A tangential vector turned about the normal; what is along the normal stays.
Vec3 about_normal(const Vec3& normal, double angle, const Vec3& x) {
  const Vec3 along = x.dot(normal) * normal;
  const Vec3 across = x - along;
  return along + std::cos(angle) * across + std::sin(angle) * normal.cross(across);
}

/// The part of its bound from which on friction is taken to slide.
constexpr double kHeld = 1.0 - 1e-9;
/// Share of an overlap of the start that a step may undo: it is gone after some hundred steps, so
/// that nothing is thrown.
constexpr double kRelaxed = 0.01;
/// Less of it counts as none, m.
constexpr double kLeastStartOverlap = 1e-12;
/// Rolling stiffness over normal stiffness times the square of the rolling friction (K. Iwashita,
/// M. Oda, Rolling resistance at contacts in simulation of shear band development by DEM, 1998).
constexpr double kRollingStiffness = 2.25;

void add_rigid_work(const ConstraintProblem& problem, const RigidContact& c, const double* lambda,
                    const LocalBodies& local, std::span<const double> twists, bool recovering,
                    AuditTerms& work) {
  if (is_zero(lambda)) return;
  const Vec3 tangent2 = c.normal.cross(c.tangent);
  const Vec3 impulse = lambda[0] * c.normal + lambda[1] * c.tangent + lambda[2] * tangent2;
  const Vec3 after_a = point_velocity(twists, c.body_a, c.arm_a);
  const Vec3 after_b = point_velocity(twists, c.body_b, c.arm_b);
  const Vec3 before_a = velocity_at(local.twist(c.body_a), c.arm_a);
  const Vec3 before_b = velocity_at(local.twist(c.body_b), c.arm_b);
  const Vec3 mean = 0.5 * ((after_b - after_a) + (before_b - before_a));
  add_to_terms(lambda[0], lambda[0] * c.normal.dot(mean), impulse.dot(mean),
               c.normal.dot(after_b - after_a), recovering, work);

  // u holds the prescribed bodies' velocity too: what they put in is not from the dynamic ones
  if (problem.bodies.is_prescribed(c.body_a))
    work[EnergyTerm::external_work] += 0.5 * impulse.dot(after_a + before_a);
  if (problem.bodies.is_prescribed(c.body_b))
    work[EnergyTerm::external_work] -= 0.5 * impulse.dot(after_b + before_b);
}

/// The same for a contact with explicit rows.
void add_block_work(const ConstraintProblem& problem, Index block, const double* lambda,
                    const LocalBodies& local, std::span<const double> twists, bool recovering,
                    AuditTerms& work) {
  const GeneralBlocks& blocks = problem.blocks;
  const Index rows = blocks.row_begin[block + 1] - blocks.row_begin[block];
  double normal_work = 0.0, all_work = 0.0, after = 0.0;
  for (Index j = blocks.body_begin[block]; j < blocks.body_begin[block + 1]; ++j) {
    const double* jacobian = blocks.jacobian.data() + blocks.jacobian_begin[j];
    const double* twist = twists.data() + Offset{6} * blocks.body[j];
    const Twist& before = local.twist(blocks.body[j]);
    double on_body = 0.0;
    for (Index row = 0; row < rows; ++row, jacobian += 6) {
      double before_row = 0.0, after_row = 0.0;
      for (int c = 0; c < 6; ++c) {
        before_row += jacobian[c] * (c < 3 ? before.v[c] : before.w[c - 3]);
        after_row += jacobian[c] * twist[c];
      }
      const double row_work = 0.5 * lambda[row] * (before_row + after_row);
      on_body += row_work;
      if (row == 0) normal_work += row_work, after += after_row;
    }
    all_work += on_body;
    if (problem.bodies.is_prescribed(blocks.body[j])) work[EnergyTerm::external_work] -= on_body;
  }
  add_to_terms(lambda[0], normal_work, all_work, after, recovering, work);
}

}  // namespace

void StepContacts::clear() {
  contacts_.clear();
  coupled_.clear();
  overlaps_ = Overlaps();
  overlaps_.sum = Sum(model_.deterministic);
}

/// What a step undoes of an overlap of the start, m.
double StepContacts::relaxed_part(double start_overlap) const {
  return std::min(kRelaxed * start_overlap, step_ * model_.contact.recovery_speed);
}

double StepContacts::curvature(const BodyConstants& body) const {
  // walls and floors are flat; a sphere is round whether it moves or not
  if (body.kind == BodyKind::fixed && body.shape.type != ShapeType::sphere) return 0.0;
  return 1.0 / equivalent_radius(body.shape, model_.geometries);
}

/// Numbers the points of each pair's manifold.
void StepContacts::count_points() {
  for (std::size_t k = 0; k < contacts_.size();) {
    std::size_t end = k + 1;
    const ContactKey& key = contacts_[k].key;
    while (end < contacts_.size() && contacts_[end].key.a == key.a && contacts_[end].key.b == key.b)
      ++end;
    for (const std::size_t first = k; k < end; ++k) contacts_[k].points = to_index(end - first);
  }
}

/// Finds what the last step kept of each contact. Points of a pair that are new take over what
/// those that are gone leave, one from one in the order of keys: a stretch then goes on where a
/// face's corner changes its number, and the pair stores no more than before.
void StepContacts::match(const State& state) {
  const auto pair_of = [](const ContactKey& key) { return std::pair(key.a, key.b); };
  const auto find = [&](const auto& list, auto Kept::*place) {
    std::size_t k = 0, j = 0;
    std::vector<Index> lost;
    std::vector<std::size_t> found;
    while (k < contacts_.size() && j < list.size()) {
      const auto pair = pair_of(contacts_[k].key);
      if (pair_of(list[j].key) != pair) {
        pair_of(list[j].key) < pair ? ++j : ++k;
        continue;
      }
      lost.clear();
      found.clear();
      const auto more_old = [&] { return j < list.size() && pair_of(list[j].key) == pair; };
      const auto more_new = [&] {
        return k < contacts_.size() && pair_of(contacts_[k].key) == pair;
      };
      while (more_old() || more_new()) {
        const bool old_next = more_old() && (!more_new() || without_image(list[j].key) <=
                                                                without_image(contacts_[k].key));
        if (old_next && more_new() &&
            without_image(list[j].key) == without_image(contacts_[k].key)) {
          contacts_[k++].*place = to_index(j++);
        } else if (old_next) {
          lost.push_back(to_index(j++));
        } else {
          found.push_back(k++);
        }
      }
      if (stiffness_.rigid()) continue;
      for (std::size_t i = 0; i < std::min(lost.size(), found.size()); ++i)
        contacts_[found[i]].*place = lost[i];
    }
  };
  find(state.impulses, &Kept::old);
  find(state.couples, &Kept::old_couple);
}

double StepContacts::smaller_radius(const Contact& contact, const LocalBodies& local) const {
  return std::min(equivalent_radius(local.constants[contact.body_a].shape, model_.geometries),
                  equivalent_radius(local.constants[contact.body_b].shape, model_.geometries));
}

void StepContacts::note_overlap(const Contact& contact, const LocalBodies& local) {
  if (!(contact.gap < 0.0)) return;
  overlaps_.deepest = std::max(overlaps_.deepest, -contact.gap);
  const double overlap = -contact.gap / smaller_radius(contact, local);
  overlaps_.sum += overlap;
  ++overlaps_.count;
  if (!(overlap > overlaps_.largest)) return;
  overlaps_.largest = overlap;
  overlaps_.key = contact.key;
}

std::array<double, 2> StepContacts::stretch(const Kept& kept, const RigidContact& rows) const {
  const double by = step_ / kept.given.tangent_share;
  return {by * rows.tangent_bias[0], by * rows.tangent_bias[1]};
}

/// The same of rolling or spinning row r, rad.
double StepContacts::turn(const Kept& kept, const GeneralBlocks& blocks, Index r) const {
  return -step_ / kept.given.tangent_share * blocks.q[blocks.row_begin[kept.slot] + r];
}

std::vector<double> StepContacts::stretches(const ConstraintProblem& problem) const {
  if (stiffness_.rigid() || contacts_.empty()) return {};
  std::vector<double> all(problem.n_rows(), 0.0);
  for (const Kept& kept : contacts_) {
    const RigidContact& rows = rigid_rows(kept, problem);
    if (!(rows.tangent_compliance > 0.0)) continue;
    double* of_contact = all.data() + first_row(kept.slot, kept.couples, problem);
    const auto [x1, x2] = stretch(kept, rows);
    of_contact[1] = x1;
    of_contact[2] = x2;
    for (Index r = 3; kept.couples && r < problem.blocks.rows(kept.slot); ++r)
      of_contact[r] = turn(kept, problem.blocks, r);
  }
  return all;
}

void StepContacts::make_compliant(const Contact& contact, const LocalBodies& local,
                                  const PairMaterial& pair, const State& state, double own_step,
                                  const ProblemBodies& bodies, Kept& kept,
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
  now.normal_speed = rows.normal.dot(relative);
  now.mobility = mobility[0];
  now.mean_mobility = mean_mobility(mobility);
  now.points = kept.points;
  now.pressed = old != nullptr && old->impulse.dot(rows.normal) > 0.0;
  if (model_.contact.stiffness == Stiffness::automatic) now.size = smaller_radius(contact, local);
  if (model_.contact.stiffness == Stiffness::material)
    now.radius =
        1.0 / (curvature(local.constants[rows.body_a]) + curvature(local.constants[rows.body_b]));
  kept.given = stiffness_.rows(now, pair, own_step);
  const ContactRowsGiven& given = kept.given;
  rows.bias = given.bias;
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
  rows.tangent_bias = {by * xi.dot(rows.tangent), by * xi.dot(rows.normal.cross(rows.tangent))};
}

void StepContacts::make_couples_compliant(const Kept& kept, const PairMaterial& pair,
                                          const State& state, double own_step,
                                          ConstraintProblem& problem) const {
  GeneralBlocks& blocks = problem.blocks;
  const Frame frame = frame_of(kept, problem);
  const KeyedCouple* old = kept.old_couple == kNoIndex ? nullptr : &state.couples[kept.old_couple];
  const ContactRowsGiven& given = kept.given;
  for (Index r = 3; r < frame.rows; ++r) {
    const Vec3& axis = frame.axis[r];
    const std::size_t row = blocks.row_begin[kept.slot] + r;
    double mobility = 0.0;
    for (Index j = blocks.body_begin[kept.slot]; j < blocks.body_begin[kept.slot + 1]; ++j)
      mobility += turn_mobility(problem.bodies, blocks.body[j], axis);
    if (!(mobility > 0.0)) continue;
    double compliance = 0.0;  // rad/(N m)
    if (model_.contact.stiffness == Stiffness::automatic) {
      compliance =
          mobility * own_step * own_step / (given.tangent_share * model_.contact.stiffness_ratio);
    } else {
      const double arm = axis == frame.axis[0] ? pair.spinning_friction : pair.rolling_friction;
      compliance = given.normal / (kRollingStiffness * arm * arm);
    }
    blocks.compliance[row] = stiffness_.sigma(compliance, given.tangent_share);
    if (old != nullptr) blocks.q[row] = -given.tangent_share / step_ * old->stretch.dot(axis);
  }
}

RigidContact StepContacts::rows_of(const Contact& contact, const PairMaterial& pair,
                                   const LocalBodies& local) const {
  Vec3 p_b = local.state[contact.body_b].pose.p;
  if (const int image = image_of(contact.key); image != kNoImage)
    p_b += model_.periodic.shift(image);
  RigidContact rows = make_contact_rows(contact, local.state[contact.body_a].pose.p, p_b,
                                        local.twist(contact.body_a), local.twist(contact.body_b),
                                        pair, kind_, step_, model_.contact);
  if (model_.planar) make_planar(rows);
  return rows;
}

void StepContacts::make_rows(const ContactSet& set, const State& state, double own_step,
                             ConstraintProblem& problem) {
  const LocalBodies& local = set.bodies;
  const bool one_pair = model_.materials.materials().size() <= 1;
  const bool one_subdomain = std::adjacent_find(state.subdomain.begin(), state.subdomain.end(),
                                                std::not_equal_to<>()) == state.subdomain.end();
  clear();
  contacts_.reserve(set.contacts.size());
  problem.contacts.clear();
  problem.contacts.reserve(set.contacts.size());
  problem.blocks.clear();
  problem.block_subdomain.clear();
  problem.block_subdomain.reserve(set.contacts.size());
  std::vector<Index> coupled_subdomain;  // behind those of all contacts without couples
  for (const Contact& c : set.contacts) {
    Kept& kept = contacts_.emplace_back();
    kept.key = c.key;
    kept.point = c.point;
    kept.gap = c.gap;
  }
  match(state);
  count_points();
  for (std::size_t k = 0; k < contacts_.size(); ++k) {
    const Contact& c = set.contacts[k];
    Kept& kept = contacts_[k];
    const BodyConstants &a = local.constants[c.body_a], &b = local.constants[c.body_b];
    const PairMaterial& pair =
        one_pair ? model_.materials.pair(0, 0) : model_.materials.pair(a.material, b.material);
    RigidContact rows = rows_of(c, pair, local);
    if (!stiffness_.rigid())
      make_compliant(c, local, pair, state, own_step, problem.bodies, kept, rows);
    else  // what restitution gives back is not pushed out of an overlap
      kept.recovering =
          c.gap < 0.0 && rows.bias == contact_bias(kind_, c.gap, 0.0, 0.0, step_, model_.contact);
    if (stiffness_.rigid() && model_.contact.law == ContactLaw::lagged)
      kept.diagonal = contact_mobility(problem.bodies, rows);
    note_overlap(c, local);
    Index home = 0;  // any body that is owned
    if (!one_subdomain) home = home_of(a, b) == c.key.a ? c.body_a : c.body_b;
    const bool couples = (pair.rolling_friction > 0.0 || pair.spinning_friction > 0.0) &&
                         model_.contact.law != ContactLaw::frictionless;
    kept.couples = couples;
    kept.slot = to_index(couples ? coupled_.size() : problem.contacts.size());
    (couples ? coupled_ : problem.contacts).push_back(rows);
    (couples ? coupled_subdomain : problem.block_subdomain).push_back(state.subdomain[home]);
    if (!couples) continue;
    add_contact_block(rows, pair.rolling_friction > 0.0 ? pair.rolling_friction : -1.0,
                      pair.spinning_friction > 0.0 ? pair.spinning_friction : -1.0, problem.blocks);
    if (!stiffness_.rigid()) make_couples_compliant(kept, pair, state, own_step, problem);
  }
  problem.block_subdomain.insert(problem.block_subdomain.end(), coupled_subdomain.begin(),
                                 coupled_subdomain.end());
}

StepContacts::Frame StepContacts::frame_of(const Kept& kept,
                                           const ConstraintProblem& problem) const {
  const RigidContact& c = rigid_rows(kept, problem);
  Frame frame{{c.normal, c.tangent, c.normal.cross(c.tangent)}, 3};
  if (!kept.couples) return frame;
  if (problem.blocks.rolling[kept.slot] >= 0.0) {
    frame.axis[3] = frame.axis[1];
    frame.axis[4] = frame.axis[2];
    frame.rows = 5;
  }
  if (problem.blocks.spinning[kept.slot] >= 0.0) frame.axis[frame.rows++] = c.normal;
  return frame;
}

StepContacts::Force StepContacts::force_of(const Kept& kept, const ConstraintProblem& problem,
                                           const double* lambda) const {
  const Frame frame = frame_of(kept, problem);
  const auto& d = frame.axis;
  Force force;
  force.impulse = lambda[0] * d[0] + lambda[1] * d[1] + lambda[2] * d[2];
  for (Index i = 3; i < frame.rows; ++i) force.couple += lambda[i] * d[i];
  return force;
}

void StepContacts::first_guess(const State& state, const ConstraintProblem& problem,
                               std::span<double> impulses) const {
  for (const Kept& kept : contacts_) {
    const bool pressed = kept.old != kNoIndex, turned = kept.old_couple != kNoIndex;
    if (!pressed && !turned) continue;
    const Frame frame = frame_of(kept, problem);
    double* lambda = impulses.data() + first_row(kept.slot, kept.couples, problem);
    for (Index i = 0; pressed && i < 3; ++i)
      lambda[i] = state.impulses[kept.old].impulse.dot(frame.axis[i]);
    for (Index i = 3; turned && i < frame.rows; ++i)
      lambda[i] = state.couples[kept.old_couple].couple.dot(frame.axis[i]);
  }
}

/// The normal impulse by which friction is bounded: that of the contact with its cohesion, none
/// where x = lambda - D^-1 w says that it opens: x_n <= 0, or under the convex laws, where w_n is
/// mu |w_t| while a contact slides, x in the polar cone of theirs. Methods that end within the
/// cones leave impulses on contacts that are open.
double StepContacts::pressing(const Kept& kept, const ConstraintProblem& problem,
                              const double* lambda, std::span<const double> twists) const {
  const RigidContact& rows = rigid_rows(kept, problem);
  // the rows that are kept of coupled contacts hold no shift
  const double shift =
      kept.couples && problem.lagged ? problem.shift[block_of(kept, problem)] : 0.0;
  const Vec3 u = slip_of(rows, twists);
  const double impulse = lambda[0] + rows.cohesion;
  const double w_n = u[0] + rows.compliance * lambda[0] + rows.bias + shift;
  // D x, m/s
  double pull = kept.diagonal[0] * impulse - w_n;
  if (law_form(problem.law).is_associated()) {
    std::array<double, 2> x;
    for (std::size_t i = 0; i < 2; ++i)
      x[i] = kept.diagonal[1] * lambda[i + 1] - u[to_index(i) + 1] -
             rows.tangent_compliance * lambda[i + 1] - rows.tangent_bias[i];
    pull += rows.friction * std::hypot(x[0], x[1]);
    if (kept.couples) pull += couples_pull(kept, problem, lambda, twists);
  }
  return pull > 0.0 ? impulse : 0.0;
}

/// The same of rolling and spinning: the sum of their coefficients times |D x|, m/s.
double StepContacts::couples_pull(const Kept& kept, const ConstraintProblem& problem,
                                  const double* lambda, std::span<const double> twists) const {
  const GeneralBlocks& blocks = problem.blocks;
  const RigidContact& rows = coupled_[kept.slot];
  const Frame frame = frame_of(kept, problem);
  const Vec3 spin = spin_of(rows.body_b, twists) - spin_of(rows.body_a, twists);
  double rolled = 0.0, sum = 0.0;
  for (Index r = 3; r < frame.rows; ++r) {
    const std::size_t row = blocks.row_begin[kept.slot] + r;
    const double mobility = turn_mobility(problem.bodies, rows.body_a, frame.axis[r]) +
                            turn_mobility(problem.bodies, rows.body_b, frame.axis[r]);
    const double x = mobility * lambda[r] - frame.axis[r].dot(spin) + blocks.q[row];
    if (is_spinning_row(blocks, kept.slot, r))
      sum += blocks.spinning[kept.slot] * std::abs(x);
    else
      rolled += x * x;
  }
  return sum + std::max(0.0, blocks.rolling[kept.slot]) * std::sqrt(rolled);
}

/// xi at the step's end. Where friction holds, the bodies' own way: what a tolerance leaves of w is
/// no slip there, and taken for one it would add up over steps to a creep. Friction holds where
/// both lambda_t and lambda_t - w_t/N_tt are within its bound: lambda_t alone is so, too, where
/// methods that end within the cones let a contact slide.
std::array<double, 2> StepContacts::next_stretch(const Kept& kept, const ConstraintProblem& problem,
                                                 const double* lambda,
                                                 std::span<const double> twists) const {
  if (stiffness_.rigid() || is_zero(lambda)) return {};
  const RigidContact& rows = rigid_rows(kept, problem);
  std::array<double, 2> xi = stretch(kept, rows);
  const bool frictionless = model_.contact.law == ContactLaw::frictionless;
  const double bound =
      frictionless ? 0.0 : kHeld * rows.friction * pressing(kept, problem, lambda, twists);
  const bool box = model_.contact.law == ContactLaw::box;
  const Vec3 u = slip_of(rows, twists);
  std::array<double, 2> trial;  // lambda_t - w_t/N_tt
  for (std::size_t i = 0; i < 2; ++i) {
    const double w =
        u[to_index(i) + 1] + rows.tangent_compliance * lambda[i + 1] + rows.tangent_bias[i];
    trial[i] = lambda[i + 1] - w / kept.diagonal[1];
  }
  const double friction =
      std::max(std::hypot(lambda[1], lambda[2]), std::hypot(trial[0], trial[1]));
  for (std::size_t i = 0; i < 2; ++i) {
    const double own = std::max(std::abs(lambda[i + 1]), std::abs(trial[i]));
    if ((box ? own : friction) < bound)
      xi[i] += step_ * u[to_index(i) + 1];
    else
      xi[i] = (1.0 - kept.given.tangent_share) * xi[i] -
              step_ * rows.tangent_compliance * lambda[i + 1];
  }
  return xi;
}

/// The same of rolling or spinning row r, rad.
double StepContacts::next_turn(const Kept& kept, const ConstraintProblem& problem, Index r,
                               const Frame& frame, const double* lambda,
                               std::span<const double> twists) const {
  const GeneralBlocks& blocks = problem.blocks;
  const RigidContact& rows = coupled_[kept.slot];
  const double share = kept.given.tangent_share;
  const Vec3 spin = spin_of(rows.body_b, twists) - spin_of(rows.body_a, twists);
  const bool spins = is_spinning_row(blocks, kept.slot, r);
  const double coefficient = spins ? blocks.spinning[kept.slot] : blocks.rolling[kept.slot];
  double friction = 0.0, trial = 0.0;  // squares, over the rows of the disc
  for (Index k = spins ? r : 3; k < (spins ? r + 1 : 5); ++k) {
    const std::size_t row = blocks.row_begin[kept.slot] + k;
    const double w = frame.axis[k].dot(spin) + blocks.compliance[row] * lambda[k] - blocks.q[row];
    const double mobility = turn_mobility(problem.bodies, rows.body_a, frame.axis[k]) +
                            turn_mobility(problem.bodies, rows.body_b, frame.axis[k]);
    const double next = lambda[k] - w / (mobility + blocks.compliance[row]);
    friction += lambda[k] * lambda[k];
    trial += next * next;
  }
  const std::size_t row = blocks.row_begin[kept.slot] + r;
  const double turned = turn(kept, blocks, r);
  if (std::sqrt(std::max(friction, trial)) <
      kHeld * coefficient * pressing(kept, problem, lambda, twists))
    return turned + step_ * frame.axis[r].dot(spin);
  return (1.0 - share) * turned - step_ * blocks.compliance[row] * lambda[r];
}

/// mu |w_t| of a contact, and the same of rolling and spinning where it has them, m/s.
double StepContacts::friction_slip(const Kept& kept, const ConstraintProblem& problem,
                                   const double* lambda, std::span<const double> twists) const {
  const RigidContact& rows = rigid_rows(kept, problem);
  const Vec3 u = slip_of(rows, twists);
  const double w1 = u[1] + rows.tangent_compliance * lambda[1];
  const double w2 = u[2] + rows.tangent_compliance * lambda[2];
  double sum = rows.friction * std::hypot(w1 + rows.tangent_bias[0], w2 + rows.tangent_bias[1]);
  if (!kept.couples) return sum;
  const GeneralBlocks& blocks = problem.blocks;
  const Frame frame = frame_of(kept, problem);
  const Vec3 turn = spin_of(rows.body_b, twists) - spin_of(rows.body_a, twists);
  double rolled = 0.0;
  for (Index r = 3; r < frame.rows; ++r) {
    const std::size_t row = blocks.row_begin[kept.slot] + r;
    const double w = frame.axis[r].dot(turn) + blocks.compliance[row] * lambda[r] - blocks.q[row];
    if (is_spinning_row(blocks, kept.slot, r))
      sum += blocks.spinning[kept.slot] * std::abs(w);
    else
      rolled += w * w;
  }
  return sum + std::max(0.0, blocks.rolling[kept.slot]) * std::sqrt(rolled);
}

std::vector<double> StepContacts::shifts(const ConstraintProblem& problem,
                                         std::span<const double> impulses,
                                         std::span<const double> twists) const {
  std::vector<double> shift(problem.n_blocks(), 0.0);
  for (const Kept& kept : contacts_) {
    const double* lambda = impulses.data() + first_row(kept.slot, kept.couples, problem);
    shift[block_of(kept, problem)] = friction_slip(kept, problem, lambda, twists);
  }
  return shift;
}

std::vector<double> StepContacts::first_shifts(const State& state, const ConstraintProblem& problem,
                                               std::span<const double> twists) const {
  constexpr std::array<double, 6> kNothing{};
  std::vector<double> shift(problem.n_blocks(), 0.0);
  for (const Kept& kept : contacts_) {
    double& s = shift[block_of(kept, problem)];
    if (kept.old != kNoIndex && !state.impulses[kept.old].impulse.isZero(0.0)) {
      s = state.impulses[kept.old].shift;
      continue;
    }
    const RigidContact& rows = rigid_rows(kept, problem);
    const Vec3 w = bias_of(rows) + slip_of(rows, twists);
    Mat3 d = mobility_matrix(problem.bodies, rows);
    d.diagonal() += compliance_of(rows);
    const Vec3 after = w + d * solve_one_contact(d, w, rows.friction);
    const double sliding = std::hypot(after[1], after[2]);
    // rolling and spinning as they are without the contact's impulse
    s = friction_slip(kept, problem, kNothing.data(), twists) +
        rows.friction * (sliding - std::hypot(w[1], w[2]));
  }
  return shift;
}

std::int64_t StepContacts::count_opening(const ConstraintProblem& problem,
                                         std::span<const double> impulses,
                                         std::span<const double> twists) const {
  std::int64_t count = 0;
  for (const Kept& kept : contacts_) {
    const double* lambda = impulses.data() + first_row(kept.slot, kept.couples, problem);
    if (!(lambda[0] > 0.0)) continue;
    const RigidContact& rows = rigid_rows(kept, problem);
    // the rows that are kept of coupled contacts hold no shift
    const double bias = kept.couples ? rows.bias : problem.unshifted[kept.slot];
    const double w = slip_of(rows, twists)[0] + rows.compliance * lambda[0] + bias;
    if (w > contact_mobility(problem.bodies, rows)[0] * lambda[0]) ++count;
  }
  return count;
}

void StepContacts::store(const ConstraintProblem& problem, std::span<const double> impulses,
                         std::span<const double> twists, State& state) const {
  const auto clear_for = [](auto& list, std::size_t n) {
    list.clear();
    if (list.capacity() < n) list.reserve(n + n / 32);
  };
  clear_for(state.impulses, contacts_.size());
  clear_for(state.couples, coupled_.size());
  for (const Kept& kept : contacts_) {
    const double* lambda = impulses.data() + first_row(kept.slot, kept.couples, problem);
    // most contacts of a packing that do not press come with three zeros
    if (!kept.couples && is_zero(lambda) && kept.start_overlap < kLeastStartOverlap) continue;
    Force force = force_of(kept, problem, lambda);
    const RigidContact& rows = rigid_rows(kept, problem);
    // nothing is kept of what methods that end within the cones leave on open contacts
    const bool told = !stiffness_.rigid() || problem.lagged;
    if (told && pressing(kept, problem, lambda, twists) == 0.0) force = {};
    if (stiffness_.rigid()) {
      if (!force.impulse.isZero(0.0)) {
        state.impulses.push_back({kept.key, force.impulse});
        if (problem.lagged)
          state.impulses.back().shift = friction_slip(kept, problem, lambda, twists);
      }
      if (!force.couple.isZero(0.0)) state.couples.push_back({kept.key, force.couple});
      continue;
    }
    const auto turned = [&](const Vec3& x) {
      const double spin =
          rows.normal.dot(spin_of(rows.body_a, twists) + spin_of(rows.body_b, twists));
      return about_normal(rows.normal, 0.5 * step_ * spin, x);
    };
    if (!force.impulse.isZero(0.0) || kept.start_overlap >= kLeastStartOverlap) {
      const auto [x1, x2] = next_stretch(kept, problem, lambda, twists);
      const Vec3 xi = x1 * rows.tangent + x2 * rows.normal.cross(rows.tangent);
      const double eps = rows.tangent_compliance > 0.0 ? kept.given.tangent : 0.0;
      state.impulses.push_back(
          {kept.key, force.impulse, turned(xi), eps,
           kept.start_overlap < kLeastStartOverlap ? 0.0 : kept.start_overlap,
           problem.lagged ? friction_slip(kept, problem, lambda, twists) : 0.0});
    }
    if (!force.couple.isZero(0.0)) {
      const Frame frame = frame_of(kept, problem);
      Vec3 turn = Vec3::Zero();
      for (Index r = 3; r < frame.rows; ++r)
        turn += next_turn(kept, problem, r, frame, lambda, twists) * frame.axis[r];
      state.couples.push_back({kept.key, force.couple, turned(turn)});
    }
  }
}

/// What the contact stores at the step's end, and by how much more that is than before. Energies
/// of resolved contacts are those of the mean overlap over a step, as their rows are made.
void StepContacts::add_elastic(const ConstraintProblem& problem, const Kept& kept,
                               const double* lambda, const LocalBodies& local,
                               std::span<const double> twists, AuditTerms& audit) const {
  const RigidContact& rows = rigid_rows(kept, problem);
  if (stiffness_.rigid() || !(rows.tangent_compliance > 0.0)) return;
  const auto [before, after] = normal_speeds(rows, local, twists);
  const ContactRowsGiven& given = kept.given;
  const double overlap = -kept.gap - kept.start_overlap;
  const double h = given.resolved && kind_ == StepperKind::spook ? 0.5 * step_ : step_;
  const double lag = h == step_ ? 0.0 : h * before;
  const double at_start = ContactStiffness::energy(given, overlap + lag);
  const double at_end = ContactStiffness::energy(given, overlap - h * after);
  // of the start overlap that was left a step ago
  const double undone = std::min(kRelaxed / (1.0 - kRelaxed) * kept.start_overlap,
                                 step_ * model_.contact.recovery_speed);
  const double relaxed = at_start - ContactStiffness::energy(given, overlap + lag - undone);
  audit[EnergyTerm::elastic_jump] += at_start;
  if (kept.old != kNoIndex) {
    audit[EnergyTerm::recovery_work] += relaxed;
    audit[EnergyTerm::elastic_jump] -= relaxed;
  }
  const auto square = [](const std::array<double, 2>& x) { return x[0] * x[0] + x[1] * x[1]; };
  double sheared = 0.5 * square(stretch(kept, rows)) / given.tangent;
  double sheared_at_end = 0.5 * square(next_stretch(kept, problem, lambda, twists)) / given.tangent;
  if (kept.couples) {
    const GeneralBlocks& blocks = problem.blocks;
    const Frame frame = frame_of(kept, problem);
    for (Index r = 3; r < blocks.rows(kept.slot); ++r) {
      const std::size_t row = blocks.row_begin[kept.slot] + r;
      if (!(blocks.compliance[row] > 0.0)) continue;
      const double eps = stiffness_.compliance(blocks.compliance[row], given.tangent_share);
      const double turned = turn(kept, blocks, r);
      const double next = next_turn(kept, problem, r, frame, lambda, twists);
      sheared += 0.5 * turned * turned / eps;
      sheared_at_end += 0.5 * next * next / eps;
    }
  }
  audit[EnergyTerm::elastic_jump] += sheared;
  audit[EnergyTerm::elastic_energy] += at_end + sheared_at_end;
  audit[EnergyTerm::dissipation_impact] -= at_end - at_start;
  audit[EnergyTerm::dissipation_friction] -= sheared_at_end - sheared;
}

void StepContacts::add_work(const ConstraintProblem& problem, std::span<const double> impulses,
                            const LocalBodies& local, std::span<const double> twists,
                            AuditTerms& audit) const {
  // in the order of the rows
  for (const Kept& kept : contacts_) {
    if (kept.couples) continue;
    const double* lambda = impulses.data() + first_row(kept.slot, false, problem);
    add_rigid_work(problem, problem.contacts[kept.slot], lambda, local, twists, kept.recovering,
                   audit);
    add_elastic(problem, kept, lambda, local, twists, audit);
  }
  if (coupled_.empty()) return;
  for (const Kept& kept : contacts_) {
    if (!kept.couples) continue;
    const double* lambda = impulses.data() + first_row(kept.slot, true, problem);
    add_block_work(problem, kept.slot, lambda, local, twists, kept.recovering, audit);
    add_elastic(problem, kept, lambda, local, twists, audit);
  }
}

ContactRecord StepContacts::record(std::size_t k, const ConstraintProblem& problem,
                                   std::span<const double> impulses) const {
  const Kept& kept = contacts_[k];
  const RigidContact& rows = rigid_rows(kept, problem);
  const Force force =
      force_of(kept, problem, impulses.data() + first_row(kept.slot, kept.couples, problem));
  return {rows.key, kept.point, rows.normal, kept.gap, force.impulse, force.couple};
}

}  // namespace catena
