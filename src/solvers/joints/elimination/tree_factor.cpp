#include "solvers/joints/elimination/tree_factor.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "catena/base/error.hpp"

namespace catena {
namespace {

template <int kM>
using Rows6 = Eigen::Matrix<double, kM, 6, Eigen::RowMajor>;
template <int kM>
using Vector = Eigen::Matrix<double, kM, 1>;
using Square6 = Eigen::Matrix<double, 6, 6>;

/// Calls f<rows>().
template <class F>
void for_rows(int rows, F&& f) {
  switch (rows) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    case 4:
      return f.template operator()<4>();
    case 5:
      return f.template operator()<5>();
    default:
      return f.template operator()<6>();
  }
}

/// T = L L^T in place, lower; the diagonal then holds 1/L_ii. Pivots go to `pivot`. Returns how
/// many were raised.
template <int kM>
int cholesky(Eigen::Matrix<double, kM, kM>& t, const double* added, double* pivot) {
  int raised = 0;
  for (int i = 0; i < kM; ++i) {
    double d = t(i, i);
    for (int k = 0; k < i; ++k) d -= t(i, k) * t(i, k);
    pivot[i] = d;
    // written so that NaN stays
    if (d <= kPivotFloor * added[i]) {
      d = added[i];
      ++raised;
    }
    const double inverse = 1.0 / std::sqrt(d);
    t(i, i) = inverse;
    for (int r = i + 1; r < kM; ++r) {
      double s = t(r, i);
      for (int k = 0; k < i; ++k) s -= t(r, k) * t(i, k);
      t(r, i) = s * inverse;
    }
  }
  return raised;
}

/// y = L^-1 y and y = L^-T y.
template <int kM>
void lower_solve(const double* l, double* y) {
  for (int i = 0; i < kM; ++i) {
    double s = y[i];
    for (int k = 0; k < i; ++k) s -= l[i + kM * k] * y[k];
    y[i] = s * l[i + kM * i];
  }
}
template <int kM>
void upper_solve(const double* l, double* y) {
  for (int i = kM - 1; i >= 0; --i) {
    double s = y[i];
    for (int k = i + 1; k < kM; ++k) s -= l[k + kM * i] * y[k];
    y[i] = s * l[i + kM * i];
  }
}

/// M_b^-1 in w, 6 x 6.
void set_inverse_mass(const ProblemBodies& bodies, Index body, std::array<double, 36>& w) {
  const double* m = bodies.inverse_mass.data() + bodies.mass_begin[body];
  w.fill(0.0);
  w[0] = w[7] = w[14] = m[0];
  const std::array<int, 9> place = {1, 2, 3, 2, 4, 5, 3, 5, 6};  // xx xy xz; yx yy yz; ...
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) w[6 * (i + 3) + k + 3] = m[place[3 * i + k]];
  }
}

/// G M_b^-1.
template <int kM>
Rows6<kM> times_inverse_mass(const Eigen::Map<const Rows6<kM>>& g, const ProblemBodies& bodies,
                             Index body) {
  const double* m = bodies.inverse_mass.data() + bodies.mass_begin[body];
  Rows6<kM> product;
  for (int r = 0; r < kM; ++r) {
    const double x = g(r, 3), y = g(r, 4), z = g(r, 5);
    for (int d = 0; d < 3; ++d) product(r, d) = m[0] * g(r, d);
    product(r, 3) = m[1] * x + m[2] * y + m[3] * z;
    product(r, 4) = m[2] * x + m[4] * y + m[5] * z;
    product(r, 5) = m[3] * x + m[5] * y + m[6] * z;
  }
  return product;
}

/// X = L^-1 X, row by row.
template <int kM, class Rows>
void lower_solve_rows(const double* l, Rows& x) {
  for (int i = 0; i < kM; ++i) {
    Eigen::Matrix<double, 1, 6> s = x.row(i);
    for (int k = 0; k < i; ++k) s -= l[i + kM * k] * x.row(k);
    x.row(i) = s * l[i + kM * i];
  }
}

/// Multiply-adds of factor_joint.
std::int64_t joint_flops(std::int64_t m, bool child, bool on_path) {
  const std::int64_t own =
      (child ? 2 : 1) * (36 * m + 3 * m * (m + 1)) + m * m * m / 6 + 3 * m * m + 36 * m;
  return on_path ? own + 36 * m + 3 * m * m + 57 * m : own;
}

}  // namespace

TreeFactor::TreeFactor(const MechanismRows& structure, std::span<const char> in_forest,
                       std::span<const TreeRoots> roots)
    : given_(roots.begin(), roots.end()) {
  pivot_.assign(structure.blocks.n_rows(), 1.0);
  order(structure, in_forest);
  w_.resize(structure.bodies.size());
  u_.resize(structure.bodies.size());
  Offset size = 0;
  for (Joint& joint : joints_) {
    joint.data = size;
    const bool on_path = joint.path != kNoIndex;
    size += ((on_path ? 12 : 6) + joint.rows) * joint.rows;
    flops_ += joint_flops(joint.rows, joint.child != kNoIndex, on_path);
  }
  data_.resize(size);
}

void TreeFactor::list_blocks_of_bodies(const MechanismRows& structure,
                                       std::span<const char> in_forest) {
  const GeneralBlocks& blocks = structure.blocks;
  const auto in = [&](Index k) { return in_forest.empty() || in_forest[k] != 0; };
  block_begin_.assign(structure.bodies.size() + 1, 0);
  const auto each = [&](auto&& f) {
    for (Index k = 0; k < blocks.size(); ++k) {
      if (!in(k)) continue;
      for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
        f(k, blocks.body[j]);
      }
    }
  };
  each([&](Index, std::size_t b) { ++block_begin_[b + 1]; });
  for (std::size_t b = 1; b < block_begin_.size(); ++b) block_begin_[b] += block_begin_[b - 1];
  block_of_body_.resize(block_begin_.back());
  std::vector<Index> next(block_begin_.begin(), block_begin_.end() - 1);
  each([&](Index k, std::size_t b) { block_of_body_[next[b]++] = k; });
}

void TreeFactor::order(const MechanismRows& structure, std::span<const char> in_forest) {
  const GeneralBlocks& blocks = structure.blocks;
  list_blocks_of_bodies(structure, in_forest);
  std::vector<char> done(blocks.size(), 0), met(structure.bodies.size(), 0);
  for (const TreeRoots& roots : given_) {
    roots_.push_back(roots.last);
    if (roots.first != kNoIndex) roots_.push_back(roots.first);
    visit(structure, roots.last, done, met);
  }
  for (Index k = 0; k < blocks.size(); ++k) {
    if (done[k] != 0 || !(in_forest.empty() || in_forest[k] != 0)) continue;
    const Index n_bodies = blocks.body_begin[k + 1] - blocks.body_begin[k];
    const Index rows = blocks.rows(k);
    CATENA_CHECK(n_bodies >= 1 && n_bodies <= 2 && rows >= 1 && rows <= 6,
                 "a forest's blocks have 1 to 6 rows and one or two bodies");
    const Index root = blocks.body[blocks.body_begin[k]];
    if (met[root] != 0) continue;
    roots_.push_back(root);
    visit(structure, root, done, met);
  }
  block_begin_ = {};
  block_of_body_ = {};
  sort_from_leaves(structure.bodies.size());
}

/// Depth first from `root`: appends the joints of its tree.
void TreeFactor::visit(const MechanismRows& structure, Index root, std::span<char> done,
                       std::span<char> met) {
  const GeneralBlocks& blocks = structure.blocks;
  std::vector<Index> stack;
  const auto enter = [&](Index body) {
    CATENA_CHECK(met[body] == 0, "the joints of a forest close no loop");
    CATENA_CHECK(structure.bodies.mass_kind[body] == MassKind::rigid,
                 "a forest's bodies are rigid");
    met[body] = 1;
    stack.push_back(body);
  };
  enter(root);
  while (!stack.empty()) {
    const Index body = stack.back();
    stack.pop_back();
    for (Index i = block_begin_[body]; i < block_begin_[body + 1]; ++i) {
      const Index k = block_of_body_[i];
      if (done[k] != 0) continue;
      done[k] = 1;
      const Index first = blocks.body_begin[k];
      const Index of_parent = blocks.body[first] == body ? first : first + 1;
      Joint joint{};
      joint.parent = body;
      joint.child = joint.path = kNoIndex;
      joint.g_p = blocks.jacobian_begin[of_parent];
      joint.row = blocks.row_begin[k];
      joint.rows = narrow<std::int16_t>(blocks.rows(k));
      if (blocks.body_begin[k + 1] - first == 2) {
        const Index of_child = 2 * first + 1 - of_parent;
        joint.child = blocks.body[of_child];
        joint.g_c = blocks.jacobian_begin[of_child];
        enter(joint.child);
      }
      joints_.push_back(joint);
    }
  }
}

/// `above`: per body the joint whose child it is.
void TreeFactor::mark_paths(std::span<const Index> above) {
  for (const TreeRoots& roots : given_) {
    path_of_.push_back(roots.first == kNoIndex ? kNoIndex : to_index(paths_.size()));
    if (roots.first == kNoIndex) continue;
    for (Index b = roots.first; b != roots.last;) {
      CATENA_CHECK(above[b] != kNoIndex, "two roots of a tree are of the same one");
      Joint& joint = joints_[above[b]];
      joint.path = path_of_.back();
      b = joint.parent;
    }
    paths_.push_back({roots, {}, {}, {}});
  }
}

/// Every joint after those below it; of those that may be next the one with the largest row. Paths
/// come last, so that nothing else is coupled to their first roots.
void TreeFactor::sort_from_leaves(Index n_bodies) {
  std::vector<Index> below(n_bodies, 0), above(n_bodies, kNoIndex);  // joints of a body
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    ++below[joints_[j].parent];
    if (joints_[j].child != kNoIndex) above[joints_[j].child] = to_index(j);
  }
  mark_paths(above);
  const auto later = [&](Index a, Index b) { return joints_[a].row < joints_[b].row; };
  std::priority_queue next(later, std::vector<Index>{});
  const auto may_be_next = [&](Index j) { return joints_[j].path == kNoIndex; };
  for (Index j = 0; j < std::ssize(joints_); ++j)
    if (may_be_next(j) && (joints_[j].child == kNoIndex || below[joints_[j].child] == 0))
      next.push(j);
  std::vector<Joint> sorted;
  sorted.reserve(joints_.size());
  std::vector<char> changed(n_bodies, 0);
  const auto append = [&](Index j) {
    Joint& joint = sorted.emplace_back(joints_[j]);
    joint.leaf = joint.child != kNoIndex && changed[joint.child] == 0;
    joint.first_at_parent = std::exchange(changed[joint.parent], 1) == 0;
  };
  while (!next.empty()) {
    const Index j = next.top(), parent = joints_[j].parent;
    next.pop();
    append(j);
    if (--below[parent] == 0 && above[parent] != kNoIndex && may_be_next(above[parent]))
      next.push(above[parent]);
  }
  for (const Path& path : paths_)
    for (Index b = path.ends.first; b != path.ends.last; b = joints_[above[b]].parent)
      append(above[b]);
  joints_ = std::move(sorted);
}

template <int kM>
void TreeFactor::factor_joint(const Joint& joint, const MechanismRows& joints,
                              std::span<const double> added) {
  const std::size_t row = joint.row;
  const Eigen::Map<const Rows6<kM>> g_p(jacobian_ + joint.g_p);
  Eigen::Map<Square6> w_p(w_[joint.parent].data());
  Rows6<kM> p;
  if (joint.first_at_parent) {
    set_inverse_mass(joints.bodies, joint.parent, w_[joint.parent]);
    p = times_inverse_mass<kM>(g_p, joints.bodies, joint.parent);
  } else {
    p = g_p * w_p;
  }
  Eigen::Matrix<double, kM, kM> t = p.lazyProduct(g_p.transpose());
  Rows6<kM> c;
  if (joint.child != kNoIndex) {
    const Eigen::Map<const Rows6<kM>> g_c(jacobian_ + joint.g_c);
    const Eigen::Map<const Square6> w_c(w_[joint.child].data());
    c = joint.leaf ? times_inverse_mass<kM>(g_c, joints.bodies, joint.child) : Rows6<kM>(g_c * w_c);
    t += c.lazyProduct(g_c.transpose());
  }
  for (int i = 0; i < kM; ++i) {
    const auto r = row + i;
    t(i, i) += joints.blocks.compliance[r] + added[r];
  }
  raised_ += cholesky<kM>(t, added.data() + row, pivot_.data() + row);

  lower_solve_rows<kM>(t.data(), p);
  Eigen::Map<Rows6<kM>>(data_.data() + joint.data) = p;
  w_p -= p.transpose().lazyProduct(p);
  Eigen::Map<Eigen::Matrix<double, kM, kM>>(data_.data() + joint.data + 6 * kM) = t;
  if (joint.path != kNoIndex) carry_first<kM>(joint, joints, c.data());
}

/// Of a joint on a path, whose X and L are known.
template <int kM>
void TreeFactor::carry_first(const Joint& joint, const MechanismRows& joints,
                             const double* g_c_w_c) {
  Path& path = paths_[joint.path];
  const Index first = path.ends.first;
  double* data = data_.data() + joint.data;
  const Eigen::Map<const Rows6<kM>> x(data);
  Eigen::Map<Rows6<kM>> z(data + 6 * kM + kM * kM);
  Eigen::Map<Square6> w_z(w_[first].data()), w_pz(path.coupling.data());
  if (joint.child == first) {
    if (joint.leaf) set_inverse_mass(joints.bodies, first, w_[first]);
    z = Eigen::Map<const Rows6<kM>>(g_c_w_c);
  } else {
    z.noalias() = Eigen::Map<const Rows6<kM>>(jacobian_ + joint.g_c) * w_pz;
  }
  lower_solve_rows<kM>(data + 6 * kM, z);
  w_pz.noalias() = -x.transpose().lazyProduct(z);
  w_z -= z.transpose().lazyProduct(z);
}

bool TreeFactor::factor(const MechanismRows& joints, std::span<const double> added) {
  raised_ = 0;
  jacobian_ = joints.blocks.jacobian.data();
  for (const Joint& joint : joints_) {
    for_rows(joint.rows, [&]<int kM>() { factor_joint<kM>(joint, joints, added); });
  }
  for (Path& path : paths_) {
    Eigen::Map<Eigen::Matrix<double, 12, 12>> left(path.left.data());
    const Eigen::Map<const Square6> w_pz(path.coupling.data());
    left.topLeftCorner<6, 6>() = Eigen::Map<const Square6>(w_[path.ends.last].data());
    left.topRightCorner<6, 6>() = w_pz;
    left.bottomLeftCorner<6, 6>() = w_pz.transpose();
    left.bottomRightCorner<6, 6>() = Eigen::Map<const Square6>(w_[path.ends.first].data());
  }
  return true;
}

const double* TreeFactor::inverse_mass_left(Index i) const {
  return path_of_[i] == kNoIndex ? w_[given_[i].last].data() : paths_[path_of_[i]].left.data();
}

const double* TreeFactor::velocity(Index i) const {
  return path_of_[i] == kNoIndex ? u_[given_[i].last].data() : paths_[path_of_[i]].velocity.data();
}

void TreeFactor::pivots(std::span<double> out) {
  std::copy(pivot_.begin(), pivot_.end(), out.begin());
}

/// y_j = L_j^-1 (x_j - G_c u_c - G_p u_p), u_p <- u_p + X_j^T y_j, u_z <- u_z + Z_j^T y_j.
template <int kM>
void TreeFactor::forward_joint(const Joint& joint, std::span<double> x) {
  using Six = Eigen::Matrix<double, 6, 1>;
  const double* data = data_.data() + joint.data;
  Eigen::Map<Six> u_p(u_[joint.parent].data());
  Eigen::Map<Vector<kM>> out(x.data() + joint.row);
  Vector<kM> y = out;
  if (!joint.first_at_parent)
    y.noalias() -= Eigen::Map<const Rows6<kM>>(jacobian_ + joint.g_p).lazyProduct(u_p);
  if (joint.child != kNoIndex && !joint.leaf) {
    const Eigen::Map<const Six> u_c(u_[joint.child].data());
    y.noalias() -= Eigen::Map<const Rows6<kM>>(jacobian_ + joint.g_c).lazyProduct(u_c);
  }
  lower_solve<kM>(data + 6 * kM, y.data());
  const Eigen::Map<const Rows6<kM>> x_j(data);
  if (joint.first_at_parent)
    u_p.noalias() = x_j.transpose().lazyProduct(y);
  else
    u_p.noalias() += x_j.transpose().lazyProduct(y);
  if (joint.path != kNoIndex) {
    const Index first = paths_[joint.path].ends.first;
    Eigen::Map<Six> u_z(u_[first].data());
    if (joint.leaf && joint.child == first) u_z.setZero();
    u_z.noalias() +=
        Eigen::Map<const Rows6<kM>>(data + 6 * kM + kM * kM).transpose().lazyProduct(y);
  }
  out = y;
}

/// x_j = L_j^-T (y_j - X_j f_p - Z_j f_z), f_p <- f_p + G_p^T x_j, f_c = G_c^T x_j, and what f_z
/// is of other joints besides.
template <int kM>
void TreeFactor::backward_joint(const Joint& joint, std::span<double> x) {
  using Six = Eigen::Matrix<double, 6, 1>;
  const double* data = data_.data() + joint.data;
  Eigen::Map<Six> f_p(u_[joint.parent].data());
  Eigen::Map<Vector<kM>> out(x.data() + joint.row);
  Vector<kM> y = out;
  y.noalias() -= Eigen::Map<const Rows6<kM>>(data).lazyProduct(f_p);
  const Index first = joint.path == kNoIndex ? kNoIndex : paths_[joint.path].ends.first;
  if (first != kNoIndex)
    y.noalias() -= Eigen::Map<const Rows6<kM>>(data + 6 * kM + kM * kM)
                       .lazyProduct(Eigen::Map<const Six>(u_[first].data()));
  upper_solve<kM>(data + 6 * kM, y.data());
  const Eigen::Map<const Rows6<kM>> g_p(jacobian_ + joint.g_p);
  if (!joint.first_at_parent) f_p.noalias() += g_p.transpose().lazyProduct(y);
  if (joint.child != kNoIndex && !joint.leaf) {
    const Eigen::Map<const Rows6<kM>> g_c(jacobian_ + joint.g_c);
    Eigen::Map<Six> f_c(u_[joint.child].data());
    if (joint.child == first)
      f_c.noalias() += g_c.transpose().lazyProduct(y);
    else
      f_c.noalias() = g_c.transpose().lazyProduct(y);
  }
  out = y;
}

void TreeFactor::forward(std::span<double> x) {
  for (const Joint& joint : joints_) {
    for_rows(joint.rows, [&]<int kM>() { forward_joint<kM>(joint, x); });
  }
  for (Path& path : paths_) {
    std::ranges::copy(u_[path.ends.last], path.velocity.begin());
    std::ranges::copy(u_[path.ends.first], path.velocity.begin() + 6);
  }
}

void TreeFactor::backward(std::span<double> x) { backward(x, {}); }

void TreeFactor::backward(std::span<double> x, std::span<const double> impulses) {
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    u_[roots_[i]].fill(0.0);
    if (6 * i < impulses.size()) std::copy_n(impulses.data() + 6 * i, 6, u_[roots_[i]].data());
  }
  for (auto joint = joints_.rbegin(); joint != joints_.rend(); ++joint) {
    for_rows(joint->rows, [&]<int kM>() { backward_joint<kM>(*joint, x); });
  }
}

std::unique_ptr<JointElimination> make_tree_elimination(const MechanismRows& structure) {
  return make_regularised(structure,
                          std::make_unique<TreeFactor>(structure, std::span<const char>{}));
}

}  // namespace catena
