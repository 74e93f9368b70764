// The bounded linear complementarity problem, solved by pivoting.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "catena/base/index.hpp"
#include "solvers/pivoting/ldl_factor.hpp"

namespace catena {

/// A symmetric matrix, both triangles, compressed by rows; columns in any order, no doubles.
struct SymmetricRows {
  std::vector<std::int64_t> row_begin = {0};
  std::vector<Index> column;
  std::vector<double> value;

  Eigen::Index size() const { return std::ssize(row_begin) - 1; }
};

struct LcpResult;

struct LcpSettings {
  /// epsilon: A_ii (1 + epsilon) is what the pivots see; taken out again by refinement.
  double regularisation = 1e-12;
  /// Sweeps of projected Gauss-Seidel that guess which rows are free.
  int sweeps = 50;
  /// Exchange all wrong rows at once while their number falls. False, and no sweeps: Dantzig's
  /// algorithm from zero, row by row.
  bool block_pivots = true;
  /// Asked before every sweep and pivot and every 64 rows of a factor: true ends the solve.
  std::function<bool()> stop;
  /// Told as often what has been done so far, and the rows of the factor.
  std::function<void(const LcpResult&, Eigen::Index free_rows)> progress;
};

/// How a solve ended.
enum class LcpEnd {
  solved,
  round_off,    ///< the rows at bounds are found, but w is above round-off
  pivot_limit,  ///< pivots go on without finding them, or go in circles
  no_solution,  ///< rows contradict each other, or one can move without end
  stopped,      ///< by LcpSettings::stop
};

/// What a solve did.
struct LcpResult {
  LcpEnd end = LcpEnd::solved;
  bool solved = false;   ///< to round-off: `residual` <= 1e-13, or the rounding of w itself
  bool stopped = false;  ///< by LcpSettings::stop
  /// Largest |x - P(x - w)| of a row scaled to A_ii = 1, as a part of the largest |b| there, P the
  /// projection on the bounds.
  double residual = 0.0;
  double smallest_pivot = 1.0;     ///< of the last factor, A_ii = 1
  std::int64_t pivots = 0;         ///< single ones
  std::int64_t exchanges = 0;      ///< rows moved by block pivots
  std::int64_t block_pivots = 0;   ///< rounds of them
  std::int64_t refinements = 0;    ///< solves that took the regularisation out
  std::int64_t appended_rows = 0;  ///< to the factor
  std::int64_t removed_rows = 0;   ///< from it one by one
};

/// Finds x, lo <= x <= hi, with w = A x + b >= 0 where x = lo, <= 0 where x = hi, = 0 between, for
/// A symmetric positive semidefinite (docs/theory.md, "Pivoting").
///
/// Rows are free (w = 0; a factor L D L^T of their part of A is kept) or stand at a bound. Sweeps
/// of Gauss-Seidel guess the free rows, block principal pivots (Judice and Pires, 1994) mend the
/// guess, and Dantzig's algorithm (Cottle and Dantzig 1968; Baraff 1994) ends it where these no
/// longer make the number of wrong rows fall: the wrong rows are driven one by one to w = 0 or a
/// bound while all right ones stay right. Ties go to the least row (Cottle and Chang 1992), which
/// is finite for positive semidefinite A.
///
/// Where A is singular, A + epsilon diag A is solved again and again with b - epsilon diag(A) x
/// of the last x (the proximal point method) until w of A itself is met, which it is wherever the
/// problem has a solution. Rows with A_ii = 0 take 0, or their bound next to it.
class BoundedLcp {
 public:
  using Vector = Eigen::VectorXd;

  /// Symmetric to round-off. Copies it, scaled to A_ii = 1.
  BoundedLcp(const SymmetricRows& a, const LcpSettings& settings);

  /// lo <= hi, infinities allowed. `x` holds the guess, and the solution on return. A later call
  /// starts from the free rows and the factor of the one before.
  LcpResult solve(const Vector& b, const Vector& lo, const Vector& hi, Vector& x);
  /// New values of the same rows (friction turned into other directions, a stiffer diagonal): the
  /// free rows stay the guess.
  void replace(const SymmetricRows& a);

  /// Whether the last solve left a row at its upper bound (1), its lower one (-1), or neither (0:
  /// free, or bounds that are equal).
  int held(Eigen::Index row) const;
  /// Change of x per move of rows that are held: column c of the result for moves[c] (row and
  /// amount), free rows following with w = 0. n x columns; the rows moved and held are 0. No rows
  /// where LcpSettings::stop ends it, which is asked every 64 columns.
  Eigen::MatrixXd response(
      const std::vector<std::vector<std::pair<Eigen::Index, double>>>& moves) const;

 private:
  enum class Place : std::uint8_t { free, lower, upper, between, fixed };
  /// The factor of the free rows.
  struct FreeRows {
    LdlFactor factor;
    Eigen::MatrixXd panel;        ///< rows on their way to it
    std::vector<Index> order;     ///< rows of the factor
    std::vector<Index> position;  ///< in `order`; -1
  };
  /// The solve under way, scaled.
  struct Problem {
    Vector b, lo, hi, x, w;
    Vector shift;  ///< b less epsilon times the centre of the proximal point method
    double tolerance = 0.0;
  };
  /// Changes of x and w per move of a row that is driven, and those of the free rows alone.
  struct Direction {
    Vector x, w, free;
  };

  void scale(const SymmetricRows& a);
  void find_sequence();
  int sweeps() const;
  void sweep(int sweeps);
  void guess_places();
  bool run_pivots(LcpResult& result);
  double residual();
  // pivots.cpp
  bool block_pivots(LcpResult& result);
  bool single_pivots(LcpResult& result);
  bool settle_free(LcpResult& result);
  void find_direction(Eigen::Index row, double sign);
  double way_to_event(Eigen::Index i) const;
  bool drive(Eigen::Index row, std::int64_t most, LcpResult& result);
  void solve_free();
  void update_factor(LcpResult& result);
  void append_rows(const std::vector<Index>& rows, LcpResult& result);
  void free_row(Eigen::Index row, LcpResult& result);
  void hold_row(Eigen::Index row, Place place, LcpResult& result);
  bool is_wrong(Eigen::Index row) const;
  void refresh();
  void multiply(const Vector& v, Vector& y) const;
  double row_product(Eigen::Index row, const Vector& v) const;
  bool out_of_time(LcpResult& result) const;

  LcpSettings settings_;
  Eigen::Index n_ = 0;
  SymmetricRows a_;  ///< scaled
  Vector scale_;     ///< A_ii^(-1/2), 0 where A_ii = 0
  std::vector<Place> place_;
  std::vector<Index> sequence_;  ///< of rows that come to the factor together: little fill
  FreeRows free_;
  bool warm_ = false;  ///< place_ is of a solve before
  Problem now_;
  Direction move_;
};

}  // namespace catena
