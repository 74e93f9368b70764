// What of an earlier run's bodies, joints and impulses the case begins with.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/id_index.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/comm/directory.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/model/body_group.hpp"
#include "catena/simulation/bonds.hpp"
#include "catena/stepper/cell.hpp"
#include "catena/stepper/energy.hpp"
#include "simulation/initial/earlier_run.hpp"

namespace catena {

namespace {

/// Numbers of the shape that stay whatever frame a body has.
bool same_size(const Shape& a, std::span<const Geometry> of_a, const Shape& b,
               std::span<const Geometry> of_b) {
  if (a.type != b.type || a.size != b.size || a.closed_ends != b.closed_ends) return false;
  if ((a.geometry < 0) != (b.geometry < 0)) return false;
  if (a.geometry < 0) return true;
  const Geometry &x = of_a[a.geometry], &y = of_b[b.geometry];
  return x.volume == y.volume && x.vertices.size() == y.vertices.size() &&
         x.triangles == y.triangles && x.heights == y.heights && x.parts.size() == y.parts.size();
}

}  // namespace

void EarlierRun::take_up(const Model& model, const std::vector<Insertion>& insertions,
                         Bodies& bodies, State& state) {
  maker_ = std::make_unique<SceneMaker>(comm_, settings_, model);
  const EnergyMomentum before = total_energy_and_momentum(
      comm_, model_before_, found_.checkpoint.bodies, found_.checkpoint.state);
  take_plane_motions(model, state);
  // what broke in the last step is still among its joints
  for (const BrokenJoint& broken : found_.checkpoint.state.broken)
    if (broken.step == found_.checkpoint.state.step) just_broken_.push_back(broken.joint);
  just_broken_ = all_gather_values(comm_, just_broken_);
  std::ranges::sort(just_broken_);
  all_or_none(comm_, [&] {
    box_ = find_box(model, !insertions.empty());
    take_bodies(model, insertions, bodies, state);
    take_joints(bodies, state);
    take_bonds(model, bodies, state);
    take_impulses(state);
  });
  follow_images(model, state);
  drop_held_bonds(model, bodies, state);
  add_new_bodies(model, bodies, state);
  add_new_joints(model, bodies, state);
  take_scalars(model, bodies, state);
  take_flow(insertions, state);
  if (settings_.initial.keeps_time) {
    const EnergyMomentum e = total_energy_and_momentum(comm_, model, bodies, state);
    state.audit[EnergyTerm::flow_energy] +=
        e.kinetic + e.potential - (before.kinetic + before.potential);
  }
  keeps_places_ = comm_.sum(new_bodies_ + new_joints_) == 0 &&
                  before_.parallel.deterministic == settings_.parallel.deterministic;
  report(model, bodies, state);
  maker_.reset();
}

void EarlierRun::check_shape(const BodyConstants& old, const BodyConstants& now,
                             const Model& model) const {
  if (same_size(old.shape, model_before_.geometries, now.shape, model.geometries)) return;
  const std::string place = model.places.text_of(now.id);
  throw Error("body " + model.names.name_of(now.id) + " has another shape than in the earlier run",
              place.empty() ? "initial.from" : place + ".shape",
              "leave the shape as it was, give the body another name, or leave it out of "
              "initial.bodies");
}

bool EarlierRun::gives_otherwise(const BodyConstants& old, const BodyConstants& now,
                                 const Model& model) const {
  const Material& was = model_before_.materials.materials().at(old.material);
  const Material& is = model.materials.materials().at(now.material);
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  return old.kind != now.kind || old.mass != now.mass ||
         !same(was.youngs_modulus, is.youngs_modulus) || !same(was.poisson_ratio, is.poisson_ratio);
}

/// The pose of the same shape where the frames of both bodies differ.
Pose EarlierRun::turned_over(const Pose& pose, const Shape& old, const Shape& now,
                             const Model& model) const {
  if (old.geometry < 0) return pose;
  const Pose& from = model_before_.geometries[old.geometry].written;
  const Pose& to = model.geometries[now.geometry].written;
  if (from.p == to.p && from.q.coeffs() == to.q.coeffs()) return pose;
  const Quat q = (pose.q * from.q * to.q.conjugate()).normalized();
  return {pose.p + pose.q * from.p - q * to.p, q};
}

/// What the case says of these bodies, ascending.
std::vector<MadeBody> EarlierRun::made_of(const std::vector<GlobalId>& ids,
                                          const std::vector<Insertion>& insertions) const {
  const SceneMaker& maker = *maker_;
  std::vector<GlobalId> first;  // of each insertion
  for (std::size_t g = 0; g < settings_.generators.size(); ++g)
    if (settings_.generators[g].is<InsertionSettings>()) first.push_back(maker.first_body(g));
  const auto insertion_of = [&](GlobalId id) {
    for (std::size_t k = 0; k < first.size(); ++k)
      if (id >= first[k] && id < first[k] + insertions[k].settings().count) return narrow<int>(k);
    return -1;
  };
  std::vector<MadeBody> out;
  std::vector<GlobalId> others;
  for (const GlobalId id : ids) {
    const int k = insertion_of(id);
    if (k < 0)
      others.push_back(id);
    else
      out.push_back({{insertions[k].constants(id - first[k]), {}}, {}});
  }
  for (const MadeBody& body : maker.some(others)) out.push_back(body);
  std::ranges::sort(out, {}, [](const MadeBody& body) { return body.constants.id; });
  return out;
}

void EarlierRun::take_bodies(const Model& model, const std::vector<Insertion>& insertions,
                             Bodies& bodies, State& state) {
  const Checkpoint& old = found_.checkpoint;
  const std::size_t n = old.bodies.constants.size();
  std::vector<GlobalId> ids;
  for (const BodyConstants& body : old.bodies.constants)
    if (const GlobalId id = same_.bodies.now_of(body.id); id != kNoBody) ids.push_back(id);
  std::ranges::sort(ids);
  const std::vector<MadeBody> made = made_of(ids, insertions);
  const IdIndex index(made.size(), [&](std::size_t i) { return made[i].constants.id; });
  std::vector<std::int32_t> passed = {0};  // outflow by its number in the earlier case
  for (const OutflowSettings& out : before_.outflow) {
    const auto at = std::ranges::find(settings_.outflow, out.name, &OutflowSettings::name);
    passed.push_back(at == settings_.outflow.end()
                         ? 0
                         : narrow<std::int32_t>(at - settings_.outflow.begin()) + 1);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const BodyConstants& was = old.bodies.constants[i];
    const GlobalId id = same_.bodies.now_of(was.id);
    if (id == kNoBody) {
      ++gone_bodies_;
      continue;
    }
    const MadeBody& now = made[index.find(id)];
    BodyConstants body = now.constants;
    check_shape(was, body, model);
    if (body.shape.type != ShapeType::none && gives_otherwise(was, body, model))
      changed_bodies_.push_back(id);
    body.passed = passed.at(was.passed);
    BodyMotionState s = old.state.body[i];
    s.pose = turned_over(s.pose, was.shape, body.shape, model);
    if (body.kind != BodyKind::dynamic) {
      MotionStart start;
      if (body.kind == BodyKind::kinematic) {
        start = gone_on(model, now, s.pose);
        state.motions.push_back({id, start});
      }
      s = prescribed_state(model, body, s.pose, start, time_);
    } else if (!settings_.initial.keeps_velocities) {
      s.twist = {};
    }
    const Vec3 inside = box_.wrapped(s.pose.p);
    if (inside != s.pose.p) put_back_.push_back({id, inside - s.pose.p});
    s.pose.p = inside;
    bodies.constants.push_back(body);
    state.body.push_back(s);
    state.subdomain.push_back(old.state.subdomain[i]);
  }
}

GlobalId EarlierRun::packed_between(GlobalId first, GlobalId last) const {
  GlobalId n = 0;
  for (std::size_t g = 0; g < settings_.generators.size(); ++g) {
    if (!settings_.generators[g].is<PackSettings>()) continue;
    const GlobalId from = maker_->first_body(g), to = from + maker_->n_bodies(g);
    n += std::max(GlobalId{0}, std::min(last, to) - std::max(first, from));
  }
  return n;
}

void EarlierRun::add_new_bodies(const Model& model, Bodies& bodies, State& state) {
  const GlobalId n = total_bodies(model);
  const GlobalId first = n * comm_.rank() / comm_.size();
  const GlobalId last = n * (comm_.rank() + 1) / comm_.size();
  std::int64_t in_packs = 0, fresh = 0;
  same_.bodies.for_each_new(first, last, [&](GlobalId a, GlobalId b) {
    in_packs += packed_between(a, b);
    fresh += b - a;
  });
  if (comm_.sum(fresh) > 0 && !found_.checkpoint.state.cell.empty())
    throw Error(
        "the earlier run's periodic box has moved, and this case has bodies that were not in it: "
        "their places are those of the box that this case gives",
        settings_.initial.place, "remove them, or begin with a box that stands");
  if (comm_.sum(in_packs) > 0) maker_->place_packs(comm_, first, last);
  all_or_none(comm_, [&] {
    same_.bodies.for_each_new(first, last, [&](GlobalId a, GlobalId b) {
      maker_->make(a, b, [&](MadeBody body) {
        if (body.constants.kind == BodyKind::kinematic) {
          state.motions.push_back({body.constants.id, body.motion});
          body.state = prescribed_state(model, body.constants, body.state.pose, body.motion, time_);
        }
        body.state.pose.p = box_.wrapped(body.state.pose.p);
        bodies.constants.push_back(body.constants);
        state.body.push_back(body.state);
        state.subdomain.push_back(0);
        ++new_bodies_;
      });
      for (const JointConstants& joint : maker_->generated_joints(a, b)) {
        bodies.joints.push_back(joint);
        state.joints.emplace_back();
        ++new_joints_;
      }
    });
  });
}

void EarlierRun::take_joints(Bodies& bodies, State& state) {
  const SceneMaker& maker = *maker_;
  const Checkpoint& old = found_.checkpoint;
  std::map<GlobalId, std::size_t> place;  // in the checkpoint, by id now
  std::vector<GlobalId> listed, neighbours;
  for (std::size_t j = 0; j < old.bodies.joints.size(); ++j) {
    const JointConstants& joint = old.bodies.joints[j];
    const GlobalId id = same_.joints.now_of(joint.id);
    if (id == kNoBody || std::ranges::binary_search(just_broken_, joint.id)) continue;
    place.emplace(id, j);
    if (id < maker.n_listed_joints()) {
      listed.push_back(id);
      continue;
    }
    for (const GlobalId body : joint.body)
      if (body != kNoBody) neighbours.push_back(same_.bodies.now_of(body));
  }
  std::ranges::sort(listed);
  sort_unique(neighbours);
  std::vector<JointConstants> made;
  for (const SceneMaker::Joint& joint : maker.joints(listed, maker.poses_of(listed)))
    made.push_back(joint.constants);
  for (std::size_t i = 0; i < neighbours.size();) {
    std::size_t end = i + 1;
    while (end < neighbours.size() && neighbours[end] == neighbours[end - 1] + 1) ++end;
    for (const JointConstants& joint :
         maker.generated_joints(neighbours[i], neighbours[end - 1] + 1))
      if (place.contains(joint.id)) made.push_back(joint);
    i = end;
  }
  for (JointConstants& joint : made) {
    // frames and rest lengths are those that it had: bodies are no longer where the case says
    const std::size_t j = place.at(joint.id);
    const JointConstants& was = old.bodies.joints[j];
    joint.frame = was.frame;
    const bool has_length = joint.type == JointType::distance || joint.type == JointType::rope ||
                            joint.type == JointType::spring;
    const bool given = joint.id < maker.n_listed_joints() && maker.gives_length(joint.id);
    if (has_length && !given) joint.length = was.length;
    bodies.joints.push_back(joint);
    state.joints.push_back(old.state.joints[j]);
  }
}

/// Bonds between bodies that go on, of those that this case has by the same name: as they were,
/// with this case's limits and compliances.
void EarlierRun::take_bonds(const Model& model, Bodies& bodies, State& state) {
  const Checkpoint& old = found_.checkpoint;
  struct Kind {
    BodyGroup bodies;
    JointConstants before, now;
  };
  std::vector<Kind> kinds;
  for (std::size_t g = 0; g < settings_.generators.size(); ++g) {
    const auto* now = std::get_if<BondSettings>(&settings_.generators[g].kind);
    for (std::size_t b = 0; now != nullptr && b < before_.generators.size(); ++b) {
      const auto* was = std::get_if<BondSettings>(&before_.generators[b].kind);
      if (was == nullptr || was->name != now->name) continue;
      kinds.push_back({BodyGroup(was->between, model_before_, "initial.from"),
                       bond_like(before_, b), bond_like(settings_, g)});
      bonds_gone_on_.push_back(now->name);
    }
  }
  const GlobalId listed = model_before_.joint_names.size();
  for (std::size_t j = 0; j < old.bodies.joints.size(); ++j) {
    const JointConstants& was = old.bodies.joints[j];
    if (was.id < listed || std::ranges::binary_search(just_broken_, was.id)) continue;
    const GlobalId a = same_.bodies.now_of(was.body[0]), b = same_.bodies.now_of(was.body[1]);
    const auto kind = std::ranges::find_if(kinds, [&](const Kind& k) {
      return k.bodies.contains(was.body[0]) && k.bodies.contains(was.body[1]) &&
             is_like(was, k.before);
    });
    if (kind == kinds.end() || a == kNoBody || b == kNoBody) {
      ++lost_bonds_;
      continue;
    }
    JointConstants joint = kind->now;
    joint.id = was.id - listed + model.joint_names.size();
    joint.body = {a, b, kNoBody};
    joint.frame = was.frame;
    bodies.joints.push_back(joint);
    state.joints.push_back(old.state.joints[j]);
    ++bonds_;
  }
  // ids of those that broke stay free
  if (!kinds.empty()) state.added_joints = old.state.added_joints;
}

/// Collective. Leaves out bonds that go on between bodies of which this case lets none move freely.
void EarlierRun::drop_held_bonds(const Model& model, Bodies& bodies, State& state) {
  const GlobalId listed = model.joint_names.size();
  std::vector<DirectoryEntry<BodyKind>> own;
  for (const BodyConstants& body : bodies.constants) own.push_back({body.id, body.kind});
  std::vector<GlobalId> wanted;  // two of each bond
  for (const JointConstants& joint : bodies.joints)
    if (joint.id >= listed) wanted.insert(wanted.end(), {joint.body[0], joint.body[1]});
  const std::vector<Registered<BodyKind>> found = look_up<BodyKind>(comm_, own, wanted);
  const auto moves = [&](std::size_t i) {
    return found[i].rank >= 0 && found[i].value == BodyKind::dynamic;
  };
  std::size_t kept = 0, next = 0;
  for (std::size_t j = 0; j < bodies.joints.size(); ++j) {
    if (bodies.joints[j].id >= listed) {
      const bool moved = moves(next) || moves(next + 1);
      next += 2;
      if (!moved) continue;
    }
    bodies.joints[kept] = bodies.joints[j];
    state.joints[kept++] = state.joints[j];
  }
  held_bonds_ = narrow<std::int64_t>(bodies.joints.size() - kept);
  bonds_ -= held_bonds_;
  bodies.joints.resize(kept);
  state.joints.resize(kept);
}

void EarlierRun::add_new_joints(const Model& model, Bodies& bodies, State& state) {
  const SceneMaker& maker = *maker_;
  const GlobalId n = maker.n_listed_joints();
  std::vector<GlobalId> fresh;
  same_.joints.for_each_new(n * comm_.rank() / comm_.size(), n * (comm_.rank() + 1) / comm_.size(),
                            [&](GlobalId a, GlobalId b) {
                              for (GlobalId id = a; id < b; ++id) fresh.push_back(id);
                            });
  std::vector<GlobalId> wanted;
  for (const GlobalId id : fresh)
    for (const GlobalId body : maker.bodies_of(id))
      if (body != kNoBody) wanted.push_back(body);
  std::vector<DirectoryEntry<Pose>> own;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i)
    own.push_back({bodies.constants[i].id, state.body[i].pose});
  const std::vector<Registered<Pose>> found = look_up<Pose>(comm_, own, wanted);
  std::map<GlobalId, Pose> at;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (found[i].rank >= 0) at.emplace(wanted[i], found[i].value);
  for (const BodyRecord& plane : model.unbounded)
    at.emplace(plane.constants.id, prescribed_state(model, plane.constants, plane.state.pose,
                                                    motion_of(state, plane.constants), time_)
                                       .pose);
  all_or_none(comm_, [&] {
    std::vector<JointPoses> poses;
    for (const GlobalId id : fresh) {
      JointPoses& of = poses.emplace_back();
      const auto ids = maker.bodies_of(id);
      for (std::size_t k = 0; k < kJointBodies; ++k) {
        if (ids[k] == kNoBody) continue;
        if (!at.contains(ids[k]))
          throw Error("body " + model.names.name_of(ids[k]) + " has left the earlier run",
                      model.joint_places.text_of(id), "leave the joint out");
        of.pose[k] = at.at(ids[k]);
      }
    }
    maker.check(fresh, poses);
    for (const SceneMaker::Joint& joint : maker.joints(fresh, poses)) {
      bodies.joints.push_back(joint.constants);
      state.joints.push_back(joint.state);
      ++new_joints_;
    }
  });
  // ascending, as ranks hold them
  std::vector<std::pair<JointConstants, JointState>> all;
  for (std::size_t j = 0; j < bodies.joints.size(); ++j)
    all.emplace_back(bodies.joints[j], state.joints[j]);
  std::ranges::sort(all, {}, [](const auto& joint) { return joint.first.id; });
  for (std::size_t j = 0; j < all.size(); ++j) std::tie(bodies.joints[j], state.joints[j]) = all[j];
}

void EarlierRun::take_impulses(State& state) {
  const auto take = [&](const auto& from, auto& to) {
    for (auto item : from) {
      item.key.a = same_.bodies.now_of(item.key.a);
      item.key.b = same_.bodies.now_of(item.key.b);
      if (item.key.a == kNoBody || item.key.b == kNoBody) continue;
      // features are numbered from the body with the smaller id
      if (item.key.a > item.key.b)
        ++turned_round_;
      else
        to.push_back(item);
    }
    std::ranges::sort(to, {}, [](const auto& item) { return item.key; });
  };
  take(found_.checkpoint.state.impulses, state.impulses);
  take(found_.checkpoint.state.couples, state.couples);
}

/// Contacts go on in the images that the box of this case has of bodies that it puts elsewhere.
void EarlierRun::follow_images(const Model& model, State& state) {
  if (comm_.max(std::ssize(put_back_)) == 0) return;
  std::vector<DirectoryEntry<Vec3>> own;
  for (const PutBack& body : put_back_) own.push_back({body.body, body.by});
  std::vector<GlobalId> wanted;
  const auto want = [&](const auto& list) {
    for (const auto& item : list) wanted.insert(wanted.end(), {item.key.a, item.key.b});
  };
  want(state.impulses);
  want(state.couples);
  sort_unique(wanted);
  const std::vector<Registered<Vec3>> found = look_up<Vec3>(comm_, own, wanted);
  std::vector<PutBack> ways;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (found[i].rank >= 0) ways.push_back({wanted[i], found[i].value});
  const State& old = found_.checkpoint.state;
  const PeriodicBox before = old.cell.empty() ? model_before_.periodic : box_of(model_before_, old);
  catena::follow_images([&](int image) { return before.shift(image); }, box_, ways, model.unbounded,
                        state);
}

/// What bodies that come and leave have counted so far.
void EarlierRun::take_flow(const std::vector<Insertion>& insertions, State& state) const {
  const State& old = found_.checkpoint.state;
  const bool keeps = settings_.initial.keeps_time;
  state.inflow.assign(insertions.size(), {});
  state.outflow.assign(settings_.outflow.size(), 0);
  std::map<std::string, std::size_t> known;  // insertions of the earlier case
  for (std::size_t g = 0, k = 0; g < before_.generators.size(); ++g)
    if (before_.generators[g].is<InsertionSettings>())
      known.emplace(before_.generators[g].name(), k++);
  for (std::size_t g = 0, k = 0; g < settings_.generators.size(); ++g) {
    if (!settings_.generators[g].is<InsertionSettings>()) continue;
    InflowProgress& now = state.inflow[k++];
    const GlobalId first = maker_->first_body(g);
    const GlobalId count = maker_->n_bodies(g);
    if (same_.bodies.before_of(first) == kNoBody) continue;
    const auto was = known.find(settings_.generators[g].name());
    if (was != known.end()) now = old.inflow[was->second];
    now.made = 0;
    same_.bodies.for_each_new(first, first + count,
                              [&](GlobalId a, GlobalId) { now.made = a - first; });
    if (same_.bodies.before_of(first + count - 1) != kNoBody) now.made = count;
    if (!keeps) {
      now.owed = 0.0;
      now.refused = 0;
    }
  }
  if (!keeps) return;
  state.flow = old.flow;
  for (std::size_t k = 0; k < before_.outflow.size(); ++k)
    for (std::size_t i = 0; i < settings_.outflow.size(); ++i)
      if (settings_.outflow[i].name == before_.outflow[k].name) state.outflow[i] = old.outflow[k];
}

/// The box of the case, but where that of the earlier run has moved with its sides and offset.
/// Throws Error where the case cannot go on in it.
PeriodicBox EarlierRun::find_box(const Model& model, bool inserts) const {
  const State& old = found_.checkpoint.state;
  if (old.cell.empty()) return model.periodic;
  const std::string where =
      settings_.initial.place.empty() ? "initial.from" : settings_.initial.place;
  PeriodicBox box = box_of(model_before_, old);
  if (box.active != model.periodic.active)
    throw Error(
        "the earlier run has a box that is periodic along other directions and has "
        "moved",
        where, "give `periodic` the same directions; its sides are those of the earlier run");
  const bool bonds =
      std::ranges::any_of(settings_.generators, &GeneratorSettings::is<BondSettings>);
  if (inserts || bonds || model.joint_names.size() > 0 || !model.motions.empty())
    throw Error(
        "the earlier run's periodic box has moved, in which joints, springs, prescribed "
        "motions and insertions are not available",
        where, "remove them");
  const bool same_shear = box.shear_along == model.periodic.shear_along &&
                          box.shear_across == model.periodic.shear_across;
  if (box.offset != 0.0 && !same_shear)
    throw Error("the earlier run's periodic box was sheared in another direction", where,
                "give periodic.shear the same `along` and `across`; its rate may be 0");
  box.shear_along = model.periodic.shear_along;
  box.shear_across = model.periodic.shear_across;
  box.shear_rate = model.periodic.shear_rate;
  return box;
}

void EarlierRun::take_scalars(const Model& model, const Bodies& bodies, State& state) {
  const State& old = found_.checkpoint.state;
  state.time = time_;
  state.step = step_;
  if (!old.cell.empty() || model.cell_moves())
    take_up_cell(model, bodies, box_, !settings_.initial.keeps_velocities, settings_.time.step,
                 state);
  state.stiffness_step = old.stiffness_step;
  if (settings_.initial.keeps_time) {
    state.audit = old.audit;
    state.balance = old.balance;
    if (settings_.time.step == before_.time.step) {
      state.prepared = old.prepared;
      state.sub_step = old.sub_step;
    }
    return;
  }
  // what contacts store is part of the start's energy; the audit has it with a minus
  const double elastic = old.audit[EnergyTerm::elastic_energy];
  const EnergyMomentum e = total_energy_and_momentum(comm_, model, bodies, state);
  state.audit[EnergyTerm::elastic_energy] = elastic;
  state.audit[EnergyTerm::initial_energy] = e.kinetic + e.potential + elastic;
}

}  // namespace catena
