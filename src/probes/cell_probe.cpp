// A periodic cell: its size, how it deforms, its stress.
#include "catena/base/error.hpp"
#include "probes/probe.hpp"

namespace catena::probes {

namespace {

class CellProbe : public Probe {
 public:
  CellProbe(const ProbeSettings& s, const ProbeScene& scene) {
    const PeriodicBox& box = scene.model.periodic;
    for (std::size_t k = 0; k < 3; ++k)
      if (!box.active[k] && !(k == 1 && scene.model.planar))
        throw Error("the box is not periodic along " + std::string(1, "xyz"[k]), s.place,
                    "a cell has sides in all directions: measure a region");
    add_vector("length", "m");
    add_vector("strain_rate", "1/s");
    quantities_.push_back({"offset", "m", Kept::nothing});
    for (const char* stress : {"stress", "kinetic_stress"})
      for (const char* name : {"_xx", "_yy", "_zz", "_xy", "_yz", "_zx"})
        quantities_.push_back({std::string(stress) + name, "Pa"});
    quantities_.push_back({"solid_fraction", "1"});
  }

  std::size_t n_sums() const override { return kSums; }

  void add(const StepView& step, Sums sums) override {
    for (const BodyConstants& body : step.bodies.constants)
      if (body.kind == BodyKind::dynamic)
        sums[kVolume] += volume_of(body.shape, step.model.geometries);
    // the rest is the same on every rank
    if (step.comm.rank() != 0) return;
    for (std::size_t k = 0; k < 3; ++k) {
      sums[kLength + k] += step.box.length(k);
      sums[kRate + k] += step.box_before.stretch_rate[k];
    }
    sums[kOffset] += step.box.offset;
    const CellStress& stress = step.stepper.report().cell;
    for (std::size_t k = 0; k < 6; ++k) {
      sums[kStress + k] += stress.total(k);
      sums[kKinetic + k] += stress.kinetic[k];
    }
    sums[kCellVolume] += cell_volume(step.box);
  }

  void evaluate(std::span<const double> totals, std::span<double> values) const override {
    for (std::size_t k = 0; k < kVolume; ++k) values[k] = totals[k];
    values[kVolume] = totals[kVolume] / totals[kCellVolume];
  }

 private:
  /// Sums, up to the volume of bodies as the quantities.
  enum Part : std::size_t {
    kLength,
    kRate = kLength + 3,
    kOffset = kRate + 3,
    kStress = kOffset + 1,
    kKinetic = kStress + 6,
    kVolume = kKinetic + 6,
    kCellVolume,
    kSums
  };
};

}  // namespace

std::unique_ptr<Probe> make_cell_probe(const ProbeSettings& s, const ProbeScene& scene) {
  return std::make_unique<CellProbe>(s, scene);
}

}  // namespace catena::probes
