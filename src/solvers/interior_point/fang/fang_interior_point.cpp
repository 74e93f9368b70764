#include "solvers/interior_point/fang/fang_interior_point.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/base/timer.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/math/cone.hpp"
#include "solvers/interior_point/fang/stage_system.hpp"
#include "solvers/stop_monitor.hpp"

namespace catena {
namespace {

using fang::Cones;
using fang::ScaledOperator;
using fang::Stage;
using fang::StageSystem;
using fang::Unit;
using fang::UnitInverse;

/// t = kGrowth times what the surrogate gap says: every stage asks for a gap kGrowth times smaller.
constexpr double kGrowth = 5.0;
/// Part of the way to the boundary that a step takes.
constexpr double kFraction = 0.9;
/// Backtracking: the residual must fall by kDecrease of what the linear model says.
constexpr double kDecrease = 0.01, kShorter = 0.5;
/// Steps shorter than this are round-off.
constexpr double kSmallestStep = 1e-10;
/// The start: this many times the sum of all |r'_k|.
constexpr double kStart = 10.0;

/// A guess made admissible.
void project(const Cones& cones, std::span<double> impulses) {
  for (std::size_t i = 0; i < impulses.size(); ++i)
    if (cones.fixed()[i] != 0) impulses[i] = 0.0;
  for (const Unit& u : cones.units()) {
    double* p = impulses.data() + u.row;
    if (u.contact())
      Eigen::Map<Vec3>{p} = project_cone({p[0], p[1], p[2]}, u.friction);
    else
      p[0] = std::max(p[0], 0.0);
  }
}

enum class Outcome { stepped, stalled, breakdown, late };

/// The iterate of [F14]'s method on scaled impulses and what its stages work with.
class Iterate {
 public:
  Iterate(const ConstraintProblem& problem, const Cones& cones, DelassusOperator& op,
          const InteriorPointSettings& settings, SolveWatch& watch)
      : comm_(problem.comm),
        cones_(cones),
        operator_(cones, op),
        system_(fang::make_stage_system(problem, cones, operator_, settings, watch)),
        weight_(cones.units()),
        barriers_(cones.units().size()) {
    const std::size_t rows = problem.n_rows(), multipliers = cones.n_multipliers();
    for (auto* v : {&x_, &dx_, &trial_x_, &r_, &nx_, &ndx_, &r_d_, &weighted_, &gradient_})
      v->assign(rows, 0.0);
    for (auto* v : {&y_, &dy_, &trial_y_, &c_, &trial_c_, &r_g_}) v->assign(multipliers, 0.0);
    op.free_residual(r_);
    for (std::size_t i = 0; i < rows; ++i)
      r_[i] = cones.fixed()[i] != 0 ? 0.0 : cones.scale()[i] * r_[i];
    place();
  }

  /// Collective. One stage.
  Outcome advance();
  void store_impulses(std::span<double> impulses) const {
    for (std::size_t i = 0; i < x_.size(); ++i) impulses[i] = cones_.scale()[i] * x_[i];
  }

  double step() const { return step_; }
  /// This rank's part of the surrogate gap -c.y, J.
  double gap() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < y_.size(); ++i) sum -= c_[i] * y_[i];
    return sum;
  }
  /// Collective. 1/2 x.N'x + r'.x, J.
  double objective() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < x_.size(); ++i) sum += x_[i] * (0.5 * nx_[i] + r_[i]);
    return comm_.sum(sum);
  }
  const StageSystem& system() const { return *system_; }

 private:
  void place();
  void prepare(double t);
  void residual(std::span<const double> x, std::span<const double> y, double step);
  double merit(std::span<const double> c, std::span<const double> y, double t);
  double longest_step() const;
  double try_step(double step, double t);

  const Communicator& comm_;
  const Cones& cones_;
  ScaledOperator operator_;
  std::unique_ptr<StageSystem> system_;
  UnitInverse weight_;
  std::vector<Mat3> barriers_;
  std::vector<double> x_, dx_, trial_x_, r_, nx_, ndx_, r_d_, weighted_, gradient_;
  std::vector<double> y_, dy_, trial_y_, c_, trial_c_, r_g_;
  double step_ = 0.0;
};

/// Collective. The start: normal impulses that could carry everything above every contact (a
/// start far too large costs a few stages, one too small dozens), centred multipliers.
void Iterate::place() {
  std::array<double, 2> sums = {0.0, static_cast<double>(cones_.units().size())};
  for (const Unit& u : cones_.units()) {
    double squared = 0.0;
    for (int i = 0; i < u.rows(); ++i) squared += r_[u.row + i] * r_[u.row + i];
    sums[0] += std::sqrt(squared);
  }
  comm_.sum(sums);
  const double normal = sums[0] > 0.0 ? kStart * sums[0] : 1.0;
  for (const Unit& u : cones_.units()) x_[u.row] = normal;
  cones_.constraints(x_, c_);
  for (std::size_t i = 0; i < y_.size(); ++i) y_[i] = -normal * normal / (sums[1] * c_[i]);
}

/// Neighbours. Residuals, barriers and the weights of the merit at x, y.
void Iterate::prepare(double t) {
  operator_.apply(x_, nx_);
  residual(x_, y_, 0.0);
  for (std::size_t i = 0; i < y_.size(); ++i) r_g_[i] = c_[i] + 1.0 / (t * y_[i]);
  cones_.barriers(x_, y_, barriers_);
  weight_.factor(barriers_, cones_.diagonal());
}

/// r_d = N' (x + step dx) + r' + B^T y.
void Iterate::residual(std::span<const double> x, std::span<const double> y, double step) {
  cones_.gradients_transposed(x, y, gradient_);
  for (std::size_t i = 0; i < r_d_.size(); ++i)
    r_d_[i] = nx_[i] + step * ndx_[i] + r_[i] + gradient_[i];
}

/// Collective. Square of the residuals' norm, J: r_d weighted by (diag N' + M - B^T C^-1 B)^-1 of
/// the stage's start, y c + 1/t by 1/(y |c|). (Unweighted, contacts that open decide: their
/// y_1 grows without bound while r_d there says nothing.) Infinity outside.
double Iterate::merit(std::span<const double> c, std::span<const double> y, double t) {
  double sum = 0.0;
  weight_.apply(r_d_, weighted_);
  for (std::size_t i = 0; i < r_d_.size(); ++i) sum += r_d_[i] * weighted_[i];
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!(c[i] < 0.0 && y[i] > 0.0)) sum = std::numeric_limits<double>::infinity();
    const double centring = y[i] * c[i] + 1.0 / t;
    sum -= centring * centring / (y_[i] * c_[i]);
  }
  return comm_.sum(sum);
}

/// Collective.
double Iterate::longest_step() const {
  double step = cones_.largest_step(x_, dx_);
  for (std::size_t i = 0; i < y_.size(); ++i)
    if (dy_[i] < 0.0) step = std::min(step, -y_[i] / dy_[i]);
  return std::min(1.0, kFraction * comm_.min(step));
}

/// Collective. The merit after a step.
double Iterate::try_step(double step, double t) {
  for (std::size_t i = 0; i < x_.size(); ++i) trial_x_[i] = x_[i] + step * dx_[i];
  for (std::size_t i = 0; i < y_.size(); ++i) trial_y_[i] = y_[i] + step * dy_[i];
  cones_.constraints(trial_x_, trial_c_);
  residual(trial_x_, trial_y_, step);
  return merit(trial_c_, trial_y_, t);
}

Outcome Iterate::advance() {
  std::array<double, 2> sums = {gap(), static_cast<double>(y_.size())};
  comm_.sum(sums);
  const double t = kGrowth * sums[1] / sums[0];
  prepare(t);
  const double before = merit(c_, y_, t);
  if (!system_->solve({x_, y_, c_, r_d_, r_g_, barriers_}, dx_, dy_)) return Outcome::stalled;
  operator_.apply(dx_, ndx_);
  double norm = 0.0;
  for (const double v : dx_) norm += v * v;
  for (const double v : dy_) norm += v * v;
  if (!std::isfinite(comm_.sum(norm)) || !std::isfinite(before)) return Outcome::breakdown;
  step_ = longest_step();
  const auto good = [&] {
    const double sufficient = 1.0 - kDecrease * step_;
    return try_step(step_, t) <= sufficient * sufficient * before;
  };
  while (!good()) {
    step_ *= kShorter;
    if (step_ < kSmallestStep) return Outcome::stalled;
  }
  std::swap(x_, trial_x_);
  std::swap(y_, trial_y_);
  std::swap(c_, trial_c_);
  for (std::size_t i = 0; i < nx_.size(); ++i) nx_[i] += step_ * ndx_[i];
  return Outcome::stepped;
}

/// [F14]'s two criteria: what a full step would change, relative. (A short step changes little
/// however far the solution is.)
class ChangeMonitor {
 public:
  ChangeMonitor(const Communicator& comm, const Cones& cones, const FangSettings& settings)
      : comm_(comm), cones_(cones), settings_(settings) {}

  /// Collective. Whether nothing changes any more; takes the iterate for the next comparison.
  bool over(const Iterate& iterate, std::span<const double> impulses) {
    if (settings_.stop == FangStop::none) return false;
    const bool first = last_.empty();
    const std::array<double, 2> now =
        settings_.stop == FangStop::objective ? objective_change(iterate) : force_change(impulses);
    change_ = now[0] / (now[1] * iterate.step());
    return !first && change_ <= settings_.tolerance;
  }
  std::string reason(int stages) const {
    return std::string("no more change of the ") +
           (settings_.stop == FangStop::objective ? "objective" : "contact force magnitude") +
           " (" + short_text(change_, 3) + " relative in a full step) after " +
           std::to_string(stages) + " stages";
  }

 private:
  std::array<double, 2> objective_change(const Iterate& iterate) {
    const double now = iterate.objective();
    const double before = last_.empty() ? now : last_[0];
    last_ = {now};
    return {std::abs(now - before), std::abs(now)};
  }
  /// 2-norms over all contacts.
  std::array<double, 2> force_change(std::span<const double> impulses) {
    std::vector<double> now;
    for (const Unit& u : cones_.units()) {
      const double* p = impulses.data() + u.row;
      now.push_back(u.contact() ? std::hypot(p[0], p[1], p[2]) : p[0]);
    }
    std::array<double, 2> sums = {0.0, 0.0};
    for (std::size_t k = 0; k < now.size(); ++k) {
      const double change = last_.empty() ? now[k] : now[k] - last_[k];
      sums[0] += change * change;
      sums[1] += now[k] * now[k];
    }
    comm_.sum(sums);
    last_ = std::move(now);
    last_.push_back(0.0);  // a rank without contacts has a last time, too
    return {std::sqrt(sums[0]), std::sqrt(sums[1])};
  }

  const Communicator& comm_;
  const Cones& cones_;
  const FangSettings& settings_;
  double change_ = 0.0;
  std::vector<double> last_;  ///< the objective, or the magnitudes
};

class FangInteriorPoint final : public Solver {
 public:
  FangInteriorPoint(const StopRule& stop, const InteriorPointSettings& settings)
      : stop_(stop), settings_(settings) {}
  std::string_view name() const override { return "interior_point"; }
  void set_stop_rule(const StopRule& rule) override { stop_ = rule; }

  const SolveReport& solve(const ConstraintProblem& problem, std::span<double> impulses,
                           std::span<double> velocities) override {
    const double started = wall_seconds();
    require_kernels(problem, "[F14]'s form");
    if (!law_form(problem.law).is_associated())
      throw Error("[F14]'s forms solve the law ccp only", "solver.interior_point.form",
                  "use form: cone, or law ccp");
    DelassusOperator op(problem);
    std::unique_ptr<Cones> cones;
    all_or_none(problem.comm, [&] { cones = std::make_unique<Cones>(problem); });
    project(*cones, impulses);
    StopMonitor monitor(problem, op, stop_, impulses, velocities, started);
    if (monitor.start()) {
      monitor.set_setup_seconds(wall_seconds() - started);
      return report_ = std::move(monitor.finish(""));
    }
    Iterate iterate(problem, *cones, op, settings_, monitor.watch());
    monitor.set_setup_seconds(wall_seconds() - started);
    const std::string reason = run(problem.comm, *cones, iterate, monitor, impulses);
    report_ = std::move(monitor.finish(iterate.system().description()));
    report_.reason = reason + report_.reason;
    report_.linear_iterations = iterate.system().iterations();
    return report_;
  }

 private:
  /// Stages until the monitor has seen enough (an empty reason: it knows why) or there is nothing
  /// to be won.
  std::string run(const Communicator& comm, const Cones& cones, Iterate& iterate,
                  StopMonitor& monitor, std::span<double> impulses) const {
    ChangeMonitor change(comm, cones, settings_.fang);
    for (int stage = 1;; ++stage) {
      switch (advance(iterate, monitor, stage - 1)) {
        case Outcome::stepped:
          break;
        case Outcome::stalled:
          return "no further progress after " + std::to_string(stage - 1) +
                 " stages: the next step lowers no residual";
        case Outcome::late:
          return {};
        case Outcome::breakdown:
          return "the step of stage " + std::to_string(stage) + " is not finite";
      }
      iterate.store_impulses(impulses);
      monitor.begin(stage, iterate.gap(), stage >= stop_.max_iterations);
      if (monitor.end()) return {};
      if (change.over(iterate, impulses)) return change.reason(stage);
    }
  }

  /// One stage; late: the monitor has judged the impulses of the last one, `stage`, once more.
  static Outcome advance(Iterate& iterate, StopMonitor& monitor, int stage) {
    try {
      return iterate.advance();
    } catch (const OutOfTime&) {
      monitor.begin(stage, 0.0, true);
      monitor.end();
      return Outcome::late;
    }
  }

  StopRule stop_;
  InteriorPointSettings settings_;
  SolveReport report_;
};

}  // namespace

std::unique_ptr<Solver> make_fang_interior_point(const StopRule& stop,
                                                 const InteriorPointSettings& settings) {
  return std::make_unique<FangInteriorPoint>(stop, settings);
}

}  // namespace catena
