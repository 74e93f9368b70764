// All that changes in a run, in one list (docs/design/0004-state.md): migration,
// checkpoints, hashes and output walk it, so nothing is forgotten by one of them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/model/energy_terms.hpp"
#include "catena/model/model.hpp"

namespace catena {

/// Identity of a contact point: the two bodies in ascending id, the feature by which
/// the narrow phase numbers the points of two convex parts, and which parts of compounds and
/// surfaces they are and in which periodic image b is.
struct ContactKey {
  GlobalId a = kNoBody;
  GlobalId b = kNoBody;
  std::int32_t feature = 0;
  /// (item of a * items of b + item of b) * kImages + (image - kNoImage) mod kImages: 0 for two
  /// bodies of one part each in the box itself.
  std::int32_t part = 0;
  auto operator<=>(const ContactKey&) const = default;
};

/// Code of the periodic image of body b in a key (PeriodicBox::shift).
inline int image_of(const ContactKey& key) { return (key.part + kNoImage) % kImages; }

/// What a contact of the last step leaves to the next one: its impulse for the first guess, and
/// what it stores (docs/theory.md, "Compliant contacts"). In world coordinates, since each step has
/// frames of its own.
struct KeyedImpulse {
  ContactKey key;
  Vec3 impulse = Vec3::Zero();      ///< world frame, on body b, N s
  Vec3 stretch = Vec3::Zero();      ///< xi, tangential, m
  double tangent_compliance = 0.0;  ///< eps_t by which xi was made, m/N
  /// What is left of the overlap that a scene began with, or that a joint allowed until it broke,
  /// m.
  double start_overlap = 0.0;
  double shift = 0.0;           ///< law lagged: friction times speed of sliding (s), m/s
  double elastic_energy = 0.0;  ///< of its overlap at the step's end, J
};

/// The same of the rolling and spinning couple of a contact that has one.
struct KeyedCouple {
  ContactKey key;
  Vec3 couple = Vec3::Zero();   ///< world frame, on body b, N m s
  Vec3 stretch = Vec3::Zero();  ///< relative rotation, rad
};

/// What joints and contacts need to know of joints besides the joints a rank holds; made anew by
/// migrate() and where bodies leave (partition/joint_links.hpp).
struct JointLinks {
  /// Per joint of Bodies::joints the local index of its bodies, kNoIndex where they are not owned
  /// here (another rank's, unbounded, or the world).
  std::vector<std::array<Index, kJointBodies>> body;
  /// Joints that act on a body which is not owned here (another rank's or unbounded), ascending.
  std::vector<Index> outside;
  /// Owned bodies on which joints of other ranks act, ascending in rank, then in index.
  std::vector<std::pair<int, std::vector<Index>>> offered;
  /// Ids of other ranks' bodies on which joints held here act, ascending.
  std::vector<GlobalId> needed;
  /// Pairs of bodies (smaller id first), ascending, that make no contacts because a joint holds
  /// them together: those with a body owned here.
  std::vector<std::pair<GlobalId, GlobalId>> apart;
};

/// How far an insertion has come; the same on every rank.
struct InflowProgress {
  std::int64_t made = 0;     ///< bodies inserted so far; the next one is number `made`
  double owed = 0.0;         ///< bodies (or kg) that are due but not inserted yet
  std::int64_t refused = 0;  ///< places drawn that were taken
  std::int64_t tried = 0;    ///< of these, for body number `made`
};

/// Bodies that have left, and what has come in, over all ranks; the same on every rank.
struct FlowSums {
  std::int64_t inserted = 0, removed = 0;
  double inserted_mass = 0.0, removed_mass = 0.0;  ///< kg
};

/// What the next check of the balance decides from; the same on every rank, but another on
/// another number of ranks: checkpoints keep it, hashes leave it out.
struct BalanceSums {
  /// Work of the last step in row sweeps (partition/cost_model.hpp): a rank's mean, and the
  /// largest.
  double mean_work = 0.0, largest_work = 0.0;
  std::int64_t rows = 0, bodies = 0;  ///< of the last step, over all ranks
  double lost = 0.0;  ///< work of the busiest ranks above the mean since the last split
  double split_price_factor =
      1.0;                  ///< how many times the price of a split is lost before the next one
  double sweeps = 0.0;      ///< since the last look
  std::int64_t steps = 0;   ///< the same
  std::int64_t flowed = 0;  ///< bodies that came or left since then
};

/// The motion of one kinematic body.
struct BodyMotion {
  GlobalId body = kNoBody;
  MotionStart start;
};

/// Force and torque about the centre of mass that a program has given a body, world frame, until
/// it gives others (SceneAccess::set_load).
struct BodyLoad {
  GlobalId body = kNoBody;
  Vec3 force = Vec3::Zero();   ///< N
  Vec3 torque = Vec3::Zero();  ///< N m
};

/// This rank's part of everything that changes. Body columns have one entry per owned
/// body, in the same local order as Bodies; that order is a space-filling curve's,
/// made anew by migration.
struct State {
  double time = 0.0;  ///< s
  std::int64_t step = 0;
  std::vector<BodyMotionState> body;
  std::vector<std::int32_t>
      subdomain;  ///< global number of the subdomain that sweeps the body's rows
  /// What few bodies have, ascending in body, with their owners: kinematic ones their motions.
  std::vector<BodyMotion> motions;
  std::vector<BodyLoad> loads;  ///< the same of bodies that a program loads
  /// Motions of unbounded bodies, ascending in body, the same on every rank.
  std::vector<BodyMotion> plane_motions;
  /// Ascending in key; each held by the owner of the contact's home body.
  std::vector<KeyedImpulse> impulses;
  std::vector<KeyedCouple> couples;  ///< the same for contacts with rolling or spinning friction
  std::vector<JointState> joints;    ///< one per joint of Bodies::joints, in its order
  AuditSums audit;
  std::vector<InflowProgress> inflow;  ///< one per insertion of the case
  std::vector<std::int64_t> outflow;   ///< bodies that left by each outflow of the case
  std::vector<double> probes;          ///< what the case's probes keep (probes/probe_set.hpp)
  std::vector<double> controls;  ///< what the case's controllers keep (simulation/controls.hpp)
  /// Factor that a controller gives each of Model::forces, NaN where none does; empty: none has
  /// given any.
  std::vector<double> force_factors;
  /// Joints that have broken, of each the rank on which it did or that read it from a checkpoint;
  /// in no order, and the number over all ranks.
  std::vector<BrokenJoint> broken;
  std::int64_t broken_joints = 0;
  /// What changes of a periodic box whose images move (box_of, keep_box); else empty.
  std::vector<double> cell;
  FlowSums flow;
  /// Bodies and joints that a program has added: their ids follow those of the case.
  std::int64_t added_bodies = 0, added_joints = 0;
  BalanceSums balance;
  /// Step for which the stiffness of contacts is made, s (Stiffness::automatic): follows another
  /// step slowly; 0: none yet.
  double stiffness_step = 0.0;
  double sub_step = 0.0;  ///< that error control tries next, s; 0: the whole step
  /// Step whose flow of bodies and check of the balance are done already, although it was broken
  /// off afterwards; -1: none.
  std::int64_t prepared = -1;
};

/// This rank's owned bodies, constant data, in the local order of State, and the joints it holds:
/// those whose home (joint_home) it owns, ascending in id.
struct Bodies {
  std::vector<BodyConstants> constants;
  std::vector<JointConstants> joints;
  JointLinks links;
  Index size() const { return to_index(constants.size()); }
};

/// The motion of a body that this rank owns, that every rank knows, or that stands in `others`
/// (ascending in body); of bodies without motion one that does not count.
const MotionStart& motion_of(const State& state, const BodyConstants& body,
                             std::span<const BodyMotion> others = {});

/// Motions of the model's unbounded bodies at the start of a run.
std::vector<BodyMotion> plane_motions(const Model& model);

/// What a program has loaded one of this rank's bodies by; nullptr: nothing.
const BodyLoad* load_of(const State& state, GlobalId body);

/// Model::periodic as it is at the state's time, with the L of the step that comes next.
PeriodicBox box_of(const Model& model, const State& state);
/// Keeps in the state what changes of the box.
void keep_box(const PeriodicBox& box, State& state);
inline constexpr std::size_t kCellNumbers = 10;  ///< of State::cell

/// The one of a pair whose owner holds their contacts: the dynamic one; of two dynamic
/// bodies the much smaller one, else one of them by the parity of their ids. A pure
/// function of the two constants, so both owners agree without a message.
GlobalId home_of(const BodyConstants& a, const BodyConstants& b);

/// Calls visit(name, column) for every per-body column of constants and state: the one
/// list that migration, checkpoints and hashes walk. Both may be const.
template <class Visit, class SomeBodies, class SomeState>
void for_each_body_column(Visit&& visit, SomeBodies& bodies, SomeState& state) {
  visit("constants", bodies.constants);
  visit("body", state.body);
  visit("subdomain", state.subdomain);
}

/// Calls visit(name, list) for what few bodies have: items ascending in `body`, with its owner.
template <class Visit, class SomeState>
void for_each_body_list(Visit&& visit, SomeState& state) {
  visit("motions", state.motions);
  visit("loads", state.loads);
}

/// The same for the per-joint columns of constants and state.
template <class Visit, class SomeBodies, class SomeState>
void for_each_joint_column(Visit&& visit, SomeBodies& bodies, SomeState& state) {
  visit("joint_constants", bodies.joints);
  visit("joints", state.joints);
}

/// Calls visit(name, value) for every number of a motion.
template <class Visit, class SomeMotion>
void for_each_motion_number(Visit&& visit, SomeMotion& motion) {
  visit("motion_body", motion.body);
  auto& start = motion.start;
  for (int i = 0; i < 4; ++i) visit("motion_orientation", start.pose.q.coeffs()[i]);
  for (auto* v : {&start.pose.p, &start.displacement, &start.velocity, &start.angular_velocity})
    for (int i = 0; i < 3; ++i) visit("motion", (*v)[i]);
  visit("motion_since", start.since);
}

/// Calls visit(name, value) for everything in the state that is not per body, contact or joint: the
/// same on every rank.
template <class Visit, class SomeState>
void for_each_scalar(Visit&& visit, SomeState& state) {
  visit("time", state.time);
  visit("step", state.step);
  visit("sub_step", state.sub_step);
  visit("stiffness_step", state.stiffness_step);
  visit("prepared", state.prepared);
  for (const EnergyTermEntry& e : kEnergyTerms) visit(e.name, state.audit[e.term]);
  visit("inserted", state.flow.inserted);
  visit("removed", state.flow.removed);
  visit("inserted_mass", state.flow.inserted_mass);
  visit("removed_mass", state.flow.removed_mass);
  visit("added_bodies", state.added_bodies);
  visit("added_joints", state.added_joints);
  visit("broken_joints", state.broken_joints);
  for (auto& motion : state.plane_motions) for_each_motion_number(visit, motion);
  for (auto& inflow : state.inflow) {
    visit("inflow_made", inflow.made);
    visit("inflow_owed", inflow.owed);
    visit("inflow_refused", inflow.refused);
    visit("inflow_tried", inflow.tried);
  }
  for (auto& removed : state.outflow) visit("outflow_removed", removed);
  for (auto& number : state.probes) visit("probes", number);
  for (auto& number : state.controls) visit("controls", number);
  for (auto& factor : state.force_factors) visit("force_factors", factor);
  for (auto& number : state.cell) visit("cell", number);
}

/// The same for the scalars that depend on the number of ranks.
template <class Visit, class SomeState>
void for_each_balance_scalar(Visit&& visit, SomeState& state) {
  visit("balance_mean_work", state.balance.mean_work);
  visit("balance_largest_work", state.balance.largest_work);
  visit("balance_rows", state.balance.rows);
  visit("balance_bodies", state.balance.bodies);
  visit("balance_lost", state.balance.lost);
  visit("balance_patience", state.balance.split_price_factor);
  visit("balance_sweeps", state.balance.sweeps);
  visit("balance_steps", state.balance.steps);
  visit("balance_flowed", state.balance.flowed);
}

}  // namespace catena
