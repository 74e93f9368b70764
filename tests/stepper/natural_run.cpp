#include "stepper/natural_run.hpp"

#include <cmath>
#include <stdexcept>

namespace catena::test {

std::unique_ptr<Simulation> natural_run(const Communicator& comm, const std::string& text,
                                        const std::string& step, const std::string& natural) {
  return simulate(comm, text + "\ntime: {stepper: natural, step: " + step +
                            ", end: 1000, natural: {" + natural + "}}\n");
}

std::unique_ptr<Simulation> natural_run(const std::string& text, const std::string& step,
                                        const std::string& natural) {
  return natural_run(Communicator::self(), text, step, natural);
}

const StepReport& run_to(Simulation& sim, double t) {
  const std::int64_t last = std::llround(t / sim.settings().time.step);
  while (sim.state().step < last) sim.step();
  return sim.stepper().report();
}

const JointState& joint(const Simulation& sim, GlobalId id) {
  for (std::size_t j = 0; j < sim.bodies().joints.size(); ++j)
    if (sim.bodies().joints[j].id == id) return sim.state().joints[j];
  throw std::logic_error("no such joint");
}

VectorX integrated(const std::function<VectorX(double, const VectorX&)>& f, VectorX y, double t,
                   int n) {
  const double h = t / n;
  for (int i = 0; i < n; ++i) {
    const double now = t * i / n;
    const VectorX k1 = f(now, y), k2 = f(now + 0.5 * h, y + 0.5 * h * k1),
                  k3 = f(now + 0.5 * h, y + 0.5 * h * k2), k4 = f(now + h, y + h * k3);
    y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
  }
  return y;
}

std::vector<double> orders(const std::vector<double>& errors) {
  std::vector<double> out;
  for (std::size_t i = 1; i < errors.size(); ++i)
    out.push_back(std::log2(errors[i - 1] / errors[i]));
  return out;
}

Vec3 three(const VectorX& y, int first) { return y.segment<3>(first); }

Quat quat(const VectorX& y, int first) {
  return Quat(y[first], y[first + 1], y[first + 2], y[first + 3]).normalized();
}

Eigen::Vector4d quat_rate(const Quat& q, const Vec3& omega) {
  const Quat rate = Quat(0.0, omega.x(), omega.y(), omega.z()) * q;
  return 0.5 * Eigen::Vector4d(rate.w(), rate.x(), rate.y(), rate.z());
}

std::string text_of(const std::string& name, const Link& link, const Vec3& p, const Vec3& v) {
  return "{name: " + name + ", mass: " + std::to_string(link.mass) +
         ", inertia: " + text_of(link.inertia) + ", position: " + text_of(p) +
         ", orientation: " + text_of(link.q) + ", velocity: " + text_of(v) +
         ", angular_velocity: " + text_of(link.omega) + "}";
}

}  // namespace catena::test
