// Joints find their bodies on any number of ranks, whoever owns what.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "catena/base/error.hpp"
#include "catena/partition/joint_links.hpp"
#include "catena/partition/plan.hpp"
#include "catena/partition/state_hash.hpp"
#include "partition/graph/joint_work.hpp"
#include "partition/lattice_scene.hpp"
#include "support/all_ranks.hpp"

namespace catena {
namespace {

using test::Scene;

constexpr double kStep = 1e-3;
constexpr double kSpeed = 2.0;  ///< of the kinematic body, m/s

constexpr GlobalId kLinks = 24;  ///< ids 0 .. 23: spheres in a row, each overlapping the next
constexpr GlobalId kFixed = 500, kFar = 600, kMoving = 700, kHub = 800, kPlane = 900;
constexpr GlobalId kSpokes = 1000;  ///< ids 1000 .. 1099, joined to the hub
constexpr GlobalId kFree = 2000;    ///< on which no joint acts
constexpr GlobalId kOnPlane = 3;    ///< the link that is joined to the plane

std::uint64_t pick(GlobalId id, int round) {
  return mix64(mix64(static_cast<std::uint64_t>(id)) + static_cast<std::uint64_t>(round));
}

BodyRecord body(GlobalId id, double x, double y, ShapeType shape = ShapeType::none) {
  BodyRecord record;
  record.constants.id = id;
  record.constants.mass = 1.0;
  record.constants.inertia = Vec3::Ones();
  record.constants.shape = {shape, Vec3(0.6, 0.0, 0.0)};
  record.state.pose.p = Vec3(x, y, 0.0);
  record.state.twist.v = Vec3(0.0, 0.0, 1e-6 * static_cast<double>(id));
  return record;
}

/// What there is, over all ranks: built on each of them.
struct Whole {
  Model model;
  std::map<GlobalId, BodyRecord> bodies;
  std::vector<JointConstants> joints;

  void add(const BodyRecord& record) { bodies[record.constants.id] = record; }
  JointConstants& join(GlobalId a, GlobalId b, JointType type = JointType::spherical) {
    JointConstants joint;
    joint.id = static_cast<GlobalId>(joints.size());
    joint.body = {a, b, kNoBody};
    joint.type = type;
    joint.frame[0].p = Vec3(0.5, 0.0, static_cast<double>(joint.id));
    return joints.emplace_back(joint);
  }
  bool is_dynamic(GlobalId id) const {
    const auto at = bodies.find(id);
    return at != bodies.end() && at->second.constants.kind == BodyKind::dynamic;
  }
  /// The body whose owner holds the joint, as the contract says.
  GlobalId home(const JointConstants& joint) const {
    if (is_dynamic(joint.body[1])) return joint.body[1];
    return is_dynamic(joint.body[0]) ? joint.body[0] : joint.body[2];
  }
};

bool chain_joint_collides(GlobalId i) { return i % 5 == 2; }

void add_chain(Whole& whole) {
  for (GlobalId i = 0; i < kLinks; ++i) {
    whole.add(body(i, static_cast<double>(i), 0.0, ShapeType::sphere));
    if (i > 0) whole.join(i - 1, i).collide = chain_joint_collides(i);
  }
  whole.join(kNoBody, 0, JointType::revolute);
}

Whole mechanisms() {
  Whole whole;
  add_chain(whole);
  whole.add(body(kFixed, 40.0, 9.0));
  whole.bodies[kFixed].constants.kind = BodyKind::fixed;
  whole.join(kFixed, kLinks - 1);
  whole.join(kLinks - 2, kFixed);
  whole.add(body(kFar, 1e7, -1e7));
  whole.join(kFar, 5, JointType::distance);
  whole.add(body(kMoving, 7.0, 4.0));
  whole.bodies[kMoving].constants.kind = BodyKind::kinematic;
  whole.bodies[kMoving].constants.motion = 0;
  Motion motion;
  motion.velocity = Vec3(kSpeed, 0.0, 0.0);
  whole.model.motions = {motion};
  whole.join(kMoving, 7);
  whole.join(10, 11, JointType::gear).body[2] = 12;
  whole.join(kFixed, kMoving, JointType::gear).body[2] = 13;

  whole.add(body(kHub, 0.0, 50.0));
  for (GlobalId i = 0; i < 100; ++i) {
    whole.add(body(kSpokes + i, static_cast<double>(i), 50.0));
    if (i % 2 == 0) {
      whole.join(kHub, kSpokes + i);
    } else {
      whole.join(kSpokes + i, kHub);
    }
  }
  whole.add(body(kFree, 3.0, 100.0));

  BodyRecord plane = body(kPlane, 0.0, 0.0, ShapeType::plane);
  plane.constants.kind = BodyKind::fixed;
  plane.state.pose.p.z() = -0.55;
  plane.state.twist = {};
  whole.model.unbounded = {plane};
  whole.join(kPlane, kOnPlane, JointType::planar);
  whole.model.materials = MaterialTable({Material{}});
  return whole;
}

JointState state_of(GlobalId joint) {
  JointState state;
  state.impulse[0] = 1.5 * static_cast<double>(joint);
  state.drive[1][2] = 0.25 * static_cast<double>(joint);
  state.angle[1] = -static_cast<double>(joint);
  return state;
}

/// This rank's share; joints start anywhere.
Scene share_of(const Communicator& comm, const Whole& whole) {
  Scene scene;
  for (const auto& [id, record] : whole.bodies) {
    if (id % comm.size() != comm.rank()) continue;
    test::append(scene, record);
    if (record.constants.kind == BodyKind::kinematic)
      scene.state.motions.push_back({id, motion_start(whole.model.motions[0], record.state.pose)});
  }
  for (const JointConstants& joint : whole.joints) {
    if (pick(joint.id, 5) % static_cast<std::uint64_t>(comm.size()) !=
        static_cast<std::uint64_t>(comm.rank())) {
      continue;
    }
    scene.bodies.joints.push_back(joint);
    scene.state.joints.push_back(state_of(joint.id));
  }
  return scene;
}

void migrate_by(const Communicator& comm, Scene& scene,
                const std::function<std::uint64_t(GlobalId)>& rank_of) {
  std::vector<int> part;
  for (const BodyConstants& b : scene.bodies.constants) {
    part.push_back(static_cast<int>(rank_of(b.id) % static_cast<std::uint64_t>(comm.size())));
  }
  migrate(comm, scene.bodies, scene.state, part, comm.size());
}

std::map<GlobalId, std::int64_t> owners(const Communicator& comm, const Scene& scene) {
  return test::gather_by_id(comm, scene.bodies,
                            std::vector<std::int64_t>(scene.bodies.constants.size(), comm.rank()));
}

/// Every joint is held once, by its home's owner, in order, with its own state.
void expect_joints_at_home(const Communicator& comm, const Whole& whole, const Scene& scene) {
  const auto owner = owners(comm, scene);
  const auto& joints = scene.bodies.joints;
  EXPECT_EQ(comm.sum(static_cast<std::int64_t>(joints.size())),
            static_cast<std::int64_t>(whole.joints.size()));
  EXPECT_EQ(scene.state.joints.size(), joints.size());
  EXPECT_EQ(scene.bodies.links.body.size(), joints.size());
  for (std::size_t j = 0; j < joints.size(); ++j) {
    EXPECT_TRUE(j == 0 || joints[j - 1].id < joints[j].id);
    const JointConstants& expected = whole.joints[static_cast<std::size_t>(joints[j].id)];
    EXPECT_EQ(joints[j].body, expected.body);
    EXPECT_EQ(joints[j].type, expected.type);
    EXPECT_EQ(joints[j].frame[0].p, expected.frame[0].p);
    EXPECT_EQ(owner.at(whole.home(expected)), comm.rank()) << "joint " << joints[j].id;
    const JointState state = state_of(joints[j].id);
    EXPECT_EQ(scene.state.joints[j].impulse, state.impulse);
    EXPECT_EQ(scene.state.joints[j].drive, state.drive);
    EXPECT_EQ(scene.state.joints[j].angle, state.angle);
  }
}

/// Every joint's bodies are among the local ones, with their owners' poses and the twists that
/// they start the step with.
void expect_joint_bodies(const Communicator& comm, const Whole& whole, const Scene& scene,
                         const ContactSet& set) {
  const auto owner = owners(comm, scene);
  const LocalBodies& local = set.bodies;
  EXPECT_EQ(set.joint_bodies.size(), scene.bodies.joints.size());
  for (std::size_t j = 0; j < std::min(set.joint_bodies.size(), scene.bodies.joints.size()); ++j) {
    for (std::size_t k = 0; k < kJointBodies; ++k) {
      const GlobalId id = scene.bodies.joints[j].body[k];
      const Index at = set.joint_bodies[j][k];
      EXPECT_EQ(at == kNoIndex, id == kNoBody) << "joint " << scene.bodies.joints[j].id;
      if (at == kNoIndex || at >= local.size()) continue;
      const auto i = static_cast<std::size_t>(at);
      EXPECT_EQ(local.constants[i].id, id);
      if (id == kPlane) {
        EXPECT_GE(at, local.n_owned + local.n_ghost);
        continue;
      }
      const BodyRecord& expected = whole.bodies.at(id);
      EXPECT_EQ(local.owner[i], owner.at(id));
      EXPECT_EQ(at < local.n_owned, owner.at(id) == comm.rank());
      EXPECT_EQ(local.state[i].pose.p, expected.state.pose.p);
      EXPECT_TRUE(local.constants[i].jointed) << id;
      const Vec3 v = id == kMoving ? Vec3(kSpeed, 0.0, 0.0) : expected.state.twist.v;
      EXPECT_NEAR((local.twist(at).v - v).norm(), 0.0, 1e-9) << id;
    }
  }
}

/// No ghost twice, none without a use, ascending in owner.
void expect_no_idle_ghosts(const ContactSet& set) {
  std::set<Index> used;
  for (const Contact& c : set.contacts) used.insert({c.body_a, c.body_b});
  for (const auto& joint : set.joint_bodies) used.insert(joint.begin(), joint.end());
  std::set<GlobalId> ids;
  const LocalBodies& local = set.bodies;
  for (Index i = local.n_owned; i < local.n_owned + local.n_ghost; ++i) {
    const auto k = static_cast<std::size_t>(i);
    EXPECT_TRUE(used.contains(i)) << local.constants[k].id;
    EXPECT_TRUE(ids.insert(local.constants[k].id).second) << local.constants[k].id;
    EXPECT_TRUE(i == local.n_owned || local.owner[k - 1] <= local.owner[k]);
  }
}

/// Every dynamic ghost hears of its owner, and each owner of every ghost of it.
void expect_halo_both_ways(const Communicator& comm, const Scene& scene, const ContactSet& set) {
  const LocalBodies& local = set.bodies;
  const auto id_of = [&](Index i) {
    return static_cast<double>(local.constants[static_cast<std::size_t>(i)].id);
  };
  std::vector<double> values(static_cast<std::size_t>(local.size()), -1.0);
  for (Index i = 0; i < local.n_owned; ++i) values[static_cast<std::size_t>(i)] = id_of(i);
  HaloExchange there(comm, set.ghosts, 1, Tag::delassus_velocities);
  there.begin(values);
  there.end(values);
  std::vector<double> back(values.size(), -1.0);
  for (Index i = local.n_owned; i < local.n_owned + local.n_ghost; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const bool dynamic = local.constants[k].kind == BodyKind::dynamic;
    EXPECT_EQ(values[k], dynamic ? id_of(i) : -1.0);
    back[k] = values[k];
  }
  HaloExchange home(comm, set.ghosts.reversed(), 1, Tag::delassus_forces);
  home.begin(back);
  home.end(back);
  std::set<Index> heard;
  for (Index i = 0; i < local.n_owned; ++i) {
    const double value = back[static_cast<std::size_t>(i)];
    EXPECT_TRUE(value == -1.0 || value == id_of(i));
    if (value != -1.0) heard.insert(i);
  }
  for (const auto& [rank, list] : scene.bodies.links.offered) {
    EXPECT_NE(rank, comm.rank());
    for (const Index i : list) {
      const auto kind = scene.bodies.constants[static_cast<std::size_t>(i)].kind;
      EXPECT_EQ(heard.contains(i), kind == BodyKind::dynamic);
    }
  }
}

using Pairs = std::multiset<std::pair<GlobalId, GlobalId>>;

/// Collective. Pairs in contact over all ranks.
Pairs all_contacts(const Communicator& comm, const ContactSet& set) {
  std::vector<GlobalId> own;
  for (const Contact& c : set.contacts) own.insert(own.end(), {c.key.a, c.key.b});
  const std::vector<GlobalId> all = test::all_of(comm, own);
  Pairs pairs;
  for (std::size_t i = 0; i < all.size(); i += 2) pairs.emplace(all[i], all[i + 1]);
  return pairs;
}

/// Links touch the next one where their joint lets them, and all but one the plane.
Pairs expected_contacts() {
  Pairs pairs;
  for (GlobalId i = 0; i < kLinks; ++i) {
    if (i > 0 && chain_joint_collides(i)) pairs.emplace(i - 1, i);
    if (i != kOnPlane) pairs.emplace(i, kPlane);
  }
  return pairs;
}

void expect_all(const Communicator& comm, const Whole& whole, const Scene& scene,
                ContactSearch& search) {
  ContactSet set;
  search.find(scene.bodies, scene.state, kStep, set);
  expect_joints_at_home(comm, whole, scene);
  expect_joint_bodies(comm, whole, scene, set);
  expect_no_idle_ghosts(set);
  expect_halo_both_ways(comm, scene, set);
  EXPECT_EQ(all_contacts(comm, set), expected_contacts());
}

TEST(JointLinks, HoldForRoundRobinOwnersAndAfterAnyMoves) {
  const Communicator comm = Communicator::world();
  const Whole whole = mechanisms();
  Scene scene = share_of(comm, whole);
  ContactSearch search(comm, whole.model);

  migrate_by(comm, scene, [](GlobalId id) { return static_cast<std::uint64_t>(id); });
  expect_all(comm, whole, scene, search);
  for (int round = 0; round < 4; ++round) {
    migrate_by(comm, scene, [round](GlobalId id) { return pick(id, round); });
    expect_all(comm, whole, scene, search);
  }
  migrate_by(comm, scene, [](GlobalId) { return std::uint64_t{0}; });
  expect_all(comm, whole, scene, search);
}

TEST(JointLinks, AreTheSameMadeAnewWithoutMoving) {
  const Communicator comm = Communicator::world();
  const Whole whole = mechanisms();
  Scene scene = share_of(comm, whole);
  migrate_by(comm, scene, [](GlobalId id) { return pick(id, 3); });
  const JointLinks before = scene.bodies.links;

  link_joints(comm, scene.bodies);

  const JointLinks& links = scene.bodies.links;
  EXPECT_EQ(links.body, before.body);
  EXPECT_EQ(links.outside, before.outside);
  EXPECT_EQ(links.offered, before.offered);
  EXPECT_EQ(links.needed, before.needed);
  EXPECT_EQ(links.apart, before.apart);
  EXPECT_TRUE(std::is_sorted(links.needed.begin(), links.needed.end()));
  EXPECT_FALSE(held_apart(links, 1, 2));  // this joint lets them touch
}

TEST(JointLinks, OwnersOfBothBodiesKnowThePairsHeldApart) {
  const Communicator comm = Communicator::world();
  const Whole whole = mechanisms();
  Scene scene = share_of(comm, whole);
  migrate_by(comm, scene, [](GlobalId id) { return pick(id, 8); });

  const auto owner = owners(comm, scene);
  std::set<std::pair<GlobalId, GlobalId>> expected;
  for (const JointConstants& joint : whole.joints) {
    if (joint.collide || joint.body[0] == kNoBody) continue;
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      const auto at = owner.find(joint.body[k]);
      if (at == owner.end() || at->second != comm.rank()) continue;
      expected.insert(std::minmax(joint.body[0], joint.body[1]));
    }
  }
  const auto& apart = scene.bodies.links.apart;
  EXPECT_EQ(apart, std::vector(expected.begin(), expected.end()));
}

TEST(JointLinks, MarkJointedBodiesAndNoOthers) {
  const Communicator comm = Communicator::world();
  const Whole whole = mechanisms();
  Scene scene = share_of(comm, whole);
  migrate_by(comm, scene, [](GlobalId id) { return pick(id, 2); });
  for (const BodyConstants& b : scene.bodies.constants) EXPECT_EQ(b.jointed, b.id != kFree);
}

TEST(JointLinks, StayValidWhereBodiesAreAppended) {
  const Communicator comm = Communicator::world();
  const Whole whole = mechanisms();
  Scene scene = share_of(comm, whole);
  migrate_by(comm, scene, [](GlobalId id) { return pick(id, 1); });
  ContactSearch search(comm, whole.model);
  for (int k = 0; k < 3; ++k) {
    test::append(scene, body(5000 + 10 * comm.rank() + k, 20.0 * k, -100.0 - 10.0 * comm.rank(),
                             ShapeType::sphere));
    scene.state.body.back().pose.p.z() = 10.0;
  }
  expect_all(comm, whole, scene, search);
}

TEST(JointLinks, OnOneRankJointBodiesAreTheLinksThemselves) {
  const Communicator comm = Communicator::self();
  Whole whole;
  add_chain(whole);
  Scene scene = share_of(comm, whole);
  migrate_by(comm, scene, [](GlobalId) { return std::uint64_t{0}; });
  ContactSearch search(comm, whole.model);
  ContactSet set;
  search.find(scene.bodies, scene.state, kStep, set);
  EXPECT_TRUE(scene.bodies.links.outside.empty());
  EXPECT_TRUE(scene.bodies.links.needed.empty());
  EXPECT_TRUE(scene.bodies.links.offered.empty());
  EXPECT_EQ(set.joint_bodies, scene.bodies.links.body);
}

TEST(JointLinks, AJointWithoutADynamicBodyIsRefusedOnEveryRank) {
  const Communicator comm = Communicator::world();
  Whole whole;
  add_chain(whole);
  whole.add(body(kFixed, 40.0, 9.0));
  whole.bodies[kFixed].constants.kind = BodyKind::fixed;
  const GlobalId bad = whole.join(kNoBody, kFixed).id;
  Scene scene = share_of(comm, whole);
  std::string message;
  try {
    migrate_by(comm, scene, [](GlobalId id) { return static_cast<std::uint64_t>(id); });
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("joint " + std::to_string(bad) + " acts on no dynamic body"),
            std::string::npos)
      << message;
}

TEST(StateHash, OfJointsIsTheSameOnAnyRanksAndSeesTheirStates) {
  const Communicator comm = Communicator::world();
  const Communicator self = Communicator::self();
  const Whole whole = mechanisms();
  Scene scene = share_of(comm, whole), serial = share_of(self, whole);
  migrate_by(self, serial, [](GlobalId) { return std::uint64_t{0}; });
  const std::uint64_t hash = state_hash(self, serial.bodies, serial.state);

  EXPECT_EQ(state_hash(comm, scene.bodies, scene.state), hash);
  migrate_by(comm, scene, [](GlobalId id) { return pick(id, 4); });
  EXPECT_EQ(state_hash(comm, scene.bodies, scene.state), hash);

  const std::vector<std::function<void(JointConstants&, JointState&)>> changes{
      [](JointConstants& c, JointState&) { c.id = 77777; },
      [](JointConstants& c, JointState&) { c.axis[1].friction = 1.0; },
      [](JointConstants& c, JointState&) { c.frame[1].p.y() = 1.0; },
      [](JointConstants&, JointState& s) { s.impulse[5] = 1.0; },
      [](JointConstants&, JointState& s) { s.drive[0][1] = 1.0; },
      [](JointConstants&, JointState& s) { s.angle[0] = 1.0; }};
  for (std::size_t k = 0; k < changes.size(); ++k) {
    Scene changed = scene;
    if (!changed.bodies.joints.empty()) {
      changes[k](changed.bodies.joints.back(), changed.state.joints.back());
    }
    EXPECT_NE(state_hash(comm, changed.bodies, changed.state), hash) << k;
  }
}

/// Bodies of `n_chains` parallel chains side by side, which a curve through space goes to and fro
/// between.
Whole parallel_chains(GlobalId n_chains, GlobalId n_links) {
  Whole whole;
  for (GlobalId c = 0; c < n_chains; ++c) {
    for (GlobalId i = 0; i < n_links; ++i) {
      const GlobalId id = i * n_chains + c;
      whole.add(body(id, static_cast<double>(i), 4.0 * static_cast<double>(c)));
      if (i == 0) continue;
      whole.join(id - n_chains, id, c % 2 == 0 ? JointType::spherical : JointType::fixed);
    }
  }
  return whole;
}

/// n x n bodies in a plane, each on spherical joints to the next ones.
Whole square_net(GlobalId n) {
  Whole whole;
  for (GlobalId i = 0; i < n; ++i) {
    for (GlobalId k = 0; k < n; ++k) {
      const GlobalId id = i * n + k;
      whole.add(body(id, static_cast<double>(i), static_cast<double>(k)));
      if (k > 0) whole.join(id - 1, id);
      if (i > 0) whole.join(id - n, id);
    }
  }
  return whole;
}

/// Collective. The plan of a scene without contacts.
PartitionPlan plan_of(const Communicator& comm, const Whole& whole, int n_ranks,
                      const BalanceSettings& settings = {}) {
  Scene scene = share_of(comm, whole);
  migrate_by(comm, scene, [](GlobalId id) { return static_cast<std::uint64_t>(id); });
  ContactSearch search(comm, whole.model);
  ContactSet set;
  search.find(scene.bodies, scene.state, kStep, set);
  return plan_partition(comm, scene.bodies, scene.state, set, n_ranks, settings);
}

/// Bytes over all ranks of a plan besides those of bodies, ghosts and joints, which are linear.
double elimination_of(const PartitionPlan& plan) {
  const double ghosts = plan.n_ranks * plan.halo.mean;
  return plan.n_ranks * plan.memory.mean -
         rank_memory(plan.bodies, std::llround(ghosts), plan.contacts, plan.joints);
}

constexpr int kParts = 4;

/// Collective. Rows of joints between bodies of different parts.
std::int64_t rows_cut(const Communicator& comm, const Whole& whole, const Scene& scene,
                      const std::vector<int>& part) {
  const auto of = test::gather_by_id(comm, scene.bodies, {part.begin(), part.end()});
  std::int64_t cut = 0;
  for (const JointConstants& joint : whole.joints) {
    const bool between = of.at(joint.body[0]) != of.at(joint.body[1]);
    if (between) cut += joint.type == JointType::fixed ? 6 : 3;
  }
  return cut;
}

TEST(PartitionOfJoints, KeepsChainsTogetherWhereTheCurveCutsThem) {
  const Communicator comm = Communicator::world();
  const Whole whole = parallel_chains(8, 100);
  Scene scene = share_of(comm, whole);
  migrate_by(comm, scene, [](GlobalId id) { return pick(id, 6); });
  ContactSearch search(comm, whole.model);
  ContactSet set;
  search.find(scene.bodies, scene.state, kStep, set);
  const auto by_curve = partition_by_curve(comm, scene.bodies, scene.state, kParts);
  const std::int64_t cut_by_curve = rows_cut(comm, whole, scene, by_curve);

  PartitionQuality quality;
  const auto part =
      partition_bodies(comm, scene.bodies, scene.state, set, kParts, BalanceSettings{}, quality);

  EXPECT_EQ(quality.vertices, 800);
  EXPECT_EQ(quality.edges, 8 * 99);
  EXPECT_EQ(quality.edge_cut, rows_cut(comm, whole, scene, part));
  EXPECT_LE(4 * quality.edge_cut, cut_by_curve);
  // work: one a body and the rows of the joints that are at home there
  std::vector<std::int64_t> work(kParts, 0);
  const auto of = test::gather_by_id(comm, scene.bodies, {part.begin(), part.end()});
  for (const auto& [id, p] : of) ++work[static_cast<std::size_t>(p)];
  for (const JointConstants& joint : whole.joints) {
    work[static_cast<std::size_t>(of.at(joint.body[1]))] += joint.type == JointType::fixed ? 6 : 3;
  }
  const double mean = (800.0 + 99 * 4 * (3 + 6)) / kParts;
  const double most = static_cast<double>(*std::max_element(work.begin(), work.end()));
  EXPECT_NEAR(quality.balance.all, most / mean, 1e-12);
  EXPECT_LE(quality.balance.all, 1.1);
}

/// Bodies dealt at random and split by a graph of at most `max_graph` vertices.
struct SplitByCells {
  Scene scene;
  PartitionQuality quality = {};
  std::vector<int> part = {};

  SplitByCells(const Communicator& comm, const Whole& whole, std::int64_t max_graph)
      : scene(share_of(comm, whole)) {
    migrate_by(comm, scene, [](GlobalId id) { return pick(id, 6); });
    ContactSearch search(comm, whole.model);
    ContactSet set;
    search.find(scene.bodies, scene.state, kStep, set);
    BalanceSettings settings;
    settings.max_graph = max_graph;
    part = partition_bodies(comm, scene.bodies, scene.state, set, kParts, settings, quality);
  }
};

TEST(PartitionOfJoints, CountsRowsBetweenCells) {
  const Communicator comm = Communicator::world();
  const Whole whole = parallel_chains(8, 100);

  const SplitByCells split(comm, whole, 400);

  EXPECT_TRUE(split.quality.aggregated);
  EXPECT_EQ(split.quality.vertices, 400);
  EXPECT_GT(split.quality.edges, 0);
  EXPECT_EQ(split.quality.edge_cut, rows_cut(comm, whole, split.scene, split.part));
  EXPECT_LE(split.quality.balance.all, 1.2);
}

TEST(PartitionOfJoints, CellsFollowALongChainThatTheCurvePassesInRuns) {
  const SplitByCells split(Communicator::world(), parallel_chains(1, 1000), 900);

  EXPECT_TRUE(split.quality.aggregated);
  // a joint of three rows between each part and the next
  EXPECT_EQ(split.quality.edge_cut, (kParts - 1) * 3);
}

TEST(PartitionOfJoints, PlanCountsJointsTheirGhostsAndTheirMemory) {
  const Communicator comm = Communicator::world();
  const Whole whole = parallel_chains(1, 60);
  Scene scene = share_of(comm, whole);
  migrate_by(comm, scene, [](GlobalId id) { return static_cast<std::uint64_t>(id); });
  ContactSearch search(comm, whole.model);
  ContactSet set;
  search.find(scene.bodies, scene.state, kStep, set);

  const PartitionPlan plan = plan_partition(comm, scene.bodies, scene.state, set, 3, {});

  EXPECT_EQ(plan.joints, 59);
  EXPECT_NEAR(3 * plan.joints_per_rank.mean, 59.0, 1e-12);
  // each joint that is cut makes one ghost
  EXPECT_NEAR(3 * plan.halo.mean, static_cast<double>(plan.quality.edge_cut) / 3.0, 1e-12);
  EXPECT_GE(plan.halo.max, 1.0);
  EXPECT_GT(rank_memory(60, 1, 0, 59), rank_memory(60, 1, 0) + 59 * 1000.0);
  EXPECT_GE(plan.memory.max, rank_memory(20, 0, 0, 19));
}

TEST(PartitionOfJoints, PlanCountsTheFactorOfANetOnTheRankThatEliminatesIt) {
  const Communicator comm = Communicator::world();
  constexpr GlobalId kSide = 20;
  const Whole net = square_net(kSide);
  JointPlace place;
  place.kind = MechanismKind::looped;
  place.n_joints = std::ssize(net.joints);
  place.n_rows = 3 * place.n_joints;
  const double factor = static_cast<double>(place.n_joints) * partition::factor_memory(place);

  const PartitionPlan plan = plan_of(comm, net, 2);

  const double elimination = elimination_of(plan);
  EXPECT_EQ(plan.joints, 2 * kSide * (kSide - 1));
  EXPECT_GE(elimination, factor);
  EXPECT_LE(elimination, 1.5 * factor);  // slack, and the copies of rows
  // all on one of the ranks, with what it holds besides; shared evenly it would be less
  EXPECT_GE(plan.memory.max, elimination);
  EXPECT_LE(plan.memory.min, rank_memory(plan.bodies, plan.bodies, 0, plan.joints));
}

TEST(PartitionOfJoints, PlanOfANetTakesMoreThanThatOfAChainOfItsJoints) {
  const Communicator comm = Communicator::world();
  const Whole net = square_net(20);
  const Whole chain = parallel_chains(1, std::ssize(net.joints) + 1);
  BalanceSettings by_parts;  // solver.joints.method: direct
  by_parts.chains_in_order = false;

  const PartitionPlan of_net = plan_of(comm, net, 2);
  const PartitionPlan of_chain = plan_of(comm, chain, 2);
  const PartitionPlan of_parts = plan_of(comm, chain, 2, by_parts);

  EXPECT_EQ(of_chain.joints, of_net.joints);
  EXPECT_GT(of_net.memory.max, of_chain.memory.max);
  // rank_memory has the factors of a chain; the sum over ranks rounds
  EXPECT_NEAR(elimination_of(of_chain), 0.0, 1e-9 * of_chain.memory.max);
  EXPECT_GT(elimination_of(of_parts), 0.0);
  EXPECT_LT(elimination_of(of_parts), elimination_of(of_net));
}

TEST(PartitionOfJoints, FactorsOfNetsAndTreesTakeWhatWasMeasured) {
  JointPlace place;
  place.n_joints = 1000;
  place.n_rows = 3000;
  place.n_bodies = 1000;
  // eliminated by parts, as with `method: direct`, a chain is a tree
  for (const MechanismKind kind : {MechanismKind::chain, MechanismKind::tree}) {
    place.kind = kind;
    EXPECT_EQ(partition::factor_memory(place), 8.0 * (3 * 18 + 9 + 36 + 6));
  }
  // fronts of a net of 300 x 300 knots and rods: 0.9 kB a knot (docs/design/0016)
  place.kind = MechanismKind::looped;
  place.n_rows = place.n_joints = 2 * 300 * 299;
  EXPECT_NEAR(partition::factor_memory(place), 450.0, 120.0);
  // a joint that closes a loop through the world has a front of its row
  place.n_rows = place.n_joints = 1;
  place.n_bodies = 0;
  EXPECT_EQ(partition::factor_memory(place), 8.0 * 4.0);
}

TEST(PartitionOfJoints, FactorsOfRingsTakeWhatAPathDoes) {
  JointPlace place;
  place.kind = MechanismKind::ring;
  place.n_joints = place.n_bodies = 30000;
  place.n_rows = 3 * place.n_joints;
  // of a joint G at both bodies, X, Z and L; of a body W and velocities
  const double path = 8.0 * (4 * 3 * 6 + 3 * 3 + 36 + 6);
  EXPECT_EQ(partition::factor_memory(place), path);
  // a hundred loops leave at most 300 joints to fronts, a hundredth
  place.kind = MechanismKind::looped;
  place.n_bodies -= 100;
  const double front = 8.0 * 4 * 9 * std::log2(301.0);
  EXPECT_NEAR(partition::factor_memory(place), 0.99 * path + 0.01 * front, 1e-9 * path);
}

/// A chain of the bodies `first` .. `first + n - 1`, or a ring. Every third joint points back, so
/// that owners of some bodies hold both of their joints, and of others none.
void add_line(Whole& whole, GlobalId first, GlobalId n, bool closed) {
  for (GlobalId i = 0; i < n; ++i)
    whole.add(body(first + i, std::cos(0.3 * static_cast<double>(i)), static_cast<double>(first)));
  for (GlobalId i = 0; i + (closed ? 0 : 1) < n; ++i) {
    const GlobalId a = first + i, b = first + (i + 1) % n;
    if (i % 3 != 1)
      whole.join(a, b);
    else
      whole.join(b, a);
  }
}

TEST(PartitionOfJoints, PlacesInAChainAreTheSameWhoeverHoldsItsJoints) {
  const Communicator comm = Communicator::world();
  constexpr GlobalId kLong = 600, kRing = 1000;
  Whole whole;
  add_line(whole, 0, kLong, false);
  add_line(whole, kRing, kLong, true);
  whole.add(body(kFree, 0.0, 0.0));

  for (int round = 10; round < 13; ++round) {
    Scene scene = share_of(comm, whole);
    migrate_by(comm, scene, [&](GlobalId id) { return pick(id, round); });
    ContactSearch search(comm, whole.model);
    ContactSet set;
    search.find(scene.bodies, scene.state, kStep, set);
    const partition::JointWork joints(comm, scene.bodies, set, {});
    std::vector<partition::CurvePlace> places(scene.bodies.constants.size(), {1, 2});
    joints.follow_chains(comm, set, places);

    for (std::size_t i = 0; i < places.size(); ++i) {
      const GlobalId id = scene.bodies.constants[i].id;
      if (id == kFree) {
        EXPECT_EQ(places[i], (partition::CurvePlace{1, 2}));
        continue;
      }
      const bool in_ring = id >= kRing;
      // behind all places along the curve, which have 63 bits; by the mechanism's smallest key
      const GlobalId component = in_ring ? kLong - 1 : 0;
      EXPECT_EQ(places[i].key, (std::uint64_t{1} << 63U) + static_cast<std::uint64_t>(component));
      // the ring's joint with the smallest key begins it, and its first body closes it
      const GlobalId at = in_ring ? (id == kRing ? kLong : id - kRing) : id;
      EXPECT_EQ(places[i].id, static_cast<std::uint64_t>(at)) << id;
    }
  }
}

}  // namespace
}  // namespace catena
