#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/io/fclib.hpp"
#include "io/fclib/file.hpp"
#include "io/fclib/output.hpp"
#include "io/fclib/step.hpp"
#include "io/hdf5/file.hpp"

namespace catena {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A body with velocities in the file.
struct BodyRecordOut {
  GlobalId id = kNoBody;
  std::vector<double> mass;              ///< n x n
  std::vector<double> free, v, guessed;  ///< V_free; V at the solution and at the first guess
};

/// Order of blocks in the file.
enum class Section : std::int64_t { rigid, contact, unilateral, bilateral, boxed };

/// A block with all that the file holds of it; bodies by id, prescribed ones folded in.
struct BlockRecord {
  Section section = Section::contact;
  ContactKey key;         ///< of contacts, where they have one
  std::int64_t name = 0;  ///< general blocks
  double friction = 0.0;
  double rolling = -1.0, spinning = -1.0, cohesion = 0.0, shift = 0.0;             ///< contacts
  std::vector<double> constant, compliance, lower, upper, angular, impulse, slip;  ///< per row
  std::vector<double> guess, guess_slip, stretch;
  std::vector<std::pair<GlobalId, std::vector<double>>> jacobians;  ///< rows x n

  std::size_t rows() const { return constant.size(); }
  auto order() const { return std::tie(section, key, name); }
};

void pack(const BlockRecord& block, Packer& out) {
  out.put(block.section);
  out.put(block.key);
  out.put(block.name);
  for (const double x :
       {block.friction, block.rolling, block.spinning, block.cohesion, block.shift})
    out.put(x);
  for (const auto* values :
       {&block.constant, &block.compliance, &block.lower, &block.upper, &block.angular,
        &block.impulse, &block.slip, &block.guess, &block.guess_slip, &block.stretch})
    out.put_list(*values);
  out.put(std::ssize(block.jacobians));
  for (const auto& [id, g] : block.jacobians) {
    out.put(id);
    out.put_list(g);
  }
}

BlockRecord unpack_block(Unpacker& in) {
  BlockRecord block;
  block.section = in.get<Section>();
  block.key = in.get<ContactKey>();
  block.name = in.get<std::int64_t>();
  for (double* x :
       {&block.friction, &block.rolling, &block.spinning, &block.cohesion, &block.shift})
    *x = in.get<double>();
  for (auto* values :
       {&block.constant, &block.compliance, &block.lower, &block.upper, &block.angular,
        &block.impulse, &block.slip, &block.guess, &block.guess_slip, &block.stretch})
    *values = in.get_list<double>();
  const auto n = in.get<std::int64_t>();
  for (std::int64_t k = 0; k < n; ++k) {
    const auto id = in.get<GlobalId>();
    block.jacobians.emplace_back(id, in.get_list<double>());
  }
  return block;
}

/// M_b from the M_b^-1 that the problem holds.
std::vector<double> mass_of(const ProblemBodies& bodies, std::size_t b) {
  const Eigen::Index n = bodies.dof_begin[b + 1] - bodies.dof_begin[b];
  const double* stored = &bodies.inverse_mass[bodies.mass_begin[b]];
  Matrix mass = Matrix::Zero(n, n);
  if (bodies.mass_kind[b] == MassKind::rigid) {
    mass.diagonal().head<3>().setConstant(1.0 / stored[0]);
    Mat3 inverse;
    inverse << stored[1], stored[2], stored[3], stored[2], stored[4], stored[5], stored[3],
        stored[5], stored[6];
    mass.block<3, 3>(3, 3) = inverse.inverse();
  } else {
    mass = Eigen::Map<const Matrix>(stored, n, n).inverse();
  }
  return {mass.data(), mass.data() + mass.size()};
}

/// Adds the Jacobian of one body: an entry of the file, or for a prescribed body a constant.
void add_jacobian(const ProblemBodies& bodies, Index body, std::span<const double> g,
                  BlockRecord& block) {
  if (bodies.mass_kind[body] != MassKind::prescribed) {
    block.jacobians.emplace_back(bodies.id[body], std::vector<double>(g.begin(), g.end()));
    return;
  }
  const std::size_t n = g.size() / block.rows();
  const std::size_t first = bodies.dof_begin[body];
  for (std::size_t i = 0; i < block.rows(); ++i)
    for (std::size_t d = 0; d < n; ++d)
      block.constant[i] += g[i * n + d] * bodies.free_velocity[first + d];
}

/// Impulses of all rows, with the velocities and slips that they lead to.
struct Outcome {
  std::vector<double> v, slip;
  std::span<const double> impulses;  ///< empty: none on this rank
  bool known = false;                ///< any rank has impulses

  /// Collective.
  Outcome(const ConstraintProblem& problem, std::span<const double> given)
      : v(problem.bodies.free_velocity),
        slip(problem.n_rows(), 0.0),
        impulses(given),
        known(problem.comm.max(std::ssize(given)) > 0) {
    // every rank takes part if any has impulses: a rank without rows has an empty span too
    if (!known) return;
    DelassusOperator op(problem);
    op.velocities(impulses, v);
    op.residual_velocities(v, impulses, slip);
  }

  /// The parts that belong to the rows from `row` on; zeros if nothing is known.
  void take(std::size_t row, std::size_t n, std::vector<double>& impulse,
            std::vector<double>& slips) const {
    impulse.assign(n, 0.0);
    slips.assign(n, 0.0);
    if (impulses.empty()) return;
    const auto at = row;
    std::copy_n(impulses.begin() + at, n, impulse.begin());
    std::copy_n(slip.begin() + at, n, slips.begin());
  }
};

BlockRecord rigid_record(const ConstraintProblem& problem, std::size_t k) {
  const RigidContact& contact = problem.contacts[k];
  BlockRecord block;
  block.section = Section::rigid;
  block.key = contact.key;
  block.friction = contact.friction;
  const Vec3 bias = bias_of(contact), sigma = compliance_of(contact);
  block.constant.assign(bias.begin(), bias.end());
  block.compliance.assign(sigma.begin(), sigma.end());
  for (auto* values : {&block.lower, &block.upper, &block.angular}) values->assign(3, 0.0);
  std::array<double, 18> g_a{};
  std::array<double, 18> g_b{};
  contact_jacobian(contact, g_a, g_b);
  add_jacobian(problem.bodies, contact.body_a, g_a, block);
  add_jacobian(problem.bodies, contact.body_b, g_b, block);
  return block;
}

BlockRecord general_record(const ConstraintProblem& problem, std::size_t k) {
  const GeneralBlocks& blocks = problem.blocks;
  BlockRecord block;
  switch (blocks.kind[k]) {
    case BlockKind::contact:
      block.section = Section::contact;
      if (k < blocks.key.size()) block.key = blocks.key[k];
      break;
    case BlockKind::unilateral:
      block.section = Section::unilateral;
      break;
    case BlockKind::bilateral:
      block.section = Section::bilateral;
      break;
    case BlockKind::boxed:
      block.section = Section::boxed;
      break;
  }
  block.name = blocks.name[k];
  block.friction = blocks.friction[k];
  for (std::size_t row = blocks.row_begin[k];
       row < static_cast<std::size_t>(blocks.row_begin[k + 1]); ++row) {
    block.constant.push_back(-blocks.q[row]);
    block.compliance.push_back(blocks.compliance[row]);
    block.lower.push_back(blocks.lower[row]);
    block.upper.push_back(blocks.upper[row]);
    block.angular.push_back(blocks.angular[row]);
  }
  for (std::size_t j = blocks.body_begin[k]; j < static_cast<std::size_t>(blocks.body_begin[k + 1]);
       ++j)
    add_jacobian(problem.bodies, blocks.body[j],
                 std::span(blocks.jacobian)
                     .subspan(blocks.jacobian_begin[j],
                              blocks.jacobian_begin[j + 1] - blocks.jacobian_begin[j]),
                 block);
  return block;
}

/// The whole problem, on rank 0, in the file's order.
struct WholeProblem {
  std::vector<BodyRecordOut> bodies;
  std::vector<BlockRecord> blocks;
};

/// Collective. Sends every rank's part to rank 0.
WholeProblem gather_problem(const ConstraintProblem& problem, const Outcome& solution,
                            const Outcome& guess, std::span<const double> stretches) {
  const ProblemBodies& bodies = problem.bodies;
  Packer body_bytes;
  for (std::int64_t b = 0; b < bodies.n_owned; ++b) {
    if (bodies.mass_kind[b] == MassKind::prescribed) continue;
    const std::size_t first = bodies.dof_begin[b];
    const auto n = bodies.dof_begin[b + 1] - first;
    body_bytes.put(bodies.id[b]);
    body_bytes.put_list(mass_of(bodies, b));
    body_bytes.put_list(std::span(bodies.free_velocity).subspan(first, n));
    body_bytes.put_list(std::span<const double>(solution.v).subspan(first, n));
    body_bytes.put_list(std::span<const double>(guess.v).subspan(first, n));
  }
  Packer block_bytes;
  for (std::int64_t k = 0; k < problem.n_blocks(); ++k) {
    const std::int64_t n_rigid = std::ssize(problem.contacts);
    BlockRecord block =
        k < n_rigid ? rigid_record(problem, k) : general_record(problem, k - n_rigid);
    const BlockView view = block_view(problem, to_index(k));
    block.rolling = view.rolling;
    block.spinning = view.spinning;
    block.cohesion = view.cohesion;
    if (problem.law == ContactLaw::frictionless)
      for (double* x : {&block.friction, &block.rolling, &block.spinning}) *x = std::min(*x, 0.0);
    const std::size_t row = view.row;
    solution.take(row, block.rows(), block.impulse, block.slip);
    guess.take(row, block.rows(), block.guess, block.guess_slip);
    block.stretch.assign(block.rows(), 0.0);
    if (!stretches.empty())
      std::copy_n(stretches.begin() + view.row, block.rows(), block.stretch.begin());
    if (problem.lagged && view.kind == BlockKind::contact) {
      block.shift = problem.shift[k];
      block.constant[0] =
          k < n_rigid ? problem.unshifted[k] : -problem.unshifted[k];  // stored as q
      block.slip[0] -= block.shift;
      block.guess_slip[0] -= block.shift;
    }
    pack(block, block_bytes);
  }
  WholeProblem whole;
  const auto all_bodies = problem.comm.gather_bytes(0, body_bytes.bytes());
  for (Unpacker in(all_bodies); !in.empty();) {
    const auto id = in.get<GlobalId>();
    std::vector<double> mass = in.get_list<double>();
    std::vector<double> free = in.get_list<double>();
    std::vector<double> v = in.get_list<double>();
    whole.bodies.push_back(
        {id, std::move(mass), std::move(free), std::move(v), in.get_list<double>()});
  }
  const auto all_blocks = problem.comm.gather_bytes(0, block_bytes.bytes());
  for (Unpacker in(all_blocks); !in.empty();) whole.blocks.push_back(unpack_block(in));
  std::ranges::stable_sort(whole.bodies, [](const auto& a, const auto& b) { return a.id < b.id; });
  std::stable_sort(whole.blocks.begin(), whole.blocks.end(),
                   [](const auto& a, const auto& b) { return a.order() < b.order(); });
  return whole;
}

/// Entries of H, G, /catena/boxed/H or /catena/couples/H and what goes with its columns.
struct Columns {
  Triplets entries;
  std::vector<double> constant, impulse, slip, guess, guess_slip;
  std::vector<std::int32_t> angular;      ///< per column
  std::vector<std::int32_t> begin = {0};  ///< of blocks
};

/// The content of the file.
struct FileContent {
  Triplets mass;
  std::vector<double> f, v, guessed_v, mu, lower, upper;
  std::vector<std::int32_t> body_begin = {0};
  std::vector<std::int32_t> unilateral, unilateral_angular;
  std::vector<std::int64_t> body_id;
  std::vector<double> rolling, spinning, cohesion, shift;  ///< per contact
  std::vector<double> stretch, turn;  ///< 2 per contact; per rolling or spinning row
  Columns contacts, bilateral, boxed;
  Columns couples;  ///< the contacts' rolling and spinning rows; a block per contact

  /// Whether FCLIB itself cannot say all of the contacts.
  bool has_couples() const {
    return !couples.constant.empty() ||
           std::any_of(cohesion.begin(), cohesion.end(), [](double c) { return c != 0.0; });
  }
};

void add_file_body(const BodyRecordOut& body, FileContent& out) {
  const std::size_t n = body.free.size();
  const auto first = std::ssize(out.f);
  for (std::size_t i = 0; i < n; ++i) {
    double force = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      const double m = body.mass[i * n + j];
      force += m * body.free[j];
      if (m != 0.0)
        out.mass.add(first + narrow<std::int64_t>(i), first + narrow<std::int64_t>(j), m);
    }
    out.f.push_back(force);
    out.v.push_back(body.v[i]);
    out.guessed_v.push_back(body.guessed[i]);
  }
  out.body_id.push_back(body.id);
  out.body_begin.push_back(narrow<std::int32_t>(out.f.size()));
}

/// One row of a block as a column of the file; a compliant row gets a velocity of its own.
void add_file_column(const BlockRecord& block, std::size_t row,
                     const std::map<GlobalId, std::int64_t>& first_of, FileContent& out,
                     Columns& columns) {
  const auto column = std::ssize(columns.constant);
  for (const auto& [id, g] : block.jacobians) {
    const std::size_t n = g.size() / block.rows();
    for (std::size_t d = 0; d < n; ++d)
      if (g[row * n + d] != 0.0)
        columns.entries.add(first_of.at(id) + narrow<std::int64_t>(d), column, g[row * n + d]);
  }
  if (block.compliance[row] > 0.0) {
    columns.entries.add(std::ssize(out.f), column, 1.0);
    add_file_body({kNoBody,
                   {1.0 / block.compliance[row]},
                   {0.0},
                   {block.compliance[row] * block.impulse[row]},
                   {block.compliance[row] * block.guess[row]}},
                  out);
  }
  columns.constant.push_back(block.constant[row]);
  columns.impulse.push_back(block.impulse[row]);
  columns.slip.push_back(block.slip[row]);
  columns.guess.push_back(block.guess[row]);
  columns.guess_slip.push_back(block.guess_slip[row]);
  columns.angular.push_back(block.angular[row] != 0.0 ? 1 : 0);
}

void add_file_block(const BlockRecord& block, const std::map<GlobalId, std::int64_t>& first_of,
                    FileContent& out) {
  const bool scalar = block.section == Section::unilateral;
  Columns& columns = block.section == Section::bilateral ? out.bilateral
                     : block.section == Section::boxed   ? out.boxed
                                                         : out.contacts;
  const bool contact = block.section == Section::rigid || block.section == Section::contact;
  for (std::size_t row = 0; row < block.rows(); ++row) {
    add_file_column(block, row, first_of, out, contact && row >= 3 ? out.couples : columns);
    if (!scalar) continue;
    for (auto* values :
         {&columns.constant, &columns.impulse, &columns.slip, &columns.guess, &columns.guess_slip})
      values->insert(values->end(), 2, 0.0);
    out.unilateral_angular.push_back(columns.angular.back());
  }
  columns.begin.push_back(narrow<std::int32_t>(columns.constant.size()));
  if (block.section == Section::boxed) {
    out.lower.insert(out.lower.end(), block.lower.begin(), block.lower.end());
    out.upper.insert(out.upper.end(), block.upper.begin(), block.upper.end());
  }
  if (!contact && !scalar) return;
  for (std::size_t c = 0; c < (scalar ? block.rows() : 1); ++c) {
    out.mu.push_back(block.friction);
    out.unilateral.push_back(scalar ? 1 : 0);
    if (contact) out.unilateral_angular.push_back(0);
    out.rolling.push_back(block.rolling);
    out.spinning.push_back(block.spinning);
    out.cohesion.push_back(block.cohesion);
    out.shift.push_back(block.shift);
    const auto stretch = block.stretch.begin();
    out.stretch.insert(out.stretch.end(), {scalar ? 0.0 : stretch[1], scalar ? 0.0 : stretch[2]});
    if (contact) out.turn.insert(out.turn.end(), stretch + 3, block.stretch.end());
    out.couples.begin.push_back(narrow<std::int32_t>(out.couples.constant.size()));
  }
}

FileContent file_content(const std::string& path, const WholeProblem& whole) {
  std::size_t size = 0;
  for (const BodyRecordOut& body : whole.bodies) size += body.mass.size();
  for (const BlockRecord& block : whole.blocks)
    for (const auto& [id, g] : block.jacobians) size += g.size() + 3;
  if (size > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw Error("the problem has more entries than FCLIB's 32-bit indices can name", path, {},
                ExitCode::input_output);
  FileContent out;
  std::map<GlobalId, std::int64_t> first_of;
  for (const BodyRecordOut& body : whole.bodies) {
    first_of[body.id] = std::ssize(out.f);
    add_file_body(body, out);
  }
  for (const BlockRecord& block : whole.blocks) add_file_block(block, first_of, out);
  const auto n_v = std::ssize(out.f);
  out.mass.n_rows = out.mass.n_columns = n_v;
  for (Columns* columns : {&out.contacts, &out.bilateral, &out.boxed, &out.couples}) {
    columns->entries.n_rows = n_v;
    columns->entries.n_columns = std::ssize(columns->constant);
  }
  return out;
}

void write_matrix(hdf5::File& file, const std::string& group, const Triplets& matrix) {
  const auto scalar = [&](const char* name, std::int64_t value) {
    const std::array<std::int32_t, 1> values = {narrow<std::int32_t>(value)};
    file.write(group + name, values);
  };
  const auto nz = std::ssize(matrix.value);
  scalar("/nzmax", nz);
  scalar("/m", matrix.n_rows);
  scalar("/n", matrix.n_columns);
  scalar("/nz", nz);
  file.write(group + "/p", matrix.column);
  file.write(group + "/i", matrix.row);
  write_vector(file, group + "/x", matrix.value);
}

void write_extras(hdf5::File& file, ContactLaw law, const FileContent& content) {
  file.make_group("/catena");
  file.set_attribute("/catena", "format", std::string("catena-problem"));
  file.set_attribute("/catena", "format_version", std::int64_t{1});
  file.set_attribute("/catena", "law", std::string(kContactLawNames[ordinal(law)]));
  file.write("/catena/body_begin", content.body_begin);
  const std::array<std::uint64_t, 1> n_bodies = {content.body_id.size()};
  file.write("/catena/body_id", content.body_id, n_bodies);
  file.write("/catena/bilateral_begin", content.bilateral.begin);
  file.write("/catena/bilateral_angular", content.bilateral.angular);
  file.write("/catena/unilateral", content.unilateral);
  file.write("/catena/unilateral_angular", content.unilateral_angular);
  file.write("/catena/boxed_begin", content.boxed.begin);
  file.write("/catena/boxed_angular", content.boxed.angular);
  write_matrix(file, "/catena/boxed/H", content.boxed.entries);
  write_vector(file, "/catena/boxed/w", content.boxed.constant);
  write_vector(file, "/catena/boxed/lower", content.lower);
  write_vector(file, "/catena/boxed/upper", content.upper);
  if (law == ContactLaw::lagged) write_vector(file, "/catena/shift", content.shift);
  if (!content.has_couples()) return;
  file.make_group("/catena/couples");
  file.write("/catena/couples/begin", content.couples.begin);
  write_matrix(file, "/catena/couples/H", content.couples.entries);
  write_vector(file, "/catena/couples/w", content.couples.constant);
  write_vector(file, "/catena/couples/rolling", content.rolling);
  write_vector(file, "/catena/couples/spinning", content.spinning);
  write_vector(file, "/catena/couples/cohesion", content.cohesion);
}

void write_guess(hdf5::File& file, const FileContent& content) {
  const std::array<std::int32_t, 1> one = {1};
  file.write("/guesses/number_of_guesses", one);
  write_vector(file, "/guesses/1/v", content.guessed_v);
  write_vector(file, "/guesses/1/u", content.contacts.guess_slip);
  write_vector(file, "/guesses/1/r", content.contacts.guess);
  write_vector(file, "/catena/bilateral_guess", content.bilateral.guess);
  write_vector(file, "/catena/boxed/guess", content.boxed.guess);
  if (content.has_couples()) write_vector(file, "/catena/couples/guess", content.couples.guess);
}

void write_solution(hdf5::File& file, const FileContent& content) {
  write_vector(file, "/solution/v", content.v);
  write_vector(file, "/solution/u", content.contacts.slip);
  write_vector(file, "/solution/r", content.contacts.impulse);
  write_vector(file, "/solution/l", content.bilateral.impulse);
  write_vector(file, "/catena/boxed/u", content.boxed.slip);
  write_vector(file, "/catena/boxed/lambda", content.boxed.impulse);
  if (!content.has_couples()) return;
  write_vector(file, "/catena/couples/u", content.couples.slip);
  write_vector(file, "/catena/couples/lambda", content.couples.impulse);
}

void write_stretches(hdf5::File& file, const FileContent& content) {
  write_vector(file, "/catena/stretch", content.stretch);
  if (content.has_couples()) write_vector(file, "/catena/couples/turn", content.turn);
}

void write_content(hdf5::File& file, const std::string& title, ContactLaw law,
                   const FileContent& content) {
  const std::string root = "/fclib_global";
  const std::array<std::int32_t, 1> dimension = {3};
  file.write(root + "/spacedim", dimension);
  file.write_text(root + "/info/title", title);
  file.write_text(root + "/info/description",
                  "One time step's contact problem, written by Catena. r: impulses in N s; u: "
                  "relative velocities at the end of the step in m/s, bias included in w. "
                  "Compliant rows have a velocity of their own, after those of the bodies; group "
                  "/catena says which velocities form a body, which contacts are scalar rows, and "
                  "holds the rows with bounds on both sides. Where it has a group couples, the "
                  "contacts also resist rolling and spinning or cohere, which FCLIB's own data "
                  "leave out. Its shift, of law lagged, adds to the first row of w.");
  file.write_text(root + "/info/math_info", "M v = H r + G l + f, u = H^T v + w, 0 = G^T v + b");
  write_matrix(file, root + "/M", content.mass);
  write_matrix(file, root + "/H", content.contacts.entries);
  write_vector(file, root + "/vectors/f", content.f);
  write_vector(file, root + "/vectors/w", content.contacts.constant);
  write_vector(file, root + "/vectors/mu", content.mu);
  if (!content.bilateral.constant.empty()) {
    write_matrix(file, root + "/G", content.bilateral.entries);
    write_vector(file, root + "/vectors/b", content.bilateral.constant);
  }
  write_extras(file, law, content);
}

}  // namespace

void write_fclib(const std::string& path, const ConstraintProblem& problem,
                 const std::string& title, std::span<const double> impulses,
                 std::span<const double> guess, std::span<const double> stretches) {
  CATENA_CHECK(!problem.assembled, "only problems with bodies are written");
  const Outcome solution(problem, impulses), start(problem, guess);
  CATENA_CHECK(stretches.empty() || std::ssize(stretches) == problem.n_rows(), "one per row");
  const bool give = problem.comm.max(std::ssize(stretches)) > 0;
  const WholeProblem whole = gather_problem(problem, solution, start, stretches);
  std::optional<ConstraintProblem> step;
  if (start.known) step = gather_step(problem);
  all_or_none(problem.comm, [&] {
    if (problem.comm.rank() != 0) return;
    const FileContent content = file_content(path, whole);
    write_alone(path, [&](hdf5::File& file) {
      write_content(file, title, named_law(problem), content);
      if (solution.known) write_solution(file, content);
      if (start.known) write_guess(file, content);
      if (give) write_stretches(file, content);
      if (step) write_step(file, *step);
    });
  });
}

}  // namespace catena
