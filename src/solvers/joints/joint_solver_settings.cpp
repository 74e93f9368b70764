#include "catena/solvers/joint_solver_settings.hpp"

#include <array>

namespace catena {
namespace {

constexpr std::array<std::string_view, 4> kMethods = {"auto", "chain", "direct", "iterative"};
constexpr std::array<std::string_view, 3> kGroupings = {"auto", "body", "rank"};

}  // namespace

ChainRule JointSolverSettings::chains(bool ordered) const {
  ChainRule rule;
  rule.any = method != JointMethod::direct;
  const bool asked_for = method == JointMethod::chain || grouping != ChainGrouping::automatic;
  if (!ordered && !asked_for) rule.cut_from = cut_from;
  return rule;
}

void describe(SettingsVisitor& visit, JointSolverSettings& s) {
  visit.choose("method", s.method, kMethods,
               {.help = "auto: chains by elimination, trees leaf to root, few loops by a border or "
                        "along paths, other "
                        "mechanisms sparse direct; chain: refuses what is no chain; direct: sparse "
                        "direct for all; iterative: swept like contacts"});
  visit.choose(
      "grouping", s.grouping, kGroupings,
      {.help = "unit of a chain's odd/even elimination along its order: a joint (`body`) or "
               "a rank's segment; auto: by counted cost, and chains of cut_from joints "
               "or more are cut where the bodies of ranks meet"});
  visit.visit("cholesky_limit", s.cholesky_limit,
              {.min = 1, .help = "blocks at which odd/even elimination ends in Cholesky"});
  visit.visit("cut_from", s.cut_from,
              {.min = 2,
               .help = "joints from which each rank eliminates what it has of a mechanism; one "
                       "rank eliminates smaller ones, but chains, which go in pieces"});
}

}  // namespace catena
