#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "catena/base/error.hpp"
#include "catena/io/fclib.hpp"
#include "io/fclib/file.hpp"
#include "io/hdf5/file.hpp"

namespace catena {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A dense inverse of more velocities would not fit beside the rest.
constexpr Index kLargestBody = 6000;

/// Item i of n, dealt in contiguous ranges, lies on this rank of `size`.
int rank_of(std::int64_t i, std::int64_t n, int size) {
  return narrow<int>(((i + 1) * size - 1) / n);
}
Index first_of(int rank, std::int64_t n, int size) { return to_index(n * rank / size); }

/// Which velocities of the file belong to which body. Those that stand for the compliance of a row
/// of a dumped step (mass 1/Sigma) belong to none.
struct BodyMap {
  std::vector<Index> body_of;  ///< per velocity; kNoIndex: none
  std::vector<Index> slot_of;  ///< per velocity: its place in the body
  std::vector<Index> dof_begin = {0};
  std::vector<Index> dofs;  ///< per body, ascending
  Index size() const { return to_index(dof_begin.size()) - 1; }
  std::span<const Index> dofs_of(Index b) const {
    const std::size_t k = b;
    return std::span(dofs).subspan(dof_begin[k], dof_begin[k + 1] - dof_begin[k]);
  }
};

/// True if M has no entry between different groups.
bool is_block_diagonal(const SparseRows& mass, const std::vector<Index>& group) {
  for (std::int64_t i = 0; i < mass.n_rows(); ++i)
    for (const Index j : mass.columns_of(i))
      if (group[i] != group[j]) return false;
  return true;
}

/// Connected parts of M's pattern, numbered by their first velocity (union-find).
std::vector<Index> connected_parts(const SparseRows& mass) {
  std::vector<Index> parent(mass.n_rows());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](Index i) {
    while (parent[i] != i) {
      Index& up = parent[i];
      up = parent[up];
      i = up;
    }
    return i;
  };
  for (std::int64_t i = 0; i < mass.n_rows(); ++i)
    for (const Index j : mass.columns_of(i)) {
      const Index a = root(to_index(i));
      const Index b = root(j);
      parent[std::max(a, b)] = std::min(a, b);
    }
  std::vector<Index> part(parent.size());
  Index n_parts = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::size_t r = root(to_index(i));
    part[i] = r == i ? n_parts++ : part[r];
  }
  return part;
}

std::vector<Index> group_velocities(const std::string& path, const FclibFile& file) {
  const std::size_t n = file.mass.n_rows();
  std::vector<Index> group(n);
  if (file.extras.present) {
    const auto& begin = file.extras.body_begin;
    for (std::size_t b = 0; b + 1 < begin.size(); ++b)
      for (auto i = begin[b]; i < begin[b + 1]; ++i) group[i] = to_index(b);
    if (!is_block_diagonal(file.mass, group))
      throw Error("/fclib_global/M has entries between its bodies", path + ": /catena/body_begin");
    return group;
  }
  // A rigid body's six velocities stay together even where its mass is diagonal.
  for (std::size_t i = 0; i < n; ++i) group[i] = to_index(i / 6);
  if (n % 6 == 0 && is_block_diagonal(file.mass, group)) return group;
  return connected_parts(file.mass);
}

/// Per velocity whether it stands for the compliance of a row: without a body, without a force, in
/// one row alone, which it enters as it is.
std::vector<bool> find_compliances(const FclibFile& file) {
  const CatenaExtras& extras = file.extras;
  std::vector<bool> found(file.f.size(), false);
  std::vector<int> uses(file.f.size(), 0);
  for (std::size_t b = 0; b < extras.body_id.size(); ++b) {
    const std::size_t i = extras.body_begin[b];
    found[i] = extras.body_id[b] == std::int64_t{kNoBody} &&
               extras.body_begin[b + 1] == extras.body_begin[b] + 1 && file.f[i] == 0.0;
  }
  for (const SparseRows* rows :
       {&file.h_transposed, &file.g_transposed, &extras.boxed, &extras.couples.rows})
    for (std::size_t k = 0; k < rows->column.size(); ++k)
      uses[rows->column[k]] += rows->value[k] == 1.0 ? 1 : 2;
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = found[i] && uses[i] == 1;
  return found;
}

BodyMap map_bodies(const std::string& path, const FclibFile& file) {
  BodyMap map;
  map.body_of = group_velocities(path, file);
  const std::size_t n = map.body_of.size();
  if (file.extras.present) {
    const std::vector<bool> compliance = find_compliances(file);
    Index last = kNoIndex, next = 0;  // bodies stand one after the other
    for (std::size_t i = 0; i < n; ++i) {
      if (compliance[i]) {
        map.body_of[i] = kNoIndex;
        continue;
      }
      if (map.body_of[i] != last) ++next;
      last = map.body_of[i];
      map.body_of[i] = next - 1;
    }
  }
  Index n_bodies = 0;
  for (const Index b : map.body_of)
    if (b != kNoIndex) n_bodies = std::max(n_bodies, b + 1);
  map.dof_begin.assign(n_bodies + 1, 0);
  for (const Index b : map.body_of)
    if (b != kNoIndex) ++map.dof_begin[b + 1];
  const auto largest = std::max_element(map.dof_begin.begin(), map.dof_begin.end());
  if (*largest > kLargestBody)
    throw Error("couples " + std::to_string(*largest) + " velocities into one body; at most " +
                    std::to_string(kLargestBody) + " are supported",
                path + ": /fclib_global/M");
  std::partial_sum(map.dof_begin.begin(), map.dof_begin.end(), map.dof_begin.begin());
  std::vector<Index> next(map.dof_begin.begin(), map.dof_begin.end() - 1);
  map.dofs.resize(map.dof_begin.back());
  map.slot_of.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (map.body_of[i] == kNoIndex) continue;
    const std::size_t b = map.body_of[i];
    map.slot_of[i] = next[b] - map.dof_begin[b];
    map.dofs[next[b]++] = to_index(i);
  }
  return map;
}

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
    const std::size_t at = c;
    blocks.back().couples = &extras.couples.rows;
    blocks.back().couple_first = extras.couples.begin[at];
    blocks.back().couple_count = extras.couples.begin[at + 1] - extras.couples.begin[at];
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
  std::sort(bodies.begin(), bodies.end());
  bodies.erase(std::unique(bodies.begin(), bodies.end()), bodies.end());
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
    const std::size_t r = row;
    double constant = 0.0, lower = 0.0, upper = 0.0;
    std::int64_t angular = 0;
    switch (block.kind) {
      case BlockKind::contact:
        constant = file.w[r];
        break;
      case BlockKind::unilateral:
        constant = file.w[r];
        angular = extras.unilateral_angular[block.name];
        break;
      case BlockKind::bilateral:
        constant = file.b[r];
        if (extras.present) angular = extras.bilateral_angular[r];
        break;
      case BlockKind::boxed:
        constant = extras.boxed_w[r];
        lower = extras.boxed_lower[r];
        upper = extras.boxed_upper[r];
        angular = extras.boxed_angular[r];
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
    const std::size_t c = block.name;
    out.rolling.push_back(contact ? couples.rolling[c] : -1.0);
    out.spinning.push_back(contact ? couples.spinning[c] : -1.0);
    out.cohesion.push_back(contact ? couples.cohesion[c] : 0.0);
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
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
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
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
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

namespace {

/// Rows of a file that are of one kind, and where their first guess stands.
class GuessRows {
 public:
  /// `wanted` numbers of `dataset`; zeros where it is missing.
  GuessRows(const hdf5::File& file, const std::string& dataset, std::int64_t wanted)
      : values_(wanted, 0.0) {
    if (!file.exists(dataset)) return;
    values_ = file.read_doubles(dataset);
    const std::string where = file.path() + ": " + dataset;
    if (std::ssize(values_) != wanted)
      throw Error("has " + std::to_string(values_.size()) + " entries where " +
                      std::to_string(wanted) + " are wanted",
                  where);
    if (!std::all_of(values_.begin(), values_.end(), [](double x) { return std::isfinite(x); }))
      throw Error("is not finite", where, "start from zero: --cold");
  }
  double operator[](std::int64_t i) const { return values_.at(i); }

 private:
  std::vector<double> values_;
};

std::int64_t name_of(const ConstraintProblem& problem, Index block) {
  const std::size_t k = block;
  return problem.assembled ? problem.assembled->name[k] : problem.blocks.name[k];
}

/// Rows of the whole file by kind: of contacts (3 each), beyond those, bilateral, boxed.
struct RowCounts {
  std::int64_t contact = 0, couple = 0, bilateral = 0, boxed = 0;
};

bool is_contact(BlockKind kind) {
  return kind == BlockKind::contact || kind == BlockKind::unilateral;
}

/// Collective. `begin` receives the first of each contact's rows beyond three among all of them.
RowCounts count_rows(const ConstraintProblem& problem, std::vector<std::int64_t>& begin) {
  std::array<std::int64_t, 4> sums{};
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (is_contact(view.kind)) {
      sums[0] += 3;
      sums[1] += std::max<Index>(0, view.rows - 3);
    } else {
      sums[view.kind == BlockKind::bilateral ? 2 : 3] += view.rows;
    }
  }
  problem.comm.sum(sums);
  // the file is read by every rank as a whole: what comes before a contact may be elsewhere
  std::vector<std::int64_t> beyond(sums[0] / 3, 0);
  for (Index k = 0; sums[1] > 0 && k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (is_contact(view.kind)) beyond[name_of(problem, k)] = std::max<Index>(0, view.rows - 3);
  }
  if (sums[1] > 0) problem.comm.sum(beyond);
  begin.assign(beyond.size() + 1, 0);
  std::partial_sum(beyond.begin(), beyond.end(), begin.begin() + 1);
  return {sums[0], sums[1], sums[2], sums[3]};
}

}  // namespace

std::vector<double> read_fclib_guess(const std::string& path, const ConstraintProblem& problem) {
  CATENA_CHECK(problem.contacts.empty(), "a guess belongs to a problem read from its file");
  std::vector<double> guess(problem.n_rows(), 0.0);
  std::vector<std::int64_t> couple_begin;
  const RowCounts counts = count_rows(problem, couple_begin);
  all_or_none(problem.comm, [&] {
    const hdf5::File file = hdf5::File::open(path);
    const GuessRows contacts(file, "/guesses/1/r", counts.contact);
    const GuessRows couples(file, "/catena/couples/guess", counts.couple);
    const GuessRows bilateral(file, "/catena/bilateral_guess", counts.bilateral);
    const GuessRows boxed(file, "/catena/boxed/guess", counts.boxed);
    for (Index k = 0; k < problem.n_blocks(); ++k) {
      const BlockView view = block_view(problem, k);
      const std::int64_t name = name_of(problem, k);
      for (Index i = 0; i < view.rows; ++i) {
        double& x = guess[view.row + i];
        if (is_contact(view.kind))
          x = i < 3 ? contacts[3 * name + i] : couples[couple_begin[name] + i - 3];
        else
          x = view.kind == BlockKind::bilateral ? bilateral[name + i] : boxed[name + i];
      }
    }
  });
  return guess;
}

}  // namespace catena
