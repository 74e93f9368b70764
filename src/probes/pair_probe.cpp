// Forces of contacts, one by one: their number, means and histogram.
#include <algorithm>
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/model/body_group.hpp"
#include "probes/probe.hpp"

namespace catena::probes {

namespace {

class PairProbe : public Probe {
 public:
  PairProbe(const ProbeSettings& s, const ProbeScene& scene)
      : bins_(static_cast<std::size_t>(s.bins)), largest_(s.largest), h_(scene.step) {
    if (!s.between.empty()) {
      a_ = BodyGroup({s.between[0]}, scene.model, s.place + ".between");
      b_ = BodyGroup({s.between[1]}, scene.model, s.place + ".between");
    }
    quantities_.push_back({"contacts", "1"});
    quantities_.push_back({"normal_force", "N"});
    quantities_.push_back({"tangential_force", "N"});
    for (std::size_t k = 0; k < bins_; ++k)
      quantities_.push_back({"count_" + std::to_string(k), "1", Kept::mean});
    if (bins_ > 0) quantities_.push_back({"count_above", "1", Kept::mean});
  }

  std::size_t n_sums() const override { return quantities_.size(); }
  bool needs_contacts() const override { return true; }

  void add_contact(const ContactRecord& c, std::size_t, const StepView&, Sums sums) override {
    const bool counts = a_.empty() || (a_.contains(c.key.a) && b_.contains(c.key.b)) ||
                        (a_.contains(c.key.b) && b_.contains(c.key.a));
    if (!counts || c.impulse.isZero(0.0)) return;
    const double normal = c.impulse.dot(c.normal) / h_;
    sums[0] += 1.0;
    sums[1] += normal;
    sums[2] += (c.impulse / h_ - normal * c.normal).norm();
    if (bins_ == 0) return;
    const double place = std::max(0.0, normal / largest_ * static_cast<double>(bins_));
    sums[3 + (place < static_cast<double>(bins_) ? static_cast<std::size_t>(place) : bins_)] += 1.0;
  }

  void add(const StepView&, Sums) override {}

  void evaluate(std::span<const double> totals, std::span<double> values) const override {
    std::ranges::copy(totals, values.begin());
    for (std::size_t k = 1; k < 3; ++k) values[k] = totals[k] / totals[0];  // NaN without any
  }

 private:
  BodyGroup a_, b_;  ///< empty: all contacts
  std::size_t bins_;
  double largest_, h_;
};

}  // namespace

std::unique_ptr<Probe> make_pair_probe(const ProbeSettings& s, const ProbeScene& scene) {
  return std::make_unique<PairProbe>(s, scene);
}

}  // namespace catena::probes
