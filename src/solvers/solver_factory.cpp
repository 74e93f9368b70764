#include "catena/solvers/solver_factory.hpp"

#include "catena/base/error.hpp"
#include "catena/solvers/automatic.hpp"

namespace catena {

void describe(SettingsVisitor& visit, SolverSettings& s) {
  describe(visit, s.stop);
  describe(visit, s.gauss_seidel);
  describe(visit, s.petsc);
  visit.section("jacobi", {.help = "of method jacobi"}, [&] { describe(visit, s.jacobi); });
  visit.section("apgd", {.help = "of method apgd"}, [&] { describe(visit, s.apgd); });
  visit.section("interior_point", {.help = "of method interior_point"},
                [&] { describe(visit, s.interior_point); });
  visit.section("dantzig", {.help = "of method dantzig"}, [&] { describe(visit, s.dantzig); });
}

StopRule SolverSettings::stop_rule() const {
  StopRule rule = stop;
  if (rule.max_iterations == kUsualIterations)
    rule.max_iterations = method == SolverMethod::automatic ? kUsualAutomatic : kUsualSweeps;
  return rule;
}

std::unique_ptr<Solver> make_solver(const SolverSettings& s) {
  switch (s.method) {
    case SolverMethod::gauss_seidel:
      return make_gauss_seidel(s.stop_rule(), s.joints, s.gauss_seidel);
    case SolverMethod::jacobi:
      return make_jacobi(s.stop_rule(), s.joints, s.jacobi);
    case SolverMethod::apgd:
      return make_apgd(s.stop_rule(), s.joints, s.apgd);
    case SolverMethod::interior_point:
      return make_interior_point(s.stop_rule(), s.interior_point);
    case SolverMethod::dantzig:
      return make_dantzig(s.stop_rule(), s.dantzig);
    case SolverMethod::automatic:
      return make_automatic(s);
  }
  CATENA_CHECK(false, "a method of the table");
  return nullptr;
}

}  // namespace catena
