// The end of another run, with which a case begins (docs/going-on.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catena/scenarios/insertion.hpp"
#include "catena/stepper/step_contacts.hpp"
#include "simulation/initial/find_checkpoint.hpp"
#include "simulation/initial/same_names.hpp"

namespace catena {

/// What a run leaves to a case with the key `initial`. Each rank reads its share of the checkpoint
/// and makes of it its share of the case's bodies; which body is which follows from names of
/// ranges, so that no rank holds more.
class EarlierRun {
 public:
  /// Collective. Reads the checkpoint; `settings` must outlive it. Throws Error on every rank, at
  /// the place of `initial.from`.
  EarlierRun(const Communicator& comm, const CaseSettings& settings);
  ~EarlierRun();

  /// Collective, first. The case's model.
  Model make_model();
  /// Planes that make_model put where the earlier run left them.
  const std::vector<MovedStart>& moved_starts() const { return starts_; }

  /// Collective, second. The case's bodies, joints and state at its start, on the ranks that read
  /// their rows: impulses and joints may not yet be with their bodies. `model` is that of
  /// make_model(). Throws Error for a body of another shape and for new joints that do not fit.
  void take_up(const Model& model, const std::vector<Insertion>& insertions, Bodies& bodies,
               State& state);
  /// Whether the places of bodies are those that the checkpoint gives: nothing is new.
  bool keeps_places() const { return keeps_places_; }
  const Checkpoint& checkpoint() const { return found_.checkpoint; }

  /// The case that the earlier run had, and the keys of `contact` on which stiffness depends that
  /// have other values now.
  const CaseSettings& before() const { return before_; }
  const std::vector<std::string>& changed_laws() const { return changed_laws_; }
  /// Ids of bodies, of those that this rank has read, whose contacts are stiffer or softer now:
  /// they have another mass, material or kind.
  const std::vector<GlobalId>& changed_bodies() const { return changed_bodies_; }
  const SameNames& same() const { return same_; }
  /// Names of bonds that both cases have: those of the earlier run go on. Complete after take_up().
  const std::vector<std::string>& bonds_gone_on() const { return bonds_gone_on_; }
  /// Number of these bonds, over all ranks.
  std::int64_t n_bonds() const { return bonds_; }

  /// What of both runs belongs together and what does not, for the log; complete after take_up().
  const std::vector<std::string>& remarks() const { return remarks_; }
  void add_remark(std::string text) { remarks_.push_back(std::move(text)); }
  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::string& path() const { return found_.path; }

 private:
  void find_time();
  void find_moved_starts(const Model& model);
  MotionStart gone_on(const Model& model, const MadeBody& made, const Pose& left);
  void take_plane_motions(const Model& model, State& state);
  void check_shape(const BodyConstants& old, const BodyConstants& now, const Model& model) const;
  bool gives_otherwise(const BodyConstants& old, const BodyConstants& now,
                       const Model& model) const;
  Pose turned_over(const Pose& pose, const Shape& old, const Shape& now, const Model& model) const;
  std::vector<MadeBody> made_of(const std::vector<GlobalId>& ids,
                                const std::vector<Insertion>& insertions) const;
  void take_bodies(const Model& model, const std::vector<Insertion>& insertions, Bodies& bodies,
                   State& state);
  /// Bodies of packs among ids first .. last-1.
  GlobalId packed_between(GlobalId first, GlobalId last) const;
  void add_new_bodies(const Model& model, Bodies& bodies, State& state);
  void take_joints(Bodies& bodies, State& state);
  void take_bonds(const Model& model, Bodies& bodies, State& state);
  void drop_held_bonds(const Model& model, Bodies& bodies, State& state);
  void add_new_joints(const Model& model, Bodies& bodies, State& state);
  void take_impulses(State& state);
  void follow_images(const Model& model, State& state);
  void take_flow(const std::vector<Insertion>& insertions, State& state) const;
  PeriodicBox find_box(const Model& model, bool inserts) const;
  void take_scalars(const Model& model, const Bodies& bodies, State& state);
  void report(const Model& model, const Bodies& bodies, const State& state);
  void report_motions(const Model& model);

  Communicator comm_;
  const CaseSettings& settings_;
  FoundCheckpoint found_;
  CaseSettings before_;
  Model model_before_;
  std::vector<std::string> changed_laws_;
  std::vector<GlobalId> changed_bodies_;
  std::unique_ptr<SceneMaker> maker_;  ///< of this case, while it is taken up
  SameNames same_;
  std::vector<MovedStart> starts_;
  std::vector<GlobalId> just_broken_;  ///< joints that broke in the last step, ascending
  /// Motions that are shifted, and bodies that jump to theirs; this rank's, but planes: rank 0's.
  struct MovedMotion {
    GlobalId body = kNoBody;
    double way = 0.0;  ///< m
  };
  std::vector<MovedMotion> shifted_, jumped_;
  std::vector<PutBack> put_back_;  ///< bodies of this rank that are elsewhere in this case's box
  PeriodicBox box_;                ///< periodic, at the earlier run's end
  double time_ = 0.0;              ///< at which this case begins
  std::int64_t step_ = 0;
  bool keeps_places_ = false;
  std::int64_t new_bodies_ = 0, new_joints_ = 0, bonds_ = 0;  ///< this rank's, then all
  /// Bonds that do not go on: between bodies that are held now, and those that this case does not
  /// have, with joints that a program added; the same.
  std::int64_t held_bonds_ = 0, lost_bonds_ = 0;
  std::vector<std::string> bonds_gone_on_;
  std::int64_t gone_bodies_ = 0, gone_impulses_ = 0, turned_round_ = 0;
  std::vector<std::string> remarks_, warnings_;
};

/// Collective. The earlier run of a case with the key `initial`; null without.
std::unique_ptr<EarlierRun> earlier_run(const Communicator& comm, const CaseSettings& settings);

}  // namespace catena
