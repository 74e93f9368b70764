#include "simulation/diagnosis/step_trials.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_map>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/constraints/block_diagonal.hpp"

namespace catena {

namespace {

constexpr std::int64_t kMaxRows = 300000, kMaxAutomatic = 20000, kMaxFactored = 6000,
                       kMaxPivoted = 300;

using Pair = std::pair<GlobalId, GlobalId>;
Pair pair_of(const ContactKey& key) { return {key.a, key.b}; }

class StepTrials {
 public:
  StepTrials(const Simulation& sim, double seconds)
      : sim_(sim), stepper_(sim.stepper()), problem_(stepper_.problem()), seconds_(seconds) {
    rows_ = sim.communicator().sum(std::int64_t{problem_.n_rows()});
  }

  bool small_enough() const { return rows_ > 0 && rows_ <= kMaxRows; }

  void try_methods() {
    for (const SolverMethod method :
         {SolverMethod::automatic, SolverMethod::gauss_seidel, SolverMethod::apgd,
          SolverMethod::interior_point, SolverMethod::dantzig}) {
      if (method == sim_.settings().solver.method || !fits(method)) continue;
      SolverSettings settings = sim_.settings().solver;
      settings.method = method;
      record(TrialChange::method, settings, problem_);
    }
  }

  void try_exact_joints() {
    SolverSettings settings = sim_.settings().solver;
    settings.joints.method = JointMethod::automatic;
    record(TrialChange::exact_joints, settings, problem_);
  }

  void try_equal_masses() {
    double logs = 0.0, count = 0.0;
    for (const BodyConstants& body : sim_.bodies().constants) {
      if (body.kind != BodyKind::dynamic) continue;
      logs += std::log(body.mass);
      count += 1.0;
    }
    std::array<double, 2> sums = {logs, count};
    sim_.communicator().sum(sums);
    if (!(sums[1] > 0.0)) return;
    const double inverse = std::exp(-sums[0] / sums[1]);
    ConstraintProblem changed = problem_;
    ProblemBodies& bodies = changed.bodies;
    for (Index b = 0; b < bodies.size(); ++b) {
      if (bodies.mass_kind[b] != MassKind::rigid) continue;
      double* m = bodies.inverse_mass.data() + bodies.mass_begin[b];
      const double factor = inverse / m[0];
      for (int i = 0; i < 7; ++i) m[i] *= factor;
    }
    record(TrialChange::equal_masses, sim_.settings().solver, changed);
  }

  void try_no_overlaps(double overlap) {
    const std::set<Pair> deep = deep_pairs(overlap);
    ConstraintProblem changed = problem_;
    for (RigidContact& c : changed.contacts) {
      if (deep.contains(pair_of(c.key))) c.bias = std::max(0.0, c.bias);
    }
    GeneralBlocks& blocks = changed.blocks;
    for (Index k = 0; k < blocks.size(); ++k) {
      if (blocks.kind[k] != BlockKind::contact || !deep.contains(pair_of(blocks.key[k]))) continue;
      double& q = blocks.q[blocks.row_begin[k]];
      q = std::min(0.0, q);
    }
    record(TrialChange::no_overlaps, sim_.settings().solver, changed);
  }

  void try_one_point_each() {
    const auto& kinds = problem_.blocks.kind;
    const bool others = std::find(kinds.begin(), kinds.end(), BlockKind::contact) != kinds.end();
    if (sim_.communicator().max(std::int64_t{others ? 1 : 0}) != 0) return;
    ConstraintProblem changed = problem_;
    changed.contacts.clear();
    changed.block_subdomain.clear();
    const std::size_t n = problem_.contacts.size();
    const bool parts = !problem_.block_subdomain.empty();
    for (std::size_t k = 0; k < n;) {
      // contacts ascend in key: a pair's stand together
      std::size_t best = k, end = k;
      for (; end < n && pair_of(problem_.contacts[end].key) == pair_of(problem_.contacts[k].key);
           ++end) {
        if (stepper_.impulses()[3 * end] > stepper_.impulses()[3 * best]) best = end;
      }
      changed.contacts.push_back(problem_.contacts[best]);
      if (parts) changed.block_subdomain.push_back(problem_.block_subdomain[best]);
      k = end;
    }
    if (parts) {
      changed.block_subdomain.insert(changed.block_subdomain.end(),
                                     problem_.block_subdomain.begin() + n,
                                     problem_.block_subdomain.end());
    }
    record(TrialChange::one_point_each, sim_.settings().solver, changed);
  }

  void try_softer_contacts() {
    ConstraintProblem changed = problem_;
    for (RigidContact& c : changed.contacts) {
      const double least = mean_mobility(contact_mobility(changed.bodies, c)) / kSoftRatio;
      c.compliance = std::max(c.compliance, least);
      c.tangent_compliance = std::max(c.tangent_compliance, least);
    }
    GeneralBlocks& blocks = changed.blocks;
    std::vector<double> own;
    for (Index k = 0; k < blocks.size(); ++k) {
      if (blocks.kind[k] != BlockKind::contact) continue;
      own.resize(blocks.rows(k));
      row_diagonals(problem_, to_index(problem_.contacts.size()) + k, own);
      for (std::size_t r = 0; r < own.size(); ++r)
        own[r] -= problem_.blocks.compliance[blocks.row_begin[k] + r];
      const double force = (own[0] + own[1] + own[2]) / 3.0;
      for (Index r = 0; r < blocks.rows(k); ++r) {
        double& sigma = blocks.compliance[blocks.row_begin[k] + r];
        sigma = std::max(sigma, (r < 3 ? force : own[r]) / kSoftRatio);
      }
    }
    record(TrialChange::softer_contacts, sim_.settings().solver, changed);
  }

  std::vector<Trial> results() { return std::move(trials_); }

 private:
  bool fits(SolverMethod method) const {
    if (sim_.settings().parallel.deterministic) return method == SolverMethod::gauss_seidel;
    if (method == SolverMethod::automatic) return rows_ <= kMaxAutomatic;
    if (method == SolverMethod::interior_point) return rows_ <= kMaxFactored;
    if (method == SolverMethod::dantzig)
      return rows_ <= kMaxPivoted && sim_.communicator().size() == 1;
    return true;
  }

  /// Pairs of this rank's contacts that overlap by more than `overlap` of the smaller one.
  std::set<Pair> deep_pairs(double overlap) const {
    const LocalBodies& local = stepper_.local_bodies();
    std::unordered_map<GlobalId, std::size_t> index;
    for (Index i = 0; i < local.size(); ++i) index.emplace(local.constants[i].id, i);
    std::set<Pair> deep;
    for (std::size_t k = 0; k < stepper_.n_contacts(); ++k) {
      const ContactRecord contact = stepper_.contact(k);
      const double size = std::min(half_extent(local.constants[index.at(contact.key.a)].shape),
                                   half_extent(local.constants[index.at(contact.key.b)].shape));
      if (-contact.gap > overlap * size) deep.insert(pair_of(contact.key));
    }
    return deep;
  }

  /// Collective. A solver that cannot solve the problem is left out.
  void record(TrialChange change, SolverSettings settings, const ConstraintProblem& problem) {
    StopRule& stop = settings.stop;
    stop.time_limit = std::isnan(stop.time_limit) ? seconds_ : std::min(stop.time_limit, seconds_);
    std::vector<double> impulses(problem.n_rows(), 0.0);
    std::vector<double> velocities(problem.bodies.n_dofs());
    try {
      const SolveReport report = make_solver(settings)->solve(problem, impulses, velocities);
      Trial trial;
      trial.change = change;
      trial.method = kSolverNames[ordinal(settings.method)];
      trial.met = report.status == SolveStatus::converged;
      trial.error = value_of(report.errors, report.metric);
      trial.over_start = report.errors.energy / report.initial.energy;
      trial.iterations = report.iterations;
      trial.wall_s = report.wall_s;
      trials_.push_back(trial);
    } catch (const Error&) {
      // thrown on every rank: the method has no answer to such a problem
    }
  }

  const Simulation& sim_;
  const TimeStepper& stepper_;
  const ConstraintProblem& problem_;
  double seconds_;
  std::int64_t rows_ = 0;
  std::vector<Trial> trials_;
};

}  // namespace

std::vector<Trial> try_step_again(const Simulation& sim, const TrialChoice& choice, double overlap,
                                  double seconds) {
  const bool any = choice.methods || choice.exact_joints || choice.equal_masses ||
                   choice.no_overlaps || choice.one_point_each || choice.softer_contacts;
  if (!any) return {};
  StepTrials trials(sim, seconds);
  if (!trials.small_enough()) return {};
  if (choice.no_overlaps) trials.try_no_overlaps(overlap);
  if (choice.equal_masses) trials.try_equal_masses();
  if (choice.exact_joints) trials.try_exact_joints();
  if (choice.one_point_each) trials.try_one_point_each();
  if (choice.softer_contacts) trials.try_softer_contacts();
  if (choice.methods) trials.try_methods();
  return trials.results();
}

}  // namespace catena
