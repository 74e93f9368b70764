// What a natural stepper holds, and its work: steps (natural_stepper.cpp), whether their results
// can be trusted (natural_guard.cpp), the sub-steps and stages they are made of
// (natural_stage.cpp), and stages near singular positions (natural_singular.cpp).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "catena/comm/ghost_sum.hpp"
#include "catena/constraints/ordered_sums.hpp"
#include "catena/stepper/energy.hpp"
#include "catena/stepper/joint_assembler.hpp"
#include "catena/stepper/natural_stepper.hpp"
#include "solvers/joints/joint_system.hpp"
#include "stepper/natural/natural_joint.hpp"
#include "stepper/natural/tableau.hpp"

namespace catena {

/// Numbers of one body's coordinates, and of its coordinates and momenta.
inline constexpr int kPlaceWidth = 12;
inline constexpr std::size_t kWidth = 24;

static_assert(sizeof(NaturalCoordinates) == kPlaceWidth * sizeof(double));
static_assert(sizeof(NaturalLoad) == 2 * kPlaceWidth * sizeof(double));

/// What helps where a motion ends in a position that no smooth motion leads out of.
inline constexpr const char* kNoContinuation =
    "smooth motions pass singular positions, and this one ends there, as at a dead point that a "
    "driver moves towards, or where it starts in one: let the driver stop before it, start beside "
    "it, or take time.stepper: spook with a compliance of the joints of such loops";

/// Vectors and axes as they lie in a list of numbers.
inline Vec3 vector_at(const double* x) { return Eigen::Map<const Vec3>(x); }
inline Mat3 axes_at(const double* x) { return Eigen::Map<const Mat3>(x); }
inline void put_vector(const Vec3& v, double* x) { Eigen::Map<Vec3>{x} = v; }
inline void put_axes(const Mat3& a, double* x) { Eigen::Map<Mat3>{x} = a; }

/// Powers of a joint or a force in a stage, W.
struct Powers {
  double springs = 0.0;
  double external = 0.0;
  double motors = 0.0;  ///< of careful stages: by reactions taken out of p*'
};

/// How soft joints are, see NaturalStepper::Impl::softness, and the joint that is softest.
struct NaturalSoftness {
  double value = 0.0;
  GlobalId joint = kNoBody;
};

/// Where everything is.
struct NaturalConfiguration {
  std::vector<Pose> pose;  ///< of local bodies
  std::vector<Twist> twist;
  std::vector<std::array<double, 2>> angle;  ///< per joint, unwrapped
};

/// Sums over the sub-steps of a step.
struct NaturalSums {
  std::vector<double> total;         ///< impulses, per row
  std::vector<double> spring_total;  ///< per joint, N s or N m s
  AuditTerms audit;                  ///< what the step adds
  Sum slack;                         ///< J, that misfits may cost in the step
  int sub_steps = 0;
};

/// What a sub-step's stages are made of.
struct NaturalStages {
  std::vector<double> y, y_stage;           ///< coordinates and momenta at the start, at the stage
  std::vector<std::vector<double>> k;       ///< their rates per stage
  std::vector<std::vector<Powers>> power;   ///< per stage: of each joint, then of each force
  std::vector<std::vector<double>> spring;  ///< per stage and joint: force or torque
  std::vector<std::vector<double>> reaction;  ///< per careful stage and row: taken out of p*', N
  std::vector<double> driver, carried;  ///< per row at the sub-step's start: drivers' rate, G V
                                        ///< of prescribed bodies
};

/// All that a step leaves behind, before it is taken over into the state.
struct NaturalOutcome {
  NaturalConfiguration at;
  NaturalSums sums;
  double time = 0.0, dt = 0.0;
  double next = 0.0;        ///< sub-step that error control tries next, s
  NaturalSoftness softest;  ///< of its careful stages (StepReport::softest_joint), and when, s
  double softest_time = 0.0;
  // the last solve
  NaturalBodies on;
  std::vector<double> jacobian, q, inverse_mass, free_velocity;
  std::vector<double> misfit, impulses, velocities;
  double joint_misfit = 0.0;
};

/// How well a step's result can be trusted; the same on every rank.
struct StepDoubt {
  double scale = 0.0;   ///< J, of what moves and is exchanged in the step
  double energy = 0.0;  ///< J, energy that works do not account for
  double slack = 0.0;   ///< J, of it what bringing misfits back may cost
  double noise = 0.0;   ///< J, of it what weights do by the round-off of velocities
  double apart = 0.0;   ///< distance of two results, in velocities over those of `scale`
};

struct NaturalStepper::Impl {
  Impl(const Communicator& communicator, const Model& m, double step, const NaturalSettings& s,
       const JointSolverSettings& joint_settings);

  // ---- once a step
  void set_up(const Bodies& bodies, const State& state);
  void refuse_contacts(double time) const;
  void make_problem();
  std::vector<double> pieces() const;
  bool starts_at_row() const;
  void settle(double length);
  void add_work_of_impact();
  void note_forbidden();
  void refuse_contradictions();
  double take_pieces(const State& state, int parts);
  void integrate_fixed(double end, int parts);
  double integrate_controlled(double piece_end, double first, int parts);
  [[noreturn]] void refuse_small_steps(bool finite);
  void check(const Bodies& bodies, const State& state) const;
  void refuse_drift(std::int64_t step);
  JointMisfit misfit_of(std::size_t j) const;
  double relative_misfit(std::size_t j) const;
  double drift_of(std::size_t j) const;
  double drift() const;
  GlobalId drifting_joint(double largest) const;
  void store(const Bodies& bodies, State& state);
  void make_report();

  // ---- whether a step can be trusted
  double take_trusted(const Bodies& bodies, const State& state);
  bool is_doubtful(const State& state);
  StepDoubt doubt(const NaturalOutcome* other) const;
  double energy_of_impulse(std::size_t joint) const;
  double apart_of(std::size_t body, const NaturalOutcome& other) const;
  void keep_start();
  void back_to_start(double t);
  NaturalOutcome outcome(double next) const;
  void take_over(NaturalOutcome&& kept);
  bool all_sound() const;
  GlobalId doubtful_joint(const NaturalOutcome& other) const;
  [[noreturn]] void give_up(const Bodies& bodies, const State& state, const NaturalOutcome& coarse,
                            double before);

  // ---- a sub-step from (pose, twist) at `time` to those at `time + dt`
  void take_stages(double length);
  void begin(double length);
  void put_momenta(std::size_t b, const Twist& twist, const Mat3& a, double* momenta) const;
  void stage(std::size_t i);
  double error() const;
  std::array<double, 2> error_of(std::size_t i) const;
  void finish();

  // ---- a stage
  void place_bodies(double t, std::span<const double> state);
  void place_prescribed(double t);
  void share(std::vector<NaturalCoordinates>& of_bodies);
  void share_places();
  void share_poses();
  void set_masses();
  void set_free_velocities(std::span<const double> state);
  void set_free(std::size_t b, const Vec3& linear, const Vec3& spin);
  void set_rows(double t);
  void solve();
  bool factor();
  void solve_rows();
  void set_rates();
  void set_loads(double t, std::size_t i);
  Powers load_by(std::size_t joint, const NaturalTime& now, std::size_t i,
                 std::vector<NaturalLoad>& load);
  void set_loads_of_joints(const NaturalTime& now, std::size_t i);
  void set_loads_in_order(const NaturalTime& now, std::size_t i);
  void clear_sums();
  void set_change(std::span<const double> state, std::span<double> change);
  NaturalTime at_time(double t) const { return {t, time, time + dt}; }
  Twist solved_twist(std::size_t b) const {
    return {vector_at(velocities.data() + 6 * b), vector_at(velocities.data() + 6 * b + 3)};
  }
  Twist free_twist(std::size_t b) const {
    const double* v = problem.bodies.free_velocity.data() + 6 * b;
    return {vector_at(v), vector_at(v + 3)};
  }
  bool is_dynamic(std::size_t b) const { return on.dynamic[b] != 0; }
  void set_driven_rates(double t, std::span<double> driver, std::span<double> carried) const;

  // ---- near singular positions
  template <class SetFree>
  void set_at_rest(const SetFree& set_free_of);
  NaturalSoftness softness();
  void note_softness(bool at_end);
  void find_usual_softness();
  bool is_all_singular() const;
  bool comes_near_singular() const;
  void to_joints(double t);
  bool is_singular(double t);
  bool evaluate(double t, std::span<const double> state, std::size_t i, bool anyhow);
  void evaluate_across(double t, std::span<const double> state, std::size_t i,
                       std::span<const Twist> direction);
  void finish_carefully(double t);
  void careful_stage(double t, std::span<const double> state, std::size_t i);
  void take_reactions_out(double t, std::size_t i);

  Communicator comm;
  const Model& model;
  double h;
  NaturalSettings settings;
  double alpha;
  const Tableau& tableau;
  const Watch* watch = nullptr;  ///< at which sub-steps look
  ContactSearch search;
  ContactSet set;
  JointSystem system;
  JointAssembler angles;
  ConstraintProblem problem;
  std::optional<DelassusOperator> op;
  std::optional<HaloExchange> to_ghosts;
  std::optional<GhostSum> loads_of_ghosts;
  /// In its place in deterministic runs: per joint and side what it puts on the body there.
  std::optional<OrderedSumsOf<kWidth>> loads_in_order;
  std::vector<NaturalLoad> load_of_side;
  std::vector<NaturalLoad> load_alone;  ///< per local body: of one joint
  StepReport report;

  NaturalBodies on;
  NaturalConfiguration at, start;             ///< at the start of the sub-step, and of the step
  std::vector<Index> dynamic;                 ///< owned
  std::vector<InternalConstraints> internal;  ///< of these, at the stage's axes
  std::vector<const MotionStart*> starts;     ///< per local body
  std::vector<std::pair<Index, const AppliedForce*>> forces;
  std::vector<NaturalJoint> joints;  ///< of Bodies::joints
  std::vector<double> joint_size;    ///< of each (joint_length), m
  std::vector<Index> row;            ///< first of each joint; one more at the end
  bool driven = false;               ///< prescribed bodies or drivers act on joints here

  double time = 0.0, dt = 0.0;                ///< of the sub-step
  bool careful = false;                       ///< its stages are those of natural_singular.cpp
  bool has_rows = false;                      ///< any rank has joints' rows
  std::int64_t all_rows = 0;                  ///< of all ranks
  NaturalSoftness softest;                    ///< of its usual stages
  std::array<double, 2> softness_of{};        ///< at the middle stage and at the end
  double usual_softness = 0.0;                ///< least of the sub-step, without lost ranks
  std::vector<double> scaled, scaled_before;  ///< multipliers of the last two, sqrt(N_rr) x_r
  std::vector<double> asked;                  ///< right-hand sides, while it is found
  bool turned = false;                        ///< two of them point away from each other
  NaturalSoftness peak;                       ///< of its careful stages, and when, s
  double peak_time = 0.0;
  NaturalStages stages;
  NaturalSums sums;
  std::vector<double> misfit;  ///< per row
  std::vector<double> impulses, velocities;
  std::vector<double> held;                     ///< impulses -mu of the last careful stage
  std::vector<double> driver_now, carried_now;  ///< per row: as NaturalStages has them at the start
};

}  // namespace catena
