#include "simulation/initial/earlier_run.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/io/yaml_settings.hpp"
#include "simulation/initial/added_names.hpp"
#include "simulation/initial/moved_starts.hpp"

namespace catena {

namespace {

/// Names that a message tells one by one.
constexpr std::size_t kMaxNamed = 8;

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMaxNamed)
    text += " and " + std::to_string(names.size() - kMaxNamed) + " more";
  return text;
}

/// Collective. The checkpoint that `initial.from` means; errors name the key's place.
FoundCheckpoint find(const Communicator& comm, const InitialSettings& initial) {
  const std::string& from = initial.from;
  const std::string where = initial.place.empty() ? "initial.from" : initial.place;
  std::string kind;
  if (comm.rank() == 0) {
    std::error_code none;
    kind = std::filesystem::is_directory(from, none) ? "directory"
           : std::filesystem::exists(from, none)     ? "file"
                                                     : "";
  }
  comm.broadcast(0, kind);
  if (kind.empty())
    throw Error("there is no " + from, where,
                "name the result directory of a run, or one of its checkpoints");
  try {
    if (kind == "file") return {read_checkpoint(comm, from), from, {}};
    return newest_checkpoint(comm, from, where,
                             "a run leaves its last state there when it ends or is stopped");
  } catch (const Error& error) {
    if (error.where().starts_with(where)) throw;
    const std::string place = error.where().empty() ? where : where + ": " + error.where();
    throw Error(error.found(), place, error.fix(), error.code());
  }
}

/// Keys on which the stiffness of all contacts depends.
bool is_law(const std::string& key) {
  return key == "contact.stiffness" || key == "contact.stiffness_ratio" ||
         key == "contact.hardening";
}

bool apart(const Pose& a, const Pose& b) {
  constexpr double kRoundOff = 1e-9;
  const double length = 1.0 + a.p.norm();
  return (a.p - b.p).norm() > kRoundOff * length ||
         (a.q.conjugate() * b.q).vec().norm() > kRoundOff;
}

}  // namespace

std::unique_ptr<EarlierRun> earlier_run(const Communicator& comm, const CaseSettings& settings) {
  if (!settings.initial.present) return nullptr;
  return std::make_unique<EarlierRun>(comm, settings);
}

EarlierRun::EarlierRun(const Communicator& comm, const CaseSettings& settings)
    : comm_(comm), settings_(settings), found_(find(comm, settings.initial)) {
  warnings_ = found_.damaged;
  const CheckpointNotes& notes = found_.checkpoint.notes;
  all_or_none(comm, [&] {
    before_ = case_of(notes.config, found_.path);
    for (const ChangedKey& change : changed_keys(print_case(before_), print_case(settings)))
      if (is_law(change.key)) changed_laws_.push_back(change.key);
    find_time();
  });
  model_before_ = make_model_with(comm, before_, kept_starts(comm, notes));
  take_names(comm, notes, model_before_);
}

EarlierRun::~EarlierRun() = default;

void EarlierRun::find_time() {
  if (!settings_.initial.keeps_time) return;
  constexpr double kRoundOff = 1e-9;
  const State& old = found_.checkpoint.state;
  const double h = settings_.time.step, steps = old.time / h;
  step_ = std::llround(steps);
  time_ = static_cast<double>(step_) * h;
  const auto at = [&](const char* key) {
    const std::string place = settings_.place_of ? settings_.place_of(key) : std::string();
    return (place.empty() ? "" : place + ": ") + key;
  };
  if (std::abs(steps - std::round(steps)) > kRoundOff * std::max(1.0, steps))
    throw Error("the earlier run ends at " + short_text(old.time, 12) +
                    " s, which is no multiple of time.step (" + short_text(h) + " s)",
                at("initial.time"), "set it to reset, or take another time.step");
  if (h == before_.time.step) time_ = old.time;
  if (std::llround(settings_.time.end / h) <= step_)
    throw Error(short_text(settings_.time.end) + " s is not after the end of the earlier run, " +
                    short_text(old.time) + " s, from which initial.time: keep goes on",
                at("time.end"), "set it to a later time, or initial.time to reset");
}

Model EarlierRun::make_model() {
  Model model = catena::make_model(settings_, comm_, settings_.parallel.deterministic);
  const SceneMaker now(comm_, settings_, model), old(comm_, before_, model_before_);
  std::vector<std::int64_t> made;
  for (const InflowProgress& inflow : found_.checkpoint.state.inflow) made.push_back(inflow.made);
  all_or_none(comm_, [&] {
    same_ = same_names({before_, model_before_, old}, made, {settings_, model, now});
    if (!same_.bodies.empty()) return;
    throw Error(
        "no body of " + found_.path + " has a name of this case", settings_.initial.place,
        "give bodies and generators the names of the earlier run: " + list_text(same_.left_out));
  });
  find_moved_starts(model);
  move_starts(starts_, model);
  return model;
}

/// A plane that had a motion and has none now stays where it was moved to.
void EarlierRun::find_moved_starts(const Model& model) {
  const State& old = found_.checkpoint.state;
  for (const BodyRecord& plane : model_before_.unbounded) {
    if (plane.constants.kind != BodyKind::kinematic) continue;
    const GlobalId id = same_.bodies.now_of(plane.constants.id);
    for (const BodyRecord& now : model.unbounded)
      if (now.constants.id == id && now.constants.kind != BodyKind::kinematic)
        starts_.push_back({id, prescribed_state(model_before_, plane.constants, plane.state.pose,
                                                motion_of(old, plane.constants), old.time)
                                   .pose});
  }
}

/// The motion of a body that the earlier run left at `left`.
MotionStart EarlierRun::gone_on(const Model& model, const MadeBody& made, const Pose& left) {
  const Pose there = prescribed_state(model, made.constants, {}, made.motion, time_).pose;
  Pose pose = left;  // of the nearest image: motions lead out of a periodic box
  pose.p += model.periodic.nearest_shift(there.p - pose.p);
  if (!apart(there, pose)) return made.motion;
  const bool absolute = model.motions[made.constants.motion].absolute;
  (absolute ? jumped_ : shifted_).push_back({made.constants.id, (there.p - pose.p).norm()});
  return absolute ? made.motion : start_through(model, made.constants, made.motion, time_, pose);
}

void EarlierRun::take_plane_motions(const Model& model, State& state) {
  const State& old = found_.checkpoint.state;
  state.plane_motions = plane_motions(model);
  for (const BodyRecord& plane : model_before_.unbounded) {
    if (plane.constants.kind != BodyKind::kinematic) continue;
    const GlobalId id = same_.bodies.now_of(plane.constants.id);
    const auto at = std::ranges::find(state.plane_motions, id, &BodyMotion::body);
    if (id == kNoBody || at == state.plane_motions.end()) continue;
    const auto now =
        std::ranges::find(model.unbounded, id, [](const BodyRecord& b) { return b.constants.id; });
    const Pose pose = prescribed_state(model_before_, plane.constants, plane.state.pose,
                                       motion_of(old, plane.constants), old.time)
                          .pose;
    at->start = gone_on(model, {*now, at->start}, pose);
  }
  if (comm_.rank() == 0) return;
  shifted_.clear();
  jumped_.clear();
}

/// Collective. What gone_on() did, in sentences.
void EarlierRun::report_motions(const Model& model) {
  const auto sentence = [&](std::vector<MovedMotion>& own, const std::string& what) {
    const std::int64_t n = comm_.sum(std::ssize(own));
    double way = 0.0;
    for (const MovedMotion& m : own) way = std::max(way, m.way);
    way = comm_.max(way);
    std::ranges::sort(own, {}, &MovedMotion::body);
    // enough of each rank's to name the first of all
    own.resize(std::min(own.size(), kMaxNamed + 1));
    std::vector<MovedMotion> all = all_gather_values(comm_, own);
    std::ranges::sort(all, {}, &MovedMotion::body);
    if (n == 0) return std::string();
    std::string names;
    for (std::size_t i = 0; i < std::min(all.size(), kMaxNamed); ++i)
      names += (i == 0 ? "" : ", ") + model.names.name_of(all[i].body);
    if (n > std::ssize(all) || all.size() > kMaxNamed)
      names += " and " + std::to_string(n - static_cast<std::int64_t>(kMaxNamed)) + " more";
    return names + what + short_text(way, 3) + " m";
  };
  const std::string shifted =
      sentence(shifted_, ": motions go on from where the earlier run left these bodies, up to ");
  if (!shifted.empty()) remarks_.push_back(shifted + " from where this case says");
  const std::string jumped =
      sentence(jumped_, ": jump to where the rows of their motions say, by up to ");
  if (!jumped.empty()) warnings_.push_back(jumped);
}

void EarlierRun::report(const Model& model, const Bodies& bodies, const State& state) {
  const State& old = found_.checkpoint.state;
  const std::int64_t all = comm_.sum(std::ssize(bodies.constants));
  new_bodies_ = comm_.sum(new_bodies_);
  new_joints_ = comm_.sum(new_joints_);
  gone_bodies_ = comm_.sum(gone_bodies_);
  const std::int64_t impulses = comm_.sum(std::ssize(state.impulses));
  turned_round_ = comm_.sum(turned_round_);
  remarks_.insert(remarks_.begin(),
                  "goes on from " + found_.path + ", step " + std::to_string(old.step) + ", " +
                      short_text(old.time) + " s, written on " +
                      std::to_string(found_.checkpoint.ranks) +
                      " ranks: " + std::to_string(all - new_bodies_) + " bodies, " +
                      std::to_string(impulses) + " contacts with impulses; " +
                      (settings_.initial.keeps_time ? "time goes on" : "time starts at 0"));
  report_motions(model);
  if (new_bodies_ > 0)
    remarks_.push_back(std::to_string(new_bodies_) +
                       " bodies start as this case says: " + list_text(same_.fresh));
  if (gone_bodies_ > 0 || !same_.left_out.empty())
    warnings_.push_back(std::to_string(gone_bodies_) +
                        " bodies of the earlier run are left out, since this case does not name "
                        "them" +
                        (same_.left_out.empty() ? "" : ": " + list_text(same_.left_out)));
  if (!same_.fresh_joints.empty())
    remarks_.push_back("joints that are new, with their points and axes where bodies are now: " +
                       list_text(same_.fresh_joints));
  if (!same_.joints_left_out.empty())
    remarks_.push_back("joints of the earlier run that are gone: " +
                       list_text(same_.joints_left_out));
  if (old.broken_joints > 0)
    remarks_.push_back(std::to_string(old.broken_joints) +
                       " joints broke in the earlier run and are not there");
  bonds_ = comm_.sum(bonds_);
  held_bonds_ = comm_.sum(held_bonds_);
  lost_bonds_ = comm_.sum(lost_bonds_);
  if (!bonds_gone_on_.empty())
    remarks_.push_back(std::to_string(bonds_) + " bonds go on: " + list_text(bonds_gone_on_));
  if (held_bonds_ > 0)
    remarks_.push_back(std::to_string(held_bonds_) +
                       " bonds are left out, as neither of their bodies moves freely in this case");
  if (lost_bonds_ > 0)
    warnings_.push_back(std::to_string(lost_bonds_) +
                        " bonds and added joints of the earlier run are left out: this case does "
                        "not have bonds of their name between their bodies; those that it makes "
                        "itself are between bodies as they lie now, whatever had broken");
  if (turned_round_ > 0)
    remarks_.push_back(std::to_string(turned_round_) +
                       " contacts start without impulse, since this case lists their bodies in "
                       "another order");
  const double made_for = state.stiffness_step, h = settings_.time.step;
  if (settings_.contact.stiffness == Stiffness::automatic && made_for != 0.0 &&
      std::abs(made_for - h) > 1e-6 * h)
    remarks_.push_back("contacts were made for a time step of " + short_text(made_for) +
                       " s; their stiffness moves to that of " + short_text(h) +
                       " s over some 100 steps, and overlaps go with it, by a factor of " +
                       short_text(h * h / (made_for * made_for), 3));
}

}  // namespace catena
