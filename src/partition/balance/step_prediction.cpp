#include "catena/partition/step_prediction.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "partition/graph/contact_graph.hpp"
#include "partition/graph/joint_work.hpp"

namespace catena {
namespace {

/// In how many operations of a step all ranks wait for each other, and eliminations of a step.
constexpr double kReductions = 26.0, kSolves = 2.0;

double solve_growth(double joints) { return std::log2(joints + 1.0) / std::log2(kNetJoints + 1.0); }

void add_parts(const CutPlan& cut, std::span<KindRows> ranks) {
  const double rows_of_joint =
      static_cast<double>(cut.rows_of_all()) / static_cast<double>(cut.joints);
  for (int node = 1; node < std::ssize(cut.rows); ++node) {
    KindRows& rank = ranks[cut.dealt.rank_of(node)];
    const auto rows = static_cast<double>(cut.rows[node]);
    // an anchor may have more rows than the joints of its mechanism
    (rows_of_joint > 1.5 ? rank.several : rank.single) += rows;
    if (!cut.loops) {
      // nearly all but the separators are branches (across/branched_factor)
      (cut.tree().is_part(node) ? rank.tree : rank.tree_parts) += rows;
      continue;
    }
    rank.net += rows;
    rank.net_solve += rows * solve_growth(static_cast<double>(cut.joints));
    if (cut.tree().is_part(node)) rank.flops += net_flops(rows / rows_of_joint, rows_of_joint);
  }
}

double largest(int level, const auto& of_node) {
  double most = 0.0;
  for (int node = 1 << level; node < 2 << level; ++node) most = std::max(most, of_node(node));
  return most;
}

/// Separators on the critical path.
void add_levels(const StepCosts& costs, const CutPlan& cut, StepPrediction& step) {
  constexpr double kLarge = 500.0;  // rows
  for (int level = 0; level < cut.tree().levels; ++level)
    step.factor += largest(level, [&](int node) {
      const double rows = static_cast<double>(cut.rows[node] + cut.rows_above[node]);
      return cut.front_work(node) * (rows > kLarge ? costs.large_front_flop : costs.front_flop);
    });
  for (int level = 1; level <= cut.tree().levels; ++level) {
    const double above =
        largest(level, [&](int node) { return static_cast<double>(cut.rows_above[node]); });
    step.messages += (1.0 + 2.0 * kSolves) * costs.latency +
                     sizeof(double) * (0.5 * above * above + 2.0 * kSolves * above) * costs.byte;
  }
}

}  // namespace

double net_flops(double joints, double rows) {
  return 12.0 * std::pow(0.5 * joints, 1.5) * rows * rows * rows;
}

std::vector<KindRows> count_rows(const Communicator& comm, const Bodies& bodies,
                                 const ContactSet& contacts, std::span<const int> part, int n_ranks,
                                 const BalanceSettings& settings, std::span<const CutPlan> cuts) {
  const std::vector<JointEdge> edges = partition::eliminated_edges(bodies, contacts);
  const std::vector<JointPlace> places = find_mechanisms(comm, edges);
  const partition::JointWork work(comm, bodies, contacts, settings);
  constexpr double kParts = 1024.0;  // what is dealt is whole numbers
  std::vector<KindRows> ranks(n_ranks);
  const auto deal = [&](double KindRows::*member, const auto& amount_of) {
    std::vector<std::int64_t> amounts, sums(n_ranks);
    for (std::size_t j = 0; j < edges.size(); ++j) {
      const bool cut =
          std::ranges::binary_search(cuts, places[j].component, {}, &CutPlan::component);
      amounts.push_back(cut ? 0 : std::llround(kParts * amount_of(edges[j], places[j])));
    }
    work.deal(comm, part, amounts, sums);
    comm.sum(sums);
    for (int r = 0; r < n_ranks; ++r) ranks[r].*member += static_cast<double>(sums[r]) / kParts;
  };
  const auto is_chain = [&](const JointPlace& p) {
    return p.is_simple_chain() && !settings.whole_chains;
  };
  const auto is_tree = [&](const JointPlace& p) {
    return !is_chain(p) && (p.kind == MechanismKind::tree || p.kind == MechanismKind::chain);
  };
  const auto is_net = [&](const JointPlace& p) { return !is_chain(p) && !is_tree(p); };
  const auto rows_where = [&](const auto& is_it) {
    return [&](const JointEdge& e, const JointPlace& p) {
      return is_it(e, p) ? static_cast<double>(e.rows) : 0.0;
    };
  };
  deal(&KindRows::chain, rows_where([&](auto&, auto& p) { return is_chain(p); }));
  deal(&KindRows::tree, rows_where([&](auto&, auto& p) { return is_tree(p); }));
  deal(&KindRows::net, rows_where([&](auto&, auto& p) { return is_net(p); }));
  deal(&KindRows::single,
       rows_where([&](auto& e, auto& p) { return !is_chain(p) && e.rows == 1; }));
  deal(&KindRows::several,
       rows_where([&](auto& e, auto& p) { return !is_chain(p) && e.rows > 1; }));
  deal(&KindRows::net_solve, [&](const JointEdge& e, const JointPlace& p) {
    return is_net(p) ? e.rows * solve_growth(static_cast<double>(p.n_joints)) : 0.0;
  });
  deal(&KindRows::flops, [&](const JointEdge&, const JointPlace& p) {
    const auto joints = static_cast<double>(p.n_joints);
    return is_net(p) ? net_flops(joints, static_cast<double>(p.n_rows) / joints) / joints : 0.0;
  });
  for (const CutPlan& cut : cuts) add_parts(cut, ranks);
  return ranks;
}

StepPrediction predict_step(const StepCosts& costs, std::span<const KindRows> ranks, double bodies,
                            std::span<const CutPlan> cuts) {
  StepPrediction step;
  for (const KindRows& r : ranks) {
    step.rows = std::max(step.rows, r.chain * costs.chain.rows + r.single * costs.net.rows +
                                        r.several * costs.tree.rows);
    step.factor = std::max(step.factor, r.chain * costs.chain.factor + r.tree * costs.tree.factor +
                                            r.tree_parts * costs.tree_parts.factor +
                                            r.net * costs.net.factor + r.flops * costs.front_flop);
    step.solve = std::max(step.solve, r.chain * costs.chain.solve + r.tree * costs.tree.solve +
                                          r.tree_parts * costs.tree_parts.solve +
                                          r.net_solve * costs.net.solve);
    // bodies move as those of the mechanisms that most rows belong to
    const double all = r.chain + r.tree + r.tree_parts + r.net;
    if (!(all > 0.0)) continue;
    const double motion = (r.chain * costs.chain.motion + r.tree * costs.tree.motion +
                           r.tree_parts * costs.tree_parts.motion + r.net * costs.net.motion) /
                          all;
    step.motion = std::max(step.motion, bodies * motion);
  }
  if (ranks.size() == 1) return step;
  for (const CutPlan& cut : cuts) add_levels(costs, cut, step);
  const double rounds = std::ceil(std::log2(static_cast<double>(ranks.size())));
  const bool chains = std::ranges::any_of(ranks, [](const KindRows& r) { return r.chain > 0.0; });
  if (chains) step.messages += rounds * (1.0 + 2.0 * kSolves) * costs.latency;
  step.messages +=
      kReductions * costs.reduction * rounds / std::max(1.0, std::ceil(std::log2(costs.ranks)));
  return step;
}

}  // namespace catena
