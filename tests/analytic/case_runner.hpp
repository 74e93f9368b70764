// Runs a case given as YAML text, step by step, by the solver under test.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "support/case_text.hpp"

namespace catena::test {

/// `yaml` with the solver under test (support/method_under_test.hpp) in its section `solver`.
std::string with_method(const std::string& yaml);

/// A simulation of `yaml` (without the line `catena: 1` and `name`) on one rank, by the solver
/// under test.
std::unique_ptr<Simulation> simulate(const std::string& yaml);

/// Places of the owned bodies by id.
std::map<GlobalId, Vec3> places(const Simulation& sim);

/// How far a body is at the most from its place in `start`, m.
double largest_move(const Simulation& sim, const std::map<GlobalId, Vec3>& start);

/// Steps until t (rounded to whole steps).
void run_until(Simulation& sim, double t);

/// Sum of the contact impulses on body `id` divided by the step, N.
Vec3 contact_force_on(const Simulation& sim, GlobalId id);

}  // namespace catena::test
