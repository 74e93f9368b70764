#include "io/result/joint_rows.hpp"

#include "catena/comm/ordered_rows.hpp"
#include "io/hdf5/columns.hpp"

namespace catena {
namespace {

/// In the order of JointType.
constexpr std::array<const char*, 22> kTypeNames = {
    "fixed",           "spherical",     "revolute",      "prismatic",      "cylindrical",
    "universal",       "planar",        "point_on_line", "distance",       "gear",
    "knife_edge",      "rolling",       "rope",          "bushing",        "screw",
    "rack_and_pinion", "belt",          "cam",           "point_on_curve", "tendon",
    "spring",          "torsion_spring"};
static_assert(kTypeNames.size() == ordinal(JointType::torsion_spring) + 1);
constexpr std::size_t kTypeLength = 15;

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
    longest = std::max(longest, joint_name(model, row.id).size());
  joints.name_length = comm.max(narrow<std::int64_t>(longest));
  return joints;
}

void write_joint_constants(hdf5::File& file, const Model& model, const JointRows& joints) {
  const ColumnWriter to(file, "/joints", joints.rows, joints.range);
  to.numbers("id", "", &JointRow::id);
  to.numbers("bodies", "", [](auto& r) {
    return std::array<std::int64_t, 2>{r.body[0], r.body[1]};
  });
  to.numbers("carrier", "", [](auto& r) { return r.body[2]; });
  to.text("type", kTypeLength, [](auto& r) { return std::string(kTypeNames[r.type]); });
  to.text("name", joints.name_length, [&](auto& r) { return joint_name(model, r.id); });
}

void write_joint_records(hdf5::File& file, const std::vector<JointRecord>& rows,
                         const hdf5::RowRange& range) {
  const ColumnWriter to(file, "/joints", rows, range);
  to.numbers("id", "", &JointRecord::id);
  to.numbers("impulse", "N s or N m s", &JointRecord::impulse);
  to.numbers("reaction", "N s, N m s", &JointRecord::reaction);
  to.numbers("drive", "N s or N m s", &JointRecord::drive);
  to.numbers("coordinate", "m or rad", &JointRecord::coordinate);
}

void write_broken_joints(hdf5::File& file, const Communicator& comm,
                         const std::vector<BrokenJoint>& broken) {
  hdf5::RowRange range;
  const std::vector<BrokenJoint> rows = order_rows(
      comm, broken, [](const BrokenJoint& row) { return row.joint; }, range);
  const ColumnWriter to(file, "/broken", rows, range);
  to.numbers("id", "", &BrokenJoint::joint);
  to.numbers("step", "", &BrokenJoint::step);
  to.numbers("time", "s", &BrokenJoint::time);
  to.numbers("force", "N", &BrokenJoint::force);
  to.numbers("torque", "N m", &BrokenJoint::torque);
  to.numbers("energy", "J", &BrokenJoint::energy);
}

}  // namespace catena
