#include "simulation/diagnosis/post_mortem.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "catena/base/index.hpp"
#include "catena/base/text.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/io/text_file.hpp"
#include "catena/math/types.hpp"
#include "catena/metrics/errors.hpp"
#include "simulation/case_keys.hpp"

namespace catena {

namespace {

constexpr std::size_t kMaxListed = 10;

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
  const std::size_t most = std::max_element(values.begin(), values.end()) - values.begin();
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
        settings_(sim.settings()),
        stepper_(sim.stepper()),
        model_(sim.model()),
        problem_(sim.stepper().problem()),
        local_(sim.stepper().local_bodies()),
        bodies_(sim.bodies()) {}

  /// Collective. The worst blocks over all ranks; the energy errors of all into `m`.
  std::vector<WorstConstraint> worst(FailureMeasures& m) {
    DelassusOperator op(problem_);
    ErrorEvaluator evaluator(problem_, op);
    velocities_.resize(problem_.bodies.n_dofs());
    energies_ = evaluator.block_energies(stepper_.impulses(), velocities_);
    double own = 0.0;
    for (const double e : energies_) own += e;
    m.energy = comm_.sum(own);
    m.start_energy = evaluator.evaluate_zero(ErrorSet::energy).energy;
    m.round_off = evaluator.energy_round_off();
    general_residual_velocities_.resize(problem_.blocks.n_rows());
    if (!general_residual_velocities_.empty()) {
      op.general_residual_velocities(velocities_,
                                     stepper_.impulses().subspan(problem_.first_general_row()),
                                     general_residual_velocities_);
    }
    return merged(own_worst(energies_));
  }

  /// Collective. Whether the constraints contradict each other, with names.
  NamedContradiction contradiction(const CaseSettings& settings) const {
    NamedContradiction named;
    named.measured = find_contradiction(problem_, energies_, stepper_.impulses());
    const Contradiction& c = named.measured;
    for (const Opposed& o : c.constraints) {
      const bool contact = o.kind == BlockKind::contact;
      named.constraints.push_back(
          std::string(kKindNames[ordinal(o.kind)]) + " " +
          (contact ? model_.names.name_of(o.a) + " / " + model_.names.name_of(o.b)
                   : joint_name(model_, o.a)));
    }
    for (const Holder& h : c.holders) {
      named.holders.push_back(h.joint ? "the world (joint " + joint_name(model_, h.id) + ")"
                                      : model_.names.name_of(h.id) + (h.moves ? " (moving)" : ""));
    }
    if (c.found) named.cause = cause_text(settings, c);
    return named;
  }

  /// Collective. Names the fastest dynamic body of the solve, not finite ones first, if any moves.
  void name_fastest(FailureMeasures& m) const {
    OwnExtreme own;
    for (std::size_t i = 0; i < bodies_.constants.size(); ++i) {
      if (bodies_.constants[i].kind != BodyKind::dynamic) continue;
      double most = bodies_.constants[i].mass > 0.0 ? 0.0 : kInfinity;
      for (std::size_t d = 0; d < 6; ++d) {
        const double v = std::abs(velocities_[6 * i + d]);
        most = std::isnan(v) ? kInfinity : std::max(most, v);
      }
      own.offer(most, bodies_.constants[i].id, kNoBody);
    }
    const Extreme all = of_all(comm_, model_.names, own);
    if (all.a == kNoBody) return;
    m.body_id = all.a;
    m.body = all.name_a;
    m.body_key = body_key(settings_, model_, all.a);
  }

  /// Collective. Masses, overlaps and numbers of contacts.
  void measure(FailureMeasures& m) {
    OwnExtreme ratio, overlap, stiffness;
    std::unordered_map<GlobalId, Index> index;
    for (Index i = 0; i < local_.size(); ++i) index.emplace(local_.constants[i].id, i);
    std::vector<std::int64_t> touches(local_.size(), 0);
    double deepest = 0.0;
    for (std::size_t k = 0; k < stepper_.n_contacts(); ++k) {
      const ContactRecord contact = stepper_.contact(k);
      const Index a = index.at(contact.key.a), b = index.at(contact.key.b);
      ++touches[a];
      ++touches[b];
      deepest = std::max(deepest, -contact.gap);
      offer_ratio(a, b, ratio);
      const double size =
          std::min(half_extent(local_.constants[a].shape), half_extent(local_.constants[b].shape));
      if (size > 0.0) overlap.offer(-contact.gap / size, contact.key.a, contact.key.b);
    }
    for (const RigidContact& c : problem_.contacts) {
      const double mobility = mean_mobility(contact_mobility(problem_.bodies, c));
      // of an impact by Newton's rule the normal row alone is rigid, and only the tangents, which
      // are softer, tell of its stiffness
      const double given = c.compliance > 0.0 ? c.compliance : c.tangent_compliance;
      if (mobility > 0.0) stiffness.offer(mobility / given, c.key.a, c.key.b);
    }
    const GeneralBlocks& blocks = problem_.blocks;
    for (Index k = 0; k < blocks.size(); ++k) {
      const Index first = blocks.body_begin[k];
      for (Index j = first + 1; j < blocks.body_begin[k + 1]; ++j) {
        offer_ratio(blocks.body[j - 1], blocks.body[j], ratio);
      }
    }
    m.mass_ratio = of_all(comm_, model_.names, ratio);
    m.overlap = of_all(comm_, model_.names, overlap);
    m.stiffness = of_all(comm_, model_.names, stiffness);
    m.overlap_keys =
        m.overlap.a == kNoBody ? "" : place_keys(settings_, model_, m.overlap.a, m.overlap.b);
    m.penetration = comm_.max(deepest);
    count(touches, m);
  }

 private:
  void offer_ratio(Index a, Index b, OwnExtreme& ratio) const {
    const BodyConstants& one = local_.constants[a];
    const BodyConstants& other = local_.constants[b];
    if (one.kind != BodyKind::dynamic || other.kind != BodyKind::dynamic) return;
    const bool first = one.mass >= other.mass;
    ratio.offer(first ? one.mass / other.mass : other.mass / one.mass, first ? one.id : other.id,
                first ? other.id : one.id);
  }

  /// Contacts of ghosts are counted with their owners' by no message: most_contacts is a rank's.
  void count(const std::vector<std::int64_t>& touches, FailureMeasures& m) const {
    std::int64_t dynamic = 0, ends = 0, most = 0;
    for (Index i = 0; i < local_.size(); ++i) {
      if (local_.constants[i].kind != BodyKind::dynamic) continue;
      ends += touches[i];
      most = std::max(most, touches[i]);
      if (i < local_.n_owned) ++dynamic;
    }
    m.bodies = comm_.sum(dynamic);
    m.contacts = comm_.sum(narrow<std::int64_t>(stepper_.n_contacts()));
    m.rows = comm_.sum(std::int64_t{problem_.n_rows()});
    m.most_contacts = comm_.max(most);
    ends = comm_.sum(ends);
    if (m.bodies > 0)
      m.contacts_per_body = static_cast<double>(ends) / static_cast<double>(m.bodies);
  }

  std::vector<BlockRecord> own_worst(const std::vector<double>& energies) const {
    std::vector<Index> order(energies.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = to_index(k);
    const std::size_t n = std::min(order.size(), kMaxListed);
    std::partial_sort(order.begin(), order.begin() + n, order.end(), [&](Index a, Index b) {
      const double e_a = rank_of(energies[a]), e_b = rank_of(energies[b]);
      return e_a > e_b || (e_a == e_b && a < b);
    });
    std::vector<BlockRecord> records;
    for (std::size_t i = 0; i < n; ++i) {
      records.push_back(record_of(order[i]));
      records.back().energy = energies[order[i]];
    }
    if (n > 0) fill_gaps(records);
    return records;
  }

  BlockRecord record_of(Index block) const {
    BlockRecord r;
    const auto n_rigid = to_index(problem_.contacts.size());
    const BlockView view = block_view(problem_, block);
    r.impulse = Eigen::Map<const Eigen::VectorXd>(stepper_.impulses().data() + view.row, view.rows)
                    .stableNorm();
    if (block < n_rigid) {
      const RigidContact& c = problem_.contacts[block];
      const Index* dof = problem_.bodies.dof_begin.data();
      Vec3 w =
          contact_slip(c, velocities_.data() + dof[c.body_a], velocities_.data() + dof[c.body_b]);
      w += bias_of(c) + compliance_of(c).cwiseProduct(
                            Eigen::Map<const Vec3>(stepper_.impulses().data() + view.row));
      r.slip = w.norm();
      r.kind = 3;
      r.a = c.key.a;
      r.b = c.key.b;
      return r;
    }
    const GeneralBlocks& blocks = problem_.blocks;
    const std::size_t k = block - n_rigid;
    r.slip = Eigen::Map<const Eigen::VectorXd>(
                 general_residual_velocities_.data() + blocks.row_begin[k], view.rows)
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

  /// Gaps of contacts; a pair's deepest point stands for all of them.
  void fill_gaps(std::vector<BlockRecord>& records) const {
    for (BlockRecord& r : records) {
      if (r.kind == 3) r.gap = kInfinity;
    }
    for (std::size_t k = 0; k < stepper_.n_contacts(); ++k) {
      const ContactRecord contact = stepper_.contact(k);
      for (BlockRecord& r : records) {
        if (r.kind == 3 && r.a == contact.key.a && r.b == contact.key.b)
          r.gap = std::min(r.gap, contact.gap);
      }
    }
  }

  /// Collective. The worst of all ranks' worst.
  std::vector<WorstConstraint> merged(const std::vector<BlockRecord>& own) const {
    std::vector<BlockRecord> all = all_gather_values(comm_, own);
    std::stable_sort(all.begin(), all.end(), [](const BlockRecord& x, const BlockRecord& y) {
      return rank_of(x.energy) > rank_of(y.energy);
    });
    if (all.size() > kMaxListed) all.resize(kMaxListed);
    std::vector<WorstConstraint> worst;
    for (const BlockRecord& r : all) {
      const bool contact = r.kind == 3;
      worst.push_back(
          {kKindNames[r.kind], contact ? model_.names.name_of(r.a) : joint_name(model_, r.a),
           contact ? model_.names.name_of(r.b) : "", r.a, r.b, r.energy, r.slip, r.impulse, r.gap});
    }
    return worst;
  }

  /// Collective. Whether a joint has a motor without bound on a coordinate with limits.
  bool drives_beyond_limits(GlobalId id) const {
    const auto driven = [](const JointAxis& axis) {
      return axis.limited() && axis.motor != MotorKind::none && axis.motor != MotorKind::force &&
             !(axis.max_force < kInfinity);
    };
    const bool own = std::ranges::any_of(bodies_.joints, [&](const JointConstants& joint) {
      return joint.id == id && std::ranges::any_of(joint.axis, driven);
    });
    return comm_.max(std::int64_t{own ? 1 : 0}) == 1;
  }

  /// What asks for too much, and the key that says so.
  std::string cause_text(const CaseSettings& settings, const Contradiction& c) const {
    switch (c.cause) {
      case ContradictionCause::motion: {
        const std::string name = model_.names.name_of(c.cause_a);
        return "the largest part is the prescribed motion of " + name + " (" +
               body_key(settings, model_, c.cause_a) +
               ".motion), which no impulse changes: a joint's motor with max_force, or a force, "
               "can be held up";
      }
      case ContradictionCause::overlap: {
        double gap = 0.0;
        for (std::size_t k = 0; k < stepper_.n_contacts(); ++k) {
          const ContactRecord contact = stepper_.contact(k);
          if (contact.key.a == c.cause_a && contact.key.b == c.cause_b)
            gap = std::min(gap, contact.gap);
        }
        return "the largest part is the overlap of " + model_.names.name_of(c.cause_a) + " and " +
               model_.names.name_of(c.cause_b) + " by " + short_text(-comm_.min(gap)) +
               " m, which is to be undone: place them apart (" +
               place_keys(settings, model_, c.cause_a, c.cause_b) +
               "), or let them make no contacts (contact.no_collisions)";
      }
      case ContradictionCause::drive:
        break;
    }
    return "the largest part is what joint " + joint_name(model_, c.cause_a) +
           " asks for by its motor, limit or misfit" +
           (drives_beyond_limits(c.cause_a)
                ? ": its motor has no bound; if it drives it beyond its limits, give it a "
                  "motor.max_force, at which it stalls there, or a target within them"
                : "");
  }

  const Communicator& comm_;
  const CaseSettings& settings_;
  const TimeStepper& stepper_;
  const Model& model_;
  const ConstraintProblem& problem_;
  const LocalBodies& local_;
  const Bodies& bodies_;
  std::vector<double> energies_;  ///< of this rank's blocks
  std::vector<double> velocities_, general_residual_velocities_;
};

/// Collective. The heaviest dynamic body and the key of its mass.
Extreme heaviest_body(const Simulation& sim) {
  OwnExtreme own;
  for (const BodyConstants& body : sim.bodies().constants) {
    if (body.kind == BodyKind::dynamic) own.offer(body.mass, body.id, kNoBody);
  }
  Extreme all = of_all(sim.communicator(), sim.model().names, own);
  if (all.a != kNoBody) all.name_b = mass_key(sim.settings(), sim.model(), all.a);
  return all;
}

/// m, by which the ways of a dynamic body are measured: half the extent of its shape; of one
/// without a shape that blows up, as in mechanisms, the radius of gyration, and else 0.
double size_of_way(const BodyConstants& body, bool blow_up) {
  const double half = half_extent(body.shape);
  if (half > 0.0 || !blow_up || !(body.mass > 0.0)) return half;
  return std::sqrt(body.inertia.maxCoeff() / body.mass);
}

/// Collective, after name_fastest(). How far given forces make a body go within a step, over its
/// size, and gravity the one that blew up, or where that is not known the one it moves farthest: a
/// speck of dust beside it is the reason of nothing.
void measure_forces(const Simulation& sim, std::int64_t step, FailureMeasures& m) {
  const double h = sim.settings().time.step;
  const double time = static_cast<double>(step - 1) * h;
  const Model& model = sim.model();
  OwnExtreme own, falling, fastest;
  double own_speed = 0.0;
  m.gravity_speed = h * model.mean_gravity(time, h).stableNorm();
  for (const BodyConstants& body : sim.bodies().constants) {
    if (body.kind != BodyKind::dynamic) continue;
    const double size = size_of_way(body, m.blow_up);
    if (size > 0.0) {
      falling.offer(h * m.gravity_speed / size, body.id, kNoBody);
      if (body.id == m.body_id) fastest.offer(h * m.gravity_speed / size, body.id, kNoBody);
    }
    for (std::size_t f = 0; f < model.forces.size(); ++f) {
      const AppliedForce& force = model.forces[f];
      if (force.body != body.id || !(size > 0.0)) continue;
      const double factor = force.table < 0 ? 1.0 : model.tables[force.table].mean(time, h);
      const double speed = h * std::abs(factor) * force.force.stableNorm() / body.mass;
      if (h * speed / size > own.value) own_speed = speed;
      own.offer(h * speed / size, body.id, static_cast<GlobalId>(f));
    }
  }
  m.gravity = of_all(sim.communicator(), model.names, fastest);
  if (m.gravity.a == kNoBody) m.gravity = of_all(sim.communicator(), model.names, falling);
  m.gravity.name_b = model.gravity_table.empty() ? "gravity" : "gravity_table";
  const double value = own.value;
  m.force = of_all(sim.communicator(), model.names, own);
  m.force_speed = sim.communicator().max(value == m.force.value ? own_speed : 0.0);
  m.force.name_b = m.force.a == kNoBody ? "" : model.forces[m.force.b].name;
}

/// Bodies of the constraints that have a tenth of the error or more.
std::vector<GlobalId> bodies_of(const Simulation& sim, const std::vector<WorstConstraint>& worst,
                                double energy) {
  constexpr double kMuch = 0.1;
  std::vector<GlobalId> ids;
  std::vector<GlobalId> joints;
  for (const WorstConstraint& w : worst) {
    if (w.energy < kMuch * energy) continue;
    if (w.kind == "contact") {
      ids.insert(ids.end(), {w.a, w.b});
    } else {
      joints.push_back(w.a);
    }
  }
  std::vector<GlobalId> own;
  for (const JointConstants& joint : sim.bodies().joints) {
    if (std::find(joints.begin(), joints.end(), joint.id) == joints.end()) continue;
    for (const GlobalId body : joint.body)
      if (body != kNoBody) own.push_back(body);
  }
  const std::vector<GlobalId> all = all_gather_values(sim.communicator(), own);
  ids.insert(ids.end(), all.begin(), all.end());
  return ids;
}

/// s, that a trial may take.
double trial_seconds(const Simulation& sim, TrialTime time) {
  const double own = sim.communicator().max(sim.stepper().report().solve.wall_s);
  return time == TrialTime::on_the_way ? std::max(5e-3, 3.0 * own) : std::max(2.0, 10.0 * own);
}

/// Collective. How far bodies go in a step, over their size, and the key of the one that goes
/// farthest.
Extreme largest_motion(const Simulation& sim, bool blow_up) {
  const double h = sim.settings().time.step;
  OwnExtreme own;
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i) {
    const BodyConstants& body = sim.bodies().constants[i];
    if (body.kind != BodyKind::dynamic) continue;
    const Twist& twist = sim.state().body[i].twist;
    const double size = size_of_way(body, blow_up);
    if (size > 0.0) own.offer(h * twist.v.stableNorm() / size, body.id, kNoBody);
    own.offer(h * twist.w.stableNorm(), body.id, kNoBody);
  }
  Extreme all = of_all(sim.communicator(), sim.model().names, own);
  if (all.a != kNoBody) all.name_b = body_key(sim.settings(), sim.model(), all.a);
  return all;
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

std::string json_of(const std::vector<std::string>& words) {
  std::string text = "[";
  for (const std::string& word : words) text += (text.size() > 1 ? ", " : "") + json_string(word);
  return text + "]";
}

std::string json_of(const NamedContradiction& named) {
  const Contradiction& c = named.measured;
  if (!c.found) return "null";
  return "{" + quoted("proof", c.friction ? "friction" : "normal") + ", " +
         number("closing_m_s", c.closing) + ", " + number("least_error_J", c.least_error) + ", " +
         number("balance", c.balance) + ", " + number("error_J", c.error) +
         ", \"constraints\": " + json_of(named.constraints) +
         ", \"holders\": " + json_of(named.holders) + ", " + quoted("cause", named.cause) + "}";
}

constexpr const char* kChangeNames[] = {"method",      "exact_joints",   "equal_masses",
                                        "no_overlaps", "one_point_each", "softer_contacts"};

std::string json_of(const Trial& t) {
  return "{" + quoted("change", kChangeNames[ordinal(t.change)]) + ", " +
         quoted("method", t.method) + ", \"met\": " + (t.met ? "true" : "false") + ", " +
         number("error", t.error) + ", " + number("error_over_start", t.over_start) +
         ", \"iterations\": " + std::to_string(t.iterations) + ", " + number("wall_s", t.wall_s) +
         "}";
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

PostMortem examine_step(const Simulation& sim, const std::string* blow_up, TrialTime trials) {
  const CaseSettings& settings = sim.settings();
  const SolveReport& report = sim.stepper().report().solve;
  PostMortem p;
  FailureMeasures& m = p.measures;
  m.blow_up = blow_up != nullptr;
  p.step = sim.state().step + (m.blow_up ? 1 : 0);
  p.time = static_cast<double>(p.step - 1) * settings.time.step;
  m.step_number = p.step;
  m.step = settings.time.step;
  m.law = sim.stepper().problem().law;
  m.method = kSolverNames[ordinal(settings.solver.method)];
  m.metric = kMetricNames[ordinal(report.metric)];
  m.unit = metric_unit(report.metric);
  m.motion = largest_motion(sim, m.blow_up);
  m.heaviest = heaviest_body(sim);
  if (blow_up != nullptr) p.message = *blow_up;
  m.explicit_stepper = settings.time.stepper == StepperKind::natural;
  if (m.explicit_stepper) {
    m.method = "natural";
    m.error_controlled = settings.time.natural.scheme == NaturalScheme::dop853;
    const StepReport& step = sim.stepper().report();
    if (step.singular && step.doubtful_joint != kNoBody)
      m.singular_joint = joint_name(sim.model(), step.doubtful_joint);
  } else {
    m.convergence = convergence_of(report);
    m.stuck = report.stuck;
    m.wall_s = sim.communicator().max(report.wall_s);
    Examination examination(sim);
    p.worst = examination.worst(m);
    m.worst = bodies_of(sim, p.worst, m.energy);
    examination.measure(m);
    m.finite = std::isfinite(m.energy) && report.status != SolveStatus::breakdown;
    if (m.blow_up) examination.name_fastest(m);
    m.contradiction = examination.contradiction(settings);
    m.joints_swept = settings.solver.joints.method == JointMethod::iterative;
    m.longest_chain = report.joints.longest_chain > 0
                          ? report.joints.longest_chain
                          : sim.communicator().sum(std::ssize(sim.bodies().joints));
  }
  measure_forces(sim, p.step, m);
  m.trials = try_step_again(sim, trials_wanted(m), kMuchOverlap, trial_seconds(sim, trials));
  p.advice = advise(m);
  return p;
}

std::string to_json(const PostMortem& p) {
  const FailureMeasures& m = p.measures;
  const Convergence& c = m.convergence;
  std::string text = "{\n  \"schema\": 1,\n  \"step\": " + std::to_string(p.step) + ",\n  " +
                     number("time_s", p.time) + ",\n  " +
                     quoted("cause", m.blow_up ? "blow_up" : "tolerance_missed") + ",\n  " +
                     quoted("message", p.message) + ",\n  " +
                     number("error_energy_J", p.measures.energy) + ",\n  \"worst\": [";
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
          ",\n  \"contact_stiffness\": " + json_of(m.stiffness, true) +
          ",\n  \"motion_per_step\": " + json_of(m.motion, false) + ",\n";
  text += "  \"bodies\": " + std::to_string(m.bodies) +
          ", \"contacts\": " + std::to_string(m.contacts) +
          ", \"rows\": " + std::to_string(m.rows) + ", " +
          number("contacts_per_body", m.contacts_per_body) +
          ", \"most_contacts\": " + std::to_string(m.most_contacts) +
          ", \"longest_chain\": " + std::to_string(m.longest_chain) + ",\n  " +
          number("error_at_start_J", m.start_energy) + ", " + number("round_off_J", m.round_off) +
          ",\n  \"heaviest\": " + json_of(m.heaviest, false) +
          ",\n  \"contradiction\": " + json_of(m.contradiction) + ",\n  \"trials\": [";
  for (std::size_t i = 0; i < m.trials.size(); ++i)
    text += (i > 0 ? ",\n    " : "\n    ") + json_of(m.trials[i]);
  text += "],\n  \"reasons\": [";
  for (std::size_t i = 0; i < p.advice.reasons.size(); ++i) {
    text += (i > 0 ? ", " : "") + json_string(p.advice.reasons[i]);
  }
  return text + "],\n  " + quoted("advice", p.advice.text) + "\n}\n";
}

std::string to_text(const PostMortem& p) {
  constexpr std::size_t kMaxTold = 3;
  std::string text = "post-mortem of step " + std::to_string(p.step) + ": ";
  if (!p.worst.empty()) {
    text += "energy error " + short_text(p.measures.energy) + " J, worst of " +
            std::to_string(p.measures.rows) + " rows: ";
  }
  for (std::size_t i = 0; i < std::min(p.worst.size(), kMaxTold); ++i) {
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
  const std::string path = directory + "/post-mortem-" + step_text(p.step) + ".json";
  all_or_none(comm, [&] {
    if (comm.rank() == 0) write_text_file(path, to_json(p));
  });
  return path;
}

}  // namespace catena
