#include "simulation/initial/same_names.hpp"

#include <map>

#include "catena/base/error.hpp"

namespace catena {

namespace {

/// Whether a name is among those of `initial.bodies`.
bool goes_on(const InitialSettings& s, const std::string& name) {
  return s.bodies.front() == "all" || std::ranges::find(s.bodies, name) != s.bodies.end();
}

bool is_plane(const BodySettings& s) { return s.shape.type == ShapeType::plane; }

/// Bodies that cases list, and those that a program added to the earlier run.
void match_listed(const NamedScene& before, const NamedScene& now, SameNames& same) {
  std::map<std::string, GlobalId> known;
  const auto n_listed = std::ssize(before.scene.bodies);
  for (GlobalId i = 0; i < n_listed; ++i) known.emplace(before.scene.bodies[i].name, i);
  for (const auto& [id, name] : before.model.names.late()) known.emplace(name, id);
  for (std::size_t i = 0; i < now.scene.bodies.size(); ++i) {
    const BodySettings& body = now.scene.bodies[i];
    const auto old = known.find(body.name);
    if (old == known.end() || !goes_on(now.scene.initial, body.name)) {
      same.fresh.push_back(body.name);
      continue;
    }
    const bool was_plane = old->second < n_listed && is_plane(before.scene.bodies[old->second]);
    if (is_plane(body) != was_plane)
      throw Error("'" + body.name + "' is a plane in one of both runs and has bounds in the other",
                  body.place + ".shape", "give it another name");
    same.bodies.add(old->second, 1, static_cast<GlobalId>(i));
    known.erase(old);
  }
  for (const auto& [name, id] : known) same.left_out.push_back(name);
}

/// Bodies of a generator that have been there; an insertion's are those that it has made.
std::vector<GlobalId> counts_of(const NamedScene& before, const std::vector<std::int64_t>& made) {
  std::vector<GlobalId> counts;
  std::size_t insertion = 0;
  for (std::size_t g = 0; g < before.scene.generators.size(); ++g) {
    const bool inserts = before.scene.generators[g].is<InsertionSettings>();
    counts.push_back(inserts ? made[insertion++] : before.maker.n_bodies(g));
  }
  return counts;
}

void check_generators(const NamedScene& before, std::size_t old, const NamedScene& now,
                      std::size_t g) {
  const GeneratorSettings& settings = now.scene.generators[g];
  const std::string name = now.maker.stem(g);
  if (settings.is<ContainerSettings>() != before.scene.generators[old].is<ContainerSettings>())
    throw Error("'" + name + "' is a container in one of both runs and none in the other",
                settings.place, "give it another name");
  const auto joints = [](const NamedScene& s, std::size_t i) {
    const std::vector<GlobalId> first = s.maker.first_joints();
    return first[i + 1] - first[i];
  };
  const GlobalId was = joints(before, old), is = joints(now, g);
  if (was == is && (is == 0 || before.maker.n_bodies(old) == now.maker.n_bodies(g))) return;
  throw Error("'" + name + "' has " + std::to_string(now.maker.n_bodies(g)) + " bodies and " +
                  std::to_string(is) + " joints, in the earlier run " +
                  std::to_string(before.maker.n_bodies(old)) + " and " + std::to_string(was),
              settings.place, "leave its size as it was, or give it another name");
}

void match_generators(const NamedScene& before, const std::vector<std::int64_t>& made,
                      const NamedScene& now, SameNames& same) {
  const std::vector<GlobalId> counts = counts_of(before, made);
  const std::vector<GlobalId> old_joints = before.maker.first_joints();
  const std::vector<GlobalId> joints = now.maker.first_joints();
  std::map<std::string, std::size_t> known;
  for (std::size_t g = 0; g < counts.size(); ++g) known.emplace(before.maker.stem(g), g);
  for (std::size_t g = 0; g < now.scene.generators.size(); ++g) {
    const std::string name = now.maker.stem(g);
    const auto old = known.find(name);
    if (old == known.end() || !goes_on(now.scene.initial, name)) {
      same.fresh.push_back(name);
      continue;
    }
    const std::size_t o = old->second;
    check_generators(before, o, now, g);
    const GlobalId both = std::min(counts[o], now.maker.n_bodies(g));
    same.bodies.add(before.maker.first_body(o), both, now.maker.first_body(g));
    same.joints.add(old_joints[o], old_joints[o + 1] - old_joints[o], joints[g]);
    if (both < counts[o]) same.left_out.push_back(name + "-" + std::to_string(both) + " and on");
    if (both < now.maker.n_bodies(g) && !now.scene.generators[g].is<InsertionSettings>())
      same.fresh.push_back(name + "-" + std::to_string(both) + " and on");
    known.erase(old);
  }
  for (const auto& [name, g] : known) same.left_out.push_back(name);
}

/// Whether two listed joints hold the same bodies by the same frames.
bool same_joint(const NamedScene& before, GlobalId old, const NamedScene& now, GlobalId joint,
                const IdMap& bodies) {
  if (before.maker.frames_text(old) != now.maker.frames_text(joint)) return false;
  const auto of_old = before.maker.bodies_of(old), of_now = now.maker.bodies_of(joint);
  for (std::size_t k = 0; k < kJointBodies; ++k)
    if (of_old[k] != kNoBody && bodies.now_of(of_old[k]) != of_now[k]) return false;
  return true;
}

void match_joints(const NamedScene& before, const NamedScene& now, SameNames& same) {
  std::map<std::string, GlobalId> known;
  for (GlobalId j = 0; j < before.maker.n_listed_joints(); ++j)
    known.emplace(before.model.joint_names.name_of(j), j);
  for (GlobalId j = 0; j < now.maker.n_listed_joints(); ++j) {
    const std::string name = now.model.joint_names.name_of(j);
    const auto old = known.find(name);
    if (old == known.end() || !same_joint(before, old->second, now, j, same.bodies)) {
      same.fresh_joints.push_back(name);
      continue;
    }
    same.joints.add(old->second, 1, j);
    known.erase(old);
  }
  for (const auto& [name, j] : known) same.joints_left_out.push_back(name);
}

}  // namespace

SameNames same_names(const NamedScene& before, const std::vector<std::int64_t>& made,
                     const NamedScene& now) {
  SameNames same;
  match_listed(before, now, same);
  match_generators(before, made, now, same);
  match_joints(before, now, same);
  return same;
}

}  // namespace catena
