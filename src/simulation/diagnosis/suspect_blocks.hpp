// The blocks of a step's problem that a contradiction is looked for among, as one rank holds them.
#pragma once

#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// A body of a block, as it travels.
struct SuspectBody {
  GlobalId id = kNoBody;
  std::int32_t prescribed = 0;
  std::array<double, 7> inverse_mass{};   ///< MassKind::rigid; zeros where prescribed
  std::array<double, 6> free_velocity{};  ///< V_free
};

/// A block with its bodies and explicit rows, as it travels. Contacts have their rows in full
/// (Vec6), those they lack with `row_used` 0.
struct SuspectBlock {
  BlockKind kind = BlockKind::contact;
  std::array<std::uint8_t, 8> row_used{};
  std::int32_t n_bodies = 0;
  GlobalId a = kNoBody, b = kNoBody;  ///< of a contact; a: of a joint
  double error = 0.0;                 ///< J, its part of the step's energy error
  std::array<double, 3> bound{};      ///< mu, mu_r, mu_s
  std::array<double, 8> bias{}, compliance{}, lower{}, upper{};  ///< w = G V + Sigma lambda + bias
  std::array<SuspectBody, 3> body{};
  std::array<std::array<double, 48>, 3> jacobian{};  ///< per body, six numbers a row
};
static_assert(std::is_trivially_copyable_v<SuspectBlock>);

/// Collective. Over all ranks at most `most` blocks: the ten of largest energy error and the ten of
/// largest impulse energy 1/2 lambda^T N_kk lambda, then round by round what shares a body of
/// finite mass with them. Blocks whose rows all are compliant or bounded are left out. The same
/// list on every rank.
std::vector<SuspectBlock> gather_suspects(const ConstraintProblem& problem,
                                          const std::vector<double>& energies,
                                          std::span<const double> impulses, std::size_t most);

}  // namespace catena
