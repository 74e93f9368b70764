// Coordinates, reactions and drives of a joint.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/base/suggest.hpp"
#include "catena/constraints/joint_rows.hpp"
#include "probes/probe.hpp"

namespace catena::probes {

namespace {

/// A coordinate's name, and whether it is an angle.
struct Coordinate {
  const char* name;
  bool angular;
};

/// As joint_coordinates lists them.
std::vector<Coordinate> coordinates_of(JointType type) {
  switch (type) {
    case JointType::spherical:
      return {{"turn_x", true}, {"turn_y", true}, {"turn_z", true}};
    case JointType::revolute:
    case JointType::torsion_spring:
      return {{"angle", true}};
    case JointType::prismatic:
    case JointType::point_on_line:
    case JointType::point_on_curve:
      return {{"displacement", false}};
    case JointType::cylindrical:
      return {{"displacement", false}, {"angle", true}};
    case JointType::screw:
      return {{"angle", true}, {"displacement", false}};
    case JointType::rack:
      return {{"displacement", false}, {"angle", true}};
    case JointType::cam:
      return {{"displacement", false}, {"angle", true}, {"gap", false}};
    case JointType::bushing:
      return {{"displacement", false}, {"displacement_2", false}, {"displacement_3", false}};
    case JointType::universal:
    case JointType::gear:
    case JointType::belt:
      return {{"angle", true}, {"angle_2", true}};
    case JointType::planar:
      return {{"displacement", false}, {"displacement_2", false}, {"angle", true}};
    case JointType::distance:
    case JointType::rope:
    case JointType::tendon:
    case JointType::spring:
      return {{"length", false}};
    case JointType::fixed:
    case JointType::knife_edge:
    case JointType::rolling:
      break;
  }
  return {};
}

JointType type_of(const ForceSettings& force) {
  return force.type == ForceType::torsional_spring ? JointType::torsion_spring : JointType::spring;
}

/// The type of a joint, a spring or a damper by its name; `stem`: of a generator's, or a belt's,
/// without number.
JointType type_of(const SceneSettings& scene, const std::string& name, const std::string& stem) {
  for (const JointSettings& joint : scene.joints)
    if (joint.name == name || (joint.name == stem && joint.type == JointType::belt))
      return joint.type;
  for (const ForceSettings& force : scene.forces)
    if (force.name == name) return type_of(force);
  for (std::size_t i = 0; i < scene.generators.size(); ++i) {
    const GeneratorSettings& g = scene.generators[i];
    const std::string given = g.name().empty() ? "generator" + std::to_string(i) : g.name();
    if (given != stem) continue;
    if (g.is<ChainSettings>()) return std::get<ChainSettings>(g.kind).joint;
    if (g.is<NetSettings>()) return std::get<NetSettings>(g.kind).joint;
    if (g.is<TreeSettings>()) return std::get<TreeSettings>(g.kind).joint;
  }
  throw Error("there is no joint '" + name + "'", "probes");
}

class JointProbe : public Probe {
 public:
  JointProbe(const ProbeSettings& s, const ProbeScene& scene) : h_(scene.step) {
    const auto [first, count] = scene.model.joint_names.ids_of(s.joint);
    if (count == 0) {
      const std::string near = nearest_word(s.joint, scene.model.joint_names.texts());
      throw Error("there is no joint '" + s.joint + "'", s.place + ".joint",
                  near.empty() ? "name a joint, a spring, or NAME-3 of a chain"
                               : "did you mean " + near + "?");
    }
    const std::string stem = scene.model.joint_names.text_of(first);
    if (count > 1)
      throw Error("'" + s.joint + "' has " + std::to_string(count) + " joints", s.place + ".joint",
                  "name one of them, " + stem + "-0");
    id_ = first;
    const JointType type = type_of(scene.scene, s.joint, stem);
    coordinates_ = coordinates_of(type);
    axes_ = static_cast<std::size_t>(joint_axes(type));
    for (const Coordinate& c : coordinates_) {
      quantities_.push_back({c.name, c.angular ? "rad" : "m"});
      quantities_.push_back({std::string(c.name) + "_rate", c.angular ? "rad/s" : "m/s"});
    }
    add_vector("force", "N");
    add_vector("torque", "N m");
    tendon_ = type == JointType::tendon;
    if (tendon_) quantities_.push_back({"tension", "N"});
    for (std::size_t axis = 0; axis < axes_; ++axis)
      for (const char* drive : {"limit", "motor", "friction"})
        quantities_.push_back(
            {drive + std::string(axis > 0 ? "_2" : ""), coordinates_[axis].angular ? "N m" : "N"});
    if (axes_ > 0) quantities_.push_back({"power", "W"});
  }

  std::size_t n_sums() const override { return 1 + quantities_.size(); }

  /// The rank that holds the joint gives all numbers, the others zeros.
  void add(const StepView& step, Sums sums) override {
    const std::vector<JointConstants>& joints = step.bodies.joints;
    const auto found =
        std::lower_bound(joints.begin(), joints.end(), id_,
                         [](const JointConstants& joint, GlobalId id) { return joint.id < id; });
    if (found == joints.end() || found->id != id_) return;
    const auto j = static_cast<std::size_t>(found - joints.begin());
    const JointState& state = step.state.joints[j];
    const std::array<double, 3> place = step.stepper.joint_coordinates(step.bodies, step.state, j);
    const std::array<double, 3> rate = step.stepper.joint_rates(step.bodies, step.state, j);
    const JointReaction reaction = step.stepper.joint_reaction(j);
    std::size_t n = 0;
    sums[n++] += 1.0;
    for (std::size_t k = 0; k < coordinates_.size(); ++k) {
      sums[n++] += place[k];
      sums[n++] += rate[k];
    }
    add_to(sums, n, reaction.impulse / h_);
    add_to(sums, n + 3, reaction.couple / h_);
    n += 6;
    if (tendon_) sums[n++] += state.impulse[0] / h_;
    double power = 0.0;
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      for (const double drive : state.drive[axis]) sums[n++] += drive / h_;
      power += state.drive[axis][1] / h_ * rate[axis];
    }
    if (axes_ > 0) sums[n] += power;
  }

  void evaluate(std::span<const double> totals, std::span<double> values) const override {
    const bool there = totals[0] > 0.0;  // it may have left through an outflow
    for (std::size_t k = 0; k < values.size(); ++k)
      values[k] = there ? totals[1 + k] : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  GlobalId id_ = -1;
  double h_;
  std::vector<Coordinate> coordinates_;
  std::size_t axes_ = 0;
  bool tendon_ = false;
};

}  // namespace

std::unique_ptr<Probe> make_joint_probe(const ProbeSettings& s, const ProbeScene& scene) {
  return std::make_unique<JointProbe>(s, scene);
}

}  // namespace catena::probes
