#include "solvers/dealt_mechanism.hpp"

#include <algorithm>

#include "catena/base/sort_unique.hpp"
#include "catena/partition/nested_dissection.hpp"

namespace catena::test {
namespace {

/// Of each block the node of a tree.
std::vector<int> parted(const MechanismRows& joints, int levels) {
  const GeneralBlocks& blocks = joints.blocks;
  const References references(joints);
  BlockGraph graph;
  graph.row_begin = blocks.row_begin;
  for (Index k = 0; k < blocks.size(); ++k) {
    std::vector<Index> others;
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j)
      for (const Index other : references.at(blocks.body[j]))
        if (references.block[other] != k) others.push_back(references.block[other]);
    sort_unique(others);
    graph.neighbour.insert(graph.neighbour.end(), others.begin(), others.end());
    graph.begin.push_back(std::ssize(graph.neighbour));
  }
  return nested_parts(graph, levels);
}

}  // namespace

DealtMechanism::DealtMechanism(const Communicator& comm, const MechanismRows& whole, int levels,
                               bool exact)
    : whole_(whole), body_(whole.bodies.size(), kNoIndex) {
  const PartTree tree{levels};
  const DealtTree dealt = DealtTree::in_order(tree, comm.size());
  const std::vector<int> node = parted(whole, levels);
  for (Index k = 0; k < whole.blocks.size(); ++k)
    if (dealt.rank_of(node[k]) == comm.rank()) own_.push_back(k);
  std::ranges::stable_sort(own_, {}, [&](Index k) { return tree.place(node[k]); });
  for (const Index k : own_) {
    nodes_.node.push_back(node[k]);
    append(k);
  }
  guests_ = std::make_unique<Guests>(comm, dealt, exact, rows_, nodes_.node);
  nodes_.guests = guests_.get();
}

void DealtMechanism::append(Index k) {
  GeneralBlocks& blocks = rows_.blocks;
  const GeneralBlocks& from = whole_.blocks;
  blocks.kind.push_back(BlockKind::bilateral);
  blocks.name.push_back(from.name[k]);
  blocks.row_begin.push_back(blocks.row_begin.back() + from.rows(k));
  for (Index r = from.row_begin[k]; r < from.row_begin[k + 1]; ++r) {
    blocks.compliance.push_back(from.compliance[r]);
    if (!whole_.drive.empty()) rows_.drive.push_back(whole_.drive[r]);
  }
  for (Index j = from.body_begin[k]; j < from.body_begin[k + 1]; ++j) {
    const Index b = from.body[j];
    if (body_[b] == kNoIndex) {
      body_[b] = rows_.bodies.size();
      rows_.bodies.add_rigid(whole_.bodies.id[b], 0.0, 0.0, {});
      std::copy_n(whole_.bodies.inverse_mass.begin() + whole_.bodies.mass_begin[b], 7,
                  rows_.bodies.inverse_mass.end() - 7);
    }
    blocks.body.push_back(body_[b]);
    blocks.jacobian_begin.push_back(blocks.jacobian_begin.back() + 6 * from.rows(k));
  }
  blocks.body_begin.push_back(to_index(blocks.body.size()));
  blocks.jacobian.resize(blocks.jacobian_begin.back());
}

void DealtMechanism::take_jacobians() {
  const GeneralBlocks& from = whole_.blocks;
  auto to = rows_.blocks.jacobian.begin();
  for (const Index k : own_)
    to = std::copy(from.jacobian.begin() + from.jacobian_begin[from.body_begin[k]],
                   from.jacobian.begin() + from.jacobian_begin[from.body_begin[k + 1]], to);
  guests_->bring_jacobians(rows_);
}

}  // namespace catena::test
