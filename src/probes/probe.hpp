// One probe: what it adds up on each rank in a step, and the quantities that totals give.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/constraints/contact_record.hpp"
#include "catena/model/state.hpp"
#include "catena/probes/probe_settings.hpp"
#include "catena/scenarios/scene.hpp"
#include "catena/stepper/time_stepper.hpp"
#include "probes/sums.hpp"

namespace catena::probes {

/// What is kept of a quantity over an interval, besides its value at the end.
enum class Kept { mean_min_max, mean, nothing };

struct Quantity {
  std::string name, unit;
  Kept kept = Kept::mean_min_max;
};

/// The step just done.
struct StepView {
  const Communicator& comm;
  const Model& model;
  const Bodies& bodies;
  const State& state;  ///< at its end
  const TimeStepper& stepper;
  double h;                                 ///< s
  std::span<const BodyMotionState> before;  ///< of the owned bodies at its start, if needed
  /// The periodic box at the step's start, when contacts were found, and at its end.
  PeriodicBox box_before, box;
};

class Probe {
 public:
  virtual ~Probe() = default;
  const std::vector<Quantity>& quantities() const { return quantities_; }
  /// How many sums add() fills.
  virtual std::size_t n_sums() const = 0;
  virtual bool needs_contacts() const { return false; }
  /// Whether StepView::before is looked at.
  virtual bool needs_start() const { return false; }
  /// Local. A contact of this rank, if contacts are needed: before add(), in the order of keys.
  virtual void add_contact(const ContactRecord&, std::size_t /*k*/, const StepView&, Sums) {}
  /// Collective. All else of this rank.
  virtual void add(const StepView& step, Sums sums) = 0;
  /// The quantities from the totals over all ranks; `values` hold those of the step before.
  virtual void evaluate(std::span<const double> totals, std::span<double> values) const = 0;

 protected:
  /// Appends `name`_x, _y and _z.
  void add_vector(const std::string& name, const std::string& unit,
                  Kept kept = Kept::mean_min_max) {
    for (const char* axis : {"_x", "_y", "_z"}) quantities_.push_back({name + axis, unit, kept});
  }
  std::vector<Quantity> quantities_;
};

/// What probes are made from; `step`: h, s.
struct ProbeScene {
  const Communicator& comm;
  const SceneSettings& scene;
  const Model& model;
  double step;
};

std::unique_ptr<Probe> make_force_probe(const ProbeSettings& s, const ProbeScene& scene);
std::unique_ptr<Probe> make_flux_probe(const ProbeSettings& s, const ProbeScene& scene);
std::unique_ptr<Probe> make_joint_probe(const ProbeSettings& s, const ProbeScene& scene);
std::unique_ptr<Probe> make_body_probe(const ProbeSettings& s, const ProbeScene& scene);
std::unique_ptr<Probe> make_region_probe(const ProbeSettings& s, const ProbeScene& scene);
std::unique_ptr<Probe> make_pair_probe(const ProbeSettings& s, const ProbeScene& scene);
std::unique_ptr<Probe> make_energy_probe(const ProbeSettings& s, const ProbeScene& scene);
std::unique_ptr<Probe> make_cell_probe(const ProbeSettings& s, const ProbeScene& scene);

inline void add_to(Sums sums, std::size_t first, const Vec3& v) {
  for (std::size_t k = 0; k < 3; ++k) sums[first + k] += v[static_cast<Eigen::Index>(k)];
}

}  // namespace catena::probes
