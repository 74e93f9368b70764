// A rigid body in natural coordinates ([MV]; docs/theory.md, "Natural coordinates").
#pragma once

#include <array>

#include "catena/model/model.hpp"

namespace catena {

/// Centre of mass r and principal axis vectors a_1, a_2, a_3 (columns), world frame; also their
/// rates, and what works on them (momenta, forces).
struct NaturalCoordinates {
  Vec3 r = Vec3::Zero();
  Mat3 a = Mat3::Zero();
};

/// M = diag(m, J_1, J_2, J_3) x 1 of a body, J_i = (I_j + I_k - I_i)/2. An axis with J_i = 0 is no
/// coordinate: a lamina has two, a rod one, a point none. A lamina's third axis is the cross
/// product of the others, wherever it is needed.
struct NaturalMass {
  double mass = 0.0;          ///< kg
  Vec3 j = Vec3::Zero();      ///< kg m^2; exactly 0 for axes that are no coordinates
  int axes = 3;               ///< that are coordinates
  std::array<int, 3> axis{};  ///< which; the lamina's third is the one left out
};

/// Throws Error(bad_input) without place where some J_i < 0: no body has such moments.
NaturalMass natural_mass(double mass, const Vec3& inertia);

/// Whether a rod or a point has the vector `x` on its axes, to nine digits and `off` besides:
/// nothing of it along axes that are no coordinates. Others have all vectors.
bool has_vector(const NaturalMass& mass, const Vec3& x, double off);
/// Whether it has the place `x`, m from the centre of mass at `r`: arms are differences of places.
bool has_place(const NaturalMass& mass, const Vec3& x, const Vec3& r);

/// Fills in the lamina's third axis, or its rate, from the two others.
void complete_axes(const NaturalMass& mass, NaturalCoordinates& s);
void complete_rates(const NaturalMass& mass, const NaturalCoordinates& s, NaturalCoordinates& ds);
/// Takes what works on a lamina's third axis to the two others, transpose of complete_rates, and
/// its rate: `f` and `df` on return have nothing there.
void fold_axes(const NaturalMass& mass, const NaturalCoordinates& s, const NaturalCoordinates& ds,
               Mat3& f, Mat3& df);

/// Inverse of sum J_i (|a_i|^2 1 - a_i a_i^T), the inertia in the world frame; of a rod across its
/// axis, of a point zero.
Mat3 inverse_inertia(const NaturalMass& mass, const Mat3& a);

/// Angular momentum sum a_i x p_i about the centre of mass.
Vec3 spin_of(const NaturalMass& mass, const Mat3& a, const Mat3& p);

/// Adds to the forces on the axes those of a couple: F_i = couple x a_i / 2 (a rod: couple x a).
void add_couple(const NaturalMass& mass, const Mat3& a, const Vec3& couple, Mat3& force);

/// The internal constraints f_ij = a_i . a_j - delta_ij (halved for i = j) of the axes that are
/// coordinates: 6, of a lamina 3, of a rod 1. Eliminated body by body: with R = df/ds,
///
///   R s' = -alpha f,   M s' + R^T mu + ... = p*.
class InternalConstraints {
 public:
  /// Rows at the axes `a`.
  InternalConstraints(const NaturalMass& mass, const Mat3& a);
  /// Least rates in the metric of M with R a' = -alpha f.
  Mat3 correction(double alpha) const;
  /// mu' R of the multipliers that leave R M^-1 (p - R^T mu) = -alpha f: the force R'^T mu on the
  /// axes; `p` is p* less what joints take, `da` the axes' rates.
  Mat3 force(double alpha, const Mat3& p, const Mat3& da) const;

 private:
  static constexpr int kMaxRows = 6;
  using Rows = std::array<double, kMaxRows>;
  /// x = (R M^-1 R^T)^-1 b.
  Rows solve(const Rows& b) const;
  /// R x of a vector on the axes.
  Rows product(const Mat3& x) const;
  /// R^T mu with `a` in place of the axes.
  Mat3 transposed(const Rows& mu, const Mat3& a) const;

  const NaturalMass& mass_;
  Mat3 a_;
  Rows f_{};
  /// Lower factor of R M^-1 R^T, row by row without what is above, diagonal inverted.
  std::array<double, kMaxRows*(kMaxRows + 1) / 2> factor_{};
};

/// Axes of an orientation; those of a rod or a point that are no coordinates are zero.
Mat3 axes_of(const NaturalMass& mass, const Quat& q);
/// Orientation whose axes are nearest to `a`: of a rod, `before` turned the shortest way.
Quat orientation_of(const NaturalMass& mass, const Mat3& a, const Quat& before);

}  // namespace catena
