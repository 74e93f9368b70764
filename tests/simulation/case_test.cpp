#include "catena/simulation/case.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "catena/base/error.hpp"
#include "catena/simulation/manual.hpp"
#include "simulation/diagnosis/solve_again.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

using test::whole_case;

constexpr const char* kCase = R"(catena: 1
name: settled-spheres
gravity: [0, 0, -9.81]
materials:
  glass: {density: 2500, friction: 0.5, restitution: 0.0}
  steel: {density: 7.8 g/cm^3, friction: 0.3}
contact:
  law: ccp
  pairs: [{between: [glass, steel], friction: 0.4}]
  margin: 1 mm
bodies:
  - {name: block, material: steel, shape: {box: {size: [1, 1, 0.2]}}, position: [1.8, 1.8, 6],
     orientation: {axis: [0, 0, 2], angle: 30 deg}}
  - {name: arm, mass: 2, inertia: [0.1, 0.2, 0.2], position: [9, 0, 3]}
  - {name: paddle, material: steel, shape: {box: {size: [1, 0.1, 1]}}, motion: {angular_velocity: [0, 0, 2]}}
  - {name: ground, material: steel, shape: plane, orientation: {quaternion: [2, 0, 0, 0]}}
generators:
  - container: {name: bin, material: steel, size: [3.6, 3.6, .inf]}
  - lattice: {name: grains, material: glass, shape: {sphere: {radius: 0.1}}, radius_jitter: 0.1,
              count: [3, 4, 5], spacing: 0.235, origin: [0.15, 0.15, 0.2], position_jitter: 5 mm, seed: 7}
  - wall: {name: bricks, material: steel, brick: [0.2, 0.1, 0.1], along: 4, height: 3, gap: 1 mm}
  - table: {file: bodies.csv, material: glass}
time: {stepper: dvi, step: 2 ms, end: 2 s}
solver:
  local: cone
  max_iterations: 50
  metric: natural_map
  absolute_tolerance: 1 um/s
  time_limit: 00:01:30
  on_missed_tolerance: stop
parallel: {subdomains: per_rank, weights: counted, deterministic: false}
output: {snapshot_interval: .inf, contacts: false}
seed: 3
)";

/// Text of the error that --set gives.
std::string set_error(const std::string& assignment) {
  try {
    whole_case(kCase, {assignment});
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::bad_input);
    return e.what();
  }
  return "";
}

TEST(Case, ReadsValuesInSi) {
  const CaseSettings s = whole_case(kCase);

  EXPECT_EQ(s.name, "settled-spheres");
  ASSERT_EQ(s.materials.size(), 2U);
  EXPECT_EQ(s.materials[1].name, "steel");
  EXPECT_DOUBLE_EQ(s.materials[1].density, 7800.0);
  EXPECT_EQ(s.contact.law, ContactLaw::ccp);
  EXPECT_DOUBLE_EQ(s.contact.margin, 1e-3);
  ASSERT_EQ(s.bodies.size(), 4U);
  EXPECT_EQ(s.bodies[0].shape.type, ShapeType::box);
  EXPECT_DOUBLE_EQ(s.bodies[0].orientation.angle, M_PI / 6);
  EXPECT_NEAR(s.bodies[0].orientation.value().w(), std::cos(M_PI / 12), 1e-15);
  EXPECT_TRUE(s.bodies[2].motion.present);
  EXPECT_DOUBLE_EQ(s.bodies[3].orientation.value().w(), 1.0);
  ASSERT_EQ(s.generators.size(), 4U);
  EXPECT_TRUE(std::isinf(std::get<ContainerSettings>(s.generators[0].kind).size[2]));
  EXPECT_EQ(std::get<LatticeSettings>(s.generators[1].kind).count[2], 5);
  EXPECT_EQ(std::get<LatticeSettings>(s.generators[1].kind).spacing, Vec3::Constant(0.235));
  EXPECT_EQ(std::get<TableSettings>(s.generators[3].kind).file, "/data/bodies.csv");
  EXPECT_EQ(s.time.stepper, StepperKind::dvi);
  EXPECT_DOUBLE_EQ(s.time.step, 2e-3);
  EXPECT_DOUBLE_EQ(s.solver.stop.absolute_tolerance, 1e-6);
  EXPECT_DOUBLE_EQ(s.solver.stop.time_limit, 90.0);
  EXPECT_EQ(s.step_solve.on_missed_tolerance, OnMissedTolerance::stop);
  EXPECT_EQ(s.parallel.subdomains, 0);
  EXPECT_FALSE(s.output.contacts);
  EXPECT_EQ(s.seed, 3);
}

TEST(Case, AbsentKeysKeepTheirDefaults) {
  const CaseSettings s = whole_case("catena: 1\nname: a\ntime: {step: 1 ms, end: 0}\n");

  EXPECT_EQ(s.gravity, Vec3(0, 0, -9.81));
  EXPECT_EQ(s.solver.stop.max_iterations, kUsualIterations);
  EXPECT_TRUE(std::isnan(s.solver.stop.time_limit));
  EXPECT_TRUE(s.bodies.empty());
}

TEST(Case, PrintedCaseReadsBackToTheSamePrint) {
  for (const std::string& text :
       {std::string(kCase),
        std::string("catena: 1\nname: \"1 a: #x\"\ntime: {step: 0.1, end: 3}\n")}) {
    const std::string printed = print_case(whole_case(text));
    EXPECT_EQ(print_case(whole_case(printed)), printed) << printed;
  }
  const CaseSettings again = whole_case(print_case(whole_case(kCase)));
  EXPECT_EQ(again.bodies[0].orientation.angle, whole_case(kCase).bodies[0].orientation.angle);
  EXPECT_EQ(std::get<TableSettings>(again.generators[3].kind).file, "/data/bodies.csv");
}

TEST(Case, MethodThatIsNotGivenIsAutoUnlessOtherKeysAskForSweeps) {
  const auto method = [](const std::string& keys) {
    return whole_case("catena: 1\nname: a\ntime: {step: 1 ms, end: 0}\n" + keys).solver.method;
  };
  EXPECT_EQ(method(""), SolverMethod::automatic);
  EXPECT_EQ(method("solver: {relative_tolerance: 1e-8, relaxation: 1.2}\n"),
            SolverMethod::automatic);
  for (const char* keys :
       {"solver: {max_iterations: 50}\n", "solver: {local: sliding}\n",
        "solver: {formulation: acceleration}\n",
        "bodies: [{name: b, mass: 1, inertia: [1, 1, 1]}]\n"
        "joints: [{name: j, type: spherical, between: [world, b], at: [0, 0, 1]}]\n",
        "parallel: {deterministic: true}\n", "solver: {method: gauss_seidel}\n"})
    EXPECT_EQ(method(keys), SolverMethod::gauss_seidel) << keys;
  EXPECT_EQ(method("solver: {method: auto, max_iterations: 50}\n"), SolverMethod::automatic);
  EXPECT_EQ(method("solver: {method: apgd, max_iterations: 50}\n"), SolverMethod::apgd);
}

TEST(Case, IterationsThatAreNotGivenAreThoseOfTheMethod) {
  SolverSettings s = whole_case("catena: 1\nname: a\ntime: {step: 1 ms, end: 0}\n").solver;

  EXPECT_EQ(s.stop_rule().max_iterations, 10000);
  s.method = SolverMethod::gauss_seidel;
  EXPECT_EQ(s.stop_rule().max_iterations, 1000);
  s.stop.max_iterations = 7;
  EXPECT_EQ(s.stop_rule().max_iterations, 7);
}

TEST(Case, AStepIsSolvedAgainWithAsManyIterationsAsInTheRun) {
  const CaseSettings s = whole_case("catena: 1\nname: a\ntime: {step: 1 ms, end: 0}\n");

  const std::string command = solve_again("step.hdf5", s.solver);

  EXPECT_NE(command.find("--solver auto"), std::string::npos) << command;
  EXPECT_NE(command.find(" --set max_iterations=10000 "), std::string::npos) << command;
}

TEST(Case, SetOverridesByPathIndexAndName) {
  const CaseSettings s = whole_case(
      kCase, {"solver.max_iterations=10", "bodies.arm.mass=5 kg", "bodies.0.position=[1, 2, 3]",
              "generators.grains.count=[8,8,8]", "generators.1.lattice.seed=9",
              "materials.glass.friction=0.25", "output.series_steps=4", "solver.max_iterations=11",
              "bodies.block.shape={sphere: {radius: 10 cm}}", "contact.pairs=[]"});

  EXPECT_EQ(s.solver.stop.max_iterations, 11);
  EXPECT_DOUBLE_EQ(s.bodies[1].mass, 5.0);
  EXPECT_EQ(s.bodies[0].position, Vec3(1, 2, 3));
  EXPECT_EQ(std::get<LatticeSettings>(s.generators[1].kind).count[0], 8);
  EXPECT_EQ(std::get<LatticeSettings>(s.generators[1].kind).seed, 9);
  EXPECT_DOUBLE_EQ(s.materials[0].friction, 0.25);
  EXPECT_EQ(s.output.series_steps, 4);
  EXPECT_EQ(s.bodies[0].shape.type, ShapeType::sphere);
  EXPECT_TRUE(s.pairs.empty());
}

TEST(Case, SetNamesItselfInErrors) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"solver.max_sweep=3",
       "--set: solver.max_sweep: unknown key; did you mean solver.max_iterations?"},
      {"solver.max_iterations=ten", "--set: solver.max_iterations: 'ten' is not a number"},
      {"solver.max_iterations=",
       "--set: solver.max_iterations: expected a number or auto, found nothing"},
      {"solver.max_iterations=[1", "--set: solver.max_iterations: not YAML"},
      {"solver", "--set: 'solver' is not path=value"},
      {"=3", "--set: '=3' is not path=value"},
      {"solver..local=exact", "--set: solver..local: the path has an empty part"},
      {"bodies.blok.mass=2",
       "--set: bodies.blok.mass: there is no item 'blok'; did you mean block?"},
      {"bodies.9.mass=2", "--set: bodies.9.mass: there is no item 9; the list has 4 items"},
      {"bodies.block.mess=2",
       "--set: bodies.block.mess: unknown key; did you mean bodies.block.mass?"},
      {"materials.glas.friction=2",
       "--set: materials.glas: unknown path; did you mean materials.glass?"},
      {"gravity.x=2", "--set: gravity.x: there is no item 'x'"},
      {"name.x=2", "--set: name.x: 'x' is looked for in 'settled-spheres', which holds no keys"},
      {"generators.grains.lattice.seed=2", "--set: generators.grains.lattice: unknown key"},
      {"bodies.block.material=gold", "--set: bodies.block.material: there is no material 'gold'"},
      {"nothing.at.all=1", "--set: nothing: unknown key"}};
  for (const auto& [assignment, message] : cases) {
    const std::string error = set_error(assignment);
    EXPECT_EQ(error.rfind(message, 0), 0U)
        << assignment << "\n  expected " << message << "\n  found    " << error;
  }
}

TEST(Case, AliasesStandForWhatTheyName) {
  const CaseSettings s = whole_case(
      "catena: 1\nname: a\ntime: {step: 1 ms, end: 0}\nmaterials: {m: &m {density: 5}, n: *m}\n");

  EXPECT_DOUBLE_EQ(s.materials[1].density, 5.0);
}

TEST(Case, EveryCaseInConfigsIsAccepted) {
  namespace fs = std::filesystem;
  const fs::path configs = fs::path(CATENA_TEST_DATA).parent_path().parent_path() / "configs";
  int found = 0;
  for (const auto& entry : fs::recursive_directory_iterator(configs)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream stream(entry.path());
    std::ostringstream text;
    text << stream.rdbuf();
    if (text.str().find("catena: 1") == std::string::npos) continue;  // studies are no cases
    ++found;
    EXPECT_NO_THROW(parse_case(text.str(), entry.path().string(), configs.string()));
  }
  EXPECT_GT(found, 0);
}

TEST(Case, ManualInDocsIsThatOfTheDescriptions) {
  std::ifstream stream(CATENA_TEST_DATA "/../../docs/configuration.md");
  std::ostringstream text;
  text << stream.rdbuf();

  EXPECT_EQ(text.str(), configuration_manual()) << "run: write_manual > docs/configuration.md";
}

}  // namespace
}  // namespace catena
