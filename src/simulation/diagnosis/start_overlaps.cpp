#include "simulation/diagnosis/start_overlaps.hpp"

#include <algorithm>
#include <unordered_map>

#include "catena/base/text.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/model/contact_margin.hpp"
#include "catena/partition/assignment.hpp"
#include "catena/simulation/start_check.hpp"
#include "simulation/case_keys.hpp"

namespace catena {

namespace {

constexpr std::size_t kMaxNamed = 3;
/// Part of the smaller half extent.
constexpr double kMuchOverlap = 0.05;

bool deeper(const PairOverlap& x, const PairOverlap& y) {
  if (x.depth != y.depth) return x.depth > y.depth;
  return x.a != y.a ? x.a < y.a : x.b < y.b;
}

/// This rank's pairs, their contacts given one after the other in the order of keys.
class OverlapList {
 public:
  explicit OverlapList(double margin) : margin_(margin) {}

  void add(const BodyConstants& a, const BodyConstants& b, double gap) {
    const double size_a = half_extent(a.shape), size_b = half_extent(b.shape);
    const double size = std::min(size_a, size_b);
    if (!(-gap > margin_) && !(-gap > kMuchOverlap * size)) return;
    if (pairs_.empty() || pairs_.back().a != a.id || pairs_.back().b != b.id)
      pairs_.push_back({a.id, b.id, 0.0, size, size_a + size_b});
    pairs_.back().depth = std::max(pairs_.back().depth, -gap);
  }

  /// Collective.
  StartOverlaps over_all(const Communicator& comm) {
    StartOverlaps all;
    all.pairs = comm.sum(std::ssize(pairs_));
    const std::size_t n = std::min(kMaxNamed, pairs_.size());
    std::partial_sort(pairs_.begin(), pairs_.begin() + n, pairs_.end(), deeper);
    pairs_.resize(n);
    all.worst = all_gather_values(comm, pairs_);
    std::sort(all.worst.begin(), all.worst.end(), deeper);
    if (all.worst.size() > kMaxNamed) all.worst.resize(kMaxNamed);
    return all;
  }

 private:
  double margin_;
  std::vector<PairOverlap> pairs_;
};

/// What so deep an overlap means.
std::string remark(const PairOverlap& pair) {
  constexpr double kRoundOff = 1e-9;
  if (pair.depth >= pair.sizes * (1.0 - kRoundOff)) return " (one centre)";
  if (pair.depth > 2.0 * pair.size) return " (wholly inside)";
  return "";
}

}  // namespace

StartOverlaps overlaps_of_step(const Communicator& comm, const Model& model,
                               const TimeStepper& stepper) {
  const LocalBodies& local = stepper.local_bodies();
  std::unordered_map<GlobalId, std::size_t> index;
  for (Index i = 0; i < local.size(); ++i) index.emplace(local.constants[i].id, i);
  OverlapList list(margin_of_no_pair(model.contact));
  for (std::size_t k = 0; k < stepper.n_contacts(); ++k) {
    const ContactRecord contact = stepper.contact(k);
    if (contact.gap >= 0.0) continue;
    list.add(local.constants[index.at(contact.key.a)], local.constants[index.at(contact.key.b)],
             contact.gap);
  }
  return list.over_all(comm);
}

StartOverlaps find_overlaps(const Communicator& comm, const CaseSettings& settings,
                            const Model& model, const Bodies& bodies, const State& state) {
  ContactSet set;
  ContactSearch(comm, model).find(bodies, state, settings.time.step, set);
  OverlapList list(margin_of_no_pair(model.contact));
  for (const Contact& contact : set.contacts) {
    if (contact.gap >= 0.0) continue;
    list.add(set.bodies.constants[contact.body_a], set.bodies.constants[contact.body_b],
             contact.gap);
  }
  return list.over_all(comm);
}

std::string to_text(const StartOverlaps& overlaps, const CaseSettings& settings,
                    const Model& model) {
  if (overlaps.worst.empty()) return {};
  std::string text =
      "bodies overlap at the start by up to " + short_text(overlaps.worst.front().depth) + " m";
  for (std::size_t i = 0; i < overlaps.worst.size(); ++i) {
    const PairOverlap& pair = overlaps.worst[i];
    text += std::string(i == 0 ? ": " : "; ") + model.names.name_of(pair.a) + " and " +
            model.names.name_of(pair.b) + " by " + short_text(pair.depth) + " m" + remark(pair) +
            ", see " + place_keys(settings, model, pair.a, pair.b);
  }
  const auto more = overlaps.pairs - std::ssize(overlaps.worst);
  if (more > 0) text += "; and " + std::to_string(more) + " other pairs";
  return text;
}

std::string overlaps_at_start(const Communicator& comm, const CaseSettings& settings,
                              const Model& model) {
  Bodies bodies;
  State state;
  generate_bodies(settings, comm, model, bodies, state);
  migrate(comm, bodies, state, partition_by_curve(comm, bodies, state, comm.size()), comm.size());
  return to_text(find_overlaps(comm, settings, model, bodies, state), settings, model);
}

}  // namespace catena
