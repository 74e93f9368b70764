#include "io/result/joint_rows.hpp"

#include "io/hdf5/columns.hpp"
#include "io/hdf5/ordered_rows.hpp"

namespace catena {
namespace {

/// In the order of JointType.
constexpr std::array<const char*, 15> kTypeNames = {
    "fixed",      "spherical", "revolute",      "prismatic", "cylindrical",
    "universal",  "planar",    "point_on_line", "distance",  "gear",
    "knife_edge", "rolling",   "rope",          "spring",    "torsion_spring"};
static_assert(kTypeNames.size() == ordinal(JointType::torsion_spring) + 1);
constexpr std::size_t kTypeLength = 14;

std::string name_of(const Model& model, std::int64_t id) {
  return id < model.joint_names.size() ? model.joint_names.name_of(id)
                                       : "joint-" + std::to_string(id);
}

}  // namespace

std::uint64_t JointRows::bytes() const {
  return range.total * (8 * (1 + kJointBodies) + kTypeLength + name_length);
}

JointRows joint_rows(const Communicator& comm, const Model& model, const Bodies& bodies,
                     const std::vector<JointRow>& last) {
  JointRows joints;
  std::vector<JointRow> rows = last;
  for (const JointConstants& joint : bodies.joints)
    rows.push_back({joint.id, joint.body, static_cast<std::int32_t>(joint.type), 0});
  const auto key = [](const JointRow& row) {
    return std::array<std::int64_t, 2>{row.id, row.written};
  };
  joints.rows = order_rows(comm, std::move(rows), key, joints.range);
  drop_doubles(comm, joints.rows, joints.range);
  std::size_t longest = 1;
  for (const JointRow& row : joints.rows)
    longest = std::max(longest, name_of(model, row.id).size());
  joints.name_length = comm.max(narrow<std::int64_t>(longest));
  return joints;
}

void write_joint_constants(hdf5::File& file, const Model& model, const JointRows& joints) {
  const std::vector<JointRow>& rows = joints.rows;
  const hdf5::RowRange& range = joints.range;
  const auto ends = [](auto& r) { return std::array<std::int64_t, 2>{r.body[0], r.body[1]}; };
  const auto type = [](auto& r) { return std::string(kTypeNames[r.type]); };
  file.write_rows("/joints/id", column<std::int64_t>(rows, [](auto& r) { return r.id; }), range, 0,
                  "");
  file.write_rows("/joints/bodies", column<std::int64_t>(rows, ends), range, 2, "");
  file.write_rows("/joints/carrier", column<std::int64_t>(rows, [](auto& r) { return r.body[2]; }),
                  range, 0, "");
  file.write_text_rows("/joints/type", text_column(rows, kTypeLength, type), kTypeLength, range);
  file.write_text_rows(
      "/joints/name",
      text_column(rows, joints.name_length, [&](auto& r) { return name_of(model, r.id); }),
      joints.name_length, range);
}

void write_joint_records(hdf5::File& file, const std::vector<JointRecord>& rows,
                         const hdf5::RowRange& range) {
  file.write_rows("/joints/id", column<std::int64_t>(rows, [](auto& r) { return r.id; }), range, 0,
                  "");
  const auto write = [&](const char* dataset, std::uint64_t width, const char* unit, auto get) {
    file.write_rows(dataset, column<double>(rows, get), range, width, unit);
  };
  write("/joints/impulse", 6, "N s or N m s", [](auto& r) { return r.impulse; });
  write("/joints/reaction", 6, "N s, N m s", [](auto& r) { return r.reaction; });
  write("/joints/drive", 6, "N s or N m s", [](auto& r) { return r.drive; });
  write("/joints/coordinate", 3, "m or rad", [](auto& r) { return r.coordinate; });
}

}  // namespace catena
