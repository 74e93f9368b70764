// The joints' part of a time step.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "catena/constraints/joint_rows.hpp"
#include "catena/model/state.hpp"
#include "catena/search/contact_search.hpp"
#include "catena/stepper/time_stepper.hpp"

namespace catena {

/// What misfits of a joint are compared with, m: its longer arm from a body's centre of mass, the
/// larger radius of gyration of its dynamic bodies, the length of a rod; 0: nothing of it is known.
/// `body`: as in ContactSet::joint_bodies. Arms alone would not do: of a joint at a centre of mass
/// they are zero, or round-off.
double joint_length(const JointConstants& joint, const std::array<Index, kJointBodies>& body,
                    const LocalBodies& local);

/// What the rigid rows of this rank's joints did that nothing drives.
struct PassiveWork {
  double work = 0.0;      ///< J
  double impulses = 0.0;  ///< sum of |lambda|, N s (N m s)
  double speed = 0.0;     ///< largest of |G V_free|, m/s (rad/s)
};

/// Rows of this rank's joints in the problem, and what becomes of their impulses. Joints are those
/// of Bodies::joints, ContactSet::joint_bodies says where their bodies are.
class JointAssembler {
 public:
  explicit JointAssembler(const Model& model) : model_(model), writer_(model) {}

  /// Local. Appends the joints' general blocks, and their subdomains if the problem lists them.
  void add_blocks(const Bodies& bodies, const State& state, const ContactSet& set,
                  const JointStep& step, ConstraintProblem& problem);
  /// The general block of joint j (of Bodies::joints) that is `part` of it (of its first axis);
  /// kNoIndex: it has none.
  Index block_of(std::size_t j, JointRowKind part) const;
  /// Whether joint j's block has rows across (JointStep::across).
  bool has_rows_across(std::size_t j) const { return across_[j] != 0; }
  bool any_rows_across() const { return step_.across; }
  /// Joints that are rods, ropes or tendons, ascending.
  std::span<const Index> cords() const { return cords_; }
  /// What a rope's length leaves it, m, at the start of the step; < 0: it is too long.
  double slack(std::size_t j) const;
  /// Local. The impulses of the last step where the same block exists; `impulses`: all rows.
  void first_guess(const State& state, const ConstraintProblem& problem,
                   std::span<double> impulses) const;
  /// Local. Keeps the impulses in the state.
  void store(const ConstraintProblem& problem, std::span<const double> impulses,
             State& state) const;
  /// Local. Adds the work of one step's joint impulses, lambda . (u- + u+)/2 as for contacts.
  /// `local` has V0, `twists` are V of all bodies, 6 numbers each. JointState::work goes on.
  /// Returns the work of rigid passive joints.
  PassiveWork add_work(const ConstraintProblem& problem, std::span<const double> impulses,
                       const LocalBodies& local, std::span<const double> twists, AuditTerms& audit,
                       State& state) const;
  /// Local. Angles of the joints at the present poses of `set.bodies`.
  void update_angles(const Bodies& bodies, const ContactSet& set, State& state) const;
  /// Local. Misfits of the rigid position rows at the present poses, negative, in the problem's
  /// rows (others 0). Returns the largest, m or rad.
  JointMisfit misfits(const Bodies& bodies, const State& state, const ContactSet& set,
                      std::span<double> rhs, const ConstraintProblem& problem) const;
  /// Largest misfits at the start of the step, this rank's.
  const JointMisfit& misfit() const { return misfit_; }
  /// The same as one number: rad, or as a part of the joint's longer arm; of joints without arms
  /// angles alone.
  double relative_misfit() const { return relative_misfit_; }
  /// Largest misfit of rigid rows as a part of its joint's length (joint_length), or rad, and whose
  /// it is; kNoBody: no joint has any.
  double drift() const { return drift_; }
  GlobalId drift_joint() const { return drift_joint_; }
  /// Local. Velocities of rigid rows that `local` has at the step's start, negative, in the
  /// problem's rows (others 0). Returns the joint with the largest and that, m/s or rad/s; kNoBody:
  /// all are 0.
  GlobalId start_slips(const Bodies& bodies, const LocalBodies& local,
                       const ConstraintProblem& problem, std::span<double> rhs,
                       double& largest) const;
  /// Local. What joint j (of Bodies::joints) did in the step that `impulses` are of.
  JointReaction reaction(std::size_t j, const ConstraintProblem& problem,
                         std::span<const double> impulses, const ContactSet& set) const;
  /// Coordinates of joint j at the present poses.
  std::array<double, 3> coordinates(const Bodies& bodies, const State& state, const ContactSet& set,
                                    std::size_t j) const;
  /// Local. What the compliances of joint j store at the present poses, J.
  double stored_energy(const Bodies& bodies, const State& state, const ContactSet& set,
                       std::size_t j) const;
  /// To p_B from the centre of b (a, where b is the world) at the step's start, m.
  const Vec3& arm(std::size_t j) const { return arm_[j]; }
  /// Local. Their rates, by the twists in `set`.
  std::array<double, 3> rates(const Bodies& bodies, const State& state, const ContactSet& set,
                              std::size_t j) const;
  /// Local. p_B by the poses in `set`, m.
  static Vec3 point(const JointConstants& joint, const ContactSet& set, std::size_t j);
  /// Local. The joint whose bilateral rows miss w = 0 most, and by how much, m/s or rad/s;
  /// kNoIndex: no joints here.
  Index worst(const ConstraintProblem& problem, std::span<const double> impulses,
              std::span<const double> twists, double& slip) const;
  /// Local. Joints whose motors without bound miss their targets by more than a per cent, and by
  /// how much, m/s or rad/s.
  std::vector<std::pair<GlobalId, double>> missed_drives(const Bodies& bodies,
                                                         const ConstraintProblem& problem,
                                                         std::span<const double> impulses,
                                                         std::span<const double> twists) const;

 private:
  static void place(const std::array<Index, kJointBodies>& body, const LocalBodies& local,
                    JointPoses& poses);
  static JointPoses poses_of(const std::array<Index, kJointBodies>& body, const LocalBodies& local);
  static double row_slip(const ConstraintProblem& problem, std::size_t k, Index r,
                         std::span<const double> impulses, std::span<const double> twists);
  /// Impulses that joint j gives to a, b and the third body, and couples about their centres.
  std::array<Twist, kJointBodies> impulses_on(std::size_t j, const ConstraintProblem& problem,
                                              std::span<const double> impulses,
                                              const ContactSet& set) const;
  void clear(std::size_t n_joints);
  std::size_t add_joint(const JointConstants& joint, const JointState& state,
                        const std::array<Index, kJointBodies>& body, const JointPoses& poses,
                        const LocalBodies& local, std::size_t j, const JointStep& step);
  std::size_t add_plain(const JointConstants& joint, const std::array<Index, kJointBodies>& body,
                        const LocalBodies& local, std::size_t j);
  void note_misfit(const JointConstants& joint, const JointMisfit& own,
                   const std::array<Index, kJointBodies>& body, const LocalBodies& local);
  void note_drift(const JointConstants& joint, const JointMisfit& own, double length);
  Index block_of(std::size_t made) const { return first_block_ + to_index(made); }

  const Model& model_;
  JointBlockWriter writer_;
  Index first_block_ = 0;            ///< of the joints among the general blocks
  std::vector<JointBlockRef> made_;  ///< from first_block_ on
  std::vector<Index> begin_;         ///< per joint: its first entry of made_; one more at the end
  std::vector<std::uint8_t> rows_;   ///< per joint: rows of its geometry, without motors
  std::vector<char> rigid_;          ///< per joint: neither a spring, a winch nor compliant
  std::vector<char> winch_;          ///< per joint: its rows are a motor's
  JointStep step_;
  std::vector<char> across_;  ///< per joint: it has rows across
  std::vector<Index> cords_;
  std::vector<double> slack_;  ///< per cord
  std::vector<Index> angled_;  ///< joints with angles
  std::vector<Vec3> arm_;      ///< per joint: to p_B from the centre of b (a, where b is the world)
  /// Of a tendon: to p_B from the centre of each of its bodies.
  struct TendonArms {
    Index joint;
    std::array<Vec3, kJointBodies> arm;
  };
  std::vector<TendonArms> tendon_arms_;  ///< ascending in the joint
  JointMisfit misfit_;
  double relative_misfit_ = 0.0;
  double drift_ = 0.0;
  GlobalId drift_joint_ = kNoBody;
  /// Per joint: axes whose motors are rows of its bilateral block, behind those of its geometry.
  std::vector<std::array<char, kJointAxes>> motor_row_;
};

}  // namespace catena
