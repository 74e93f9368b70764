#include "catena/stepper/step_contacts.hpp"

#include <algorithm>
#include <functional>

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
  penetration_ = 0.0;
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

void StepContacts::make_rows(const ContactSet& set, const State& state,
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
    const BodyConstants &a = local.constants[c.body_a], &b = local.constants[c.body_b];
    const PairMaterial& pair =
        one_pair ? model_.materials.pair(0, 0) : model_.materials.pair(a.material, b.material);
    const RigidContact rows = rows_of(c, pair, local);
    // what restitution gives back is not pushed out of an overlap
    const bool recovering =
        c.gap < 0.0 && rows.bias == contact_bias(kind_, c.gap, 0.0, 0.0, step_, model_.contact);
    Index home = 0;  // any body that is owned
    if (!one_subdomain) home = home_of(a, b) == c.key.a ? c.body_a : c.body_b;
    const bool couples = (pair.rolling_friction > 0.0 || pair.spinning_friction > 0.0) &&
                         model_.contact.law != ContactLaw::frictionless;
    const std::size_t slot = couples ? coupled_.size() : problem.contacts.size();
    contacts_.push_back({c.point, c.gap, to_index(slot), couples, recovering});
    penetration_ = std::max(penetration_, -c.gap);
    (couples ? coupled_ : problem.contacts).push_back(rows);
    (couples ? coupled_subdomain : problem.block_subdomain).push_back(state.subdomain[home]);
    if (couples)
      add_contact_block(rows, pair.rolling_friction > 0.0 ? pair.rolling_friction : -1.0,
                        pair.spinning_friction > 0.0 ? pair.spinning_friction : -1.0,
                        problem.blocks);
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
  // all lists ascend in key
  auto old = state.impulses.begin();
  auto old_couple = state.couples.begin();
  const auto seek = [](auto& at, auto end, const ContactKey& key) {
    while (at != end && without_image(at->key) < key) ++at;
    return at != end && without_image(at->key) == key;
  };
  for (const Kept& kept : contacts_) {
    if (old == state.impulses.end() && old_couple == state.couples.end()) break;
    const ContactKey key = without_image(rigid_rows(kept, problem).key);
    const bool pressed = seek(old, state.impulses.end(), key);
    const bool turned = seek(old_couple, state.couples.end(), key);
    if (!pressed && !turned) continue;
    const Frame frame = frame_of(kept, problem);
    double* lambda = impulses.data() + first_row(kept.slot, kept.couples, problem);
    for (Index i = 0; pressed && i < 3; ++i) lambda[i] = old->impulse.dot(frame.axis[i]);
    for (Index i = 3; turned && i < frame.rows; ++i)
      lambda[i] = old_couple->couple.dot(frame.axis[i]);
    // a pair may touch in two images
    if (pressed) ++old;
    if (turned) ++old_couple;
  }
}

void StepContacts::store(const ConstraintProblem& problem, std::span<const double> impulses,
                         State& state) const {
  const auto clear_for = [](auto& list, std::size_t n) {
    list.clear();
    if (list.capacity() < n) list.reserve(n + n / 32);
  };
  clear_for(state.impulses, contacts_.size());
  clear_for(state.couples, coupled_.size());
  for (const Kept& kept : contacts_) {
    const double* lambda = impulses.data() + first_row(kept.slot, kept.couples, problem);
    // most contacts of a packing that do not press come with three zeros
    if (!kept.couples && is_zero(lambda)) continue;
    const Force force = force_of(kept, problem, lambda);
    const ContactKey& key = rigid_rows(kept, problem).key;
    if (!force.impulse.isZero(0.0)) state.impulses.push_back({key, force.impulse});
    if (!force.couple.isZero(0.0)) state.couples.push_back({key, force.couple});
  }
}

void StepContacts::add_work(const ConstraintProblem& problem, std::span<const double> impulses,
                            const LocalBodies& local, std::span<const double> twists,
                            AuditTerms& audit) const {
  // in the order of the rows
  for (const Kept& kept : contacts_) {
    if (kept.couples) continue;
    add_rigid_work(problem, problem.contacts[kept.slot],
                   impulses.data() + first_row(kept.slot, false, problem), local, twists,
                   kept.recovering, audit);
  }
  if (coupled_.empty()) return;
  for (const Kept& kept : contacts_) {
    if (!kept.couples) continue;
    add_block_work(problem, kept.slot, impulses.data() + first_row(kept.slot, true, problem), local,
                   twists, kept.recovering, audit);
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
