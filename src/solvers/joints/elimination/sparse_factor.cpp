#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "catena/base/error.hpp"
#include "catena/base/sort_unique.hpp"
#include "solvers/joints/elimination/tree_factor.hpp"
#include "solvers/linear/linear_solver.hpp"

namespace catena {
namespace {

constexpr const char* kWhere = "sparse elimination of joints";
constexpr const char* kPrefix = "catena_joint_";  ///< of PETSc's options

/// A as a sparse matrix: upper triangle in CSR, row by row of blocks; blocks are coupled where
/// they share a body.
class SparseFactor final : public CholeskyFactor {
 public:
  explicit SparseFactor(const MechanismRows& structure);

  bool factor(const MechanismRows& joints, std::span<const double> added) override;
  void solve(std::span<double> x) override;
  void pivots(std::span<double> out) override;
  bool costly_pivots() const override { return true; }
  std::int64_t raised() const override { return 0; }
  std::int64_t flops() const override { return solver_ ? solver_->flops() : 0; }

 private:
  /// G_k M_b^-1 G_l^T, l >= k, of references of k and l to body b; `column`: where block l starts
  /// in the first row of k.
  struct Product {
    Index k, l, ref_k, ref_l, column;
  };
  void make_solver();
  void find_pattern(const MechanismRows& structure);
  void list_products(const MechanismRows& structure, std::span<const Index> neighbor_begin,
                     std::span<const Index> neighbor);
  void assemble(const MechanismRows& joints, std::span<const double> added);

  std::vector<std::vector<Index>> refs_of_body_;
  std::vector<Index> block_of_ref_;
  std::vector<int> row_begin_, column_;
  std::vector<Product> products_;
  std::vector<double> value_, jacobian_times_mass_;
  std::unique_ptr<LinearSolver> solver_;  ///< MUMPS; null without rows
  bool finite_ = true;
};

SparseFactor::SparseFactor(const MechanismRows& structure) {
  find_pattern(structure);
  value_.resize(column_.size());
  jacobian_times_mass_.resize(structure.blocks.jacobian.size());
  if (!value_.empty()) make_solver();
}

void SparseFactor::make_solver() {
  MatrixPattern pattern;
  pattern.owned = to_index(row_begin_.size()) - 1;
  pattern.total = pattern.owned;
  pattern.upper_triangle = true;
  for (Index row = 0; row < pattern.owned; ++row) pattern.row.resize(row_begin_[row + 1], row);
  pattern.column = column_;
  solver_ = make_petsc_solver(
      Communicator::self(), pattern,
      {kPrefix, "joint rows", kWhere,
       "use solver.joints.method: iterative, or break the mechanism into smaller ones"});
}

void SparseFactor::find_pattern(const MechanismRows& structure) {
  const GeneralBlocks& blocks = structure.blocks;
  refs_of_body_.resize(structure.bodies.size());
  const auto n_blocks = blocks.size();
  for (Index k = 0; k < n_blocks; ++k) {
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      block_of_ref_.push_back(to_index(k));
      refs_of_body_[blocks.body[j]].push_back(j);
    }
  }
  // neighbours of k from k on
  std::vector<Index> neighbor_begin = {0}, neighbor, mine;
  row_begin_ = {0};
  std::int64_t entries = 0;
  for (Index k = 0; k < n_blocks; ++k) {
    mine = {to_index(k)};
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      const std::size_t body = blocks.body[j];
      for (const Index ref : refs_of_body_[body]) {
        const Index other = block_of_ref_[ref];
        if (other > to_index(k)) mine.push_back(other);
      }
    }
    sort_unique(mine);
    neighbor.insert(neighbor.end(), mine.begin(), mine.end());
    neighbor_begin.push_back(to_index(neighbor.size()));
    for (Index row = blocks.row_begin[k]; row < blocks.row_begin[k + 1]; ++row) {
      for (const Index other : mine) {
        for (Index c = std::max(row, blocks.row_begin[other]); c < blocks.row_begin[other + 1];
             ++c) {
          column_.push_back(c);
        }
      }
      entries = std::ssize(column_);
      if (entries > std::numeric_limits<int>::max() / 2) {
        throw Error("the matrix of the joints has more than 10^9 entries", kWhere,
                    "use solver.joints.method: iterative");
      }
      row_begin_.push_back(narrow<int>(entries));
    }
  }
  list_products(structure, neighbor_begin, neighbor);
}

void SparseFactor::list_products(const MechanismRows& structure,
                                 std::span<const Index> neighbor_begin,
                                 std::span<const Index> neighbor) {
  const std::vector<Index>& row_begin = structure.blocks.row_begin;
  std::vector<Index> column(structure.blocks.kind.size(), kNoIndex);
  for (std::size_t k = 0; k + 1 < neighbor_begin.size(); ++k) {
    Index at = 0;
    for (Index i = neighbor_begin[k]; i < neighbor_begin[k + 1]; ++i) {
      const std::size_t l = neighbor[i];
      column[l] = at;
      at += row_begin[l + 1] - row_begin[l];
    }
    const std::vector<Index>& begin = structure.blocks.body_begin;
    for (Index j = begin[k]; j < begin[k + 1]; ++j) {
      const std::size_t body = structure.blocks.body[j];
      for (const Index ref : refs_of_body_[body]) {
        const Index l = block_of_ref_[ref];
        if (l < to_index(k)) continue;
        products_.push_back({to_index(k), l, j, ref, column[l]});
      }
    }
  }
}

void SparseFactor::assemble(const MechanismRows& joints, std::span<const double> added) {
  const GeneralBlocks& blocks = joints.blocks;
  const auto dofs_of = [&](Index ref) {
    const std::size_t b = blocks.body[ref];
    return joints.bodies.dof_begin[b + 1] - joints.bodies.dof_begin[b];
  };
  const auto begin_of = [&](Index ref) { return blocks.jacobian_begin[ref]; };
  std::fill(value_.begin(), value_.end(), 0.0);
  for (std::size_t j = 0; j < blocks.body.size(); ++j) {
    const auto ref = to_index(j);
    const std::size_t dofs = dofs_of(ref);
    const std::size_t end = blocks.jacobian_begin[j + 1];
    for (std::size_t at = begin_of(ref); at < end; at += dofs) {
      apply_inverse_mass(joints.bodies, blocks.body[j], {blocks.jacobian.data() + at, dofs},
                         {jacobian_times_mass_.data() + at, dofs});
    }
  }
  for (const Product& p : products_) {
    const std::size_t k = p.k, l = p.l;
    const Index rows = blocks.row_begin[k + 1] - blocks.row_begin[k];
    const Index columns = blocks.row_begin[l + 1] - blocks.row_begin[l];
    const std::size_t dofs = dofs_of(p.ref_k);
    for (Index r = 0; r < rows; ++r) {
      const double* left = jacobian_times_mass_.data() + begin_of(p.ref_k) + dofs * Offset{r};
      // row r of block k starts at its diagonal
      const int first = row_begin_[blocks.row_begin[k] + r] - r;
      for (Index c = p.k == p.l ? r : 0; c < columns; ++c) {
        const double* right = blocks.jacobian.data() + begin_of(p.ref_l) + dofs * Offset{c};
        value_[first + p.column + c] += std::inner_product(left, left + dofs, right, 0.0);
      }
    }
  }
  for (std::size_t i = 0; i < added.size(); ++i) {
    value_[row_begin_[i]] += blocks.compliance[i] + added[i];
  }
}

bool SparseFactor::factor(const MechanismRows& joints, std::span<const double> added) {
  assemble(joints, added);
  // MUMPS is not to see NaN; the solution is NaN then, as of every other elimination
  finite_ = std::all_of(value_.begin(), value_.end(), [](double v) { return std::isfinite(v); });
  return !finite_ || !solver_ || solver_->factor(value_, true);
}

void SparseFactor::solve(std::span<double> x) {
  if (x.empty()) return;
  if (!finite_) {
    std::fill(x.begin(), x.end(), std::numeric_limits<double>::quiet_NaN());
  } else if (solver_->solve(x, 0.0) < 0) {
    throw Error("the solver that the options name did not settle", kWhere,
                "change solver.petsc's joint_ options", ExitCode::runtime_error);
  }
}

/// In the order of Eigen's AMD, which depends on the structure alone.
void SparseFactor::pivots(std::span<double> out) {
  using Matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;
  const auto n = std::ssize(row_begin_) - 1;
  if (n == 0) return;
  // rows of the upper triangle are columns of the lower
  const Eigen::Map<const Matrix> lower(n, n, value_.size(), row_begin_.data(), column_.data(),
                                       value_.data());
  const Eigen::SimplicialLDLT<Matrix, Eigen::Lower, Eigen::AMDOrdering<int>> factor(lower);
  const Eigen::VectorXd d = factor.vectorD();
  const auto& place = factor.permutationP().indices();
  for (Eigen::Index i = 0; i < n; ++i) out[i] = d[place[i]];
}

}  // namespace

std::unique_ptr<JointElimination> make_sparse_elimination(const MechanismRows& structure) {
  return make_regularised(structure, std::make_unique<SparseFactor>(structure));
}

bool sparse_elimination_asked_for() { return petsc_options_given(kPrefix); }

}  // namespace catena
