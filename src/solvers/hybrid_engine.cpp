#include <array>
#include <vector>

#include "shared_bodies.hpp"
#include "sweep_engine.hpp"

namespace catena {
namespace {

class HybridEngine final : public SweepEngine {
 public:
  HybridEngine(const ConstraintProblem& problem, DelassusOperator& op, const PackRules& rules,
               std::span<const double> impulses)
      : problem_(problem),
        map_(map_subdomains(problem)),
        shared_(problem, map_, touched_by(problem, map_)) {
    for (const std::vector<Index>& blocks : map_.blocks)
      subdomains_.emplace_back(problem, blocks, shared_.multiplicity(), rules, impulses);
    // V of the guess as it was made admissible
    std::vector<double> guess(static_cast<std::size_t>(problem.n_rows()), 0.0);
    store_impulses(guess);
    std::vector<double> velocities(static_cast<std::size_t>(problem.bodies.n_dofs()));
    if (rules.formulation == Formulation::acceleration)
      op.velocity_changes(guess, velocities);
    else
      op.velocities(guess, velocities);
    for (Subdomain& subdomain : subdomains_) subdomain.load_velocities(problem, velocities);
    shared_.start(problem, velocities);
  }

  double sweep(bool forward) override {
    // Backward, the interior's halves change places too: without shared bodies the sweep
    // is then exactly the forward one's reverse.
    const std::array<SweepPart, 2> interior =
        forward ? std::array{SweepPart::first_interior, SweepPart::second_interior}
                : std::array{SweepPart::second_interior, SweepPart::first_interior};
    double residual = sweep_part(SweepPart::boundary, forward);
    shared_.post_changes(subdomains_);
    residual += sweep_part(interior[0], forward);
    shared_.add_changes(subdomains_);
    residual += sweep_part(interior[1], forward);
    shared_.finish(subdomains_);
    return residual;
  }

  void store_impulses(std::span<double> impulses) const override {
    for (const Subdomain& subdomain : subdomains_) subdomain.store_impulses(problem_, impulses);
  }

 private:
  static std::vector<std::vector<Index>> touched_by(const ConstraintProblem& problem,
                                                    const SubdomainMap& map) {
    std::vector<std::vector<Index>> touched;
    for (const std::vector<Index>& blocks : map.blocks)
      touched.push_back(touched_bodies(problem, blocks));
    return touched;
  }

  double sweep_part(SweepPart part, bool forward) {
    double residual = 0.0;
    for (Subdomain& subdomain : subdomains_) residual += subdomain.sweep(part, forward);
    return residual;
  }

  const ConstraintProblem& problem_;
  SubdomainMap map_;
  SharedBodies shared_;
  std::vector<Subdomain> subdomains_;
};

}  // namespace

std::unique_ptr<SweepEngine> make_hybrid_engine(const ConstraintProblem& problem,
                                                DelassusOperator& op, const PackRules& rules,
                                                std::span<const double> impulses) {
  return std::make_unique<HybridEngine>(problem, op, rules, impulses);
}

}  // namespace catena
