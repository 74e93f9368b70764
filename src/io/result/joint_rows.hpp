// Joints in results: their constants in bodies.h5, their impulses and coordinates in snapshots.
#pragma once

#include <vector>

#include "catena/io/result_writer.hpp"
#include "io/hdf5/file.hpp"

namespace catena {

/// A joint's row of bodies.h5 on its way to the rank that writes it.
struct JointRow {
  std::int64_t id = -1;
  std::array<GlobalId, kJointBodies> body = {kNoBody, kNoBody, kNoBody};
  std::int32_t type = 0;
  std::int32_t written = 0;  ///< 1: of the last bodies.h5
};

/// This rank's part of the rows of bodies.h5.
struct JointRows {
  std::vector<JointRow> rows;
  hdf5::RowRange range;
  std::size_t name_length = 1;  ///< of the longest name on any rank

  /// Size of the file without its header.
  std::uint64_t bytes() const;
};

/// Collective. Rows of all joints in the order of ids; `last` are those of the last bodies.h5 that
/// stay where they have no newer one.
JointRows joint_rows(const Communicator& comm, const Model& model, const Bodies& bodies,
                     const std::vector<JointRow>& last);

/// Collective. /joints of bodies.h5.
void write_joint_constants(hdf5::File& file, const Model& model, const JointRows& joints);

/// Collective. /joints of a snapshot: rows in the order of ids.
void write_joint_records(hdf5::File& file, const std::vector<JointRecord>& rows,
                         const hdf5::RowRange& range);
/// Collective. /broken of a snapshot: joints that have broken, in the order of ids.
void write_broken_joints(hdf5::File& file, const Communicator& comm,
                         const std::vector<BrokenJoint>& broken);
inline constexpr std::uint64_t kBrokenJointBytes = 8 * 6;
inline constexpr std::uint64_t kJointRecordBytes = 8 * (1 + 3 * 6 + 3);

}  // namespace catena
