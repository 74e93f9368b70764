#include "io/fclib/file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "catena/base/error.hpp"
#include "io/hdf5/file.hpp"

namespace catena {
namespace {

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();

/// Reads datasets with the checks that every one of them needs.
class Reader {
 public:
  explicit Reader(const std::string& path) : file_(hdf5::File::open(path)) {}

  const hdf5::File& file() const { return file_; }

  [[noreturn]] void refuse(const std::string& object, const std::string& what,
                           const std::string& fix = {}) const {
    throw Error(what, file_.path() + ": " + object, fix, ExitCode::bad_input);
  }

  std::int64_t scalar(const std::string& dataset) const {
    const std::vector<std::int64_t> values = file_.read_integers(dataset);
    if (values.size() != 1)
      refuse(dataset, "has " + std::to_string(values.size()) + " values where one is wanted");
    return values[0];
  }

  /// Finite numbers, `size` of them unless that is negative.
  std::vector<double> vector(const std::string& dataset, std::int64_t size) const {
    std::vector<double> values = file_.read_doubles(dataset);
    check_size(dataset, values.size(), size);
    for (std::size_t k = 0; k < values.size(); ++k)
      if (!std::isfinite(values[k]))
        refuse(dataset, "entry " + std::to_string(k) + " is not a finite number");
    return values;
  }

  std::vector<std::int64_t> integers(const std::string& dataset, std::int64_t size) const {
    std::vector<std::int64_t> values = file_.read_integers(dataset);
    check_size(dataset, values.size(), size);
    return values;
  }

  /// Ascending from 0 to `last`, or from 0 on if `last` is negative.
  std::vector<std::int64_t> offsets(const std::string& dataset, std::int64_t last) const {
    std::vector<std::int64_t> values = file_.read_integers(dataset);
    if (values.empty() || values[0] != 0 || !std::is_sorted(values.begin(), values.end()) ||
        (last >= 0 && values.back() != last))
      refuse(dataset, "must ascend from 0" + (last >= 0 ? " to " + std::to_string(last) : ""));
    return values;
  }

  Triplets matrix(const std::string& group, std::int64_t rows, std::int64_t columns,
                  const std::string& why) const;

 private:
  void check_size(const std::string& dataset, std::size_t found, std::int64_t wanted) const {
    if (wanted >= 0 && narrow<std::int64_t>(found) != wanted)
      refuse(dataset, "has " + std::to_string(found) + " entries where " + std::to_string(wanted) +
                          " are wanted");
  }
  void compressed(const std::string& group, bool by_column, Triplets& out) const;
  void triplets(const std::string& group, std::int64_t nz, Triplets& out) const;
  std::int32_t index(const std::string& dataset, std::size_t k, std::int64_t value,
                     std::int64_t limit) const {
    if (value < 0 || value >= limit)
      refuse(dataset, "entry " + std::to_string(k) + " is " + std::to_string(value) +
                          ", outside 0 .. " + std::to_string(limit - 1));
    return narrow<std::int32_t>(value);
  }

  hdf5::File file_;
};

/// Column pointers p and row indices i (CSC), or row pointers and column indices (CSR).
void Reader::compressed(const std::string& group, bool by_column, Triplets& out) const {
  const std::int64_t n_lines = by_column ? out.n_columns : out.n_rows;
  const std::int64_t n_across = by_column ? out.n_rows : out.n_columns;
  const std::vector<std::int64_t> p = integers(group + "/p", n_lines + 1);
  const std::vector<std::int64_t> i = integers(group + "/i", -1);
  const std::vector<double> x = vector(group + "/x", -1);
  if (p[0] != 0 || !std::ranges::is_sorted(p)) refuse(group + "/p", "pointers must ascend from 0");
  const std::size_t n = p.back();
  if (i.size() < n)
    refuse(group + "/i", "has " + std::to_string(i.size()) + " entries, but the pointers go to " +
                             std::to_string(n));
  if (x.size() < n)
    refuse(group + "/x", "has " + std::to_string(x.size()) + " entries, but the pointers go to " +
                             std::to_string(n));
  for (std::int64_t line = 0; line < n_lines; ++line)
    for (std::int64_t k = p[line]; k < p[line + 1]; ++k) {
      const std::int64_t across = index(group + "/i", k, i[k], n_across);
      out.add(by_column ? across : line, by_column ? line : across, x[k]);
    }
}

/// i holds row numbers and p column numbers (CSparse's order, as files in use have it).
void Reader::triplets(const std::string& group, std::int64_t nz, Triplets& out) const {
  const std::vector<std::int64_t> p = integers(group + "/p", -1);
  const std::vector<std::int64_t> i = integers(group + "/i", -1);
  const std::vector<double> x = vector(group + "/x", -1);
  const std::size_t n = nz;
  for (const auto& [name, size] :
       {std::pair{"/p", p.size()}, std::pair{"/i", i.size()}, std::pair{"/x", x.size()}})
    if (size < n)
      refuse(group + name,
             "has " + std::to_string(size) + " entries, but nz is " + std::to_string(nz));
  for (std::size_t k = 0; k < n; ++k)
    out.add(index(group + "/i", k, i[k], out.n_rows), index(group + "/p", k, p[k], out.n_columns),
            x[k]);
}

/// A matrix whose size is known from the vectors; `why` says where from.
Triplets Reader::matrix(const std::string& group, std::int64_t rows, std::int64_t columns,
                        const std::string& why) const {
  const std::int64_t m = scalar(group + "/m");
  const std::int64_t n = scalar(group + "/n");
  const std::int64_t nz = scalar(group + "/nz");
  const std::int64_t nzmax = scalar(group + "/nzmax");
  if (m != rows)
    refuse(group + "/m",
           "is " + std::to_string(m) + " where " + std::to_string(rows) + " is wanted" + why);
  if (n != columns)
    refuse(group + "/n",
           "is " + std::to_string(n) + " where " + std::to_string(columns) + " is wanted" + why);
  if (nzmax < 0) refuse(group + "/nzmax", "is negative");
  Triplets out;
  out.n_rows = m;
  out.n_columns = n;
  if (nz == -1 || nz == -2) {
    compressed(group, nz == -1, out);
  } else if (nz >= 0 && nz <= nzmax) {
    triplets(group, nz, out);
  } else {
    refuse(group + "/nz", "is " + std::to_string(nz),
           "-1 stands for columns (CSC), -2 for rows (CSR), 0 .. nzmax for triplets");
  }
  if (std::ssize(out.value) > nzmax)
    refuse(group + "/nzmax", "is " + std::to_string(nzmax) + ", less than the " +
                                 std::to_string(out.value.size()) + " entries held");
  return out;
}

std::vector<double> read_friction(const Reader& in, const std::string& root, std::int64_t n_rows,
                                  const std::string& rows_from) {
  if (n_rows % 3 != 0)
    in.refuse(rows_from, "has " + std::to_string(n_rows) + " entries, not 3 per contact");
  const std::string name = root + "/vectors/mu";
  std::vector<double> mu = in.vector(name, n_rows / 3);
  for (std::size_t k = 0; k < mu.size(); ++k)
    if (mu[k] < 0.0) in.refuse(name, "friction of contact " + std::to_string(k) + " is negative");
  return mu;
}

void read_local(const Reader& in, FclibFile& out) {
  const std::string root = "/fclib_local";
  for (const char* group : {"/V", "/R"})
    if (in.file().exists(root + group))
      in.refuse(root + group, "local problems with bilateral rows (V, R) are not supported",
                "export it as a global problem");
  out.q = in.vector(root + "/vectors/q", -1);
  const auto n = std::ssize(out.q);
  out.mu = read_friction(in, root, n, root + "/vectors/q");
  out.w_matrix = to_rows(in.matrix(root + "/W", n, n, " by vectors/q"), false);
}

void read_couples(const Reader& in, const FclibFile& file, CoupleExtras& out) {
  const std::string root = "/catena/couples";
  if (!in.file().exists(root)) return;
  out.present = true;
  out.w = in.vector(root + "/w", -1);
  const auto n_rows = std::ssize(out.w);
  out.begin = in.offsets(root + "/begin", n_rows);
  if (std::ssize(out.begin) != file.n_contacts() + 1)
    in.refuse(root + "/begin", "has " + std::to_string(out.begin.size()) +
                                   " entries, not one per "
                                   "contact and one more");
  const auto n_v = std::ssize(file.f);
  out.rows = to_rows(in.matrix(root + "/H", n_v, n_rows, " by couples/w"), true);
  out.rolling = in.vector(root + "/rolling", file.n_contacts());
  out.spinning = in.vector(root + "/spinning", file.n_contacts());
  out.cohesion = in.vector(root + "/cohesion", file.n_contacts());
  for (std::size_t c = 0; c < out.cohesion.size(); ++c) {
    const auto is_bound = [](double x) { return x >= 0.0 || x == -1.0; };
    const std::string contact = "contact " + std::to_string(c);
    if (!(out.cohesion[c] >= 0.0) || !is_bound(out.rolling[c]) || !is_bound(out.spinning[c]))
      in.refuse(root, contact + ": negative cohesion or friction");
    const std::int64_t rows = (out.rolling[c] >= 0.0 ? 2 : 0) + (out.spinning[c] >= 0.0 ? 1 : 0);
    if (out.begin[c + 1] - out.begin[c] != rows)
      in.refuse(root + "/begin", contact + " has " +
                                     std::to_string(out.begin[c + 1] - out.begin[c]) +
                                     " rows where its friction asks for " + std::to_string(rows));
  }
}

void read_extras(const Reader& in, FclibFile& out) {
  const hdf5::File& file = in.file();
  if (!file.exists("/catena")) return;
  CatenaExtras& extras = out.extras;
  extras.present = true;
  extras.law = file.attribute_text("/catena", "law");
  const auto n_v = std::ssize(out.f);
  extras.body_begin = in.offsets("/catena/body_begin", n_v);
  extras.body_id = in.integers("/catena/body_id", std::ssize(extras.body_begin) - 1);
  const auto n_bilateral = out.g_transposed.n_rows();
  extras.bilateral_begin = in.offsets("/catena/bilateral_begin", n_bilateral);
  extras.bilateral_angular = in.integers("/catena/bilateral_angular", n_bilateral);
  extras.unilateral = in.integers("/catena/unilateral", out.n_contacts());
  extras.unilateral_angular = in.integers("/catena/unilateral_angular", out.n_contacts());
  extras.boxed_w = in.vector("/catena/boxed/w", -1);
  const auto n_boxed = std::ssize(extras.boxed_w);
  extras.boxed_begin = in.offsets("/catena/boxed_begin", n_boxed);
  extras.boxed_angular = in.integers("/catena/boxed_angular", n_boxed);
  // Bounds may be infinite.
  extras.boxed_lower = file.read_doubles("/catena/boxed/lower");
  extras.boxed_upper = file.read_doubles("/catena/boxed/upper");
  for (const auto* bound : {&extras.boxed_lower, &extras.boxed_upper})
    if (narrow<std::int64_t>(bound->size()) != n_boxed)
      in.refuse("/catena/boxed", "bounds and w differ in size");
  for (std::size_t k = 0; k < extras.boxed_w.size(); ++k)
    if (!(extras.boxed_lower[k] <= extras.boxed_upper[k]))
      in.refuse("/catena/boxed/lower", "entry " + std::to_string(k) + " is above the upper bound");
  extras.boxed = to_rows(in.matrix("/catena/boxed/H", n_v, n_boxed, " by boxed/w"), true);
  if (file.exists("/catena/shift")) {
    extras.shift = in.vector("/catena/shift", out.n_contacts());
    for (std::size_t c = 0; c < extras.shift.size(); ++c)
      if (!(extras.shift[c] >= 0.0))
        in.refuse("/catena/shift", "entry " + std::to_string(c) + " is negative");
  }
  read_couples(in, out, extras.couples);
}

void read_global(const Reader& in, FclibFile& out) {
  const std::string root = "/fclib_global";
  out.f = in.vector(root + "/vectors/f", -1);
  out.w = in.vector(root + "/vectors/w", -1);
  const auto n_v = std::ssize(out.f);
  const auto n_rows = std::ssize(out.w);
  out.mu = read_friction(in, root, n_rows, root + "/vectors/w");
  out.mass = to_rows(in.matrix(root + "/M", n_v, n_v, " by vectors/f"), false);
  out.h_transposed =
      to_rows(in.matrix(root + "/H", n_v, n_rows, " by vectors/f and vectors/w"), true);
  out.g_transposed.n_columns = n_v;
  if (in.file().exists(root + "/G")) {
    out.b = in.vector(root + "/vectors/b", -1);
    const auto n_b = std::ssize(out.b);
    out.g_transposed =
        to_rows(in.matrix(root + "/G", n_v, n_b, " by vectors/f and vectors/b"), true);
  }
  read_extras(in, out);
}

void read_info(const Reader& in, const std::string& root, FclibFile& out) {
  out.title = in.file().read_text(root + "/info/title");
  out.description = in.file().read_text(root + "/info/description");
  out.math_info = in.file().read_text(root + "/info/math_info");
}

}  // namespace

std::span<const Index> SparseRows::columns_of(std::int64_t row) const {
  return std::span(column).subspan(row_begin[row], row_begin[row + 1] - row_begin[row]);
}

std::span<const double> SparseRows::values_of(std::int64_t row) const {
  return std::span(value).subspan(row_begin[row], row_begin[row + 1] - row_begin[row]);
}

void Triplets::add(std::int64_t i, std::int64_t j, double x) {
  row.push_back(narrow<std::int32_t>(i));
  column.push_back(narrow<std::int32_t>(j));
  value.push_back(x);
}

SparseRows to_rows(const Triplets& t, bool transpose) {
  const std::vector<std::int32_t>& line = transpose ? t.column : t.row;
  const std::vector<std::int32_t>& across = transpose ? t.row : t.column;
  const std::size_t n_lines = transpose ? t.n_columns : t.n_rows;
  std::vector<std::size_t> order(t.value.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(line[a], across[a]) < std::pair(line[b], across[b]);
  });
  SparseRows rows;
  rows.n_columns = transpose ? t.n_rows : t.n_columns;
  rows.row_begin.assign(n_lines + 1, 0);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t e = order[k];
    if (k > 0 && line[e] == line[order[k - 1]] && across[e] == across[order[k - 1]]) {
      rows.value.back() += t.value[e];
      continue;
    }
    rows.column.push_back(across[e]);
    rows.value.push_back(t.value[e]);
    ++rows.row_begin[line[e] + 1];
  }
  std::partial_sum(rows.row_begin.begin(), rows.row_begin.end(), rows.row_begin.begin());
  return rows;
}

FclibFile read_fclib_file(const std::string& path) {
  const Reader in(path);
  FclibFile out;
  out.local = in.file().exists("/fclib_local");
  out.has_guess = in.file().exists("/guesses/1/r");
  if (in.file().exists("/fclib_global_rolling"))
    in.refuse("/fclib_global_rolling", "rolling friction (5 rows per contact) is not supported");
  if (!out.local && !in.file().exists("/fclib_global"))
    in.refuse("/", "holds neither fclib_local nor fclib_global: not an FCLIB problem");
  const std::string root = out.local ? "/fclib_local" : "/fclib_global";
  const std::int64_t dimension = in.scalar(root + "/spacedim");
  if (dimension != 3)
    in.refuse(root + "/spacedim", "is " + std::to_string(dimension) + ", only 3 is supported");
  if (out.local) {
    read_local(in, out);
  } else {
    read_global(in, out);
  }
  read_info(in, root, out);
  if (std::ssize(out.f) > kMaxIndex) in.refuse(root, "has more than 2^31 velocities");
  return out;
}

}  // namespace catena
