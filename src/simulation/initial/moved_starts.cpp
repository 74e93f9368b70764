#include "simulation/initial/moved_starts.hpp"

#include <array>

#include "catena/comm/typed_exchange.hpp"

namespace catena {

namespace {

constexpr const char* kStarts = "moved-starts";

/// As checkpoints keep it: without padding.
struct StartRow {
  GlobalId id = kNoBody;
  std::array<double, 7> pose{};  ///< position, then x, y, z, w of the orientation
};

StartRow row_of(const MovedStart& start) {
  const Vec3& p = start.pose.p;
  const auto& q = start.pose.q.coeffs();
  return {start.id, {p[0], p[1], p[2], q[0], q[1], q[2], q[3]}};
}

MovedStart start_of(const StartRow& row) {
  const std::array<double, 7>& x = row.pose;
  return {row.id, {Vec3(x[0], x[1], x[2]), Quat(x[6], x[3], x[4], x[5])}};
}

}  // namespace

MotionStart start_through(const Model& model, const BodyConstants& body, const MotionStart& made,
                          double t, const Pose& pose) {
  const Motion& motion = model.motions[body.motion];
  const Pose there = prescribed_state(model, body, {}, made, t).pose;
  // q(t) = E(t) q(0), and p(t) = d(t) + p(0), or about + d(t) + E(t) (p(0) - about)
  const Quat turn = there.q * made.pose.q.conjugate();
  const Vec3 way = pose.p - there.p;
  MotionStart start = made;
  start.pose.q = (turn.conjugate() * pose.q).normalized();
  start.pose.p += motion.about_origin ? way : Vec3(turn.conjugate() * way);
  return start;
}

void keep_starts(const Communicator& comm, std::span<const MovedStart> starts,
                 CheckpointNotes& notes) {
  if (starts.empty() || comm.rank() != 0) return;
  std::vector<StartRow> rows;
  for (const MovedStart& start : starts) rows.push_back(row_of(start));
  notes.kept.emplace_back(kStarts, to_bytes(rows));
}

std::vector<MovedStart> kept_starts(const Communicator& comm, const CheckpointNotes& notes) {
  std::vector<StartRow> own;
  for (const auto& [name, bytes] : notes.kept)
    if (name == kStarts) own = from_bytes<StartRow>(bytes);
  std::vector<MovedStart> starts;
  for (const StartRow& row : all_gather_values(comm, own)) starts.push_back(start_of(row));
  return starts;
}

Model make_model_with(const Communicator& comm, const CaseSettings& settings,
                      std::span<const MovedStart> starts) {
  Model model = make_model(settings, comm, settings.parallel.deterministic);
  move_starts(starts, model);
  return model;
}

}  // namespace catena
