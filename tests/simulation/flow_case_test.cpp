// What a case may say of motions, insertion, outflow and the periodic box, and what it may not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "catena/scenarios/insertion.hpp"
#include "catena/simulation/case.hpp"
#include "support/case_text.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

using test::whole_case;

constexpr const char* kCase = R"(catena: 1
name: flow
dimension: 3
periodic: {x: [-1, 1], y: [0, 2]}
materials:
  glass: {density: 2500}
bodies:
  - name: shaker
    material: glass
    shape: {box: {size: [1, 1, 0.1]}}
    motion:
      velocity: [0, 0, 1 mm/s]
      about: [1, 2, 3]
      harmonics: [{amplitude: [0, 0, 2 mm], angle_amplitude: [0, 3 deg, 0], frequency: 5 Hz, phase: 90 deg}]
generators:
  - insertion: {name: rain, material: glass, shape: {sphere: {radius: 0.05}}, sizes: {uniform: [0.8, 1.2]},
                region: {lower: [-0.5, 0.5, 3], upper: [0.5, 1.5, 4]}, number_rate: 100, count: 1000,
                start: 0.1, end: 2 s, velocity: [0, 0, -1], attempts: 7, seed: 5}
  - insertion: {name: clay, material: glass, shape: {box: {size: [0.1, 0.1, 0.2]}},
                sizes: {normal: {mean: 1, deviation: 0.1, min: 0.7, max: 1.2}}, random_orientation: true,
                region: {lower: [-0.5, 0.5, 5], upper: [0.5, 1.5, 6]}, mass_rate: 2 kg/s, count: 10}
  - insertion: {name: mix, material: glass, shape: {sphere: {radius: 0.1}},
                sizes: {table: [{factor: 0.5, weight: 3}, {factor: 1}]},
                region: {lower: [-0.5, 0.5, 5], upper: [0.5, 1.5, 6]}, number_rate: 5 Hz, count: 10}
outflow:
  - {name: drain, lower: [-.inf, -.inf, -.inf], upper: [.inf, .inf, -1]}
time: {step: 1 ms, end: 1}
)";

/// Message of the Error that parsing or the making of model and insertions throws.
std::string error_of(const std::vector<std::string>& set) {
  return test::error_of([&] {
    const CaseSettings settings = whole_case(kCase, set);
    const Model model = make_model(settings, Communicator::self());
    make_insertions(settings, Communicator::self(), model);
  });
}

TEST(FlowCase, ReadsMotionsInsertionsOutflowAndPeriods) {
  const CaseSettings s = whole_case(kCase);

  const Motion& motion = s.bodies[0].motion.parts;
  EXPECT_FALSE(motion.about_origin);
  EXPECT_EQ(motion.about, Vec3(1, 2, 3));
  ASSERT_EQ(motion.harmonics.size(), 1U);
  EXPECT_DOUBLE_EQ(motion.harmonics[0].amplitude[2], 2e-3);
  EXPECT_DOUBLE_EQ(motion.harmonics[0].angle_amplitude[1], M_PI / 60);
  EXPECT_DOUBLE_EQ(motion.harmonics[0].frequency, 5.0);
  EXPECT_DOUBLE_EQ(motion.harmonics[0].phase, M_PI / 2);
  const InsertionSettings& rain = std::get<InsertionSettings>(s.generators[0].kind);
  EXPECT_EQ(rain.sizes.kind, SizeSettings::Kind::uniform);
  EXPECT_EQ(Sizes(rain.sizes).largest(), 1.2);
  EXPECT_EQ(rain.count, 1000);
  EXPECT_EQ(rain.number_rate, 100.0);
  EXPECT_TRUE(std::isnan(rain.mass_rate));
  EXPECT_EQ(rain.lower, Vec3(-0.5, 0.5, 3));
  EXPECT_EQ(std::get<InsertionSettings>(s.generators[1].kind).sizes.kind,
            SizeSettings::Kind::normal);
  EXPECT_EQ(std::get<InsertionSettings>(s.generators[1].kind).mass_rate, 2.0);
  EXPECT_TRUE(std::isinf(std::get<InsertionSettings>(s.generators[1].kind).end));
  EXPECT_EQ(std::get<InsertionSettings>(s.generators[2].kind).sizes.table.front().factor, 0.5);
  ASSERT_EQ(s.outflow.size(), 1U);
  EXPECT_EQ(s.outflow[0].upper[2], -1.0);
  const Model model = make_model(s, Communicator::self());
  EXPECT_TRUE(model.periodic.active[0] && model.periodic.active[1]);
  EXPECT_EQ(model.periodic.hi[1], 2.0);
  EXPECT_EQ(total_bodies(model), 1 + 1000 + 10 + 10);
  EXPECT_EQ(model.names.name_of(1 + 1000), "clay-0");
}

TEST(FlowCase, PrintedCaseReadsBackToTheSamePrint) {
  const std::string printed = print_case(whole_case(kCase));
  EXPECT_EQ(print_case(whole_case(printed)), printed) << printed;
  EXPECT_NE(printed.find("angle_amplitude"), std::string::npos);
  EXPECT_NE(printed.find("number_rate"), std::string::npos);
}

TEST(FlowCase, SaysWhatIsWrong) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"generators.rain.region.upper=[-0.45, 1.5, 4]"},
       "case.yaml:17:17: generators.rain.region: the region is smaller than the largest"},
      {{"generators.rain.region.upper=[-0.6, 1.5, 4]"}, "upper: lies below"},
      {{"generators.clay.region.upper=[0.5, 1.5, 5.28]"}, "smaller than the largest body"},
      {{"generators.rain.mass_rate=1"}, "mass_rate: stands beside number_rate"},
      {{"generators.rain.number_rate=-1"}, "number_rate: '-1' is out of range"},
      {{"generators.rain.count=0"}, "count: '0' is out of range"},
      {{"generators.rain.count=1.5"}, "not a whole number"},
      {{"generators.rain.end=0.05"}, "end: lies before"},
      {{"generators.rain.sizes.uniform=[1.2, 0.8]"}, "uniform: does not ascend"},
      {{"generators.rain.sizes.uniform=[-1, 0.8]"}, "out of range"},
      {{"generators.rain.sizes={uniform: [1, 2], table: [{factor: 1}]}"}, "more than one distri"},
      {{"generators.clay.sizes.normal.max=0.6"}, "max: is below min"},
      {{"generators.clay.sizes.normal.mean=9"}, "more than 5 deviations"},
      {{"generators.rain.shape={blob: {}}"}, "blob"},
      {{"generators.rain.shape=plane"}, "plane"},
      {{"generators.rain.material=gold"}, "there is no material 'gold'"},
      {{"outflow.drain.upper=[0, 0]"}, "expected"},
      {{"outflow.drain.lower=[0, 0, 5]"}, "upper: lies below"},
      {{"outflow=[{name: a, lower: [0,0,0], upper: [1,1,1]}, {name: a, lower: [0,0,0], upper: "
        "[1,1,1]}]"},
       "the name 'a' is taken"},
      {{"periodic.x=[1, -1]"}, "x: does not ascend"},
      {{"periodic={}"}, "names no direction"},
      {{"dimension=2", "periodic={x: [0, 1]}", "gravity=[0, 1, 0]"}, "gravity: has a component"},
      {{"dimension=2"}, "y: two dimensions have no y"},
      {{"dimension=4"}, "dimension: '4' is out of range"},
      {{"bodies.shaker.motion.harmonics=[{amplitude: [0, 0, 1]}]"}, "frequency: missing"},
      {{"bodies.shaker.motion.table={}"}, "nothing is given; give rows or file"},
      {{"bodies.shaker.motion.table={file: none.csv}"}, "/data/none.csv: no such file"},
  };
  for (const auto& [set, expected] : cases) {
    const std::string error = error_of(set);
    EXPECT_NE(error.find(expected), std::string::npos) << set[0] << ": " << error;
  }
  const auto without = [](const std::string& what) {
    std::string text = kCase;
    text.erase(text.find(what), what.size());
    return test::error_of([&] { whole_case(text); });
  };
  EXPECT_NE(without(", count: 1000").find("case.yaml:16:5: generators.rain.count: missing"),
            std::string::npos)
      << without(", count: 1000");
  EXPECT_NE(without("number_rate: 100, ").find("has no rate"), std::string::npos);
}

class MotionTableFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  /// Reads a case with a table of this text; the motion's table.
  MotionTable read(const std::string& text) {
    std::ofstream(path_) << text;
    const Model model =
        make_model(whole_case(kCase, {"bodies.shaker.motion.table={file: " + path_ + "}"}),
                   Communicator::self());
    return model.motions[0].table;
  }
  std::string error(const std::string& text) {
    return test::error_of([&] { read(text); });
  }

  std::string path_ =
      (std::filesystem::temp_directory_path() / ("piston" + std::to_string(getpid()) + ".csv"))
          .string();
};

TEST_F(MotionTableFile, HoldsColumnsInAnyOrder) {
  const MotionTable table =
      read("# a piston\nz, t, x, y\n0, 0, 0, 0\n\n0.5, 1, -1e-1, 2 \r\n0.25, 2.5, 0, 0");

  ASSERT_EQ(table.time, (std::vector<double>{0.0, 1.0, 2.5}));
  EXPECT_EQ(table.position[1], Vec3(-0.1, 2, 0.5));
  EXPECT_TRUE(table.rotation.empty());
  EXPECT_EQ(read("t,x,y,z,rx,ry,rz\n1,2,3,4,5,6,7\n").rotation[0], Vec3(5, 6, 7));
}

TEST_F(MotionTableFile, SaysWhatIsWrongAndInWhichLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ".csv:0: the table is empty"},
      {"t,x,y,z\n", ".csv:1: the table has no rows"},
      {"t,x,y\n0,0,0\n", ".csv:1: the column z is missing"},
      {"x,y,z\n0,0,0\n", ".csv:1: the column t is missing"},
      {"t,x,y,z,rx\n0,0,0,0,0\n", ".csv:1: the column ry is missing"},
      {"t,x,y,z,x\n", "the column 'x' stands twice"},
      {"t,x,y,z,w\n", "unknown column 'w'"},
      {"t,x,y,z\n0,0,0,0\n1,0,0\n", ".csv:3: found 3 fields"},
      {"t,x,y,z\n0,0,0,0\n\n1,0,nan,0\n", ".csv:4: 'nan' is not a finite number"},
      {"t,x,y,z\n0,0,0,inf\n", ".csv:2: 'inf' is not a finite number"},
      {"t,x,y,z\n0,0,0,1m\n", ".csv:2: '1m' is not a finite number"},
      {"t,x,y,z\n0,0,0,0\n2,0,0,0\n2,0,0,0\n", ".csv:4: the time 2.000000 does not ascend"},
      {"t,x,y,z\n1,0,0,0\n0,0,0,0\n", ".csv:3: the time 0.000000 does not ascend"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(error(text).find(expected), std::string::npos) << text << error(text);
  }
}

TEST(Insertion, SizesFollowTheirDistribution) {
  const CaseSettings s = whole_case(kCase);
  const Model model = make_model(s, Communicator::self());
  const std::vector<Insertion> insertions = make_insertions(s, Communicator::self(), model);
  constexpr int kDraws = 20000;
  const auto factor = [&](std::size_t i, int k, double whole) {
    return insertions[i].constants(k).shape.size[0] / whole;
  };
  double uniform = 0.0, normal = 0.0, small = 0.0;
  for (int k = 0; k < kDraws; ++k) {
    const double u = factor(0, k, 0.05), n = factor(1, k, 0.05);
    EXPECT_TRUE(u >= 0.8 - 1e-12 && u <= 1.2 + 1e-12);
    EXPECT_TRUE(n >= 0.7 - 1e-12 && n <= 1.2 + 1e-12);
    uniform += u / kDraws;
    normal += n / kDraws;
    small += factor(2, k, 0.1) < 0.75 ? 1.0 / kDraws : 0.0;
  }
  // mean of the normal distribution cut off to -3 .. 2 deviations:
  // mean + deviation (phi(-3) - phi(2)) / (Phi(2) - Phi(-3))
  const auto phi = [](double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * M_PI); };
  const auto cdf = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  const double cut = 1.0 + 0.1 * (phi(-3) - phi(2)) / (cdf(2) - cdf(-3));
  // four standard deviations of the mean of 20000 draws
  EXPECT_NEAR(uniform, 1.0, 4 * 0.4 / std::sqrt(12.0 * kDraws));
  EXPECT_NEAR(normal, cut, 4 * 0.1 / std::sqrt(1.0 * kDraws));
  EXPECT_NEAR(small, 0.75, 4 * std::sqrt(0.75 * 0.25 / kDraws));
}

TEST(Insertion, MassFollowsFromTheSize) {
  const CaseSettings s = whole_case(kCase);
  const Model model = make_model(s, Communicator::self());
  const std::vector<Insertion> insertions = make_insertions(s, Communicator::self(), model);
  for (int k = 0; k < 10; ++k) {
    const BodyConstants ball = insertions[0].constants(k);
    const double r = ball.shape.size[0];
    EXPECT_EQ(ball.id, 1 + k);
    EXPECT_NEAR(ball.mass, 2500.0 * 4.0 / 3.0 * M_PI * r * r * r, 1e-12 * ball.mass);
    EXPECT_NEAR(ball.inertia[0], 0.4 * ball.mass * r * r, 1e-12 * ball.inertia[0]);
    const BodyConstants box = insertions[1].constants(k);
    EXPECT_EQ(box.id, 1 + 1000 + k);
    EXPECT_NEAR(box.mass, 2500.0 * 8.0 * box.shape.size.prod(), 1e-12 * box.mass);
  }
}

TEST(Insertion, PlacesFillTheRegionAndHoldTheBodyWhole) {
  const CaseSettings s = whole_case(kCase);
  const Model model = make_model(s, Communicator::self());
  const std::vector<Insertion> insertions = make_insertions(s, Communicator::self(), model);
  for (const Insertion& insertion : insertions) {
    Aabb centres;
    for (int k = 0; k < 2000; ++k) {
      const BodyConstants body = insertion.constants(k % 10);
      const BodyMotionState place = insertion.place(body, k % 10, k / 10);
      const Aabb box = bounds_of(body.shape, place.pose);
      EXPECT_TRUE((box.lo.array() >= insertion.settings().lower.array() - 1e-12).all());
      EXPECT_TRUE((box.hi.array() <= insertion.settings().upper.array() + 1e-12).all());
      EXPECT_NEAR(place.pose.q.norm(), 1.0, 1e-12);
      centres.merge({place.pose.p, place.pose.p});
    }
    const Vec3 room = insertion.settings().upper - insertion.settings().lower;
    EXPECT_TRUE(((centres.hi - centres.lo).array() > room.array() - 0.26).all());
  }
  EXPECT_EQ(insertions[0].place(insertions[0].constants(3), 3, 0).twist.v, Vec3(0, 0, -1));
}

}  // namespace
}  // namespace catena
