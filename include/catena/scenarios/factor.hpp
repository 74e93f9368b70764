// Numbers over time that other parts of a case have than joints and forces.
#pragma once

#include <string>
#include <string_view>

#include "catena/comm/communicator.hpp"
#include "catena/model/table.hpp"
#include "catena/scenarios/joint_settings.hpp"

namespace catena {

/// The section `key` with a table of values over time, in SI.
void describe_factor_table(SettingsVisitor& visit, std::string_view key, FactorSettings& s);

/// Collective. The table, from its rows or from its file, which rank 0 reads and whose header is
/// `columns`. Throws Error at `place` on every rank.
ValueTable read_factor(const Communicator& comm, const FactorSettings& s, const std::string& place,
                       std::string_view columns = "t,value");

}  // namespace catena
