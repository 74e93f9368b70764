// Bodies of a case as pure functions of their ids.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catena/scenarios/scene.hpp"
#include "scenarios/joint_parts.hpp"
#include "scenarios/make/geometry_plan.hpp"
#include "scenarios/make/packs.hpp"

namespace catena::scenarios {

/// Ids of the bodies of one generator.
struct Block {
  GlobalId first = 0;
  GlobalId count = 0;
};

/// Collective. Ids of each generator; those of the bodies stand before. The model has its
/// geometries.
std::vector<Block> blocks_of(const SceneSettings& scene, const Communicator& comm,
                             const Model& model);

/// Throws Error, with its place, for a lattice whose `sizes` let neighbours overlap.
void check_lattices(const SceneSettings& scene, const GeometryPlan& plan, const Model& model);
/// Throws Error, with its place, for a pack that cannot be; remarks go to the model's warnings.
void check_packs(const SceneSettings& scene, const GeometryPlan& plan, Model& model);

/// The planes of a container: a point and the inward normal.
std::vector<std::pair<Vec3, Vec3>> walls_of(const ContainerSettings& s);

/// Number of a group in Model::group_pairs.
std::uint8_t group_of(const std::vector<std::string>& groups, const std::string& name);

/// A body as its settings say, where they put it. `motion`: its place in Model::motions; `groups`:
/// those of the case.
BodyRecord body_of(GlobalId id, const BodySettings& s, const Shape& shape, int motion,
                   const std::vector<std::string>& groups, const Model& model);

/// Makes any body of a case from its id. The settings and the model, which has its geometries and
/// motions, must outlive it. Only place_packs communicates.
class BodyMaker {
 public:
  BodyMaker(const SceneSettings& scene, std::vector<Block> blocks, const Model& model);

  const std::vector<Block>& blocks() const { return blocks_; }

  /// Collective. Finds the places of packs' bodies of ids first .. last-1; each id is on one rank's
  /// list. Before it has run they are made at no place (NaN). Throws Error on every rank where
  /// bodies do not fit.
  void place_packs(const Communicator& comm, GlobalId first, GlobalId last);

  /// Bodies of ids first .. last-1, ascending, at t = 0 and within the periodic box, but not the
  /// unbounded ones. Throws Error for bad rows of a table.
  void make(GlobalId first, GlobalId last, const std::function<void(const MadeBody&)>& take) const;
  /// One of `bodies`, planes too, where the case puts it.
  BodyRecord listed(std::size_t i) const;
  /// Bodies of these ids (ascending, no one twice) in their order; a table is read once.
  std::vector<MadeBody> some(const std::vector<GlobalId>& ids) const;

  /// Joints whose home is a body that chains and nets make with an id of first .. last-1, ascending
  /// in id; `first_joint` is the first one's of each generator.
  std::vector<JointConstants> joints_of_generators(const std::vector<GlobalId>& first_joint,
                                                   GlobalId first, GlobalId last) const;

  /// Rotation of a body's frame in that of its shape as written.
  Quat written(const Shape& shape) const;

 private:
  using Take = std::function<void(const BodyRecord&)>;
  void make_generated(std::size_t generator, GlobalId from, GlobalId to, const Take& take) const;
  void make_table(std::size_t generator, GlobalId from, GlobalId to, const Take& take) const;
  /// Of a net or a tree.
  template <class Settings>
  void make_knots(const Settings& s, std::size_t generator, GlobalId from, GlobalId to,
                  const Take& take) const;
  BodyRecord link(const ChainSettings& s, std::size_t generator) const;
  /// With its motion, and where that has it at the start.
  MadeBody moved(const BodyRecord& body) const;
  LinkFrame frame_of_link(const ChainSettings& s, const Shape& shape) const;
  /// As its owner holds it at the start.
  MadeBody finished(const BodyRecord& body) const;
  int material_of(const std::string& name) const { return model_.materials.find(name); }
  double density_of(int material) const;

  const SceneSettings& scene_;
  const Model& model_;
  std::vector<Block> blocks_;
  GeometryPlan plan_;
  std::vector<std::unique_ptr<Pack>> packs_;  ///< per generator
  std::unique_ptr<PackPlaces> places_;
  std::vector<std::string> groups_;
  std::vector<int> motions_, generator_motions_;  ///< per listed body and generator; -1: none
  std::vector<std::int32_t> table_geometry_;      ///< per generator
  std::vector<std::unique_ptr<scenarios::ChainCurve>> curves_;  ///< per generator
};

}  // namespace catena::scenarios
