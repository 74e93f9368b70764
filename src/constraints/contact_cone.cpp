#include "catena/constraints/contact_cone.hpp"

#include <algorithm>
#include <string>

#include "catena/base/error.hpp"

namespace catena {

DiscCone friction_coefficients(const BlockView& contact) {
  return {{contact.friction, std::max(contact.rolling, 0.0), std::max(contact.spinning, 0.0)}};
}

ContactCone contact_cone(ContactLaw law, const BlockView& contact) {
  ContactCone cone{standard_row_slots(contact), {}};
  cone.cohesion = contact.cohesion;
  if (!law_form(law).frictionless) cone.discs = friction_coefficients(contact);
  return cone;
}

ContactCone contact_cone(const ConstraintProblem& problem, Index block) {
  ContactCone cone = contact_cone(problem.law, block_view(problem, block));
  if (problem.friction_law != nullptr && law_form(problem.law).is_cone())
    problem.friction_law->change(problem, block, cone);
  return cone;
}

void require_kernels(const ConstraintProblem& problem, const char* who) {
  if (has_kernels(problem)) return;
  throw Error(std::string(who) + " knows the laws coulomb, ccp, box and frictionless only",
              "contact.law", "use gauss_seidel, jacobi, apgd or interior_point on bodies");
}

}  // namespace catena
