// What a solve may have left: motors held back, joints that contradict each other, unsound bodies.
#include <algorithm>

#include "catena/base/timer.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/stepper/semi_implicit_stepper.hpp"
#include "stepper/soundness.hpp"
#include "stepper/twists.hpp"

namespace catena {

bool SemiImplicitStepper::sound_after(const State& state, std::size_t i) const {
  return is_sound(state.body[i].pose, get_twist(velocities_, i));
}

void SemiImplicitStepper::find_held_drives(const Bodies& bodies) {
  const ScopedTimer timer(report_.times[StepStage::find_held_drives]);
  constexpr std::size_t kMaxNamed = 10;
  report_.held_drives.clear();
  report_.drive_miss = 0.0;
  // swept joints may just have had too few sweeps
  if (report_.solve.joints.joints == 0) return;
  const auto missed = joints_.missed_drives(bodies, *problem_, impulses_, velocities_);
  std::vector<std::int64_t> ids;
  for (const auto& [id, miss] : missed) {
    ids.push_back(id);
    report_.drive_miss = std::max(report_.drive_miss, miss);
  }
  report_.drive_miss = comm_.max(report_.drive_miss);
  if (!(report_.drive_miss > 0.0)) return;
  ids = all_gather_values(comm_, ids);
  std::sort(ids.begin(), ids.end());
  ids.resize(std::min(ids.size(), kMaxNamed));
  report_.held_drives.assign(ids.begin(), ids.end());
}

void SemiImplicitStepper::check_solution(const Bodies& bodies, const State& state) {
  const ScopedTimer timer(report_.times[StepStage::check_solution]);
  bool sound = true;
  for (std::size_t i = 0; i < bodies.constants.size() && sound; ++i) {
    sound = bodies.constants[i].kind != BodyKind::dynamic || sound_after(state, i);
  }
  const bool all_sound = comm_.min(std::int64_t{sound ? 1 : 0}) == 1;
  if (!all_sound || report_.solve.status == SolveStatus::breakdown) blow_up(bodies, state);
  if (state.step == 0) refuse_contradictions(bodies);
}

void SemiImplicitStepper::refuse_contradictions(const Bodies& bodies) const {
  // what exact solves of consistent joints leave is round-off; sweeps may just have been too few
  constexpr double kMet = 1e-6;
  if (report_.solve.joints.joints == 0) return;
  const Errors& errors = report_.solve.errors;
  if (!(errors.energy_joint > kMet * report_.solve.initial.energy_joint)) return;
  double slip = 0.0;
  const Index j = joints_.worst(*problem_, impulses_, velocities_, slip);
  const double largest = comm_.max(slip);
  if (!(largest > kMet)) return;
  const bool here = j != kNoIndex && slip == largest;
  const GlobalId id = least_id(comm_, here, here ? bodies.joints[j].id : kNoBody);
  const auto place_of = [&](GlobalId joint) {
    const std::string place = model_.joint_places.text_of(joint);
    return place.empty() ? std::string("joints") : place;
  };
  std::string motors;
  for (const GlobalId held : report_.held_drives)
    motors += (motors.empty() ? "" : ", ") + model_.joint_names.name_of(held);
  if (!motors.empty())
    throw Error("joints contradict each other: the motors of " + motors +
                    " ask for what the joints of their loops do not allow, and miss it by up to " +
                    std::to_string(report_.drive_miss) + " m/s (or rad/s) in the first step",
                place_of(report_.held_drives.front()),
                "give the motors bounds (max_force), at which they stall, or leave some out");
  throw Error("joints contradict each other: with all others met as far as possible, joint " +
                  model_.joint_names.name_of(id) + " misses its rows by " +
                  std::to_string(largest) + " m/s (or rad/s) in the first step",
              place_of(id),
              "look at the joints of the loop that it belongs to: motors, lengths, axes");
}

void SemiImplicitStepper::blow_up(const Bodies& bodies, const State& state) const {
  // One bad body spoils all that it touches within the step: of the unsound ones the one
  // that was fastest before is named.
  const GlobalId unsound = worst_body(comm_, bodies, [&](std::size_t i) {
    const bool dynamic = bodies.constants[i].kind == BodyKind::dynamic;
    return !dynamic || sound_after(state, i) ? -1.0 : speed_ratio(state.body[i]);
  });
  const auto name = [&](GlobalId id) {
    return "body " + model_.names.name_of(id) + " (id " + std::to_string(id) + ")";
  };
  const std::string step_name = "step " + std::to_string(state.step + 1);
  if (unsound != kNoBody) {
    throw BlowUp(step_name + ": the state of " + name(unsound) +
                 " is not finite or beyond 1e8 m/s");
  }
  const GlobalId heaviest = worst_body(comm_, bodies, [&](std::size_t i) {
    return bodies.constants[i].kind == BodyKind::dynamic ? bodies.constants[i].mass : -1.0;
  });
  throw BlowUp(step_name + ": the contact solver broke down (" + report_.solve.reason + ")" +
               (heaviest == kNoBody ? "" : "; the heaviest is " + name(heaviest)));
}

}  // namespace catena
