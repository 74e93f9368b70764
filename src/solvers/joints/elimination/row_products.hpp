// Products of vectors of joints' rows with A = G M^-1 G^T + Sigma.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "catena/math/sum.hpp"
#include "solvers/joints/elimination/guests.hpp"

namespace catena {

/// diag A of the first rows; 1 where a row is empty.
void diagonal(const MechanismRows& joints, std::span<double> out);

/// Per row, which mechanism it belongs to, 0 .. n-1.
std::vector<Index> mechanism_of_rows(const MechanismRows& structure, Index& n);

/// Collective where there are guests. Per mechanism whether it is a tree that is held at one place
/// at most: joints of one or two bodies that close no loop, not through the world either.
std::vector<char> trees_held_once(const MechanismRows& structure,
                                  std::span<const Index> mechanism_of_row, Index n_mechanisms,
                                  const Guests* guests);

/// Whether block k alone can give each of its bodies velocities of all its rows: Sigma_k + G_kb
/// M_b^-1 G_kb^T is not singular but for round-off, for each body b. Where all blocks of a tree
/// that is held once are so, its rows are independent: n^T A n = 0 asks for no impulse from the
/// only joint at a leaf, and so from the next ones.
bool moves_each_body(const MechanismRows& joints, Index k);

/// The products of a mechanism's vectors with each other, k x k sums.
class Products {
 public:
  Products(Eigen::Index k, bool exact) : k_(k), sum_(k * k, Sum(exact)) {}

  Eigen::Index size() const { return k_; }
  std::span<Sum> sums() { return sum_; }
  template <class Term>
  void add(const Term& term) {
    for (Eigen::Index i = 0; i < k_; ++i)
      for (Eigen::Index k = 0; k < k_; ++k) sum_[i * k_ + k] += term(i, k);
  }

 private:
  Eigen::Index k_;
  std::vector<Sum> sum_;
};

/// product[m] (i, j) += n_i^T A n_j over the rows of mechanism m, as (G^T n_i)^T M^-1 (G^T n_j) and
/// Sigma's part. `mechanism`: of own rows, which come first; with guests at the bodies alone at
/// which this rank knows all blocks.
void add_products(const MechanismRows& joints, const std::vector<std::vector<double>>& n,
                  std::span<const Index> mechanism, const Guests* guests,
                  std::vector<Products>& product);

}  // namespace catena
