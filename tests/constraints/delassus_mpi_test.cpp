// The operator on any number of ranks is that of the whole scene on one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "catena/constraints/delassus.hpp"
#include "support/assembled.hpp"
#include "support/hand_problems.hpp"

namespace catena {
namespace {

double size_of(const std::vector<double>& x) {
  double sum = 0.0;
  for (const double e : x) sum += e * e;
  return std::sqrt(sum);
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  const double tolerance = 1e-14 * size_of(b);
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    EXPECT_NEAR(a[i], b[i], tolerance) << "entry " << i;
}

void compare_with_one_rank(const test::Scene& scene, const test::Owner& owner) {
  const Communicator comm = Communicator::world();
  const test::LocalScene local = test::distribute(scene, comm, owner);
  const ConstraintProblem one = test::whole(scene);
  const std::vector<double> x = test::wave(scene.n_rows());
  const std::vector<double> mine = test::local_rows(local, x);
  DelassusOperator op(local.problem), op_one(one);

  std::vector<double> v(static_cast<std::size_t>(local.problem.bodies.n_dofs()));
  std::vector<double> w(mine.size()), r(mine.size()), y(mine.size());
  op.velocities(mine, v);
  op.residual_velocities(v, mine, w);
  op.free_residual(r);
  op.apply(mine, y);
  std::vector<double> v1(static_cast<std::size_t>(scene.n_dofs())), w1(x.size()), r1(x.size()),
      y1(x.size());
  op_one.velocities(x, v1);
  op_one.residual_velocities(v1, x, w1);
  op_one.free_residual(r1);
  op_one.apply(x, y1);

  expect_near(test::gather_velocities(local, v), v1);
  expect_near(test::gather_rows(local, w), w1);
  expect_near(test::gather_rows(local, r), r1);
  expect_near(test::gather_rows(local, y), y1);
  // ghosts hold their owners' velocities
  std::vector<double> here, there;
  for (std::size_t i = 0; i < v.size(); ++i) {
    here.push_back(v[i]);
    there.push_back(v1[static_cast<std::size_t>(local.dof[i])]);
  }
  expect_near(here, there);
}

TEST(DistributedDelassus, OfSpheresEqualsOneRank) {
  const Communicator comm = Communicator::world();
  const test::Scene scene = test::sphere_pile(20, 40, 0.5, 0.01, 3);
  compare_with_one_rank(scene, test::deal(comm));
  compare_with_one_rank(scene, test::slabs(comm, scene));
}

TEST(DistributedDelassus, OfBodiesWith3And6And9VelocitiesEqualsOneRank) {
  const Communicator comm = Communicator::world();
  const test::Scene scene = test::mixed_ring(13, 4);
  compare_with_one_rank(scene, test::deal(comm));
  compare_with_one_rank(scene, test::slabs(comm, scene));
}

TEST(DistributedDelassus, AllowsRanksWithoutBodies) {
  const Communicator comm = Communicator::world();
  compare_with_one_rank(test::mixed_ring(9, 5), [](GlobalId) { return 0; });
  compare_with_one_rank(test::box_stack(5, 0.5, 0.01),
                        [&](GlobalId b) { return b < 3 ? comm.size() - 1 : 0; });
}

TEST(DistributedDelassus, AddsForcesOfManyRanksOnOneBodyInRankOrder) {
  // a hub: every rank holds contacts of body 1, whose ghosts' forces come back to one owner
  test::Scene scene;
  scene.add_prescribed();
  scene.add_rigid(50.0, Vec3::Constant(5.0), {Vec3(0, 0, -0.1), Vec3::Zero()});
  for (int i = 2; i < 30; ++i) {
    scene.add_rigid(0.1 * i, Vec3::Constant(0.01), {Vec3(0, 0.1 * i, 0), Vec3(1, 0, i)});
    scene.add_contact(1, i, Vec3(std::sin(i), std::cos(i), 0), Vec3(0.1 * i, 0, 0),
                      Vec3(0, 0.1, 0.2), 0.1, 0.3);
  }
  const Communicator comm = Communicator::world();
  // the contacts lie on the rank of body 1; these blocks, which name it second, on all ranks
  for (std::size_t k = 0; k < scene.contacts.size(); ++k) {
    test::SceneBlock block;
    block.kind = BlockKind::unilateral;
    block.bodies = {static_cast<GlobalId>(k) + 2, 1};
    block.jacobians = {{1, 2, 3, 4, 5, 6}, {-1, 0.5, 2, 1, -3, 0.1 * static_cast<double>(k)}};
    block.q = {0.2};
    scene.blocks.push_back(block);
  }
  compare_with_one_rank(scene, test::deal(comm));

  const test::LocalScene local = test::distribute(scene, comm, test::deal(comm));
  const std::vector<double> mine = test::local_rows(local, test::wave(scene.n_rows()));
  std::vector<double> first(static_cast<std::size_t>(local.problem.bodies.n_dofs()));
  std::vector<double> again(first.size());
  DelassusOperator op(local.problem);
  op.velocities(mine, first);
  op.velocities(mine, again);
  EXPECT_EQ(first, again);
}

/// Velocities of a scene, gathered, from its distribution over all ranks.
std::vector<double> gathered_velocities(const test::Scene& scene, const test::Owner& owner,
                                        const std::vector<double>& x, bool ordered) {
  test::LocalScene local = test::distribute(scene, Communicator::world(), owner);
  local.problem.ordered = ordered;
  std::vector<double> v(static_cast<std::size_t>(local.problem.bodies.n_dofs()));
  DelassusOperator(local.problem).velocities(test::local_rows(local, x), v);
  return test::gather_velocities(local, v);
}

TEST(DistributedDelassus, OfOrderedProblemsIsThatOfOneRankToTheLastBit) {
  const Communicator comm = Communicator::world();
  test::Scene scene = test::sphere_pile(20, 40, 0.5, 0.01, 3);
  std::sort(scene.contacts.begin(), scene.contacts.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  // joints and the like: many blocks on body 1, which names each of them second
  for (GlobalId b = 2; b < 18; ++b) {
    test::SceneBlock block;
    block.kind = BlockKind::unilateral;
    block.bodies = {b, 1};
    const double x = 0.1 * static_cast<double>(b);
    block.jacobians = {{1, 2, 3, 4, 5, 6, 3, 1, x, 2, 1, 1},
                       {-1, 0.5, 2, 1, -3, x, x, x, 1, 0, 0, 7}};
    block.q = {0.2, 0.1};
    scene.blocks.push_back(block);
  }
  const std::vector<double> x = test::wave(scene.n_rows());
  ConstraintProblem one = test::whole(scene);
  one.ordered = true;
  std::vector<double> expected(static_cast<std::size_t>(scene.n_dofs()));
  DelassusOperator(one).velocities(x, expected);

  EXPECT_EQ(gathered_velocities(scene, test::deal(comm), x, true), expected);
  EXPECT_EQ(gathered_velocities(scene, test::slabs(comm, scene), x, true), expected);

  // sums by rank are others, or this would say nothing
  if (comm.size() > 2) {
    EXPECT_NE(gathered_velocities(scene, test::deal(comm), x, false), expected);
  }
}

/// Rows of N dealt to ranks in contiguous ranges of contacts, as the FCLIB reader does.
ConstraintProblem deal_operator(const ConstraintProblem& one, const Communicator& comm) {
  const AssembledOperator& all = *one.assembled;
  const Index n = all.n_rows() / 3;
  const auto first_of = [&](int rank) { return static_cast<Index>(rank * n / comm.size()); };
  const Index first = first_of(comm.rank());
  const Index count = first_of(comm.rank() + 1) - first;
  ConstraintProblem out(comm);
  out.law = one.law;
  AssembledOperator& op = out.assembled.emplace();
  op.n_halo_rows = 3 * (n - count);
  // every other block is halo, in ascending order; N is treated as full
  const auto local_block = [&](Index block) {
    if (block >= first && block < first + count) return block - first;
    return block < first ? count + block : block;
  };
  for (Index row = 3 * first; row < 3 * (first + count); ++row) {
    for (std::int64_t j = all.row_begin[static_cast<std::size_t>(row)];
         j < all.row_begin[static_cast<std::size_t>(row) + 1]; ++j) {
      const Index c = all.column[static_cast<std::size_t>(j)];
      op.column.push_back(3 * local_block(c / 3) + c % 3);
      op.value.push_back(all.value[static_cast<std::size_t>(j)]);
    }
    op.row_begin.push_back(static_cast<std::int64_t>(op.value.size()));
    op.r.push_back(all.r[static_cast<std::size_t>(row)]);
  }
  for (Index k = first; k < first + count; ++k) {
    op.friction.push_back(all.friction[static_cast<std::size_t>(k)]);
    op.name.push_back(k);
  }
  for (int other = 0; other < comm.size(); ++other) {
    if (other == comm.rank()) continue;
    HaloPlan::Neighbour neighbour{other, {}, {}};
    for (Index k = 0; k < count; ++k) neighbour.send.push_back(k);
    for (Index k = first_of(other); k < first_of(other + 1); ++k)
      neighbour.receive.push_back(local_block(k));
    op.halo.neighbours.push_back(neighbour);
  }
  return out;
}

TEST(DistributedAssembledOperator, EqualsOneRank) {
  const Communicator comm = Communicator::world();
  const ConstraintProblem one =
      test::assembled_problem(test::whole(test::sphere_pile(10, 17, 0.5, 0.01, 6)));
  const ConstraintProblem part = deal_operator(one, comm);
  check_problem(part);
  const std::vector<double> x = test::wave(one.n_rows());
  std::vector<double> w1(x.size());
  DelassusOperator(one).residual_velocities({}, x, w1);
  const Index first = 3 * static_cast<Index>(comm.rank() * (one.n_rows() / 3) / comm.size());
  const std::vector<double> mine(x.begin() + first, x.begin() + first + part.n_rows());
  std::vector<double> w(mine.size());

  DelassusOperator(part).residual_velocities({}, mine, w);

  for (std::size_t i = 0; i < w.size(); ++i)
    EXPECT_NEAR(w[i], w1[static_cast<std::size_t>(first) + i], 1e-13);
}

}  // namespace
}  // namespace catena
