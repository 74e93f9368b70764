// Problems written as FCLIB global files: the same file from any number of ranks, the same
// operator when read back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/io/fclib.hpp"
#include "io/hdf5/file.hpp"
#include "support/hand_problems.hpp"
#include "support/scene.hpp"

namespace catena {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Rows of a scene in the order in which the file has them: contacts (rigid by key, general,
/// then unilateral rows, one contact each), rows of G, boxed rows.
struct FileRows {
  std::vector<std::vector<Index>> contacts;
  std::vector<Index> bilateral, boxed;
};

FileRows file_rows(const test::Scene& scene) {
  FileRows out;
  std::vector<std::size_t> order(scene.contacts.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return scene.contacts[a].key < scene.contacts[b].key;
  });
  for (const std::size_t k : order) {
    const auto row = static_cast<Index>(3 * k);
    out.contacts.push_back({row, row + 1, row + 2});
  }
  for (const BlockKind kind :
       {BlockKind::contact, BlockKind::unilateral, BlockKind::bilateral, BlockKind::boxed}) {
    auto row = static_cast<Index>(3 * scene.contacts.size());
    for (const test::SceneBlock& block : scene.blocks) {
      for (Index i = 0; i < static_cast<Index>(block.q.size()); ++i) {
        if (block.kind != kind) continue;
        if (kind == BlockKind::contact && i == 0) out.contacts.push_back({row, row + 1, row + 2});
        if (kind == BlockKind::contact && i >= 3) out.contacts.back().push_back(row + i);
        if (kind == BlockKind::unilateral) out.contacts.push_back({row + i});
        if (kind == BlockKind::bilateral) out.bilateral.push_back(row + i);
        if (kind == BlockKind::boxed) out.boxed.push_back(row + i);
      }
      row += static_cast<Index>(block.q.size());
    }
  }
  return out;
}

/// The scene's row of row i of a block read back.
Index scene_row(const FileRows& rows, BlockKind kind, std::int64_t name, Index i) {
  const auto at = static_cast<std::size_t>(name);
  const auto k = static_cast<std::size_t>(i);
  if (kind == BlockKind::bilateral) return rows.bilateral.at(at + k);
  if (kind == BlockKind::boxed) return rows.boxed.at(at + k);
  return rows.contacts.at(at).at(k);
}

/// Impulses without any order in them, of size 1.
std::vector<double> some_impulses(const test::Scene& scene) {
  std::vector<double> lambda(static_cast<std::size_t>(scene.n_rows()));
  for (std::size_t i = 0; i < lambda.size(); ++i)
    lambda[i] = std::sin(1.0 + 7.0 * static_cast<double>(i));
  return lambda;
}

/// w of the whole scene, on this rank alone, without any file.
std::vector<double> slips_of(const test::Scene& scene, const std::vector<double>& lambda) {
  const ConstraintProblem problem = test::whole(scene);
  DelassusOperator op(problem);
  std::vector<double> v(static_cast<std::size_t>(problem.bodies.n_dofs()));
  std::vector<double> w(lambda.size());
  op.velocities(lambda, v);
  op.residual_velocities(v, lambda, w);
  return w;
}

/// Contacts of 3, 4, 5 and 6 rows, with and without cohesion, rigid ones among them.
test::Scene mixed_contacts() {
  test::Scene scene = test::sphere_pile(60, 110, 0.4, 1e-3, 5);
  for (std::size_t k = 0; k < 40; ++k) {
    const RigidContact& c = scene.contacts.back();
    scene.blocks.push_back(test::wide_block(c, k % 2 == 0 ? 1e-3 : -1.0, k % 3 == 0 ? -1.0 : 2e-3,
                                            k % 5 == 0 ? 0.0 : 0.3));
    scene.contacts.pop_back();
  }
  for (std::size_t k = 0; k < scene.contacts.size(); k += 4) scene.contacts[k].cohesion = 0.1;
  return scene;
}

class WriteFclib : public testing::TestWithParam<int> {
 protected:
  Communicator comm_ = Communicator::world();
  test::Scene scene_ = GetParam() == 0   ? test::mixed_ring(12, 3)
                       : GetParam() == 1 ? test::sphere_pile(60, 110, 0.4, 1e-3, 5)
                       : GetParam() == 3 ? mixed_contacts()
                                         : test::limit(2.0, 1e-3, 1e-2);
  std::string path_ =
      "fclib_write_np" + std::to_string(comm_.size()) + "_" + std::to_string(GetParam()) + ".hdf5";
};

TEST_P(WriteFclib, FileIsTheSameWhateverTheRankCount) {
  const test::LocalScene local = test::distribute(scene_, comm_, test::deal(comm_));

  write_fclib(path_, local.problem, "a scene");

  if (comm_.rank() == 0) {
    write_fclib(path_ + ".one", test::whole(scene_), "a scene");
    EXPECT_TRUE(bytes_of(path_) == bytes_of(path_ + ".one"));
    EXPECT_GT(bytes_of(path_).size(), 1000u);
  }
}

TEST_P(WriteFclib, ReadBackItHasTheSameOperatorAndFreeSlip) {
  const test::LocalScene local = test::distribute(scene_, comm_, test::deal(comm_));
  const std::vector<double> scene_lambda = some_impulses(scene_);
  const std::vector<double> expected = slips_of(scene_, scene_lambda);
  write_fclib(path_, local.problem, "a scene");
  comm_.barrier();

  FclibInfo info;
  const ConstraintProblem read = read_fclib(comm_, path_, info);
  check_problem(read);
  const FileRows rows = file_rows(scene_);
  EXPECT_EQ(info.title, "a scene");
  EXPECT_EQ(info.n_contacts, static_cast<std::int64_t>(rows.contacts.size()));
  EXPECT_EQ(info.n_bilateral, static_cast<std::int64_t>(rows.bilateral.size()));
  EXPECT_EQ(info.n_boxed, static_cast<std::int64_t>(rows.boxed.size()));
  EXPECT_EQ(comm_.sum(std::int64_t{read.n_rows()}), scene_.n_rows());
  std::vector<double> lambda(static_cast<std::size_t>(read.n_rows()));
  std::vector<Index> row_of(lambda.size());
  for (Index k = 0; k < read.n_blocks(); ++k) {
    const BlockView view = block_view(read, k);
    for (Index i = 0; i < view.rows; ++i) {
      const auto row = static_cast<std::size_t>(view.row + i);
      row_of[row] = scene_row(rows, view.kind, read.blocks.name[static_cast<std::size_t>(k)], i);
      lambda[row] = scene_lambda[static_cast<std::size_t>(row_of[row])];
    }
  }
  DelassusOperator op(read);
  std::vector<double> v(static_cast<std::size_t>(read.bodies.n_dofs()));
  std::vector<double> w(lambda.size());
  op.velocities(lambda, v);
  op.residual_velocities(v, lambda, w);
  double scale = 0.0;
  for (const double x : expected) scale = std::max(scale, std::abs(x));
  for (std::size_t i = 0; i < w.size(); ++i)
    EXPECT_NEAR(w[i], expected[static_cast<std::size_t>(row_of[i])], 1e-12 * scale)
        << "scene row " << row_of[i];
}

TEST_P(WriteFclib, SolutionsStandInTheFilesOrder) {
  const test::LocalScene local = test::distribute(scene_, comm_, test::deal(comm_));
  const std::vector<double> scene_lambda = some_impulses(scene_);
  const std::vector<double> expected = slips_of(scene_, scene_lambda);
  const FileRows rows = file_rows(scene_);

  write_fclib(path_, local.problem, "a scene", test::local_rows(local, scene_lambda));
  comm_.barrier();
  FclibInfo info;
  const ConstraintProblem read = read_fclib(comm_, path_, info);
  std::vector<double> lambda(static_cast<std::size_t>(read.n_rows()));
  for (Index k = 0; k < read.n_blocks(); ++k) {
    const BlockView view = block_view(read, k);
    for (Index i = 0; i < view.rows; ++i)
      lambda[static_cast<std::size_t>(view.row + i)] = scene_lambda[static_cast<std::size_t>(
          scene_row(rows, view.kind, read.blocks.name[static_cast<std::size_t>(k)], i))];
  }
  write_fclib_solution(path_ + ".solution", read, lambda);

  if (comm_.rank() != 0) return;
  double scale = 0.0;
  for (const double x : expected) scale = std::max(scale, std::abs(x));
  const hdf5::File dumped = hdf5::File::open(path_);
  const hdf5::File solved = hdf5::File::open(path_ + ".solution");
  for (const hdf5::File* file : {&dumped, &solved}) {
    const std::vector<double> r = file->read_doubles("/solution/r");
    const std::vector<double> u = file->read_doubles("/solution/u");
    EXPECT_EQ(r.size(), 3 * rows.contacts.size());
    EXPECT_EQ(u.size(), r.size());
    for (std::size_t c = 0; 3 * c < std::min(r.size(), u.size()); ++c)
      for (std::size_t i = 0; i < std::min<std::size_t>(rows.contacts[c].size(), 3); ++i) {
        const auto row = static_cast<std::size_t>(rows.contacts[c][i]);
        EXPECT_EQ(r[3 * c + i], scene_lambda[row]);
        EXPECT_NEAR(u[3 * c + i], expected[row], 1e-12 * scale);
      }
  }
  if (GetParam() == 3) {
    std::vector<double> couples;
    for (const auto& contact : rows.contacts)
      for (std::size_t i = 3; i < contact.size(); ++i)
        couples.push_back(scene_lambda[static_cast<std::size_t>(contact[i])]);
    EXPECT_EQ(dumped.read_doubles("/catena/couples/lambda"), couples);
    EXPECT_EQ(solved.read_doubles("/catena/couples/lambda"), couples);
  }
  const std::vector<double> v = dumped.read_doubles("/solution/v");
  const std::vector<double> v_solved = solved.read_doubles("/solution/v");
  EXPECT_EQ(v.size(), v_solved.size());
  EXPECT_EQ(static_cast<std::int64_t>(v.size()), info.n_velocities);
  for (std::size_t i = 0; i < std::min(v.size(), v_solved.size()); ++i)
    EXPECT_NEAR(v[i], v_solved[i], 1e-12 * scale);
}

TEST(WriteFclibExtras, ComplianceIsReadBackAsComplianceAndNotAsBodies) {
  const Communicator comm = Communicator::world();
  test::Scene scene = mixed_contacts();
  for (RigidContact& c : scene.contacts) c.compliance = 2e-3, c.tangent_compliance = 3e-3;
  const ConstraintProblem whole = test::whole(scene);
  const std::string path = "fclib_compliance_np" + std::to_string(comm.size()) + ".hdf5";
  write_fclib(path, test::distribute(scene, comm, test::deal(comm)).problem, "compliance");
  comm.barrier();

  FclibInfo info;
  const ConstraintProblem read = read_fclib(comm, path, info);

  const FileRows rows = file_rows(scene);
  std::int64_t compliant = 0;
  for (Index k = 0; k < read.n_blocks(); ++k) {
    const BlockView view = block_view(read, k);
    const auto name = static_cast<std::size_t>(read.blocks.name[static_cast<std::size_t>(k)]);
    for (Index i = 0; i < view.rows; ++i) {
      const auto row = static_cast<std::size_t>(view.row + i);
      const Index at = rows.contacts.at(name).at(static_cast<std::size_t>(i));
      const auto contact = static_cast<std::size_t>(at / 3);
      if (contact >= scene.contacts.size()) continue;
      EXPECT_NEAR(read.blocks.compliance[row], i == 0 ? 2e-3 : 3e-3, 1e-18);
      EXPECT_GE(read.blocks.file_velocity[row], 0);
      ++compliant;
    }
  }
  EXPECT_EQ(comm.sum(compliant), static_cast<std::int64_t>(3 * scene.contacts.size()));
  EXPECT_LE(info.n_bodies, static_cast<std::int64_t>(whole.bodies.size()));
  EXPECT_GT(info.n_velocities, 6 * info.n_bodies);
}

TEST(WriteFclibExtras, CouplesAndCohesionAreReadBackExactly) {
  const Communicator comm = Communicator::world();
  const test::Scene scene = mixed_contacts();
  const std::string path = "fclib_couples_np" + std::to_string(comm.size()) + ".hdf5";
  write_fclib(path, test::distribute(scene, comm, test::deal(comm)).problem, "couples");
  comm.barrier();

  FclibInfo info;
  const ConstraintProblem read = read_fclib(comm, path, info);
  check_problem(read);

  const FileRows rows = file_rows(scene);
  const ConstraintProblem whole = test::whole(scene);
  std::vector<BlockView> by_row(static_cast<std::size_t>(scene.n_rows()));
  for (Index k = 0; k < whole.n_blocks(); ++k)
    by_row[static_cast<std::size_t>(block_view(whole, k).row)] = block_view(whole, k);
  for (Index k = 0; k < read.n_blocks(); ++k) {
    const BlockView found = block_view(read, k);
    const auto name = static_cast<std::size_t>(read.blocks.name[static_cast<std::size_t>(k)]);
    const BlockView& wanted = by_row[static_cast<std::size_t>(rows.contacts.at(name)[0])];
    EXPECT_EQ(found.rows, wanted.rows);
    EXPECT_EQ(found.friction, wanted.friction);
    EXPECT_EQ(found.rolling, wanted.rolling);
    EXPECT_EQ(found.spinning, wanted.spinning);
    EXPECT_EQ(found.cohesion, wanted.cohesion);
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, WriteFclib, testing::Values(0, 1, 2, 3));

TEST(WriteFclibFails, OnEveryRankWhereTheDirectoryIsMissing) {
  const Communicator comm = Communicator::world();
  const test::Scene scene = test::limit(2.0, 1e-3, 1e-2);
  const test::LocalScene local = test::distribute(scene, comm, test::deal(comm));
  int code = 0;
  try {
    write_fclib("no/such/directory/problem.hdf5", local.problem, "a scene");
  } catch (const Error& error) {
    code = static_cast<int>(error.code());
    EXPECT_NE(std::string(error.what()).find("no/such/directory"), std::string::npos);
  }
  EXPECT_EQ(code, 5);
}

}  // namespace
}  // namespace catena
