// The published problems in tests/data/fclib.
#pragma once

#include <string>

#include "catena/io/fclib.hpp"

namespace catena::test {

/// Collective on `comm`. tests/data/fclib/<name> under a law.
inline ConstraintProblem fclib_problem(const std::string& name,
                                       ContactLaw law = ContactLaw::coulomb,
                                       const Communicator& comm = Communicator::self()) {
  FclibInfo info;
  ConstraintProblem problem = read_fclib(comm, CATENA_TEST_DATA "/fclib/" + name, info);
  problem.law = law;
  return problem;
}

}  // namespace catena::test
