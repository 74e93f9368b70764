// Times the hot loops, one beside the other, and the machine's limits in the same run: for
// scripts/studies/roofline.py and scripts/dev/speed_ratios.py.
//
//   bench_loops [--bodies N ...] [--links N] [--rounds R]
//
// Prints CSV: scene, loop, bodies, items, least and median over the rounds of the nanoseconds of
// an item, and its bytes and flops (loop_costs.hpp; 0: not counted); before it, as comments, the
// triad's GB/s and the multiply-adds' GFLOP/s. Every round times each loop once. Scenes:
//   lattice  close-packed spheres, six contacts a body: sweeps of spheres (under each law, and of
//            contacts that give), of general contacts with arms and with stored Jacobians, and
//            with rolling friction; an evaluation of the energy error (`look`), iterations of apgd
//            without and with looks
//   packing  a case of stacked spheres, three contacts a body, that give: a step's stages, whole
//            steps of 50 sweeps, and on its problem plain and accelerated sweeps
//   chain    spherical joints: elimination of a joint, and a whole step per link
//   chains   a step per link of 1,000 chains of 100 links, and of one with as many links
// Thread CPU time, one rank.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench_measure.hpp"
#include "bench_problems.hpp"
#include "catena/base/huge_pages.hpp"
#include "catena/constraints/contact_rows.hpp"
#include "catena/simulation/simulation.hpp"
#include "catena/stepper/semi_implicit_stepper.hpp"
#include "loop_costs.hpp"

namespace {

using namespace catena;

constexpr int kStepSweeps = 50;

/// A loop with the seconds of each round; several may come from one measurement.
struct Loop {
  std::string scene, name;
  std::int64_t bodies = 0, items = 0;
  LoopCost cost;
  std::vector<double> seconds = {};
};

/// A scene's loops; a round adds one time to each.
class Scene {
 public:
  virtual ~Scene() = default;
  virtual void round() = 0;
  std::vector<Loop> loops;
};

/// Iterations that make a measurement of some tenths of a second.
int enough(std::int64_t contacts) { return std::max(14, static_cast<int>(8000000 / contacts)); }

/// Contacts of the lattice with stored Jacobians, with rolling and spinning rows if >= 0, m.
ConstraintProblem explicit_lattice(std::int64_t bodies, bool arms, double rolling) {
  ConstraintProblem problem = packed_lattice(bodies, arms);
  for (const RigidContact& contact : problem.contacts)
    add_contact_block(contact, rolling, rolling, problem.blocks);
  problem.contacts.clear();
  return problem;
}

/// Contacts of the lattice that give, but so little that sweeps take as many turns as ever: softer
/// ones are solved to the last bit before the time is up.
ConstraintProblem soft_lattice(std::int64_t bodies) {
  ConstraintProblem problem = packed_lattice(bodies, false);
  for (RigidContact& contact : problem.contacts) {
    const double inverse_mass =
        problem.bodies.inverse_mass[problem.bodies.mass_begin[contact.body_a]];
    contact.compliance = 1e-6 * inverse_mass;
    contact.tangent_compliance = 1.2e-6 * inverse_mass;
  }
  return problem;
}

class Lattice : public Scene {
 public:
  explicit Lattice(std::int64_t bodies)
      : spheres_(packed_lattice(bodies, false)),
        general_(packed_lattice(bodies, true)),
        rolling_(explicit_lattice(bodies, false, 1e-4)),
        explicit_(explicit_lattice(bodies, true, -1.0)),
        soft_(soft_lattice(bodies)),
        convex_(packed_lattice(bodies, false)),
        lagged_(packed_lattice(bodies, false)) {
    convex_.law = ContactLaw::ccp;
    set_shift(lagged_, std::vector<double>(lagged_.contacts.size(), 1e-3));
    const auto contacts = std::ssize(spheres_.contacts);
    const auto add = [&](const char* name, const LoopCost& cost) {
      loops.push_back({"lattice", name, bodies, contacts, cost});
    };
    add("sphere sweep", kSphereSweep);
    add("general sweep", kGeneralSweep);
    add("rolling sweep", kRollingSweep);
    add("look", kLook);
    add("apgd iteration", kApgdIteration);
    add("explicit sweep", kExplicitSweep);
    add("elastic sweep", kSphereSweep);
    add("ccp sweep", kSphereSweep);
    add("lagged sweep", {});
    add("apgd iteration with looks", {});
  }

  void round() override {
    const int more = enough(loops[0].items);
    const SolverSettings plain = without_looks({});
    SolverSettings apgd = plain, looking;
    apgd.method = SolverMethod::apgd;
    looking.stop.check_interval = 1;
    looking.stop.history_set = looking.stop.report_set = ErrorSet::energy;
    const double sweep = seconds_per_iteration(spheres_, plain, {}, more);
    loops[0].seconds.push_back(sweep);
    loops[1].seconds.push_back(seconds_per_iteration(general_, plain, {}, more));
    loops[2].seconds.push_back(seconds_per_iteration(rolling_, plain, {}, more / 2));
    loops[3].seconds.push_back(seconds_per_iteration(spheres_, looking, {}, more / 4) - sweep);
    loops[4].seconds.push_back(seconds_per_iteration(spheres_, apgd, {}, more / 4));
    loops[5].seconds.push_back(seconds_per_iteration(explicit_, plain, {}, more));
    loops[6].seconds.push_back(seconds_per_iteration(soft_, plain, {}, more));
    loops[7].seconds.push_back(seconds_per_iteration(convex_, plain, {}, more));
    loops[8].seconds.push_back(seconds_per_iteration(lagged_, plain, {}, more));
    SolverSettings watched;
    watched.method = SolverMethod::apgd;
    watched.stop.history_set = watched.stop.report_set = ErrorSet::energy;
    loops[9].seconds.push_back(seconds_per_iteration(spheres_, watched, {}, more / 4));
  }

 private:
  ConstraintProblem spheres_, general_, rolling_, explicit_, soft_, convex_, lagged_;
};

CaseSettings packing_case(std::int64_t bodies) {
  const int edge = std::max(2, static_cast<int>(std::lround(std::cbrt(bodies))));
  const std::string n = std::to_string(edge), width = std::to_string(0.2 * edge);
  return parse_case(
      "catena: 1\nname: packing\nmaterials: {glass: {density: 2500, friction: 0.5}}\n"
      "generators:\n"
      "  - container: {name: bin, material: glass, size: [" +
          width + ", " + width +
          ", .inf], origin: [0, 0, 0]}\n"
          "  - lattice: {name: grains, material: glass, shape: {sphere: {radius: 0.1}}, count: [" +
          n + ", " + n + ", " + n +
          "], spacing: 0.2, origin: [0.1, 0.1, 0.1], position_jitter: 0.1 mm}\n"
          "time: {step: 2 ms, end: 100}\n",
      "packing", ".", {});
}

class Packing : public Scene {
 public:
  explicit Packing(std::int64_t bodies)
      : sim_(Communicator::self(), packing_case(bodies)),
        bodies_(sim_.bodies()),
        state_(sim_.state()) {
    SolverSettings solver = without_looks(sim_.settings().solver);
    solver.method = SolverMethod::gauss_seidel;
    solver.stop.max_iterations = kStepSweeps;
    solver.stop.relative_tolerance = solver.stop.absolute_tolerance = 0.0;
    solver.stop.history_set = solver.stop.report_set = ErrorSet::energy;
    StepperSettings settings;
    settings.kind = sim_.settings().time.stepper;
    settings.step = sim_.settings().time.step;
    stepper_ = std::make_unique<SemiImplicitStepper>(Communicator::self(), sim_.model(), settings,
                                                     make_solver(solver));
    for (int i = 0; i < 3; ++i) stepper_->step(bodies_, state_);
    const std::int64_t n = std::ssize(bodies_.constants);
    const auto contacts = static_cast<std::int64_t>(stepper_->n_contacts());
    loops = {{"packing", "search", n, n, kSearch},
             {"packing", "rows", n, contacts, kRows},
             {"packing", "store", n, contacts, kStore},
             {"packing", "step of 50 sweeps", n, contacts, {}},
             {"packing", "plain sweep", n, contacts, {}},
             {"packing", "accelerated sweep", n, contacts, {}}};
  }

  void round() override {
    time_steps();
    SolverSettings plain = without_looks({});
    plain.gauss_seidel.accelerated = false;
    const ConstraintProblem& problem = stepper_->problem();
    const int more = enough(loops[1].items);
    loops[4].seconds.push_back(seconds_per_iteration(problem, plain, stepper_->impulses(), more));
    plain.gauss_seidel.accelerated = true;
    loops[5].seconds.push_back(seconds_per_iteration(problem, plain, stepper_->impulses(), more));
  }

 private:
  /// Stage by stage, each on the thread's clock; the least of a few steps.
  void time_steps() {
    constexpr int kSteps = 4;
    std::array<double, 4> least;
    least.fill(1e300);
    SemiImplicitStepper& stepper = *stepper_;
    for (int i = 0; i < kSteps; ++i) {
      const double start = cpu_seconds();
      stepper.find_contacts(bodies_, state_);
      const double found = cpu_seconds();
      stepper.assemble_problem(bodies_, state_);
      const double assembled = cpu_seconds();
      stepper.solve_impulses(state_);
      stepper.check_solution(bodies_, state_);
      const double solved = cpu_seconds();
      stepper.keep_impulses(state_);
      const double kept = cpu_seconds();
      stepper.audit_work(state_);
      stepper.advance_poses(bodies_, state_);
      stepper.record(bodies_, state_);
      const std::array<double, 4> seconds = {found - start, assembled - found, kept - solved,
                                             cpu_seconds() - start};
      for (std::size_t k = 0; k < least.size(); ++k) least[k] = std::min(least[k], seconds[k]);
    }
    for (std::size_t k = 0; k < least.size(); ++k) loops[k].seconds.push_back(least[k]);
  }

  Simulation sim_;
  Bodies bodies_;
  State state_;
  std::unique_ptr<SemiImplicitStepper> stepper_;
};

/// Chains of so many links each, side by side.
CaseSettings chain_case(int chains, std::int64_t links) {
  std::string text = "catena: 1\nname: chain\nmaterials: {steel: {density: 1000}}\ngenerators:\n";
  const std::string end = std::to_string(0.1 * static_cast<double>(links));
  for (int k = 0; k < chains; ++k) {
    const std::string name = std::to_string(k), y = std::to_string(0.1 * k);
    text += "  - chain: {name: c" + name +
            ", material: steel, shape: {box: {size: [0.1, 0.02, 0.02]}}, links: " +
            std::to_string(links) + ", joint: spherical, from: [0, " + y + ", 0], to: [" + end +
            ", " + y + ", 0], anchored: first, collide: false}\n";
  }
  return parse_case(text + "time: {step: 1 ms, end: 100}\n", "chain", ".", {});
}

/// Thread seconds of the fastest of so many steps.
double least_step(Simulation& sim, int steps) {
  double least = 1e300;
  for (int i = 0; i < steps; ++i) {
    const double start = cpu_seconds();
    sim.step();
    least = std::min(least, cpu_seconds() - start);
  }
  return least;
}

class Chain : public Scene {
 public:
  explicit Chain(std::int64_t links)
      : links_(links), sim_(Communicator::self(), chain_case(1, links)) {
    for (int i = 0; i < 3; ++i) sim_.step();
    const auto flops =
        static_cast<double>(2 * time_chain(Communicator::self(), links, 1).front().flops);
    loops = {
        {"chain", "elimination", links, links, {kChainBytes, flops / static_cast<double>(links)}},
        {"chain", "step", links, links, {}}};
  }

  void round() override {
    constexpr int kRepeats = 50;
    double least = 1e300;
    for (const ChainSeconds& times : time_chain(Communicator::self(), links_, kRepeats))
      least = std::min(least, times.factor + times.solve);
    loops[0].seconds.push_back(least);
    loops[1].seconds.push_back(least_step(sim_, kRepeats));
  }

 private:
  std::int64_t links_;
  Simulation sim_;
};

/// Many chains beside one of as many links, whose elimination leaves the cache.
class Chains : public Scene {
 public:
  Chains()
      : many_(Communicator::self(), chain_case(kChains, kLinks)),
        one_(Communicator::self(), chain_case(1, kChains * kLinks)) {
    const std::int64_t links = kChains * kLinks;
    loops = {{"chains", "step of many", links, links, {}},
             {"chains", "step of one", links, links, {}}};
    for (Simulation* sim : {&many_, &one_}) sim->step();
  }

  void round() override {
    loops[0].seconds.push_back(least_step(many_, 3));
    loops[1].seconds.push_back(least_step(one_, 3));
  }

 private:
  static constexpr int kChains = 1000;
  static constexpr std::int64_t kLinks = 100;
  Simulation many_, one_;
};

void print(const Loop& loop) {
  std::vector<double> ns = loop.seconds;
  for (double& t : ns) t *= 1e9 / static_cast<double>(loop.items);
  std::sort(ns.begin(), ns.end());
  std::printf("%s,%s,%ld,%ld,%.4g,%.4g,%.4g,%.4g\n", loop.scene.c_str(), loop.name.c_str(),
              static_cast<long>(loop.bodies), static_cast<long>(loop.items), ns.front(),
              ns[ns.size() / 2], loop.cost.bytes, loop.cost.flops);
}

}  // namespace

int main(int argc, char** argv) {
  return_large_blocks();
  std::vector<std::int64_t> bodies = {4000, 200000};
  std::int64_t links = 1000;
  int rounds = 5;
  CLI::App app("Hot loops beside the machine's limits");
  app.add_option("--bodies", bodies, "Bodies of a scene, each");
  app.add_option("--links", links)->check(CLI::PositiveNumber);
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  std::printf("# triad_GB_s %.4g\n# peak_GFLOP_s %.4g\n", triad_bandwidth(), peak_flops());
  std::printf("scene,loop,bodies,items,ns_least,ns_median,bytes,flops\n");
  const auto run = [&](Scene& scene) {
    for (int i = 0; i < rounds; ++i) scene.round();
    for (const Loop& loop : scene.loops) print(loop);
    std::fflush(stdout);
  };
  for (const std::int64_t n : bodies) {
    {
      Lattice lattice(n);
      run(lattice);
    }
    Packing packing(n);
    run(packing);
  }
  Chain chain(links);
  run(chain);
  Chains chains;
  run(chains);
  return 0;
}
