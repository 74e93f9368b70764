// Pairs of bodies that may touch in a step.
#pragma once

#include <span>
#include <vector>

#include "catena/collision/broad_phase.hpp"
#include "catena/search/contact_search.hpp"
#include "search/probes.hpp"
#include "search/wide_boxes.hpp"

namespace catena::search {

/// A pair as positions of probes in the order of ids, so that sorting it sorts by key; `high` is
/// displaced by the image.
struct IdPair {
  Index low, high;
  int image;
  bool same_bodies(const IdPair& o) const { return low == o.low && high == o.high; }
};

/// Finds the pairs whose contacts this rank holds: by overlapping boxes, and of planes with the
/// owned dynamic bodies that can reach them in the step.
class ProbePairs {
 public:
  ProbePairs(const Model& model, const Probes& probes) : model_(&model), probes_(&probes) {}

  /// In the order of ids.
  std::span<const IdPair> find(const LocalBodies& local, const WideBoxes& wide);

  std::size_t memory() const {
    return grid_.capacity() * 3 * sizeof(Aabb) +
           (pairs_.capacity() + sorted_.capacity() + merged_.capacity()) * sizeof(IdPair);
  }
  /// The pairs of wide boxes stay.
  void release();

 private:
  void add_pairs_of_boxes(const LocalBodies& local);
  void add_pairs_of_planes(const LocalBodies& local, bool listed);
  bool may_pair(const LocalBodies& local, Index a, Index b) const;
  void consider(const LocalBodies& local, Index a, Index b, int image);
  void add(std::size_t a, std::size_t b, int image);
  void sort();
  void list_wide_pairs(const LocalBodies& local, const WideBoxes& wide);
  void list_near_planes(const LocalBodies& local, const WideBoxes& wide);
  std::span<const IdPair> merge_wide_pairs();

  const Model* model_;
  const Probes* probes_;
  BroadPhase broad_phase_;
  std::vector<Aabb> grid_;        ///< periodic: the boxes and their images ...
  std::vector<ImageOf> grid_of_;  ///< ... and what they are of
  std::vector<IdPair> pairs_, sorted_, merged_;
  std::vector<Index> bucket_;
  /// Where a plane was when it was listed, and the bodies of wide boxes that it reaches there.
  struct NearPlane {
    Vec3 place, up;
    std::vector<Index> bodies;
  };
  std::vector<NearPlane> near_planes_;  ///< of the probes without boxes, by the last wide ones
  /// Pairs of wide boxes that may touch: of the probe at each position those at higher positions,
  /// ascending, up to its end.
  std::vector<Index> wide_end_, wide_high_;
};

}  // namespace catena::search
