// The function whose zero is the law of every block, and its derivatives.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "catena/constraints/contact_cone.hpp"
#include "catena/math/disc_cone.hpp"
#include "solvers/newton/newton_system.hpp"

namespace catena {

/// F(lambda, w) = 0 exactly where lambda and w obey their blocks' law. With D the rows' scales and
/// x = lambda - D^-1 w (lambda_n counted from -c where a contact coheres), in rows times D^(1/2),
/// so that |F|^2 is an energy, J:
///
///   bilateral              F = D^-1 w
///   unilateral, boxed      F = lambda - clamp(x)
///   contact, coulomb       F_n = lambda_n - max(0, x_n), and for every disc of friction
///                          F_t = lambda_t - P(x_t) on the disc of radius mu max(0, x_n)
///   contact, ccp           F = lambda - P_K(x) in the metric D
///   contact, frictionless  F = (lambda_n - max(0, x_n), lambda_t)
///
/// For coulomb that is Alart and Curnier's function. Blocks that nothing moves keep impulse 0.
class LawFunction {
 public:
  /// Local. Throws Error(bad_input) for law box; both must outlive it.
  explicit LawFunction(const ConstraintProblem& problem);

  /// D, per row, > 0: N_ii, its mean over the rows of a disc of friction (times the square of the
  /// row's axis); kg^-1 or (kg m^2)^-1.
  std::span<const double> scales() const { return scale_; }
  /// Local. F (n_rows); returns |F|^2 of this rank, J.
  double evaluate(std::span<const double> lambda, std::span<const double> w,
                  std::span<double> f) const;
  /// Local. The same with A = dF/dlambda and B = dF/dw at x (an element of the generalised
  /// Jacobian).
  double differentiate(std::span<const double> lambda, std::span<const double> w,
                       std::span<double> f, BlockMatrices& a, BlockMatrices& b) const;
  /// Local. s of law coulomb: mu |w_t|, summed over a contact's discs, in its normal row; 0 in all
  /// others.
  void shift(std::span<const double> w, std::span<double> s) const;
  /// Local. In place: rows cut to their bounds, friction to its discs at the normal impulse.
  void make_admissible(std::span<double> lambda) const;

 private:
  /// A contact's disc of friction: its rows among the block's.
  struct Disc {
    int first = 0, rows = 0;
    double bound = 0.0;
    std::size_t kind = 0;
  };
  struct Block {
    BlockView view;
    bool moves = true;
    int n_discs = 0;
    std::array<Disc, 3> disc;
    std::array<double, 6> axis;  ///< ContactCone's, of the block's own rows
  };
  /// One block: pointers to its own numbers; a and b null: not wanted.
  struct Place {
    const double* lambda;
    const double* w;
    double* f;
    double* a;
    double* b;
  };
  /// A contact with all kinds of discs, its rows times their axes.
  struct Full {
    Vec6 x = Vec6::Zero();
    DiscCone cone;
    std::array<double, 4> weights{};
  };

  void add_contact(Block& block, Index k, std::span<const double> diagonal);
  double walk(std::span<const double> lambda, std::span<const double> w, std::span<double> f,
              BlockMatrices* a, BlockMatrices* b) const;
  void rows(const Block& block, const Place& at) const;
  void coulomb(const Block& block, const Place& at) const;
  void convex(const Block& block, const Place& at) const;
  Full in_full(const Block& block, const Place& at) const;
  void differentiate_convex(const Block& block, const Full& full, double z_n,
                            const Place& at) const;
  void admissible_contact(const Block& block, double* lambda) const;

  const ConstraintProblem& problem_;
  std::vector<Block> blocks_;
  std::vector<double> scale_, lower_, upper_;
};

}  // namespace catena
