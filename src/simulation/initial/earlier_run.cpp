#include "simulation/initial/earlier_run.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/io/yaml_settings.hpp"
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
  move_starts(settings_, starts_, model);
  return model;
}

void EarlierRun::find_moved_starts(Model& model) {
  const auto n_listed = static_cast<GlobalId>(settings_.bodies.size());
  const Checkpoint& checkpoint = found_.checkpoint;
  std::vector<MovedStart> at;  // where bodies are that have a motion now
  for (std::size_t i = 0; i < checkpoint.bodies.constants.size(); ++i) {
    const BodyConstants& body = checkpoint.bodies.constants[i];
    const GlobalId id = same_.bodies.now_of(body.id);
    if (id == kNoBody || id >= n_listed || !settings_.bodies[id].kinematic) continue;
    Pose pose = checkpoint.state.body[i].pose;
    if (body.shape.geometry >= 0) {
      const Pose& written = model_before_.geometries[body.shape.geometry].written;
      pose = {pose.p + pose.q * written.p, pose.q * written.q};
    }
    at.push_back({id, pose});
  }
  at = all_gather_values(comm_, at);
  for (const BodyRecord& plane : model_before_.unbounded) {
    const GlobalId id = same_.bodies.now_of(plane.constants.id);
    if (id == kNoBody || plane.constants.kind != BodyKind::kinematic) continue;
    at.push_back({id, prescribed_state(model_before_, plane.constants, plane.state.pose,
                                       checkpoint.state.time)
                          .pose});
  }
  for (const MovedStart& body : at) {
    const int motion = body.id < n_listed ? motion_index(settings_, body.id) : -1;
    if (motion < 0) {  // a plane that stands still now
      starts_.push_back(body);
      continue;
    }
    BodyConstants constants;
    constants.kind = BodyKind::kinematic;
    constants.motion = motion;
    const Pose there = prescribed_state(model, constants, {}, time_).pose;
    if (!apart(there, body.pose)) continue;
    const std::string& name = settings_.bodies[body.id].name;
    const std::string way = short_text((there.p - body.pose.p).norm(), 3) + " m";
    if (settings_.bodies[body.id].motion_absolute) {
      warnings_.push_back(name + " jumps by " + way + " to where the rows of its motion say");
      continue;
    }
    starts_.push_back({body.id, start_through(model, constants, time_, body.pose)});
    remarks_.push_back("the motion of " + name + " goes on from where the earlier run left it, " +
                       way + " from where this case says");
  }
}

void EarlierRun::report(const Bodies& bodies, const State& state) {
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
  if (new_bodies_ > 0)
    remarks_.push_back(std::to_string(new_bodies_) +
                       " bodies start as this case says: " + list_text(same_.fresh));
  if (gone_bodies_ > 0 || !same_.left_out.empty())
    warnings_.push_back(std::to_string(gone_bodies_) +
                        " bodies of the earlier run are left out, since this case does not name "
                        "them: " +
                        list_text(same_.left_out));
  if (!same_.fresh_joints.empty())
    remarks_.push_back("joints that are new, with their points and axes where bodies are now: " +
                       list_text(same_.fresh_joints));
  if (!same_.joints_left_out.empty())
    remarks_.push_back("joints of the earlier run that are gone: " +
                       list_text(same_.joints_left_out));
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
