// Joints in natural coordinates: equations that are linear or quadratic in s, drivers, springs.
#pragma once

#include <array>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/model/joint.hpp"
#include "catena/model/model.hpp"
#include "stepper/natural/natural_body.hpp"

namespace catena {

/// What joints, springs and forces do to a body: J^T mu, and J'^T mu + F.
struct NaturalLoad {
  NaturalCoordinates hold, rate;
};

/// What equations read and write of each local body.
struct NaturalBodies {
  std::vector<NaturalMass> mass;  ///< of prescribed bodies: all zero
  std::vector<char> dynamic;
  std::vector<NaturalCoordinates> place;       ///< s, third axes filled in
  std::vector<NaturalCoordinates> correction;  ///< rates that keep internal constraints; else 0
  std::vector<NaturalCoordinates> rate;        ///< s'
  std::vector<Twist> twist;
  std::vector<NaturalLoad> load;
};

/// One equation of a joint. p_A, p_B are the origins of its frames, d = p_B - p_A; u is a vector
/// fixed in a (or moved in it by a driver), v one fixed in b.
enum class NaturalEquation : std::uint8_t {
  point,    ///< e_k . d = 0, world axis k
  along,    ///< u . d = target
  between,  ///< u . v = 0; with a driver u or v turn in their body
  square,   ///< (d . d - target^2)/(2 length) = 0
  edge,     ///< v . (velocity of p_B on b less that on a, which is prescribed) = 0
  spin,     ///< u . (omega_B - omega_A) = target rate
};

/// When and how far into a step, for targets over time.
struct NaturalTime {
  double t = 0.0;               ///< s
  double from = 0.0, to = 0.0;  ///< the step: a table's slope is that inside of it
  double inside() const { return 0.5 * (from + to); }
};

/// The equations of one joint.
class NaturalJoint {
 public:
  /// Throws Error(bad_input), naming the joint, where it cannot be stated so: gear, rolling,
  /// limits, bounded motors, friction, compliance, a frame that needs an axis a rod or a point does
  /// not have. `body`: local bodies, kNoIndex the world.
  NaturalJoint(const JointConstants& joint, const std::array<Index, kJointBodies>& body,
               const NaturalBodies& bodies, const Model& model);

  int rows() const { return narrow<int>(terms_.size()); }
  bool is_spring() const;
  bool is_driven() const { return driven_; }
  /// Whether a row is a motor's.
  bool is_driver(int row) const { return terms_[row].driver >= 0; }
  /// The axis of a driver's row.
  int driven_axis(int row) const { return terms_[row].driver; }
  const JointConstants& constants() const { return *joint_; }
  const std::array<Index, 2>& body() const { return body_; }
  bool angular(int row) const;

  /// What rows say at bodies.place: Jacobians on the twists of a and b (rows x 6 each, of bodies
  /// that are not the world), right-hand sides q = -alpha f - f_t - C s'_correction with the
  /// explicit part f_t of drivers, and misfits f (0 of velocity rows), m or rad.
  void state(const NaturalBodies& bodies, const NaturalTime& time, double alpha,
             std::array<double*, 2> jacobian, double* q, double* misfit) const;
  /// Rates that drivers prescribe to each row's own coordinate, in the row's scale; 0 without.
  void driver_rates(const NaturalBodies& bodies, const NaturalTime& time, double* rates) const;
  /// Adds C^T mu and C'^T mu to `load` at bodies.place and rate.
  void hold(const NaturalBodies& bodies, const NaturalTime& time, const double* mu,
            std::vector<NaturalLoad>& load) const;
  /// Impulse and couple about p_B on body b (on a, the other way, where b is the world) of
  /// multipliers lambda on the rows.
  void reaction(const NaturalBodies& bodies, const NaturalTime& time, const double* lambda,
                Vec3& impulse, Vec3& couple) const;
  /// Multipliers lambda as JointState::impulse has them: in the order and directions of
  /// JointGeometry's rows.
  void as_rows(const NaturalBodies& bodies, const double* lambda,
               std::array<double, kJointRows>& rows) const;

  /// Springs: force (N, along d) or torque (N m, about z_A) on b at bodies.place and rate; `angle`
  /// is within half a turn of the present one. Adds it to `load`, its power (W) on all bodies and
  /// that on prescribed ones to the last two; returns it.
  double pull(const NaturalBodies& bodies, double angle, std::vector<NaturalLoad>& load,
              double& power, double& power_on_prescribed) const;
  /// Impulse of a spring's sum of forces, as reaction().
  void spring_reaction(const NaturalBodies& bodies, double sum, Vec3& impulse, Vec3& couple) const;

 private:
  struct Term {
    NaturalEquation equation;
    int axis = 0;                 ///< point: k
    Vec3 u = Vec3::Zero();        ///< on A's axes of coordinates
    Vec3 v = Vec3::Zero();        ///< on B's
    int driver = -1;              ///< joint axis whose motor drives it
    bool turns_v = false;         ///< the driver turns v, not u
    Vec3 quarter = Vec3::Zero();  ///< what a turning vector leads to after a quarter of a turn
    bool velocity = false;        ///< no position equation
    double target0 = 0.0;         ///< square: length
    bool angular = false;
  };
  struct Sides;
  struct Vectors;

  void add_rows();
  void add_drivers();
  void check(const NaturalBodies& bodies) const;
  [[noreturn]] void refuse(const std::string& why, const std::string& fix) const;
  Sides sides(const NaturalBodies& bodies) const;
  /// Target and its rate of the motor of an axis.
  std::array<double, 2> target(int axis, const NaturalTime& time) const;
  /// u and v of a term on the bodies' axes, and their own rates.
  Vectors vectors(const Term& term, const NaturalTime& time) const;

  const JointConstants* joint_;
  std::array<Index, 2> body_;
  const Model* model_;
  std::vector<Term> terms_;
  std::array<Mat3, 2> frame_;  ///< axes of frame A on a's axes, of frame B on b's
  bool driven_ = false;
};

}  // namespace catena
