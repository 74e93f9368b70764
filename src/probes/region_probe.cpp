// What bodies in a region are like: density, motion, contacts, stress; and the same in the bins of
// a profile.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/tags.hpp"
#include "catena/model/body_group.hpp"
#include "probes/probe.hpp"
#include "probes/regions/region.hpp"

namespace catena::probes {

namespace {

/// The sums of one region.
enum Part : std::size_t {
  kCount,                    ///< bodies with their centre inside at the step's end
  kMass,                     ///< of these
  kMomentum,                 ///< three
  kSquares = kMomentum + 3,  ///< m v^2
  kVolume,                   ///< of the parts of bodies that lie inside
  kAtStart,   ///< bodies with their centre inside at the step's start, when contacts were found
  kTouching,  ///< of these with two or more loaded contacts
  kContacts,  ///< loaded contacts of the former
  kContactsOfTouching,     ///< and of the latter
  kMoment,                 ///< -sym(f r^T) of contact forces, N m: six
  kNormals = kMoment + 6,  ///< n n^T: six
  kPoints = kNormals + 6,  ///< ends of loaded contact points
  kParts
};

/// xx, yy, zz, xy, yz, zx
constexpr std::array<std::pair<int, int>, 6> kSix = {
    {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {1, 2}, {2, 0}}};
constexpr std::array<const char*, 6> kSixNames = {"_xx", "_yy", "_zz", "_xy", "_yz", "_zx"};

/// One region, or the bins of a profile in their order along an axis.
class RegionProbe : public Probe {
 public:
  RegionProbe(const ProbeSettings& s, const ProbeScene& scene)
      : on_(s.on, scene.model, s.place + ".on"),
        whole_(s.region),
        axis_(s.axis),
        dimension_(scene.model.planar ? 2.0 : 3.0),
        h_(scene.step) {
    if (s.type != ProbeType::profile) {
      regions_.emplace_back(s.region);
      add_quantities("", Kept::mean_min_max);
      return;
    }
    lower_ = s.region.lower[axis_];
    width_ = (s.region.upper[axis_] - lower_) / s.bins;
    for (int k = 0; k < s.bins; ++k) {
      RegionSettings bin = s.region;
      bin.lower[axis_] = lower_ + k * width_;
      bin.upper[axis_] = lower_ + (k + 1) * width_;
      regions_.emplace_back(bin);
      add_quantities("_" + std::to_string(k), Kept::mean);
    }
  }

  std::size_t n_sums() const override { return regions_.size() * kParts; }
  bool needs_contacts() const override { return true; }
  bool needs_start() const override { return true; }

  void add_contact(const ContactRecord& c, std::size_t k, const StepView& step,
                   Sums sums) override {
    if (c.impulse.isZero(0.0)) return;
    const ContactArms arms = step.stepper.contact_arms(k);
    const ProblemBodies& bodies = step.stepper.problem().bodies;
    if (counts_.empty()) counts_.assign(bodies.size(), 0.0);
    // points of one pair follow each other
    const bool new_pair = std::pair(c.key.a, c.key.b) != last_pair_;
    last_pair_ = {c.key.a, c.key.b};
    for (const bool b : {false, true}) {
      const auto body = static_cast<std::size_t>(b ? arms.b : arms.a);
      if (bodies.is_prescribed(b ? arms.b : arms.a) ||
          !(on_.empty() || on_.contains(b ? c.key.b : c.key.a)))
        continue;
      if (new_pair) counts_[body] += 1.0;
      const Vec3& arm = b ? arms.arm_b : arms.arm_a;
      Vec3 centre = (b ? arms.point_b : arms.point_a) - arm;
      if (b && image_of(c.key) != kNoImage) centre -= step.box_before.shift(image_of(c.key));
      const std::size_t region = region_of(centre);
      if (region == regions_.size()) continue;
      const Vec3 force = (b ? 1.0 : -1.0) / h_ * c.impulse;
      std::array<double, 13> own;  // as the sums from kMoment on
      for (std::size_t n = 0; n < 6; ++n) {
        const auto [i, j] = kSix[n];
        own[n] = -0.5 * (force[i] * arm[j] + force[j] * arm[i]);
        own[6 + n] = c.normal[i] * c.normal[j];
      }
      own[12] = 1.0;
      sums.from(region * kParts).add(kMoment, own);
    }
  }

  void add(const StepView& step, Sums sums) override {
    gather_counts(step);
    for (std::size_t i = 0; i < step.bodies.constants.size(); ++i) {
      const BodyConstants& body = step.bodies.constants[i];
      if (!counts(body)) continue;
      const BodyMotionState& s = step.state.body[i];
      if (const std::size_t region = region_of(s.pose.p); region < regions_.size())
        add_motion(body, s, sums.from(region * kParts));
      if (const std::size_t region = region_of(step.before[i].pose.p); region < regions_.size())
        add_contacts(counts_.empty() ? 0.0 : counts_[i], sums.from(region * kParts));
      add_volume(body, s.pose, step, sums);
    }
    counts_.clear();
    last_pair_ = {kNoBody, kNoBody};
  }

  void evaluate(std::span<const double> totals, std::span<double> values) const override {
    const std::size_t n = values.size() / regions_.size();
    for (std::size_t region = 0; region < regions_.size(); ++region) {
      const double* sum = totals.data() + region * kParts;
      double* value = values.data() + region * n;
      *value++ = sum[kCount];
      *value++ = sum[kMass];
      *value++ = sum[kVolume] / regions_[region].volume();
      double bulk = 0.0;  // m v^2 of the motion in common
      for (std::size_t k = 0; k < 3; ++k) {
        *value++ = sum[kMomentum + k] / sum[kMass];
        bulk += sum[kMomentum + k] * sum[kMomentum + k] / sum[kMass];
      }
      // the difference of two sums may be a bit below zero
      const double apart = std::max(0.0, sum[kSquares] - bulk);
      *value++ = sum[kMass] > 0.0 ? apart / (dimension_ * sum[kMass]) : std::nan("");
      *value++ = sum[kContacts] / sum[kAtStart];
      *value++ = sum[kContactsOfTouching] / sum[kTouching];
      for (std::size_t k = 0; k < 6; ++k) *value++ = sum[kMoment + k] / regions_[region].volume();
      for (std::size_t k = 0; k < 6; ++k) *value++ = sum[kNormals + k] / sum[kPoints];
    }
  }

 private:
  void add_quantities(const std::string& bin, Kept kept) {
    const auto add = [&](const std::string& name, const char* unit) {
      quantities_.push_back({name + bin, unit, kept});
    };
    add("count", "1");
    add("mass", "kg");
    add("solid_fraction", "1");
    for (const char* axis : {"_x", "_y", "_z"}) add(std::string("velocity") + axis, "m/s");
    add("temperature", "m^2/s^2");
    add("coordination", "1");
    add("coordination_without_rattlers", "1");
    for (const char* name : kSixNames) add(std::string("stress") + name, "Pa");
    for (const char* name : kSixNames) add(std::string("fabric") + name, "1");
  }

  bool counts(const BodyConstants& body) const {
    return body.kind == BodyKind::dynamic && (on_.empty() || on_.contains(body.id));
  }

  /// The region that holds the point; their number: none does. On the border of two bins the upper.
  std::size_t region_of(const Vec3& p) const {
    if (!whole_.holds(p)) return regions_.size();
    if (regions_.size() == 1) return 0;
    const double place = (p[axis_] - lower_) / width_;
    return std::min(static_cast<std::size_t>(place), regions_.size() - 1);
  }

  static void add_motion(const BodyConstants& body, const BodyMotionState& s, Sums sums) {
    sums[kCount] += 1.0;
    sums[kMass] += body.mass;
    add_to(sums, kMomentum, body.mass * s.twist.v);
    sums[kSquares] += body.mass * s.twist.v.squaredNorm();
  }

  static void add_contacts(double contacts, Sums sums) {
    sums[kAtStart] += 1.0;
    sums[kContacts] += contacts;
    if (contacts < 2.0) return;
    sums[kTouching] += 1.0;
    sums[kContactsOfTouching] += contacts;
  }

  /// Images that reach in over a side of a periodic box count as well.
  void add_volume(const BodyConstants& body, Pose pose, const StepView& step, Sums sums) const {
    add_volume_here(body, pose, step.model, sums);
    if (!step.box.any()) return;
    const Vec3 centre = pose.p;
    for (int image = 0; image < kImages; ++image) {
      if (image == kNoImage || !step.box.has_image(image)) continue;
      pose.p = centre + step.box.shift(image);
      add_volume_here(body, pose, step.model, sums);
    }
  }

  void add_volume_here(const BodyConstants& body, const Pose& pose, const Model& model,
                       Sums sums) const {
    const double r = bounding_radius(body.shape);
    std::size_t first = 0, last = regions_.size();
    if (regions_.size() > 1) {
      const auto bin = [&](double place) {
        const double most = static_cast<double>(regions_.size());
        return static_cast<std::size_t>(std::clamp((place - lower_) / width_, 0.0, most));
      };
      first = bin(pose.p[axis_] - r);
      last = std::min(regions_.size(), bin(pose.p[axis_] + r) + 1);
    }
    for (std::size_t k = first; k < last; ++k)
      if (const double inside = regions_[k].cut(body.shape, pose, model.geometries); inside > 0.0)
        sums[k * kParts + kVolume] += inside;
  }

  /// Collective. Contacts that other ranks hold are added to the bodies owned here.
  void gather_counts(const StepView& step) {
    if (step.comm.size() == 1 || step.stepper.report().contacts == 0) return;
    const auto n = static_cast<std::size_t>(step.stepper.local_bodies().size());
    counts_.resize(n, 0.0);
    GhostSum(step.comm, step.stepper.problem().ghosts, 1, Tag::contact_counts).complete(counts_);
  }

  BodyGroup on_;
  Region whole_;
  std::vector<Region> regions_;
  Eigen::Index axis_;
  double lower_ = 0.0, width_ = 1.0;  ///< of a profile's bins along the axis
  double dimension_, h_;
  std::vector<double> counts_;  ///< loaded contacts per local body, by pairs
  std::pair<GlobalId, GlobalId> last_pair_ = {kNoBody, kNoBody};
};

}  // namespace

std::unique_ptr<Probe> make_region_probe(const ProbeSettings& s, const ProbeScene& scene) {
  return std::make_unique<RegionProbe>(s, scene);
}

}  // namespace catena::probes
