#include "solvers/batches/explicit_blocks.hpp"

#include <algorithm>

#include "catena/base/release.hpp"
#include "catena/constraints/block_rows.hpp"
#include "catena/math/types.hpp"

namespace catena {
namespace {

/// Appends one body's G and Y = G M^-1 and adds G Y^T to D.
void append_reference(ExplicitBlocks& out, const ConstraintProblem& problem, Index body,
                      const double* jacobian, Index rows, const BodyPlace& place,
                      std::span<double> d) {
  const ProblemBodies& bodies = problem.bodies;
  const Index dofs = bodies.dofs(body);
  const std::size_t width = dofs, n = rows;
  const std::size_t g = out.g.size();
  out.references.push_back({place.velocity, dofs, g});
  out.g.insert(out.g.end(), jacobian, jacobian + (n * width));
  out.y.resize(g + n * width);
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<double> y = std::span(out.y).subspan(g + i * width, width);
    apply_inverse_mass(bodies, body, std::span(out.g).subspan(g + i * width, width), y);
    for (double& value : y) value *= place.multiplicity;
  }
  // not by block_diagonal: from the Y that sweeps keep, in the order that their results come from
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t m = 0; m < width; ++m)
        d[i * n + j] += out.g[g + i * width + m] * out.y[g + j * width + m];
}

/// Generalised inverse of a symmetric positive semidefinite block (n x n) into `inverse`,
/// zero on entry: Gauss-Jordan with diagonal pivots, largest first; rows whose pivot is
/// round-off (redundant, or of immovable bodies) are left out and get no impulse.
void invert(std::span<const double> d, std::size_t n, std::span<double> inverse) {
  constexpr double kRoundOff = 1e-12;
  std::vector<double> m(d.begin(), d.end());
  std::vector<char> done(n, 0);
  double largest = 0.0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, d[i * n + i]);
  for (std::size_t step = 0; step < n; ++step) {
    std::size_t p = n;
    for (std::size_t i = 0; i < n; ++i)
      if (done[i] == 0 && (p == n || m[i * n + i] > m[p * n + p])) p = i;
    if (!(m[p * n + p] > kRoundOff * largest)) break;
    done[p] = 1;
    const double pivot = 1.0 / m[p * n + p];
    m[p * n + p] = 1.0;
    for (std::size_t j = 0; j < n; ++j) m[p * n + j] *= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == p) continue;
      const double factor = m[i * n + p];
      m[i * n + p] = 0.0;
      for (std::size_t j = 0; j < n; ++j) m[i * n + j] -= factor * m[p * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (done[i] != 0 && done[j] != 0) inverse[i * n + j] = m[i * n + j];
}

void append_rows(ExplicitBlocks& out, const ConstraintProblem& problem, Index k) {
  const auto n_contacts = to_index(problem.contacts.size());
  if (k < n_contacts) {
    const Vec3 bias = bias_of(problem.contacts[k]), sigma = compliance_of(problem.contacts[k]);
    for (int i = 0; i < 3; ++i) {
      out.q.push_back(-bias[i]);
      out.sigma.push_back(sigma[i]);
    }
    out.lower.insert(out.lower.end(), 3, -kInfinity);
    out.upper.insert(out.upper.end(), 3, kInfinity);
    return;
  }
  const GeneralBlocks& general = problem.blocks;
  const BlockKind kind = general.kind[k - n_contacts];
  for (Index i = general.row_begin[k - n_contacts]; i < general.row_begin[(k - n_contacts) + 1];
       ++i) {
    out.q.push_back(general.q[i]);
    out.sigma.push_back(general.compliance[i]);
    out.lower.push_back(kind == BlockKind::boxed        ? general.lower[i]
                        : kind == BlockKind::unilateral ? 0.0
                                                        : -kInfinity);
    out.upper.push_back(kind == BlockKind::boxed ? general.upper[i] : kInfinity);
  }
}

/// The block's impulses, made admissible: those of a contact that nothing moves stay 0.
void set_guess(ExplicitBlocks& out, const ExplicitBlocks::Block& block, ContactLaw law,
               std::span<const double> guess) {
  const std::span<double> lambda = std::span(out.lambda).subspan(block.row, block.rows);
  for (std::size_t i = 0; i < guess.size(); ++i)
    lambda[i] = std::clamp(guess[i], out.lower[block.row + i], out.upper[block.row + i]);
  if (block.kind != BlockKind::contact) return;
  lambda[0] += block.cohesion;
  if (!block.wide) {
    const Vec3 z = admissible_contact(law, {lambda[0], lambda[1], lambda[2]}, block.friction);
    std::copy_n(z.data(), 3, lambda.begin());
  } else {
    make_admissible(law, out.wide[block.contact], lambda);
  }
  lambda[0] -= block.cohesion;
}

/// A contact's new impulses in place, with w at the old ones.
void turn_contact(const ExplicitBlocks& blocks, const ExplicitBlocks::Block& block,
                  const LocalSolveOptions& rules, std::span<const double> w,
                  std::span<double> lambda) {
  lambda[0] += block.cohesion;
  if (!block.wide) {
    const ContactBlock& contact = blocks.contact[block.contact];
    const Vec3 z = solve_contact(rules, contact, {w[0], w[1], w[2]},
                                 {lambda[0], lambda[1], lambda[2]}, block.friction);
    std::copy_n(z.data(), 3, lambda.begin());
    if (contact.largest == 0.0) lambda[0] = block.cohesion;
  } else {
    const RollingContact& wide = blocks.wide[block.contact];
    solve_wide_contact(rules, wide, w, lambda);
    if (wide.problem.largest == 0.0) lambda[0] = block.cohesion;
  }
  lambda[0] -= block.cohesion;
}

}  // namespace

void ExplicitBlocks::clear() {
  clear_large(blocks);
  clear_large(references);
  clear_large(contact);
  clear_large(wide);
  for (std::vector<double>* list : {&g, &y, &d, &d_inverse, &lambda, &q, &sigma, &lower, &upper})
    clear_large(*list);
  most_rows = 0;
}

void append_block(ExplicitBlocks& out, const ConstraintProblem& problem, Index k, ContactLaw law,
                  std::span<const double> impulses, const std::function<BodyPlace(Index)>& place) {
  const BlockView view = block_view(problem, k);
  const std::size_t rows = view.rows;
  ExplicitBlocks::Block block{view.kind,
                              view.rows,
                              to_index(out.lambda.size()),
                              view.row,
                              to_index(out.references.size()),
                              0,
                              out.d.size(),
                              kNoIndex,
                              view.friction,
                              view.cohesion};
  append_rows(out, problem, k);
  out.lambda.resize(out.lambda.size() + rows);
  out.d.resize(block.d + rows * rows, 0.0);
  const std::span<double> d = std::span(out.d).subspan(block.d, rows * rows);
  for_each_body(problem, k, [&](Index body, const double* jacobian) {
    append_reference(out, problem, body, jacobian, view.rows, place(body), d);
  });
  block.reference_end = to_index(out.references.size());
  for (std::size_t i = 0; i < rows; ++i) d[i * rows + i] += out.sigma[block.row + i];

  out.d_inverse.resize(out.d.size(), 0.0);
  if (view.kind == BlockKind::contact) {
    block.wide = view.rows > 3 || !has_kernels(problem);
    block.contact = to_index(block.wide ? out.wide.size() : out.contact.size());
    if (block.wide)
      out.wide.push_back(make_wide_contact(contact_cone(problem, k), view.rows, d));
    else
      out.contact.push_back(make_contact_block(Eigen::Map<const Mat3>(d.data())));  // symmetric
  } else if (view.kind == BlockKind::bilateral) {
    invert(d, rows, std::span(out.d_inverse).subspan(block.d, rows * rows));
  }
  set_guess(out, block, law, impulses.subspan(view.row, rows));
  out.most_rows = std::max(out.most_rows, view.rows);
  out.blocks.push_back(block);
}

double update_block(ExplicitBlocks& blocks, Index k, const LocalSolveOptions& rules,
                    std::span<double> w, std::span<double> change) {
  const ExplicitBlocks::Block& block = blocks.blocks[k];
  const std::size_t rows = block.rows;
  const std::span<double> lambda = std::span(blocks.lambda).subspan(block.row, rows);
  const double* d = blocks.d.data() + block.d;
  if (block.kind == BlockKind::contact) {
    for (std::size_t i = 0; i < rows; ++i) change[i] = lambda[i];
    turn_contact(blocks, block, rules, w, lambda);
    for (std::size_t i = 0; i < rows; ++i) change[i] = lambda[i] - change[i];
  } else if (block.kind == BlockKind::bilateral) {
    const double* inverse = blocks.d_inverse.data() + block.d;
    for (std::size_t i = 0; i < rows; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < rows; ++j) sum += inverse[i * rows + j] * w[j];
      change[i] = -rules.omega * sum;
      lambda[i] += change[i];
    }
  } else {
    for (std::size_t i = 0; i < rows; ++i) change[i] = lambda[i];
    solve_rows({d, rows * rows}, rules.omega, std::span(blocks.lower).subspan(block.row, rows),
               std::span(blocks.upper).subspan(block.row, rows), w, lambda);
    for (std::size_t i = 0; i < rows; ++i) change[i] = lambda[i] - change[i];
  }
  double residual = 0.0;
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < rows; ++j) sum += d[i * rows + j] * change[j];
    residual += sum * sum;
  }
  return residual;
}

double sweep_explicit_blocks(ExplicitBlocks& blocks, Index first, Index last,
                             std::span<double> velocities, const LocalSolveOptions& rules,
                             bool forward, std::span<double> scratch) {
  double residual = 0.0;
  for (Index step = first; step < last; ++step) {
    const Index k = forward ? step : last - 1 - (step - first);
    const ExplicitBlocks::Block& block = blocks.blocks[k];
    const std::size_t rows = block.rows;
    const std::span<double> w = scratch.subspan(0, rows);
    const std::span<double> change = scratch.subspan(rows, rows);
    for (std::size_t i = 0; i < rows; ++i)
      w[i] = blocks.sigma[block.row + i] * blocks.lambda[block.row + i] - blocks.q[block.row + i];
    for (Index j = block.reference_begin; j < block.reference_end; ++j) {
      const ExplicitBlocks::Reference& ref = blocks.references[j];
      const double* g = blocks.g.data() + ref.g;
      const double* v = velocities.data() + ref.velocity;
      for (std::size_t i = 0; i < rows; ++i)
        for (Index m = 0; m < ref.dofs; ++m) w[i] += g[i * Offset{ref.dofs} + m] * v[m];
    }
    residual += update_block(blocks, k, rules, w, change);
    for (Index j = block.reference_begin; j < block.reference_end; ++j) {
      const ExplicitBlocks::Reference& ref = blocks.references[j];
      const double* y = blocks.y.data() + ref.g;
      double* v = velocities.data() + ref.velocity;
      for (std::size_t i = 0; i < rows; ++i)
        for (Index m = 0; m < ref.dofs; ++m) v[m] += y[i * Offset{ref.dofs} + m] * change[i];
    }
  }
  return residual;
}

}  // namespace catena
