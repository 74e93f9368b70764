#include "solvers/joints/elimination/tree_factor.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "catena/base/error.hpp"

namespace catena {
namespace {

template <int M>
using Rows6 = Eigen::Matrix<double, M, 6, Eigen::RowMajor>;
template <int M>
using Vector = Eigen::Matrix<double, M, 1>;
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
template <int M>
int cholesky(Eigen::Matrix<double, M, M>& t, const double* added, double* pivot) {
  int raised = 0;
  for (int i = 0; i < M; ++i) {
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
    for (int r = i + 1; r < M; ++r) {
      double s = t(r, i);
      for (int k = 0; k < i; ++k) s -= t(r, k) * t(i, k);
      t(r, i) = s * inverse;
    }
  }
  return raised;
}

/// y = L^-1 y and y = L^-T y.
template <int M>
void lower_solve(const double* l, double* y) {
  for (int i = 0; i < M; ++i) {
    double s = y[i];
    for (int k = 0; k < i; ++k) s -= l[i + M * k] * y[k];
    y[i] = s * l[i + M * i];
  }
}
template <int M>
void upper_solve(const double* l, double* y) {
  for (int i = M - 1; i >= 0; --i) {
    double s = y[i];
    for (int k = i + 1; k < M; ++k) s -= l[k + M * i] * y[k];
    y[i] = s * l[i + M * i];
  }
}

void set_inverse_mass(const ProblemBodies& bodies, Index body, std::array<double, 36>& w) {
  const double* m = bodies.inverse_mass.data() + bodies.mass_begin[body];
  w.fill(0.0);
  w[0] = w[7] = w[14] = m[0];
  const std::array<int, 9> place = {1, 2, 3, 2, 4, 5, 3, 5, 6};  // xx xy xz; yx yy yz; ...
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) w[6 * (i + 3) + k + 3] = m[place[3 * i + k]];
  }
}

/// Multiply-adds of factor_joint, and rows of data that it keeps.
std::int64_t joint_flops(std::int64_t m, bool child) {
  return (child ? 2 : 1) * (36 * m + 3 * m * (m + 1)) + m * m * m / 6 + 3 * m * m + 36 * m;
}

}  // namespace

TreeFactor::TreeFactor(const MechanismRows& structure, std::span<const char> in_forest) {
  const GeneralBlocks& blocks = structure.blocks;
  pivot_.assign(blocks.n_rows(), 1.0);
  order(structure, in_forest);
  w_.resize(body_.size());
  u_.resize(body_.size());
  std::int64_t size = 0;
  for (Joint& joint : joints_) {
    joint.data = size;
    const bool child = joint.child >= 0;
    size += (child ? 18 : 12) * joint.rows + joint.rows * joint.rows;
    flops_ += joint_flops(joint.rows, child);
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
  std::vector<char> done(blocks.size(), 0);
  std::vector<Index> place(structure.bodies.size(), kNoIndex);
  for (Index k = 0; k < blocks.size(); ++k) {
    if (done[k] != 0 || !(in_forest.empty() || in_forest[k] != 0)) continue;
    const Index n_bodies = blocks.body_begin[k + 1] - blocks.body_begin[k];
    const Index rows = blocks.row_begin[k + 1] - blocks.row_begin[k];
    CATENA_CHECK(n_bodies >= 1 && n_bodies <= 2 && rows >= 1 && rows <= 6,
                 "a forest's blocks have 1 to 6 rows and one or two bodies");
    const Index root = blocks.body[blocks.body_begin[k]];
    if (place[root] == kNoIndex) visit(structure, root, done, place);
  }
  // found from the roots on: the reverse has every joint after those below it
  std::reverse(joints_.begin(), joints_.end());
  block_begin_ = {};
  block_of_body_ = {};
}

/// Depth first from `root`: appends the joints of its tree.
void TreeFactor::visit(const MechanismRows& structure, Index root, std::span<char> done,
                       std::vector<Index>& place) {
  const GeneralBlocks& blocks = structure.blocks;
  const auto enter = [&](Index body) {
    CATENA_CHECK(place[body] == kNoIndex, "the joints of a forest close no loop");
    CATENA_CHECK(structure.bodies.mass_kind[body] == MassKind::rigid,
                 "a forest's bodies are rigid");
    place[body] = to_index(body_.size());
    body_.push_back(body);
  };
  std::vector<Index> stack = {root};
  enter(root);
  while (!stack.empty()) {
    const Index body = stack.back();
    stack.pop_back();
    for (Index i = block_begin_[body]; i < block_begin_[body + 1]; ++i) {
      const Index k = block_of_body_[i];
      if (done[k] != 0) continue;
      done[k] = 1;
      const Index first = blocks.body_begin[k];
      const bool second = blocks.body[first] != body;
      Joint joint = joint_at(structure, k, second ? first + 1 : first);
      joint.parent = place[body];
      if (blocks.body_begin[k + 1] - first == 2) {
        joint.child_ref = second ? first : first + 1;
        const Index child = blocks.body[joint.child_ref];
        enter(child);
        joint.child = place[child];
        stack.push_back(child);
      }
      joints_.push_back(joint);
    }
  }
}

TreeFactor::Joint TreeFactor::joint_at(const MechanismRows& structure, Index block,
                                       Index parent_ref) const {
  const std::vector<Index>& row_begin = structure.blocks.row_begin;
  return {block,
          kNoIndex,
          kNoIndex,
          parent_ref,
          kNoIndex,
          row_begin[block],
          narrow<int>(row_begin[block + 1] - row_begin[block]),
          0};
}

template <int M>
void TreeFactor::factor_joint(const Joint& joint, const MechanismRows& joints,
                              std::span<const double> added) {
  const GeneralBlocks& blocks = joints.blocks;
  const auto jacobian = [&](Index ref) {
    return blocks.jacobian.data() + blocks.jacobian_begin[ref];
  };
  const std::size_t row = joint.row;
  double* at = data_.data() + joint.data;
  std::copy_n(jacobian(joint.parent_ref), 6 * M, at);
  const Eigen::Map<const Rows6<M>> g_p(at);
  Eigen::Map<Square6> w_p(w_[joint.parent].data());
  at += 6 * M;

  const Rows6<M> p = g_p * w_p;
  Eigen::Matrix<double, M, M> t = p.lazyProduct(g_p.transpose());
  if (joint.child >= 0) {
    std::copy_n(jacobian(joint.child_ref), 6 * M, at);
    const Eigen::Map<const Rows6<M>> g_c(at);
    const Eigen::Map<const Square6> w_c(w_[joint.child].data());
    const Rows6<M> c = g_c * w_c;
    t += c.lazyProduct(g_c.transpose());
    at += 6 * M;
  }
  for (int i = 0; i < M; ++i) {
    const auto r = row + i;
    t(i, i) += blocks.compliance[r] + added[r];
  }
  raised_ += cholesky<M>(t, added.data() + row, pivot_.data() + row);

  Eigen::Map<Rows6<M>> x(at);
  for (int i = 0; i < M; ++i) {
    Eigen::Matrix<double, 1, 6> s = p.row(i);
    for (int k = 0; k < i; ++k) s -= t(i, k) * x.row(k);
    x.row(i) = s * t(i, i);
  }
  w_p -= x.transpose().lazyProduct(x);
  Eigen::Map<Eigen::Matrix<double, M, M>> l(at + 6 * M);
  l = t;
}

bool TreeFactor::factor(const MechanismRows& joints, std::span<const double> added) {
  raised_ = 0;
  for (std::size_t i = 0; i < body_.size(); ++i) set_inverse_mass(joints.bodies, body_[i], w_[i]);
  for (const Joint& joint : joints_) {
    for_rows(joint.rows, [&]<int M>() { factor_joint<M>(joint, joints, added); });
  }
  return true;
}

void TreeFactor::pivots(std::span<double> out) {
  std::copy(pivot_.begin(), pivot_.end(), out.begin());
}

/// y_j = L_j^-1 (x_j - G_c u_c - G_p u_p), u_p <- u_p + X_j^T y_j.
template <int M>
void TreeFactor::forward_joint(const Joint& joint, std::span<double> x) {
  using Six = Eigen::Matrix<double, 6, 1>;
  const double* at = data_.data() + joint.data;
  Eigen::Map<Six> u_p(u_[joint.parent].data());
  Eigen::Map<Vector<M>> out(x.data() + joint.row);
  Vector<M> y = out;
  y.noalias() -= Eigen::Map<const Rows6<M>>(at).lazyProduct(u_p);
  at += 6 * M;
  if (joint.child >= 0) {
    const Eigen::Map<const Six> u_c(u_[joint.child].data());
    y.noalias() -= Eigen::Map<const Rows6<M>>(at).lazyProduct(u_c);
    at += 6 * M;
  }
  lower_solve<M>(at + 6 * M, y.data());
  u_p.noalias() += Eigen::Map<const Rows6<M>>(at).transpose().lazyProduct(y);
  out = y;
}

/// x_j = L_j^-T (y_j - X_j f_p), f_p <- f_p + G_p^T x_j, f_c = G_c^T x_j.
template <int M>
void TreeFactor::backward_joint(const Joint& joint, std::span<double> x) {
  using Six = Eigen::Matrix<double, 6, 1>;
  const double* g_p = data_.data() + joint.data;
  const double* g_c = g_p + 6 * M;
  const double* at = joint.child >= 0 ? g_c + 6 * M : g_c;
  Eigen::Map<Six> f_p(u_[joint.parent].data());
  Eigen::Map<Vector<M>> out(x.data() + joint.row);
  Vector<M> y = out;
  y.noalias() -= Eigen::Map<const Rows6<M>>(at).lazyProduct(f_p);
  upper_solve<M>(at + 6 * M, y.data());
  f_p.noalias() += Eigen::Map<const Rows6<M>>(g_p).transpose().lazyProduct(y);
  if (joint.child >= 0) {
    Eigen::Map<Six> f_c(u_[joint.child].data());
    f_c.noalias() = Eigen::Map<const Rows6<M>>(g_c).transpose().lazyProduct(y);
  }
  out = y;
}

void TreeFactor::forward(std::span<double> x) {
  for (auto& u : u_) u.fill(0.0);
  for (const Joint& joint : joints_) {
    for_rows(joint.rows, [&]<int M>() { forward_joint<M>(joint, x); });
  }
}

void TreeFactor::backward(std::span<double> x) {
  for (auto& u : u_) u.fill(0.0);
  for (auto joint = joints_.rbegin(); joint != joints_.rend(); ++joint) {
    for_rows(joint->rows, [&]<int M>() { backward_joint<M>(*joint, x); });
  }
}

std::unique_ptr<JointElimination> make_tree_elimination(const MechanismRows& structure) {
  return make_regularised(structure,
                          std::make_unique<TreeFactor>(structure, std::span<const char>{}));
}

}  // namespace catena
