#include "catena/solvers/solver_factory.hpp"

#include "catena/base/error.hpp"
#include "catena/solvers/automatic.hpp"

namespace catena {

void describe(SettingsVisitor& visit, MethodSettings& s) {
  describe(visit, s.gauss_seidel);
  describe(visit, s.petsc);
  visit.section("jacobi", {.help = "of method jacobi"}, [&] { describe(visit, s.jacobi); });
  visit.section("apgd", {.help = "of method apgd"}, [&] { describe(visit, s.apgd); });
  visit.section("interior_point", {.help = "of method interior_point"},
                [&] { describe(visit, s.interior_point); });
  visit.section("dantzig", {.help = "of method dantzig"}, [&] { describe(visit, s.dantzig); });
}

std::unique_ptr<Solver> make_solver(const MethodSettings& settings) {
  // one stop rule and one way to solve joints, whatever the method
  MethodSettings s = settings;
  if (s.stop().max_iterations == kUsualIterations)
    s.stop().max_iterations = s.method == SolverMethod::automatic ? kUsualAutomatic : kUsualSweeps;
  s.jacobi.stop = s.apgd.stop = s.interior_point.stop = s.dantzig.stop = s.stop();
  s.jacobi.joints = s.apgd.joints = s.gauss_seidel.joints;
  switch (s.method) {
    case SolverMethod::gauss_seidel:
      return make_gauss_seidel(s.gauss_seidel);
    case SolverMethod::jacobi:
      return make_jacobi(s.jacobi);
    case SolverMethod::apgd:
      return make_apgd(s.apgd);
    case SolverMethod::interior_point:
      return make_interior_point(s.interior_point);
    case SolverMethod::dantzig:
      return make_dantzig(s.dantzig);
    case SolverMethod::automatic:
      return make_automatic(s);
  }
  CATENA_CHECK(false, "a method of the table");
  return nullptr;
}

}  // namespace catena
