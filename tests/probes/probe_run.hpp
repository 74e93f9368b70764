// A case stepped with its probes.
#pragma once

#include <string>

#include "support/case_text.hpp"

namespace catena::test {

inline constexpr const char* kAccurate =
    "solver: {max_iterations: 2000, relative_tolerance: 1e-14, absolute_tolerance: 1e-20}\n";

/// A simulation on all ranks, and its probes' values.
class ProbeRun {
 public:
  explicit ProbeRun(const std::string& yaml, const std::vector<std::string>& set = {})
      : sim_(simulate(Communicator::world(), yaml, set)) {}

  Simulation& sim() { return *sim_; }
  void steps(int n) {
    for (int i = 0; i < n; ++i) sim_->step();
  }
  double operator()(const std::string& path) const {
    return ProbeSet::value(sim_->probes().find(path, "test"), sim_->state());
  }
  Vec3 vector(const std::string& path, const std::string& kept = "") const {
    return {(*this)(path + "_x" + kept), (*this)(path + "_y" + kept), (*this)(path + "_z" + kept)};
  }

 private:
  std::unique_ptr<Simulation> sim_;
};

}  // namespace catena::test
