// Energies of a group of bodies.
#include "catena/base/error.hpp"
#include "catena/model/body_group.hpp"
#include "probes/probe.hpp"

namespace catena::probes {

namespace {

class EnergyProbe : public Probe {
 public:
  EnergyProbe(const ProbeSettings& s, const ProbeScene& scene)
      : on_(s.on, scene.model, s.place + ".on") {
    for (const char* name : {"kinetic", "translation", "rotation", "potential"})
      quantities_.push_back({name, "J"});
  }

  std::size_t n_sums() const override { return 3; }

  void add(const StepView& step, Sums sums) override {
    for (std::size_t i = 0; i < step.bodies.constants.size(); ++i) {
      const BodyConstants& body = step.bodies.constants[i];
      if (body.kind != BodyKind::dynamic || !(on_.empty() || on_.contains(body.id))) continue;
      const BodyMotionState& s = step.state.body[i];
      const Vec3 own = s.pose.q.conjugate() * s.twist.w;
      sums[0] += 0.5 * body.mass * s.twist.v.squaredNorm();
      sums[1] += 0.5 * own.dot(body.inertia.cwiseProduct(own));
      sums[2] -= body.mass * step.model.gravity.dot(s.pose.p);
    }
  }

  void evaluate(std::span<const double> totals, std::span<double> values) const override {
    values[0] = totals[0] + totals[1];
    for (std::size_t k = 0; k < 3; ++k) values[1 + k] = totals[k];
  }

 private:
  BodyGroup on_;
};

}  // namespace

std::unique_ptr<Probe> make_energy_probe(const ProbeSettings& s, const ProbeScene& scene) {
  return std::make_unique<EnergyProbe>(s, scene);
}

}  // namespace catena::probes
