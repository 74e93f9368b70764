// Tables over time in cases: their keys, and what bodies and motors do by them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "catena/base/log.hpp"
#include "catena/io/checkpoint.hpp"
#include "support/case_text.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

using enum Interpolation;
using test::body_of;
using test::case_of;

constexpr double kPi = std::numbers::pi;

/// A CSV file as long as the object lives.
class TableFile {
 public:
  explicit TableFile(const std::string& text) { std::ofstream(path_) << text; }
  ~TableFile() { std::filesystem::remove(path_); }
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ =
      (std::filesystem::temp_directory_path() / ("table_case" + std::to_string(getpid()) + ".csv"))
          .string();
};

std::string error_of(const std::string& yaml, const std::vector<std::string>& set = {}) {
  return test::error_of([&] { case_of(yaml, set); });
}

const std::string kMotion =
    "bodies: [{name: b, mass: 1, inertia: [1, 1, 1]},\n"
    "  {name: g, motion: {table: {file: gate.csv}}}]\n"
    "joints: [{name: j, type: revolute, between: [world, b], at: [0, 0, 0], axis: [0, 1, 0],\n"
    "   motor: {position: 1, table: {rows: [[0, 0], [1, 1]]}}}]\n"
    "forces: [{name: f, type: force, body: b, force: [1, 0, 0], table: {rows: [[0, 0], [1, 1]]}}]\n"
    "time: {step: 1 ms, end: 1}\n";

TEST(TableKeys, InterpolationIsMonotoneForMotionsAndPositionsAndLinearForFactors) {
  const std::string printed = print_case(case_of(kMotion));

  std::vector<std::string> found;
  for (std::size_t at = 0; (at = printed.find("interpolation: ", at)) != std::string::npos; ++at)
    found.push_back(printed.substr(at + 15, printed.find('\n', at) - at - 15));
  EXPECT_EQ(found, (std::vector<std::string>{"monotone", "linear", "linear"}));

  const CaseSettings s =
      case_of(kMotion, {"joints.j.motor={table: {values: position, rows: [[0, 0], [1, 1]]}}"});
  EXPECT_EQ(s.joints[0].first.motor.table.interpolation, monotone);
  const CaseSettings v =
      case_of(kMotion, {"joints.j.motor={table: {values: velocity, rows: [[0, 0], [1, 1]]}}"});
  EXPECT_EQ(v.joints[0].first.motor.table.interpolation, linear);
}

TEST(TableKeys, EveryTableTakesEachInterpolationAndPrintsItBack) {
  for (const std::string word : {"monotone", "linear", "cubic"}) {
    const CaseSettings s = case_of(kMotion, {"bodies.g.motion.table.interpolation=" + word,
                                             "joints.j.motor.table.interpolation=" + word,
                                             "forces.f.table.interpolation=" + word});
    const CaseSettings again = parse_case(print_case(s), "printed.yaml", ".");
    for (const CaseSettings* c : {&s, &again}) {
      const auto name = [](Interpolation i) { return kInterpolationNames[static_cast<int>(i)]; };
      EXPECT_EQ(name(c->bodies[1].motion.parts.table.interpolation), word);
      EXPECT_EQ(name(c->joints[0].first.motor.table.interpolation_or_default()), word);
      EXPECT_EQ(name(c->forces[0].table.interpolation_or_default()), word);
    }
  }
  EXPECT_NE(error_of(kMotion, {"bodies.g.motion.table.interpolation=smooth"})
                .find("bodies.g.motion.table.interpolation: unknown value 'smooth'; known: "
                      "monotone, linear"),
            std::string::npos)
      << error_of(kMotion, {"bodies.g.motion.table.interpolation=smooth"});
}

TEST(TableKeys, ATargetStandsInTheTableOrBesideIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"{table: {rows: [[0, 1]]}}", "has no target"},
      {"{position: 1, table: {values: position, rows: [[0, 1]]}}",
       "joints.j.motor.position: stands beside a table of targets"},
      {"{velocity: 1, table: {values: position, rows: [[0, 1]]}}",
       "joints.j.motor.velocity: stands beside a table of targets"},
      {"{viscosity: 1, table: {values: position, rows: [[0, 1]]}}", "is for velocity motors"},
      {"{compliance: 1, table: {values: velocity, rows: [[0, 1]]}}", "is for position motors"},
      {"{table: {values: position, rows: [[0, 1 m]]}}", "found m, needs rad"},
      {"{table: {values: position, rows: [[1 rad, 1]]}}", "found rad, needs s"},
      {"{position: 1, table: {rows: [[0, 30 deg]]}}", "needs a number without unit"},
      {"{table: {values: position, rows: [[0, 0], [0, 1]]}}", "times do not ascend"},
  };
  for (const auto& [motor, expected] : cases) {
    const std::string error = error_of(kMotion, {std::string("joints.j.motor=") + motor});
    EXPECT_NE(error.find(expected), std::string::npos) << motor << "\n" << error;
  }
  EXPECT_NE(error_of(kMotion, {"forces.f.table.values=factor"}).find("unknown key"),
            std::string::npos);
  EXPECT_NE(
      error_of(kMotion, {"bodies.g.motion.table.values=absolute", "bodies.g.position=[0,0,1]"})
          .find("`absolute` stands beside the body's `position`"),
      std::string::npos);
  EXPECT_NE(
      error_of(kMotion, {"bodies.g.motion.table.values=absolute", "bodies.g.motion.about=[0,0,1]"})
          .find("`absolute` stands beside `about`"),
      std::string::npos);
}

TEST(Gate, StaysShutUntilItIsToldToOpenAndNeverGoesBeyond) {
  Simulation sim(Communicator::self(),
                 read_case(Communicator::self(), CATENA_TEST_DATA "/trials/gate.yaml"));
  while (sim.state().step < sim.n_steps()) {
    sim.step();
    const double t = sim.state().time, x = body_of(sim, 0).pose.p.x();
    EXPECT_TRUE(x >= 0.0 && x <= 0.1) << t << " " << x;
    if (t > 0.6 && t < 0.65) continue;
    EXPECT_NEAR(x, t <= 0.6 ? 0.0 : 0.1, 1e-12) << t;
    if (t > 0.6) continue;
    // the ball is not carried off before the gate opens
    EXPECT_NEAR(body_of(sim, 1).pose.p.x(), 0.0, 1e-9) << t;
  }
}

TEST(MovedBody, GoesFromStepToStepAsTheTableSaysWhateverTheInterpolation) {
  const TableFile file(
      "t,x,y,z,rx,ry,rz\n0,0,0,0,0,0,0\n0.013,0.1,0,-0.2,0.3,0,0.1\n0.05,0.1,0,0.4,0.3,0.2,0\n"
      "0.0507,0.2,1,0.4,0,0,0\n0.09,0,0,0,0,0,-1\n");
  for (const char* stepper : {"spook", "natural"}) {
    for (const Interpolation interpolation : {monotone, linear, cubic}) {
      Simulation sim(
          Communicator::self(),
          case_of(
              "bodies: [{name: g, position: [1, 2, 3], orientation: {axis: [1, 1, 0], angle: 1}, "
              "motion: {table: {file: " +
              file.path() + ", interpolation: " +
              std::string(kInterpolationNames[static_cast<int>(interpolation)]) +
              "}}}, {name: b, mass: 1, inertia: [1, 1, 1], position: [1, 2, 3]}]\n"
              "joints: [{name: j, type: spherical, between: [g, b], at: [1, 2, 3]}]\n"
              "time: {stepper: " +
              stepper + ", step: 1 ms, end: 0.1}\n"));
      const MotionTable& table = sim.model().motions[0].table;
      while (sim.state().step < sim.n_steps()) {
        const BodyMotionState before = body_of(sim, 0);
        const double t0 = sim.state().time;
        sim.step();
        const double t = sim.state().time;
        // each component by itself, as a table of one number
        Vec3 d = Vec3::Zero(), theta = Vec3::Zero();
        for (int k = 0; k < 3; ++k) {
          ValueTable column{table.time, {}, interpolation};
          for (const Vec3& row : table.position) column.value.push_back(row[k]);
          d[k] = column.at(t);
          for (std::size_t i = 0; i < table.time.size(); ++i)
            column.value[i] = table.rotation[i][k];
          theta[k] = column.at(t);
        }
        const Quat start(Eigen::AngleAxisd(1.0, Vec3(1, 1, 0).normalized()));
        const Quat turned = theta.isZero(0.0)
                                ? start
                                : Quat(Eigen::AngleAxisd(theta.norm(), theta.normalized())) * start;
        EXPECT_LT((body_of(sim, 0).pose.p - (Vec3(1, 2, 3) + d)).norm(), 1e-14) << t;
        EXPECT_LT(body_of(sim, 0).pose.q.angularDistance(turned), 1e-14) << t;
        // what contacts see is the way gone over the step
        const Twist mean = mean_twist(sim.model(), sim.bodies().constants[0],
                                      sim.state().motions[0].start, t0, t - t0);
        EXPECT_LT((before.pose.p + (t - t0) * mean.v - body_of(sim, 0).pose.p).norm(), 1e-14);
        // and what is joined to it goes along; where a slope jumps, to the scheme's error, which
        // fades
        if (std::string(stepper) == "natural") {
          EXPECT_LT((body_of(sim, 1).pose.p - body_of(sim, 0).pose.p).norm(), 1e-7) << t;
        }
      }
    }
  }
}

TEST(MovedBody, IsWhereAnAbsoluteTableSays) {
  const TableFile file("t,x,y,z,rx,ry,rz\n0,5,6,7,0,0,0.5\n1,6,6,7,0,0,1.5\n");
  const std::string yaml =
      "bodies: [{name: g, orientation: {axis: [1, 0, 0], angle: 1}, motion: {table: {file: " +
      file.path() +
      ", values: absolute}}}, {name: b, mass: 1, inertia: [1, 1, 1], position: [5, 6, 8]}]\n"
      "joints: [{name: j, type: fixed, between: [g, b], at: [5, 6, 7]}]\n"
      "time: {step: 10 ms, end: 1}\n";
  Simulation sim(Communicator::self(), case_of(yaml));

  EXPECT_EQ(body_of(sim, 0).pose.p, Vec3(5, 6, 7));
  EXPECT_LT(body_of(sim, 0).pose.q.angularDistance(Quat(Eigen::AngleAxisd(0.5, Vec3::UnitZ()))),
            1e-15);
  for (int i = 0; i < 50; ++i) sim.step();
  EXPECT_LT((body_of(sim, 0).pose.p - Vec3(5.5, 6, 7)).norm(), 1e-14);
  EXPECT_LT(body_of(sim, 0).pose.q.angularDistance(Quat(Eigen::AngleAxisd(1.0, Vec3::UnitZ()))),
            1e-14);
  // what is joined to it was placed where it is at the start, and goes along
  EXPECT_LT((body_of(sim, 1).pose.p - Vec3(5.5, 6, 8)).norm(), 1e-2);
}

TEST(MovedBody, KeepsItsOrientationWhereAnAbsoluteTableHasNone) {
  const TableFile file("t,x,y,z\n0,5,6,7\n1,6,6,7\n");
  Simulation sim(
      Communicator::self(),
      case_of("bodies: [{name: g, orientation: {axis: [1, 0, 0], angle: 1}, motion: {table: "
              "{file: " +
              file.path() + ", values: absolute}}}]\ntime: {step: 10 ms, end: 1}\n"));
  sim.step();
  EXPECT_LT((body_of(sim, 0).pose.p - Vec3(5.01, 6, 7)).norm(), 1e-14);
  EXPECT_LT(body_of(sim, 0).pose.q.angularDistance(Quat(Eigen::AngleAxisd(1.0, Vec3::UnitX()))),
            1e-15);
}

/// A wheel about the y axis that a motor drives.
std::string driven(const std::string& motor, const std::string& stepper = "spook") {
  return "gravity: [0, 0, 0]\n"
         "bodies: [{name: wheel, mass: 1, inertia: [0.5, 0.5, 0.5]}]\n"
         "joints: [{name: hinge, type: revolute, between: [world, wheel], at: [0, 0, 0], axis: [0, "
         "1, 0], motor: {table: " +
         motor + "}}]\ntime: {stepper: " + stepper + ", step: 2 ms, end: 1}\n";
}

double coordinate(const Simulation& sim) {
  return sim.stepper().joint_coordinates(sim.bodies(), sim.state(), 0)[0];
}

TEST(DrivenJoint, FollowsATableOfPositionsInDegrees) {
  for (const char* stepper : {"spook", "natural"}) {
    Simulation sim(
        Communicator::self(),
        case_of(driven("{values: position, rows: [[0, 0], [0.2, 0], [300 ms, 90 deg], [1 s, "
                       "90 deg]]}",
                       stepper)));
    while (sim.state().step < sim.n_steps()) {
      sim.step();
      const double t = sim.state().time, s = std::clamp((t - 0.2) / 0.1, 0.0, 1.0);
      // slopes are 0 at flat pieces: 3 s^2 - 2 s^3 between them; `natural` is as good as its steps
      ASSERT_NEAR(coordinate(sim), 0.5 * kPi * s * s * (3.0 - 2.0 * s),
                  std::string(stepper) == "natural" ? 1e-6 : 1e-8)
          << stepper << " " << t;
    }
  }
}

TEST(DrivenJoint, TurnsByTheIntegralOfATableOfVelocities) {
  for (const char* stepper : {"spook", "natural"}) {
    for (const Interpolation interpolation : {monotone, linear, cubic}) {
      const std::string name(kInterpolationNames[static_cast<int>(interpolation)]);
      Simulation sim(Communicator::self(),
                     case_of(driven("{values: velocity, interpolation: " + name +
                                        ", rows: [[0, 0], [0.1003, 60 rpm], [0.5, -1], [0.7, -1]]}",
                                    stepper)));
      const ValueTable table{{0.0, 0.1003, 0.5, 0.7}, {0.0, 2.0 * kPi, -1.0, -1.0}, interpolation};
      while (sim.state().step < sim.n_steps()) sim.step();
      // Gauss's three points on every piece are exact for quintics
      double angle = -1.0 * 0.3;
      for (std::size_t k = 0; k + 1 < table.time.size(); ++k) {
        const double half = 0.5 * (table.time[k + 1] - table.time[k]);
        const double middle = table.time[k] + half, d = half * std::sqrt(0.6);
        angle += half / 9.0 *
                 (5.0 * table.at(middle - d) + 8.0 * table.at(middle) + 5.0 * table.at(middle + d));
      }
      EXPECT_NEAR(coordinate(sim), angle, std::string(stepper) == "natural" ? 1e-7 : 1e-9)
          << stepper << " " << name;
    }
  }
}

TEST(Force, GivesTheImpulseOfItsTableForEachInterpolation) {
  for (const Interpolation interpolation : {monotone, linear, cubic}) {
    const std::string name(kInterpolationNames[static_cast<int>(interpolation)]);
    Simulation sim(Communicator::self(),
                   case_of("gravity: [0, 0, 0]\nbodies: [{name: b, mass: 2, inertia: [1, 1, 1]}]\n"
                           "forces: [{name: f, type: force, body: b, force: [3, 0, 0], table: "
                           "{interpolation: " +
                           name +
                           ", rows: [[0, 0], [0.0333, 1], [0.0334, 1], [0.1, 0]]}}]\n"
                           "time: {step: 10 ms, end: 0.1}\n"));
    while (sim.state().step < sim.n_steps()) sim.step();
    const ValueTable table{{0.0, 0.0333, 0.0334, 0.1}, {0.0, 1.0, 1.0, 0.0}, interpolation};
    double impulse = 0.0;
    constexpr int kParts = 400000;
    for (int i = 0; i < kParts; ++i)
      impulse += 3.0 * table.at(0.1 * (i + 0.5) / kParts) * 0.1 / kParts;
    EXPECT_NEAR(2.0 * body_of(sim, 0).twist.v.x(), impulse, 1e-8) << name;
  }
}

/// Message of going on, with `now`, from a checkpoint whose case is `before`.
std::string resume_error(const std::string& before, const CaseSettings& now) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("table_case" + std::to_string(getpid()) + ".h5"))
          .string();
  Simulation sim(Communicator::self(), now);
  CheckpointNotes notes;
  notes.config = before;
  notes.n_parts = 1;
  write_checkpoint(Communicator::self(), path, notes, sim.bodies(), sim.state());
  const std::string found = test::error_of([&] {
    RunOptions options;
    Log log(false);
    resume(Communicator::self(), now, path, options, log);
  });
  std::filesystem::remove(path);
  return found;
}

TEST(Resume, KnowsTheInterpolationAlsoOfCasesFromBeforeItHadAKey) {
  const TableFile file("t,x,y,z\n0,0,0,0\n1,1,0,0\n");
  const std::string yaml = "bodies: [{name: g, motion: {table: {file: " + file.path() +
                           "}}}]\ntime: {step: 10 ms, end: 1}\n";
  const CaseSettings now = case_of(yaml);
  const CaseSettings cubic_now = case_of(yaml, {"bodies.g.motion.table.interpolation=cubic"});
  std::string old = print_case(now);
  const std::size_t at = old.find("interpolation:");
  old.erase(at, old.find('\n', at) - at);

  EXPECT_EQ(resume_error(print_case(now), now), "no error");
  EXPECT_NE(resume_error(print_case(cubic_now), now)
                .find("bodies.g.motion.table.interpolation was cubic, is now monotone"),
            std::string::npos)
      << resume_error(print_case(cubic_now), now);
  EXPECT_NE(
      resume_error(old, now).find("bodies.g.motion.table.interpolation was cubic, is now monotone"),
      std::string::npos)
      << resume_error(old, now);
  EXPECT_EQ(resume_error(old, cubic_now), "no error");
}

}  // namespace
}  // namespace catena
