#include "io/fclib/body_map.hpp"

#include <algorithm>
#include <numeric>

#include "catena/base/error.hpp"

namespace catena {
namespace {

/// A dense inverse of more velocities would not fit beside the rest.
constexpr Index kLargestBody = 6000;

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

}  // namespace

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

}  // namespace catena
