// How compliant a contact is, and how it is damped: Sigma and b of its rows.
#pragma once

#include <algorithm>

#include "catena/constraints/contact_rows.hpp"
#include "catena/model/model.hpp"

namespace catena {

/// Damping ratio zeta of a linear spring without tension whose rebound is `restitution` (from 0.01
/// on; less counts as that): c = 2 zeta sqrt(k m). T. Schwager, T. Poeschel, Coefficient of
/// restitution and linear-dashpot model revisited, 2007.
double linear_damping_ratio(double restitution);

/// The same of Hertz's contact with c = 2 zeta sqrt(m dF/d(overlap)).
double hertz_damping_ratio(double restitution);

/// One contact point as its stiffness sees it.
struct ContactState {
  double gap = 0.0;            ///< Phi, m, without the overlap that a scene started with
  double normal_speed = 0.0;   ///< u_0, the normal row of G V0, m/s
  double mobility = 0.0;       ///< (G M^-1 G^T)_nn, 1/kg
  double mean_mobility = 0.0;  ///< a third of the trace of G M^-1 G^T, 1/kg
  double radius = kInfinity;   ///< R* of Hertz's law, m
  double size = kInfinity;     ///< the smaller radius, of which overlaps are shares, m
  Index points = 1;            ///< of the pair's manifold, which share its stiffness
  bool pressed = false;        ///< it bore an impulse in the last step
  bool cohesive = false;       ///< it may pull
};

/// Rows of a compliant contact, h the step:
///
///   w = u + Sigma lambda + b,   Sigma = eps beta/h^2,   beta = 1/theta = 4 Upsilon (spook)
///
/// beta is the share of an overlap, or of a stretch xi, that a step undoes; tangents have
/// b = beta xi/h, and xi <- xi + h (u - w) = (1 - beta) xi - h Sigma lambda after the solve. A
/// contact that may pull is the same spring in the gap: at rest Phi = -eps lambda/h in both signs.
struct ContactRowsGiven {
  double normal = 0.0, tangent = 0.0;              ///< eps, m/N
  double normal_share = 1.0, tangent_share = 1.0;  ///< beta
  double bias = 0.0;                               ///< b of the normal row, m/s
  /// Overlap at which eps is the secant of a law with f ~ overlap^(3/2), m; 0: of a linear one.
  double secant_overlap = 0.0;
  double linear_overlap = 0.0;  ///< below this one that law is linear, m; 0: Hertz's own
  bool resolved = false;        ///< the step resolves the contact's own oscillation
  bool impact = false;          ///< a rigid row for this step, by Newton's law: Sigma = 0
};

/// The law of docs/theory.md, "Compliant contacts".
class ContactStiffness {
 public:
  /// `step`: h, s.
  ContactStiffness(StepperKind kind, double step, const ContactParameters& parameters);

  bool rigid() const { return parameters_.stiffness == Stiffness::rigid; }
  /// For all but rigid ones. `own_step`: the step for which Stiffness::automatic makes eps, s: h
  /// itself but for a while after h has changed.
  ContactRowsGiven rows(const ContactState& contact, const PairMaterial& pair,
                        double own_step) const;
  /// Sigma = eps beta/h^2, 1/kg.
  double sigma(double compliance, double share) const {
    return compliance * share / (step_ * step_);
  }
  /// eps of that, m/N.
  double compliance(double sigma, double share) const { return sigma * step_ * step_ / share; }
  /// Elastic energy of an overlap (<= 0: a gap), J.
  static double energy(const ContactRowsGiven& rows, double overlap);

 private:
  double share(double damping_time) const;
  double tangent_share(double damping_time) const {
    return share(std::max(kLeastTangentTime * step_, damping_time));
  }
  void set_damping(const ContactState& contact, const PairMaterial& pair,
                   ContactRowsGiven& rows) const;
  void set_bias(const ContactState& contact, const PairMaterial& pair,
                ContactRowsGiven& rows) const;

  double excess_of(double restitution) const;

  /// Damping time of tangents, in steps: T + E never rises from theta = 1/2 on.
  static constexpr double kLeastTangentTime = 0.25;

  /// Of the restitution asked for last: materials are few, and the power in it costs as much as
  /// all else of a contact's law.
  struct Excess {
    double restitution = -1.0, value = 0.0;
  };

  StepperKind kind_;
  double step_;
  ContactParameters parameters_;
  double common_damping_time_;                  ///< of all contacts, s; NaN: each has its own
  double common_share_, common_tangent_share_;  ///< of that
  mutable Excess excess_;
};

}  // namespace catena
