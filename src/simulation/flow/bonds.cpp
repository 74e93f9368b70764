#include "catena/simulation/bonds.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/comm/ordered_rows.hpp"
#include "catena/model/body_group.hpp"
#include "catena/partition/joint_links.hpp"
#include "catena/scenarios/break_limits.hpp"
#include "catena/search/contact_search.hpp"

namespace catena {

namespace {

/// The bonds of one generator.
struct BondKind {
  const BondSettings* settings;
  BodyGroup bodies;
  JointConstants like;
};

/// A bond on its way to the rank that holds it.
struct Bond {
  JointConstants joint;
  std::int64_t rank = 0;
};

/// Those that are to be made.
std::vector<BondKind> kinds_of(const SceneSettings& scene, const Model& model,
                               std::span<const std::string> gone_on) {
  std::vector<BondKind> kinds;
  std::vector<BodyGroup> taken;
  for (std::size_t g = 0; g < scene.generators.size(); ++g) {
    const GeneratorSettings& generator = scene.generators[g];
    const auto* s = std::get_if<BondSettings>(&generator.kind);
    if (s == nullptr) continue;
    BodyGroup bodies(s->between, model, generator.place + ".between");
    if (std::ranges::find(gone_on, s->name) != gone_on.end())
      taken.push_back(std::move(bodies));
    else
      kinds.push_back({s, std::move(bodies), bond_like(scene, g)});
  }
  for (const BondKind& kind : kinds)
    if (std::ranges::any_of(taken, [&](const BodyGroup& t) { return t.overlaps(kind.bodies); }))
      throw Error(
          "the bonds '" + kind.settings->name + "' name bodies that have bonds of the earlier run",
          "generators", "give all bonds of these bodies the names that they had");
  return kinds;
}

/// The bond of a pair, from its points of contact.
Bond bond_of(std::span<const Contact> points, const LocalBodies& local, const Model& model,
             const JointConstants& like) {
  Vec3 point = Vec3::Zero(), normal = Vec3::Zero();
  for (const Contact& contact : points) {
    point += contact.point;
    normal += contact.normal;
  }
  point /= static_cast<double>(points.size());
  const Quat axes = Quat::FromTwoVectors(Vec3::UnitZ(), normal);
  const std::array<Index, 2> body = {points[0].body_a, points[0].body_b};
  Bond bond;
  bond.joint = like;
  for (std::size_t k = 0; k < 2; ++k) {
    const Pose& at = local.state[body[k]].pose;
    Vec3 arm = point - at.p;
    arm -= model.periodic.nearest_shift(arm);
    const Quat back = at.q.conjugate();
    bond.joint.frame[k] = {back * arm, (back * axes).normalized()};
    bond.joint.body[k] = local.constants[body[k]].id;
  }
  const bool dynamic_b = local.constants[body[1]].kind == BodyKind::dynamic;
  bond.rank = local.owner[body[dynamic_b ? 1 : 0]];
  return bond;
}

bool is_polytope(const Shape& shape) {
  return shape.type == ShapeType::box || shape.type == ShapeType::hull;
}

/// Whether the bodies of these points of contact are neighbours by more than an edge or a corner.
bool face_each_other(std::span<const Contact> points, const LocalBodies& local) {
  const bool polytopes = is_polytope(local.constants[points[0].body_a].shape) &&
                         is_polytope(local.constants[points[0].body_b].shape);
  return !polytopes || points.size() > 2;
}

/// Bonds of pairs whose points of contact this rank holds. Points come in the order of pairs.
std::vector<Bond> find_bonds(const ContactSet& set, const std::vector<BondKind>& kinds,
                             const Model& model) {
  std::vector<Bond> bonds;
  const std::vector<Contact>& all = set.contacts;
  const auto bounded = [&](Index body) {
    return set.bodies.constants[body].shape.type != ShapeType::plane;
  };
  for (std::size_t k = 0; k < all.size();) {
    std::size_t end = k + 1;
    const ContactKey& key = all[k].key;
    while (end < all.size() && all[end].key.a == key.a && all[end].key.b == key.b) ++end;
    // in a narrow periodic box the pair may touch in several images: one of them counts
    std::vector<Contact> points;
    std::copy_if(all.begin() + narrow<std::ptrdiff_t>(k), all.begin() + narrow<std::ptrdiff_t>(end),
                 std::back_inserter(points),
                 [&](const Contact& c) { return image_of(c.key) == image_of(key); });
    k = end;
    if (!bounded(points[0].body_a) || !bounded(points[0].body_b)) continue;
    if (!face_each_other(points, set.bodies)) continue;
    const double gap = std::ranges::min(points, {}, &Contact::gap).gap;
    for (const BondKind& kind : kinds) {
      if (!(gap < kind.settings->gap) || !kind.bodies.contains(key.a) ||
          !kind.bodies.contains(key.b))
        continue;
      bonds.push_back(bond_of(points, set.bodies, model, kind.like));
      break;
    }
  }
  return bonds;
}

/// Collective. Gives them ids in the order of their pairs and each to the rank that holds it.
std::vector<JointConstants> deal(const Communicator& comm, std::vector<Bond> bonds, GlobalId first,
                                 std::int64_t& n_all) {
  RowRange range;
  const auto pair = [](const Bond& bond) {
    return std::array<GlobalId, 2>{bond.joint.body[0], bond.joint.body[1]};
  };
  bonds = order_rows(comm, std::move(bonds), pair, range);
  n_all = narrow<std::int64_t>(range.total);
  std::vector<Packer> to(comm.size());
  for (std::size_t k = 0; k < bonds.size(); ++k) {
    bonds[k].joint.id = first + narrow<GlobalId>(range.first + k);
    to[bonds[k].rank].put(bonds[k].joint);
  }
  std::vector<Parcel> parcels;
  for (int rank = 0; rank < comm.size(); ++rank)
    if (std::vector<std::byte> bytes = to[rank].take(); !bytes.empty())
      parcels.push_back({rank, std::move(bytes)});
  std::vector<JointConstants> own;
  for (const Parcel& parcel : comm.exchange(std::move(parcels)))
    for (Unpacker in(parcel.bytes); !in.empty();) own.push_back(in.get<JointConstants>());
  std::ranges::sort(own, {}, &JointConstants::id);
  return own;
}

}  // namespace

JointConstants bond_like(const SceneSettings& scene, std::size_t g) {
  const auto& s = std::get<BondSettings>(scene.generators[g].kind);
  JointConstants joint;
  joint.type = s.joint;
  joint.collide = s.joints.collide;
  joint.compliance = s.joints.compliance;
  if (s.joint == JointType::fixed) joint.angular_compliance = s.joints.angular_compliance;
  if (!std::isnan(s.joints.damping_time)) joint.damping_time = s.joints.damping_time;
  joint.breaking = scenarios::break_limits_of_generator(scene, g);
  return joint;
}

bool is_like(const JointConstants& joint, const JointConstants& bond) {
  const auto numbers = [](const JointConstants& j) {
    return std::tuple(j.type, j.collide, j.compliance, j.angular_compliance, j.breaking);
  };
  const bool same_damping = joint.damping_time == bond.damping_time ||
                            (std::isnan(joint.damping_time) && std::isnan(bond.damping_time));
  return numbers(joint) == numbers(bond) && same_damping;
}

std::int64_t make_bonds(const Communicator& comm, const SceneSettings& scene, const Model& model,
                        std::span<const std::string> gone_on, Bodies& bodies, State& state) {
  const std::vector<BondKind> kinds = kinds_of(scene, model, gone_on);
  if (kinds.empty()) return 0;
  // the search for contacts, with the widest gap as their margin
  Model neighbours = model;
  neighbours.contact.margin = 0.0;
  for (const BondKind& kind : kinds)
    neighbours.contact.margin = std::max(neighbours.contact.margin, kind.settings->gap);
  ContactSet set;
  ContactSearch(comm, neighbours).find(bodies, state, 0.0, set);
  std::int64_t n_bonds = 0;
  const std::vector<JointConstants> own = deal(
      comm, find_bonds(set, kinds, model), model.joint_names.size() + state.added_joints, n_bonds);
  bodies.joints.insert(bodies.joints.end(), own.begin(), own.end());
  state.joints.resize(bodies.joints.size());
  state.added_joints += n_bonds;
  link_joints(comm, bodies);
  return n_bonds;
}

}  // namespace catena
