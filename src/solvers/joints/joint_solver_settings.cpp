#include "catena/solvers/joint_solver_settings.hpp"

#include <array>

namespace catena {
namespace {

constexpr std::array<std::string_view, 4> kMethods = {"auto", "chain", "direct", "iterative"};
constexpr std::array<std::string_view, 3> kGroupings = {"auto", "body", "rank"};

}  // namespace

void describe(SettingsVisitor& visit, JointSolverSettings& s) {
  visit.choose("method", s.method, kMethods,
               {.help = "auto: chains by elimination, trees leaf to root, few loops by a border or "
                        "along paths, other "
                        "mechanisms sparse direct; chain: refuses what is no chain; direct: sparse "
                        "direct for all; iterative: swept like contacts"});
  visit.choose("grouping", s.grouping, kGroupings,
               {.help = "unit of a chain's odd/even elimination: a joint (`body`) or a rank's "
                        "segment; auto: by counted cost"});
  visit.visit("cholesky_limit", s.cholesky_limit,
              {.min = 1, .help = "blocks at which odd/even elimination ends in Cholesky"});
  visit.visit("cut_from", s.cut_from,
              {.min = 2,
               .help = "joints from which a mechanism that is no chain is eliminated by all ranks "
                       "that have its bodies; one rank eliminates smaller ones"});
}

}  // namespace catena
