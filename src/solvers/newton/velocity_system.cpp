#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/block_rows.hpp"
#include "solvers/newton/condensed_system.hpp"
#include "solvers/newton/rigid_modes.hpp"

namespace catena {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MutMatrix = Eigen::Map<RowMatrix>;
using ConstMatrix = Eigen::Map<const RowMatrix>;
template <int kRows, int kColumns>
using FixedMatrix = Eigen::Map<const Eigen::Matrix<double, kRows, kColumns, Eigen::RowMajor>>;

/// L of M^-1 = L L^T; zero where M^-1 is. Columns of directions without mobility are zero.
Eigen::MatrixXd root_of_inverse_mass(const ProblemBodies& bodies, Index b) {
  const Index n = bodies.dofs(b);
  Eigen::MatrixXd inverse(n, n);
  std::vector<double> unit(n, 0.0), column(n);
  for (Index j = 0; j < n; ++j) {
    unit[j] = 1.0;
    apply_inverse_mass(bodies, b, unit, column);
    unit[j] = 0.0;
    for (Index i = 0; i < n; ++i) inverse(i, j) = column[i];
  }
  if (inverse.isDiagonal(0.0)) return inverse.cwiseMax(0.0).cwiseSqrt();
  const Eigen::LLT<Eigen::MatrixXd> factor(inverse);
  if (factor.info() == Eigen::Success) return factor.matrixL();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(inverse);
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
}

/// target += a^T e b of row-major blocks: m x n_a, m x m, m x n_b.
void add_congruence(Index m, Index n_a, Index n_b, const double* a, const double* e,
                    const double* b, double* target) {
  if (m == 3 && n_a == 6 && n_b == 6) {
    using Target = Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>;
    const Eigen::Matrix<double, 3, 6> right = FixedMatrix<3, 3>(e) * FixedMatrix<3, 6>(b);
    Target(target).noalias() += FixedMatrix<3, 6>(a).transpose() * right;
    return;
  }
  MutMatrix(target, n_a, n_b).noalias() +=
      ConstMatrix(a, m, n_a).transpose() * (ConstMatrix(e, m, m) * ConstMatrix(b, m, n_b));
}

class VelocitySystem : public CondensedSystem {
 public:
  explicit VelocitySystem(const ConstraintProblem& problem);

  bool set_values(const BlockMatrices& c, const BlockMatrices* b, double regularisation,
                  std::span<double> values) override;
  void reduce(std::span<const double> r, std::span<double> right) override;
  void recover(std::span<const double> r, std::span<const double> z,
               std::span<double> dlambda) override;
  double gain() override;
  std::vector<std::vector<double>> rigid_motions() override;

 private:
  /// A pair of bodies (first <= second) with entries; its block stands at `value`, the mirrored one
  /// (second, first), if they are different, behind it.
  struct Pair {
    Index first, second;
    std::size_t value;
  };

  Index n_blocks() const { return to_index(row_begin_.size()) - 1; }
  Index rows_of(Index k) const { return row_begin_[k + 1] - row_begin_[k]; }
  void take_jacobians();
  void append_reference(Index b, Index rows, const double* g,
                        const std::vector<Eigen::MatrixXd>& roots);
  void find_diagonals();
  void number_unknowns();
  void find_pairs();
  void list_entries();
  void add_block(Index k, const double* e, bool symmetric, std::span<double> values) const;
  void add_forces(Index k, const double* e);
  void add_residual_velocities(Index k, double* u) const;
  void add_ghosts();
  void gather_forces(std::span<double> owned);
  void spread(std::span<const double> owned);
  void share(std::span<double> z) {
    velocities_->begin(z);
    velocities_->end(z);
  }

  const ConstraintProblem& problem_;
  std::vector<Index> row_begin_ = {0};
  std::vector<double> sigma_, diagonal_;  ///< Sigma and the diagonal of N, per row
  // references of block k to dynamic bodies, ascending in body: Y = G L, rows x velocities
  std::vector<Index> reference_begin_ = {0};
  std::vector<Index> body_;
  std::vector<std::size_t> y_begin_;
  std::vector<double> y_;
  std::vector<double> number_;  ///< per local velocity its unknown over all ranks; -1: none
  std::vector<Pair> pairs_;
  std::vector<Index> pair_of_;  ///< per block, per pair of its references (i <= j)
  std::vector<std::size_t> pair_begin_ = {0};
  BlockMatrices inverse_, b_;
  bool symmetric_ = true;
  double length_ = 0.0;  ///< norm of Y, once asked for
  int width_ = 6;
  std::vector<double> z_;
  std::optional<GhostSum> forces_;
  std::optional<HaloExchange> velocities_;
};

VelocitySystem::VelocitySystem(const ConstraintProblem& problem)
    : problem_(problem), inverse_(problem), b_(problem) {
  const HaloPlan forward = velocity_plan(problem.ghosts, problem.bodies, width_);
  forces_.emplace(problem.comm, forward, width_, Tag::newton_forces);
  velocities_.emplace(problem.comm, forward, width_, Tag::newton_velocities);
  z_.resize(problem.bodies.n_dofs());
  take_jacobians();
  find_diagonals();
  number_unknowns();
  find_pairs();
  list_entries();
}

void VelocitySystem::append_reference(Index b, Index rows, const double* g,
                                      const std::vector<Eigen::MatrixXd>& roots) {
  if (problem_.bodies.is_prescribed(b)) return;
  const Index n = problem_.bodies.dofs(b);
  body_.push_back(b);
  y_begin_.push_back(y_.size());
  y_.resize(y_.size() + (rows * n));
  MutMatrix(y_.data() + y_begin_.back(), rows, n) = ConstMatrix(g, rows, n) * roots[b];
}

void VelocitySystem::take_jacobians() {
  std::vector<Eigen::MatrixXd> roots;
  for (Index b = 0; b < problem_.bodies.size(); ++b)
    roots.push_back(root_of_inverse_mass(problem_.bodies, b));
  std::vector<double> g;
  std::vector<std::pair<Index, std::size_t>> references;  // body, place of its rows in g
  for (Index k = 0; k < problem_.n_blocks(); ++k) {
    const Index rows = block_view(problem_, k).rows;
    g.clear();
    references.clear();
    for_each_body(problem_, k, [&](Index b, const double* numbers) {
      references.emplace_back(b, g.size());
      g.insert(g.end(), numbers, numbers + Offset{rows} * problem_.bodies.dofs(b));
    });
    std::sort(references.begin(), references.end());
    for (const auto& [b, place] : references) append_reference(b, rows, g.data() + place, roots);
    reference_begin_.push_back(to_index(body_.size()));
    row_begin_.push_back(row_begin_.back() + rows);
  }
}

/// Sigma, and the diagonal of N; where that is 0, the block's largest, or 1.
void VelocitySystem::find_diagonals() {
  sigma_.clear();
  for (const RigidContact& c : problem_.contacts) {
    const Vec3 sigma = compliance_of(c);
    sigma_.insert(sigma_.end(), sigma.begin(), sigma.end());
  }
  sigma_.insert(sigma_.end(), problem_.blocks.compliance.begin(), problem_.blocks.compliance.end());
  diagonal_.resize(sigma_.size());
  for (Index k = 0; k < n_blocks(); ++k) {
    const std::span<double> own = std::span(diagonal_).subspan(row_begin_[k], rows_of(k));
    row_diagonals(problem_, k, own);
    double largest = 0.0;
    for (const double d : own) largest = std::max(largest, d);
    for (double& d : own)
      if (d == 0.0) d = largest > 0.0 ? largest : 1.0;
  }
}

/// Owned bodies that a block of any rank touches, in their order.
void VelocitySystem::number_unknowns() {
  const ProblemBodies& bodies = problem_.bodies;
  std::fill(z_.begin(), z_.end(), 0.0);
  for (const Index b : body_)
    for (Index d = bodies.dof_begin[b]; d < bodies.dof_begin[b + 1]; ++d) z_[d] = 1.0;
  add_ghosts();
  const std::size_t owned = bodies.dof_begin[bodies.n_owned];
  number_.assign(z_.size(), -1.0);
  pattern_.owned =
      to_index(std::count_if(z_.begin(), z_.begin() + owned, [](double t) { return t > 0; }));
  pattern_.first = problem_.comm.exclusive_sum(std::int64_t{pattern_.owned});
  pattern_.total = problem_.comm.sum(std::int64_t{pattern_.owned});
  auto next = static_cast<double>(pattern_.first);
  for (std::size_t d = 0; d < owned; ++d)
    if (z_[d] > 0.0) number_[d] = next++;
  share(number_);
  pattern_.block_size =
      problem_.comm.min(std::int64_t{width_}) == 6 ? 6 : 1;  // the same on every rank
}

void VelocitySystem::find_pairs() {
  struct Wanted {
    Index first, second;
    std::size_t place;
  };
  std::vector<Wanted> wanted;
  for (Index k = 0; k < n_blocks(); ++k) {
    const Index end = reference_begin_[k + 1];
    for (Index i = reference_begin_[k]; i < end; ++i)
      for (Index j = i; j < end; ++j) wanted.push_back({body_[i], body_[j], wanted.size()});
    pair_begin_.push_back(wanted.size());
  }
  pair_of_.resize(wanted.size());
  // owned bodies that only others touch have the identity's entry
  const ProblemBodies& bodies = problem_.bodies;
  for (Index b = 0; b < bodies.n_owned; ++b)
    if (number_[bodies.dof_begin[b]] >= 0.0) wanted.push_back({b, b, pair_of_.size()});
  std::sort(wanted.begin(), wanted.end(), [](const Wanted& a, const Wanted& b) {
    return a.first != b.first     ? a.first < b.first
           : a.second != b.second ? a.second < b.second
                                  : a.place < b.place;
  });
  std::size_t value = 0;
  for (const Wanted& w : wanted) {
    if (pairs_.empty() || pairs_.back().first != w.first || pairs_.back().second != w.second) {
      pairs_.push_back({w.first, w.second, value});
      value += problem_.bodies.dofs(w.first) * problem_.bodies.dofs(w.second) *
               (w.first == w.second ? 1 : 2);
    }
    if (w.place < pair_of_.size()) pair_of_[w.place] = to_index(pairs_.size()) - 1;
  }
}

void VelocitySystem::list_entries() {
  const auto list_block = [&](Index a, Index b) {
    const std::vector<Index>& dof = problem_.bodies.dof_begin;
    for (Index r = 0; r < problem_.bodies.dofs(a); ++r)
      for (Index c = 0; c < problem_.bodies.dofs(b); ++c) {
        pattern_.row.push_back(static_cast<Index>(number_[dof[a] + r]));
        pattern_.column.push_back(static_cast<Index>(number_[dof[b] + c]));
      }
  };
  for (const Pair& p : pairs_) {
    list_block(p.first, p.second);
    if (p.first != p.second) list_block(p.second, p.first);
  }
}

/// values += Y^T E Y of one block; of the mirrored blocks only in the general kind.
void VelocitySystem::add_block(Index k, const double* e, bool symmetric,
                               std::span<double> values) const {
  const Index m = rows_of(k);
  std::size_t pair = pair_begin_[k];
  const Index end = reference_begin_[k + 1];
  for (Index i = reference_begin_[k]; i < end; ++i)
    for (Index j = i; j < end; ++j, ++pair) {
      const Pair& p = pairs_[pair_of_[pair]];
      const Index n_i = problem_.bodies.dofs(p.first), n_j = problem_.bodies.dofs(p.second);
      const double* y_i = y_.data() + y_begin_[i];
      const double* y_j = y_.data() + y_begin_[j];
      add_congruence(m, n_i, n_j, y_i, e, y_j, values.data() + p.value);
      if (i != j && !symmetric)
        add_congruence(m, n_j, n_i, y_j, e, y_i, values.data() + p.value + (n_i * n_j));
    }
}

bool VelocitySystem::set_values(const BlockMatrices& c, const BlockMatrices* b,
                                double regularisation, std::span<double> values) {
  std::fill(values.begin(), values.end(), 0.0);
  symmetric_ = b == nullptr;
  if (b != nullptr) b_.value = b->value;
  RowMatrix product;
  for (Index k = 0; k < n_blocks(); ++k) {
    const Index m = rows_of(k);
    const std::size_t row = row_begin_[k];
    double* inverse = inverse_.block(k);
    if (!invert_regularised(m, c.block(k), symmetric_ ? nullptr : b_.block(k), sigma_.data() + row,
                            diagonal_.data() + row, regularisation, inverse))
      return false;
    if (symmetric_) {
      add_block(k, inverse, true, values);
    } else {
      product.noalias() = ConstMatrix(inverse, m, m) * ConstMatrix(b_.block(k), m, m);
      add_block(k, product.data(), false, values);
    }
  }
  for (const Pair& p : pairs_) {
    const Index n = problem_.bodies.dofs(p.first), n_2 = problem_.bodies.dofs(p.second);
    const bool owned = p.first < problem_.bodies.n_owned;
    double* block = values.data() + p.value;
    if (p.first == p.second && owned)
      for (Index d = 0; d < n; ++d) block[d * n + d] += 1.0;
    if (p.first != p.second && symmetric_)
      MutMatrix(block + n * n_2, n_2, n) = ConstMatrix(block, n, n_2).transpose();
  }
  return true;
}

/// What ghosts hold in z_ is added at their owners.
void VelocitySystem::add_ghosts() { forces_->complete(z_); }

void VelocitySystem::gather_forces(std::span<double> owned) {
  add_ghosts();
  std::size_t next = 0;
  for (Index d = 0; d < problem_.bodies.dof_begin[problem_.bodies.n_owned]; ++d)
    if (number_[d] >= 0.0) owned[next++] = z_[d];
}

void VelocitySystem::spread(std::span<const double> owned) {
  std::fill(z_.begin(), z_.end(), 0.0);
  std::size_t next = 0;
  for (Index d = 0; d < problem_.bodies.dof_begin[problem_.bodies.n_owned]; ++d)
    if (number_[d] >= 0.0) z_[d] = owned[next++];
  share(z_);
}

/// z_ += Y^T e of block k's rows.
void VelocitySystem::add_forces(Index k, const double* e) {
  for (Index j = reference_begin_[k]; j < reference_begin_[k + 1]; ++j) {
    const Index n = problem_.bodies.dofs(body_[j]);
    const double* y = y_.data() + y_begin_[j];
    double* f = z_.data() + problem_.bodies.dof_begin[body_[j]];
    for (Index i = 0; i < rows_of(k); ++i, y += n)
      for (Index d = 0; d < n; ++d) f[d] += y[d] * e[i];
  }
}

/// u += Y z_ of block k's rows.
void VelocitySystem::add_residual_velocities(Index k, double* u) const {
  for (Index j = reference_begin_[k]; j < reference_begin_[k + 1]; ++j) {
    const Index n = problem_.bodies.dofs(body_[j]);
    const double* y = y_.data() + y_begin_[j];
    const double* v = z_.data() + problem_.bodies.dof_begin[body_[j]];
    for (Index i = 0; i < rows_of(k); ++i, y += n)
      for (Index d = 0; d < n; ++d) u[i] += y[d] * v[d];
  }
}

/// Y^T C'^-1 r
void VelocitySystem::reduce(std::span<const double> r, std::span<double> right) {
  std::fill(z_.begin(), z_.end(), 0.0);
  Eigen::VectorXd e;
  for (Index k = 0; k < n_blocks(); ++k) {
    const Index m = rows_of(k);
    e.noalias() = ConstMatrix(inverse_.block(k), m, m) *
                  Eigen::Map<const Eigen::VectorXd>(r.data() + row_begin_[k], m);
    add_forces(k, e.data());
  }
  gather_forces(right);
}

/// C'^-1 (r - B Y z): the difference first, which is small where C' is
void VelocitySystem::recover(std::span<const double> r, std::span<const double> z,
                             std::span<double> dlambda) {
  spread(z);
  Eigen::VectorXd u;
  for (Index k = 0; k < n_blocks(); ++k) {
    const Index m = rows_of(k);
    u.setZero(m);
    add_residual_velocities(k, u.data());
    if (!symmetric_) u = (ConstMatrix(b_.block(k), m, m) * u).eval();
    u = Eigen::Map<const Eigen::VectorXd>(r.data() + row_begin_[k], m) - u;
    Eigen::Map<Eigen::VectorXd>(dlambda.data() + row_begin_[k], m).noalias() =
        ConstMatrix(inverse_.block(k), m, m) * u;
  }
}

/// The residual of rows is B Y times that of the unknowns: power iterations for the norm of Y,
/// times the largest entry of B.
double VelocitySystem::gain() {
  if (length_ == 0.0) {
    std::vector<double> z(pattern_.owned, 1.0), r(sigma_.size());
    for (int i = 0; i < 6; ++i) {
      const double size =
          std::sqrt(problem_.comm.sum(std::inner_product(z.begin(), z.end(), z.begin(), 0.0)));
      if (!(size > 0.0)) break;
      length_ = i == 0 ? 0.0 : std::sqrt(size);
      for (double& x : z) x /= size;
      spread(z);
      std::fill(r.begin(), r.end(), 0.0);
      for (Index k = 0; k < n_blocks(); ++k) add_residual_velocities(k, r.data() + row_begin_[k]);
      std::fill(z_.begin(), z_.end(), 0.0);
      for (Index k = 0; k < n_blocks(); ++k) add_forces(k, r.data() + row_begin_[k]);
      gather_forces(z);
    }
    if (length_ == 0.0) length_ = 1.0;
  }
  double scale = 1.0;
  if (!symmetric_) {
    double largest = 0.0;
    for (const double v : b_.value) largest = std::max(largest, std::abs(v));
    scale = problem_.comm.max(largest);
  }
  return length_ * scale;
}

std::vector<std::vector<double>> VelocitySystem::rigid_motions() {
  if (pattern_.block_size != 6) return {};
  const std::vector<Vec3> position = contact_positions(problem_);
  std::vector<std::vector<double>> fields(6);
  const ProblemBodies& bodies = problem_.bodies;
  for (Index b = 0; b < bodies.n_owned; ++b) {
    if (number_[bodies.dof_begin[b]] < 0.0) continue;
    // columns: velocities (v + w x position, w) of the six motions
    Eigen::Matrix<double, 6, 6> v = Eigen::Matrix<double, 6, 6>::Identity();
    for (int i = 0; i < 3; ++i) v.block<3, 1>(0, 3 + i) = Vec3::Unit(i).cross(position[b]);
    const Eigen::MatrixXd z =
        root_of_inverse_mass(bodies, b).completeOrthogonalDecomposition().solve(v);
    for (std::size_t i = 0; i < 6; ++i)
      for (Eigen::Index d = 0; d < 6; ++d) fields[i].push_back(z(d, i));
  }
  return fields;
}

}  // namespace

std::unique_ptr<CondensedSystem> make_velocity_system(const ConstraintProblem& problem) {
  return std::make_unique<VelocitySystem>(problem);
}

}  // namespace catena
