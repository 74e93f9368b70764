// Contacts that give, against closed forms: sinking, Hertz, columns, tables, friction held, and
// what stands and settles.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "analytic/case_runner.hpp"
#include "analytic/elastic_scenes.hpp"

namespace catena::test {
namespace {

double height(const Simulation& sim, GlobalId id) { return body_of(sim, id).pose.p.z(); }

/// A ball of 0.1 m and 1 kg that just touches a plane.
std::string ball_on_plane(const std::string& contact, const std::string& material = "") {
  return "materials: {m: {density: " + text_of(1.0 / (4.0 / 3.0 * kPi * 1e-3)) + ", friction: 0.5" +
         material + "}}\n" + "contact: {" + contact + "}\n" +
         "bodies:\n"
         "  - {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: [0, 0, 0.1]}\n"
         "  - {name: ground, material: m, shape: {plane: {}}}\n";
}

TEST(ElasticStatics, BallSinksByItsWeightOverTheStiffness) {
  for (const char* stepper : {"spook", "dvi"}) {
    const auto sim = simulate(ball_on_plane("stiffness: 1e5") + kTight +
                              "time: {step: 1 ms, end: 3, stepper: " + stepper + "}\n");
    run_until(*sim, 3.0);
    EXPECT_NEAR(0.1 - height(*sim, 0), kG / 1e5, 1e-9 * kG / 1e5) << stepper;
  }
}

TEST(ElasticStatics, AutomaticStiffnessSinksByMobilityTimesStepSquaredOverRatio) {
  const double h = 2e-3, ratio = 100.0;
  const auto sim = simulate(ball_on_plane("stiffness: auto, stiffness_ratio: 100") + kTight +
                            "time: {step: 2 ms, end: 1}\n");
  run_until(*sim, 1.0);
  // N = diag(1, 7/2, 7/2)/m of a ball on the ground, its arm cut by half the overlap; beta = 1
  const double sunk = 0.1 - height(*sim, 0), arm = 1.0 - 0.5 * sunk / 0.1;
  const double compliance = (1.0 + 2.0 * (1.0 + 2.5 * arm * arm)) / 3.0 * h * h / ratio;
  EXPECT_NEAR(sunk, compliance * kG, 1e-9 * compliance * kG);
}

TEST(ElasticStatics, HardenedBallSinksByThePowerTwoThirdsOfItsWeight) {
  const double h = 2e-3, ratio = 100.0, linear = 1e-6 * 0.1;
  const auto sim =
      simulate(ball_on_plane("stiffness: auto, stiffness_ratio: 100, hardening: 1e-6") + kTight +
               "time: {step: 2 ms, end: 1}\n");
  run_until(*sim, 1.0);
  // f = overlap^(3/2)/(eps sqrt(linear)), with eps as in the test above
  const double sunk = 0.1 - height(*sim, 0), arm = 1.0 - 0.5 * sunk / 0.1;
  const double compliance = (1.0 + 2.0 * (1.0 + 2.5 * arm * arm)) / 3.0 * h * h / ratio;
  EXPECT_GT(sunk, 3.0 * linear);
  EXPECT_NEAR(sunk, std::pow(compliance * kG * std::sqrt(linear), 2.0 / 3.0), 1e-9 * sunk);
  const double stored = 0.4 * kG * sunk + 0.1 * linear * linear / compliance;
  EXPECT_NEAR(sim->stepper().report().audit[EnergyTerm::elastic_energy], stored, 1e-6 * stored);
}

TEST(ElasticStatics, HertzBallOnPlane) {
  const auto sim =
      simulate(ball_on_plane("stiffness: material", ", youngs_modulus: 1e7, poisson_ratio: 0.3") +
               kTight + "time: {step: 1 ms, end: 4}\n");
  run_until(*sim, 4.0);
  const double modulus = 1e7 / (2.0 * (1.0 - 0.09));
  const double sunk = std::cbrt(9.0 * kG * kG / (16.0 * modulus * modulus * 0.1));
  EXPECT_NEAR(0.1 - height(*sim, 0), sunk, 1e-6 * sunk);
}

TEST(ElasticStatics, ColumnOfTwentySinksByTheSumOfWhatItCarries) {
  const int n = 20;
  std::string yaml =
      "materials: {m: {density: 1000, friction: 0}}\n"
      "contact: {stiffness: 1e5}\nbodies:\n";
  for (int i = 0; i < n; ++i)
    yaml += "  - {name: b" + std::to_string(i) + ", material: m, mass: 0.5, inertia: [1, 1, 1], " +
            "shape: {sphere: {radius: 0.1}}, position: [0, 0, " + std::to_string(0.1 + 0.2 * i) +
            "]}\n";
  yaml += "  - {name: ground, material: m, shape: {plane: {}}}\n" + kTight +
          "time: {step: 2 ms, end: 6}\n";
  const auto sim = simulate(yaml);
  run_until(*sim, 4.0);
  double sunk = 0.0;
  for (int i = 0; i < n; ++i) {
    sunk += 0.5 * kG * (n - i) / 1e5;
    EXPECT_NEAR(0.1 + 0.2 * i - height(*sim, i), sunk, 1e-8 * sunk) << i;
  }
}

/// A unit cube of 1000 kg on the ground under a slanted gravity, which stands for a slope.
std::string cube_on_slope(double friction, double slope, const std::string& contact) {
  return "gravity: [" + std::to_string(kG * std::sin(slope)) + ", 0, " +
         std::to_string(-kG * std::cos(slope)) +
         "]\nmaterials: {m: {density: 1000, friction: " + std::to_string(friction) +
         "}}\ncontact: {" + contact + "}\n" +
         "bodies:\n"
         "  - {name: cube, material: m, shape: {box: {size: [1, 1, 1]}}, position: [0, 0, 0.5]}\n"
         "  - {name: ground, material: m, shape: {plane: {}}}\n";
}

TEST(ElasticStatics, SphereOnFixedSphereSinksByHertzsLawOfTwoSpheres) {
  const auto sim = simulate(
      "materials: {m: {density: 2500, restitution: 0.5, youngs_modulus: 1e7, poisson_ratio: 0.3}}\n"
      "contact: {stiffness: material}\nbodies:\n"
      "  - {name: base, material: m, fixed: true, shape: {sphere: {radius: 0.1}}}\n"
      "  - {name: ball, material: m, position: [0, 0, 0.3], shape: {sphere: {radius: 0.2}}}\n" +
      kTight + "time: {step: 0.2 ms, end: 1}\n");
  run_until(*sim, 1.0);
  const double weight = 2500.0 * 4.0 / 3.0 * kPi * 0.008 * kG;
  const double modulus = 1e7 / (2.0 * 0.91), radius = 0.1 * 0.2 / 0.3;
  const double sunk = std::pow(0.75 * weight / (modulus * std::sqrt(radius)), 2.0 / 3.0);
  EXPECT_NEAR(0.3 - body_of(*sim, 1).pose.p.z(), sunk, 1e-3 * sunk);
}

TEST(ElasticStatics, FourCornersCarryWhatTheLeastEnergySays) {
  // normal forces of a rigid plate on four equal springs: linear in x, with the moment of friction
  const double slope = 0.2;
  const auto sim = simulate(cube_on_slope(0.8, slope, "stiffness: 1e8") + kTight +
                            "time: {step: 1 ms, end: 1}\n");
  run_until(*sim, 1.0);
  const double weight = 1000.0 * kG;
  const auto& stepper = sim->stepper();
  ASSERT_EQ(stepper.n_contacts(), 4U);
  for (std::size_t k = 0; k < 4; ++k) {
    const ContactRecord c = stepper.contact(k);
    const double force = std::abs(c.impulse.z()) / 1e-3;
    const double side = c.point.x() > 0.0 ? 1.0 : -1.0;
    const double expected = weight * (std::cos(slope) / 4.0 + side * std::sin(slope) / 4.0);
    EXPECT_NEAR(force, expected, 1e-4 * weight) << k;  // the cube has sunk and tilted a little
  }
}

TEST(ElasticStatics, BlockAtNinetyNineHundredthsOfItsFrictionDoesNotCreep) {
  for (const char* contact : {"stiffness: auto", "stiffness: 1e7", "law: ccp, stiffness: auto"}) {
    const auto sim = simulate(cube_on_slope(0.5, std::atan(0.99 * 0.5), contact) + kTight +
                              "time: {step: 2 ms, end: 20}\n");
    run_until(*sim, 2.0);
    const Vec3 start = body_of(*sim, 0).pose.p;
    run_until(*sim, 20.0);
    EXPECT_LT((body_of(*sim, 0).pose.p - start).norm(), 1e-12) << contact;
  }
}

TEST(ElasticStatics, SmallCubeHoldsUnderTheDefaults) {
  // 0.3 mg at 0.1 ms: the energies of a step are 1e-14 J
  const auto sim = simulate(
      "gravity: [4.905, 0, -8.4957]\nmaterials: {m: {density: 2500, friction: 1}}\nbodies:\n"
      "  - {name: cube, material: m, shape: {box: {size: [0.5 mm, 0.5 mm, 0.5 mm]}}, position: [0, "
      "0, 0.25 mm]}\n"
      "  - {name: ground, material: m, shape: plane}\n"
      "time: {step: 0.1 ms, end: 0.1}\n");
  run_until(*sim, 0.1);
  EXPECT_LT(body_of(*sim, 0).pose.p.x(), 1e-8);
}

TEST(ElasticStatics, BlockAboveItsFrictionSlidesByCoulombsLaw) {
  const double slope = std::atan(0.6);
  const auto sim =
      simulate(cube_on_slope(0.5, slope, "stiffness: auto") + "time: {step: 1 ms, end: 1}\n");
  run_until(*sim, 0.5);
  const double before = body_of(*sim, 0).twist.v.x();
  run_until(*sim, 1.0);
  const double rate = (body_of(*sim, 0).twist.v.x() - before) / 0.5;
  const double expected = kG * (std::sin(slope) - 0.5 * std::cos(slope));
  EXPECT_NEAR(rate, expected, 1e-3 * expected);
}

// 1 kg at 1 m/s: sliding, and with rolling friction, contacts never store what the ball does not
// have, by methods that end on the friction cone and by one that ends within it.
TEST(ElasticDynamics, SlidingAndRollingStoreNoMoreThanTheBallHas) {
  for (const char* couples : {"", ", rolling_friction: 5 mm, spinning_friction: 5 mm"})
    for (const char* law : {"coulomb", "ccp", "lagged"})
      for (const char* method : {"gauss_seidel", "apgd", "interior_point"}) {
        const std::string name = std::string(law) + " " + method + couples;
        const auto sim = simulate(
            std::string("materials: {m: {density: 1000, friction: 0.5") + couples +
            "}}\ncontact: {stiffness: auto, law: " + law + "}\nsolver: {method: " + method +
            "}\nbodies:\n"
            "  - {name: ball, material: m, mass: 1, inertia: [4e-3, 4e-3, 4e-3], shape: {sphere: "
            "{radius: 0.1}}, position: [0, 0, 0.1], velocity: [1, 0, 0]}\n"
            "  - {name: ground, material: m, shape: plane}\n"
            "time: {step: 2 ms, end: 1}\n");
        double most = 0.0;
        for (int i = 0; i < 200; ++i) {
          const StepReport& r = sim->step();
          most = std::max(most, r.kinetic + r.audit[EnergyTerm::elastic_energy]);
        }
        // a step's error besides
        EXPECT_LT(most, 0.51) << name;
      }
}

TEST(ElasticDynamics, WhatPassesByIsNotStretchedWhateverSolves) {
  // One ball rests, another one flies up from the ground, within the margin all the time: interior
  // points leave its open contact 1e-21 N s, inside the cone.
  const double h = 1e-3, sunk = 8.0 / 3.0 * h * h / 300.0 * kG;
  for (const char* method : {"gauss_seidel", "apgd", "interior_point", "dantzig"}) {
    const bool turns = std::string(method) != "dantzig";
    const std::string yaml =
        ball_on_plane("margin: 10 cm, stiffness: auto",
                      turns ? ", rolling_friction: 1 mm, spinning_friction: 1 mm" : "") +
        "  - {name: other, material: m, shape: {sphere: {radius: 0.1}}, position: [1, 0, 0.1], "
        "velocity: [1, 0, 1], angular_velocity: [3, 7, 5]}\n";
    const auto sim = simulate(
        yaml + "solver: {method: " + method +
        ", relative_tolerance: 1e-20, absolute_tolerance: 1e-24}\ntime: {step: 1 ms, end: 1}\n");
    for (int i = 0; i < 80; ++i) sim->step();
    const StepReport& r = sim->stepper().report();
    EXPECT_EQ(r.contacts, 2) << method;
    EXPECT_NEAR(r.audit[EnergyTerm::elastic_energy], 0.5 * kG * sunk, 1e-3 * kG * sunk) << method;
  }
}

TEST(ElasticStart, OverlapsOfTheStartAreRelaxedWithoutAThrow) {
  std::string yaml = ball_on_plane("stiffness: auto");
  yaml.replace(yaml.find("[0, 0, 0.1]"), 11, "[0, 0, 0.09]");
  const auto sim = simulate(yaml + "time: {step: 1 ms, end: 2}\n");
  double fastest = 0.0;
  while (sim->state().time < 2.0) {
    sim->step();
    fastest = std::max(fastest, body_of(*sim, 0).twist.v.z());
  }
  // an overlap of 10 mm goes with a time constant of 100 steps
  EXPECT_LT(fastest, 0.11);
  EXPECT_NEAR(height(*sim, 0), 0.1, 1e-4);
}

/// The published house of wooden blocks: floors of eight uprights with nine planks on them.
std::string kapla_house(int floors) {
  std::string yaml =
      "materials: {m: {friction: 0.8}}\nbodies:\n"
      "  - {name: ground, material: m, shape: {plane: {}}}\n";
  int n = 0;
  const auto add = [&](const Vec3& size, const Vec3& at) {
    const auto list = [](const Vec3& v) {
      return "[" + std::to_string(v.x()) + ", " + std::to_string(v.y()) + ", " +
             std::to_string(v.z()) + "]";
    };
    const Vec3 square = size.cwiseAbs2() * (10.0 / 12.0);
    yaml += "  - {name: b" + std::to_string(n++) + ", material: m, mass: 10, inertia: " +
            list({square.y() + square.z(), square.x() + square.z(), square.x() + square.y()}) +
            ", shape: {box: {size: " + list(size) + "}}, position: " + list(at) + "}\n";
  };
  for (int i = 0; i < floors; ++i) {
    for (int j = 0; j < 8; ++j) add({0.05, 0.25, 0.1}, {0.2 * j, 0.0, 0.2 * i + 0.05});
    const double z = 0.2 * i + 0.15;
    const auto plank = [&](double x, double y) { add({0.2, 0.05, 0.1}, {x, y, z}); };
    for (int j = 0; j < 4; ++j) plank(0.4 * j + 0.1, -0.1);
    for (int j = 0; j < 3; ++j) plank(0.4 * j + 0.3, 0.1);
    plank(0.1, 0.1);
    plank(1.3, 0.1);
  }
  return yaml + "time: {step: 10 ms, end: 4}\n";
}

TEST(ElasticHouse, HouseOfBlocksStandsUnderTheDefaults) {
  const auto sim = simulate(Communicator::self(), kapla_house(6));
  int missed = 0, iterations = 0;
  const auto steps = [&](double until) {
    while (sim->state().time < until - 1e-9) {
      const StepReport& r = sim->step();
      missed += r.solve.status == SolveStatus::converged ? 0 : 1;
      iterations += r.solve.iterations;
    }
  };
  steps(1.0);
  const auto start = places(*sim);
  iterations = 0;
  steps(4.0);
  EXPECT_EQ(missed, 0);
  EXPECT_LT(iterations, 300 * 40);
  EXPECT_LT(largest_move(*sim, start), 1e-4);
  EXPECT_LT(sim->stepper().report().overlap_largest, 0.01);
}

/// Five cubes of 1 m one upon another, the top of the given mass and the others of 1 t.
std::string stack_under(double top_mass, double end, const std::string& contact = "{}") {
  std::string yaml = "materials: {m: {density: 1000, friction: 0.5}}\ncontact: " + contact +
                     "\nbodies:\n  - {name: floor, material: m, shape: plane}\n";
  for (int i = 0; i < 5; ++i)
    yaml += "  - {name: cube" + std::to_string(i) +
            ", material: m, shape: {box: {size: [1, 1, 1]}}, position: [0, 0, " + text_of(i + 0.5) +
            "]" + (i == 4 ? ", mass: " + text_of(top_mass) : "") + "}\n";
  return yaml + "time: {step: 5 ms, end: " + text_of(end) + "}\noutput: {snapshot_interval: 9}\n";
}

TEST(ElasticStack, IsSaidToSinkInByWhatItsPlacesSay) {
  const auto sim = simulate(Communicator::self(), stack_under(1e6, 1.0));
  run_until(*sim, 0.995);
  double deepest = 1.0 - (height(*sim, 1) + 0.5);
  for (GlobalId id = 2; id <= 5; ++id)
    deepest = std::max(deepest, 1.0 - (height(*sim, id) - height(*sim, id - 1)));
  const StepReport& r = sim->step();
  EXPECT_GT(deepest, 1e-3);
  // in radii of the sphere of equal volume; cubes may lean
  EXPECT_NEAR(r.sunk_overlap * std::cbrt(0.75 / kPi), deepest, 0.02 * deepest);
  // a quarter of 1,000 to 1,003 weights; the stack still swings
  EXPECT_NEAR(r.sunk_load, 250.5, 30.0);

  const auto even = simulate(Communicator::self(), stack_under(1e3, 0.3));
  while (even->state().time < 0.3 - 1e-9) EXPECT_EQ(even->step().sunk_overlap, 0.0);
}

TEST(ElasticStack, TheLogNamesAHeavyTopAndWhatHoldsIt) {
  const auto log_of = [](const std::string& yaml) {
    const std::string directory =
        testing::TempDir() + "elastic_stack_" + std::to_string(::getpid());
    std::filesystem::remove_all(directory);
    RunOptions options;
    options.directory = directory;
    Log log(true, true);
    const auto sim = simulate(Communicator::self(), yaml);
    const double start = height(*sim, 5);
    EXPECT_EQ(sim->run(options, log), ExitCode::done);
    std::ifstream file(directory + "/log.jsonl");
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return std::pair(text, start - height(*sim, 5));
  };
  const std::string advice = "contact.stiffness: rigid with solver.method: auto";

  const auto [heavy, sinks] = log_of(stack_under(1e6, 0.25));
  const auto [even, stands] = log_of(stack_under(1e3, 0.25));
  const auto [rigid, holds] = log_of(stack_under(1e6, 0.25, "{stiffness: rigid}"));

  EXPECT_NE(heavy.find("overlap by"), std::string::npos) << heavy;
  EXPECT_NE(heavy.find("times the weight of the lighter one: "), std::string::npos) << heavy;
  EXPECT_NE(heavy.find("contacts had sunk in under heavy loads in"), std::string::npos) << heavy;
  EXPECT_NE(heavy.find(advice), std::string::npos) << heavy;
  EXPECT_GT(sinks, 3e-3);
  EXPECT_EQ(even.find(advice), std::string::npos) << even;
  EXPECT_LT(stands, 1e-4);
  // the advice is good
  EXPECT_EQ(rigid.find(advice), std::string::npos) << rigid;
  EXPECT_LT(holds, 1e-5);
}

TEST(ElasticHouse, ItsPointsKeepTheirKeys) {
  const auto sim = simulate(Communicator::self(), kapla_house(4));
  run_until(*sim, 1.0);
  std::vector<ContactKey> before;
  std::size_t kept = 0, all = 0;
  for (int i = 0; i < 50; ++i) {
    sim->step();
    std::vector<ContactKey> now;
    for (const KeyedImpulse& k : sim->state().impulses) now.push_back(k.key);
    for (const ContactKey& key : before)
      kept += std::binary_search(now.begin(), now.end(), key) ? 1U : 0U;
    all += before.size();
    before = now;
  }
  EXPECT_GT(static_cast<double>(kept), 0.99 * static_cast<double>(all));
}

TEST(ElasticPacking, SettlingCubeMissesNoStepAndIsBalanced) {
  const std::string cube =
      "materials: {m: {density: 2500, friction: 0.45}}\n"
      "generators:\n"
      "  - container: {name: bin, material: m, size: [0.904, 0.904, .inf], origin: [0, 0, 0]}\n"
      "  - lattice: {name: g, material: m, shape: {sphere: {radius: 50 mm}}, radius_jitter: 0.1, "
      "count: [8, 8, 8], spacing: 0.113, origin: [0.0565, 0.0565, 0.0565], seed: 1, "
      "position_jitter: 1 mm}\n"
      "time: {step: 4 ms, end: 1}\n";
  const auto sim = simulate(Communicator::self(), cube);
  int missed = 0, iterations = 0;
  double deepest = 0.0;
  while (sim->state().step < 250) {
    const StepReport& r = sim->step();
    missed += r.solve.status == SolveStatus::converged ? 0 : 1;
    iterations += r.solve.iterations;
    deepest = std::max(deepest, r.overlap_largest);
    EXPECT_EQ(r.sunk_overlap, 0.0);
  }
  EXPECT_EQ(missed, 0);
  EXPECT_LT(iterations, 250 * 100);
  EXPECT_LT(deepest, 0.02);
  const StepReport& r = sim->stepper().report();
  EXPECT_LT(r.overlap_largest, 0.005);
  EXPECT_LT(r.overlap_mean, 0.001);
  const double lost =
      r.audit[EnergyTerm::dissipation_friction] + r.audit[EnergyTerm::dissipation_impact];
  // the step's own error is that of the fall, -m g^2 h t/2
  EXPECT_LT(std::abs(r.energy_residual), 0.03 * lost);
}

}  // namespace
}  // namespace catena::test
