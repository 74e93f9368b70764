#include "scenarios/make/packs.hpp"

#include <algorithm>

#include "scenarios/flow_parts.hpp"
#include "scenarios/make/body_maker.hpp"

namespace catena::scenarios {

std::vector<std::unique_ptr<Pack>> packs_of(const SceneSettings& scene, const GeometryPlan& plan,
                                            const Model& model) {
  std::vector<std::unique_ptr<Pack>> packs;
  for (std::size_t g = 0; g < scene.generators.size(); ++g) {
    packs.push_back(nullptr);
    const auto* s = std::get_if<PackSettings>(&scene.generators[g].kind);
    if (s == nullptr) continue;
    packs.back() = std::make_unique<Pack>(*s, plan.shape_of_generator(g, model),
                                          plan.region_of_generator(g, model), model,
                                          seed_of(scene, g, s->seed));
  }
  return packs;
}

BodyRecord pack_body(const PackSettings& s, const Pack& pack, const Shape& whole,
                     std::uint64_t seed, GlobalId first, GlobalId k, int material,
                     const Vec3& place, const Model& model) {
  const Shape shape = scaled(whole, pack.factor(k));
  const double density = model.materials.materials()[material].density;
  BodyRecord body = make_body(first + k, shape, material, density, place, model.geometries);
  constexpr std::uint64_t kOrientationStream = 1;
  if (s.random_orientation)
    body.state.pose.q = body_rotation(
        shape, random_rotation(seed, static_cast<std::uint64_t>(k), kOrientationStream),
        model.geometries);
  body.state.twist.v = s.velocity;
  return body;
}

PackPlaces::PackPlaces(const Communicator& comm, const SceneSettings& scene,
                       const std::vector<std::unique_ptr<Pack>>& packs,
                       const std::vector<Block>& blocks, GlobalId first, GlobalId last) {
  shares_.resize(blocks.size());
  for (std::size_t g = 0; g < blocks.size(); ++g) {
    if (packs[g] == nullptr) continue;
    const auto number = [&](GlobalId id) {
      return std::clamp(id - blocks[g].first, GlobalId{0}, blocks[g].count);
    };
    shares_[g].from = number(first);
    shares_[g].places =
        pack_places(comm, *packs[g], number(first), number(last), scene.generators[g].place);
  }
}

const Vec3& PackPlaces::of(std::size_t generator, GlobalId k) const {
  const Share& share = shares_[generator];
  const GlobalId at = k - share.from;
  CATENA_CHECK(at >= 0 && at < std::ssize(share.places), "a body of a pack of another rank");
  return share.places[static_cast<std::size_t>(at)];
}

}  // namespace catena::scenarios
