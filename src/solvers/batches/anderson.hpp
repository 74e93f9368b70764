// Anderson's acceleration of sweeps.
#pragma once

#include <span>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/math/types.hpp"

namespace catena {

/// Weighted products of f, what a sweep changes, and of df, how that differs from what the sweep
/// before changed.
struct MixProducts {
  double ff = 0.0, fd = 0.0, dd = 0.0;
};

/// Anderson's acceleration of depth one of the fixed-point iteration y -> g(y) (D. G. Anderson,
/// Iterative procedures for nonlinear integral equations, 1965; H. F. Walker, P. Ni, Anderson
/// acceleration for fixed-point iterations, 2011): with f = g(y) - y, the next y is
///
///   g_k - gamma (g_k - g_(k-1)),   gamma = argmin |f_k - gamma (f_k - f_(k-1))|
///
/// in the norm of the compliances, in which the iteration of a contact problem contracts (batches
/// take the normal row's for all three). Impulses and velocities are mixed by the same factor, and
/// velocities are affine in impulses, so that they keep belonging together. Where |f| grows, g is
/// taken as it is. Who sweeps mixes as it goes: this class only finds gamma.
class Anderson {
 public:
  /// `exact`: sums do not depend on how pieces are dealt to ranks.
  Anderson(const Communicator& comm, bool exact) : comm_(comm), exact_(exact) {}

  /// The coefficient of the next sweep.
  double gamma() const { return gamma_; }
  /// |f|^2 of the last sweep over all ranks.
  double change() const { return last_; }
  /// Collective. Takes the products of the sweep's pieces, in an order of their own each.
  void note(std::span<const MixProducts> pieces);

 private:
  /// The first kMixed of kCycle sweeps are mixed, the later ones plain: mixes may circle.
  static constexpr int kCycle = 500, kMixed = 400;
  /// Part of the minimising gamma that is taken, since a whole step goes too far where contacts
  /// change between holding and sliding. Sweeps with 1, 0.8 and 0.6 of it: stacks of 5 to 11 cubes
  /// (tests' box_stack, to 1e-6) 263, 244, 210; 8,000 settling spheres (docs/choosing-step.md) 80,
  /// 84, 83.
  static constexpr double kShare = 0.8;

  Communicator comm_;
  bool exact_;
  int sweeps_ = 0;
  double gamma_ = 0.0;
  double last_ = kInfinity;  ///< |f|^2 of the last sweep
};

/// Numbers that belong to an iterate and lie outside of batches: `items` groups of `width` numbers,
/// each `stride` after the last one.
class MixedNumbers {
 public:
  /// Of none yet: start() comes first.
  MixedNumbers() = default;
  /// `weight`: of the numbers in the norm, one each, where width is stride; empty: they take no
  /// part in it. Both must outlive it.
  MixedNumbers(double* first, std::size_t items, std::size_t stride, std::size_t width,
               std::span<const double> weight = {});
  /// Goes over to others; its memory stays.
  void start(double* first, std::size_t items, std::size_t stride, std::size_t width,
             std::span<const double> weight = {});
  /// Gives the memory of large lists back; start() comes next.
  void rest();

  /// Before a sweep: the numbers become the mix.
  void mix(double gamma);
  /// After it.
  MixProducts products();

 private:
  double* first_ = nullptr;
  std::size_t items_ = 0, stride_ = 0, width_ = 0;
  std::span<const double> weight_;
  std::vector<double> before_;          ///< g of the sweep before
  std::vector<double> start_, change_;  ///< y and f of the last sweep, of weighted numbers
};

}  // namespace catena
