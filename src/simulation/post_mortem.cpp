#include "simulation/post_mortem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "catena/constraints/delassus.hpp"
#include "catena/io/text_file.hpp"
#include "catena/metrics/errors.hpp"
#include "simulation/run_notes.hpp"

namespace catena {

namespace {

constexpr std::size_t kMostListed = 10;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// The largest of something on this rank.
struct OwnExtreme {
  double value = 0.0;
  GlobalId a = kNoBody, b = kNoBody;

  void offer(double other, GlobalId other_a, GlobalId other_b) {
    if (!(other > value)) return;  // NaN is no extreme
    value = other;
    a = other_a;
    b = other_b;
  }
};

/// Collective. The largest over all ranks, the lowest rank's of equals.
Extreme of_all(const Communicator& comm, const NameTable& names, const OwnExtreme& own) {
  const std::vector<double> values = comm.all_gather(std::vector<double>{own.value});
  const std::vector<std::int64_t> ids = comm.all_gather(std::vector<std::int64_t>{own.a, own.b});
  const auto most =
      static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
  Extreme all{values[most], ids[2 * most], ids[2 * most + 1], "", ""};
  if (all.a != kNoBody) all.name_a = names.name_of(all.a);
  if (all.b != kNoBody) all.name_b = names.name_of(all.b);
  return all;
}

/// A block of this rank, as it travels.
struct BlockRecord {
  double energy = 0.0, slip = 0.0, impulse = 0.0, gap = 0.0;
  GlobalId a = kNoBody, b = kNoBody;
  std::int32_t kind = 0;
};

constexpr const char* kKindNames[] = {"joint", "limit", "drive", "contact"};

/// Infinite where it is NaN: what spoils a step comes first.
double rank_of(double energy) { return std::isnan(energy) ? kInfinity : energy; }

/// Walks the problem of a step.
class Examination {
 public:
  explicit Examination(const Simulation& sim)
      : comm_(sim.communicator()),
        stepper_(sim.stepper()),
        model_(sim.model()),
        problem_(sim.stepper().problem()),
        local_(sim.stepper().contacts().bodies) {}

  /// Collective. The worst blocks over all ranks; `energy`: of all.
  std::vector<WorstConstraint> worst(double& energy) {
    DelassusOperator op(problem_);
    ErrorEvaluator evaluator(problem_, op);
    velocities_.resize(at(problem_.bodies.n_dofs()));
    const std::vector<double> energies = evaluator.block_energies(stepper_.impulses(), velocities_);
    double own = 0.0;
    for (const double e : energies) own += e;
    energy = comm_.sum(own);
    general_slips_.resize(at(problem_.blocks.n_rows()));
    if (!general_slips_.empty()) {
      op.general_slips(velocities_, stepper_.impulses().subspan(3 * problem_.contacts.size()),
                       general_slips_);
    }
    return merged(own_worst(energies));
  }

  /// Collective. Masses, overlaps and numbers of contacts.
  void measure(FailureMeasures& m) {
    OwnExtreme ratio, overlap;
    std::unordered_map<GlobalId, Index> index;
    for (Index i = 0; i < local_.size(); ++i) index.emplace(local_.constants[at(i)].id, i);
    std::vector<std::int64_t> touches(at(local_.size()), 0);
    double deepest = 0.0;
    for (std::size_t k = 0; k < stepper_.n_contacts(); ++k) {
      const StepContact contact = stepper_.contact(k);
      const Index a = index.at(contact.key.a), b = index.at(contact.key.b);
      ++touches[at(a)];
      ++touches[at(b)];
      deepest = std::max(deepest, -contact.gap);
      offer_ratio(a, b, ratio);
      const double size = std::min(half_extent(local_.constants[at(a)].shape),
                                   half_extent(local_.constants[at(b)].shape));
      if (size > 0.0) overlap.offer(-contact.gap / size, contact.key.a, contact.key.b);
    }
    const GeneralBlocks& blocks = problem_.blocks;
    for (Index k = 0; k < blocks.size(); ++k) {
      const Index first = blocks.body_begin[at(k)];
      for (Index j = first + 1; j < blocks.body_begin[at(k) + 1]; ++j) {
        offer_ratio(blocks.body[at(j - 1)], blocks.body[at(j)], ratio);
      }
    }
    m.mass_ratio = of_all(comm_, model_.names, ratio);
    m.overlap = of_all(comm_, model_.names, overlap);
    m.penetration = comm_.max(deepest);
    count(touches, m);
  }

 private:
  void offer_ratio(Index a, Index b, OwnExtreme& ratio) const {
    const BodyConstants& one = local_.constants[at(a)];
    const BodyConstants& other = local_.constants[at(b)];
    if (one.kind != BodyKind::dynamic || other.kind != BodyKind::dynamic) return;
    const bool first = one.mass >= other.mass;
    ratio.offer(first ? one.mass / other.mass : other.mass / one.mass, first ? one.id : other.id,
                first ? other.id : one.id);
  }

  /// Contacts of ghosts are counted with their owners' by no message: most_contacts is a rank's.
  void count(const std::vector<std::int64_t>& touches, FailureMeasures& m) const {
    std::int64_t dynamic = 0, ends = 0, most = 0;
    for (Index i = 0; i < local_.size(); ++i) {
      if (local_.constants[at(i)].kind != BodyKind::dynamic) continue;
      ends += touches[at(i)];
      most = std::max(most, touches[at(i)]);
      if (i < local_.n_owned) ++dynamic;
    }
    m.bodies = comm_.sum(dynamic);
    m.contacts = comm_.sum(static_cast<std::int64_t>(stepper_.n_contacts()));
    m.rows = comm_.sum(static_cast<std::int64_t>(problem_.n_rows()));
    m.most_contacts = comm_.max(most);
    ends = comm_.sum(ends);
    if (m.bodies > 0)
      m.contacts_per_body = static_cast<double>(ends) / static_cast<double>(m.bodies);
  }

  std::vector<BlockRecord> own_worst(const std::vector<double>& energies) const {
    std::vector<Index> order(energies.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<Index>(k);
    const std::size_t n = std::min(order.size(), kMostListed);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                      [&](Index a, Index b) {
                        const double e_a = rank_of(energies[at(a)]), e_b = rank_of(energies[at(b)]);
                        return e_a > e_b || (e_a == e_b && a < b);
                      });
    std::vector<BlockRecord> records;
    for (std::size_t i = 0; i < n; ++i) {
      records.push_back(record_of(order[i]));
      records.back().energy = energies[at(order[i])];
    }
    if (n > 0) fill_gaps(records);
    return records;
  }

  BlockRecord record_of(Index block) const {
    BlockRecord r;
    const auto n_rigid = static_cast<Index>(problem_.contacts.size());
    const BlockView view = block_view(problem_, block);
    r.impulse = Eigen::Map<const Eigen::VectorXd>(stepper_.impulses().data() + view.row, view.rows)
                    .stableNorm();
    if (block < n_rigid) {
      const RigidContact& c = problem_.contacts[at(block)];
      const Index* dof = problem_.bodies.dof_begin.data();
      Vec3 w =
          contact_slip(c, velocities_.data() + dof[c.body_a], velocities_.data() + dof[c.body_b]);
      w[0] += c.bias;
      r.slip = w.norm();
      r.kind = 3;
      r.a = c.key.a;
      r.b = c.key.b;
      return r;
    }
    const GeneralBlocks& blocks = problem_.blocks;
    const std::size_t k = at(block - n_rigid);
    r.slip =
        Eigen::Map<const Eigen::VectorXd>(general_slips_.data() + blocks.row_begin[k], view.rows)
            .stableNorm();
    r.kind = static_cast<std::int32_t>(blocks.kind[k]);
    if (blocks.kind[k] == BlockKind::contact) {
      r.a = blocks.key[k].a;
      r.b = blocks.key[k].b;
    } else {
      r.a = blocks.name[k];
    }
    return r;
  }

  /// Of contacts; a pair's deepest point stands for all of them.
  void fill_gaps(std::vector<BlockRecord>& records) const {
    for (BlockRecord& r : records) {
      if (r.kind == 3) r.gap = kInfinity;
    }
    for (std::size_t k = 0; k < stepper_.n_contacts(); ++k) {
      const StepContact contact = stepper_.contact(k);
      for (BlockRecord& r : records) {
        if (r.kind == 3 && r.a == contact.key.a && r.b == contact.key.b)
          r.gap = std::min(r.gap, contact.gap);
      }
    }
  }

  /// Collective. The worst of all ranks' worst.
  std::vector<WorstConstraint> merged(const std::vector<BlockRecord>& own) const {
    const std::vector<std::byte> bytes = comm_.all_gather_bytes(std::as_bytes(std::span(own)));
    std::vector<BlockRecord> all(bytes.size() / sizeof(BlockRecord));
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
    std::stable_sort(all.begin(), all.end(), [](const BlockRecord& x, const BlockRecord& y) {
      return rank_of(x.energy) > rank_of(y.energy);
    });
    if (all.size() > kMostListed) all.resize(kMostListed);
    std::vector<WorstConstraint> worst;
    for (const BlockRecord& r : all) {
      const bool contact = r.kind == 3;
      worst.push_back({kKindNames[r.kind],
                       contact ? model_.names.name_of(r.a) : model_.joint_names.name_of(r.a),
                       contact ? model_.names.name_of(r.b) : "", r.a, r.b, r.energy, r.slip,
                       r.impulse, r.gap});
    }
    return worst;
  }

  const Communicator& comm_;
  const TimeStepper& stepper_;
  const Model& model_;
  const ConstraintProblem& problem_;
  const LocalBodies& local_;
  std::vector<double> velocities_, general_slips_;
};

/// Collective. How far bodies go in a step, over their size.
Extreme largest_motion(const Simulation& sim) {
  const double h = sim.settings().time.step;
  OwnExtreme own;
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i) {
    const BodyConstants& body = sim.bodies().constants[i];
    if (body.kind != BodyKind::dynamic) continue;
    const Twist& twist = sim.state().body[i].twist;
    const double size = half_extent(body.shape);
    if (size > 0.0) own.offer(h * twist.v.stableNorm() / size, body.id, kNoBody);
    own.offer(h * twist.w.stableNorm(), body.id, kNoBody);
  }
  return of_all(sim.communicator(), sim.model().names, own);
}

std::string quoted(const char* key, const std::string& value) {
  return std::string("\"") + key + "\": " + json_string(value);
}

std::string number(const char* key, double value) {
  return std::string("\"") + key + "\": " + json_number(value);
}

std::string json_of(const Extreme& e, bool pair) {
  if (e.a == kNoBody) return "null";
  std::string text = "{" + number("value", e.value);
  if (!pair)
    return text + ", " + quoted("body", e.name_a) + ", \"id\": " + std::to_string(e.a) + "}";
  return text + ", \"bodies\": [" + json_string(e.name_a) + ", " + json_string(e.name_b) +
         "], \"ids\": [" + std::to_string(e.a) + ", " + std::to_string(e.b) + "]}";
}

std::string json_of(const WorstConstraint& w) {
  std::string text = "{" + quoted("kind", w.kind) + ", ";
  if (w.kind == "contact") {
    text += "\"bodies\": [" + json_string(w.name) + ", " + json_string(w.other) + "], \"ids\": [" +
            std::to_string(w.a) + ", " + std::to_string(w.b) + "], " + number("gap_m", w.gap);
  } else {
    text += quoted("joint", w.name) + ", \"id\": " + std::to_string(w.a);
  }
  return text + ", " + number("error_J", w.energy) + ", " + number("slip", w.slip) + ", " +
         number("impulse", w.impulse) + "}";
}

}  // namespace

PostMortem examine_step(const Simulation& sim, const std::string* blow_up) {
  const CaseSettings& settings = sim.settings();
  const SolveReport& report = sim.stepper().report().solve;
  PostMortem p;
  FailureMeasures& m = p.measures;
  m.blow_up = blow_up != nullptr;
  p.step = sim.state().step + (m.blow_up ? 1 : 0);
  p.time = static_cast<double>(p.step - 1) * settings.time.step;
  m.step = settings.time.step;
  m.method = kSolverNames[static_cast<std::size_t>(settings.solver.method)];
  m.metric = kMetricNames[static_cast<std::size_t>(report.metric)];
  m.unit = metric_unit(report.metric);
  m.motion = largest_motion(sim);
  if (blow_up != nullptr) p.message = *blow_up;
  m.explicit_stepper = settings.time.stepper == StepperKind::natural;
  if (m.explicit_stepper) {
    m.method = "natural";
  } else {
    m.convergence = convergence_of(report);
    Examination examination(sim);
    p.worst = examination.worst(p.energy);
    examination.measure(m);
    m.finite = std::isfinite(p.energy) && report.status != SolveStatus::breakdown;
    m.joints_swept = settings.solver.gauss_seidel.joints.method == JointMethod::iterative;
    m.longest_chain =
        report.joints.longest_chain > 0
            ? report.joints.longest_chain
            : sim.communicator().sum(static_cast<std::int64_t>(sim.bodies().joints.size()));
  }
  p.advice = advise(m);
  return p;
}

std::string to_json(const PostMortem& p) {
  const FailureMeasures& m = p.measures;
  const Convergence& c = m.convergence;
  std::string text = "{\n  \"schema\": 1,\n  \"step\": " + std::to_string(p.step) + ",\n  " +
                     number("time_s", p.time) + ",\n  " +
                     quoted("cause", m.blow_up ? "blow_up" : "tolerance_missed") + ",\n  " +
                     quoted("message", p.message) + ",\n  " + number("error_energy_J", p.energy) +
                     ",\n  \"worst\": [";
  for (std::size_t i = 0; i < p.worst.size(); ++i) {
    text += (i > 0 ? ",\n    " : "\n    ") + json_of(p.worst[i]);
  }
  text += "],\n  \"solve\": {" + quoted("method", m.method) + ", " + quoted("metric", m.metric) +
          ", " + quoted("unit", m.unit) + ", " + number("error", c.error) + ", " +
          number("wanted", c.wanted) + ", \"iterations\": " + std::to_string(c.iterations) + ", " +
          number("factor_per_iteration", c.factor) + ", " +
          number("iterations_missing", c.missing) + ", " +
          number("condition_estimate", c.condition) + "},\n";
  text += "  \"mass_ratio\": " + json_of(m.mass_ratio, true) +
          ",\n  \"overlap_over_size\": " + json_of(m.overlap, true) + ",\n  " +
          number("penetration_m", m.penetration) +
          ",\n  \"motion_per_step\": " + json_of(m.motion, false) + ",\n";
  text += "  \"bodies\": " + std::to_string(m.bodies) +
          ", \"contacts\": " + std::to_string(m.contacts) +
          ", \"rows\": " + std::to_string(m.rows) + ", " +
          number("contacts_per_body", m.contacts_per_body) +
          ", \"most_contacts\": " + std::to_string(m.most_contacts) +
          ", \"longest_chain\": " + std::to_string(m.longest_chain) + ",\n  \"reasons\": [";
  for (std::size_t i = 0; i < p.advice.reasons.size(); ++i) {
    text += (i > 0 ? ", " : "") + json_string(p.advice.reasons[i]);
  }
  return text + "],\n  " + quoted("advice", p.advice.text) + "\n}\n";
}

std::string to_text(const PostMortem& p) {
  constexpr std::size_t kMostTold = 3;
  std::string text = "post-mortem of step " + std::to_string(p.step) + ": ";
  if (!p.worst.empty()) {
    text += "energy error " + short_text(p.energy) + " J, worst of " +
            std::to_string(p.measures.rows) + " rows: ";
  }
  for (std::size_t i = 0; i < std::min(p.worst.size(), kMostTold); ++i) {
    const WorstConstraint& w = p.worst[i];
    text += (i > 0 ? "; " : "") + w.kind + " " + w.name + (w.other.empty() ? "" : " / " + w.other) +
            " with " + short_text(w.energy) + " J";
    if (w.kind == "contact") {
      text += w.gap < 0.0 ? ", penetration " + short_text(-w.gap) + " m"
                          : ", gap " + short_text(w.gap) + " m";
    }
  }
  return text + (p.worst.empty() ? "" : ". ") + p.advice.text;
}

std::string write_post_mortem(const Communicator& comm, const std::string& directory,
                              const PostMortem& p) {
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%08lld", static_cast<long long>(p.step));
  const std::string path = directory + "/post-mortem-" + digits.data() + ".json";
  all_or_none(comm, [&] {
    if (comm.rank() == 0) write_text_file(path, to_json(p));
  });
  return path;
}

}  // namespace catena
