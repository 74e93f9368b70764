#include "solvers/joints/elimination/guests.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/id_index.hpp"
#include "catena/comm/directory.hpp"

namespace catena {

/// A block at one of its bodies.
struct Guests::End {
  GlobalId body = kNoBody;
  std::int64_t name = 0;
  int node = 0, place = 0;  ///< the block's node, and its place in the tree
  int rows = 0;
  int rank = 0;
  Index reference = 0;  ///< there

  bool before(const End& other) const {
    return std::tie(place, name, reference) < std::tie(other.place, other.name, other.reference);
  }
};

Guests::Guests(const Communicator& comm, DealtTree tree, bool exact, MechanismRows& rows,
               std::vector<int>& node)
    : comm_(comm),
      tree_(std::move(tree)),
      exact_(exact),
      own_blocks_(rows.blocks.size()),
      own_rows_(rows.blocks.n_rows()),
      knows_all_(rows.bodies.size(), 1) {
  const std::vector<End> ends = find(rows, node);
  append(ends, rows, node);
  lay_paths(ends, rows.blocks);
}

/// Collective. Guests at own bodies, by block, then in the order of the block's references.
std::vector<Guests::End> Guests::find(const MechanismRows& rows, std::span<const int> node) {
  const GeneralBlocks& blocks = rows.blocks;
  RankLists<End> told(comm_.size());
  for (Index k = 0; k < own_blocks_; ++k)
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      const GlobalId body = rows.bodies.id[blocks.body[j]];
      told[directory_rank(comm_, body)].push_back(
          {body, blocks.name[k], node[k], tree().place(node[k]), blocks.rows(k), comm_.rank(), j});
    }
  std::vector<End> all = joined(all_to_all(comm_, std::move(told)));
  std::ranges::sort(all, [](const End& a, const End& b) {
    return a.body != b.body ? a.body < b.body : a.before(b);
  });
  RankLists<End> guests(comm_.size());
  RankLists<GlobalId> known_elsewhere(comm_.size());
  std::vector<int> ranks;  // at a body, in the order of their first blocks
  for (std::size_t i = 0, first = 0; i < all.size(); ++i) {
    const End& end = all[i];
    if (end.body != all[first].body) first = i;
    if (first == i) ranks.clear();
    CATENA_CHECK(PartTree::is_above(end.node, all[first].node),
                 "joints of different parts of a mechanism share no body");
    for (const int rank : ranks)
      if (rank != end.rank) guests[rank].push_back(end);
    if (std::ranges::find(ranks, end.rank) != ranks.end()) continue;
    if (!ranks.empty()) known_elsewhere[end.rank].push_back(end.body);
    ranks.push_back(end.rank);
  }
  const IdIndex bodies(rows.bodies.size(), [&](std::size_t b) { return rows.bodies.id[b]; });
  for (const GlobalId id : joined(all_to_all(comm_, std::move(known_elsewhere))))
    knows_all_[bodies.find(id)] = 0;
  std::vector<End> own = joined(all_to_all(comm_, std::move(guests)));
  std::ranges::sort(own, [](const End& a, const End& b) { return a.before(b); });
  return own;
}

void Guests::append(std::span<const End> ends, MechanismRows& rows, std::vector<int>& node) {
  GeneralBlocks& blocks = rows.blocks;
  const IdIndex bodies(rows.bodies.size(), [&](std::size_t b) { return rows.bodies.id[b]; });
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const End& end = ends[i];
    if (i == 0 || ends[i - 1].name != end.name) {
      guests_.push_back({0, blocks.n_rows(), end.rows, blocks.jacobian_begin.back(), 0});
      blocks.kind.push_back(BlockKind::bilateral);
      blocks.name.push_back(end.name);
      blocks.row_begin.push_back(blocks.n_rows() + end.rows);
      blocks.body_begin.push_back(blocks.body_begin.back());
      node.push_back(end.node);
    }
    const Index body = bodies.find(end.body);
    const Offset numbers = Offset{end.rows} * rows.bodies.dofs(body);
    guests_.back().numbers += numbers;
    blocks.body.push_back(body);
    ++blocks.body_begin.back();
    blocks.jacobian_begin.push_back(blocks.jacobian_begin.back() + numbers);
  }
  blocks.jacobian.resize(blocks.jacobian_begin.back(), 0.0);
}

/// Collective. Every guest's rank hears which of its references are wanted where.
void Guests::lay_paths(std::span<const End> ends, const GeneralBlocks& blocks) {
  RankLists<Index> wanted(comm_.size());
  for (const End& end : ends) wanted[end.rank].push_back(end.reference);
  std::vector<std::size_t> expected;
  for (const auto& list : wanted) expected.push_back(list.size());
  const RankLists<Index> asked = all_to_all(comm_, std::move(wanted));

  std::vector<MessagePath> numbers, values;
  std::vector<Index> path_to(comm_.size(), kNoIndex);
  for (int r = 0; r < comm_.size(); ++r) {
    if (asked[r].empty() && expected[r] == 0) continue;
    path_to[r] = to_index(hosts_.size());
    Host& host = hosts_.emplace_back();
    MessagePath& number = numbers.emplace_back(MessagePath{r, 0, 0});
    MessagePath& value = values.emplace_back(MessagePath{r, 0, 0});
    host.reference = asked[r];
    for (const Index j : host.reference) {
      number.send += narrow<Index>(blocks.jacobian_begin[j + 1] - blocks.jacobian_begin[j]);
      const auto after = std::ranges::upper_bound(blocks.body_begin, j);
      const Index k = to_index(after - blocks.body_begin.begin()) - 1;
      const std::pair rows_of(blocks.row_begin[k], blocks.rows(k));
      if (!host.rows.empty() && host.rows.back() == rows_of) continue;
      host.rows.push_back(rows_of);
      value.send += blocks.rows(k);
    }
  }
  std::size_t next = 0;
  for (Guest& guest : guests_) {
    guest.path = path_to[ends[next].rank];
    const std::int64_t name = ends[next].name;
    while (next < ends.size() && ends[next].name == name) ++next;
    numbers[guest.path].receive += narrow<Index>(guest.numbers);
    values[guest.path].receive += guest.rows;
  }
  jacobians_.emplace(comm_, numbers, Tag::across_jacobians);
  values_.emplace(comm_, values, Tag::across_values);
}

void Guests::bring_jacobians(MechanismRows& rows) {
  GeneralBlocks& blocks = rows.blocks;
  std::vector<const double*> in(hosts_.size());
  for (std::size_t p = 0; p < hosts_.size(); ++p) {
    double* out = jacobians_->out(p);
    for (const Index j : hosts_[p].reference)
      out = std::copy(blocks.jacobian.begin() + blocks.jacobian_begin[j],
                      blocks.jacobian.begin() + blocks.jacobian_begin[j + 1], out);
    in[p] = jacobians_->in(p);
  }
  jacobians_->begin();
  jacobians_->end();
  for (const Guest& guest : guests_) {
    std::copy_n(in[guest.path], guest.numbers, blocks.jacobian.begin() + guest.jacobian);
    in[guest.path] += guest.numbers;
  }
}

void Guests::bring(std::span<double> x) {
  std::vector<const double*> in(hosts_.size());
  for (std::size_t p = 0; p < hosts_.size(); ++p) {
    double* out = values_->out(p);
    for (const auto& [first, n] : hosts_[p].rows) out = std::copy_n(x.data() + first, n, out);
    in[p] = values_->in(p);
  }
  values_->begin();
  values_->end();
  for (const Guest& guest : guests_) {
    std::copy_n(in[guest.path], guest.rows, x.data() + guest.first_row);
    in[guest.path] += guest.rows;
  }
}

}  // namespace catena
