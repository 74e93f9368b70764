#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "solvers/joints/across/root_messages.hpp"
#include "solvers/joints/across/tree_nodes.hpp"
#include "solvers/joints/elimination/tree_factor.hpp"

namespace catena {
namespace {

/// Part of a mechanism's rows that branches must have, for the others to be set apart.
constexpr double kWorthwhile = 0.5;

/// Joints of parts that are at a leaf when those before them are gone: one of their bodies, or the
/// world, has no other joint; and of the others paths, between bodies that then have two joints.
class Branches {
 public:
  Branches(const MechanismRows& structure, const BlockNodes& nodes, const References& references)
      : in(structure.blocks.size(), 0),
        blocks_(structure.blocks),
        references_(references),
        left_(structure.bodies.size()) {
    const PartTree tree = nodes.tree();
    for (Index b = 0; b < std::ssize(left_); ++b) left_[b] = to_index(references.at(b).size());
    may_be_.assign(in.size(), 0);
    for (Index k = 0; k < nodes.own_blocks(structure); ++k)
      may_be_[k] = tree.is_part(nodes.of(k)) && is_simple(structure, k) ? 1 : 0;
    for (Index k = 0; k < blocks_.size(); ++k)
      if (blocks_.body_begin[k + 1] - blocks_.body_begin[k] == 1) take(k);
    for (Index b = 0; b < std::ssize(left_); ++b) look_at(b);
    take_paths(structure.bodies);
  }

  /// Bodies at which branches or paths end and others do, too, by trees, ascending in the id of the
  /// last root.
  std::vector<TreeRoots> roots(const ProblemBodies& bodies) const {
    std::vector<TreeRoots> found = ends_;
    std::vector<char> is_end(left_.size(), 0);
    for (const TreeRoots& ends : ends_) is_end[ends.last] = is_end[ends.first] = 1;
    for (Index b = 0; b < std::ssize(left_); ++b)
      if (is_end[b] == 0 && left_[b] > 0 && left_[b] < std::ssize(references_.at(b)))
        found.push_back({b});
    std::ranges::sort(found, {}, [&](const TreeRoots& r) { return bodies.id[r.last]; });
    return found;
  }
  std::int64_t rows() const {
    std::int64_t sum = 0;
    for (Index k = 0; k < std::ssize(in); ++k) sum += in[k] != 0 ? blocks_.rows(k) : 0;
    return sum;
  }

  std::vector<char> in;  ///< per block

 private:
  static bool is_simple(const MechanismRows& structure, Index k) {
    const GeneralBlocks& blocks = structure.blocks;
    bool rigid = true;
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j)
      rigid &= structure.bodies.mass_kind[blocks.body[j]] == MassKind::rigid;
    return rigid && blocks.body_begin[k + 1] - blocks.body_begin[k] <= 2 && blocks.rows(k) <= 6;
  }
  void take(Index k) {
    if (may_be_[k] == 0 || in[k] != 0) return;
    in[k] = 1;
    for (Index j = blocks_.body_begin[k]; j < blocks_.body_begin[k + 1]; ++j)
      --left_[blocks_.body[j]];
  }
  /// Goes on from body b as far as joints become branches.
  void look_at(Index b) {
    while (left_[b] == 1) {
      const auto at = references_.at(b);
      const Index k = references_.block[*std::ranges::find_if(
          at, [&](Index j) { return in[references_.block[j]] == 0; })];
      const Index first = blocks_.body_begin[k], end = blocks_.body_begin[k + 1];
      take(k);
      if (in[k] == 0 || end - first != 2) return;
      b = blocks_.body[first] == b ? blocks_.body[first + 1] : blocks_.body[first];
    }
  }

  /// Of a closed path the joint with the largest name stays out.
  void take_paths(const ProblemBodies& bodies) {
    std::vector<char> passes(in.size(), 0);
    for (Index k = 0; k < std::ssize(in); ++k) {
      const Index first = blocks_.body_begin[k];
      passes[k] = may_be_[k] != 0 && in[k] == 0 && blocks_.body_begin[k + 1] - first == 2 &&
                  left_[blocks_.body[first]] == 2 && left_[blocks_.body[first + 1]] == 2;
    }
    const auto next_at = [&](Index b) {
      return std::ranges::find_if(references_.at(b), [&](Index j) {
        const Index k = references_.block[j];
        return passes[k] != 0 && in[k] == 0;
      });
    };
    const auto walk = [&](Index from) {
      Index b = from;
      for (auto at = next_at(b); at != references_.at(b).end(); at = next_at(b)) {
        const Index k = references_.block[*at], first = blocks_.body_begin[k];
        take(k);
        b = blocks_.body[first] == b ? blocks_.body[first + 1] : blocks_.body[first];
      }
      const bool is_last = bodies.id[from] < bodies.id[b];
      ends_.push_back(is_last ? TreeRoots{from, b} : TreeRoots{b, from});
    };
    const auto begins = [&](Index b) {
      return std::ranges::count_if(references_.at(b), [&](Index j) {
               const Index k = references_.block[j];
               return passes[k] != 0 && in[k] == 0;
             }) == 1;
    };
    for (Index b = 0; b < std::ssize(left_); ++b)
      if (begins(b)) walk(b);
    for (Index k = to_index(in.size()) - 1; k >= 0; --k)
      if (passes[k] != 0 && in[k] == 0) {
        passes[k] = 0;
        walk(blocks_.body[blocks_.body_begin[k]]);
      }
  }

  const GeneralBlocks& blocks_;
  const References& references_;
  std::vector<Index> left_;  ///< per body: joints that are not taken
  std::vector<char> may_be_;
  std::vector<TreeRoots> ends_;  ///< of paths
};

/// Branches and paths are eliminated by the kernels of trees, each on its rank; what they leave of
/// the bodies they end at, W in place of M^-1, is all that the other joints see of them. A path's
/// two ends, which it couples, are one body to these.
class BranchedFactor final : public CholeskyFactor {
 public:
  /// Collective. `branches` are of the same structure.
  BranchedFactor(const MechanismRows& structure, const BlockNodes& nodes,
                 const References& references, const Branches& branches)
      : guests_(*nodes.guests),
        roots_(branches.roots(structure.bodies)),
        tree_(structure, branches.in, roots_),
        all_(structure.blocks.n_rows()) {
    list_rest(structure, nodes, branches);
    for (const TreeRoots& roots : roots_)
      for (const Index b : std::array{roots.last, roots.first}) {
        if (b == kNoIndex) continue;
        auto& list = at_root_.emplace_back();
        for (const Index j : references.at(b))
          if (branches.in[references.block[j]] == 0) list.push_back({j, references.block[j]});
        std::ranges::sort(list, {}, [&](const Reference& r) {
          return std::pair(nodes.tree().place(nodes.of(r.block)), structure.blocks.name[r.block]);
        });
      }
    impulse_.resize(6 * at_root_.size());
  }

  bool factor(const MechanismRows& joints, std::span<const double> added) override;
  void solve(std::span<double> x) override;
  void pivots(std::span<double> out) override;
  std::int64_t raised() const override { return tree_.raised() + inner_->raised(); }
  std::int64_t flops() const override { return tree_.flops() + inner_->flops(); }

 private:
  struct Reference {
    Index reference, block;
  };
  /// Of a block of the rest at a body: where its Jacobian stands, and where it goes.
  struct Copy {
    Offset from, to;
    Index rows, dofs, stride;
  };
  void list_rest(const MechanismRows& structure, const BlockNodes& nodes, const Branches& branches);
  /// Calls work(row of the rest, row of the whole).
  template <class Work>
  void for_rest(const Work& work) const {
    for (std::size_t i = 0; i < rest_rows_.size(); ++i) work(i, rest_rows_[i]);
  }

  Guests& guests_;
  std::vector<TreeRoots> roots_;
  TreeFactor tree_;
  const MechanismRows* joints_ = nullptr;        ///< of the last factor()
  std::vector<std::vector<Reference>> at_root_;  ///< of the rest, in an order that ranks share
  MechanismRows rest_;  ///< all but the branches; trees are its first bodies
  std::vector<Index> rest_blocks_, rest_rows_;  ///< own ones, in the whole
  std::vector<Index> rest_bodies_;              ///< in the whole: those that are no roots
  std::vector<Copy> copies_;
  std::unique_ptr<Guests> rest_guests_;
  std::optional<RootMessages> messages_;
  std::unique_ptr<CholeskyFactor> inner_;
  std::vector<double> all_;  ///< per row, those of guests too
  std::vector<double> impulse_, rest_x_, rest_added_, velocity_;
};

/// Collective.
void BranchedFactor::list_rest(const MechanismRows& structure, const BlockNodes& nodes,
                               const Branches& branches) {
  const GeneralBlocks& from = structure.blocks;
  const std::vector<GlobalId>& id = structure.bodies.id;
  BlockNodes rest_nodes;
  std::vector<Index> number(structure.bodies.size(), kNoIndex), met;
  for (Index k = 0; k < guests_.own_blocks(); ++k) {
    if (branches.in[k] != 0) continue;
    rest_blocks_.push_back(k);
    rest_nodes.node.push_back(nodes.of(k));
    for (Index r = from.row_begin[k]; r < from.row_begin[k + 1]; ++r) rest_rows_.push_back(r);
    for (Index j = from.body_begin[k]; j < from.body_begin[k + 1]; ++j)
      if (Index& b = number[from.body[j]]; b == kNoIndex) {
        b = to_index(met.size());
        met.push_back(from.body[j]);
      }
  }
  std::vector<RootIds> roots;
  for (const TreeRoots& r : roots_)
    roots.push_back({id[r.last], r.first == kNoIndex ? kNoBody : id[r.first]});
  std::vector<GlobalId> bodies;
  bodies.reserve(met.size());
  for (const Index b : met) bodies.push_back(id[b]);
  messages_.emplace(guests_.comm(), roots, bodies);

  const auto add_dense = [&](GlobalId body, Index dofs) {
    const std::vector<double> zeros(Offset{dofs} * dofs, 0.0);
    rest_.bodies.add_dense(body, zeros, std::span(zeros).first(dofs));
  };
  for (const RootMessages::Tree& tree : messages_->trees()) add_dense(tree.id, tree.dofs);
  velocity_.resize(rest_.bodies.n_dofs());
  std::vector<RootMessages::Place> place(messages_->places().begin(), messages_->places().end());
  for (std::size_t i = 0; i < met.size(); ++i) {
    if (place[i].tree != kNoIndex) continue;
    place[i].tree = rest_.bodies.size();
    rest_bodies_.push_back(met[i]);
    if (structure.bodies.mass_kind[met[i]] == MassKind::rigid)
      rest_.bodies.add_rigid(bodies[i], 0.0, 0.0, {});
    else
      add_dense(bodies[i], structure.bodies.dofs(met[i]));
  }
  rest_.bodies.n_owned = rest_.bodies.size();

  GeneralBlocks& blocks = rest_.blocks;
  for (const Index k : rest_blocks_) {
    const Index rows = from.rows(k), first = blocks.body_begin.back();
    blocks.kind.push_back(BlockKind::bilateral);
    blocks.name.push_back(from.name[k]);
    blocks.row_begin.push_back(blocks.row_begin.back() + rows);
    for (Index j = from.body_begin[k]; j < from.body_begin[k + 1]; ++j) {
      const auto [body, first_dof] = place[number[from.body[j]]];
      const Index dofs = rest_.bodies.dofs(body);
      auto at = std::find(blocks.body.begin() + first, blocks.body.end(), body);
      if (at == blocks.body.end()) {
        at = blocks.body.insert(at, body);
        blocks.jacobian_begin.push_back(blocks.jacobian_begin.back() + Offset{rows} * dofs);
      }
      copies_.push_back({from.jacobian_begin[j],
                         blocks.jacobian_begin[at - blocks.body.begin()] + first_dof, rows,
                         structure.bodies.dofs(from.body[j]), dofs});
    }
    blocks.body_begin.push_back(to_index(blocks.body.size()));
  }
  blocks.jacobian.assign(blocks.jacobian_begin.back(), 0.0);
  blocks.compliance.resize(rest_rows_.size());
  rest_x_.resize(rest_rows_.size());
  rest_added_.resize(rest_rows_.size());
  rest_guests_ = std::make_unique<Guests>(guests_.comm(), guests_.dealt_tree(), guests_.exact(),
                                          rest_, rest_nodes.node);
  rest_nodes.guests = rest_guests_.get();
  inner_ = make_dissected_factor(rest_, rest_nodes);
}

/// Neighbours.
bool BranchedFactor::factor(const MechanismRows& joints, std::span<const double> added) {
  joints_ = &joints;
  tree_.factor(joints, added);

  const auto set_mass = [&](Index b, const double* from) {
    const std::size_t first = rest_.bodies.mass_begin[b];
    std::copy_n(from, rest_.bodies.mass_begin[b + 1] - first,
                rest_.bodies.inverse_mass.begin() + first);
  };
  Index b = to_index(messages_->trees().size());
  for (const Index body : rest_bodies_)
    set_mass(b++, joints.bodies.inverse_mass.data() + joints.bodies.mass_begin[body]);
  messages_->bring_masses([&](Index i) { return tree_.inverse_mass_left(i); }, set_mass);
  for (const Copy& copy : copies_) {
    const double* from = joints.blocks.jacobian.data() + copy.from;
    double* to = rest_.blocks.jacobian.data() + copy.to;
    for (Index r = 0; r < copy.rows; ++r, from += copy.dofs, to += copy.stride)
      std::copy_n(from, copy.dofs, to);
  }
  for_rest([&](std::size_t i, Index row) {
    rest_.blocks.compliance[i] = joints.blocks.compliance[row];
    rest_added_[i] = added[row];
  });
  rest_guests_->bring_jacobians(rest_);
  return inner_->factor(rest_, rest_added_);
}

/// The branches' impulses move their roots, the other joints answer that, and their impulses go
/// down the branches.
void BranchedFactor::solve(std::span<double> x) {
  tree_.forward(x);
  messages_->bring_velocities([&](Index i) { return tree_.velocity(i); },
                              [&](Index tree, const double* v) {
                                std::copy_n(v, rest_.bodies.dofs(tree),
                                            velocity_.begin() + rest_.bodies.dof_begin[tree]);
                              });
  const GeneralBlocks& rest = rest_.blocks;
  for_rest([&](std::size_t i, Index row) { rest_x_[i] = x[row]; });
  for (std::size_t k = 0; k < rest_blocks_.size(); ++k)
    for (Index j = rest.body_begin[k]; j < rest.body_begin[k + 1]; ++j) {
      const Index b = rest.body[j], dofs = rest_.bodies.dofs(b);
      if (b >= std::ssize(messages_->trees())) continue;
      const double* v = velocity_.data() + rest_.bodies.dof_begin[b];
      const double* g = rest.jacobian.data() + rest.jacobian_begin[j];
      for (Index r = rest.row_begin[k]; r < rest.row_begin[k + 1]; ++r, g += dofs)
        for (Index d = 0; d < dofs; ++d) rest_x_[r] -= g[d] * v[d];
    }
  inner_->solve(rest_x_);

  for_rest([&](std::size_t i, Index row) { all_[row] = rest_x_[i]; });
  guests_.bring(all_);
  const GeneralBlocks& blocks = joints_->blocks;
  std::ranges::fill(impulse_, 0.0);
  for (std::size_t i = 0; i < at_root_.size(); ++i)
    for (const Reference& at : at_root_[i]) {
      const double* g = blocks.jacobian.data() + blocks.jacobian_begin[at.reference];
      for (Index r = blocks.row_begin[at.block]; r < blocks.row_begin[at.block + 1]; ++r, g += 6)
        for (int d = 0; d < 6; ++d) impulse_[6 * i + d] += g[d] * all_[r];
    }
  tree_.backward(x, impulse_);
  for_rest([&](std::size_t i, Index row) { x[row] = rest_x_[i]; });
}

void BranchedFactor::pivots(std::span<double> out) {
  tree_.pivots(all_);
  std::copy_n(all_.begin(), out.size(), out.begin());
  inner_->pivots(rest_x_);
  for_rest([&](std::size_t i, Index row) { out[row] = rest_x_[i]; });
}

}  // namespace

std::unique_ptr<CholeskyFactor> make_cut_factor(const MechanismRows& structure,
                                                const BlockNodes& nodes) {
  const References references(structure);
  const Branches branches(structure, nodes, references);
  std::array<std::int64_t, 2> rows = {branches.rows(), std::int64_t{nodes.guests->own_rows()}};
  nodes.guests->comm().sum(rows);
  if (static_cast<double>(rows[0]) < kWorthwhile * static_cast<double>(rows[1]))
    return make_dissected_factor(structure, nodes);
  return std::make_unique<BranchedFactor>(structure, nodes, references, branches);
}

std::unique_ptr<JointElimination> make_cut_elimination(const MechanismRows& structure,
                                                       const BlockNodes& nodes) {
  return make_regularised(structure, make_cut_factor(structure, nodes), nodes.guests);
}

}  // namespace catena
