// Snapshots as files of VTK, written by the run itself (docs/output.md, "Files of VTK").
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/constraints/contact_record.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// Writes DIR/vtk: of every snapshot and kind (spheres, surfaces, contacts, chains, joints) a piece
/// per rank that has any, an index of the pieces (.pvtp), and one of the snapshots (.pvd). Kinds,
/// arrays and their units are those of `catena vtk`. A rank writes its own bodies, contacts and
/// joints and holds no others. Every file is written under a temporary name, synced and renamed,
/// indices last, so that what they name is whole.
class VtkWriter {
 public:
  /// Collective. Makes DIR/vtk, or goes on with the series that stands there. Throws
  /// Error(input_output) on every rank.
  VtkWriter(const Communicator& comm, std::string directory);
  ~VtkWriter();

  /// Collective. The state, and this rank's contacts of the step that led to it, which took `step`
  /// seconds. Without `list_contacts` they count for the bodies' numbers only. Room on the disk is
  /// made sure of before a file is written. Throws Error(input_output) on every rank.
  void write(const Model& model, const Bodies& bodies, const State& state,
             std::vector<ContactRecord> contacts, double step, bool list_contacts = true);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
