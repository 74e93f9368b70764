// Which of a scene's shapes need a geometry, and the making of these.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "catena/scenarios/scene.hpp"
#include "scenarios/pieces/convex_pieces.hpp"

namespace catena::scenarios {

/// The geometries of a scene's bodies and generators, equal ones once, in the order of the case
/// (parts before their compound): a pure function of the settings, which must outlive it. Files
/// are read in build().
class GeometryPlan {
 public:
  explicit GeometryPlan(const SceneSettings& scene);

  /// Collective. Appends the geometries to those of the model, which has none, after them the
  /// pieces of surfaces with dents, which rank 0 cuts for all, and remarks on them to its warnings.
  /// Throws Error naming the file or the body for what cannot be read or is no surface that a body
  /// can have.
  void build(const Communicator& comm, Model& model) const;

  /// Shapes at scale 1, after build().
  Shape shape_of_body(std::size_t body, const Model& model) const;
  Shape shape_of_generator(std::size_t generator, const Model& model) const;
  /// Of a body that is none of the scene, with a geometry of one that is. Throws Error where it
  /// needs another.
  Shape shape_like(const BodySettings& body, const Model& model) const;
  /// The surface about the bodies of a pack; nullptr where its region is none.
  const Geometry* region_of_generator(std::size_t generator, const Model& model) const;

 private:
  struct Item {
    const ShapeSettings* shape;
    GeometryFrame frame;
    std::string name;        ///< the shape's key in the case
    std::string place;       ///< the same with file, line and column, where these are known
    Vec3 centre;             ///< of mass, in the written frame; kNone: of the uniform shape
    std::vector<int> parts;  ///< geometries of its parts, -1 where none is needed
  };
  int add(const ShapeSettings& shape, GeometryFrame frame, const std::string& name,
          const Vec3& centre = Vec3::Constant(kNone));
  static Shape shape_at(const ShapeSettings& shape, int geometry, const Model& model);
  /// `pieces`: of a surface that is decomposed.
  Geometry make(const Item& item, const std::string& content, const ConvexPieces& pieces,
                Model& model) const;
  Geometry make_compound(const Item& item, const std::string& content, Model& model) const;

  const SceneSettings& scene_;
  std::vector<Item> items_;
  std::map<std::string, int> known_;  ///< by what makes two shapes equal
  std::vector<int> of_body_, of_generator_, of_region_;
};

}  // namespace catena::scenarios
