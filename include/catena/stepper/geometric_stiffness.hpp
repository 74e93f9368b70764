// What tension in joints asks of a time step.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/math/sum.hpp"
#include "catena/search/contact_search.hpp"

namespace catena {

struct EightBodies;

/// A joint's force f at arm r turns a body with stiffness K = (f . r) 1 - sym(r f^T). The step
/// takes forces at its start, so that it is stable up to h^2 K = 4 I only, which long or heavily
/// loaded chains exceed at usual steps. Where h^2 K exceeds kFollowed I, along the axes where it
/// does, the step's inertia is raised,
///
///   I^ = I + kRaise (h^2 K - kFollowed I)+,   (I^)(omega - omega_0) = h tau + G^T lambda,
///
/// which keeps h^2 K < 4 I^ and neither damps nor drives the motion (linearly implicit leapfrog,
/// Zhang and Skeel 1997; the geometric stiffness of joints as in Andrews, Teichmann and Koevecses
/// 2017). The tension is that of the last step. Angular momentum of bodies with raised inertia is
/// not exact then (docs/theory.md, "Tension").
class GeometricStiffness {
 public:
  /// Collective. Raises the inverse inertia and the free velocity of the problem's bodies.
  /// `impulses`: first guess of all rows, the last step's for bilateral blocks; `local` has V0.
  void apply(const LocalBodies& local, double h, std::span<const double> impulses,
             ConstraintProblem& problem);
  /// No body is raised.
  void clear();
  /// Local. Takes off the energy that raised inertia has taken from owned bodies by the step to
  /// `twists`, J; returns it, too.
  double subtract_work(const LocalBodies& local, std::span<const double> twists, Sum& work) const;
  /// Owned bodies with raised inertia, and the largest h^2 K over I among all, this rank's.
  std::int64_t raised() const { return std::ssize(added_); }
  double largest() const { return largest_; }

 private:
  void add_stiffness(const ConstraintProblem& problem, std::span<const double> impulses);
  void share(const ConstraintProblem& problem, std::span<const double> impulses);
  static void add_in_order(const ConstraintProblem& problem, std::span<const double> impulses,
                           std::span<double> lines);

  /// An owned body with raised inertia.
  struct Raised {
    Index body;
    std::array<double, 6> inertia;  ///< I^ - I: xx, xy, xz, yy, yz, zz
  };
  void raise(std::span<const Index> members, EightBodies& group, ProblemBodies& bodies);
  static double work(const Raised& raised, const LocalBodies& local,
                     std::span<const double> twists);

  std::vector<double> stiffness_;  ///< h K per local body, N m s: xx, yy, zz, xy, xz, yz
  std::vector<Raised> added_;
  double largest_ = 0.0;
};

}  // namespace catena
