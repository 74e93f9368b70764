// What a run refuses, found without a run.
#pragma once

#include <string>
#include <vector>

#include "catena/simulation/case.hpp"

namespace catena {

/// Bodies per rank up to which a check makes the scene and tries a step: some seconds of work.
inline constexpr GlobalId kMaxRehearsed = 100000;

/// Collective. Sets a case up and takes its first step, as a run does, without any output: throws
/// whatever a run throws until then. Returns remarks on the case. With more than `most_bodies` a
/// rank it checks keys and files only, and a remark says so.
std::vector<std::string> rehearse(const Communicator& comm, const CaseSettings& settings,
                                  GlobalId most_bodies = kMaxRehearsed);

/// Collective. After the first step: throws Error for options of PETSc that no solver asked for.
void refuse_unused_options(const Communicator& comm, const CaseSettings& settings);

}  // namespace catena
