// Contacts of scenes that give as those of cases do.
#pragma once

#include <array>

#include "catena/constraints/block_diagonal.hpp"
#include "support/scene.hpp"

namespace catena::test {

/// Compliances of all rigid contacts as contact.stiffness: auto makes them, with the default
/// stiffness_ratio.
inline void let_contacts_give(Scene& scene) {
  constexpr double kStiffnessRatio = 300.0;
  const ConstraintProblem problem = whole(scene);
  for (std::size_t k = 0; k < scene.contacts.size(); ++k) {
    const std::array<double, 2> mobility = contact_mobility(problem.bodies, problem.contacts[k]);
    RigidContact& c = scene.contacts[k];
    c.compliance = mean_mobility(mobility) / kStiffnessRatio;
    c.tangent_compliance = c.compliance * mobility[1] / mobility[0];
  }
}

}  // namespace catena::test
