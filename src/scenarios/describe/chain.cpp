// The description of chains, nets, trees and bonds, besides their bodies' name, material and shape.
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/base/suggest.hpp"
#include "scenarios/joint_parts.hpp"

namespace catena::scenarios {

namespace {

constexpr std::string_view kChainJoints[] = {"fixed",     "spherical", "revolute",
                                             "universal", "distance",  "rope"};
constexpr JointType kChainTypes[] = {JointType::fixed,    JointType::spherical,
                                     JointType::revolute, JointType::universal,
                                     JointType::distance, JointType::rope};
constexpr std::string_view kKnotJoints[] = {"distance", "rope", "spherical"};
constexpr JointType kKnotTypes[] = {JointType::distance, JointType::rope, JointType::spherical};
/// `one` is another word for `first`.
constexpr std::string_view kChainAnchors[] = {"none", "first", "last", "both", "one"};
constexpr std::string_view kNetAnchors[] = {"none", "corners", "edge", "all"};

bool given(double value) { return !std::isnan(value); }

/// The word of `value` among `types`.
template <std::size_t kSize>
void describe_type(SettingsVisitor& visit, JointType& value, const std::string_view (&names)[kSize],
                   const JointType (&types)[kSize], const SettingInfo& info) {
  int index = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    if (types[i] == value) index = narrow<int>(i);
  }
  visit.choice("joint", index, names, info);
  value = types[index];
}

void describe_joints_of(SettingsVisitor& visit, ChainJointSettings& s) {
  visit.visit("compliance", s.compliance,
              {.unit = "m/N", .min = 0, .help = "of every joint, as in `joints`"});
  visit.visit("damping_time", s.damping_time,
              {.unit = "s", .min = 0, .help = "of every joint, as in `joints`"});
  describe_breaking(visit, s.breaking);
  visit.visit("joined_collide", s.collide,
              {.help = "whether bodies that are joined make contacts"});
}

void describe_curl(SettingsVisitor& visit, ChainPathSettings& s, bool& present) {
  visit.optional_section("curl", present, {.help = "wound up in a helix about an axis"}, [&] {
    visit.visit("radius", s.radius,
                {.unit = "m",
                 .min = 0,
                 .min_open = true,
                 .required = true,
                 .help = "of the circle on which the joints stand"});
    visit.visit("pitch", s.pitch, {.unit = "m", .help = "advance along the axis per turn"});
    visit.visit("length", s.length,
                {.unit = "m",
                 .min = 0,
                 .min_open = true,
                 .required = true,
                 .help = "of the chain: links times the length of a link"});
    visit.visit("centre", numbers(s.centre),
                {.unit = "m", .help = "of the circle of the first joint"});
    visit.visit("axis", numbers(s.axis), {.help = "of the helix, world frame"});
    if (!(s.axis.norm() > 0.0)) {
      visit.reject("axis", "the axis has no length", "give a direction such as [0, 0, 1]");
    }
  });
}

void describe_catenary(SettingsVisitor& visit, ChainPathSettings& s, bool& present) {
  visit.optional_section(
      "catenary", present, {.help = "as its links hang at rest, of equal mass and uniform"}, [&] {
        visit.visit("from", numbers(s.from),
                    {.unit = "m", .required = true, .help = "first joint"});
        visit.visit("to", numbers(s.to), {.unit = "m", .required = true, .help = "last joint"});
        visit.visit("length", s.length,
                    {.unit = "m",
                     .min = 0,
                     .min_open = true,
                     .required = true,
                     .help = "of the chain: links times the length of a link"});
      });
}

/// True if where the joints stand is given in exactly one way.
bool describe_path(SettingsVisitor& visit, ChainPathSettings& s) {
  Vec3 from = Vec3::Constant(kNone), to = from;
  if (s.kind == ChainPath::straight) {
    from = s.from;
    to = s.to;
  }
  visit.visit("from", numbers(from), {.unit = "m", .help = "first joint of a straight chain"});
  visit.visit("to", numbers(to), {.unit = "m", .help = "its last joint"});
  std::size_t width = 3;
  visit.rows("path", s.path, width,
             {.unit = "m",
              .help = "corners of a polyline on which the joints stand, all links equally long"});
  visit.visit("closed", s.closed,
              {.help = "of a path: the last link is joined to the first (a loop, a track); three "
                       "rows of a loop of hinges depend on the others, which a little "
                       "angular_compliance gives reactions of their own"});
  bool hangs = s.kind == ChainPath::catenary, winds = s.kind == ChainPath::curl;
  describe_catenary(visit, s, hangs);
  describe_curl(visit, s, winds);
  const bool ends = is_set(from) || is_set(to);
  const int ways = (ends ? 1 : 0) + (s.path.empty() ? 0 : 1) + (hangs ? 1 : 0) + (winds ? 1 : 0);
  if (ways != 1) {
    visit.reject("", ways == 0 ? "says nothing of where the chain is" : "has several courses",
                 "give from and to, or path, or catenary, or curl");
    return false;
  }
  if (ends && !(is_set(from) && is_set(to))) {
    visit.reject(is_set(from) ? "to" : "from", "missing", "a straight chain has both ends");
    return false;
  }
  s.kind = hangs   ? ChainPath::catenary
           : winds ? ChainPath::curl
           : ends  ? ChainPath::straight
                   : ChainPath::polyline;
  if (ends) {
    s.from = from;
    s.to = to;
  }
  if (s.closed && s.kind != ChainPath::polyline) {
    visit.reject("closed", "only a path can be closed", "give the corners of the loop as path");
    return false;
  }
  if (!s.path.empty() && s.path.size() < (s.closed ? 9U : 6U)) {
    visit.reject("path", "too few points", s.closed ? "a loop has three" : "a path has two");
    return false;
  }
  return true;
}

void check_chain(SettingsVisitor& visit, const SceneSettings& scene, const ChainSettings& s) {
  if (s.path.closed && s.links < 3) {
    visit.reject("links", "a loop has three links at least", "");
    return;
  }
  if (s.path.closed && s.anchored != ChainAnchors::none) {
    visit.reject("anchored", "a loop has no ends", "hold it by a joint in `joints`");
  }
  const bool hinged = s.joint == JointType::revolute || s.joint == JointType::universal;
  if (is_set(s.axis) && !hinged) {
    visit.reject("axis", "is for revolute and universal joints", "remove it");
  } else if (is_set(s.axis) && !(s.axis.norm() > 0.0)) {
    visit.reject("axis", "the axis has no length", "give a direction such as [0, 1, 0]");
  }
  if (given(s.joints.friction) && !hinged) {
    visit.reject("friction", "is for revolute and universal joints", "remove it");
  }
  const bool turns = s.joint == JointType::spherical || s.joint == JointType::distance ||
                     s.joint == JointType::rope;
  if (given(s.joints.angular_compliance) && turns) {
    visit.reject("angular_compliance", "these joints hold no directions", "remove it");
  }
  try {
    const ChainCurve curve(s.path, s.links, scene.gravity);
    if (scene.dimension == 2 && s.joint == JointType::revolute) {
      const Vec3 axis = is_set(s.axis) ? Vec3(s.axis.normalized()) : curve.normal();
      if (std::abs(axis[1]) < 1.0 - 1e-12) {
        visit.reject("axis", "two dimensions have hinges about y only", "give [0, 1, 0]");
      }
    }
  } catch (const Error& e) {
    visit.reject("", e.found(), e.fix());
  }
}

}  // namespace

void describe_chain(SettingsVisitor& visit, const SceneSettings& scene, ChainSettings& s) {
  constexpr int kMaxLinks = 1'000'000'000;
  visit.visit("links", s.links,
              {.min = 1, .max = kMaxLinks, .required = true, .help = "number of bodies"});
  describe_type(visit, s.joint, kChainJoints, kChainTypes,
                {.help = "between neighbours; `distance`, `rope`: rods or ropes between the "
                         "links' centres, `rope` never pushes"});
  const bool placed = describe_path(visit, s.path);
  int anchored = static_cast<int>(s.anchored);
  visit.choice("anchored", anchored, kChainAnchors,
               {.help = "ends that are joined to the world; `one`: the first"});
  s.anchored = anchored == 4 ? ChainAnchors::first : static_cast<ChainAnchors>(anchored);
  visit.visit("axis", numbers(s.axis),
              {.help = "of revolute joints and the first of universal ones, world frame at the "
                       "start; else that of the curl, normal to a closed path, or horizontal and "
                       "normal to the way from end to end"});
  visit.visit(
      "mass", s.mass,
      {.unit = "kg", .min = 0, .min_open = true, .help = "of a link; else volume times density"});
  visit.visit("inertia", numbers(s.inertia),
              {.unit = "kg m^2",
               .min = 0,
               .help = "of a link, principal moments on the axes of its shape; else of the "
                       "uniform shape"});
  visit.visit(
      "center_of_mass", numbers(s.centre_of_mass),
      {.unit = "m",
       .help = "of a link with `mass` and `inertia`, which is about it, in the frame of its "
               "shape, whose origin is then half-way between the joints; else half-way "
               "itself"});
  visit.visit("velocity", numbers(s.velocity),
              {.unit = "m/s", .help = "of every link at the start"});
  visit.visit("angular_velocity", numbers(s.angular_velocity),
              {.unit = "rad/s",
               .help = "with which, besides, the whole chain turns about a point at the start"});
  visit.visit("about", numbers(s.about), {.unit = "m", .help = "that point"});
  describe_joints_of(visit, s.joints);
  visit.visit("angular_compliance", s.joints.angular_compliance,
              {.unit = "rad/(N m)", .min = 0, .help = "of every joint, as in `joints`"});
  visit.visit("friction", s.joints.friction,
              {.unit = "N m", .min = 0, .help = "torque of dry friction of every hinge"});
  check_breaking(visit, s.joints.breaking, s.joint, s.joints.compliance,
                 s.joints.angular_compliance);
  if (s.links > 0 && placed) check_chain(visit, scene, s);
}

void describe_net(SettingsVisitor& visit, NetSettings& s) {
  visit.visit("count", s.count,
              {.min = 1, .required = true, .help = "knots along both directions"});
  visit.visit("from", numbers(s.from), {.unit = "m", .help = "centre of the first knot"});
  std::size_t width = 3;
  SettingInfo spacing{.unit = "m", .required = true};
  spacing.help = "two vectors, from knot to knot along both directions";
  visit.rows("spacing", s.spacing, width, spacing);
  describe_type(
      visit, s.joint, kKnotJoints, kKnotTypes,
      {.help = "`distance`: rods of fixed length between the centres of knots, which push "
               "as well as pull; `rope`: the same that only pull; "
               "`spherical`: arms of the knots that meet half-way"});
  visit.choose("anchored", s.anchored, kNetAnchors,
               {.help = "knots that are joined to the world by spherical joints: none, the four "
                        "corners, those of the first row, or all around"});
  describe_joints_of(visit, s.joints);
  check_breaking(visit, s.joints.breaking, s.joint, s.joints.compliance, kNone);
  if (s.spacing.empty()) return;
  if (s.spacing.size() != 6) {
    visit.reject("spacing", "needs two vectors", "for example [[0.1, 0, 0], [0, 0.1, 0]]");
    return;
  }
  const Vec3 a(s.spacing[0], s.spacing[1], s.spacing[2]);
  const Vec3 b(s.spacing[3], s.spacing[4], s.spacing[5]);
  if (!(a.cross(b).norm() > 1e-9 * a.norm() * b.norm())) {
    visit.reject("spacing", "both vectors have one direction or no length", "they span the net");
  }
}

void describe_tree(SettingsVisitor& visit, TreeSettings& s) {
  visit.visit("branching", s.branching,
              {.min = 1, .required = true, .help = "knots that hang on each one"});
  visit.visit("levels", s.levels, {.min = 1, .required = true, .help = "of knots below the root"});
  visit.visit("from", numbers(s.from), {.unit = "m", .help = "centre of the root"});
  visit.visit("drop", numbers(s.drop),
              {.unit = "m", .required = true, .help = "from each level to the next"});
  visit.visit("spread", numbers(s.spread),
              {.unit = "m",
               .help = "from each knot of the last level to the next; those above stand over the "
                       "middle of those below them"});
  describe_type(
      visit, s.joint, kKnotJoints, kKnotTypes,
      {.help = "`distance`: rods of fixed length between the centres of knots, which push as well "
               "as pull; `rope`: the same that only pull; `spherical`: a knot's arms reach to half "
               "a drop above each knot joined below it"});
  visit.visit("anchored", s.anchored,
              {.help = "whether a spherical joint holds the root at the world, at its centre or, "
                       "with arms, half a drop above it"});
  describe_joints_of(visit, s.joints);
  check_breaking(visit, s.joints.breaking, s.joint, s.joints.compliance, kNone);
  if (s.branching < 1 || s.levels < 1) return;
  if (n_knots(s) > kMostKnots) {
    visit.reject("levels", "makes more than " + std::to_string(kMostKnots) + " knots",
                 "give fewer levels or a smaller branching");
  }
  if (is_set(s.drop) && !(s.drop.norm() > 0.0))
    visit.reject("drop", "has no length", "give for example [0, 0, -0.1]");
}

void describe_bonds(SettingsVisitor& visit, BondSettings& s) {
  constexpr std::string_view kNames[] = {"fixed", "spherical"};
  constexpr JointType kTypes[] = {JointType::fixed, JointType::spherical};
  visit.visit("between", s.between,
              {.required = true,
               .help = "bodies and generators of which neighbours are joined when the run begins"});
  visit.visit("gap", s.gap,
              {.unit = "m",
               .min = 0,
               .min_open = true,
               .required = true,
               .help = "bodies closer to each other than this are neighbours; planes are none"});
  describe_type(visit, s.joint, kNames, kTypes,
                {.help = "what joins them, in the middle of their points of contact"});
  describe_joints_of(visit, s.joints);
  visit.visit("angular_compliance", s.joints.angular_compliance,
              {.unit = "rad/(N m)", .min = 0, .help = "of every bond, as in `joints`"});
  BreakSettings& breaking = s.joints.breaking;
  visit.visit("break_tension", breaking.tension,
              {.unit = "N",
               .min = 0,
               .min_open = true,
               .help = "as break_force, of the force along the normal where it pulls"});
  visit.visit("break_shear", breaking.shear,
              {.unit = "N",
               .min = 0,
               .min_open = true,
               .help = "as break_force, of the force across the normal"});
  check_breaking(visit, breaking, s.joint, s.joints.compliance, s.joints.angular_compliance);
  if (s.between.empty()) visit.reject("between", "names nothing", "name bodies or generators");
  // loops of rigid bonds would hold what others hold already
  if (!(s.joints.compliance > 0.0))
    visit.reject("compliance", "bonds need one, since a body may have many",
                 "give for example the contact's, 1 / stiffness");
  const bool fixed = s.joint == JointType::fixed;
  if (fixed && !(s.joints.angular_compliance > 0.0))
    visit.reject("angular_compliance", "fixed bonds need one, since a body may have many",
                 "give compliance over the square of the bond's radius");
  if (!fixed && given(s.joints.angular_compliance))
    visit.reject("angular_compliance", "spherical bonds hold no directions", "remove it");
}

}  // namespace catena::scenarios

namespace catena {

namespace {

/// Why no body of this name can have bonds; empty if some can.
std::string boundless(const SceneSettings& scene, const scenarios::BodyNames& bodies,
                      const std::string& name, std::vector<std::string>& known) {
  using Kind = scenarios::NamedBody::Kind;
  const scenarios::NamedBody body = bodies.find(name);
  if (body.kind == Kind::body)
    return scene.bodies[body.index].shape.type == ShapeType::plane
               ? "is a plane, which is nobody's neighbour"
               : "";
  const GeneratorSettings* generator =
      body.kind == Kind::generated ? &scene.generators[body.index] : nullptr;
  for (std::size_t i = 0; i < scene.generators.size(); ++i) {
    known.push_back(scenarios::stem_of(scene.generators[i], i));
    if (known.back() == name) generator = &scene.generators[i];
  }
  if (generator == nullptr) return "is no body or generator";
  if (generator->is<ContainerSettings>()) return "makes planes, which are nobody's neighbours";
  if (generator->is<InsertionSettings>()) return "makes bodies that come in after the start";
  if (generator->is<BondSettings>()) return "makes no bodies";
  return "";
}

}  // namespace

void check_bonds(const SceneSettings& scene) {
  const scenarios::BodyNames bodies(scene);
  for (const GeneratorSettings& g : scene.generators) {
    const auto* bonds = std::get_if<BondSettings>(&g.kind);
    if (bonds == nullptr) continue;
    for (const std::string& name : bonds->between) {
      std::vector<std::string> known;
      const std::string why = boundless(scene, bodies, name, known);
      if (why.empty()) continue;
      for (const BodySettings& body : scene.bodies) known.push_back(body.name);
      const std::string near = nearest_word(name, known);
      throw Error("'" + name + "' " + why, g.place + ".between",
                  near.empty() || near == name
                      ? "name bodies, or generators of bodies that are there at "
                        "the start and have an end"
                      : "did you mean " + near + "?");
    }
  }
}

}  // namespace catena
