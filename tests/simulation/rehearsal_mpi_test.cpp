// What a check refuses is what a run refuses, with the place in the file; and what both only doubt.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "catena/simulation/rehearsal.hpp"
#include "catena/simulation/simulation.hpp"
#include "catena/simulation/start_check.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

using test::error_of;

/// Two lines that cases begin with.
constexpr const char* kFirst = "catena: 1\nname: broken\n";
constexpr const char* kTime = "time: {step: 1 ms, end: 10 ms}\n";
constexpr const char* kNatural = "time: {stepper: natural, step: 1 ms, end: 10 ms}\n";

CaseSettings parse(const std::string& text) {
  return parse_case(kFirst + text, "broken.yaml", CATENA_TEST_DATA "/trials");
}

/// As a run does until its second step.
void begin_run(const Communicator& comm, const CaseSettings& settings) {
  Simulation simulation(comm, settings);
  if (simulation.n_steps() > 0) simulation.step();
  refuse_unused_options(comm, settings);
}

/// A broken case, and how its message begins; the text's third line is that of `time`.
struct Broken {
  std::string text, message;
};

const std::string kHinge = "type: revolute, between: [world, a], at: [0, 0, 0], axis: [0, 1, 0]";

std::vector<Broken> broken_cases() {
  const std::string time = kTime, natural = kNatural, m = "materials: {m: {}}\n";
  return {
      {time + m +
           "bodies:\n- {name: b, material: m, shape: {sphere: {radius: 1}}}\nperiodic: {x: [0, "
           "1]}\n",
       "broken.yaml:6:3: bodies.b: body b is longer than half the periodic box along x"},
      {time + m +
           "generators:\n- lattice: {name: g, material: m, shape: {sphere: {radius: 1}}, count: "
           "[9, 9, "
           "9], spacing: 3}\nperiodic: {y: [0, 1]}\n",
       "broken.yaml:6:3: generators.g: body g-"},
      {time + m +
           "dimension: 2\nbodies:\n- {name: b, material: m, shape: {box: {size: [1, 2, 3]}}, "
           "orientation: {axis: [1, 0, 0], angle: 1}}\n",
       "broken.yaml:7:3: bodies.b: body b has no principal axis of inertia along y"},
      {time + m +
           "bodies:\n- {name: b, material: m, shape: {hull: {vertices: [[0, 0, 0], [1, 0, 0], [0, "
           "1, "
           "0], [1, 1, 0]]}}}\n",
       "broken.yaml:6:26: bodies.b.shape: the points of a hull lie in one plane"},
      {time + m +
           "bodies:\n- {name: b, material: m, shapes: [{sphere: {radius: 1}}, {hull: {vertices: "
           "[[0, "
           "0, 0], [1, 0, 0], [0, 1, 0]]}}]}\n",
       "broken.yaml:6:59: bodies.b.shapes.1.hull: a hull needs at least 4 points"},
      {time + m + "bodies:\n- {name: b, material: m, shape: {hull: {file: none.stl, unit: mm}}}\n",
       "broken.yaml:6:26: bodies.b.shape: " CATENA_TEST_DATA "/trials/none.stl: no such file"},
      {time + "bodies:\n- {name: b, motion: {table: {file: none.csv}}}\n",
       "broken.yaml:5:3: bodies.b.motion.table: " CATENA_TEST_DATA
       "/trials/none.csv: no such file"},
      {time + "bodies:\n- {name: b, motion: {table: {file: gate.yaml}}}\n",
       "broken.yaml:5:3: bodies.b.motion.table: " CATENA_TEST_DATA
       "/trials/gate.yaml:2: unknown column"},
      {time + m + "generators:\n- table: {name: t, material: m, file: none.csv}\n",
       "broken.yaml:6:3: generators.t: " CATENA_TEST_DATA "/trials/none.csv: "},
      {time + "bodies:\n- {name: a, mass: 1, inertia: [1, 1, 1]}\njoints:\n- {name: j, " + kHinge +
           ", motor: {velocity: 1, table: {file: none.csv}}}\n",
       "broken.yaml:7:3: joints.j: " CATENA_TEST_DATA "/trials/none.csv: no such file"},
      {time + "bodies:\n- {name: a, mass: 1, inertia: [1, 1, 1]}\njoints:\n- {name: j, " + kHinge +
           ", motor: {velocity: 1}}\n- {name: k, " + kHinge + ", motor: {velocity: 2}}\n",
       "joints contradict each other"},
      {natural + "bodies:\n- {name: a, mass: 1, inertia: [1, 1, 1]}\njoints:\n- {name: j, " +
           kHinge + ", motor: {velocity: 1}}\n- {name: k, " + kHinge + ", motor: {velocity: 2}}\n",
       "joints contradict each other"},
      {natural + m +
           "bodies:\n- {name: a, material: m, shape: {sphere: {radius: 1}}}\n- {name: b, material: "
           "m, "
           "shape: {sphere: {radius: 1}}, position: [1.9, 0, 0]}\n",
       "broken.yaml:3:8: time.stepper: natural: bodies a and b touch at t = 0 s"},
      {natural + "bodies:\n- {name: a, mass: 1, inertia: [0, 1, 1]}\njoints:\n- {name: h, type: "
                 "revolute, between: [world, a], at: [0, 0, 0], axis: [0, 0, 1]}\n",
       "broken.yaml:7:3: joints.h: joint h needs a direction that its body b, a rod"},
      {natural +
           "bodies:\n- {name: a, mass: 1, inertia: [0, 0, 0]}\nforces:\n- {name: f, type: force, "
           "body: a, force: [1, 0, 0], frame: body}\n",
       "broken.yaml:3:8: time.stepper: natural: force f needs a direction"},
      {time + "solver: {formulation: residual}\nparallel: {subdomains: 2}\n",
       "broken.yaml:4:10: solver.formulation: `residual` runs on one subdomain only"},
      {time + m +
           "contact: {law: box}\nbodies:\n- {name: f, material: m, shape: plane}\n- {name: a, "
           "material: "
           "m, shape: {sphere: {radius: 1}}, position: [0, 0, 1]}\nsolver: {method: "
           "interior_point}\n",
       "broken.yaml:5:11: contact.law: "},
      {time + m +
           "contact: {law: ccp}\nbodies:\n- {name: f, material: m, shape: plane}\n- {name: a, "
           "material: "
           "m, shape: {sphere: {radius: 1}}, position: [0, 0, 1]}\nsolver: {method: dantzig}\n",
       "broken.yaml:9:10: solver.method: dantzig"},
      {time + "solver: {petsc: {contact_ksp_typ: cg}}\n",
       "broken.yaml:4:18: solver.petsc.contact_ksp_typ: no solver asked for this option"},
  };
}

TEST(Rehearsal, RefusesWhatARunRefusesWithItsPlace) {
  const Communicator comm = Communicator::world();
  for (const Broken& broken : broken_cases()) {
    const auto settings = [&] { return parse(broken.text); };
    const std::string run = error_of([&] { begin_run(comm, settings()); });
    const std::string check = error_of([&] { rehearse(comm, settings()); });

    EXPECT_EQ(check, run) << broken.text;
    EXPECT_NE(check.find(broken.message), std::string::npos) << broken.text << check;
    if (broken.message.starts_with("broken.yaml")) {
      EXPECT_TRUE(check.starts_with(broken.message)) << check;
    } else if (broken.message.starts_with("joints")) {
      EXPECT_TRUE(check.starts_with("broken.yaml:7:3: joints.j: ") ||
                  check.starts_with("broken.yaml:8:3: joints.k: "))
          << check;
    }
  }
}

TEST(Rehearsal, RefusesTheTrialCases) {
  const Communicator comm = Communicator::world();
  for (const char* name : {"periodic_small", "natural_contacts", "contradictory_motors"}) {
    const std::string path = std::string(CATENA_TEST_DATA "/trials/") + name + ".yaml";
    const CaseSettings settings = read_case(comm, path);
    const std::string run = error_of([&] { begin_run(comm, settings); });

    EXPECT_TRUE(run.starts_with(path + ":")) << run;
    EXPECT_EQ(error_of([&] { rehearse(comm, settings); }), run);
  }
}

TEST(Rehearsal, LeavesAloneWhatIsTooLargeAndSaysSo) {
  const Communicator comm = Communicator::world();
  // the bodies do not fit the box, but they are not made
  const CaseSettings settings = parse(broken_cases()[1].text);

  const std::vector<std::string> remarks = rehearse(comm, settings, 100);

  // those that come in later do not count
  const std::vector<std::string> later = rehearse(
      comm,
      parse("time: {step: 1 ms, end: 10 ms}\nmaterials: {m: {}}\ngenerators:\n- insertion: "
            "{material: m, shape: {sphere: {radius: 1}}, region: {lower: [0, 0, 0], upper: [9, "
            "9, 9]}, number_rate: 1, count: 1000000}\n"),
      100);
  // but for the one that comes in until the end, too few for several ranks
  EXPECT_EQ(later, few_bodies_warning(1, comm.size()).empty()
                       ? std::vector<std::string>()
                       : std::vector<std::string>{few_bodies_warning(1, comm.size())});
  if (comm.size() * 100 < 729) {
    EXPECT_EQ(remarks.size(), 1U);
    EXPECT_NE(
        remarks.at(0).find("729 bodies: they were not made and no step was tried; a check on 8 "
                           "ranks"),
        std::string::npos);
  }
}

/// Remarks on a case.
std::vector<std::string> hints(const std::string& text) { return parse(text).hints; }

TEST(Hints, NameThePlaceAndTheLikelyUnit) {
  const std::string time = kTime, a = "bodies:\n- {name: a, mass: 1, inertia: [1, 1, 1]}\n";
  const std::string joint = time + a + "joints:\n- {name: j, " + kHinge + ", ";
  const std::string ball =
      "bodies:\n- {name: b, material: m, shape: {sphere: {radius: 1}}, position: [";
  const std::vector<Broken> cases = {
      {joint + "limits: [-30, 1]}\n",
       "broken.yaml:7:91: joints.j.limits: -30 rad is 4.77 turns; write -30 deg if degrees are "
       "meant"},
      {joint + "motor: {position: 90}}\n",
       "joints.j.motor.position: 90 rad is 14.3 turns; write 90 deg"},
      {joint + "motor: {position: 1, table: {rows: [[0, 0], [1, -90]]}}}\n",
       "joints.j.motor.table: times position is up to 90 rad, 14.3 turns; write position: 1 deg"},
      {joint + "motor: {table: {values: position, rows: [[0, 0], [1, 45]]}}}\n",
       "joints.j.motor.table.rows: 45 rad is 7.16 turns; write 45 deg"},
      {time + "materials: {m: {}}\n" + ball + "1e300, 0, 0]}\n",
       "bodies.b.position: 1e+300 m is a length beyond what double precision serves well: places "
       "there "
       "are 2.22e+284 m apart; check the number, and give its unit, for example 20 mm"},
      {time + "materials: {m: {}}\n" + ball + "0, 0, -2e9]}\n", "write -2e9 um if that is meant"},
      {time + "materials: {m: {density: 1e300}}\n",
       "materials.m.density: 1e+300 kg/m^3 is a density beyond what double precision serves well; "
       "check "
       "the number, and give its unit, for example 7.8 g/cm^3"},
      {time + "materials: {m: {density: 7.8e6}}\n", "write 7.8e6 g/m^3 if that is meant"},
      {time + "bodies:\n- {name: a, mass: 1e14, inertia: [1, 1, 1]}\n",
       "write 1e14 g if that is meant"},
      {time + a + "forces:\n- {name: f, type: force, body: a, force: [1e30, 0, 0]}\n",
       "forces.f.force: 1e+30 N is a force"},
      {"time: {step: 1e-6, end: 1e6}\n", "time.end: the run has 1e+12 steps of 1e-06 s"},
      {"time: {step: 1000, end: 1e4}\n",
       "broken.yaml:3:8: time.step: bodies fall by 9.81e+06 m in the first step; write 1000 ms or "
       "1000 us"},
      {"time: {step: 2 ms, end: 9 ms}\n",
       "broken.yaml:3:20: time.end: is no multiple of time.step: the run does 5 steps and ends at "
       "0.01 s"},
      {time + "output: {snapshot_interval: 2.5 ms}\n",
       "broken.yaml:4:10: output.snapshot_interval: is no multiple of time.step (0.001 s): output "
       "comes "
       "with the first step at or after"},
      {time + "output: {dump_interval: 0.5 ms}\n", "output comes with every step"},
      {time + "contact: {stiffness: rigid, stiffness_ratio: 100}\n",
       "broken.yaml:4:29: contact.stiffness_ratio: has no effect on rigid contacts"},
      {time + "contact: {stiffness: rigid, damping_time: 1 ms}\n",
       "contact.damping_time: has no effect on rigid contacts"},
      {time + "contact: {stiffness: rigid, tangential_ratio: 0.5}\n",
       "contact.tangential_ratio: has no effect on rigid contacts"},
      {time + "materials: {glass: {rolling_friction: 1 mm}, wall: {}, steel: {rolling_coefficient: "
              "0}}\n",
       "contact.combine: no rolling friction between the materials 'glass' and 'wall', 'glass' and "
       "'steel': one of the two has none, and the geometric mean with 0 is 0; give it "
       "rolling_friction or rolling_coefficient, list the pair in contact.pairs, or set "
       "contact.combine.rolling to maximum"},
      {time + "materials: {glass: {spinning_coefficient: 0.1}, wall: {}}\ncontact: {combine: "
              "{spinning: harmonic}}\n",
       "broken.yaml:5:11: contact.combine: no spinning friction between the materials 'glass' and "
       "'wall': one of the two has none, and the harmonic mean with 0 is 0"},
      {time + "contact: {stiffness: 1e5, stiffness_ratio: 100}\n",
       "contact.stiffness_ratio: is of contact.stiffness: auto; it has no effect"},
  };
  for (const Broken& doubtful : cases) {
    const std::vector<std::string> found = hints(doubtful.text);
    EXPECT_EQ(found.size(), 1U) << doubtful.text;
    if (found.empty()) continue;
    EXPECT_NE(found[0].find(doubtful.message), std::string::npos) << found[0];
    EXPECT_TRUE(found[0].starts_with("broken.yaml:")) << found[0];
  }
}

TEST(Hints, AreNotMadeOfWhatIsMeant) {
  const std::string time = kTime, a = "bodies:\n- {name: a, mass: 1, inertia: [1, 1, 1]}\n";
  const std::string joint = time + a + "joints:\n- {name: j, " + kHinge + ", ";
  for (const std::string& fine :
       {joint + "limits: [-30 deg, 30 rad]}\n", joint + "limits: [-6.3, .inf]}\n",
        joint + "motor: {velocity: 90}}\n",
        joint + "motor: {position: 1 deg, table: {rows: [[0, 90]]}}}\n",
        time + a + "output: {snapshot_interval: .inf, dump_interval: 3 ms}\n",
        time + "contact: {stiffness: rigid}\n",
        time +
            "materials: {glass: {rolling_friction: 1 mm}, wall: {}}\ncontact: {combine: {rolling: "
            "maximum}}\n",
        time +
            "materials: {glass: {rolling_friction: 1 mm}, wall: {}}\ncontact: {pairs: [{between: "
            "[wall, glass], rolling_friction: 0}]}\n",
        time + "contact: {stiffness: 1e5, damping_time: 1 ms, tangential_ratio: 0.5}\n",
        time + "contact: {stiffness_ratio: 100}\n",
        std::string("time: {step: 0.1 ms, end: 0.3}\noutput: {snapshot_interval: 0.7 ms}\n"),
        std::string("time: {step: 1, end: 0}\n"), std::string("time: {step: 7 ms, end: 70 ms}\n"),
        std::string(
            "time: {step: 1 ms, end: 1000}\nmaterials: {m: {density: 1.2}, n: {density: 22.6 "
            "g/cm^3}}\n")}) {
    EXPECT_EQ(hints(fine), std::vector<std::string>()) << fine;
  }
}

TEST(Hints, AreToldByChecksAndRuns) {
  const Communicator comm = Communicator::world();
  const CaseSettings settings = read_case(comm, CATENA_TEST_DATA "/trials/degl.yaml");

  std::vector<std::string> remarks = rehearse(comm, settings);

  if (comm.size() > 1) {
    EXPECT_EQ(remarks.back(),
              few_bodies_warning(bodies_at_start(settings, Simulation(comm, settings).model()),
                                 comm.size()));
    remarks.pop_back();
  }
  // the limits and the motor's position
  EXPECT_EQ(remarks.size(), 2U);
  EXPECT_EQ(remarks, Simulation(comm, settings).warnings());
  for (const std::string& remark : remarks)
    EXPECT_NE(remark.find("deg if degrees are meant"), std::string::npos) << remark;
}

TEST(Planes, AreTurnedByTheirNormal) {
  const Communicator comm = Communicator::world();
  // a ball that rests on a slope of 45 degrees, given in four ways, moves alike
  std::vector<Vec3> ends;
  for (const char* plane :
       {"shape: {plane: {normal: [1, 0, 1]}}", "shape: {plane: {normal: [1e-200, 0, 1e-200]}}",
        "shape: plane, orientation: {axis: [0, 1, 0], angle: 45 deg}",
        "shape: {plane: {normal: [0, 3, 3]}}, orientation: {axis: [0, 0, 1], angle: -90 deg}"}) {
    Simulation simulation(
        comm,
        parse(std::string("time: {step: 1 ms, end: 0.1}\nmaterials: {m: {friction: 0}}\nbodies:\n"
                          "- {name: slope, material: m, ") +
              plane +
              "}\n- {name: ball, material: m, shape: {sphere: {radius: 0.1}}, position: "
              "[0.0707106781186547, 0, 0.0707106781186547]}\n"));
    while (simulation.state().step < simulation.n_steps()) simulation.step();
    Vec3 v = Vec3::Zero();
    for (std::size_t i = 0; i < simulation.bodies().constants.size(); ++i)
      if (simulation.bodies().constants[i].id == 1) v = simulation.state().body[i].twist.v;
    for (int k = 0; k < 3; ++k) v[k] = comm.sum(v[k]);
    ends.push_back(v);
  }
  // g sin 45 along the slope: half of g in x and z
  EXPECT_LT((ends[0] - Vec3(0.4905, 0, -0.4905)).norm(), 1e-6);
  EXPECT_LT((ends[1] - ends[0]).norm(), 1e-9);
  EXPECT_LT((ends[2] - ends[0]).norm(), 1e-9);
  EXPECT_LT((ends[3] - ends[0]).norm(), 1e-9);
  EXPECT_TRUE(
      error_of([] {
        parse(
            "time: {step: 1 ms, end: 0.1}\nmaterials: {m: {}}\nbodies:\n- {name: slope, "
            "material: m, shape: {plane: {normal: [0, 0, 0]}}}\n");
      })
          .starts_with("broken.yaml:6:46: bodies.slope.shape.plane.normal: the normal has no "
                       "length"));
}

TEST(Rehearsal, AStartThatNoStepFollowsIsNamedWithItsKeyAndARemedy) {
  const Communicator comm = Communicator::world();
  const auto error = [&](const std::string& bodies) {
    return error_of([&] { (void)rehearse(comm, parse(kTime + bodies)); });
  };
  const std::string fast =
      error("bodies: [{name: bullet, mass: 1, inertia: [1, 1, 1], velocity: [1e9, 0, 0]}]\n");
  EXPECT_NE(fast.find("body bullet"), std::string::npos) << fast;
  EXPECT_NE(fast.find("bodies.bullet"), std::string::npos) << fast;
  const std::string heavy = error(
      "materials: {m: {density: 1e305}}\nbodies:\n- {name: floor, material: m, fixed: true, "
      "shape: {plane: {}}}\n- {name: star, material: m, shape: {sphere: {radius: 1e3}}, position: "
      "[0, 0, 999]}\n");
  EXPECT_NE(heavy.find("star"), std::string::npos) << heavy;
  for (const std::string& text : {fast, heavy})
    EXPECT_EQ(text.find("dumped"), std::string::npos) << text;
}

}  // namespace
}  // namespace catena
