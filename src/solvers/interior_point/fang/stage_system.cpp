#include "solvers/interior_point/fang/stage_system.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/timer.hpp"
#include "catena/constraints/delassus_matrix.hpp"
#include "solvers/linear/linear_solver.hpp"

namespace catena::fang {
namespace {

/// out = B^T C^-1 r_g - r_d.
void reduce(const Cones& cones, const Stage& stage, std::span<double> out) {
  std::vector<double> scaled(stage.r_g.size());
  for (std::size_t i = 0; i < scaled.size(); ++i)
    scaled[i] = stage.y[i] / stage.c[i] * stage.r_g[i];
  cones.gradients_transposed(stage.x, scaled, out);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = cones.fixed()[i] != 0 ? 0.0 : out[i] - stage.r_d[i];
}

/// dy = -C^-1 (r_g + B dx).
void recover(const Cones& cones, const Stage& stage, std::span<const double> dx,
             std::span<double> dy) {
  cones.gradients(stage.x, dx, dy);
  for (std::size_t i = 0; i < dy.size(); ++i)
    dy[i] = -stage.y[i] / stage.c[i] * (stage.r_g[i] + dy[i]);
}

/// x.N'y - y.N'x of a symmetric operator, relative.
constexpr double kSymmetric = 1e-9;

/// Collective. Whether x.N'y = y.N'x for two vectors without pattern. Published assembled operators
/// differ in the fourth digit; Cholesky, which reads one triangle, then ends early.
bool is_symmetric(const ConstraintProblem& problem, Operator& op) {
  if (!problem.assembled) return true;
  const std::size_t n = problem.n_rows();
  std::vector<double> x(n), y(n), nx(n), ny(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double place = static_cast<double>(i) + 0.3 * problem.comm.rank() + 1.0;
    x[i] = std::cos(1.7 * place);
    y[i] = std::cos(2.3 * place);
  }
  op.apply(x, nx);
  op.apply(y, ny);
  std::array<double, 3> sums = {};
  for (std::size_t i = 0; i < n; ++i) {
    sums[0] += y[i] * nx[i] - x[i] * ny[i];
    sums[1] += x[i] * nx[i];
    sums[2] += y[i] * ny[i];
  }
  problem.comm.sum(sums);
  return std::abs(sums[0]) <= kSymmetric * (std::abs(sums[1]) + std::abs(sums[2]));
}

/// Collective. N' with the lines and columns of fixed rows zero, as the first entries of `pattern`.
DelassusMatrix list_constant(const ConstraintProblem& problem, const Cones& cones,
                             MatrixPattern& pattern) {
  std::vector<double> scale(cones.scale().begin(), cones.scale().end());
  for (std::size_t i = 0; i < scale.size(); ++i)
    if (cones.fixed()[i] != 0) scale[i] = 0.0;
  DelassusMatrix n = assemble_delassus(problem, scale);
  for (Index i = 0; i < n.n_rows(); ++i)
    pattern.row.insert(pattern.row.end(), n.row_begin[i + 1] - n.row_begin[i],
                       to_index(n.first) + i);
  pattern.column = std::move(n.column);
  return n;
}

/// A matrix of constant entries, those of N', and others that change: both are listed in `pattern`
/// once; the numbers follow in the same order.
class DirectMatrix {
 public:
  explicit DirectMatrix(SolveWatch& watch) : watch_(watch) {}

  MatrixPattern pattern;      ///< until make()
  std::vector<double> value;  ///< the constant ones until make()

  void add(Index row, Index column) {
    pattern.row.push_back(row);
    pattern.column.push_back(column);
  }
  /// Collective.
  void make(const Communicator& comm) {
    constant_ = value.size();
    value.resize(pattern.row.size(), 0.0);
    total_ = pattern.total = comm.sum(std::int64_t{pattern.owned});
    if (comm.size() == 1 && total_ <= kDenseUnknowns) {
      solver_ = make_dense_solver(pattern);
      return;
    }
    guarded([&] {
      solver_ = make_petsc_solver(comm, std::exchange(pattern, {}),
                                  {"catena_contact_", "unknowns", kWhere, kFix});
    });
  }
  std::span<double> changing() { return std::span<double>(value).subspan(constant_); }
  /// Collective. Factors and solves in place; false: no factor. Throws OutOfTime where that would
  /// outlast what is left, by the time that it took before.
  bool solve(bool symmetric, std::span<double> x) {
    bool solved = false;
    watch_.call(seconds_);
    const double begun = wall_seconds();
    guarded([&] { solved = solver_->factor(value, symmetric) && solver_->solve(x, 0.0) >= 0; });
    seconds_ = wall_seconds() - begun;
    return solved;
  }
  /// Collective.
  std::string description() const {
    return std::to_string(total_) + " unknowns, " + solver_->description();
  }

 private:
  static constexpr const char* kWhere = "solver.interior_point.form";
  static constexpr const char* kFix = "use form: schur_pcg or cone";
  static constexpr std::int64_t kDenseUnknowns = 300;

  /// What cannot be factored here may be solved by other forms.
  template <class Work>
  static void guarded(const Work& work) {
    try {
      work();
    } catch (const Error& e) {
      throw Error(e.found(), kWhere, kFix, e.code());
    }
  }

  SolveWatch& watch_;
  double seconds_ = 0.0;  ///< of the last solve
  std::size_t constant_ = 0;
  std::int64_t total_ = 0;
  std::unique_ptr<LinearSolver> solver_;
};

class SchurSystem final : public StageSystem {
 public:
  SchurSystem(const ConstraintProblem& problem, const Cones& cones, Operator& op, SolveWatch& watch)
      : cones_(cones), symmetric_(is_symmetric(problem, op)), direct_(watch) {
    MatrixPattern& pattern = direct_.pattern;
    DelassusMatrix n = list_constant(problem, cones, pattern);
    pattern.first = n.first;
    pattern.owned = problem.n_rows();
    direct_.value = std::move(n.value);
    const auto first = to_index(n.first);
    for (const Unit& u : cones.units())
      for (int i = 0; i < u.rows(); ++i)
        for (int j = 0; j < u.rows(); ++j) direct_.add(first + u.row + i, first + u.row + j);
    for (Index i = 0; i < pattern.owned; ++i)
      if (cones.fixed()[i] != 0) direct_.add(first + i, first + i);
    direct_.make(problem.comm);
  }

  bool solve(const Stage& stage, std::span<double> dx, std::span<double> dy) override {
    auto out = direct_.changing().begin();
    for (std::size_t k = 0; k < cones_.units().size(); ++k)
      for (int i = 0; i < cones_.units()[k].rows(); ++i)
        for (int j = 0; j < cones_.units()[k].rows(); ++j) *out++ = stage.barriers[k](i, j);
    std::fill(out, direct_.changing().end(), 1.0);
    reduce(cones_, stage, dx);
    if (!direct_.solve(symmetric_, dx)) return false;
    recover(cones_, stage, dx, dy);
    return true;
  }

  std::string description() const override { return "form schur, " + direct_.description(); }

 private:
  const Cones& cones_;
  bool symmetric_;
  DirectMatrix direct_;
};

/// Unknowns of a rank: its rows, then its multipliers.
class KktSystem final : public StageSystem {
 public:
  KktSystem(const ConstraintProblem& problem, const Cones& cones, SolveWatch& watch)
      : cones_(cones), direct_(watch) {
    MatrixPattern& pattern = direct_.pattern;
    DelassusMatrix n = list_constant(problem, cones, pattern);
    const std::int64_t multipliers = cones.n_multipliers();
    const std::int64_t before = problem.comm.exclusive_sum(multipliers);
    pattern.first = n.first + before;
    pattern.owned = problem.n_rows() + to_index(multipliers);
    number_rows(problem, n.first, before, pattern);
    direct_.value = std::move(n.value);
    list_changing(problem.n_rows());
    right_.resize(pattern.owned);
    direct_.make(problem.comm);
  }

  bool solve(const Stage& stage, std::span<double> dx, std::span<double> dy) override {
    write_changing(stage);
    for (std::size_t i = 0; i < dx.size(); ++i)
      right_[i] = cones_.fixed()[i] != 0 ? 0.0 : -stage.r_d[i];
    for (std::size_t i = 0; i < dy.size(); ++i) right_[dx.size() + i] = -stage.r_g[i];
    if (!direct_.solve(false, right_)) return false;
    const auto middle = right_.begin() + dx.size();
    std::copy(right_.begin(), middle, dx.begin());
    std::copy(middle, right_.end(), dy.begin());
    return true;
  }

  std::string description() const override { return "form kkt, " + direct_.description(); }

 private:
  /// Collective. Rows and columns of N', numbered over all rows, as unknowns: after the multipliers
  /// of the ranks before.
  static void number_rows(const ConstraintProblem& problem, std::int64_t first, std::int64_t before,
                          MatrixPattern& pattern) {
    const std::vector<std::int64_t> mine = {first, before};
    const std::vector<std::int64_t> all = problem.comm.all_gather(mine);
    const auto unknown = [&](Index row) {
      std::size_t rank = all.size() / 2 - 1;
      while (all[2 * rank] > row) --rank;
      return to_index(row + all[2 * rank + 1]);
    };
    for (Index& row : pattern.row) row += to_index(before);
    for (Index& column : pattern.column) column = unknown(column);
  }

  void list_changing(Index n_rows) {
    const auto first = to_index(direct_.pattern.first);
    for (const Unit& u : cones_.units()) {
      const Index y = first + n_rows + u.multiplier, x = first + u.row;
      for (int i = 0; i < u.rows(); ++i) direct_.add(x + i, x + i);  // M
      for (int m = 0; m < u.multipliers(); ++m) {
        for (int i = 0; i < u.rows(); ++i) {
          direct_.add(y + m, x + i);  // B
          direct_.add(x + i, y + m);
        }
        direct_.add(y + m, y + m);  // C
      }
    }
    for (Index i = 0; i < n_rows; ++i)
      if (cones_.fixed()[i] != 0) direct_.add(first + i, first + i);
  }

  void write_changing(const Stage& stage) {
    auto out = direct_.changing().begin();
    for (const Unit& u : cones_.units()) {
      Eigen::Matrix<double, 2, 3> b = Eigen::Matrix<double, 2, 3>::Constant(-1.0);
      Mat3 curvature = Mat3::Zero();
      if (u.contact()) {
        const double* x = stage.x.data() + u.row;
        b = contact_gradients({x[0], x[1], x[2]}, u.friction);
        curvature = contact_curvature(u.friction, stage.y[u.multiplier]);
      }
      for (int i = 0; i < u.rows(); ++i) *out++ = curvature(i, i);
      for (int m = 0; m < u.multipliers(); ++m) {
        for (int i = 0; i < u.rows(); ++i) {
          *out++ = b(m, i);
          *out++ = b(m, i);
        }
        const std::size_t k = u.multiplier + m;
        *out++ = stage.c[k] / stage.y[k];
      }
    }
    std::fill(out, direct_.changing().end(), 1.0);
  }

  const Cones& cones_;
  DirectMatrix direct_;
  std::vector<double> right_;
};

/// dy eliminated, conjugate gradients preconditioned by M - B^T C^-1 B, alone or with the diagonal
/// of N'. Ends at a residual of kTolerance times the right-hand side, both in the norm of the
/// latter's inverse: where contacts open the barrier is steep and a residual says little.
class PcgSystem final : public StageSystem {
 public:
  PcgSystem(const ConstraintProblem& problem, const Cones& cones, Operator& op,
            const InteriorPointSettings& settings, SolveWatch& watch)
      : comm_(problem.comm),
        cones_(cones),
        op_(op),
        kind_(settings.preconditioner),
        watch_(watch),
        weight_(cones.units()),
        barrier_(cones.units()) {
    for (std::vector<double>* v : {&r_, &z_, &p_, &q_, &weighted_}) v->resize(problem.n_rows());
    rows_ = comm_.sum(std::int64_t{problem.n_rows()});
  }

  bool solve(const Stage& stage, std::span<double> dx, std::span<double> dy) override {
    weight_.factor(stage.barriers, cones_.diagonal());
    if (kind_ == FangPreconditioner::barrier) barrier_.factor(stage.barriers, {});
    reduce(cones_, stage, r_);
    std::fill(dx.begin(), dx.end(), 0.0);
    std::fill(p_.begin(), p_.end(), 0.0);
    double rz_before = 0.0, target = 0.0;
    for (int i = 0;; ++i) {
      const auto [rz, norm2] = precondition();
      if (!std::isfinite(rz) || !std::isfinite(norm2)) return false;
      if (i == 0) target = kTolerance * kTolerance * norm2;
      if (norm2 <= target || i == kMaxIterations) {
        n_unsettled_ += norm2 > target ? 1 : 0;
        break;
      }
      if (i % kClockInterval == kClockInterval - 1 && watch_.look()) break;
      const double beta = i == 0 ? 0.0 : rz / rz_before;
      for (std::size_t k = 0; k < p_.size(); ++k) p_[k] = z_[k] + beta * p_[k];
      multiply(stage);
      const double pq = dot(p_, q_);
      if (!(pq > 0.0)) break;  // round-off: what there is stands
      const double alpha = rz / pq;
      for (std::size_t k = 0; k < p_.size(); ++k) {
        dx[k] += alpha * p_[k];
        r_[k] -= alpha * q_[k];
      }
      rz_before = rz;
      ++iterations_;
    }
    recover(cones_, stage, dx, dy);
    return true;
  }

  int iterations() const override { return iterations_; }

  std::string description() const override {
    std::string text = "form schur_pcg, " + std::to_string(rows_) + " unknowns, " +
                       std::to_string(iterations_) +
                       " conjugate gradient iterations, preconditioner " +
                       (kind_ == FangPreconditioner::barrier ? "barrier" : "diagonal");
    if (n_unsettled_ > 0)
      text += ", " + std::to_string(n_unsettled_) + " stages with " +
              std::to_string(kMaxIterations) + " iterations and not settled";
    return text;
  }

 private:
  static constexpr double kTolerance = 1e-3;
  static constexpr int kMaxIterations = 5000;
  static constexpr int kClockInterval = 50;

  double dot(std::span<const double> a, std::span<const double> b) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return comm_.sum(sum);
  }

  /// Collective. z = P^-1 r; (r.z, square of the residual's norm).
  std::array<double, 2> precondition() {
    weight_.apply(r_, weighted_);
    if (kind_ == FangPreconditioner::barrier)
      barrier_.apply(r_, z_);
    else
      std::copy(weighted_.begin(), weighted_.end(), z_.begin());
    std::array<double, 2> sums = {0.0, 0.0};
    for (std::size_t i = 0; i < r_.size(); ++i) {
      sums[0] += r_[i] * z_[i];
      sums[1] += r_[i] * weighted_[i];
    }
    comm_.sum(sums);
    return sums;
  }

  /// q = (N' + M - B^T C^-1 B) p.
  void multiply(const Stage& stage) {
    op_.apply(p_, q_);
    for (std::size_t k = 0; k < cones_.units().size(); ++k) {
      const Unit& u = cones_.units()[k];
      for (int i = 0; i < u.rows(); ++i)
        for (int j = 0; j < u.rows(); ++j) q_[u.row + i] += stage.barriers[k](i, j) * p_[u.row + j];
    }
  }

  const Communicator& comm_;
  const Cones& cones_;
  Operator& op_;
  FangPreconditioner kind_;
  SolveWatch& watch_;
  UnitInverse weight_, barrier_;
  std::vector<double> r_, z_, p_, q_, weighted_;
  std::int64_t rows_ = 0;
  int iterations_ = 0, n_unsettled_ = 0;
};

}  // namespace

ScaledOperator::ScaledOperator(const Cones& cones, DelassusOperator& op)
    : cones_(cones), op_(op), impulses_(cones.scale().size()) {}

void ScaledOperator::apply(std::span<const double> x, std::span<double> y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    impulses_[i] = cones_.fixed()[i] != 0 ? 0.0 : cones_.scale()[i] * x[i];
  op_.apply(impulses_, y);
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = cones_.fixed()[i] != 0 ? 0.0 : cones_.scale()[i] * y[i];
}

std::unique_ptr<StageSystem> make_stage_system(const ConstraintProblem& problem, const Cones& cones,
                                               Operator& op, const InteriorPointSettings& settings,
                                               SolveWatch& watch) {
  switch (settings.form) {
    case InteriorPointForm::kkt:
      return std::make_unique<KktSystem>(problem, cones, watch);
    case InteriorPointForm::schur:
      return std::make_unique<SchurSystem>(problem, cones, op, watch);
    case InteriorPointForm::schur_pcg:
      return std::make_unique<PcgSystem>(problem, cones, op, settings, watch);
    case InteriorPointForm::cone:
      break;
  }
  CATENA_CHECK(false, "one of [F14]'s forms");
  return nullptr;
}

}  // namespace catena::fang
