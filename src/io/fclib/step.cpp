#include "io/fclib/step.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/block_rows.hpp"
#include "catena/io/fclib.hpp"
#include "io/fclib/output.hpp"
#include "io/hdf5/checksum.hpp"

namespace catena {
namespace {

constexpr const char* kStep = "/catena/step";
/// Not in earlier files.
constexpr const char* kBodySubdomain = "/bodies/subdomain";
/// Numbers of a rigid contact besides bodies and key.
constexpr std::size_t kContactNumbers = 19, kRigidNumbers = 15;

/// A body as it travels to rank 0.
struct BodyPart {
  GlobalId id = kNoBody;
  MassKind kind = MassKind::prescribed;
  bool owned = true;
  Index subdomain = 0;  ///< of an owned one
  std::vector<double> inverse_mass, free;
};

/// A block as it travels: bodies by id.
struct BlockPart {
  bool rigid = false;
  Index subdomain = 0;
  double shift = 0.0, unshifted = 0.0;                ///< of law lagged
  std::array<GlobalId, 2> ends = {kNoBody, kNoBody};  ///< of a rigid contact
  RigidContact contact;
  BlockKind kind = BlockKind::contact;
  std::int64_t name = 0;
  ContactKey key;
  std::array<double, 4> limits{};           ///< friction, rolling, spinning, cohesion
  std::array<std::vector<double>, 5> rows;  ///< q, compliance, lower, upper, angular
  std::vector<std::pair<GlobalId, std::vector<double>>> jacobians;
};

void pack(const BodyPart& body, Packer& out) {
  out.put(body.id);
  out.put(body.kind);
  out.put(body.owned);
  out.put(body.subdomain);
  out.put_list(body.inverse_mass);
  out.put_list(body.free);
}

BodyPart unpack_body(Unpacker& in) {
  BodyPart body;
  body.id = in.get<GlobalId>();
  body.kind = in.get<MassKind>();
  body.owned = in.get<bool>();
  body.subdomain = in.get<Index>();
  body.inverse_mass = in.get_list<double>();
  body.free = in.get_list<double>();
  return body;
}

/// Numbers of a contact in the order of the file.
std::array<double, kContactNumbers> numbers_of(const RigidContact& c) {
  std::array<double, kContactNumbers> x{};
  std::size_t i = 0;
  for (const Vec3* v : {&c.normal, &c.tangent, &c.arm_a, &c.arm_b})
    for (int k = 0; k < 3; ++k) x[i++] = (*v)[k];
  for (const double value : {c.bias, c.friction, c.cohesion, c.tangent_bias[0], c.tangent_bias[1],
                             c.compliance, c.tangent_compliance})
    x[i++] = value;
  return x;
}

void set_numbers(std::span<const double> x, RigidContact& c) {
  std::size_t i = 0;
  for (Vec3* v : {&c.normal, &c.tangent, &c.arm_a, &c.arm_b})
    for (int k = 0; k < 3; ++k) (*v)[k] = x[i++];
  for (double* value : {&c.bias, &c.friction, &c.cohesion, &c.tangent_bias[0], &c.tangent_bias[1],
                        &c.compliance, &c.tangent_compliance})
    *value = x[i++];
}

void pack(const BlockPart& block, Packer& out) {
  out.put(block.rigid);
  out.put(block.subdomain);
  out.put(block.shift);
  out.put(block.unshifted);
  out.put(block.key);
  if (block.rigid) {
    for (const GlobalId id : block.ends) out.put(id);
    out.put_list(numbers_of(block.contact));
    return;
  }
  out.put(block.kind);
  out.put(block.name);
  out.put_list(block.limits);
  for (const auto& values : block.rows) out.put_list(values);
  out.put(std::ssize(block.jacobians));
  for (const auto& [id, g] : block.jacobians) {
    out.put(id);
    out.put_list(g);
  }
}

BlockPart unpack_block(Unpacker& in) {
  BlockPart block;
  block.rigid = in.get<bool>();
  block.subdomain = in.get<Index>();
  block.shift = in.get<double>();
  block.unshifted = in.get<double>();
  block.key = in.get<ContactKey>();
  if (block.rigid) {
    for (GlobalId& id : block.ends) id = in.get<GlobalId>();
    set_numbers(in.get_list<double>(), block.contact);
    block.contact.key = block.key;
    return block;
  }
  block.kind = in.get<BlockKind>();
  block.name = in.get<std::int64_t>();
  const std::vector<double> limits = in.get_list<double>();
  std::copy_n(limits.begin(), block.limits.size(), block.limits.begin());
  for (auto& values : block.rows) values = in.get_list<double>();
  for (auto n = in.get<std::int64_t>(); n > 0; --n) {
    const auto id = in.get<GlobalId>();
    block.jacobians.emplace_back(id, in.get_list<double>());
  }
  return block;
}

BodyPart body_part(const ConstraintProblem& problem, std::size_t b) {
  const ProblemBodies& bodies = problem.bodies;
  const auto slice = [](const std::vector<double>& all, Index from, Index to) {
    return std::vector<double>(all.begin() + from, all.begin() + to);
  };
  const bool owned = std::cmp_less(b, bodies.n_owned);
  return {bodies.id[b],
          bodies.mass_kind[b],
          owned,
          !owned || problem.body_subdomain.empty() ? to_index(problem.comm.rank())
                                                   : problem.body_subdomain[b],
          slice(bodies.inverse_mass, bodies.mass_begin[b], bodies.mass_begin[b + 1]),
          slice(bodies.free_velocity, bodies.dof_begin[b], bodies.dof_begin[b + 1])};
}

BlockPart block_part(const ConstraintProblem& problem, std::size_t k) {
  const std::size_t n_rigid = problem.contacts.size();
  BlockPart part;
  part.subdomain =
      problem.block_subdomain.empty() ? to_index(problem.comm.rank()) : problem.block_subdomain[k];
  if (problem.lagged) {
    part.shift = problem.shift[k];
    part.unshifted = problem.unshifted[k];
  }
  if (k < n_rigid) {
    part.rigid = true;
    part.contact = problem.contacts[k];
    part.key = part.contact.key;
    part.ends = {problem.bodies.id[part.contact.body_a], problem.bodies.id[part.contact.body_b]};
    return part;
  }
  const GeneralBlocks& blocks = problem.blocks;
  const std::size_t b = k - n_rigid;
  part.kind = blocks.kind[b];
  part.name = blocks.name[b];
  if (b < blocks.key.size()) part.key = blocks.key[b];
  const BlockView view = block_view(problem, to_index(k));
  part.limits = {blocks.friction[b], view.rolling, view.spinning, view.cohesion};
  for (auto row = blocks.row_begin[b]; row < blocks.row_begin[b + 1]; ++row) {
    const std::array<double, 5> values = {blocks.q[row], blocks.compliance[row], blocks.lower[row],
                                          blocks.upper[row],
                                          static_cast<double>(blocks.angular[row])};
    for (std::size_t i = 0; i < values.size(); ++i) part.rows[i].push_back(values[i]);
  }
  for (auto j = blocks.body_begin[b]; j < blocks.body_begin[b + 1]; ++j) {
    const auto from = blocks.jacobian.begin() + blocks.jacobian_begin[j];
    const auto to = blocks.jacobian.begin() + blocks.jacobian_begin[j + 1];
    part.jacobians.emplace_back(problem.bodies.id[blocks.body[j]], std::vector<double>(from, to));
  }
  return part;
}

void add_body(const BodyPart& part, std::map<GlobalId, Index>& local, ConstraintProblem& whole) {
  ProblemBodies& bodies = whole.bodies;
  if (!local.try_emplace(part.id, bodies.size()).second) return;
  if (part.owned) whole.body_subdomain.push_back(part.subdomain);
  bodies.id.push_back(part.id);
  bodies.mass_kind.push_back(part.kind);
  bodies.inverse_mass.insert(bodies.inverse_mass.end(), part.inverse_mass.begin(),
                             part.inverse_mass.end());
  bodies.mass_begin.push_back(to_index(bodies.inverse_mass.size()));
  bodies.free_velocity.insert(bodies.free_velocity.end(), part.free.begin(), part.free.end());
  bodies.dof_begin.push_back(to_index(bodies.free_velocity.size()));
}

/// Whether blocks have what contacts may have beyond friction, and keys, over all ranks.
struct Extras {
  bool rolling = false, key = false;
};

void add_block(const BlockPart& part, const std::map<GlobalId, Index>& local, const Extras& extras,
               ConstraintProblem& whole) {
  whole.block_subdomain.push_back(part.subdomain);
  if (whole.lagged) {
    whole.shift.push_back(part.shift);
    whole.unshifted.push_back(part.unshifted);
  }
  if (part.rigid) {
    RigidContact contact = part.contact;
    contact.body_a = local.at(part.ends[0]);
    contact.body_b = local.at(part.ends[1]);
    whole.contacts.push_back(contact);
    return;
  }
  GeneralBlocks& blocks = whole.blocks;
  blocks.kind.push_back(part.kind);
  blocks.name.push_back(part.name);
  blocks.friction.push_back(part.limits[0]);
  if (extras.key) blocks.key.push_back(part.key);
  if (extras.rolling) {
    blocks.rolling.push_back(part.limits[1]);
    blocks.spinning.push_back(part.limits[2]);
    blocks.cohesion.push_back(part.limits[3]);
  }
  const std::array<std::vector<double>*, 4> columns = {&blocks.q, &blocks.compliance, &blocks.lower,
                                                       &blocks.upper};
  for (std::size_t i = 0; i < columns.size(); ++i)
    columns[i]->insert(columns[i]->end(), part.rows[i].begin(), part.rows[i].end());
  for (const double angular : part.rows[4]) blocks.angular.push_back(angular != 0.0 ? 1 : 0);
  blocks.row_begin.push_back(to_index(blocks.q.size()));
  for (const auto& [id, g] : part.jacobians) {
    blocks.body.push_back(local.at(id));
    blocks.jacobian.insert(blocks.jacobian.end(), g.begin(), g.end());
    blocks.jacobian_begin.push_back(std::ssize(blocks.jacobian));
  }
  blocks.body_begin.push_back(to_index(blocks.body.size()));
}

/// Contacts by key, then what rolls by key, then joints by name: as one rank would hold them.
auto place_of(const BlockPart& part) {
  const int group = part.rigid ? 0 : part.kind == BlockKind::contact ? 1 : 2;
  return std::tuple(group, part.key, part.name);
}

/// What FCLIB's data say of contacts without friction, whatever their materials.
void drop_friction(std::vector<BlockPart>& blocks) {
  for (BlockPart& block : blocks) {
    block.contact.friction = 0.0;
    for (std::size_t i = 0; i < 3; ++i) block.limits[i] = std::min(block.limits[i], 0.0);
  }
}

std::vector<std::int64_t> flat(const ContactKey& key) {
  return {key.a, key.b, key.feature, key.part};
}

ContactKey key_from(std::span<const std::int64_t> x) {
  return {x[0], x[1], narrow<std::int32_t>(x[2]), narrow<std::int32_t>(x[3])};
}

void write_longs(hdf5::File& file, const std::string& name, std::span<const std::int64_t> values) {
  const std::array<std::uint64_t, 1> extents = {values.size()};
  file.write(name, values, extents);
}

template <class Small>
std::vector<std::int32_t> widened(const std::vector<Small>& values) {
  std::vector<std::int32_t> out;
  out.reserve(values.size());
  for (const Small x : values) out.push_back(static_cast<std::int32_t>(x));
  return out;
}

/// Every list of numbers of a step by its name in the group: visit(name, vector).
template <class Visit, class Problem>
void each_list(Visit&& visit, Problem& p) {
  visit("/bodies/id", p.bodies.id);
  visit("/bodies/mass_kind", p.bodies.mass_kind);
  visit("/bodies/dof_begin", p.bodies.dof_begin);
  visit("/bodies/mass_begin", p.bodies.mass_begin);
  visit("/bodies/inverse_mass", p.bodies.inverse_mass);
  visit("/bodies/free_velocity", p.bodies.free_velocity);
  visit("/blocks/kind", p.blocks.kind);
  visit("/blocks/name", p.blocks.name);
  visit("/blocks/row_begin", p.blocks.row_begin);
  visit("/blocks/body_begin", p.blocks.body_begin);
  visit("/blocks/body", p.blocks.body);
  visit("/blocks/jacobian_begin", p.blocks.jacobian_begin);
  visit("/blocks/jacobian", p.blocks.jacobian);
  visit("/blocks/friction", p.blocks.friction);
  visit("/blocks/rolling", p.blocks.rolling);
  visit("/blocks/spinning", p.blocks.spinning);
  visit("/blocks/cohesion", p.blocks.cohesion);
  visit("/blocks/q", p.blocks.q);
  visit("/blocks/compliance", p.blocks.compliance);
  visit("/blocks/lower", p.blocks.lower);
  visit("/blocks/upper", p.blocks.upper);
  visit("/blocks/angular", p.blocks.angular);
  visit("/subdomain", p.block_subdomain);
}

/// Checksum of FCLIB's data and of what Catena adds to them, without solution, guess and step.
std::string checksum_of(const hdf5::File& file) {
  std::uint64_t sum = 0;
  std::uint64_t place = 0;
  const auto add = [&](const std::string& name, bool whole_numbers) {
    ++place;
    if (!file.exists(name)) return;
    constexpr std::uint64_t kApart = std::uint64_t{1} << 40;  // words between datasets
    const auto add_words = [&](const auto& values) {
      sum += checksum(std::as_bytes(std::span(values)), place * kApart);
    };
    if (whole_numbers)
      add_words(file.read_integers(name));
    else
      add_words(file.read_doubles(name));
  };
  for (const char* matrix : {"/fclib_global/M", "/fclib_global/H", "/fclib_global/G",
                             "/catena/boxed/H", "/catena/couples/H"}) {
    add(std::string(matrix) + "/p", true);
    add(std::string(matrix) + "/i", true);
    add(std::string(matrix) + "/x", false);
  }
  for (const char* vector : {"f", "w", "mu", "b"})
    add("/fclib_global/vectors/" + std::string(vector), false);
  for (const char* vector : {"boxed/w", "boxed/lower", "boxed/upper", "couples/w",
                             "couples/rolling", "couples/spinning", "couples/cohesion"})
    add("/catena/" + std::string(vector), false);
  for (const char* list :
       {"body_begin", "bilateral_begin", "unilateral", "boxed_begin", "couples/begin"})
    add("/catena/" + std::string(list), true);
  add("/catena/shift", false);
  return std::to_string(sum);
}

/// Rows of `problem` in the order in which the file holds them.
std::vector<Index> rows_of_file(const ConstraintProblem& problem) {
  const std::size_t n_rigid = problem.contacts.size();
  const auto order_of = [&](std::size_t k) {
    if (k < n_rigid) return std::tuple(0, problem.contacts[k].key, std::int64_t{0});
    const BlockKind kind = problem.blocks.kind[k - n_rigid];
    const int section = kind == BlockKind::contact      ? 1
                        : kind == BlockKind::unilateral ? 2
                        : kind == BlockKind::bilateral  ? 3
                                                        : 4;
    const std::vector<ContactKey>& keys = problem.blocks.key;
    const bool has_key = kind == BlockKind::contact && k - n_rigid < keys.size();
    return std::tuple(section, has_key ? keys[k - n_rigid] : ContactKey{},
                      problem.blocks.name[k - n_rigid]);
  };
  std::vector<std::size_t> order(problem.n_blocks());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return order_of(a) < order_of(b); });
  std::vector<Index> rows;
  for (const std::size_t k : order) {
    const BlockView view = block_view(problem, to_index(k));
    for (Index i = 0; i < view.rows; ++i) rows.push_back(view.row + i);
  }
  return rows;
}

void read_list(const hdf5::File& file, const std::string& name, std::vector<double>& out) {
  out = file.read_doubles(name);
}

template <class Whole>
void read_list(const hdf5::File& file, const std::string& name, std::vector<Whole>& out) {
  out.clear();
  for (const std::int64_t x : file.read_integers(name)) out.push_back(static_cast<Whole>(x));
}

void read_contacts(const hdf5::File& file, const std::string& root, ConstraintProblem& problem) {
  const std::vector<std::int64_t> body = file.read_integers(root + "/contacts/body");
  const std::vector<std::int64_t> key = file.read_integers(root + "/contacts/key");
  const std::vector<double> numbers = file.read_doubles(root + "/contacts/numbers");
  const std::size_t n = body.size() / 2;
  // earlier files have no compliance
  const std::size_t width =
      n > 0 && numbers.size() == kRigidNumbers * n ? kRigidNumbers : kContactNumbers;
  if (key.size() != 4 * n || numbers.size() != width * n)
    throw std::logic_error("contacts differ in number");
  for (std::size_t k = 0; k < n; ++k) {
    RigidContact& contact = problem.contacts.emplace_back();
    contact.body_a = to_index(body[2 * k]);
    contact.body_b = to_index(body[2 * k + 1]);
    contact.key = key_from(std::span(key).subspan(4 * k, 4));
    std::array<double, kContactNumbers> of_contact{};
    std::copy_n(numbers.begin() + to_index(width * k), width, of_contact.begin());
    set_numbers(of_contact, contact);
  }
}

/// Of a file that does not say which subdomain a body belongs to: that of its first block. Checks
/// before whether blocks and bodies hold together.
void give_to_first_block(ConstraintProblem& problem) {
  std::vector<Index> of_blocks = std::exchange(problem.block_subdomain, {});
  check_problem(problem);
  problem.block_subdomain = std::move(of_blocks);
  if (problem.block_subdomain.empty() || std::ssize(problem.block_subdomain) != problem.n_blocks())
    return;
  problem.body_subdomain.assign(problem.bodies.n_owned, problem.block_subdomain.front());
  for (Index k = problem.n_blocks(); k-- > 0;)
    for_each_body_index(problem, k, [&](Index b) {
      if (b < problem.bodies.n_owned) problem.body_subdomain[b] = problem.block_subdomain[k];
    });
}

void read_step(const hdf5::File& file, ConstraintProblem& problem) {
  const std::string root = kStep;
  each_list([&](const char* name, auto& list) { read_list(file, root + name, list); }, problem);
  const std::vector<std::int64_t> key = file.read_integers(root + "/blocks/key");
  for (std::size_t k = 0; k + 4 <= key.size(); k += 4)
    problem.blocks.key.push_back(key_from(std::span(key).subspan(k, 4)));
  read_contacts(file, root, problem);
  problem.bodies.n_owned = static_cast<Index>(file.attribute_number(root, "owned_bodies"));
  problem.joint_misfit = file.attribute_number(root, "joint_misfit");
  problem.ordered = file.attribute_number(root, "ordered") != 0.0;
  if (file.exists(root + "/shift")) {
    problem.shift = file.read_doubles(root + "/shift");
    problem.unshifted = file.read_doubles(root + "/unshifted");
    problem.lagged = true;
    problem.law = ContactLaw::ccp;
  }
  if (file.exists(root + kBodySubdomain))
    read_list(file, root + kBodySubdomain, problem.body_subdomain);
  else
    give_to_first_block(problem);
  check_problem(problem);
}

}  // namespace

ConstraintProblem gather_step(const ConstraintProblem& problem) {
  const Communicator& comm = problem.comm;
  const ProblemBodies& bodies = problem.bodies;
  const Extras extras = {comm.max(std::ssize(problem.blocks.rolling)) > 0,
                         comm.max(std::ssize(problem.blocks.key)) > 0};
  Packer body_bytes, block_bytes;
  for (Index b = 0; b < bodies.size(); ++b) {
    // another rank's body that moves comes from that rank
    if (std::cmp_less(b, bodies.n_owned) || bodies.mass_kind[b] == MassKind::prescribed)
      pack(body_part(problem, b), body_bytes);
  }
  for (std::int64_t k = 0; k < problem.n_blocks(); ++k) pack(block_part(problem, k), block_bytes);
  const auto all_bodies = comm.gather_bytes(0, body_bytes.bytes());
  const auto all_blocks = comm.gather_bytes(0, block_bytes.bytes());

  ConstraintProblem whole(Communicator::self());
  whole.law = problem.law;
  whole.lagged = problem.lagged;
  whole.joint_misfit = problem.joint_misfit;
  whole.ordered = problem.ordered;
  std::map<GlobalId, Index> local;
  std::vector<BodyPart> known;  // to more than their owner
  for (Unpacker in(all_bodies); !in.empty();) {
    BodyPart body = unpack_body(in);
    if (body.owned)
      add_body(body, local, whole);
    else
      known.push_back(std::move(body));
  }
  whole.bodies.n_owned = whole.bodies.size();
  for (const BodyPart& body : known) add_body(body, local, whole);
  std::vector<BlockPart> blocks;
  for (Unpacker in(all_blocks); !in.empty();) blocks.push_back(unpack_block(in));
  if (comm.size() > 1)
    std::ranges::stable_sort(
        blocks, [](const BlockPart& a, const BlockPart& b) { return place_of(a) < place_of(b); });
  if (problem.law == ContactLaw::frictionless) drop_friction(blocks);
  for (const BlockPart& block : blocks) add_block(block, local, extras, whole);
  if (comm.size() == 1 && problem.block_subdomain.empty()) {
    whole.block_subdomain.clear();
    whole.body_subdomain.clear();
  }
  return whole;
}

void write_step(hdf5::File& file, const ConstraintProblem& step) {
  const std::string root = kStep;
  file.make_group(root);
  each_list(
      [&](const char* name, const auto& list) {
        using Number = typename std::decay_t<decltype(list)>::value_type;
        if constexpr (std::is_same_v<Number, double>)
          write_vector(file, root + name, list);
        else if constexpr (std::is_same_v<Number, std::int64_t>)
          write_longs(file, root + name, list);
        else
          file.write(root + name, widened(list));
      },
      step);
  std::vector<std::int64_t> body, key, block_key;
  std::vector<double> numbers;
  for (const RigidContact& c : step.contacts) {
    body.insert(body.end(), {c.body_a, c.body_b});
    for (const std::int64_t x : flat(c.key)) key.push_back(x);
    for (const double x : numbers_of(c)) numbers.push_back(x);
  }
  for (const ContactKey& k : step.blocks.key)
    for (const std::int64_t x : flat(k)) block_key.push_back(x);
  write_longs(file, root + "/contacts/body", body);
  write_longs(file, root + "/contacts/key", key);
  write_vector(file, root + "/contacts/numbers", numbers);
  write_longs(file, root + "/blocks/key", block_key);
  if (!step.body_subdomain.empty()) file.write(root + kBodySubdomain, widened(step.body_subdomain));
  file.set_attribute(root, "owned_bodies", std::int64_t{step.bodies.n_owned});
  file.set_attribute(root, "joint_misfit", step.joint_misfit);
  file.set_attribute(root, "ordered", std::int64_t{step.ordered ? 1 : 0});
  if (step.lagged) {
    write_vector(file, root + "/shift", step.shift);
    write_vector(file, root + "/unshifted", step.unshifted);
  }
  file.set_attribute(root, "checksum", checksum_of(file));
}

std::optional<DumpedStep> read_dumped_step(const Communicator& comm, const std::string& path) {
  CATENA_CHECK(comm.size() == 1, "a dumped step is that of one rank");
  const hdf5::File file = hdf5::File::open(path);
  if (!file.exists(kStep) || file.attribute_text(kStep, "checksum") != checksum_of(file))
    return std::nullopt;
  DumpedStep step{ConstraintProblem(comm), {}};
  try {
    read_step(file, step.problem);
  } catch (const std::logic_error& error) {
    throw Error(error.what(), path + ": " + kStep,
                "remove the group: the problem is then solved as FCLIB's data state it");
  }
  step.row = rows_of_file(step.problem);
  return step;
}

}  // namespace catena
