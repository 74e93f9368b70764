// The contacts that tests of known motions run, from the environment: rigid ones, or those that
// cases have by default.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace catena::test {

/// CATENA_TEST_STIFFNESS is "auto": what is known of rigid bodies is asked of contacts that give.
inline bool contacts_give() {
  const char* stiffness = std::getenv("CATENA_TEST_STIFFNESS");
  if (stiffness == nullptr) return false;
  if (std::string(stiffness) == "auto") return true;
  throw std::runtime_error(std::string("CATENA_TEST_STIFFNESS is ") + stiffness + ", not auto");
}

/// Sigma over the mean mobility a = trace(G M^-1 G^T)/3 of a contact by `auto`; 0 if rigid contacts
/// are tested.
inline double softness() { return contacts_give() ? 1.0 / 300.0 : 0.0; }

/// What a contact point with that mean mobility (1/kg) gives by under a force, m: eps f with
/// eps = a h^2/300; 0 if rigid contacts are tested.
inline double give_of(double mean_mobility, double force, double h) {
  return softness() * mean_mobility * h * h * force;
}

/// " auto" if contacts that give are tested, for figures that tests print.
inline const char* contacts_label() { return contacts_give() ? " auto" : ""; }

}  // namespace catena::test
