#include <algorithm>
#include <span>

#include "catena/base/error.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/io/fclib.hpp"
#include "io/fclib/output.hpp"

namespace catena {
namespace {

/// Values at places of a vector in the file's order.
struct Scattered {
  std::vector<std::int64_t> place;
  std::vector<double> value;
  void add(std::int64_t at, double x) {
    place.push_back(at);
    value.push_back(x);
  }
};

/// The entries of `all` (3 per contact) that are rows: the first counts[c] of contact c.
std::vector<double> used_rows(std::span<const double> all, std::span<const double> counts) {
  std::vector<double> rows;
  for (std::size_t c = 0; c < counts.size(); ++c)
    for (std::size_t i = 0; i < static_cast<std::size_t>(counts[c]); ++i)
      rows.push_back(all[3 * c + i]);
  return rows;
}

/// Collective. The vector on rank 0; places that no rank has are zero.
std::vector<double> gather_vector(const Communicator& comm, const Scattered& part,
                                  std::int64_t size) {
  const std::vector<std::int64_t> place = gather_values(comm, 0, part.place);
  const std::vector<double> value = gather_values(comm, 0, part.value);
  std::vector<double> all(comm.rank() == 0 ? static_cast<std::size_t>(size) : 0, 0.0);
  for (std::size_t i = 0; i < place.size(); ++i) all.at(place[i]) = value[i];
  return all;
}

}  // namespace

void write_fclib_solution(const std::string& path, const ConstraintProblem& problem,
                          std::span<const double> impulses) {
  const Communicator& comm = problem.comm;
  const ProblemBodies& bodies = problem.bodies;
  CATENA_CHECK(problem.contacts.empty(), "the problem was not read from a file");
  DelassusOperator op(problem);
  std::vector<double> v(bodies.n_dofs());
  std::vector<double> w(problem.n_rows());
  op.velocities(impulses, v);
  op.residual_velocities(v, impulses, w);

  Scattered file_v, file_u, file_r, file_l, box_u, box_lambda;
  Scattered couple_count, couple_u, couple_lambda;  // up to 3 rows beyond a contact's own
  std::int64_t n_contacts = 0;
  for (std::size_t i = 0; i < bodies.file_velocity.size(); ++i)
    file_v.add(bodies.file_velocity[i], v[i]);
  const GeneralBlocks& blocks = problem.blocks;
  for (std::size_t row = 0; row < blocks.file_velocity.size(); ++row)
    if (blocks.file_velocity[row] >= 0)
      file_v.add(blocks.file_velocity[row], blocks.compliance[row] * impulses[row]);
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    const std::int64_t name =
        problem.assembled ? problem.assembled->name[k] : problem.blocks.name[k];
    const bool contact = view.kind == BlockKind::contact || view.kind == BlockKind::unilateral;
    n_contacts += contact ? 1 : 0;
    if (contact) couple_count.add(name, static_cast<double>(std::max<Index>(0, view.rows - 3)));
    for (Index i = 0; i < view.rows; ++i) {
      const std::size_t row = view.row + i;
      if (contact && i >= 3) {
        couple_u.add(3 * name + i - 3, w[row]);
        couple_lambda.add(3 * name + i - 3, impulses[row]);
      } else if (contact) {
        const bool shifted = problem.lagged && i == 0;
        file_u.add(3 * name + i, shifted ? w[row] - problem.shift[k] : w[row]);
        file_r.add(3 * name + i, impulses[row]);
      } else if (view.kind == BlockKind::bilateral) {
        file_l.add(name + i, impulses[row]);
      } else {
        box_u.add(name + i, w[row]);
        box_lambda.add(name + i, impulses[row]);
      }
    }
  }
  const auto total = [&](const Scattered& part) { return comm.sum(std::ssize(part.place)); };
  const std::int64_t n_rows = 3 * comm.sum(n_contacts);
  const std::vector<double> all_v = gather_vector(comm, file_v, total(file_v));
  const std::vector<double> all_u = gather_vector(comm, file_u, n_rows);
  const std::vector<double> all_r = gather_vector(comm, file_r, n_rows);
  const std::vector<double> all_l = gather_vector(comm, file_l, total(file_l));
  const std::vector<double> all_box_u = gather_vector(comm, box_u, total(box_u));
  const std::vector<double> all_box_lambda = gather_vector(comm, box_lambda, total(box_lambda));
  const std::vector<double> counts = gather_vector(comm, couple_count, n_rows / 3);
  const std::vector<double> all_couple_u = gather_vector(comm, couple_u, n_rows);
  const std::vector<double> all_couple_lambda = gather_vector(comm, couple_lambda, n_rows);
  all_or_none(comm, [&] {
    if (comm.rank() != 0) return;
    write_alone(path, [&](hdf5::File& file) {
      write_vector(file, "/solution/v", all_v);
      write_vector(file, "/solution/u", all_u);
      write_vector(file, "/solution/r", all_r);
      if (!all_l.empty()) write_vector(file, "/solution/l", all_l);
      if (!all_box_u.empty()) {
        write_vector(file, "/catena/boxed/u", all_box_u);
        write_vector(file, "/catena/boxed/lambda", all_box_lambda);
      }
      const std::vector<double> rows = used_rows(all_couple_u, counts);
      if (rows.empty()) return;
      write_vector(file, "/catena/couples/u", rows);
      write_vector(file, "/catena/couples/lambda", used_rows(all_couple_lambda, counts));
    });
  });
}

}  // namespace catena
