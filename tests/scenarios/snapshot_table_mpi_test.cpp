// A scene that starts from another run's snapshot.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "catena/base/error.hpp"
#include "catena/io/result_writer.hpp"
#include "catena/scenarios/scene.hpp"
#include "io/hdf5/file.hpp"
#include "scenarios/body_records.hpp"
#include "support/all_ranks.hpp"

namespace catena {
namespace {

using test::gathered;
namespace fs = std::filesystem;

constexpr double kDensity = 2500.0;

class SnapshotTable : public testing::Test {
 protected:
  SnapshotTable() {
    if (comm_.rank() == 0) fs::remove_all(directory_);
    comm_.barrier();
  }
  ~SnapshotTable() override {
    comm_.barrier();
    if (comm_.rank() == 0) fs::remove_all(directory_);
  }

  template <class Kind>
  static Kind& add(SceneSettings& scene) {
    return scene.generators.emplace_back().kind.emplace<Kind>();
  }

  /// Planes, a fixed box and a kinematic sphere among and before more spheres and bricks than are
  /// read at once.
  static SceneSettings first_scene(int layers) {
    SceneSettings scene;
    scene.materials = {{"glass", 500.0, 0.4, 0.5}};
    for (int i = 0; i < 4; ++i) {
      BodySettings b;
      b.name = "body" + std::to_string(i);
      b.material = "glass";
      b.shape.type = i == 0 ? ShapeType::plane : i == 3 ? ShapeType::sphere : ShapeType::box;
      b.shape.radius = 0.7;
      b.shape.size = Vec3(0.1, 0.3, 0.7);
      b.fixed = i == 1;
      b.motion.present = i == 3;
      b.mass = i == 2 ? 99.0 : kNone;
      scene.bodies.push_back(b);
    }
    auto& grains = add<LatticeSettings>(scene);
    grains.material = "glass";
    grains.shape.type = ShapeType::sphere;
    grains.shape.radius = 0.1;
    grains.radius_jitter = 0.3;
    grains.count = {20, 20, layers};
    grains.spacing = Vec3(0.3, 0.3, 0.3);
    auto& bin = add<ContainerSettings>(scene);
    bin.material = "glass";
    bin.size = Vec3(1, 1, 1);
    auto& wall = add<WallSettings>(scene);
    wall.material = "glass";
    wall.brick = Vec3(0.2, 0.1, 0.06);
    wall.along = 3;
    wall.height = 3;
    return scene;
  }

  /// Writes the result of `scene` in motion; its bodies with their states, on every rank.
  std::vector<BodyRecord> write_result(const SceneSettings& scene, const std::string& directory) {
    const Model model = make_model(scene, comm_);
    Bodies bodies;
    State state;
    generate_bodies(scene, comm_, model, bodies, state);
    for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
      const double a = std::sin(static_cast<double>(bodies.constants[i].id));
      state.body[i].pose.p += Vec3(a, 2.0 * a, 0.1);
      state.body[i].pose.q = Quat(Eigen::AngleAxisd(a, Vec3(a, 1.0, 0.3).normalized()));
      state.body[i].twist = {Vec3(1.0 / 3.0, a, -a), Vec3(a * a, 0.1, a)};
    }
    state.step = 12;
    ResultWriter out(comm_, directory, {}, {}, false);
    out.write_bodies(model, bodies);
    out.write_snapshot(model, bodies, state, {});
    comm_.barrier();
    return gathered(comm_, bodies, state);
  }

  /// A body, then the table.
  static SceneSettings second_scene(const std::string& file) {
    SceneSettings scene;
    scene.materials = {{"steel", 7800.0, 0.4, 0.5}, {"glass", kDensity, 0.4, 0.5}};
    scene.bodies.emplace_back();
    scene.bodies[0].name = "ball";
    scene.bodies[0].material = "steel";
    scene.bodies[0].shape.type = ShapeType::sphere;
    scene.bodies[0].shape.radius = 1.0;
    auto& table = add<TableSettings>(scene);
    table.material = "glass";
    table.file = file;
    return scene;
  }

  /// Generates from `file`; this rank's error and its code, "" if there is none.
  std::pair<std::string, ExitCode> error_of(const std::string& file) {
    const SceneSettings scene = second_scene(file);
    try {
      const Model model = make_model(scene, comm_);
      Bodies bodies;
      State state;
      generate_bodies(scene, comm_, model, bodies, state);
    } catch (const Error& error) {
      return {error.what(), error.code()};
    }
    return {"", ExitCode::done};
  }
  void expect_error(const std::string& file, const std::string& text, ExitCode code) {
    const auto [error, found] = error_of(file);
    EXPECT_NE(error.find(text), std::string::npos) << error << "\n  expected " << text;
    EXPECT_EQ(found, code) << error;
    comm_.barrier();
  }
  template <class Work>
  void on_root(Work work) {
    if (comm_.rank() == 0) work();
    comm_.barrier();
  }

  Communicator comm_ = Communicator::world();
  std::string directory_ = "snapshot_table_np" + std::to_string(comm_.size());
  std::string file_ = directory_ + "/snapshots/00000012.h5";
};

TEST_F(SnapshotTable, DynamicBodiesStartAsTheSnapshotHoldsThemOnAnyNumberOfRanks) {
  std::vector<BodyRecord> expected = write_result(first_scene(11), directory_);
  std::erase_if(expected,
                [](const BodyRecord& b) { return b.constants.kind != BodyKind::dynamic; });
  EXPECT_EQ(expected.size(), 1U + 4400U + 10U);

  const SceneSettings scene = second_scene(file_);
  const Model model = make_model(scene, comm_);
  Bodies bodies;
  State state;
  generate_bodies(scene, comm_, model, bodies, state);

  const std::vector<BodyRecord> all = gathered(comm_, bodies, state);
  EXPECT_EQ(total_bodies(model), static_cast<GlobalId>(1 + expected.size()));
  EXPECT_LE(bodies.constants.size(), all.size() / static_cast<std::size_t>(comm_.size()) + 1);
  if (!test::all_ranks_have(comm_, all.size(), 1 + expected.size())) return;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const BodyRecord& from = expected[i];
    const BodyRecord& to = all[i + 1];
    EXPECT_EQ(to.constants.id, static_cast<GlobalId>(i + 1));
    EXPECT_EQ(to.constants.kind, BodyKind::dynamic);
    EXPECT_EQ(to.constants.material, 1);
    EXPECT_EQ(to.constants.shape.type, from.constants.shape.type) << i;
    EXPECT_EQ(to.constants.shape.size, from.constants.shape.size) << i;
    EXPECT_EQ(to.state.pose.p, from.state.pose.p) << i;
    EXPECT_EQ(to.state.pose.q.coeffs(), from.state.pose.q.coeffs()) << i;
    EXPECT_EQ(to.state.twist.v, from.state.twist.v) << i;
    EXPECT_EQ(to.state.twist.w, from.state.twist.w) << i;
  }
  // of the table's material, also where the first scene gave the mass
  EXPECT_NEAR(all[1].constants.mass, 0.1 * 0.3 * 0.7 * kDensity, 1e-12);
  EXPECT_NEAR(all[1].constants.inertia[0], all[1].constants.mass * (0.3 * 0.3 + 0.7 * 0.7) / 12.0,
              1e-12);
}

TEST_F(SnapshotTable, WhatIsNoSnapshotIsRefusedOnEveryRank) {
  write_result(first_scene(1), directory_);
  const std::string text = directory_ + "/text.h5";
  on_root([&] { std::ofstream(text) << "radius,x,y,z\n"; });

  expect_error(directory_ + "/none.h5", "none.h5: no such file", ExitCode::input_output);
  expect_error(text, "text.h5: is not an HDF5 file", ExitCode::input_output);
  expect_error(directory_ + "/bodies.h5", "bodies.h5: is not a snapshot", ExitCode::bad_input);
  EXPECT_EQ(error_of(file_).first, "");
}

TEST_F(SnapshotTable, BodiesThatAreMissingOrOfAnotherResultAreErrorsOnEveryRank) {
  write_result(first_scene(1), directory_);
  const std::string other = directory_ + "/other";
  write_result(first_scene(2), other);
  const std::string bodies = directory_ + "/bodies.h5";

  on_root([&] { fs::rename(other + "/bodies.h5", bodies); });
  expect_error(file_, "/bodies/id: its ids are not those of", ExitCode::input_output);

  on_root([&] { fs::remove(bodies); });
  expect_error(file_, bodies + ": is missing", ExitCode::input_output);
}

TEST_F(SnapshotTable, DynamicBodyWithoutAShapeIsRefusedOnEveryRank) {
  SceneSettings scene = first_scene(1);
  scene.bodies[2].shape.type = ShapeType::none;
  scene.bodies[2].inertia = Vec3(1, 1, 1);
  write_result(scene, directory_);

  expect_error(file_, "/bodies/shape: row 2: a table cannot hold the shape 'none'",
               ExitCode::bad_input);
}

/// A snapshot of two balls by hand.
struct TwoBalls {
  std::vector<std::int64_t> ids = {0, 1};
  std::vector<double> radius = {1.0, 1.0};
  std::vector<double> position = std::vector<double>(6, 0.5);
  std::vector<double> orientation = {1, 0, 0, 0, 1, 0, 0, 0};
  std::vector<std::string> kind = {"dynamic", "dynamic"};

  /// Two words of at most `length` letters.
  static void write_words(hdf5::File& file, const std::string& dataset,
                          const std::vector<std::string>& words, std::uint64_t length) {
    const auto fill = [&](std::uint64_t first, std::span<char> letters) {
      std::fill(letters.begin(), letters.end(), '\0');
      for (std::size_t at = 0; at < letters.size(); at += length) {
        const std::string& word = words[static_cast<std::size_t>(first + at / length)];
        std::copy(word.begin(), word.end(), letters.begin() + static_cast<std::ptrdiff_t>(at));
      }
    };
    file.write_text_rows(dataset, fill, length, {0, 2, 2});
  }

  void write(const std::string& directory, const std::string& snapshot) const {
    fs::create_directories(directory + "/snapshots");
    const hdf5::RowRange rows{0, 2, 2};
    const std::vector<double> zeros(6, 0.0);
    const std::vector<std::int64_t> own_ids = {0, 1};
    hdf5::File bodies = hdf5::File::create(directory + "/bodies.h5");
    bodies.set_attribute("/", "format", std::string("catena-bodies"));
    bodies.write_rows("/bodies/id", own_ids, rows, 0, "");
    bodies.write_rows("/bodies/radius", radius, rows, 0, "m");
    bodies.write_rows("/bodies/size", zeros, rows, 3, "m");
    write_words(bodies, "/bodies/kind", kind, 10);
    write_words(bodies, "/bodies/shape", {"sphere", "sphere"}, 6);
    bodies.close();
    hdf5::File file = hdf5::File::create(snapshot);
    file.set_attribute("/", "format", std::string("catena-snapshot"));
    file.write_rows("/bodies/id", ids, rows, 0, "");
    if (!position.empty()) file.write_rows("/bodies/position", position, rows, 3, "m");
    file.write_rows("/bodies/orientation", orientation, rows, 4, "");
    file.write_rows("/bodies/velocity", zeros, rows, 3, "m/s");
    file.write_rows("/bodies/angular_velocity", zeros, rows, 3, "rad/s");
    file.close();
  }
};

TEST_F(SnapshotTable, DamagedValuesAreNamedByDatasetAndRowOnEveryRank) {
  const auto expect = [&](const TwoBalls& balls, const std::string& text) {
    on_root([&] { balls.write(directory_, file_); });
    const auto [error, code] = error_of(file_);
    EXPECT_EQ(code, text.empty() ? ExitCode::done : ExitCode::input_output);
    if (text.empty()) {
      EXPECT_EQ(error, "");
    } else {
      EXPECT_NE(error.find(text), std::string::npos) << error << "\n  expected " << text;
    }
    comm_.barrier();
  };
  expect({}, "");
  TwoBalls balls;
  balls.ids = {0, 2};
  expect(balls, file_ + ": /bodies/id: its ids are not those of");
  balls = {};
  balls.radius[1] = 0.0;
  expect(balls, "bodies.h5: /bodies/radius: row 1: not a positive radius");
  balls = {};
  balls.position[4] = std::nan("");
  expect(balls, file_ + ": /bodies/position: row 1: not finite");
  balls = {};
  balls.position.clear();
  expect(balls, file_ + ": /bodies/position: is missing");
  balls = {};
  balls.orientation[4] = 0.9;
  expect(balls, file_ + ": /bodies/orientation: row 1: not of unit length");
  balls = {};
  balls.kind[0] = "dynamo";
  expect(balls, "bodies.h5: /bodies/kind: row 0: unknown kind 'dynamo'");
}

}  // namespace
}  // namespace catena
