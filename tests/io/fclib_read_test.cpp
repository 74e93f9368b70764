// Reading FCLIB problems: the operator read equals numpy's, on any number of ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/io/fclib.hpp"
#include "io/fclib/file.hpp"

namespace catena {
namespace {

const std::string kData = std::string(CATENA_TEST_DATA) + "/fclib/";

/// w of every problem for lambda_i = sin(i + 1), made by tests/data/fclib/make_reference.py.
std::map<std::string, std::vector<double>> read_reference() {
  std::ifstream in(kData + "reference_w.txt");
  std::map<std::string, std::vector<double>> all;
  std::string name;
  std::size_t n = 0;
  while (in >> name >> n) {
    std::vector<double>& w = all[name];
    w.resize(n);
    for (double& x : w) in >> x;
  }
  return all;
}

/// First file row of a block of a problem read from a file.
std::int64_t file_row(const ConstraintProblem& problem, Index block) {
  const auto k = static_cast<std::size_t>(block);
  return 3 * (problem.assembled ? problem.assembled->name[k] : problem.blocks.name[k]);
}

TEST(ReadFclib, OperatorEqualsNumpysOnEveryPublicProblem) {
  const Communicator comm = Communicator::world();
  const auto reference = read_reference();
  EXPECT_EQ(reference.size(), 34u);
  for (const auto& [name, expected] : reference) {
    FclibInfo info;
    const ConstraintProblem problem = read_fclib(comm, kData + name, info);
    check_problem(problem);
    EXPECT_EQ(3 * info.n_contacts, static_cast<std::int64_t>(expected.size())) << name;
    EXPECT_EQ(comm.sum(std::int64_t{problem.n_blocks()}), info.n_contacts) << name;

    std::vector<double> lambda(static_cast<std::size_t>(problem.n_rows()));
    for (Index k = 0; k < problem.n_blocks(); ++k)
      for (Index i = 0; i < 3; ++i)
        lambda[static_cast<std::size_t>(3 * k + i)] =
            std::sin(static_cast<double>(file_row(problem, k) + i) + 1.0);
    DelassusOperator op(problem);
    std::vector<double> v(static_cast<std::size_t>(problem.bodies.n_dofs()));
    std::vector<double> w(lambda.size());
    op.velocities(lambda, v);
    op.residual_velocities(v, lambda, w);

    double scale = 0.0;
    for (const double x : expected) scale = std::max(scale, std::abs(x));
    // CubeH8's finite-element mass has condition 1e7; the others are well conditioned.
    const double tolerance = (name == "CubeH8.hdf5" ? 1e-9 : 1e-12) * scale;
    for (Index k = 0; k < problem.n_blocks(); ++k)
      for (Index i = 0; i < 3; ++i)
        EXPECT_NEAR(w[static_cast<std::size_t>(3 * k + i)],
                    expected[static_cast<std::size_t>(file_row(problem, k) + i)], tolerance)
            << name << " contact " << file_row(problem, k) / 3 << " row " << i;
  }
}

TEST(ReadFclib, BodiesAreSixVelocitiesOrConnectedBlocksOfMass) {
  const Communicator comm = Communicator::world();
  FclibInfo info;

  const ConstraintProblem spheres = read_fclib(comm, kData + "s512.hdf5", info);
  EXPECT_EQ(info.n_bodies, 512);
  EXPECT_EQ(info.n_velocities, 3072);
  EXPECT_EQ(comm.sum(std::int64_t{spheres.bodies.n_owned}), 512);

  const ConstraintProblem rods = read_fclib(comm, kData + "GFC3D_TwoRods1.hdf5", info);
  EXPECT_EQ(info.n_bodies, 2);
  EXPECT_EQ(comm.sum(static_cast<std::int64_t>(rods.bodies.file_velocity.size())), 54);
}

TEST(ReadFclib, GuessIsReadInTheProblemsOrderAndZerosWithoutOne) {
  const Communicator comm = Communicator::world();
  FclibInfo info;
  const ConstraintProblem none = read_fclib(comm, kData + "s512.hdf5", info);
  for (const double x : read_fclib_guess(kData + "s512.hdf5", none)) EXPECT_EQ(x, 0.0);
}

TEST(ReadFclib, DuplicateTripletsAddUpAndColumnsAscend) {
  Triplets t;
  t.n_rows = 2;
  t.n_columns = 3;
  t.add(1, 2, 1.0);
  t.add(0, 1, 5.0);
  t.add(1, 0, 2.0);
  t.add(1, 2, 0.5);

  const SparseRows rows = to_rows(t, false);
  const SparseRows columns = to_rows(t, true);

  EXPECT_EQ(rows.row_begin, (std::vector<std::int64_t>{0, 1, 3}));
  EXPECT_EQ(rows.column, (std::vector<Index>{1, 0, 2}));
  EXPECT_EQ(rows.value, (std::vector<double>{5.0, 2.0, 1.5}));
  EXPECT_EQ(columns.row_begin, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(columns.value, (std::vector<double>{2.0, 5.0, 1.5}));
}

}  // namespace
}  // namespace catena
