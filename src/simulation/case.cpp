#include "catena/simulation/case.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "catena/base/text.hpp"
#include "catena/io/read_bytes.hpp"
#include "catena/io/yaml_settings.hpp"

namespace catena {

namespace {

constexpr std::string_view kSteppers[] = {"spook", "dvi", "natural"};
constexpr std::string_view kAnswers[] = {"warn", "stop"};
/// Steps that one run may do: counters and file names stop there.
constexpr double kMaxSteps = 1e15;

void describe_name(SettingsVisitor& visit, CaseSettings& s) {
  visit.visit("name", s.name, {.required = true, .help = "of the case; the result goes to ./NAME"});
  if (s.name.find('/') != std::string::npos || s.name == "." || s.name == "..") {
    visit.reject("name", "is no name for a directory", "leave out slashes and dots alone");
  }
}

/// Whether `whole` is `step` times a whole number, but for round-off.
bool is_multiple(double whole, double step) {
  const double times = whole / step;
  return std::abs(times - std::round(times)) <= 1e-9 * std::max(1.0, times);
}

/// Steps, and numbers of steps, that are hardly meant; an end that is no multiple of the step.
void hint_at_steps(SettingsVisitor& visit, const TimeSettings& s) {
  constexpr double kLongest = 1.0, kManySteps = 1e9, kDay = 86400.0, kQuick = 1e-6;
  if (s.step > kLongest)
    visit.hint("step", "bodies fall by " + short_text(9.81 * s.step * s.step) +
                           " m in the first step; write " + short_text(s.step) + " ms or " +
                           short_text(s.step) + " us if that is meant");
  const double steps = s.end / s.step;
  if (steps > kManySteps)
    visit.hint("end", "the run has " + short_text(steps) + " steps of " + short_text(s.step) +
                          " s, " + short_text(kQuick * steps / kDay) +
                          " days at 1 us a step; numbers without unit are in s: write " +
                          short_text(s.end) + " ms or " + short_text(s.end) +
                          " us if that is meant");
  else if (s.end > 0.0 && !is_multiple(s.end, s.step))
    visit.hint("end", "is no multiple of time.step: the run does " + short_text(std::round(steps)) +
                          " steps and ends at " + short_text(std::round(steps) * s.step) + " s");
}

/// What becomes of an interval of the output that is no multiple of the step.
void hint_at_interval(SettingsVisitor& visit, const char* key, double interval, double step) {
  if (!std::isfinite(interval) || is_multiple(interval, step)) return;
  visit.hint(key, "is no multiple of time.step (" + short_text(step) + " s): " +
                      (interval < step ? "output comes with every step"
                                       : "output comes with the first step at or after each "
                                         "multiple of it"));
}

void describe_time(SettingsVisitor& visit, TimeSettings& s) {
  visit.section("time", {.required = true, .help = "how the case is stepped"}, [&] {
    visit.choose("stepper", s.stepper, kSteppers,
                 {.help = "`spook`, `dvi`: semi-implicit, velocity level; they differ in how "
                          "penetration is undone. `natural`: mechanisms without contact to high "
                          "accuracy (docs/theory.md, Natural coordinates)"});
    visit.visit("step", s.step,
                {.unit = "s", .min = 0, .min_open = true, .required = true, .help = "time step"});
    visit.visit(
        "end", s.end,
        {.unit = "s", .min = 0, .required = true, .help = "the run does round(end / step) steps"});
    if (s.end > 0.0 && s.end < 0.5 * s.step) {
      visit.reject("end", "less than half a time step: the run would do nothing",
                   "set end to 0 for the initial state only, or to a step at least");
    }
    if (s.end / s.step > kMaxSteps) visit.reject("end", "more than 1e15 steps", "");
    hint_at_steps(visit, s);
    s.natural_given = s.stepper == StepperKind::natural;
    visit.optional_section("natural", s.natural_given, {.help = "of the stepper `natural`"}, [&] {
      describe(visit, s.natural);
      if (s.natural.baumgarte * s.step >= kBaumgarteBound) {
        visit.reject("baumgarte",
                     "times time.step is " + std::to_string(s.natural.baumgarte * s.step) +
                         ": from 2.78 on misfits of constraints grow",
                     "set it below 2.78/step, or leave it out");
      }
    });
  });
}

/// What does not give the same bits on any number of ranks.
void refuse_with_deterministic(SettingsVisitor& visit, const CaseSettings& s) {
  const auto refuse = [&](const char* found, const char* remedy) {
    visit.reject("deterministic", std::string("`true` excludes ") + found, remedy);
  };
  if (s.solver.method != SolverMethod::gauss_seidel && s.solver.method != SolverMethod::jacobi)
    refuse("all solvers but gauss_seidel and jacobi", "set solver.method to gauss_seidel");
  if (s.solver.gauss_seidel.formulation == Formulation::residual)
    refuse("solver.formulation: residual", "set it to velocity");
  if (!std::isnan(s.solver.stop.time_limit))
    refuse("solver.time_limit", "limit solver.max_iterations instead");
  if (s.parallel.weights == WorkWeights::measured)
    refuse("parallel.weights: measured", "set it to counted");
  if (s.parallel.subdomains > 0) refuse("parallel.subdomains", "set parallel.tile_bodies instead");
}

void describe_parallel(SettingsVisitor& visit, CaseSettings& s) {
  visit.section("parallel", {.help = "who computes what"}, [&] {
    describe(visit, s.parallel);
    const JointSolverSettings& joints = s.solver.joints;
    const bool eliminated = joints.method != JointMethod::iterative &&
                            s.solver.method != SolverMethod::interior_point &&
                            s.solver.method != SolverMethod::dantzig;
    s.parallel.whole_below = eliminated ? joints.cut_from : 0;
    s.parallel.chains_in_order = joints.chains_in_order();
    if (s.parallel.deterministic && !s.method_given) s.solver.method = SolverMethod::gauss_seidel;
    if (s.parallel.deterministic) refuse_with_deterministic(visit, s);
  });
}

void describe_output(SettingsVisitor& visit, OutputSettings& s, const TimeSettings& time) {
  visit.section("output", {.help = "what the result holds"}, [&] {
    visit.visit(
        "snapshot_interval", s.snapshot_interval,
        {.unit = "s",
         .min = 0,
         .min_open = true,
         .finite = false,
         .help = "simulated time between snapshots; .inf: only the first and the last state"});
    visit.visit("series_steps", s.series_steps, {.min = 1, .help = "steps per row of the series"});
    visit.visit("contacts", s.contacts, {.help = "contacts in the snapshots"});
    visit.visit("asynchronous", s.asynchronous,
                {.help = "snapshots are copied and written in the background while the next steps "
                         "run, where the copies take less than half of the host's free memory"});
    visit.visit("vtk", s.vtk,
                {.help = "snapshots also as files of VTK, in DIR/vtk, which every rank writes of "
                         "its own bodies"});
    visit.visit("dump_interval", s.dump_interval,
                {.unit = "s",
                 .min = 0,
                 .min_open = true,
                 .finite = false,
                 .help = "simulated time between dumps of a step as FCLIB problem, 20 at most"});
    visit.visit("checkpoint_wall_interval", s.checkpoint_wall_interval,
                {.unit = "s",
                 .min = 0,
                 .min_open = true,
                 .finite = false,
                 .help = "wall time between checkpoints; .inf: only those that are asked for"});
    visit.visit("checkpoint_steps", s.checkpoint_steps,
                {.min = 0, .help = "steps between checkpoints, besides those; 0: none"});
    // the default is nobody's wish
    if (s.snapshot_interval != OutputSettings().snapshot_interval)
      hint_at_interval(visit, "snapshot_interval", s.snapshot_interval, time.step);
    hint_at_interval(visit, "dump_interval", s.dump_interval, time.step);
    if (time.stepper == StepperKind::natural && std::isfinite(s.dump_interval)) {
      visit.reject("dump_interval", "there are no contact problems with time.stepper: natural",
                   "leave it out");
    }
  });
}

/// Ways to treat joints that stepper `natural` has no use for, in the section `solver`.
void refuse_for_natural(SettingsVisitor& visit, const CaseSettings& s) {
  if (s.solver.joints.method == JointMethod::iterative) {
    visit.reject("joints.method",
                 "`iterative` does not solve joints exactly, as time.stepper: "
                 "natural needs",
                 "set it to auto, chain or direct");
  }
  if (!std::isnan(s.step_solve.projection)) {
    visit.reject("joints.projection", "is not for time.stepper: natural",
                 "time.natural.baumgarte holds positions");
  }
}

/// File names in a case are relative to it; resolved here, so that they hold anywhere.
void resolve_file(std::string& file, const std::string& directory) {
  if (file.empty()) return;
  const std::filesystem::path path = std::filesystem::path(directory) / file;
  file = std::filesystem::absolute(path).lexically_normal().string();
}

void resolve_files(ShapeSettings& s, const std::string& directory) {
  resolve_file(s.file, directory);
  for (PartSettings& part : s.parts) resolve_files(part.shape, directory);
}

void resolve_files(CaseSettings& s, const std::string& directory) {
  for (BodySettings& body : s.bodies) {
    resolve_files(body.shape, directory);
    resolve_file(body.motion.file, directory);
  }
  for (GeneratorSettings& g : s.generators) {
    resolve_file(g.motion.file, directory);
    std::visit(
        [&](auto& kind) {
          if constexpr (requires { kind.file; }) resolve_file(kind.file, directory);
          if constexpr (requires { kind.shape; }) resolve_files(kind.shape, directory);
          if constexpr (requires { kind.region; }) resolve_files(kind.region.mesh, directory);
        },
        g.kind);
  }
  for (JointSettings& joint : s.joints) {
    resolve_file(joint.first.motor.table.file, directory);
    resolve_file(joint.second.motor.table.file, directory);
    resolve_file(joint.lift.table.file, directory);
    resolve_file(joint.curve.file, directory);
  }
  for (ForceSettings& force : s.forces) resolve_file(force.table.file, directory);
  for (ControllerSettings& controller : s.controllers) {
    resolve_file(controller.table.file, directory);
    resolve_file(controller.target_table.file, directory);
  }
  for (CellDriveSettings& drive : s.periodic.deform) resolve_file(drive.table.file, directory);
  resolve_file(s.initial.from, directory);
  resolve_file(s.gravity_table.file, directory);
}

/// Where misfits of joints contradict each other, methods without a factor of their mechanism put
/// ever larger reactions into it.
bool has_joints(const CaseSettings& s) {
  return !s.joints.empty() || std::ranges::any_of(s.generators, [](const GeneratorSettings& g) {
    const bool jointed = g.is<ChainSettings>() || g.is<NetSettings>() || g.is<TreeSettings>();
    return (jointed && !g.held()) || g.is<BondSettings>();
  });
}

bool stays_bounded(const BodySettings& body) {
  return body.fixed && body.shape.type != ShapeType::plane;
}

/// Where images of a periodic box move, what would have to know of that besides contacts is
/// refused.
void refuse_in_moving_box(SettingsVisitor& visit, const CaseSettings& s) {
  const std::string box = s.periodic.deforms ? "periodic.deform" : "periodic.shear";
  const auto refuse = [&](std::string_view key, const std::string& what, const std::string& fix) {
    visit.reject(key, what + " not available with " + box, fix);
  };
  const auto any_generator = [&](auto&& which) { return std::ranges::any_of(s.generators, which); };
  if (has_joints(s))
    refuse(s.joints.empty() ? "generators" : "joints", "joints are", "remove them");
  if (std::ranges::any_of(s.forces, [](const ForceSettings& f) { return !f.between.empty(); }))
    refuse("forces", "springs and dampers are", "remove them");
  const auto moves = [](const auto& item) { return item.motion.present; };
  if (std::ranges::any_of(s.bodies, moves))
    refuse("bodies", "bodies that move as prescribed are", "remove their motion");
  if (any_generator(moves))
    refuse("generators", "bodies that move as prescribed are", "remove their motion");
  if (any_generator([](const GeneratorSettings& g) { return g.is<InsertionSettings>(); }))
    refuse("generators", "insertion is", "place the bodies at the start");
  if (!s.periodic.deforms) return;
  if (std::ranges::any_of(s.bodies, stays_bounded))
    refuse("bodies", "fixed bodies, which would not follow, are", "let them move freely");
  if (any_generator([](const GeneratorSettings& g) { return g.fixed; }))
    refuse("generators", "fixed bodies, which would not follow, are", "let them move freely");
  const bool by_stress = std::ranges::any_of(
      s.periodic.deform, [](const CellDriveSettings& drive) { return !std::isnan(drive.stress); });
  if (by_stress && s.contact.stiffness == Stiffness::rigid)
    visit.reject("contact",
                 "with stiffness: rigid there is no stiffness by which periodic.deform could "
                 "follow a stress",
                 "leave out contact.stiffness, or give a strain_rate");
}

/// The keys of `solver:`.
void describe_solver(SettingsVisitor& visit, CaseSettings& all) {
  SolverSettings& solver = all.solver;
  StepSolveSettings& s = all.step_solve;
  all.method_given = visit.gives("method");
  visit.choose("method", solver.method, kSolverNames,
               {.help = "how contacts are solved (docs/choosing-a-solver.md); not given, it is "
                        "gauss_seidel where max_iterations, formulation, a local but exact, "
                        "joints, or parallel.deterministic: true are"});
  const bool counts_sweeps = visit.gives("max_iterations");
  describe(visit, solver);
  const GaussSeidelSettings& sweeps = solver.gauss_seidel;
  if (!all.method_given && (counts_sweeps || has_joints(all) || sweeps.local != LocalSolve::exact ||
                            sweeps.formulation != Formulation::velocity))
    solver.method = SolverMethod::gauss_seidel;
  visit.section("joints", {.help = "how joints are solved"}, [&] {
    describe(visit, solver.joints);
    visit.visit("projection", s.projection,
                {.unit = "m",
                 .min = 0,
                 .min_open = true,
                 .word = "none",
                 .word_value = kNone,
                 .help = "misfit to which positions of joints are projected after each step; "
                         "`none`: they are stabilised by the step alone"});
    visit.visit(
        "geometric_stiffness", s.geometric_stiffness,
        {.help = "where tension turns bodies, or swings rods and ropes, faster than the step "
                 "can follow, inertias are raised in the step and rods do no work "
                 "(docs/theory.md, Tension, Rods and ropes)"});
  });
  visit.visit("warm_start", s.warm_start, {.help = "start from the last step's impulses"});
  visit.choose("on_missed_tolerance", s.on_missed_tolerance, kAnswers,
               {.help = "when a step misses its tolerance: `stop` ends the run with exit code 4"});
}

}  // namespace

void describe(SettingsVisitor& visit, CaseSettings& s) {
  int schema = 1;
  visit.visit("catena", schema, {.min = 1, .max = 1, .required = true, .help = "schema version"});
  describe_name(visit, s);
  describe_space(visit, s);
  describe_materials(visit, s);
  describe_contact(visit, s);
  describe_bodies(visit, s);
  describe_generators(visit, s);
  describe_joints(visit, s);
  describe_forces(visit, s);
  describe_outflow(visit, s);
  describe_initial(visit, s);
  describe_time(visit, s.time);
  if (s.time.stepper == StepperKind::natural && (s.dimension == 2 || s.periodic.present)) {
    visit.reject(s.dimension == 2 ? "dimension" : "periodic",
                 "is not available with time.stepper: natural",
                 s.dimension == 2 ? "joints keep mechanisms in a plane: set dimension to 3"
                                  : "leave it out, or use time.stepper: spook");
  }
  if (s.time.stepper == StepperKind::natural && s.gravity_table.present) {
    visit.reject("gravity_table", "is not available with time.stepper: natural",
                 "give a constant gravity, or use time.stepper: spook");
  }
  if (s.periodic.shear.present || s.periodic.deforms) refuse_in_moving_box(visit, s);
  visit.section("solver", {.help = "of each step's contact problem"}, [&] {
    describe_solver(visit, s);
    if (s.time.stepper == StepperKind::natural) refuse_for_natural(visit, s);
    const LocalSolve local = s.solver.gauss_seidel.local;
    const bool ccp = s.contact.law == ContactLaw::ccp || s.contact.law == ContactLaw::lagged;
    if (local == LocalSolve::cone && !ccp) {
      visit.reject("local", "`cone` solves the laws ccp and lagged only",
                   "set contact.law to ccp, or local to exact");
    }
    if (local != LocalSolve::cone && local != LocalSolve::exact && ccp) {
      visit.reject("local",
                   "`project`, `sliding` and `scalar` solve Coulomb's law, not ccp or lagged",
                   "set contact.law to coulomb, or local to exact or cone");
    }
  });
  describe_probes(visit, s.probes, s.time.step, s.time.end);
  describe_controllers(visit, s.controllers);
  if (s.time.stepper == StepperKind::natural && !s.controllers.empty())
    visit.reject("controllers", "are not available with time.stepper: natural",
                 "use time.stepper: spook");
  visit.visit("stop_when", s.stop_when,
              {.help = "ends the run after the step in which it holds, for example "
                       "`plate.force_z > 1 kN` (docs/probes.md)"});
  s.stop_when_place = visit.where("stop_when");
  describe_parallel(visit, s);
  describe_output(visit, s.output, s.time);
  visit.visit("seed", s.seed, {.min = 0, .help = "of all random numbers"});
}

CaseSettings parse_case(const std::string& text, const std::string& source,
                        const std::string& directory, const std::vector<std::string>& overrides) {
  const auto document = std::make_shared<YamlDocument>(text, source);
  for (const std::string& assignment : overrides) document->set(assignment);
  CaseSettings settings;
  settings.hints = document->read([&](SettingsVisitor& visit) { describe(visit, settings); });
  settings.place_of = [document](std::string_view path) { return document->place_of(path); };
  resolve_files(settings, directory);
  if (settings.time.stepper == StepperKind::spook)
    check_damping_times(settings, settings.time.step);
  check_contact_damping(settings, settings.time.step);
  check_bonds(settings);
  if (settings.time.stepper == StepperKind::natural)
    check_smooth(settings);
  else
    check_inertias(settings);
  return settings;
}

BodySettings parse_body(const SceneSettings& scene, const std::string& text,
                        const std::string& source, const std::string& directory) {
  BodySettings body;
  YamlDocument(text, source).read([&](SettingsVisitor& visit) {
    describe_one(visit, scene, body);
  });
  resolve_files(body.shape, directory);
  return body;
}

JointSettings parse_joint(const SceneSettings& scene, const std::string& text,
                          const std::string& source) {
  JointSettings joint;
  YamlDocument(text, source).read([&](SettingsVisitor& visit) {
    describe_one(visit, scene, joint);
  });
  return joint;
}

CaseSettings read_case(const Communicator& comm, const std::string& path,
                       const std::vector<std::string>& overrides) {
  std::string text;
  all_or_none(comm, [&] {
    if (comm.rank() == 0) text = read_bytes(path);
  });
  comm.broadcast(0, text);
  const std::string directory = std::filesystem::path(path).parent_path().string();
  CaseSettings settings;
  all_or_none(comm, [&] { settings = parse_case(text, path, directory, overrides); });
  return settings;
}

namespace {

/// Whether a text holds a place, ":3:5:".
bool has_place(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789";
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    const std::size_t colon = text.find_first_not_of(kDigits, at + 1);
    if (colon == at + 1 || colon == std::string_view::npos || text[colon] != ':') continue;
    const std::size_t end = text.find_first_not_of(kDigits, colon + 1);
    if (end != colon + 1 && end != std::string_view::npos && text[end] == ':') return true;
  }
  return false;
}

}  // namespace

Error with_place(const CaseSettings& settings, const Error& error) {
  const std::string& where = error.where();
  if (!settings.place_of || has_place(where) || where.starts_with("--set")) return error;
  const std::string place = settings.place_of(where.substr(0, where.find(':')));
  if (place.empty()) return error;
  return Error(error.found(), place + ": " + where, error.fix(), error.code());
}

std::string print_case(const CaseSettings& settings) {
  CaseSettings copy = settings;
  return print_yaml([&](SettingsVisitor& visit) { describe(visit, copy); });
}

}  // namespace catena
