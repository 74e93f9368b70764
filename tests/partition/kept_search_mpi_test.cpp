// What a search takes over from the steps before changes no contact.
#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "partition/contact_search_scenes.hpp"
#include "search/wide_boxes.hpp"

namespace catena::test {
namespace {

using Use = search::WideBoxes::Use;

/// One sphere of radius 1 m on each rank, at rest, as probes of a step of 1 ms.
struct Spheres {
  Spheres() { model.gravity.setZero(); }

  /// How a step with the last rank's sphere at x = `last` is searched; with `ghost` rank 0 has the
  /// one of another rank, too.
  Use step_with(double last, GlobalId first_id = 0, bool ghost = false) {
    const bool is_last = comm.rank() == comm.size() - 1;
    const BodyRecord sphere = body(first_id + comm.rank(), sphere_shape(1.0),
                                   {is_last ? last : 0.0, 0.0, 10.0 * comm.rank()});
    probes.clear(state, 1e-3);
    probes.add_swept(sphere.constants, sphere.state.pose, {}, 0);
    probes.end_owned();
    wide.choose(comm, probes);
    if (ghost && comm.rank() == 0)
      probes.add_swept(body(1000, sphere_shape(1.0), {}).constants, {}, {}, 0);
    wide.complete(probes);
    return wide.use();
  }

  Communicator comm = Communicator::world();
  Model model;
  State state;
  search::Probes probes{model};
  search::WideBoxes wide;
};

TEST(WideBoxes, HoldUntilABodyOfAnyRankLeavesIts) {
  Spheres spheres;

  // 5 % of the half width at each side: one search alone makes none
  for (const auto& [x, use] : {std::pair(0.0, Use::own),
                               {0.0, Use::made},
                               {0.04, Use::kept},
                               {-0.04, Use::kept},
                               {0.0, Use::kept},
                               {0.06, Use::made},
                               {0.02, Use::kept},
                               {0.0, Use::own}})
    EXPECT_EQ(spheres.step_with(x), use) << x;
}

TEST(WideBoxes, DoNotHoldForAnotherBodyInTheSamePlace) {
  Spheres spheres;
  for (int i = 0; i < 5; ++i) spheres.step_with(0.0);

  EXPECT_EQ(spheres.step_with(0.0), Use::kept);
  EXPECT_EQ(spheres.step_with(0.0, 10), Use::made);
  EXPECT_EQ(spheres.step_with(0.0, 10), Use::kept);
}

TEST(WideBoxes, AreNotMadeForAWhileWhereTheyDoNotHold) {
  Spheres spheres;
  int made = 0;
  for (int i = 0; i < 200; ++i) made += spheres.step_with(i) == Use::made ? 1 : 0;

  // after 4, 8, 16, 32, then 64 steps
  EXPECT_GE(made, 4);
  EXPECT_LE(made, 7);
}

TEST(WideBoxes, RanksWaitAsLongWhereOneHasOtherGhosts) {
  Spheres spheres;
  spheres.step_with(0.0);
  // a list that does not last doubles the next wait
  for (const double x : {0.0, 10.0}) spheres.step_with(x);
  while (spheres.step_with(0.0) != Use::made) {
  }
  // one that lasts makes it short again, on the rank, too, which has another body to search with
  for (int i = 0; i < 4; ++i) {
    const bool other = i > 0 && spheres.comm.rank() == 0;
    EXPECT_EQ(spheres.step_with(0.0, 0, i > 0), other ? Use::own : Use::kept);
  }
  for (const double x : {10.0, 20.0}) spheres.step_with(x);
  std::int64_t waited = 0;
  while (spheres.step_with(20.0) == Use::own) ++waited;

  EXPECT_EQ(spheres.comm.min(waited), spheres.comm.max(waited));
  EXPECT_LE(waited, 4);
}

/// A packing, boxes that turn among it, and one fast sphere.
BodyRecords moving_scene() {
  BodyRecords scene = lattice(5, 10);
  for (int i = 0; i < 6; ++i) {
    scene.push_back(body(200 + i, box_shape({0.3, 0.4, 0.5}), {0.8 * i, 0.5 * i, 5.2 + 0.3 * i}));
    scene.back().state.twist.w = {1.0, -2.0, 0.5};
  }
  scene.push_back(body(3, sphere_shape(0.2), {-3.0, 2.2, 2.7}));
  scene.back().state.twist.v = {6.0, 0.1, 0.0};
  return scene;
}

void advance(State& state) {
  state.time += kStep;
  for (BodyMotionState& body : state.body) body.pose.p += kStep * body.twist.v;
}

/// Contacts of each of 60 steps by one search, against those of a new search in each step. `change`
/// is called after each step. Of all ranks, the bodies with the larger ids of contacts.
template <class Change>
std::set<GlobalId> expect_same_as_new_searches(const Model& model, const Change& change) {
  const Communicator comm = Communicator::world();
  Bodies bodies;
  State state;
  take_share(moving_scene(), stripes(5), comm.rank(), bodies, state);
  state.plane_motions = plane_motions(model);
  ContactSearch search(comm, model);
  search::Probes probes(model);
  search::WideBoxes wide;
  std::vector<GlobalId> touched;
  int kept = 0;  // steps of a search that keeps its lists, with this rank's own bodies alone
  for (int step = 0; step < 60; ++step) {
    probes.clear(state, kStep);
    for (std::size_t i = 0; i < bodies.constants.size(); ++i)
      probes.add_swept(bodies.constants[i], state.body[i].pose, state.body[i].twist, to_index(i));
    probes.end_owned();
    wide.choose(comm, probes);
    wide.complete(probes);
    kept += wide.use() == Use::kept ? 1 : 0;
    ContactSet set, anew;
    search.find(bodies, state, kStep, set);
    ContactSearch(comm, model).find(bodies, state, kStep, anew);

    EXPECT_TRUE(std::equal(set.contacts.begin(), set.contacts.end(), anew.contacts.begin(),
                           anew.contacts.end(),
                           [](const Contact& x, const Contact& y) {
                             return x.key == y.key && x.point == y.point && x.normal == y.normal &&
                                    x.gap == y.gap && x.body_a == y.body_a && x.body_b == y.body_b;
                           }))
        << "step " << step;
    EXPECT_EQ(set.bodies.n_ghost, anew.bodies.n_ghost);
    expect_consistent(set, bodies, model);
    expect_plan_reaches_ghosts(comm, set);
    EXPECT_GT(comm.sum(static_cast<std::int64_t>(set.contacts.size())), 100);
    for (const Contact& c : set.contacts) touched.push_back(c.key.b);
    advance(state);
    change(step, bodies, state);
  }
  // else new searches are compared with new searches
  EXPECT_GT(kept, 20);
  const std::vector<GlobalId> all = all_of(comm, touched);
  return {all.begin(), all.end()};
}

TEST(SearchOverSteps, FindsTheContactsOfANewSearchInEachStep) {
  for (const double margin : {1e-3, kNotGiven}) {
    Model model = model_with_floor(5);
    model.contact.margin = margin;

    expect_same_as_new_searches(model, [](int step, Bodies& bodies, State& state) {
      // bodies jump, some of them to other bodies' places, so that they lie within wide boxes
      for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
        const GlobalId id = bodies.constants[i].id;
        if (step == 15 && id % 40 == 0) state.body[i].pose.p.x() += 1.3;
        if (step == 40 && id % 30 == 0) state.body[i].pose.p.z() += 0.01;
      }
      if (step == 30 && bodies.constants.size() > 5) {
        std::swap(bodies.constants[1], bodies.constants[4]);
        std::swap(state.body[1], state.body[4]);
        std::swap(bodies.constants[2].id, bodies.constants[3].id);
      }
    });
  }
}

TEST(SearchOverSteps, PlanesThatMoveMeetAllBodiesOnTheirWay) {
  // one all the time, one that turns, and one that goes on by 0.15 m in every fourth step
  Model model = model_with_floor(5);
  const auto add_plane = [&](GlobalId id, const Vec3& p, const Vec3& up, const Motion& motion) {
    BodyRecord plane = body(id, {ShapeType::plane, Vec3::Zero()}, p);
    plane.state.pose.q = Quat::FromTwoVectors(Vec3::UnitZ(), up);
    plane.constants.kind = BodyKind::kinematic;
    plane.constants.motion = static_cast<std::int32_t>(model.motions.size());
    model.motions.push_back(motion);
    model.unbounded.push_back(plane);
  };
  const Vec3 aslant = Vec3(-1.0, -0.4, -0.2).normalized();  // some body is in its way in every step
  add_plane(1000, {5.0, 5.0, 5.0}, aslant, {.velocity = 40.0 * aslant});
  add_plane(1001, {0.0, -1.2, 2.5}, Vec3::UnitY(), {.angular_velocity = {4.0, 0.0, 0.0}});
  add_plane(1002, {0.0, 5.0, 0.0}, -Vec3::UnitY(), {});

  const auto met = expect_same_as_new_searches(model, [&](int step, Bodies&, State& state) {
    if (step < 20 || step > 40 || step % 4 > 1) return;
    const Vec3 velocity(0.0, step % 4 == 0 ? -75.0 : 0.0, 0.0);
    set_velocity(model.motions[2], velocity, Vec3::Zero(), state.time,
                 state.plane_motions[2].start);
  });

  for (const GlobalId plane : {1000, 1001, 1002}) EXPECT_TRUE(met.contains(plane)) << plane;
}

}  // namespace
}  // namespace catena::test
