// The solutions of a patch as its friction grows.
#pragma once

#include <Eigen/LU>
#include <vector>

#include "solvers/patches/contact_patch.hpp"

namespace catena {

/// Follows the solutions (y, s) of a patch whose coefficients of friction are multiplied by s, from
/// a part s of them, where sweeps settle, to s = 1. They make one path on which s may fall for a
/// while: piece by piece (ContactPiece) it is smooth, along a tangent t with (dF/dy, dF/ds) t = 0,
/// and at a piece's boundary it goes on in the next one's, in the direction in which
/// det(dF/dy, dF/ds; t) keeps its sign (B. C. Eaves, H. Scarf, The solution of systems of piecewise
/// linear equations, 1976). At s = 0 the patch is a convex problem with one solution and impulses
/// are bounded where contacts give: a path that begins there ends at s = 1, unless it meets
/// boundaries of two contacts at once.
class FrictionPath {
 public:
  explicit FrictionPath(const ContactPatch& patch);

  /// Local. `y`: the guess, then the solution for s = 1; false where none was found.
  bool follow(Eigen::VectorXd& y);
  /// Work so far in factors of a matrix of the patch's rows.
  double factors() const { return factors_; }

 private:
  /// Where a contact changes its piece: it opens or closes, or it begins to slip or to stick.
  struct Boundary {
    Eigen::Index contact = -1;
    bool opening = false;
    bool operator==(const Boundary&) const = default;
  };
  /// How far the path is followed next, and what is met there.
  struct Step {
    enum class End { all_friction, boundary, nothing };
    double length = 0.0;
    End end = End::nothing;
    Boundary at;
  };

  bool start(double part, const Eigen::VectorXd& guess);
  bool settle(double part, Eigen::VectorXd& y);
  bool walk();
  bool turn_along();
  Step next_step() const;
  void shorten_for_slip(const Eigen::VectorXd& dx, Step& step) const;
  bool advance(Step step);
  bool correct(const Step& step, Eigen::VectorXd& u) const;
  bool keeps_to_pieces(const Step& step, const Eigen::VectorXd& u) const;
  void cross(const Boundary& boundary);
  Eigen::VectorXd law_at(const Eigen::VectorXd& u, Eigen::MatrixXd* jacobian) const;
  double miss(const Step& step, const Eigen::VectorXd& u, double& slope) const;
  std::vector<Boundary> boundaries() const;
  Eigen::VectorXd x_at(const Eigen::VectorXd& u) const;
  double distance(const Boundary& boundary, const Eigen::VectorXd& u,
                  const Eigen::VectorXd& x) const;
  Vec3 by_x(const Boundary& boundary, const Eigen::VectorXd& x, double part) const;
  double by_part(const Boundary& boundary, const Eigen::VectorXd& x) const;

  const ContactPatch& patch_;
  Eigen::Index rows_;
  double size_;  ///< of |r|: what is round-off is measured by it
  std::vector<ContactPiece> pieces_;
  Eigen::VectorXd u_;        ///< (y, s)
  Eigen::VectorXd tangent_;  ///< of the last step
  /// Of dF with the tangent before as last row.
  Eigen::PartialPivLU<Eigen::MatrixXd> factor_;
  double orientation_ = 0.0;  ///< sign of the determinant; 0 before the first step
  Boundary crossed_;          ///< by the last step; contact -1: none
  double factors_ = 0.0;
};

}  // namespace catena
