#include "solvers/newton/law_function.hpp"

#include <algorithm>
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/math/types.hpp"

namespace catena {
namespace {

constexpr int kMaxRows = 6;  ///< of a contact

double length_of(const double* x, int rows) {
  double sum = 0.0;
  for (int i = 0; i < rows; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

}  // namespace

LawFunction::LawFunction(const ConstraintProblem& problem) : problem_(problem) {
  if (law_form(problem.law).box)
    throw Error("Newton's method does not know law 'box'", "contact.law",
                "use law coulomb, or solver.method: gauss_seidel or dantzig");
  const std::size_t n = problem.n_rows();
  scale_.assign(n, 1.0);
  lower_.assign(n, -kInfinity);
  upper_.assign(n, kInfinity);
  const GeneralBlocks& general = problem.blocks;
  const std::size_t first = problem.first_general_row();
  std::vector<double> diagonal;
  blocks_.resize(problem.n_blocks());
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    Block& block = blocks_[k];
    block.view = block_view(problem, k);
    diagonal.resize(block.view.rows);
    row_diagonals(problem, k, diagonal);
    if (block.view.kind == BlockKind::contact) {
      add_contact(block, k, diagonal);
      continue;
    }
    for (Index i = 0; i < block.view.rows; ++i) {
      const std::size_t row = block.view.row + i, own = row - first;
      const bool moves = diagonal[i] > 0.0;
      if (moves) scale_[row] = diagonal[i];
      if (block.view.kind == BlockKind::unilateral) lower_[row] = 0.0;
      if (block.view.kind == BlockKind::boxed) {
        lower_[row] = general.lower[own];
        upper_[row] = general.upper[own];
      }
      if (!moves) lower_[row] = upper_[row] = std::clamp(0.0, lower_[row], upper_[row]);
    }
  }
}

void LawFunction::add_contact(Block& block, Index k, std::span<const double> diagonal) {
  double* const scale = scale_.data() + block.view.row;
  block.moves = diagonal[0] > 0.0;
  if (!block.moves) return;
  scale[0] = diagonal[0];
  const ContactCone cone = contact_cone(problem_, k);
  block.axis.fill(1.0);
  for (std::size_t i = 0; i < 3; ++i) {
    if (!cone.has(i)) continue;
    Disc& disc = block.disc[block.n_discs++];
    disc = {cone.row[kDiscBegin[i]], kDiscRows[i], cone.discs.bound[i], i};
    double sum = 0.0;
    for (int j = disc.first; j < disc.first + disc.rows; ++j) sum += diagonal[j];
    for (int j = disc.first; j < disc.first + disc.rows; ++j) {
      const double axis = cone.axis[kDiscBegin[i] + j - disc.first];
      block.axis[j] = axis;
      // rows that nothing moves stay as they are; any scale will do
      scale[j] = (sum > 0.0 ? sum / disc.rows : diagonal[0]) * (axis * axis);
    }
  }
}

double LawFunction::evaluate(std::span<const double> lambda, std::span<const double> w,
                             std::span<double> f) const {
  return walk(lambda, w, f, nullptr, nullptr);
}

double LawFunction::differentiate(std::span<const double> lambda, std::span<const double> w,
                                  std::span<double> f, BlockMatrices& a, BlockMatrices& b) const {
  std::fill(a.value.begin(), a.value.end(), 0.0);
  std::fill(b.value.begin(), b.value.end(), 0.0);
  return walk(lambda, w, f, &a, &b);
}

double LawFunction::walk(std::span<const double> lambda, std::span<const double> w,
                         std::span<double> f, BlockMatrices* a, BlockMatrices* b) const {
  const LawForm form = law_form(problem_.law);
  double sum = 0.0;
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    const Block& block = blocks_[k];
    const std::size_t row = block.view.row;
    const Place place{&lambda[row], &w[row], &f[row],
                      a == nullptr ? nullptr : &a->value[a->begin[k]],
                      b == nullptr ? nullptr : &b->value[b->begin[k]]};
    if (block.view.kind != BlockKind::contact || !block.moves || form.frictionless)
      rows(block, place);
    else if (form.shifted)
      coulomb(block, place);
    else
      convex(block, place);
    const std::size_t m = block.view.rows;
    for (std::size_t i = 0; i < m; ++i) {
      const double root = std::sqrt(scale_[row + i]);
      f[row + i] *= root;
      sum += f[row + i] * f[row + i];
      if (a == nullptr) continue;
      for (std::size_t j = 0; j < m; ++j) {
        place.a[i * m + j] *= root;
        place.b[i * m + j] *= root;
      }
    }
  }
  return sum;
}

/// Rows of their own: lambda_i - clamp(x_i); those of contacts: the normal at least -c, friction 0.
void LawFunction::rows(const Block& block, const Place& at_block) const {
  const std::size_t m = block.view.rows;
  const bool contact = block.view.kind == BlockKind::contact;
  for (std::size_t i = 0; i < m; ++i) {
    const std::size_t row = block.view.row + i;
    double lower = lower_[row], upper = upper_[row];
    if (contact) {
      const bool held = i > 0 || !block.moves;
      lower = held ? 0.0 : -block.view.cohesion;
      upper = held ? 0.0 : kInfinity;
    }
    const double by = 1.0 / scale_[row];
    const double x = at_block.lambda[i] - by * at_block.w[i];
    const bool free = x > lower && x < upper;
    at_block.f[i] = free ? by * at_block.w[i] : at_block.lambda[i] - std::clamp(x, lower, upper);
    if (at_block.a != nullptr) (free ? at_block.b : at_block.a)[i * m + i] = free ? by : 1.0;
  }
}

void LawFunction::coulomb(const Block& block, const Place& p) const {
  const std::size_t m = block.view.rows;
  const double* const scale = scale_.data() + block.view.row;
  const double by_n = 1.0 / scale[0];
  const double normal = p.lambda[0] + block.view.cohesion;
  const double x_n = normal - by_n * p.w[0];
  if (x_n <= 0.0) {
    for (std::size_t i = 0; i < m; ++i) {
      p.f[i] = i == 0 ? normal : p.lambda[i];
      if (p.a != nullptr) p.a[i * m + i] = 1.0;
    }
    return;
  }
  p.f[0] = by_n * p.w[0];
  if (p.b != nullptr) p.b[0] = by_n;
  for (int d = 0; d < block.n_discs; ++d) {
    const Disc& disc = block.disc[d];
    const double* const axis = &block.axis[disc.first];
    std::array<double, 2> x{}, by{};
    for (int i = 0; i < disc.rows; ++i) {
      by[i] = 1.0 / scale[disc.first + i];
      x[i] = axis[i] * (p.lambda[disc.first + i] - by[i] * p.w[disc.first + i]);
    }
    const double length = length_of(x.data(), disc.rows);
    const double radius = disc.bound * x_n;
    const bool sticks = length <= radius && radius > 0.0;
    const double part = sticks ? 1.0 : length > 0.0 ? radius / length : 0.0;
    for (int i = 0; i < disc.rows; ++i) {
      const std::size_t row = disc.first + i;
      const double e_i = sticks || length == 0.0 ? 0.0 : x[i] / length;
      p.f[row] = sticks ? by[i] * p.w[row] : p.lambda[row] - radius * e_i / axis[i];
      if (p.a == nullptr) continue;
      // dP/dx = part (1 - e e^T), dP/dx_n = mu e, in rows times their axes
      p.a[row * m] = -disc.bound * e_i / axis[i];
      p.b[row * m] = disc.bound * e_i / axis[i] * by_n;
      for (int j = 0; j < disc.rows; ++j) {
        const double e_j = sticks || length == 0.0 ? 0.0 : x[j] / length;
        const double unit = i == j ? 1.0 : 0.0;
        const double turn = part * (unit - e_i * e_j) * axis[j] / axis[i];
        const std::size_t column = disc.first + j;
        p.a[row * m + column] = unit - turn;
        p.b[row * m + column] = turn * by[j];
      }
    }
  }
}

/// x in rows in full (DiscCone), its cone and the metric.
LawFunction::Full LawFunction::in_full(const Block& block, const Place& p) const {
  const double* const scale = scale_.data() + block.view.row;
  Full full;
  full.weights = {scale[0], 1.0, 1.0, 1.0};
  full.x[0] = p.lambda[0] + block.view.cohesion - p.w[0] / scale[0];
  for (int d = 0; d < block.n_discs; ++d) {
    const Disc& disc = block.disc[d];
    full.cone.bound[disc.kind] = disc.bound;
    full.weights[disc.kind + 1] = scale[disc.first];
    for (int j = disc.first; j < disc.first + disc.rows; ++j)
      full.x[kDiscBegin[disc.kind] + j - disc.first] =
          block.axis[j] * (p.lambda[j] - p.w[j] / scale[j]);
  }
  return full;
}

void LawFunction::convex(const Block& block, const Place& p) const {
  const Full full = in_full(block, p);
  const Vec6 z = project_disc_cone(full.cone, full.x, full.weights);
  p.f[0] = p.lambda[0] + block.view.cohesion - z[0];
  for (Index d = 0; d < block.n_discs; ++d)
    for (int j = 0; j < block.disc[d].rows; ++j) {
      const int row = block.disc[d].first + j;
      p.f[row] = p.lambda[row] - z[kDiscBegin[block.disc[d].kind] + j] / block.axis[row];
    }
  if (p.a != nullptr) differentiate_convex(block, full, z[0], p);
}

/// With S the discs that slide, z = P_K(x) has
///   (d_n + sum_S mu^2 d) dz_n = d_n dx_n + sum_S mu d e . dx_t,
///   dz_t = mu e dz_n + (mu z_n/|x_t|) (1 - e e^T) dx_t on S, dx_t elsewhere;
/// A = 1 - dz/dx, B = dz/dx D^-1, x and z in rows times their axes.
void LawFunction::differentiate_convex(const Block& block, const Full& full, double z_n,
                                       const Place& p) const {
  const std::size_t m = block.view.rows;
  const double* const scale = scale_.data() + block.view.row;
  const auto put = [&](std::size_t i, std::size_t j, double derivative) {
    derivative = derivative * block.axis[j] / block.axis[i];
    p.a[i * m + j] = (i == j ? 1.0 : 0.0) - derivative;
    p.b[i * m + j] = derivative / scale[j];
  };
  if (!(z_n > 0.0)) {
    for (std::size_t i = 0; i < m; ++i) put(i, i, 0.0);
    return;
  }
  std::array<double, kMaxRows> slope{}, unit{};  // dz_n/dx; e, 0 where nothing slides
  double sum = scale[0];
  slope[0] = scale[0];
  for (Index d = 0; d < block.n_discs; ++d) {
    const Disc& disc = block.disc[d];
    const double length = disc_length(full.x, disc.kind);
    if (length <= disc.bound * z_n) continue;
    sum += disc.bound * disc.bound * scale[disc.first];
    for (int j = 0; j < disc.rows; ++j) {
      const std::size_t row = disc.first + j;
      unit[row] = full.x[kDiscBegin[disc.kind] + j] / length;
      slope[row] = disc.bound * scale[disc.first] * unit[row];
    }
  }
  for (std::size_t j = 0; j < m; ++j) put(0, j, slope[j] / sum);
  for (Index d = 0; d < block.n_discs; ++d) {
    const Disc& disc = block.disc[d];
    const double length = disc_length(full.x, disc.kind), radius = disc.bound * z_n;
    const double part = length > radius ? radius / length : radius > 0.0 ? 1.0 : 0.0;
    const std::size_t first = disc.first;
    const std::size_t end = first + disc.rows;
    for (std::size_t i = first; i < end; ++i)
      for (std::size_t j = 0; j < m; ++j) {
        const bool own = j >= first && j < end;
        const double turn = own ? part * ((i == j ? 1.0 : 0.0) - unit[i] * unit[j]) : 0.0;
        put(i, j, disc.bound * unit[i] * slope[j] / sum + turn);
      }
  }
}

void LawFunction::shift(std::span<const double> w, std::span<double> s) const {
  std::fill(s.begin(), s.end(), 0.0);
  for (const Block& block : blocks_) {
    if (block.view.kind != BlockKind::contact) continue;
    const std::size_t row = block.view.row;
    for (int d = 0; d < block.n_discs; ++d) {
      const Disc& disc = block.disc[d];
      std::array<double, 2> slip{};
      for (int i = disc.first; i < disc.first + disc.rows; ++i)
        slip[i - disc.first] = w[row + i] / block.axis[i];
      s[row] += disc.bound * length_of(slip.data(), disc.rows);
    }
  }
}

void LawFunction::make_admissible(std::span<double> lambda) const {
  for (const Block& block : blocks_) {
    double* const own = &lambda[block.view.row];
    if (block.view.kind == BlockKind::contact) {
      admissible_contact(block, own);
      continue;
    }
    for (Index i = 0; i < block.view.rows; ++i)
      own[i] = std::clamp(own[i], lower_[block.view.row + i], upper_[block.view.row + i]);
  }
}

void LawFunction::admissible_contact(const Block& block, double* lambda) const {
  const double cohesion = block.view.cohesion;
  const std::size_t m = block.view.rows;
  if (!block.moves || law_form(problem_.law).frictionless) {
    const double normal = block.moves ? std::max(lambda[0], -cohesion) : 0.0;
    std::fill(lambda, lambda + m, 0.0);
    lambda[0] = normal;
    return;
  }
  const double normal = std::max(lambda[0] + cohesion, 0.0);
  lambda[0] = normal - cohesion;
  for (int d = 0; d < block.n_discs; ++d) {
    const Disc& disc = block.disc[d];
    std::array<double, 2> along{};
    for (int i = disc.first; i < disc.first + disc.rows; ++i)
      along[i - disc.first] = block.axis[i] * lambda[i];
    const double length = length_of(along.data(), disc.rows);
    const double radius = disc.bound * normal;
    if (length <= radius) continue;
    for (int i = disc.first; i < disc.first + disc.rows; ++i) lambda[i] *= radius / length;
  }
}

}  // namespace catena
