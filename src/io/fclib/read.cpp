#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "catena/base/error.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/io/fclib.hpp"
#include "io/fclib/body_map.hpp"

namespace catena {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Item i of n, dealt in contiguous ranges, lies on this rank of `size`.
int rank_of(std::int64_t i, std::int64_t n, int size) {
  return narrow<int>(((i + 1) * size - 1) / n);
}
Index first_of(int rank, std::int64_t n, int size) { return to_index(n * rank / size); }

/// Appends body b with its dense M_b^-1 and V_free = M_b^-1 f.
void add_body(const std::string& path, const FclibFile& file, const BodyMap& map, Index b,
              ProblemBodies& out) {
  const std::span<const Index> dofs = map.dofs_of(b);
  const Eigen::Index n = dofs.size();
  Matrix mass = Matrix::Zero(n, n);
  Eigen::VectorXd force(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Index row = dofs[i];
    force[i] = file.f[row];
    const auto columns = file.mass.columns_of(row);
    const auto values = file.mass.values_of(row);
    for (std::size_t k = 0; k < columns.size(); ++k) mass(i, map.slot_of[columns[k]]) = values[k];
  }
  const auto refuse = [&](const std::string& what) {
    throw Error(what + " in the diagonal block of velocity " + std::to_string(dofs[0]),
                path + ": /fclib_global/M");
  };
  // Finite-element codes leave gyroscopic and damping terms in M: then only its symmetric part
  // can be asked to be positive definite, and M^-1 is as unsymmetric as M.
  const Matrix symmetric = 0.5 * (mass + mass.transpose());
  const Eigen::LLT<Matrix> factor(symmetric);
  if (factor.info() != Eigen::Success) refuse("is not positive definite");
  // A singular matrix leaves round-off in a pivot instead of zero.
  for (Eigen::Index i = 0; i < n; ++i)
    if (!(std::pow(factor.matrixLLT()(i, i), 2) > 1e-14 * symmetric(i, i))) refuse("is singular");
  Matrix inverse;
  if (symmetric == mass) {
    inverse = factor.solve(Matrix::Identity(n, n));
  } else {
    inverse = mass.partialPivLu().inverse();
  }
  const Eigen::VectorXd velocity = inverse * force;
  if (!inverse.allFinite() || !velocity.allFinite()) refuse("its inverse is not finite");
  out.add_dense(b, std::span(inverse.data(), inverse.size()),
                std::span(velocity.data(), velocity.size()));
}

/// A block as it stands in the file: `count` rows of a transposed matrix from `first` on, then
/// of a contact its rolling and spinning rows.
struct FileBlock {
  BlockKind kind;
  std::int64_t name;
  const SparseRows* rows;
  std::int64_t first;
  std::int64_t count;
  const SparseRows* couples = nullptr;
  std::int64_t couple_first = 0;
  std::int64_t couple_count = 0;

  std::int64_t size() const { return count + couple_count; }
  /// Row i's place in the matrix that holds it.
  std::pair<const SparseRows*, std::int64_t> row(std::int64_t i) const {
    return i < count ? std::pair(rows, first + i) : std::pair(couples, couple_first + i - count);
  }
};

std::vector<FileBlock> list_blocks(const FclibFile& file) {
  std::vector<FileBlock> blocks;
  const CatenaExtras& extras = file.extras;
  for (std::int64_t c = 0; c < file.n_contacts(); ++c) {
    const bool scalar = extras.present && extras.unilateral[c] != 0;
    blocks.push_back({scalar ? BlockKind::unilateral : BlockKind::contact, c, &file.h_transposed,
                      3 * c, scalar ? 1 : 3});
    if (!extras.couples.present) continue;
    blocks.back().couples = &extras.couples.rows;
    blocks.back().couple_first = extras.couples.begin[c];
    blocks.back().couple_count = extras.couples.begin[c + 1] - extras.couples.begin[c];
  }
  const auto add = [&](BlockKind kind, const SparseRows& rows,
                       const std::vector<std::int64_t>& begin) {
    for (std::size_t k = 0; k + 1 < begin.size(); ++k)
      blocks.push_back({kind, begin[k], &rows, begin[k], begin[k + 1] - begin[k]});
  };
  if (extras.present) {
    add(BlockKind::bilateral, file.g_transposed, extras.bilateral_begin);
    add(BlockKind::boxed, extras.boxed, extras.boxed_begin);
  } else {
    // Rows of a foreign file may be redundant among each other, so each is its own block.
    std::vector<std::int64_t> begin(file.g_transposed.n_rows() + 1);
    std::iota(begin.begin(), begin.end(), std::int64_t{0});
    add(BlockKind::bilateral, file.g_transposed, begin);
  }
  return blocks;
}

/// Bodies that a block touches, ascending.
std::vector<Index> bodies_of(const FileBlock& block, const BodyMap& map) {
  std::vector<Index> bodies;
  for (std::int64_t i = 0; i < block.size(); ++i) {
    const auto [rows, row] = block.row(i);
    const auto columns = rows->columns_of(row);
    const auto values = rows->values_of(row);
    for (std::size_t k = 0; k < columns.size(); ++k)
      if (values[k] != 0.0 && map.body_of[columns[k]] != kNoIndex)
        bodies.push_back(map.body_of[columns[k]]);
  }
  sort_unique(bodies);
  return bodies;
}

/// Sigma of the block's rows, and which velocities of the file stand for it.
void add_compliances(const FclibFile& file, const FileBlock& block, const BodyMap& map,
                     GeneralBlocks& out) {
  for (std::int64_t i = 0; i < block.size(); ++i) {
    const auto [rows, row] = block.row(i);
    out.compliance.push_back(0.0);
    out.file_velocity.push_back(-1);
    for (const Index column : rows->columns_of(row)) {
      if (map.body_of[column] != kNoIndex) continue;
      out.compliance.back() = 1.0 / file.mass.values_of(column).front();
      out.file_velocity.back() = column;
    }
  }
}

/// Row data of a block: q = -w (-b for bilateral rows), bounds, units of angle.
void add_rows(const FclibFile& file, const FileBlock& block, GeneralBlocks& out) {
  const CatenaExtras& extras = file.extras;
  for (std::int64_t row = block.first; row < block.first + block.count; ++row) {
    double constant = 0.0, lower = 0.0, upper = 0.0;
    std::int64_t angular = 0;
    switch (block.kind) {
      case BlockKind::contact:
        constant = file.w[row];
        break;
      case BlockKind::unilateral:
        constant = file.w[row];
        angular = extras.unilateral_angular[block.name];
        break;
      case BlockKind::bilateral:
        constant = file.b[row];
        if (extras.present) angular = extras.bilateral_angular[row];
        break;
      case BlockKind::boxed:
        constant = extras.boxed_w[row];
        lower = extras.boxed_lower[row];
        upper = extras.boxed_upper[row];
        angular = extras.boxed_angular[row];
        break;
    }
    out.q.push_back(-constant);
    out.lower.push_back(lower);
    out.upper.push_back(upper);
    out.angular.push_back(angular != 0 ? 1 : 0);
  }
  for (std::int64_t i = 0; i < block.couple_count; ++i) {
    out.q.push_back(-extras.couples.w[block.couple_first + i]);
    for (auto* values : {&out.lower, &out.upper}) values->push_back(0.0);
    out.angular.push_back(1);
  }
}

void add_block(const FclibFile& file, const FileBlock& block, std::span<const Index> bodies,
               const BodyMap& map, std::span<const Index> local_of, GeneralBlocks& out) {
  out.kind.push_back(block.kind);
  out.name.push_back(block.name);
  const bool contact = block.kind == BlockKind::contact;
  out.friction.push_back(contact ? file.mu[block.name] : 0.0);
  const CoupleExtras& couples = file.extras.couples;
  if (couples.present) {
    out.rolling.push_back(contact ? couples.rolling[block.name] : -1.0);
    out.spinning.push_back(contact ? couples.spinning[block.name] : -1.0);
    out.cohesion.push_back(contact ? couples.cohesion[block.name] : 0.0);
  }
  add_rows(file, block, out);
  add_compliances(file, block, map, out);
  out.row_begin.push_back(out.row_begin.back() + to_index(block.size()));
  for (const Index b : bodies) {
    const auto n = map.dofs_of(b).size();
    const std::size_t start = out.jacobian.size();
    out.jacobian.resize(start + block.size() * n, 0.0);
    for (std::int64_t i = 0; i < block.size(); ++i) {
      const auto [rows, row] = block.row(i);
      const auto columns = rows->columns_of(row);
      const auto values = rows->values_of(row);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const std::size_t dof = columns[k];
        if (map.body_of[dof] == b)
          out.jacobian[start + Offset{i} * n + map.slot_of[dof]] = values[k];
      }
    }
    out.body.push_back(local_of[b]);
    out.jacobian_begin.push_back(std::ssize(out.jacobian));
  }
  out.body_begin.push_back(to_index(out.body.size()));
}

/// Who needs which bodies of whom: each rank's ghosts, ascending.
std::vector<std::vector<Index>> ghosts_of_ranks(const std::vector<std::vector<Index>>& block_bodies,
                                                std::span<const int> holder, Index n_bodies,
                                                int n_ranks) {
  std::vector<std::vector<Index>> ghosts(n_ranks);
  for (std::size_t k = 0; k < block_bodies.size(); ++k)
    for (const Index b : block_bodies[k])
      if (rank_of(b, n_bodies, n_ranks) != holder[k]) ghosts[holder[k]].push_back(b);
  for (std::vector<Index>& list : ghosts) {
    sort_unique(list);
  }
  return ghosts;
}

/// The plan by which owners of `needed[rank]` (global items in contiguous ranges) send to
/// their users; this rank's own needs are numbered from `n_own` on.
HaloPlan plan_of(const std::vector<std::vector<Index>>& needed, std::int64_t n_items, int rank,
                 int n_ranks) {
  const Index begin = first_of(rank, n_items, n_ranks);
  const Index end = first_of(rank + 1, n_items, n_ranks);
  const std::vector<Index>& mine = needed[rank];
  HaloPlan plan;
  for (int other = 0; other < n_ranks; ++other) {
    if (other == rank) continue;
    HaloPlan::Neighbour neighbour;
    neighbour.rank = other;
    for (const Index item : needed[other])
      if (item >= begin && item < end) neighbour.send.push_back(item - begin);
    for (std::size_t k = 0; k < mine.size(); ++k)
      if (rank_of(mine[k], n_items, n_ranks) == other)
        neighbour.receive.push_back(end - begin + to_index(k));
    if (!neighbour.send.empty() || !neighbour.receive.empty())
      plan.neighbours.push_back(std::move(neighbour));
  }
  return plan;
}

void build_global(const std::string& path, const FclibFile& file, ConstraintProblem& problem,
                  FclibInfo& info) {
  const int rank = problem.comm.rank();
  const int n_ranks = problem.comm.size();
  const BodyMap map = map_bodies(path, file);
  info.n_bodies = map.size();
  const std::vector<FileBlock> blocks = list_blocks(file);
  std::vector<std::vector<Index>> block_bodies(blocks.size());
  std::vector<int> holder(blocks.size());
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    block_bodies[k] = bodies_of(blocks[k], map);
    // A block on no body at all has no owner; it stays with rank 0.
    holder[k] = block_bodies[k].empty() ? 0 : rank_of(block_bodies[k][0], map.size(), n_ranks);
  }
  const auto ghosts = ghosts_of_ranks(block_bodies, holder, map.size(), n_ranks);
  problem.ghosts = plan_of(ghosts, map.size(), rank, n_ranks);

  std::vector<Index> local_of(map.size(), kNoIndex);
  const Index begin = first_of(rank, map.size(), n_ranks);
  const Index end = first_of(rank + 1, map.size(), n_ranks);
  ProblemBodies& bodies = problem.bodies;
  const auto add = [&](Index b) {
    local_of[b] = bodies.size();
    add_body(path, file, map, b, bodies);
  };
  for (Index b = begin; b < end; ++b) {
    add(b);
    const std::span<const Index> dofs = map.dofs_of(b);
    bodies.file_velocity.insert(bodies.file_velocity.end(), dofs.begin(), dofs.end());
  }
  bodies.n_owned = bodies.size();
  for (const Index b : ghosts[rank]) add(b);
  for (std::size_t k = 0; k < blocks.size(); ++k)
    if (holder[k] == rank)
      add_block(file, blocks[k], block_bodies[k], map, local_of, problem.blocks);
}

/// Column blocks (contacts) that the rows of contacts [begin, end) need from other ranks.
std::vector<Index> foreign_columns(const SparseRows& w, Index begin, Index end) {
  std::vector<Index> needed;
  for (std::int64_t row = 3 * std::int64_t{begin}; row < 3 * std::int64_t{end}; ++row)
    for (const Index column : w.columns_of(row))
      if (column / 3 < begin || column / 3 >= end) needed.push_back(column / 3);
  sort_unique(needed);
  return needed;
}

void build_local(const FclibFile& file, ConstraintProblem& problem) {
  const int rank = problem.comm.rank();
  const int n_ranks = problem.comm.size();
  const std::int64_t n = file.n_contacts();
  std::vector<std::vector<Index>> needed(n_ranks);
  for (int r = 0; r < n_ranks; ++r)
    needed[r] =
        foreign_columns(file.w_matrix, first_of(r, n, n_ranks), first_of(r + 1, n, n_ranks));
  const std::vector<Index>& halo = needed[rank];
  const Index begin = first_of(rank, n, n_ranks);
  const Index end = first_of(rank + 1, n, n_ranks);

  AssembledOperator& op = problem.assembled.emplace();
  op.n_halo_rows = 3 * to_index(halo.size());
  op.halo = plan_of(needed, n, rank, n_ranks);
  const auto local_column = [&](Index column) {
    const Index contact = column / 3;
    if (contact >= begin && contact < end) return column - 3 * begin;
    const auto at = std::lower_bound(halo.begin(), halo.end(), contact) - halo.begin();
    return 3 * (end - begin + to_index(at)) + column % 3;
  };
  std::vector<std::pair<Index, double>> entries;
  for (std::int64_t row = 3 * std::int64_t{begin}; row < 3 * std::int64_t{end}; ++row) {
    const auto columns = file.w_matrix.columns_of(row);
    const auto values = file.w_matrix.values_of(row);
    entries.clear();
    for (std::size_t k = 0; k < columns.size(); ++k)
      entries.emplace_back(local_column(columns[k]), values[k]);
    std::sort(entries.begin(), entries.end());
    for (const auto& [column, value] : entries) {
      op.column.push_back(column);
      op.value.push_back(value);
    }
    op.row_begin.push_back(std::ssize(op.column));
    op.r.push_back(file.q[row]);
  }
  for (Index c = begin; c < end; ++c) {
    op.friction.push_back(file.mu[c]);
    op.name.push_back(c);
  }
}

ContactLaw law_of(const std::string& path, const CatenaExtras& extras) {
  if (!extras.present) return ContactLaw::coulomb;
  for (std::size_t k = 0; k < kContactLawNames.size(); ++k)
    if (extras.law == kContactLawNames[k]) return static_cast<ContactLaw>(k);
  throw Error("unknown contact law '" + extras.law + "'", path + ": /catena: attribute law");
}

/// Takes the shifts of contacts, whose numbers in the file are the blocks' names.
void shift_rows(const std::string& path, std::span<const double> of_contact,
                ConstraintProblem& problem) {
  if (of_contact.empty() && problem.n_blocks() > 0)
    throw Error("holds no /catena/shift", path,
                "law lagged needs the sliding of the step before: dump a step of a run with "
                "contact.law: lagged, or set the attribute law of /catena to coulomb");
  std::vector<double> shift(problem.n_blocks(), 0.0);
  for (std::size_t k = 0; k < shift.size(); ++k)
    if (problem.blocks.kind[k] == BlockKind::contact) shift[k] = of_contact[problem.blocks.name[k]];
  set_shift(problem, std::move(shift));
}

}  // namespace

ConstraintProblem read_fclib(const Communicator& comm, const std::string& path, FclibInfo& info) {
  ConstraintProblem problem(comm);
  FclibInfo found;
  all_or_none(comm, [&] {
    const FclibFile file = read_fclib_file(path);
    found.form = file.local ? "local" : "global";
    found.title = file.title;
    found.description = file.description;
    found.math_info = file.math_info;
    found.n_contacts = file.n_contacts();
    found.n_velocities = std::ssize(file.f);
    found.n_bilateral = file.g_transposed.n_rows();
    found.n_boxed = file.extras.boxed.n_rows();
    found.dumped = file.extras.present;
    found.has_guess = file.has_guess;
    const ContactLaw law = law_of(path, file.extras);
    if (law != ContactLaw::lagged) problem.law = law;
    if (file.local) {
      build_local(file, problem);
    } else {
      build_global(path, file, problem, found);
    }
    if (law == ContactLaw::lagged) shift_rows(path, file.extras.shift, problem);
  });
  info = std::move(found);
  return problem;
}

}  // namespace catena
