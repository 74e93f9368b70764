// Many subdomains: the hybrid of Gauss-Seidel inside and block-Jacobi between them, which
// diverges where shared bodies are not split, moves a pile as one subdomain does.
#include <gtest/gtest.h>

#include "regression/scenes.hpp"

namespace catena {
namespace {

/// 64 subdomains on one or two ranks, else one per rank.
int number_of_subdomains(const Communicator& comm) { return comm.size() <= 2 ? 64 : comm.size(); }

std::string case_of(const std::string& law, int subdomains, int sweeps) {
  return "materials: {m: {density: 1000, friction: 0.5}}\ncontact: {law: " + law + "}\n" +
         test::pressed_spheres("[6, 6, 6]") +
         "time: {step: 2 ms, end: 1}\n"
         "solver: {relative_tolerance: 0, absolute_tolerance: 0, max_iterations: " +
         std::to_string(sweeps) + "}\nparallel: {subdomains: " + std::to_string(subdomains) + "}\n";
}

/// Kinetic energy after 20 steps of one subdomain, found by rank 0 alone, on every rank.
double kinetic_of_one(const Communicator& comm, const std::string& law) {
  double kinetic = 0.0;
  if (comm.rank() == 0) {
    const auto sim = test::simulate(Communicator::self(), case_of(law, 1, 50));
    for (int i = 0; i < 20; ++i) kinetic = sim->step().kinetic;
  }
  return comm.sum(kinetic);
}

TEST(Subdomains, OfManyMoveACollapsingPileAsOneDoes) {
  const Communicator comm = Communicator::world();
  for (const std::string law : {"coulomb", "ccp"}) {
    const double expected = kinetic_of_one(comm, law);
    const auto sim = test::simulate(comm, case_of(law, number_of_subdomains(comm), 50));

    double largest_ratio = 0.0;
    for (int i = 0; i < 20; ++i) {
      const SolveReport& solve = sim->step().solve;
      largest_ratio =
          std::max(largest_ratio, solve.errors.energy / solve.history.front().errors.energy);
    }
    const StepReport& last = sim->stepper().report();
    if (comm.rank() == 0) {
      std::printf(
          "%s: %lld contacts, error over that of the first guess at most %.3g, kinetic "
          "energy %.4g J, of one subdomain %.4g J\n",
          law.c_str(), static_cast<long long>(last.contacts), largest_ratio, last.kinetic,
          expected);
    }
    EXPECT_GT(last.contacts, 900) << law;
    // 50 sweeps leave errors of 1e-3 J a step here, which the pile remembers: that it is the same
    // step is seen where it is solved, below
    EXPECT_LT(largest_ratio, 0.25) << law;
    EXPECT_NEAR(last.kinetic / expected, 1.0, 0.15) << law;
  }
}

TEST(Subdomains, OfManyConvergeToTheVelocitiesOfOne) {
  // a few spheres to each of 64; without friction, which takes too many sweeps to settle
  test::expect_same_velocities(
      test::solved_spheres("ccp", 0.0, "[6, 4, 4]"), 500,
      {"parallel.subdomains=" + std::to_string(number_of_subdomains(Communicator::world()))});
}

TEST(Subdomains, ErrorFallsWithMoreSweeps) {
  const Communicator comm = Communicator::world();
  double previous = std::numeric_limits<double>::infinity();
  for (const int sweeps : {10, 30, 100, 300}) {
    const auto sim = test::simulate(comm, case_of("coulomb", number_of_subdomains(comm), sweeps));
    const Errors& e = sim->step().solve.errors;
    if (comm.rank() == 0) {
      std::printf("%d sweeps: energy %.3g J, natural map rms %.3g m/s\n", sweeps, e.energy,
                  e.natural_map_rms);
    }
    EXPECT_LT(e.energy, 0.5 * previous) << sweeps;
    previous = e.energy;
  }
}

}  // namespace
}  // namespace catena
