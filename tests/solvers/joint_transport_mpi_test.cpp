// Joints' numbers and rows on their way to the ranks that eliminate them, without any factor.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "solvers/joints/joint_transport.hpp"
#include "support/scene.hpp"

namespace catena {
namespace {

using test::LocalScene;
using test::Owner;
using test::Scene;
using test::SceneBlock;

/// What body b has on its diagonal, and joint `name` in its row and column at its j-th body.
double mass_number(GlobalId b) { return 2.0 + static_cast<double>(b); }
double jacobian_number(std::int64_t name, int j, Index place) {
  return static_cast<double>(1000 * name + 100 * j + place);
}
double row_number(std::int64_t name, int row) { return static_cast<double>(10 * name + row + 1); }

/// Joints of `rows` rows between bodies; joint i has name i.
SceneBlock joint(const Scene& scene, std::vector<GlobalId> bodies, int rows) {
  const std::int64_t name = std::ssize(scene.blocks);
  SceneBlock block;
  block.bodies = std::move(bodies);
  for (int j = 0; j < std::ssize(block.bodies); ++j) {
    const Index dofs = to_index(scene.bodies[block.bodies[j]].free_velocity.size());
    std::vector<double> g;
    for (Index d = 0; d < rows * dofs; ++d) g.push_back(jacobian_number(name, j, d));
    block.jacobians.push_back(g);
  }
  block.q.assign(rows, 0.0);
  for (int r = 0; r < rows; ++r) block.compliance.push_back(row_number(name, r));
  return block;
}

/// A chain of eight bodies, a ring of four, and one of a rigid and a deforming body whose joint has
/// seven rows.
Scene mechanisms(bool wide) {
  Scene scene;
  for (GlobalId b = 0; b < 12; ++b)
    scene.add_rigid_full(mass_number(b), mass_number(b) * Mat3::Identity(), {});
  for (GlobalId b = 0; b < 7; ++b)
    scene.blocks.push_back(joint(scene, {b, b + 1}, b % 2 == 0 ? 3 : 5));
  for (GlobalId b = 0; b < 4; ++b)
    scene.blocks.push_back(joint(scene, {8 + b, 8 + (b + 1) % 4}, 3));
  if (wide) {
    std::vector<double> mass(64, 0.0);
    for (std::size_t d = 0; d < 8; ++d) mass[9 * d] = mass_number(12);
    scene.add_dense(mass, std::vector<double>(8, 0.0));
    scene.blocks.push_back(joint(scene, {12, 0}, 7));
  }
  return scene;
}

class JointTransportMpi : public testing::Test {
 protected:
  Communicator comm_ = Communicator::world();
  /// By turns; all in two blocks; all bodies, or all but one, on one rank: the others are empty.
  std::vector<Owner> owners(const Scene& scene) const {
    const int last = comm_.size() - 1;
    return {test::deal(comm_), test::slabs(comm_, scene), [](GlobalId) { return 0; },
            [last](GlobalId b) { return b == 9 ? 0 : last; }};
  }

  struct LaidOut {
    bool wide;
    Scene scene;
    LocalScene local;
    std::vector<HeldJoint> held;
    JointLayout layout;
  };
  /// Calls visit(LaidOut) for blocks of six rows at most and for wide ones, over all owners.
  template <class Visit>
  void for_each_layout(const Visit& visit) const {
    for (const bool wide : {false, true}) {
      const Scene scene = mechanisms(wide);
      for (const Owner& owner : owners(scene)) {
        const LocalScene local = distribute(scene, comm_, owner);
        std::vector<HeldJoint> held;
        find_held_joints(local.problem, held);
        visit(LaidOut{wide, scene, local, held,
                      lay_out_joints(local.problem, held, JointSolverSettings{})});
      }
    }
  }
};

TEST_F(JointTransportMpi, EveryJointIsAssignedToOneRankWithItsRows) {
  for_each_layout([&](const LaidOut& at) {
    std::int64_t names = 0;
    std::size_t rows = 0;
    for (const AssignedJoint& joint : at.layout.assigned) {
      names += std::int64_t{1} << joint.name;
      EXPECT_EQ(joint.first_row, rows);
      rows += joint.rows;
    }
    // each name once over all ranks
    EXPECT_EQ(comm_.sum(names), (std::int64_t{1} << at.scene.blocks.size()) - 1);
    EXPECT_EQ(at.layout.n_assigned_rows, rows);
    EXPECT_EQ(at.layout.width, at.wide ? 7 : 6);
    EXPECT_EQ(at.layout.held_row.size(), at.held.size());
  });
}

TEST_F(JointTransportMpi, NumbersArriveWhereJointsAreEliminated) {
  for_each_layout([&](const LaidOut& at) {
    JointTransport transport(comm_, at.layout);

    transport.send_numbers(at.local.problem, at.held);

    for (std::size_t i = 0; i < at.layout.assigned.size(); ++i) {
      const AssignedJoint& joint = at.layout.assigned[i];
      const JointNumbers numbers = transport.numbers(i);
      for (int r = 0; r < joint.rows; ++r)
        EXPECT_EQ(numbers.compliance[r], row_number(joint.name, r));
      for (int j = 0; j < joint.bodies; ++j) {
        for (Index d = 0; d < joint.rows * joint.dofs[j]; ++d)
          EXPECT_EQ(numbers.jacobian[j][d], jacobian_number(joint.name, j, d));
        EXPECT_EQ(*numbers.inverse_mass[j], mass_number(joint.body[j]));
      }
    }
  });
}

TEST_F(JointTransportMpi, RowsComeAndGoBack) {
  for_each_layout([&](const LaidOut& at) {
    JointTransport transport(comm_, at.layout);
    std::vector<double> rows(at.layout.n_rows, -1.0);
    for (std::size_t i = 0; i < at.held.size(); ++i)
      for (int r = 0; r < at.held[i].rows; ++r)
        rows[at.layout.held_row[i] + r] = row_number(at.held[i].name, r);

    transport.bring(rows);

    for (const AssignedJoint& joint : at.layout.assigned)
      for (int r = 0; r < joint.rows; ++r) {
        double& x = rows[joint.first_row + r];
        EXPECT_EQ(x, row_number(joint.name, r));
        x *= 2.0;
      }

    transport.take_back(rows);

    for (std::size_t i = 0; i < at.held.size(); ++i)
      for (int r = 0; r < at.held[i].rows; ++r)
        EXPECT_EQ(rows[at.layout.held_row[i] + r], 2.0 * row_number(at.held[i].name, r));
  });
}

TEST_F(JointTransportMpi, AMechanismStandsOnOneRank) {
  for_each_layout([&](const LaidOut& at) {
    // the ring's joints are 7 to 10
    const auto ring = std::count_if(at.layout.assigned.begin(), at.layout.assigned.end(),
                                    [](const auto& j) { return j.name >= 7 && j.name < 11; });
    EXPECT_TRUE(ring == 0 || ring == 4) << ring;
  });
}

}  // namespace
}  // namespace catena
