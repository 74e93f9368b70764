#include "simulation/diagnosis/contradiction.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "catena/comm/typed_exchange.hpp"
#include "simulation/diagnosis/conic_fit.hpp"
#include "simulation/diagnosis/suspect_blocks.hpp"

namespace catena {

namespace {

constexpr std::size_t kMaxBlocks = 300;
constexpr std::size_t kMaxNamed = 8;
/// Velocities that met all constraints would be at least so many times what is asked for too much:
/// where they are a thousand times as large, levers and wedges are no way out any more.
constexpr double kBalanced = 1e4;

/// Symmetric root of M^-1's angular part, and the radius of gyration.
struct BodyScale {
  double linear = 0.0;  ///< m^-1/2
  Mat3 angular = Mat3::Zero();
  double radius = std::numeric_limits<double>::infinity();
};

BodyScale scale_of(const SuspectBody& body) {
  BodyScale s;
  const std::array<double, 7>& m = body.inverse_mass;
  s.linear = std::sqrt(m[0]);
  Mat3 inverse;
  inverse << m[1], m[2], m[3], m[2], m[4], m[5], m[3], m[5], m[6];
  const Eigen::SelfAdjointEigenSolver<Mat3> axes(inverse);
  s.angular = axes.eigenvectors() * axes.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal() *
              axes.eigenvectors().transpose();
  if (inverse.trace() > 0.0) s.radius = std::sqrt(3.0 * m[0] / inverse.trace());
  return s;
}

/// A row of one of the blocks that may carry impulse without bound.
struct ProofRow {
  std::size_t block = 0, row = 0;
  double root = 1.0;    ///< the column is G^T over it: N_ii^1/2 of the block's first row
  double demand = 0.0;  ///< r: w at zero impulses
  double weight = 1.0;  ///< w^2 over it is a lower bound of twice the energy error
};

/// The search for impulses that balance each other and do work, among given blocks.
class Proof {
 public:
  Proof(const std::vector<SuspectBlock>& blocks, bool friction)
      : blocks_(blocks), friction_(friction) {
    number_bodies();
    for (std::size_t k = 0; k < blocks_.size(); ++k) add_rows(k);
  }

  /// Impulses of all rows (`rows()`), scaled to work -1 of the largest demand; empty: none.
  std::vector<double> find() {
    double most = 0.0;
    for (const ProofRow& row : rows_) most = std::max(most, std::abs(row.demand) / row.root);
    if (!(most > 0.0) || !std::isfinite(most)) return {};
    const Eigen::Index m = 6 * std::ssize(scales_) + 1;
    std::vector<Eigen::Triplet<double>> entries;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      add_column(i, entries);
      entries.emplace_back(narrow<int>(m - 1), narrow<int>(i),
                           rows_[i].demand / (rows_[i].root * most));
    }
    Eigen::SparseMatrix<double> e(m, rows_.size());
    e.setFromTriplets(entries.begin(), entries.end());
    Eigen::VectorXd target = Eigen::VectorXd::Zero(m);
    target[m - 1] = -1.0;
    const ConicFit fit = fit_in_cones(e, groups_, target);
    std::vector<double> lambda(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) lambda[i] = fit.x[i] / rows_[i].root;
    return lambda;
  }

  const std::vector<ProofRow>& rows() const { return rows_; }

  /// What `lambda` proves.
  Contradiction judged(const std::vector<double>& lambda) const {
    Contradiction c;
    c.friction = friction_;
    double work = 0.0, sum = 0.0, squares = 0.0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      work += lambda[i] * rows_[i].demand;
      sum += std::abs(lambda[i]);
      squares += lambda[i] * lambda[i] * rows_[i].weight;
    }
    if (!(work < 0.0) || !(sum > 0.0)) return c;
    c.balance = sum / std::max(unbalanced(lambda), std::numeric_limits<double>::min());
    c.closing = -work / sum;
    c.least_error = 0.5 * work * work / squares;
    c.found = c.balance >= kBalanced;
    if (c.found) name(lambda, c);
    return c;
  }

 private:
  void number_bodies() {
    for (const SuspectBlock& block : blocks_) {
      for (std::int32_t j = 0; j < block.n_bodies; ++j) {
        const SuspectBody& body = block.body[j];
        if (body.prescribed != 0 || !number_.emplace(body.id, scales_.size()).second) continue;
        scales_.push_back(scale_of(body));
      }
    }
  }

  void add_rows(std::size_t k) {
    const SuspectBlock& block = blocks_[k];
    if (block.kind == BlockKind::contact) {
      RayGroup group{RayKind::contact, {-1, -1, -1, -1, -1, -1}, {}};
      if (block.row_used[0] == 0) return;
      const double root = root_of(block, 0);
      if (friction_) group.bound = block.bound;
      for (std::size_t r = 0; r < 6; ++r) {
        const bool bounded = r == 0 || group.bound[r < 3 ? 0 : (r < 5 ? 1 : 2)] > 0.0;
        if (block.row_used[r] == 0 || !bounded) continue;
        group.entry[r] = to_index(rows_.size());
        rows_.push_back(
            {k, r, root, demand_of(block, r), r == 0 ? normal_weight(block) : square_of(block, r)});
      }
      groups_.push_back(group);
      return;
    }
    for (std::size_t r = 0; r < block.row_used.size(); ++r) {
      if (block.row_used[r] == 0) continue;
      RayKind kind = RayKind::free;
      if (block.kind == BlockKind::unilateral) kind = RayKind::up;
      if (block.kind == BlockKind::boxed && std::isfinite(block.lower[r])) kind = RayKind::up;
      if (block.kind == BlockKind::boxed && std::isfinite(block.upper[r])) kind = RayKind::down;
      groups_.push_back({kind, {to_index(rows_.size()), -1, -1, -1, -1, -1}, {}});
      const double root = root_of(block, r);
      rows_.push_back({k, r, root, demand_of(block, r), root * root});
    }
  }

  static const double* jacobian(const SuspectBlock& block, std::int32_t body, std::size_t row) {
    return block.jacobian[body].data() + 6 * row;
  }

  static double demand_of(const SuspectBlock& block, std::size_t row) {
    double r = block.bias[row];
    for (std::int32_t j = 0; j < block.n_bodies; ++j)
      for (std::size_t d = 0; d < 6; ++d)
        r += jacobian(block, j, row)[d] * block.body[j].free_velocity[d];
    return r;
  }

  /// M^-1/2 G^T of a row on body j.
  Eigen::Matrix<double, 6, 1> scaled(const SuspectBlock& block, std::int32_t j,
                                     std::size_t row) const {
    const BodyScale& s = scales_[number_.at(block.body[j].id)];
    const double* g = jacobian(block, j, row);
    Eigen::Matrix<double, 6, 1> column;
    column.head<3>() = s.linear * Eigen::Map<const Vec3>(g);
    column.tail<3>() = s.angular * Eigen::Map<const Vec3>(g + 3);
    return column;
  }

  /// N_ii of a row.
  double square_of(const SuspectBlock& block, std::size_t row) const {
    double n = 0.0;
    for (std::int32_t j = 0; j < block.n_bodies; ++j)
      if (block.body[j].prescribed == 0) n += scaled(block, j, row).squaredNorm();
    return n;
  }

  double root_of(const SuspectBlock& block, std::size_t row) const {
    const double n = square_of(block, row);
    return n > 0.0 ? std::sqrt(n) : 1.0;
  }

  /// N_nn + sum over discs of mu_i^2 N_ii: with z the scaled slips, which law coulomb shifts by
  /// mu_i |w_i|, a contact's error is not below the distance of z from the cone's dual, and that is
  /// the least at w_n where shift and tangents share it.
  double normal_weight(const SuspectBlock& block) const {
    std::array<double, 3> n{};
    for (std::size_t r = 1; r < 6; ++r) {
      double& largest = n[r < 3 ? 0 : (r < 5 ? 1 : 2)];
      largest = std::max(largest, square_of(block, r));
    }
    double sum = square_of(block, 0);
    for (std::size_t d = 0; d < 3; ++d) sum += block.bound[d] * block.bound[d] * n[d];
    return sum;
  }

  void add_column(std::size_t i, std::vector<Eigen::Triplet<double>>& entries) const {
    const SuspectBlock& block = blocks_[rows_[i].block];
    for (std::int32_t j = 0; j < block.n_bodies; ++j) {
      if (block.body[j].prescribed != 0) continue;
      const std::size_t body = number_.at(block.body[j].id);
      const Eigen::Matrix<double, 6, 1> column = scaled(block, j, rows_[i].row);
      for (Eigen::Index d = 0; d < 6; ++d) {
        if (column[d] == 0.0) continue;
        entries.emplace_back(narrow<int>(6 * body + d), narrow<int>(i), column[d] / rows_[i].root);
      }
    }
  }

  /// Forces and couples over radii of gyration that are left on bodies of finite mass.
  double unbalanced(const std::vector<double>& lambda) const {
    std::vector<Eigen::Matrix<double, 6, 1>> left(scales_.size(),
                                                  Eigen::Matrix<double, 6, 1>::Zero());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const SuspectBlock& block = blocks_[rows_[i].block];
      for (std::int32_t j = 0; j < block.n_bodies; ++j) {
        if (block.body[j].prescribed != 0) continue;
        left[number_.at(block.body[j].id)] +=
            lambda[i] *
            Eigen::Map<const Eigen::Matrix<double, 6, 1>>(jacobian(block, j, rows_[i].row));
      }
    }
    double sum = 0.0;
    for (std::size_t b = 0; b < left.size(); ++b)
      sum += left[b].head<3>().norm() + left[b].tail<3>().norm() / scales_[b].radius;
    return sum;
  }

  void name(const std::vector<double>& lambda, Contradiction& c) const {
    std::vector<double> size(blocks_.size(), 0.0);
    for (std::size_t i = 0; i < rows_.size(); ++i)
      size[rows_[i].block] = std::hypot(size[rows_[i].block], lambda[i]);
    const double most = *std::max_element(size.begin(), size.end());
    name_constraints(size, most, c);
    name_holders(lambda, most, c);
    name_cause(lambda, c);
  }

  void name_constraints(const std::vector<double>& size, double most, Contradiction& c) const {
    constexpr double kTakesPart = 1e-6;
    std::map<std::pair<GlobalId, GlobalId>, Opposed> contacts, others;
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      if (!(size[k] > kTakesPart * most)) continue;
      const SuspectBlock& block = blocks_[k];
      auto& list = block.kind == BlockKind::contact ? contacts : others;
      Opposed& found =
          list.emplace(std::pair(block.a, block.b), Opposed{block.kind, block.a, block.b, 0.0})
              .first->second;
      found.share = std::max(found.share, size[k] / most);
      c.error += block.error;
    }
    for (const auto& [ids, opposed] : contacts) c.constraints.push_back(opposed);
    for (const auto& [ids, opposed] : others) c.constraints.push_back(opposed);
    c.n_constraints = c.constraints.size();
    std::stable_sort(c.constraints.begin(), c.constraints.end(),
                     [](const Opposed& x, const Opposed& y) { return x.share > y.share; });
    if (c.constraints.size() > kMaxNamed) c.constraints.resize(kMaxNamed);
  }

  void name_holders(const std::vector<double>& lambda, double most, Contradiction& c) const {
    constexpr double kHolds = 1e-3;
    struct Load {
      Vec3 force = Vec3::Zero();
      double size = 0.0;
      bool moves = false;
    };
    std::map<std::pair<bool, GlobalId>, Load> loads;  // joints after bodies
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const SuspectBlock& block = blocks_[rows_[i].block];
      if (block.kind != BlockKind::contact && block.n_bodies < 2) {
        Load& load = loads[{true, block.a}];
        load.size = std::max(load.size, std::abs(lambda[i]));
      }
      for (std::int32_t j = 0; j < block.n_bodies; ++j) {
        const SuspectBody& body = block.body[j];
        if (body.prescribed == 0) continue;
        Load& load = loads[{false, body.id}];
        load.force += lambda[i] * Eigen::Map<const Vec3>(jacobian(block, j, rows_[i].row));
        load.size = load.force.norm();
        for (const double v : body.free_velocity) load.moves = load.moves || v != 0.0;
      }
    }
    for (const auto& [key, load] : loads) {
      if (load.size > kHolds * most) c.holders.push_back({key.first, key.second, load.moves});
    }
    std::stable_sort(c.holders.begin(), c.holders.end(),
                     [](const Holder& x, const Holder& y) { return x.moves && !y.moves; });
    if (c.holders.size() > kMaxNamed) c.holders.resize(kMaxNamed);
  }

  /// Whose part of the work r^T lambda is the largest.
  void name_cause(const std::vector<double>& lambda, Contradiction& c) const {
    struct Part {
      double work = 0.0, worst = 0.0;
      GlobalId a = kNoBody, b = kNoBody;
      void add(double w, GlobalId first, GlobalId second) {
        work += w;
        if (!(w < worst)) return;
        worst = w;
        a = first;
        b = second;
      }
    };
    std::array<Part, 3> parts;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const SuspectBlock& block = blocks_[rows_[i].block];
      const std::size_t r = rows_[i].row;
      const bool contact = block.kind == BlockKind::contact;
      parts[contact ? 1 : 2].add(lambda[i] * block.bias[r], block.a, block.b);
      for (std::int32_t j = 0; j < block.n_bodies; ++j) {
        const SuspectBody& body = block.body[j];
        if (body.prescribed == 0) continue;
        double speed = 0.0;
        for (std::size_t d = 0; d < 6; ++d)
          speed += jacobian(block, j, r)[d] * body.free_velocity[d];
        parts[0].add(lambda[i] * speed, body.id, kNoBody);
      }
    }
    const std::size_t worst =
        std::min_element(parts.begin(), parts.end(),
                         [](const Part& x, const Part& y) { return x.work < y.work; }) -
        parts.begin();
    c.cause = static_cast<ContradictionCause>(worst);
    c.cause_a = parts[worst].a;
    c.cause_b = parts[worst].b;
  }

  const std::vector<SuspectBlock>& blocks_;
  bool friction_;
  std::unordered_map<GlobalId, std::size_t> number_;  ///< of bodies of finite mass
  std::vector<BodyScale> scales_;
  std::vector<ProofRow> rows_;
  std::vector<RayGroup> groups_;
};

/// Collective. Rank 0 searches; impulses are the same everywhere.
Contradiction search(const Communicator& comm, const std::vector<SuspectBlock>& blocks,
                     bool friction) {
  Proof proof(blocks, friction);
  std::vector<double> lambda;
  if (comm.rank() == 0) lambda = proof.find();
  broadcast_values(comm, 0, lambda);
  if (lambda.empty()) return {};
  return proof.judged(lambda);
}

}  // namespace

Contradiction find_contradiction(const ConstraintProblem& problem,
                                 const std::vector<double>& energies,
                                 std::span<const double> impulses) {
  const std::vector<SuspectBlock> blocks = gather_suspects(problem, energies, impulses, kMaxBlocks);
  Contradiction found = search(problem.comm, blocks, false);
  const bool friction = problem.law != ContactLaw::frictionless &&
                        std::any_of(blocks.begin(), blocks.end(), [](const SuspectBlock& block) {
                          return block.kind == BlockKind::contact &&
                                 *std::max_element(block.bound.begin(), block.bound.end()) > 0.0;
                        });
  if (!found.found && friction) found = search(problem.comm, blocks, true);
  return found;
}

}  // namespace catena
