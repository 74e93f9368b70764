#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numbers>

#include "catena/base/error.hpp"
#include "catena/scenarios/scene.hpp"
#include "scenarios/body_records.hpp"
#include "support/all_ranks.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

constexpr double kDensity = 2500.0;

class SceneTest : public testing::Test {
 protected:
  SceneTest() { scene_.materials = {{"glass", kDensity, 0.4, 0.5}, {"steel", 7800.0, 0.9, 0.5}}; }

  template <class Kind>
  Kind& add() {
    return scene_.generators.emplace_back().kind.emplace<Kind>();
  }
  void add_container() {
    ContainerSettings& c = add<ContainerSettings>();
    c.name = "bin";
    c.material = "steel";
    c.size = Vec3(2, 3, std::numeric_limits<double>::infinity());
    c.origin = Vec3(-1, 0, 0.5);
  }
  LatticeSettings& add_lattice() {
    LatticeSettings& l = add<LatticeSettings>();
    l.name = "grains";
    l.material = "glass";
    l.shape.type = ShapeType::sphere;
    l.shape.radius = 0.1;
    l.count = {3, 4, 5};
    l.spacing = Vec3(0.3, 0.4, 0.5);
    l.origin = Vec3(1, 2, 3);
    return l;
  }
  void add_body(const std::string& name, ShapeType type) {
    BodySettings b;
    b.name = name;
    b.material = "steel";
    b.shape.type = type;
    b.shape.radius = 0.5;
    b.shape.size = Vec3(1, 2, 3);
    scene_.bodies.push_back(b);
  }

  void generate() {
    model_ = make_model(scene_, comm_);
    generate_bodies(scene_, comm_, model_, bodies_, state_);
  }
  /// Every body of all ranks, in rank order; on every rank.
  std::vector<BodyRecord> gathered() const { return test::gathered(comm_, bodies_, state_); }

  Communicator comm_ = Communicator::world();
  SceneSettings scene_;
  Model model_;
  Bodies bodies_;
  State state_;
};

TEST_F(SceneTest, IdsGoThroughBodiesThenGeneratorsAndEachRankMakesAnEqualShare) {
  add_body("a", ShapeType::sphere);
  add_body("floor", ShapeType::plane);
  add_body("b", ShapeType::box);
  add_lattice();
  add_container();

  generate();

  const std::vector<BodyRecord> all = gathered();
  EXPECT_EQ(all.size(), 2U + 60U);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LT(all[i - 1].constants.id, all[i].constants.id);
  }
  EXPECT_EQ(all.back().constants.id, 62);
  EXPECT_EQ(total_bodies(model_), 3 + 60 + 5);
  EXPECT_LE(bodies_.constants.size(), std::size_t(68 / comm_.size() + 1));
  EXPECT_EQ(model_.names.name_of(1), "floor");
  EXPECT_EQ(model_.names.name_of(3), "grains-0");
  EXPECT_EQ(model_.names.name_of(67), "bin-4");
  EXPECT_EQ(model_.unbounded.size(), 6U);
  EXPECT_EQ(state_.subdomain.size(), state_.body.size());
}

TEST_F(SceneTest, ContainerHasAFloorAndFourWallsFacingInwards) {
  add_container();

  generate();

  if (!test::all_ranks_have(comm_, model_.unbounded.size(), 5U)) return;
  const Vec3 inside(0.0, 1.5, 1.0);
  std::vector<double> distances;
  for (const BodyRecord& wall : model_.unbounded) {
    EXPECT_EQ(wall.constants.kind, BodyKind::fixed);
    const Vec3 normal = wall.state.pose.q * Vec3::UnitZ();
    distances.push_back(normal.dot(inside - wall.state.pose.p));
  }
  const std::vector<double> expected = {0.5, 1.0, 1.5, 1.0, 1.5};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(distances[i], expected[i], 1e-15) << i;
}

TEST_F(SceneTest, FiniteHeightMakesALid) {
  add_container();
  std::get<ContainerSettings>(scene_.generators[0].kind).size[2] = 4.0;

  generate();

  if (!test::all_ranks_have(comm_, model_.unbounded.size(), 6U)) return;
  const BodyRecord& lid = model_.unbounded[5];
  EXPECT_EQ(lid.state.pose.p[2], 4.5);
  EXPECT_EQ(Vec3(lid.state.pose.q * Vec3::UnitZ()), Vec3(0, 0, -1));
}

TEST_F(SceneTest, LatticeCountsXFastestFromItsOrigin) {
  add_lattice().velocity = Vec3(0, 0, -1);

  generate();

  const std::vector<BodyRecord> all = gathered();
  if (!test::all_ranks_have(comm_, all.size(), 60U)) return;
  EXPECT_EQ(all[0].state.pose.p, Vec3(1, 2, 3));
  EXPECT_EQ(all[1].state.pose.p, Vec3(1.3, 2, 3));
  EXPECT_EQ(all[3].state.pose.p, Vec3(1, 2.4, 3));
  EXPECT_EQ(all[12].state.pose.p, Vec3(1, 2, 3.5));
  EXPECT_EQ(all[59].state.twist.v, Vec3(0, 0, -1));
  const double mass = kDensity * 4.0 / 3.0 * std::numbers::pi * 1e-3;
  EXPECT_NEAR(all[7].constants.mass, mass, 1e-12 * mass);
  EXPECT_NEAR(all[7].constants.inertia[1], 0.4 * mass * 0.01, 1e-12 * mass);
}

TEST_F(SceneTest, JittersStayWithinTheirBoundsFillThemAndDependOnTheSeedAlone) {
  LatticeSettings& l = add_lattice();
  l.count = {10, 10, 10};
  l.radius_jitter = 0.2;
  l.position_jitter = 0.01;
  l.seed = 5;
  generate();
  const std::vector<BodyRecord> all = gathered();

  double least = 1.0, most = 0.0, mean = 0.0;
  for (const BodyRecord& body : all) {
    const double radius = body.constants.shape.size[0];
    least = std::min(least, radius);
    most = std::max(most, radius);
    mean += radius / 1000.0;
    const Vec3 cell = (body.state.pose.p - l.origin).cwiseQuotient(l.spacing);
    const Vec3 off = (cell - cell.array().round().matrix()).cwiseProduct(l.spacing);
    EXPECT_LE(off.cwiseAbs().maxCoeff(), 0.01 + 1e-12);
  }
  // of 1,000 uniform numbers the extremes come within 1 % of the bounds but for e^-10
  EXPECT_GE(least, 0.08);
  EXPECT_LT(least, 0.0804);
  EXPECT_LE(most, 0.12);
  EXPECT_GT(most, 0.1196);
  // standard error of the mean: 0.04 / sqrt(12 * 1000)
  EXPECT_NEAR(mean, 0.1, 5.0 * 0.04 / std::sqrt(12000.0));

  // a body before the lattice shifts the ids, and another seed of the case changes nothing
  add_body("first", ShapeType::sphere);
  scene_.seed = 99;
  bodies_ = {};
  state_ = {};
  generate();
  const std::vector<BodyRecord> again = gathered();
  if (!test::all_ranks_have(comm_, again.size(), all.size() + 1)) return;
  EXPECT_EQ(again[500].state.pose.p, all[499].state.pose.p);

  std::get<LatticeSettings>(scene_.generators[0].kind).seed = 6;
  bodies_ = {};
  state_ = {};
  generate();
  EXPECT_NE(gathered()[500].state.pose.p, all[499].state.pose.p);
}

TEST_F(SceneTest, WallIsARunningBondWithFlushEnds) {
  WallSettings& w = add<WallSettings>();
  w.name = "wall";
  w.material = "glass";
  w.brick = Vec3(0.2, 0.1, 0.06);
  w.along = 3;
  w.height = 3;
  w.gap = 0.01;

  generate();

  const std::vector<BodyRecord> all = gathered();
  if (!test::all_ranks_have(comm_, all.size(), 3U + 4U + 3U)) return;
  const double length = 3 * 0.2 + 2 * 0.01;
  double volume = 0.0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double x = all[i].state.pose.p[0];
    const double half = all[i].constants.shape.size[0];
    volume += 8.0 * all[i].constants.shape.size.prod();
    EXPECT_GE(x - half, -1e-14) << i;
    EXPECT_LE(x + half, length + 1e-14) << i;
    if (i == 2 || i == 6 || i == 9) {
      EXPECT_NEAR(x + half, length, 1e-14) << i;
    }
    const bool starts = i == 0 || i == 3 || i == 7;
    if (starts) {
      EXPECT_NEAR(x - half, 0.0, 1e-14) << i;
    } else {  // the gap to the brick before
      const double before = all[i - 1].state.pose.p[0] + all[i - 1].constants.shape.size[0];
      EXPECT_NEAR(x - half - before, 0.01, 1e-14) << i;
    }
  }
  // every course is its length without the gaps: 2, 3 and 2 of them
  EXPECT_NEAR(volume, 0.1 * 0.06 * (3 * length - 7 * 0.01), 1e-15);
  EXPECT_NEAR(all[3].state.pose.p[2], 0.09, 1e-15);
  EXPECT_NEAR(all[9].state.pose.p[2], 0.15, 1e-15);
  EXPECT_NEAR(all[0].state.pose.p[1], 0.05, 1e-15);
  // a brick of the second course lies across the joint below
  EXPECT_NEAR(all[4].state.pose.p[0], 0.5 * (0.2 + 0.21), 1e-14);
}

TEST_F(SceneTest, WallTurnsWithItsDirection) {
  WallSettings& w = add<WallSettings>();
  w.material = "glass";
  w.brick = Vec3(0.2, 0.1, 0.06);
  w.along = 2;
  w.direction = Vec3(0, 3, 0);

  generate();

  const std::vector<BodyRecord> all = gathered();
  if (!test::all_ranks_have(comm_, all.size(), 2U)) return;
  EXPECT_NEAR((all[1].state.pose.p - Vec3(-0.05, 0.3, 0.03)).norm(), 0.0, 1e-15);
  EXPECT_NEAR((all[1].state.pose.q * Vec3::UnitX() - Vec3::UnitY()).norm(), 0.0, 1e-15);
}

TEST_F(SceneTest, BodiesTakeMassFromShapeOrAsGiven) {
  add_body("box", ShapeType::box);
  add_body("given", ShapeType::box);
  scene_.bodies[1].mass = 2.0;
  add_body("fixed", ShapeType::box);
  scene_.bodies[2].fixed = true;
  add_body("paddle", ShapeType::box);
  scene_.bodies[3].motion.present = true;
  scene_.bodies[3].motion.parts.velocity = Vec3(1, 0, 0);

  generate();

  const std::vector<BodyRecord> all = gathered();
  if (!test::all_ranks_have(comm_, all.size(), 4U)) return;
  EXPECT_DOUBLE_EQ(all[0].constants.mass, 6.0 * 7800.0);
  EXPECT_NEAR(all[0].constants.inertia[0], 6.0 * 7800.0 * (4.0 + 9.0) / 12.0, 1e-9);
  EXPECT_NEAR(all[1].constants.inertia[2], 2.0 * (1.0 + 4.0) / 12.0, 1e-15);
  EXPECT_EQ(all[2].constants.kind, BodyKind::fixed);
  EXPECT_EQ(all[2].constants.mass, 0.0);
  EXPECT_EQ(all[3].constants.kind, BodyKind::kinematic);
  EXPECT_EQ(all[3].constants.motion, 0);
  EXPECT_EQ(all[3].state.twist.v, Vec3(1, 0, 0));
}

TEST_F(SceneTest, PairsReplaceTheGeometricMean) {
  scene_.pairs.push_back({{"glass", "steel"}, 0.1, kNone});

  generate();

  EXPECT_DOUBLE_EQ(model_.materials.pair(0, 1).friction, 0.1);
  EXPECT_DOUBLE_EQ(model_.materials.pair(1, 0).restitution, 0.5);
  EXPECT_DOUBLE_EQ(model_.materials.pair(0, 0).friction, 0.4);
}

class TableTest : public SceneTest {
 protected:
  /// Rank 0 writes the table; returns the error of generating it.
  std::string generate_from(const std::string& text) {
    file_ = "table_np" + std::to_string(comm_.size()) + ".csv";
    if (comm_.rank() == 0) std::ofstream(file_) << text;
    comm_.barrier();
    scene_.generators.clear();
    TableSettings& t = add<TableSettings>();
    t.material = "glass";
    t.file = file_;
    bodies_ = {};
    state_ = {};
    const std::string error = test::error_of([&] { generate(); });
    comm_.barrier();
    if (comm_.rank() == 0) std::remove(file_.c_str());
    return error;
  }
  std::string file_;
};

TEST_F(TableTest, RowsBecomeBodiesInOrderOnAnyNumberOfRanks) {
  std::string text = "# made by hand\nid,shape,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz\n\n";
  for (int i = 0; i < 10; ++i) {
    text += std::to_string(3 * i) + (i % 2 == 0 ? ",sphere:0.5," : " , box:0.1:0.2:0.3, ") +
            std::to_string(i) + ",1e-3,-2,2,0,0,0,1,2,3,4,5,6\r\n";
  }

  EXPECT_EQ(generate_from(text), "no error");

  const std::vector<BodyRecord> all = gathered();
  EXPECT_EQ(all.size(), 10U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].constants.id, static_cast<GlobalId>(i));
    EXPECT_EQ(all[i].state.pose.p, Vec3(static_cast<double>(i), 1e-3, -2));
    EXPECT_EQ(all[i].state.pose.q.w(), 1.0);
    EXPECT_EQ(all[i].state.twist.w, Vec3(4, 5, 6));
    EXPECT_EQ(all[i].constants.shape.type, i % 2 == 0 ? ShapeType::sphere : ShapeType::box);
  }
  if (all.size() == 10) {
    EXPECT_EQ(all[1].constants.shape.size, Vec3(0.05, 0.1, 0.15));
  }
}

TEST_F(TableTest, ErrorsNameFileAndLineOnEveryRank) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ":0: the table is empty"},
      {"radius,x,y\n", ":1: the column z is missing"},
      {"x,y,z\n", ":1: needs a column shape or a column radius"},
      {"radius,shape,x,y,z\n", ":1: needs a column shape or a column radius"},
      {"radius,x,y,z,x\n", ":1: the column 'x' stands twice"},
      {"raduis,x,y,z\n", ":1: unknown column 'raduis'; did you mean radius?"},
      {"radius,x,y,z,qw\n", ":1: the column qx is missing"},
      {"radius,x,y,z\n1,2,3\n", ":2: found 3 fields; the header names 4"},
      {"radius,x,y,z\n1,2,3,4\n1,2,three,4\n", ":3: 'three' is not a finite number"},
      {"radius,x,y,z\n1,2,inf,4\n", ":2: 'inf' is not a finite number"},
      {"radius,x,y,z\n1,2,,4\n", ":2: '' is not a finite number"},
      {"radius,x,y,z\n0,2,3,4\n", ":2: the size 0 is not positive"},
      {"shape,x,y,z\nsphere,2,3,4\n", ":2: 'sphere' is no shape"},
      {"shape,x,y,z\nbox:1:2,2,3,4\n", ":2: 'box:1:2' is no shape"},
      {"radius,x,y,z,qw,qx,qy,qz\n1,2,3,4,0,0,0,0\n", ":2: the quaternion has no length"},
      {"id,radius,x,y,z\n1,1,2,3,4\n1,1,2,3,4\n", ":3: the id 1 does not ascend"},
      {"id,radius,x,y,z\n1.5,1,2,3,4\n", ":2: '1.5' is no id"}};
  for (const auto& [text, message] : cases) {
    const std::string error = generate_from(text);
    EXPECT_EQ(error.find(file_ + message), 0U) << error << "\n  expected " << message;
  }
}

TEST_F(SceneTest, MissingTableIsAnInputError) {
  TableSettings& t = add<TableSettings>();
  t.material = "glass";
  t.file = "no/such/table.csv";

  ExitCode code = ExitCode::done;
  try {
    generate();
  } catch (const Error& e) {
    code = e.code();
  }

  EXPECT_EQ(code, ExitCode::input_output);
}

}  // namespace
}  // namespace catena
