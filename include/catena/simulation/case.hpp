// A case: everything that one YAML file says about a run (docs/configuration.md).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/constraints/contact_rows.hpp"
#include "catena/partition/balance.hpp"
#include "catena/probes/probe_settings.hpp"
#include "catena/scenarios/scene.hpp"
#include "catena/simulation/controller_settings.hpp"
#include "catena/solvers/solver_factory.hpp"
#include "catena/stepper/natural_stepper.hpp"

namespace catena {

/// What a run does about a step whose solve misses its tolerance: warn in the log, or end.
enum class OnMissedTolerance { warn, stop };

/// `time:`
struct TimeSettings {
  StepperKind stepper = StepperKind::spook;
  double step = kNone;  ///< s, required
  double end = kNone;   ///< s, required; the run does round(end / step) steps
  NaturalSettings natural;
  bool natural_given = false;  ///< whether the case has the section
};

/// Keys of `solver:` that are the step's, whatever the method.
struct StepSolveSettings {
  /// m, to which positions of joints are projected after each step; kNone: not at all. Key
  /// `joints.projection`.
  double projection = kNone;
  /// Key `joints.geometric_stiffness`: inertia is raised where tension asks for it.
  bool geometric_stiffness = true;
  bool warm_start = true;
  OnMissedTolerance on_missed_tolerance = OnMissedTolerance::warn;
};

/// `output:`
struct OutputSettings {
  double snapshot_interval = 0.05;  ///< s; .inf: only the first and the last state
  int series_steps = 1;             ///< steps per row of the series
  bool contacts = true;             ///< contacts in the snapshots
  bool asynchronous = false;        ///< snapshots are written while the next steps run
  bool vtk = false;                 ///< snapshots also as files of VTK
  double dump_interval =
      std::numeric_limits<double>::infinity();  ///< s, between FCLIB dumps of a step (20 at most)
  double checkpoint_wall_interval = 1800.0;     ///< s, wall
  std::int64_t checkpoint_steps = 0;            ///< steps between checkpoints besides; 0: none
};

/// A case file as read and checked: SI units, files absolute, every key not given at its default.
/// Equal on all ranks.
struct CaseSettings : SceneSettings {
  TimeSettings time;
  /// No absolute tolerance: one that suits boulders would leave grains of a millimetre unsolved.
  SolverSettings solver{.method = SolverMethod::automatic,
                        .stop = {.absolute_tolerance = 0.0, .max_iterations = kUsualIterations}};
  bool method_given = false;  ///< else it is what the other keys allow
  StepSolveSettings step_solve;
  std::vector<ProbeSettings> probes;
  std::vector<ControllerSettings> controllers;
  std::string stop_when, stop_when_place;  ///< a condition on probes (ProbeCondition), its place
  BalanceSettings parallel;
  OutputSettings output;
  /// Where a key stands in the case's file (YamlDocument::place_of); none for cases made otherwise.
  std::function<std::string(std::string_view)> place_of;
};

/// The same error, with the place of its key before it where `where` is a key of the case, such as
/// "solver.formulation".
Error with_place(const CaseSettings& settings, const Error& error);

/// The whole description of a case file, `catena: 1` included.
void describe(SettingsVisitor& visit, CaseSettings& s);

/// Collective. Reads and checks a case file; `overrides` are `path=value` texts of --set.
/// Rank 0 reads, every rank parses the same text. Throws Error on every rank: bad_input
/// with file, line, column and key, or input_output if the file cannot be read.
CaseSettings read_case(const Communicator& comm, const std::string& path,
                       const std::vector<std::string>& overrides = {});

/// The same from text; `source` is what errors call it, `directory` what paths are relative to.
CaseSettings parse_case(const std::string& text, const std::string& source,
                        const std::string& directory,
                        const std::vector<std::string>& overrides = {});

/// One of `bodies` by itself, as text of its keys, beside those of a scene. Throws Error with line
/// and key.
BodySettings parse_body(const SceneSettings& scene, const std::string& text,
                        const std::string& source, const std::string& directory);
/// The same of `joints`.
JointSettings parse_joint(const SceneSettings& scene, const std::string& text,
                          const std::string& source);

/// The resolved case as YAML, every key with its value: valid input again.
std::string print_case(const CaseSettings& settings);

}  // namespace catena
