#include "catena/search/contact_search.hpp"

#include <algorithm>
#include <functional>

#include "catena/base/error.hpp"
#include "catena/base/release.hpp"
#include "search/candidates.hpp"
#include "search/pair_contacts.hpp"
#include "search/planar_contacts.hpp"
#include "search/wide_boxes.hpp"

namespace catena {

namespace {

using search::BodyFault;

/// Scratch memory that is kept between steps, bytes: more than caches hold is given back to the
/// step's other stages.
constexpr std::size_t kKeptScratch = std::size_t{16} << 20;

constexpr const char* kPeriodicRemedy = "make the periodic box larger or the body smaller";
constexpr const char* kPlanarRemedy =
    "in two dimensions bodies move in the x-z plane and turn about y alone";

}  // namespace

const Twist& LocalBodies::twist_among_moving(Index i) const {
  const auto at = std::lower_bound(moving.begin(), moving.end(), i,
                                   [](const auto& entry, Index j) { return entry.first < j; });
  const bool found = at != moving.end() && at->first == i;
  return found ? at->second : state[i].twist;
}

struct ContactSearch::Impl {
  Communicator comm;
  const Model* model;
  search::Probes probes;
  search::WideBoxes wide;
  search::Candidates candidates;
  search::ProbePairs pairs;
  search::PairContacts pair_contacts;

  Impl(const Communicator& c, const Model& m)
      : comm(c), model(&m), probes(m), candidates(c), pairs(m, probes), pair_contacts(m, probes) {}

  Twist in_motion(const BodyConstants& body, const State& state) const;
  void refuse_faults(const Bodies& bodies, const State& state) const;
  void add_owned(const Bodies& bodies, const State& state, LocalBodies& local);
  void add_unbounded(const State& state, LocalBodies& local);
  void release_large();
};

/// Mean twist over the step of a prescribed body; in planar motion what is left of it in the plane.
Twist ContactSearch::Impl::in_motion(const BodyConstants& body, const State& state) const {
  const Twist twist = mean_twist(*model, body, motion_of(state, body), state.time, probes.step());
  if (!model->planar) return twist;
  return {Vec3(twist.v.x(), 0.0, twist.v.z()), Vec3(0.0, twist.w.y(), 0.0)};
}

/// Throws Error, with the body's place, if this rank's bodies do not fit into the plane or the
/// periodic box.
void ContactSearch::Impl::refuse_faults(const Bodies& bodies, const State& state) const {
  if (model->planar) {
    const BodyFault found = search::planar_fault(*model, bodies, state);
    if (found.body != kNoBody)
      throw Error(found.text, model->places.text_of(found.body), kPlanarRemedy);
  }
  if (probes.images().any()) {
    const BodyFault found = search::periodic_fault(*model, bodies, state);
    if (found.body != kNoBody)
      throw Error(found.text, model->places.text_of(found.body), kPeriodicRemedy);
  }
}

void ContactSearch::Impl::add_owned(const Bodies& bodies, const State& state, LocalBodies& local) {
  const std::size_t n = bodies.constants.size();
  CATENA_CHECK(state.body.size() == n, "a state for each body");
  local.constants.refer_to(bodies.constants);
  local.state.refer_to(state.body);
  assign_with_room(local.owner, n, comm.rank());
  local.n_owned = to_index(n);
  local.moving.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const BodyConstants& body = bodies.constants[i];
    const auto place = to_index(i);
    if (body.kind == BodyKind::kinematic && body.motion >= 0) {
      local.moving.emplace_back(place, in_motion(body, state));
    }
    if (!search::takes_part(body)) continue;
    probes.add_swept(body, state.body[i].pose, local.twist(place), place);
  }
  probes.end_owned();
}

void ContactSearch::Impl::add_unbounded(const State& state, LocalBodies& local) {
  for (const BodyRecord& body : model->unbounded) {
    BodyMotionState now = prescribed_state(*model, body.constants, body.state.pose,
                                           motion_of(state, body.constants), state.time);
    now.twist = in_motion(body.constants, state);
    if (search::takes_part(body.constants)) {
      probes.add(body.constants, now.pose.p, now.twist, local.size());
      probes.take_for_jointed();  // owners know of the other body only
    }
    local.constants.push_back(body.constants);
    local.state.push_back(now);
    local.owner.push_back(0);
  }
}

void ContactSearch::Impl::release_large() {
  if (probes.memory() + pairs.memory() < kKeptScratch) return;
  probes.release();
  wide.release();
  pairs.release();
}

ContactSearch::ContactSearch(const Communicator& comm, const Model& model)
    : impl_(std::make_unique<Impl>(comm, model)) {}
ContactSearch::~ContactSearch() = default;
ContactSearch::ContactSearch(ContactSearch&&) noexcept = default;

void ContactSearch::find(const Bodies& bodies, const State& state, double step, ContactSet& out) {
  Impl& m = *impl_;
  if (m.probes.images().any() || m.model->planar) {
    const auto refuse = [&] { m.refuse_faults(bodies, state); };
    all_or_none(m.comm, std::ref(refuse));  // a copy would be allocated
  }
  m.probes.clear(state, step);
  m.add_owned(bodies, state, out.bodies);
  m.wide.choose(m.comm, m.probes);
  m.candidates.exchange(bodies, state, m.wide, m.probes, out.bodies);
  m.wide.complete(m.probes);
  m.add_unbounded(state, out.bodies);
  m.probes.order_by_id();
  m.pair_contacts.make(m.pairs.find(out.bodies, m.wide), bodies.links.apart, out.bodies,
                       out.contacts);
  m.candidates.keep_needed(bodies.links, out);
  search::find_joint_bodies(bodies, out);
  m.candidates.plan_halo(out);
  m.release_large();
}

}  // namespace catena
