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

void add_parts(const CutPlan& cut, std::span<KindRows> ranks) {
  const auto joints = static_cast<double>(cut.joints), loops = static_cast<double>(cut.loops);
  const auto all_rows = static_cast<double>(cut.rows_of_all());
  const double rows_of_joint = all_rows / joints;
  // an anchor may have more rows than the joints of its mechanism
  const bool several = rows_of_joint > 1.5;
  const double fronts = partition::share_of_fronts(joints, loops);
  for (int node = 1; node < std::ssize(cut.rows); ++node) {
    KindRows& rank = ranks[cut.dealt.rank_of(node)];
    const auto rows = static_cast<double>(cut.rows[node]);
    rank.joints += rows / rows_of_joint;
    (several ? rank.tree : rank.cords) += (1.0 - fronts) * rows;
    rank.net += fronts * rows;
    if (several) rank.net_several += fronts * rows;
    rank.net_solve += fronts * rows * net_levels(joints);
    if (cut.tree().is_part(node)) rank.flops += net_flops(loops * rows / all_rows, rows_of_joint);
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

MechanismCosts SizedCosts::of(double joints) const {
  const double size =
      std::log(std::max(joints, 1.0) / kCachedJoints) / std::log(kLargeJoints / kCachedJoints);
  const double w = std::clamp(size, 0.0, 1.0);
  const auto between = [&](double MechanismCosts::*cost) {
    return (1.0 - w) * cached.*cost + w * large.*cost;
  };
  return {between(&MechanismCosts::factor), between(&MechanismCosts::solve),
          between(&MechanismCosts::rows), between(&MechanismCosts::motion)};
}

double net_flops(double loops, double rows) {
  return 12.0 * std::pow(loops, 1.5) * rows * rows * rows;
}

double net_levels(double joints) { return std::log2(joints + 1.0); }

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
    return settings.chains_in_order && p.is_simple_chain();
  };
  // rows of what is no chain, by fronts or not
  const auto in_fronts = [&](const JointEdge& e, const JointPlace& p) {
    const double share = partition::share_of_fronts(static_cast<double>(p.n_joints),
                                                    static_cast<double>(partition::n_loops(p)));
    return is_chain(p) ? 0.0 : share * e.rows;
  };
  const auto along_paths = [&](const JointEdge& e, const JointPlace& p) {
    return is_chain(p) ? 0.0 : e.rows - in_fronts(e, p);
  };
  deal(&KindRows::joints, [](auto&, auto&) { return 1.0; });
  deal(&KindRows::chain, [&](auto& e, auto& p) { return is_chain(p) ? 1.0 * e.rows : 0.0; });
  deal(&KindRows::tree, [&](auto& e, auto& p) { return e.rows > 1 ? along_paths(e, p) : 0.0; });
  deal(&KindRows::cords, [&](auto& e, auto& p) { return e.rows > 1 ? 0.0 : along_paths(e, p); });
  deal(&KindRows::net, in_fronts);
  deal(&KindRows::net_several,
       [&](auto& e, auto& p) { return e.rows > 1 ? in_fronts(e, p) : 0.0; });
  deal(&KindRows::net_solve, [&](auto& e, auto& p) {
    return in_fronts(e, p) * net_levels(static_cast<double>(p.n_joints));
  });
  deal(&KindRows::flops, [&](auto&, auto& p) {
    const auto joints = static_cast<double>(p.n_joints);
    return net_flops(static_cast<double>(partition::n_loops(p)),
                     static_cast<double>(p.n_rows) / joints) /
           joints;
  });
  for (const CutPlan& cut : cuts) add_parts(cut, ranks);
  return ranks;
}

StepPrediction predict_step(const StepCosts& costs, std::span<const KindRows> ranks, double bodies,
                            std::span<const CutPlan> cuts) {
  StepPrediction step;
  for (const KindRows& r : ranks) {
    const MechanismCosts chain = costs.chain.of(r.joints), tree = costs.tree.of(r.joints);
    const MechanismCosts cords = costs.cords.of(r.joints), net = costs.net.of(r.joints);
    step.rows = std::max(step.rows, r.chain * chain.rows + (r.tree + r.net_several) * tree.rows +
                                        r.cords * cords.rows + (r.net - r.net_several) * net.rows);
    step.factor = std::max(step.factor, r.chain * chain.factor + r.tree * tree.factor +
                                            r.cords * cords.factor + r.net * net.factor +
                                            r.flops * costs.front_flop);
    step.solve = std::max(step.solve, r.chain * chain.solve + r.tree * tree.solve +
                                          r.cords * cords.solve + r.net_solve * net.solve);
    // bodies move as those of the mechanisms that most rows belong to
    const double all = r.chain + r.tree + r.cords + r.net;
    if (!(all > 0.0)) continue;
    const double motion = (r.chain * chain.motion + r.tree * tree.motion + r.cords * cords.motion +
                           r.net * net.motion) /
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
