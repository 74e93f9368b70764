// The rows of mechanisms that are eliminated together, and sums over them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/math/sum.hpp"
#include "solvers/joints/elimination/elimination.hpp"
#include "solvers/joints/elimination/guests.hpp"
#include "solvers/joints/elimination/row_products.hpp"

namespace catena {

/// This rank's rows, guests not among them, of which mechanism each is, and D = diag A. With guests
/// the mechanism is one that other ranks have rows of, too: all that sums or compares is then
/// collective, and of the rows of all ranks.
class OwnRows {
 public:
  /// Collective where there are guests, which must outlive it.
  OwnRows(const MechanismRows& structure, Guests* guests);

  std::size_t size() const { return mechanism_.size(); }
  double all() const { return all_; }  ///< rows, of all ranks
  Index n_mechanisms() const { return n_mechanisms_; }
  std::span<const Index> mechanism() const { return mechanism_; }  ///< per row
  std::span<const std::int64_t> name() const { return name_; }     ///< per block
  std::span<const Index> row_begin() const { return row_begin_; }  ///< per block, and one more
  /// Per row MechanismRows::drive, empty where no rank has any.
  std::span<const char> drive() const { return drive_; }
  bool has_drives() const { return has_drives_; }  ///< any rank
  const Guests* guests() const { return guests_; }

  /// D of these joints.
  void read(const MechanismRows& joints) { catena::diagonal(joints, diagonal_); }
  std::span<const double> diagonal() const { return diagonal_; }

  bool any(bool here) const { return largest(here ? 1.0 : 0.0) > 0.0; }
  double largest(double here) const { return guests_ ? guests_->comm().max(here) : here; }
  /// What only one rank may tell, where ranks are asked for their parts: zero on the others.
  double told_once(double value) const {
    return guests_ && guests_->comm().rank() > 0 ? 0.0 : value;
  }

  std::vector<double> totals(std::span<const Sum> here) const;
  /// The sum of term(row).
  template <class Term>
  double total(const Term& term) const;
  /// a . b over the rows of each mechanism; until the next call.
  std::span<const double> products(std::span<const double> a, std::span<const double> b);
  /// Per mechanism the products x_i^T A x_k, i, k < count[m], of the first vectors.
  std::vector<std::vector<double>> products(const MechanismRows& joints,
                                            const std::vector<std::vector<double>>& x,
                                            std::span<const Index> count) const;
  /// Random multipliers, the same on any ranks: 1/3 a row of |x|^2_D in the mean.
  std::vector<double> random_direction(std::uint64_t seed) const;
  /// Of velocities of rows, J: 1/2 b^T D^-1 b.
  double energy_of(std::span<const double> b) const {
    return total([&](std::size_t i) { return 0.5 * b[i] * b[i] / diagonal_[i]; });
  }
  /// |x|^2 in the metric of D.
  double square_of(std::span<const double> x) const {
    return total([&](std::size_t i) { return diagonal_[i] * x[i] * x[i]; });
  }

 private:
  bool exact() const { return guests_ != nullptr && guests_->exact(); }

  Guests* guests_;
  double all_ = 0.0;
  std::vector<std::int64_t> name_;
  std::vector<Index> row_begin_;
  std::vector<char> drive_;
  bool has_drives_ = false;
  Index n_mechanisms_ = 0;
  std::vector<Index> mechanism_;
  std::vector<double> diagonal_, product_;
};

template <class Term>
double OwnRows::total(const Term& term) const {
  if (exact()) {
    Sum sum(true);
    for (std::size_t i = 0; i < mechanism_.size(); ++i) sum += term(i);
    return totals({&sum, 1})[0];
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < mechanism_.size(); ++i) sum += term(i);
  return guests_ ? guests_->comm().sum(sum) : sum;
}

}  // namespace catena
