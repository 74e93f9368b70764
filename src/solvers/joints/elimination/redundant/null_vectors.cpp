#include "solvers/joints/elimination/redundant/null_vectors.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <iterator>

#include "solvers/joints/elimination/redundant/null_values.hpp"

namespace catena {

void NullVectors::clear() {
  null_.clear();
  yield_.clear();
}

void NullVectors::find(const MechanismRows& joints, const SuspiciousRows& suspicious,
                       std::vector<Index>& redundant) {
  iterate(suspicious);
  separate(joints, suspicious, redundant);
  find_yielding_drives(joints.misfit);
}

void NullVectors::remove_reactions_at_rest(std::span<double> x) {
  if (null_.empty()) return;
  scratch_.resize(x.size());
  const std::span<const double> diagonal = rows_->diagonal();
  const std::span<const Index> mechanism = rows_->mechanism();
  for (const std::vector<double>& n : null_) {
    for (std::size_t i = 0; i < x.size(); ++i) scratch_[i] = diagonal[i] * x[i];
    const std::span<const double> part = rows_->products(n, scratch_);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= n[i] * part[mechanism[i]];
  }
}

/// Inverse iteration from the candidates: (A + epsilon D)^-1 D multiplies null vectors by
/// 1/epsilon and others by 1/(epsilon + sigma).
void NullVectors::iterate(const SuspiciousRows& suspicious) {
  std::vector<double> x(rows_->size());
  scratch_.resize(x.size());
  for (std::size_t i = 0; i < suspicious.most(); ++i) {
    std::fill(x.begin(), x.end(), 0.0);
    for (const std::vector<Index>& rows : suspicious.candidates()) {
      if (i < rows.size() && rows[i] != kNoIndex) x[rows[i]] = 1.0;
    }
    for (int round = 0; round < 4; ++round) {
      factor_->damp(x);
      remove_reactions_at_rest(x);
      remove_reactions_at_rest(x);
      for (std::size_t r = 0; r < x.size(); ++r) scratch_[r] = x[r] * rows_->diagonal()[r];
      const std::span<const double> squares = rows_->products(x, scratch_);
      for (std::size_t r = 0; r < x.size(); ++r) {
        const double square = squares[rows_->mechanism()[r]];
        if (square > 0.0) x[r] /= std::sqrt(square);
      }
    }
    null_.push_back(x);
  }
}

/// Rayleigh and Ritz: the null vectors among the combinations of those in null_, mechanism by
/// mechanism, and how many rows are redundant.
void NullVectors::separate(const MechanismRows& joints, const SuspiciousRows& suspicious,
                           std::vector<Index>& redundant) {
  const Eigen::Index most = null_.size();
  const std::vector<std::vector<Index>>& candidates = suspicious.candidates();
  std::vector<Index> count;
  for (const std::vector<Index>& rows : candidates)
    count.push_back(to_index(std::min(rows.size(), null_.size())));
  const std::vector<std::vector<double>> product = rows_->products(joints, null_, count);
  std::vector<Eigen::MatrixXd> combination(candidates.size());
  Eigen::Index kept = 0;
  for (std::size_t m = 0; m < candidates.size(); ++m) {
    const Eigen::Index k = count[m];
    if (k == 0) continue;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(
        Eigen::Map<const Eigen::MatrixXd>(product[m].data(), k, k).transpose());
    // what is not among the candidates is stiffer than they are, by 1 at most
    const Eigen::Index null = count_null(eigen.eigenvalues(), joints.misfit, 1.0);
    combination[m] = eigen.eigenvectors().leftCols(null);
    std::copy_if(candidates[m].begin(), candidates[m].begin() + null, std::back_inserter(redundant),
                 [](Index row) { return row != kNoIndex; });
    kept = std::max(kept, null);
  }
  Eigen::VectorXd old(most);
  for (std::size_t r = 0; r < rows_->size(); ++r) {
    const Eigen::MatrixXd& u = combination[rows_->mechanism()[r]];
    for (Eigen::Index i = 0; i < most; ++i) old[i] = null_[i][r];
    for (Eigen::Index i = 0; i < kept; ++i) {
      null_[i][r] = i < u.cols() ? u.col(i).dot(old.head(u.rows())) : 0.0;
    }
  }
  null_.resize(kept);
}

/// Drives that contradict the rest of their mechanism are to be compliant, not the joints of its
/// loop: b is made possible by changing the drives' rows alone as far as they take part. With P the
/// drives' rows of D^(1/2) N, P^T P tells by how much a combination of null vectors is one of
/// drives; as A n = 0, that is also n^T A n of its other rows: where it counts as null for them,
/// the joints are redundant without the drives, which are right then and must stay rigid.
void NullVectors::find_yielding_drives(double misfit) {
  if (!rows_->has_drives() || null_.empty()) return;
  const std::span<const char> drive = rows_->drive();
  drives_.assign(rows_->n_mechanisms(), {});
  for (std::size_t r = 0; r < drive.size(); ++r)
    if (drive[r] != 0) drives_[rows_->mechanism()[r]].push_back(to_index(r));
  yield_.resize(rows_->n_mechanisms());
  for (std::size_t m = 0; m < yield_.size(); ++m) {
    const std::vector<Index>& rows = drives_[m];
    Eigen::MatrixXd p(rows.size(), null_.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::size_t row = rows[r];
      for (std::size_t i = 0; i < null_.size(); ++i)
        p(r, i) = std::sqrt(rows_->diagonal()[row]) * null_[i][row];
    }
    Eigen::MatrixXd square = p.transpose() * p;
    if (const Guests* guests = rows_->guests()) {
      Products sums(square.rows(), guests->exact());
      for (Eigen::Index r = 0; r < p.rows(); ++r)
        sums.add([&](Eigen::Index i, Eigen::Index k) { return p(r, i) * p(r, k); });
      const std::vector<double> all = rows_->totals(sums.sums());
      std::copy(all.begin(), all.end(), square.data());
    } else if (p.size() == 0) {
      continue;
    }
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(square);
    const Eigen::Index null = count_null(eigen.eigenvalues(), misfit, 1.0);
    const Eigen::Index held = eigen.eigenvalues().size() - null;
    const auto u = eigen.eigenvectors().rightCols(held);
    yield_[m] = p * u * eigen.eigenvalues().tail(held).cwiseInverse().asDiagonal() * u.transpose();
  }
}

/// b of contradictory drives becomes what the joints allow.
void NullVectors::yield_drives(std::span<double> b) {
  if (yield_.empty()) return;
  Eigen::MatrixXd contradiction(null_.size(), rows_->n_mechanisms());
  for (std::size_t i = 0; i < null_.size(); ++i) {
    const std::span<const double> part = rows_->products(null_[i], b);
    contradiction.row(i) = Eigen::Map<const Eigen::RowVectorXd>(part.data(), rows_->n_mechanisms());
  }
  for (std::size_t m = 0; m < yield_.size(); ++m) {
    if (yield_[m].size() == 0) continue;
    const Eigen::VectorXd change = yield_[m] * contradiction.col(m);
    for (std::size_t r = 0; r < drives_[m].size(); ++r) {
      const std::size_t row = drives_[m][r];
      b[row] -= std::sqrt(rows_->diagonal()[row]) * change[r];
    }
  }
}

double NullVectors::take_out_contradictions(std::span<double> b) {
  if (null_.empty()) return 0.0;
  asked_.assign(b.begin(), b.end());
  yield_drives(b);
  for (const std::vector<double>& n : null_) {
    const std::span<const double> part = rows_->products(n, b);
    for (std::size_t i = 0; i < b.size(); ++i)
      b[i] -= rows_->diagonal()[i] * n[i] * part[rows_->mechanism()[i]];
  }
  for (std::size_t i = 0; i < b.size(); ++i) asked_[i] -= b[i];
  return rows_->energy_of(asked_);
}

}  // namespace catena
