#include "solvers/newton/newton_system.hpp"

#include <algorithm>
#include <array>

#include "catena/base/error.hpp"
#include "catena/base/timer.hpp"
#include "solvers/linear/flexible_gmres.hpp"
#include "solvers/linear/linear_solver.hpp"
#include "solvers/newton/condensed_system.hpp"
#include "solvers/work_estimate.hpp"

namespace catena {
namespace {

/// Factors, tried one after the other; the part of N's diagonal that is added in each. The last
/// serves operators that are symmetric positive semidefinite only roughly, as files hold them.
struct Attempt {
  double regularisation;
  bool cholesky;
};
constexpr std::array<Attempt, 3> kAttempts = {{{1e-12, true}, {1e-10, true}, {1e-12, false}}};
/// A solution whose residual is above this part of the right-hand side is none.
constexpr double kSolved = 0.1;
/// Part of the work estimated that a first factor is taken to need at least: estimates are for deep
/// packings, and a solve is not to be given up for too large a guess.
constexpr double kHopeful = 0.1;

/// C + B N, or C + N in the symmetric kind.
class NewtonOperator final : public Operator {
 public:
  NewtonOperator(const ConstraintProblem& problem, DelassusOperator& op)
      : problem_(problem), op_(op), c_(problem), b_(problem) {}

  void take(const BlockMatrices& c, const BlockMatrices* b) {
    c_.value = c.value;
    symmetric_ = b == nullptr;
    if (!symmetric_) b_.value = b->value;
  }
  bool is_symmetric() const { return symmetric_; }
  const BlockMatrices& c() const { return c_; }
  const BlockMatrices* b() const { return symmetric_ ? nullptr : &b_; }

  Index rows() const override { return op_.rows(); }
  Index columns() const override { return op_.columns(); }
  void apply(std::span<const double> x, std::span<double> y) override {
    op_.apply(x, y);
    const Index n = problem_.n_blocks();
    std::size_t row = 0;
    std::array<double, 6> small;
    std::vector<double> large;
    for (Index k = 0; k < n; ++k) {
      const auto first = c_.begin[k];
      const std::size_t m = block_view(problem_, k).rows;
      if (m > small.size()) large.resize(m);
      double* const u = m > small.size() ? large.data() : small.data();
      for (std::size_t i = 0; i < m; ++i) u[i] = y[row + i];
      for (std::size_t i = 0; i < m; ++i) {
        double sum = symmetric_ ? u[i] : 0.0;
        for (std::size_t j = 0; j < m; ++j) {
          sum += c_.value[first + i * m + j] * x[row + j];
          if (!symmetric_) sum += b_.value[first + i * m + j] * u[j];
        }
        y[row + i] = sum;
      }
      row += m;
    }
  }

 private:
  const ConstraintProblem& problem_;
  DelassusOperator& op_;
  BlockMatrices c_, b_;
  bool symmetric_ = true;
};

}  // namespace

BlockMatrices::BlockMatrices(const ConstraintProblem& problem) {
  const Index n = problem.n_blocks();
  begin.reserve(n + 1);
  begin.push_back(0);
  for (Index k = 0; k < n; ++k) {
    const std::size_t rows = block_view(problem, k).rows;
    begin.push_back(begin.back() + rows * rows);
  }
  value.assign(begin.back(), 0.0);
}

struct NewtonSystem::Impl {
  Impl(const ConstraintProblem& p, DelassusOperator& o, const LinearSettings& settings,
       std::string where)
      : problem(p), op(o), matrix(p, o), krylov(p.comm) {
    form = problem.assembled ? make_row_system(problem) : make_velocity_system(problem);
    values.resize(form->pattern().row.size());
    unknowns.resize(form->pattern().owned);
    solver = make_contact_solver(problem.comm, form->pattern(), settings, std::move(where),
                                 [&] { return form->rigid_motions(); });
    direct = solver->is_direct();
    form->forget_entries();
    if (direct) factor_seconds = kHopeful * estimate_factor(form->pattern().total);
  }

  /// Collective.
  bool factor_once(bool cholesky) {
    if (watch != nullptr) watch->call(factor_seconds);
    const double begun = wall_seconds();
    const bool done = solver->factor(values, cholesky);
    factor_seconds = wall_seconds() - begun;
    return done;
  }

  bool precondition(std::span<const double> r, double goal, std::span<double> z) {
    if (watch != nullptr) watch->call();
    form->reduce(r, unknowns);
    const int iterations = solver->solve(unknowns, direct ? 0.0 : goal / form->gain());
    if (iterations < 0) return false;
    inner_iterations += iterations;
    form->recover(r, unknowns, z);
    return true;
  }

  const ConstraintProblem& problem;
  DelassusOperator& op;
  NewtonOperator matrix;
  bool factored = false;
  std::unique_ptr<CondensedSystem> form;
  std::unique_ptr<LinearSolver> solver;
  std::vector<double> values, unknowns;
  bool direct = true;
  SolveWatch* watch = nullptr;
  double factor_seconds = 0.0;  ///< of the last factor, or a guess that is rather too small
  std::size_t attempt = 0;      ///< of the last factor: what failed once is not tried again
  int inner_iterations = 0;     ///< of the present solve
  FlexibleGmres krylov;
};

NewtonSystem::NewtonSystem(const ConstraintProblem& problem, DelassusOperator& op,
                           const LinearSettings& settings, std::string where)
    : impl_(std::make_unique<Impl>(problem, op, settings, std::move(where))) {}
NewtonSystem::~NewtonSystem() = default;

void NewtonSystem::watch(SolveWatch& watch) { impl_->watch = &watch; }

bool NewtonSystem::factor(const BlockMatrices& c, const BlockMatrices* b) {
  Impl& s = *impl_;
  s.matrix.take(c, b);
  s.factored = false;
  for (; s.attempt < kAttempts.size(); ++s.attempt) {
    const Attempt& a = kAttempts[s.attempt];
    if (a.cholesky && !(s.matrix.is_symmetric() && s.form->is_symmetric())) continue;
    const bool taken = s.form->set_values(s.matrix.c(), s.matrix.b(), a.regularisation, s.values);
    if (s.problem.comm.sum(std::int64_t{taken ? 0 : 1}) > 0) continue;
    s.factored = s.factor_once(a.cholesky);
    if (s.factored) return true;
  }
  s.attempt = 0;
  return false;
}

void NewtonSystem::renew(const BlockMatrices& c, const BlockMatrices* b) {
  impl_->matrix.take(c, b);
}

LinearReport NewtonSystem::solve(std::span<const double> g, std::span<double> dlambda,
                                 std::span<double> change, double tolerance) {
  Impl& s = *impl_;
  CATENA_CHECK(s.factored, "factor() comes before solve()");
  s.inner_iterations = 0;
  const FlexibleGmres::Report found = s.krylov.solve(
      s.matrix,
      [&](std::span<const double> r, double goal, std::span<double> z) {
        return s.precondition(r, goal, z);
      },
      g, dlambda, tolerance);
  if (!change.empty()) s.op.velocity_changes(dlambda, change);
  return {found.finite && found.residual <= std::max(tolerance, kSolved),
          s.direct ? found.iterations : s.inner_iterations, found.residual};
}

std::string NewtonSystem::description() const { return impl_->solver->description(); }

std::int64_t NewtonSystem::unknowns() const { return impl_->form->pattern().total; }

}  // namespace catena
