// Bodies that pass a plane, a disc or a rectangle.
#include <array>
#include <cmath>

#include "probes/probe.hpp"

namespace catena::probes {

namespace {

/// The centre of a body is on one side of the plane at the end of each step (on it: ahead), and it
/// passes where that changes; the next step starts where this one ends, so that no passage is
/// missed or counted twice.
class FluxProbe : public Probe {
 public:
  FluxProbe(const ProbeSettings& s, const ProbeScene& scene)
      : point_(s.through.point), normal_(s.through.normal.normalized()), h_(scene.step) {
    if (!std::isnan(s.through.radius)) radius2_ = s.through.radius * s.through.radius;
    if (!std::isnan(s.through.size[0])) {
      edge_[0] = (s.through.side - s.through.side.dot(normal_) * normal_).normalized();
      edge_[1] = normal_.cross(edge_[0]);
      half_ = {0.5 * s.through.size[0], 0.5 * s.through.size[1]};
    }
    add_quantities("");
    if (s.by_material)
      for (const Material& m : scene.model.materials.materials()) add_quantities("_" + m.name);
    parts_ = quantities_.size() / kQuantities;
  }

  std::size_t n_sums() const override { return parts_ * kSums; }
  bool needs_start() const override { return true; }

  void add(const StepView& step, Sums sums) override {
    for (std::size_t i = 0; i < step.bodies.constants.size(); ++i) {
      const BodyConstants& body = step.bodies.constants[i];
      if (body.kind != BodyKind::dynamic) continue;
      const double sign = passes(step.before[i].pose.p, step.state.body[i].pose.p, step.box);
      if (sign == 0.0) continue;
      count(body, sign, step.state.body[i].twist.v, sums);
      // a body without a shape may have no material
      const std::size_t part = 1 + static_cast<std::size_t>(body.material);
      if (part < parts_) {
        count(body, sign, step.state.body[i].twist.v, sums.from(part * kSums));
      }
    }
  }

  void evaluate(std::span<const double> totals, std::span<double> values) const override {
    for (std::size_t part = 0; part < parts_; ++part) {
      const double* sum = totals.data() + part * kSums;
      double* value = values.data() + part * kQuantities;
      for (std::size_t k = 0; k < kSums; ++k) value[k] = sum[k] / h_;
      for (std::size_t k = 0; k < 2; ++k) {
        double& total = value[kSums + k];  // not a number before the first step
        total = (std::isnan(total) ? 0.0 : total) + sum[k];
      }
    }
  }

 private:
  static constexpr std::size_t kSums = 5, kQuantities = 7;

  void add_quantities(const std::string& of) {
    quantities_.push_back({"number_rate" + of, "1/s"});
    quantities_.push_back({"mass_rate" + of, "kg/s"});
    add_vector("momentum_rate" + of, "N");
    quantities_.push_back({"number" + of, "1", Kept::nothing});
    quantities_.push_back({"mass" + of, "kg", Kept::nothing});
  }

  static void count(const BodyConstants& body, double sign, const Vec3& v, Sums sums) {
    sums[0] += sign;
    sums[1] += sign * body.mass;
    add_to(sums, 2, sign * body.mass * v);
  }

  double ahead(const Vec3& p) const { return normal_.dot(p - point_); }

  bool within(const Vec3& p) const {
    const Vec3 d = p - point_;
    if (radius2_ >= 0.0) return (d - d.dot(normal_) * normal_).squaredNorm() <= radius2_;
    if (half_[0] > 0.0)
      return std::abs(d.dot(edge_[0])) <= half_[0] && std::abs(d.dot(edge_[1])) <= half_[1];
    return true;
  }

  /// 1 along the normal, -1 against it, else 0.
  double crossing(const Vec3& from, const Vec3& to) const {
    const double s0 = ahead(from), s1 = ahead(to);
    if ((s0 < 0.0) == (s1 < 0.0)) return 0.0;
    const Vec3 at = from + s0 / (s0 - s1) * (to - from);
    if (!within(at)) return 0.0;
    return s0 < 0.0 ? 1.0 : -1.0;
  }

  double passes(const Vec3& from, const Vec3& to, const PeriodicBox& box) const {
    if (!box.any()) return crossing(from, to);
    // a body that was put back to the other side may have passed before or after that
    const Vec3 shift = box.nearest_shift(to - from);
    const double first = crossing(from, to - shift);
    if (first != 0.0 || shift.isZero(0.0)) return first;
    return crossing(from + shift, to);
  }

  Vec3 point_, normal_;
  double radius2_ = -1.0;  ///< of a disc
  std::array<Vec3, 2> edge_ = {Vec3::Zero(), Vec3::Zero()};
  std::array<double, 2> half_ = {0.0, 0.0};  ///< of a rectangle's edges
  double h_;
  std::size_t parts_ = 1;  ///< all bodies, then each material
};

}  // namespace

std::unique_ptr<Probe> make_flux_probe(const ProbeSettings& s, const ProbeScene& scene) {
  return std::make_unique<FluxProbe>(s, scene);
}

}  // namespace catena::probes
