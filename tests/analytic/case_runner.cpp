#include "analytic/case_runner.hpp"

#include <algorithm>
#include <cmath>

#include "support/method_under_test.hpp"

namespace catena::test {

std::string with_method(const std::string& yaml) {
  const SolverMethod method = test::method_under_test();
  if (method == SolverMethod::gauss_seidel) return yaml;
  const std::string name(kSolverNames[static_cast<std::size_t>(method)]);
  const std::string section = "solver: {", limit = "max_iterations: ";
  const std::size_t at = yaml.find(section);
  if (at == std::string::npos) return yaml + "solver: {method: " + name + "}\n";
  std::string out = yaml;
  const std::size_t number = out.find(limit, at);
  if (number != std::string::npos) {
    const std::size_t first = number + limit.size(), end = out.find_first_of(",}", first);
    const int sweeps = std::stoi(out.substr(first, end - first));
    out.replace(first, end - first, std::to_string(test::iterations_for(method, sweeps)));
  }
  return out.insert(at + section.size(), "method: " + name + ", ");
}

std::unique_ptr<Simulation> simulate(const std::string& yaml) {
  return simulate(Communicator::self(), with_method(with_contacts_under_test(yaml)));
}

std::map<GlobalId, Vec3> places(const Simulation& sim) {
  std::map<GlobalId, Vec3> out;
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i)
    out[sim.bodies().constants[i].id] = sim.state().body[i].pose.p;
  return out;
}

double largest_move(const Simulation& sim, const std::map<GlobalId, Vec3>& start) {
  double largest = 0.0;
  for (const auto& [id, p] : places(sim)) largest = std::max(largest, (p - start.at(id)).norm());
  return largest;
}

void run_until(Simulation& sim, double t) {
  const double h = sim.settings().time.step;
  const std::int64_t last = std::llround(t / h);
  while (sim.state().step < last) sim.step();
}

Vec3 contact_force_on(const Simulation& sim, GlobalId id) {
  Vec3 sum = Vec3::Zero();
  for (const KeyedImpulse& k : sim.state().impulses) {
    if (k.key.b == id) sum += k.impulse;
    if (k.key.a == id) sum -= k.impulse;
  }
  return sum / sim.settings().time.step;
}

}  // namespace catena::test
