#include "catena/simulation/controls.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "catena/base/cadence.hpp"
#include "catena/base/error.hpp"
#include "catena/base/suggest.hpp"
#include "catena/base/text.hpp"
#include "catena/base/units.hpp"
#include "catena/scenarios/factor.hpp"
#include "catena/simulation/change_velocity.hpp"
#include "catena/stepper/time_stepper.hpp"
#include "simulation/control/drive.hpp"
#include "simulation/control/expression.hpp"
#include "simulation/control/laws.hpp"

namespace catena {

namespace {

using control::Kept;

/// What controllers measure by, and what expressions know by name: t, columns of probes, the
/// controller's parameters, the outputs of others.
struct Formula {
  Expression expression;
  /// Per variable that it uses.
  struct Variable {
    enum class Kind { time, column, parameter, output } kind = Kind::time;
    ProbeSet::Column column;
    double value = 0.0;          ///< of a parameter
    std::size_t controller = 0;  ///< whose output
  };
  std::vector<Variable> variables;
};

struct Controller {
  const ControllerSettings* settings = nullptr;
  control::Drive drive;
  ProbeSet::Column measure;
  double target = 0.0;  ///< a number, unless one of these is there
  std::optional<ValueTable> table;
  std::optional<Formula> formula;
};

}  // namespace

struct Controls::Impl {
  const std::vector<ControllerSettings>& settings;
  const Model& model;
  const ProbeSet& probes;
  double h;
  std::size_t n_forces = 0;
  std::vector<Controller> all;
  std::vector<std::size_t> order;  ///< in which outputs are made

  Formula formula(const ControllerSettings& s, const std::string& text, const std::string& where);
  void add(const Communicator& comm, const ControllerSettings& s, const SceneSettings& scene);
  void read_target(const ControllerSettings& s, Controller& c);
  void visit(std::size_t k, std::vector<char>& mark, std::vector<std::size_t>& path);
  static double* numbers(State& state, std::size_t k) {
    return state.controls.data() + k * control::kNumbers;
  }
  double evaluate(const Formula& f, double t, const State& state) const;
  double wanted(const Controller& c, double t, const State& state) const;
  double output(const Controller& c, double t, double* kept, const State& state) const;
  void act(std::size_t k, Bodies& bodies, State& state);
  void drive_motion(const control::Drive& drive, double output, const Bodies& bodies,
                    State& state) const;
};

Formula Controls::Impl::formula(const ControllerSettings& s, const std::string& text,
                                const std::string& where) {
  std::vector<std::string> names = {"t"};
  std::vector<Formula::Variable> known(1);
  for (const auto& [name, word] : s.parameters) {
    names.push_back(name);
    known.push_back({Formula::Variable::Kind::parameter, {}, 0.0, 0});
    try {
      known.back().value = parse_quantity(word, "");
    } catch (const Error& error) {
      throw Error(error.found(), s.place + ".parameters." + name, error.fix());
    }
  }
  for (std::size_t k = 0; k < settings.size(); ++k) {
    names.push_back(settings[k].name);
    known.push_back({Formula::Variable::Kind::output, {}, 0.0, k});
  }
  for (const std::string& path : probes.paths()) {
    names.push_back(path);
    known.push_back({Formula::Variable::Kind::column, probes.find(path, where), 0.0, 0});
  }
  Formula made{Expression(text, names, where), {}};
  for (const std::size_t k : made.expression.used()) made.variables.push_back(known[k]);
  return made;
}

/// A quantity in the measure's unit, else an expression.
void Controls::Impl::read_target(const ControllerSettings& s, Controller& c) {
  const std::string unit = c.measure.unit == "1" ? "" : c.measure.unit;
  try {
    c.target = parse_quantity(s.target, unit);
    return;
  } catch (const Error& quantity) {
    try {
      c.formula.emplace(formula(s, s.target, s.place + ".target"));
    } catch (const Error& error) {
      throw Error("'" + s.target + "' is neither a quantity in " + (unit.empty() ? "1" : unit) +
                      " (" + quantity.found() + ") nor an expression (" + error.found() + ")",
                  s.place + ".target", error.fix());
    }
  }
}

void Controls::Impl::add(const Communicator& comm, const ControllerSettings& s,
                         const SceneSettings& scene) {
  Controller c;
  c.settings = &s;
  c.drive = control::find_drive(s, scene, model);
  for (const Controller& other : all)
    if (c.drive.meets(other.drive))
      throw Error("'" + s.drive + "' is driven by '" + other.settings->name + "' already",
                  s.place + ".drive", "one controller drives one thing");
  if (s.type == ControllerType::pid || s.type == ControllerType::servo) {
    c.measure = probes.find(s.measure, s.place + ".measure");
    if (s.target_table.present)
      c.table = read_factor(comm, s.target_table, s.place + ".target");
    else
      read_target(s, c);
    if (s.type == ControllerType::servo) control::check_servo(s, c.drive, c.measure.unit, c.target);
  } else if (s.type == ControllerType::table) {
    c.table = read_factor(comm, s.table, s.place + ".table");
  } else {
    c.formula.emplace(formula(s, s.expression, s.place + ".expression"));
  }
  all.push_back(std::move(c));
}

/// Outputs that others use are made before: depth first; a circle is refused.
void Controls::Impl::visit(std::size_t k, std::vector<char>& mark, std::vector<std::size_t>& path) {
  constexpr char kUnderWay = 1, kDone = 2;
  if (mark[k] == kDone) return;
  path.push_back(k);
  if (mark[k] == kUnderWay) {
    std::string circle;
    for (auto at = std::ranges::find(path, k); at != path.end(); ++at)
      circle += (circle.empty() ? "" : " -> ") + settings[*at].name;
    throw Error("uses itself: " + circle, settings[k].place,
                "outputs that use each other need an order");
  }
  mark[k] = kUnderWay;
  if (all[k].formula)
    for (const Formula::Variable& v : all[k].formula->variables)
      if (v.kind == Formula::Variable::Kind::output) visit(v.controller, mark, path);
  path.pop_back();
  mark[k] = kDone;
  order.push_back(k);
}

double Controls::Impl::evaluate(const Formula& f, double t, const State& state) const {
  std::vector<double> values;
  for (const Formula::Variable& v : f.variables) {
    using enum Formula::Variable::Kind;
    values.push_back(v.kind == time        ? t
                     : v.kind == parameter ? v.value
                     : v.kind == column
                         ? ProbeSet::value(v.column, state)
                         : state.controls[v.controller * control::kNumbers + control::kOutput]);
    if (std::isnan(values.back())) return std::numeric_limits<double>::quiet_NaN();
  }
  return f.expression.evaluate(values);
}

/// The target of a pid or servo, the output of others.
double Controls::Impl::wanted(const Controller& c, double t, const State& state) const {
  if (c.table) return c.table->at(t);
  return c.formula ? evaluate(*c.formula, t, state) : c.target;
}

double Controls::Impl::output(const Controller& c, double t, double* kept,
                              const State& state) const {
  const double target = wanted(c, t, state);
  if (c.settings->type != ControllerType::pid && c.settings->type != ControllerType::servo)
    return control::limited(*c.settings, target);
  const double measure = ProbeSet::value(c.measure, state);
  if (std::isnan(measure) || std::isnan(target)) return measure + target;
  const control::Sample sample{t, measure, target};
  return c.settings->type == ControllerType::pid ? control::pid(*c.settings, sample, kept)
                                                 : control::servo(*c.settings, sample, kept);
}

/// Replaces the part of the velocity in the drive's direction; others stay.
void Controls::Impl::drive_motion(const control::Drive& drive, double output, const Bodies& bodies,
                                  State& state) const {
  const auto change = [&](Twist twist) {
    Vec3& part = drive.angular ? twist.w : twist.v;
    part += (output - part.dot(drive.direction)) * drive.direction;
    return twist;
  };
  change_velocities(model, drive.body, drive.n_bodies, change, bodies, state);
}

void Controls::Impl::act(std::size_t k, Bodies& bodies, State& state) {
  const Controller& c = all[k];
  double* kept = numbers(state, k);
  const double made = output(c, state.time, kept, state);
  if (std::isnan(made)) return;  // an input is not defined
  if (!std::isfinite(made))
    throw BlowUp(
        "the controller '" + c.settings->name + "' gives no finite output: " + short_text(made),
        "lower its gains, or give it limits");
  kept[control::kOutput] = made;
  if (c.drive.force >= 0) {
    if (state.force_factors.empty())
      state.force_factors.assign(n_forces, std::numeric_limits<double>::quiet_NaN());
    state.force_factors[static_cast<std::size_t>(c.drive.force)] = made;
    return;
  }
  if (c.drive.n_bodies > 0) return drive_motion(c.drive, made, bodies, state);
  const auto found =
      std::lower_bound(bodies.joints.begin(), bodies.joints.end(), c.drive.joint,
                       [](const JointConstants& joint, GlobalId id) { return joint.id < id; });
  if (found != bodies.joints.end() && found->id == c.drive.joint)
    found->axis[c.drive.axis].target = made;
}

Controls::Controls(const Communicator& comm, const std::vector<ControllerSettings>& controllers,
                   const SceneSettings& scene, const Model& model, const ProbeSet& probes,
                   double step)
    : impl_(new Impl{controllers, model, probes, step, 0, {}, {}}) {
  impl_->n_forces = control::count_loads(scene);
  for (const ControllerSettings& s : controllers) impl_->add(comm, s, scene);
  std::vector<char> mark(controllers.size(), 0);
  std::vector<std::size_t> path;
  for (std::size_t k = 0; k < controllers.size(); ++k) impl_->visit(k, mark, path);
}

Controls::~Controls() = default;

bool Controls::none() const { return impl_->all.empty(); }

void Controls::begin(Bodies& bodies, State& state) {
  state.controls.assign(impl_->all.size() * control::kNumbers,
                        std::numeric_limits<double>::quiet_NaN());
  for (const std::size_t k : impl_->order) impl_->act(k, bodies, state);
}

bool Controls::belongs_to(const State& state) const {
  return state.controls.size() == impl_->all.size() * control::kNumbers;
}

void Controls::after_step(Bodies& bodies, State& state) {
  for (const std::size_t k : impl_->order) {
    const double interval = impl_->all[k].settings->interval;
    if (interval == 0.0 || interval_ends(state.step, impl_->h, interval))
      impl_->act(k, bodies, state);
  }
}

std::string Controls::outputs(const State& state) const {
  std::string text;
  for (std::size_t k = 0; k < impl_->all.size(); ++k) {
    const Controller& c = impl_->all[k];
    text += (text.empty() ? "'" : ", '") + c.settings->name + "' (output " +
            short_text(state.controls[k * control::kNumbers + control::kOutput]) +
            (c.drive.unit.empty() ? "" : " " + c.drive.unit) + ")";
  }
  return text;
}

}  // namespace catena
