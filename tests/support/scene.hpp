// A constraint problem described whole, and its parts on any number of ranks: the input of
// every test that compares rank counts.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena::test {

struct SceneBody {
  MassKind mass = MassKind::prescribed;
  std::vector<double> inverse_mass;   ///< as in ProblemBodies
  std::vector<double> free_velocity;  ///< as many as the body has
};

/// A general block; `bodies` by id.
struct SceneBlock {
  BlockKind kind = BlockKind::bilateral;
  std::vector<GlobalId> bodies;
  std::vector<std::vector<double>> jacobians;  ///< rows x velocities of each body, row by row
  std::vector<double> q;                       ///< per row; its length is the number of rows
  double friction = 0.0;
  std::vector<double> compliance;                          ///< empty: zeros
  std::vector<double> lower, upper;                        ///< boxed only
  std::vector<std::uint8_t> angular;                       ///< empty: linear rows
  double rolling = -1.0, spinning = -1.0, cohesion = 0.0;  ///< contacts, as in GeneralBlocks
};

/// All bodies and blocks. A body's id is its position.
struct Scene {
  ContactLaw law = ContactLaw::coulomb;
  std::vector<SceneBody> bodies;
  std::vector<RigidContact> contacts;  ///< body_a and body_b are ids
  std::vector<SceneBlock> blocks;

  GlobalId add_prescribed(const Twist& twist = {});
  /// `inertia`: principal moments on the world's axes.
  GlobalId add_rigid(double mass, const Vec3& inertia, const Twist& free_twist = {});
  /// `inverse_inertia`: full, world frame.
  GlobalId add_rigid_full(double inverse_mass, const Mat3& inverse_inertia,
                          const Twist& free_twist = {});
  GlobalId add_dense(std::vector<double> inverse_mass, std::vector<double> free_velocity);
  /// Contact of bodies a < b; the tangents are tangents_of(normal).
  RigidContact& add_contact(GlobalId a, GlobalId b, const Vec3& normal, const Vec3& arm_a,
                            const Vec3& arm_b, double bias, double friction);

  Index n_rows() const;
  Index n_dofs() const;
};

/// The contact as a general block of 3 to 6 rows: with rolling rows about both tangents where
/// rolling >= 0, a spinning row about the normal where spinning >= 0.
SceneBlock wide_block(const RigidContact& contact, double rolling, double spinning,
                      double cohesion = 0.0);
/// The scene with all its rigid contacts as such blocks, after those that it has.
Scene with_couples(Scene scene, double rolling, double spinning, double cohesion = 0.0);

/// Rank of a body, 0 .. size-1.
using Owner = std::function<int(GlobalId)>;
/// Global number of the subdomain of a body; all bodies of one lie on one rank.
using SubdomainOf = std::function<Index(GlobalId)>;

/// Bodies dealt like cards: neighbours in id lie on different ranks.
Owner deal(const Communicator& comm);
/// Contiguous ranges of ids of about equal length.
Owner slabs(const Communicator& comm, const Scene& scene);
/// All on rank 0.
Owner first_rank();

/// A rank's part and where it lies in the scene.
struct LocalScene {
  ConstraintProblem problem;
  std::vector<Index> row;  ///< the scene's row of each local row
  std::vector<Index> dof;  ///< the scene's velocity of each local velocity
  Index scene_rows = 0;
  Index scene_dofs = 0;
};

/// This rank's part, built without messages: bodies where `owner` puts them, each block on
/// the rank of its first dynamic body, the others as ghosts (ascending in owner, then id),
/// prescribed bodies that others own last. Rows of the scene: contacts, then blocks.
/// `subdomain` fills block_subdomain with that of the block's first dynamic body.
LocalScene distribute(const Scene& scene, const Communicator& comm, const Owner& owner,
                      const SubdomainOf& subdomain = {});

/// The whole scene on one rank (Communicator::self()).
ConstraintProblem whole(const Scene& scene, const SubdomainOf& subdomain = {});
/// The same under another law.
ConstraintProblem whole(const Scene& scene, ContactLaw law);

/// Collective. Rows (velocities of owned bodies) of all ranks in the scene's order, on every rank.
std::vector<double> gather_rows(const LocalScene& local, std::span<const double> rows);
std::vector<double> gather_velocities(const LocalScene& local, std::span<const double> velocities);

/// Numbers between -1 and 1 that all differ.
std::vector<double> wave(Index n);

/// This rank's part of rows in the scene's order.
std::vector<double> local_rows(const LocalScene& local, std::span<const double> scene_rows);

}  // namespace catena::test
