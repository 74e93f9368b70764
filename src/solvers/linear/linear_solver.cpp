#include "solvers/linear/linear_solver.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <optional>

#include "solvers/linear/petsc_runtime.hpp"

namespace catena {
namespace {

/// Operations of a dense factor that take as long as one of a sparse one, and as what a sparse one
/// spends on a column beside its operations.
constexpr double kSparsePrice = 20.0, kColumnPrice = 2000.0;
/// Part of the entries that are not 0 from which on a sparse factor is not tried.
constexpr double kFull = 0.25;
/// Unknowns of a dense factor, at most.
constexpr Index kDenseUnknowns = 500;
/// Unknowns of a sparse factor and its operations (one each: multiply and add), at most: with more,
/// MUMPS is quicker.
constexpr Index kSparseUnknowns = 6000;
constexpr double kSparseWork = 5e6;
/// Unknowns whose factor (three dimensions, six an item) is taken to fit into memory.
constexpr std::int64_t kDirectUnknowns = 60000;
/// Options of contact systems begin with this.
constexpr const char* kPrefix = "catena_contact_";

class DenseSolver final : public LinearSolver {
 public:
  explicit DenseSolver(const MatrixPattern& pattern)
      : row_(pattern.row), column_(pattern.column), a_(pattern.owned, pattern.owned) {}

  bool factor(std::span<const double> values, bool symmetric) override {
    if (a_.size() == 0) return true;
    a_.setZero();
    for (std::size_t e = 0; e < values.size(); ++e) a_(row_[e], column_[e]) += values[e];
    symmetric_ = symmetric;
    if (symmetric) {
      cholesky_.compute(a_);
      return cholesky_.info() == Eigen::Success;
    }
    lu_.compute(a_);
    return lu_.matrixLU().allFinite() && (lu_.matrixLU().diagonal().array() != 0.0).all();
  }

  int solve(std::span<double> x, double) override {
    if (a_.size() == 0) return 0;
    Eigen::Map<Eigen::VectorXd> v(x.data(), x.size());
    if (symmetric_)
      cholesky_.solveInPlace(v);
    else
      v = lu_.solve(v).eval();
    return 0;
  }

  std::string description() override { return "dense"; }

 private:
  std::vector<Index> row_, column_;
  Eigen::MatrixXd a_;
  Eigen::LLT<Eigen::MatrixXd> cholesky_;
  Eigen::PartialPivLU<Eigen::MatrixXd> lu_;
  bool symmetric_ = true;
};

/// Eigen's factors; the pattern is analysed once.
class SparseSolver final : public LinearSolver {
 public:
  explicit SparseSolver(const MatrixPattern& pattern)
      : a_(pattern.owned, pattern.owned), place_(pattern.row.size()) {
    std::vector<Eigen::Triplet<double, int>> entries;
    entries.reserve(place_.size());
    for (std::size_t e = 0; e < place_.size(); ++e)
      entries.emplace_back(pattern.row[e], pattern.column[e], 1.0);
    a_.setFromTriplets(entries.begin(), entries.end());
    const int* const begin = a_.outerIndexPtr();
    const int* const rows = a_.innerIndexPtr();
    for (std::size_t e = 0; e < place_.size(); ++e) {
      const int* const column = begin + pattern.column[e];
      const int* const found = std::lower_bound(rows + column[0], rows + column[1], pattern.row[e]);
      place_[e] = found - rows;
    }
    cholesky_.analyzePattern(a_);
  }

  /// Operations of a Cholesky factor.
  double work() const { return cholesky_.work(); }

  bool factor(std::span<const double> values, bool symmetric) override {
    if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
      return false;
    const std::span<double> sums(a_.valuePtr(), a_.nonZeros());
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t e = 0; e < values.size(); ++e) sums[place_[e]] += values[e];
    symmetric_ = symmetric;
    if (symmetric) {
      cholesky_.factorize(a_);
      return cholesky_.info() == Eigen::Success;
    }
    if (!lu_) {
      lu_.emplace();
      lu_->analyzePattern(a_);
    }
    lu_->factorize(a_);
    return lu_->info() == Eigen::Success;
  }

  int solve(std::span<double> x, double) override {
    Eigen::Map<Eigen::VectorXd> v(x.data(), x.size());
    v = symmetric_ ? cholesky_.solve(v).eval() : lu_->solve(v).eval();
    return 0;
  }

  std::string description() override { return "sparse"; }

 private:
  using Matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;
  struct Cholesky : Eigen::SimplicialLLT<Matrix, Eigen::Lower, Eigen::AMDOrdering<int>> {
    double work() const { return m_nonZerosPerCol.cast<double>().squaredNorm(); }
  };

  Matrix a_;
  std::vector<std::size_t> place_;  ///< of each entry among a_'s values
  Cholesky cholesky_;
  std::optional<Eigen::SparseLU<Matrix, Eigen::COLAMDOrdering<int>>> lu_;  ///< once asked for
  bool symmetric_ = true;
};

/// One rank, few unknowns; null if either factor would take more than MUMPS.
std::unique_ptr<LinearSolver> make_small_solver(const MatrixPattern& pattern) {
  const auto n = static_cast<double>(pattern.owned);
  if (pattern.owned > kSparseUnknowns) return nullptr;
  const double dense = n * n * n / 6.0;
  if (dense > kColumnPrice * n && static_cast<double>(pattern.row.size()) < kFull * n * n) {
    auto sparse = std::make_unique<SparseSolver>(pattern);
    const double work = sparse->work();
    const bool worth = kSparsePrice * work + kColumnPrice * n < dense;
    if (worth && work <= kSparseWork) return sparse;
  }
  if (pattern.owned > kDenseUnknowns) return nullptr;
  return make_dense_solver(pattern);
}

}  // namespace

std::unique_ptr<LinearSolver> make_dense_solver(const MatrixPattern& pattern) {
  return std::make_unique<DenseSolver>(pattern);
}

std::unique_ptr<LinearSolver> make_contact_solver(const Communicator& comm,
                                                  const MatrixPattern& pattern,
                                                  const LinearSettings& settings, std::string where,
                                                  const RigidMotions& motions) {
  const bool options = petsc::options_given(kPrefix);
  if (pattern.total == 0 || (comm.size() == 1 && !options && settings.method != LinearMethod::cg)) {
    std::unique_ptr<LinearSolver> small = make_small_solver(pattern);
    if (small) return small;
  }
  const bool direct =
      settings.method == LinearMethod::direct ||
      (settings.method == LinearMethod::automatic && pattern.total <= kDirectUnknowns);
  const char* fix =
      direct ? "set linear_system to cg, or use more ranks" : "set linear_system to direct";
  return make_petsc_solver(comm, pattern, {kPrefix, "unknowns", std::move(where), fix}, direct,
                           settings.preconditioner, motions);
}

}  // namespace catena
