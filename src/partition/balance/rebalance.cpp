#include <algorithm>
#include <array>

#include "catena/partition/balance.hpp"
#include "partition/graph/contact_graph.hpp"
#include "partition/graph/joint_work.hpp"

namespace catena {

namespace {

/// What a split leaves of imbalance: METIS may leave 0.5 % a bisection, or 3 %, and 4 % of contacts
/// and 12 % of joints where both are balanced.
constexpr double kLeft = 1.02;
constexpr double kMaxPatience = 64.0;
/// Part of the price that must be lost before bodies move between looks: an imbalance of a few
/// steps moves nothing.
constexpr double kSoon = 0.25;

int parts_of(const Communicator& comm, const BalanceSettings& settings) {
  return settings.subdomains > 0 ? settings.subdomains : comm.size();
}

/// What splitting and moving cost, with their factor.
double price_of(const BalanceSums& sums, const BalanceSettings& settings, int n_ranks) {
  const WorkSize size{sums.bodies, sums.rows, settings.max_graph, n_ranks};
  return settings.move_price * (price_of_split(size) + price_of_move(size));
}

/// Collective. Of ranks' work.
WorkBalance balance_over(const Communicator& comm, double contacts, double joints) {
  std::array<double, 2> largest = {contacts, joints}, mean = largest;
  comm.max(largest);
  comm.sum(mean);
  for (double& m : mean) m /= comm.size();
  return balance_of(largest, mean);
}

/// Work that the busiest rank has above what a split would leave it.
double above(const BalanceSums& sums) {
  return std::max(0.0, sums.largest_work - kLeft * sums.mean_work);
}

}  // namespace

PartitionQuality rebalance(const Communicator& comm, Bodies& bodies, State& state,
                           const ContactSet& contacts, const BalanceSettings& settings) {
  const int n_parts = parts_of(comm, settings);
  PartitionQuality quality;
  std::vector<int> part =
      partition_bodies(comm, bodies, state, contacts, n_parts, settings, quality);
  relabel_parts(comm, part, n_parts);
  quality.moved = migrate(comm, bodies, state, part, n_parts);
  return quality;
}

WorkBalance note_work(const Communicator& comm, const RankLoad& load, double sweeps, double factor,
                      BalanceSums& sums) {
  const double contacts = factor * counted_work(load.contact_rows, sweeps, load.bodies);
  const double joints = factor * joint_work(load.joint_rows, sweeps);
  const WorkBalance balance = balance_over(comm, contacts, joints);
  std::array<double, 3> all = {contacts + joints,
                               static_cast<double>(load.contact_rows + load.joint_rows),
                               static_cast<double>(load.bodies)};
  comm.sum(all);
  sums.mean_work = all[0] / comm.size();
  sums.largest_work = balance.all * sums.mean_work;
  sums.rows = static_cast<std::int64_t>(all[1]);
  sums.bodies = static_cast<std::int64_t>(all[2]);
  sums.lost += above(sums);
  sums.sweeps += sweeps;
  ++sums.steps;
  return balance;
}

double imbalance_of(const BalanceSums& sums) {
  return sums.mean_work > 0.0 ? sums.largest_work / sums.mean_work : 1.0;
}

bool split_pays(const BalanceSums& sums, const BalanceSettings& settings, int n_ranks, bool due) {
  if (!(imbalance_of(sums) > settings.imbalance)) return false;
  if (settings.move_price == 0.0) return due;
  const double price = sums.split_price_factor * price_of(sums, settings, n_ranks);
  if (sums.lost > price) return true;
  const bool will_save = above(sums) * settings.rebalance_steps > price;
  return will_save && (due || sums.lost > kSoon * price);
}

RebalanceDecision rebalance_if_it_pays(const Communicator& comm, Bodies& bodies, State& state,
                                       const ContactSet& contacts, const BalanceSettings& settings,
                                       const WorkRate& rate) {
  const int n_parts = parts_of(comm, settings);
  BalanceSums& sums = state.balance;
  RebalanceDecision look;
  look.step = state.step;
  std::vector<int> part =
      partition_bodies(comm, bodies, state, contacts, n_parts, settings, look.quality, rate);

  std::vector<PartWork> of_rank(comm.size());
  PartWork own;
  for (const PartWork& work : partition::body_weights(bodies, contacts, rate)) own += work;
  of_rank[comm.rank()].contacts = own.contacts;
  const std::vector<int> here(bodies.constants.size(), comm.rank());
  partition::JointWork(comm, bodies, contacts, settings, rate).add_to(comm, here, of_rank);
  look.balance = partition::balance_of_parts(comm, of_rank);
  const double mean = static_cast<double>(comm.sum(own.all())) / comm.size();
  look.gain = (look.balance.all - look.quality.balance.all) * mean * settings.rebalance_steps;
  look.price = price_of(sums, settings, comm.size());

  const WorkSize size{sums.bodies, sums.rows, settings.max_graph, comm.size()};
  // the split is paid for already
  look.taken = settings.move_price == 0.0 || n_parts > comm.size() ||
               look.gain > settings.move_price * price_of_move(size);
  if (look.taken) {
    relabel_parts(comm, part, n_parts);
  } else {
    part.assign(state.subdomain.begin(), state.subdomain.end());
  }
  look.quality.moved = migrate(comm, bodies, state, part, n_parts);
  const bool of_use = look.taken && look.quality.balance.all <= settings.imbalance;
  sums.split_price_factor = of_use ? 1.0 : std::min(2.0 * sums.split_price_factor, kMaxPatience);
  sums.lost = 0.0;
  return look;
}

}  // namespace catena
