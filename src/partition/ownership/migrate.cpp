#include <algorithm>
#include <numeric>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/id_index.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/partition/balance.hpp"
#include "partition/graph/curve.hpp"
#include "partition/ownership/joint_homes.hpp"

namespace catena {

namespace {

// The owned body at whose owner an impulse is kept. Impulses are held where their home is
// owned: if only one of the two is owned, it is the home, and nothing need be known of the
// other.
std::size_t home_among_owned(const ContactKey& key, const IdIndex& index,
                             const std::vector<BodyConstants>& bodies) {
  const Index at_a = index.find(key.a), at_b = index.find(key.b);
  const std::size_t a = at_a, b = at_b;
  CATENA_CHECK(at_a != kNoIndex || at_b != kNoIndex,
               "an impulse is held by the owner of its home body");
  if (at_b == kNoIndex) return a;
  if (at_a == kNoIndex) return b;
  return home_of(bodies[a], bodies[b]) == key.a ? a : b;
}

// What leaves for one rank: indices of bodies, impulses and couples.
struct Departure {
  std::vector<std::size_t> bodies;
  std::vector<std::size_t> impulses, couples;
  std::vector<std::vector<std::size_t>> lists;  ///< of each list that few bodies are in
};

std::vector<Departure> departures(const Bodies& bodies, const State& state,
                                  std::span<const int> rank, int n_ranks) {
  const auto target = [&](std::size_t body) { return rank[body]; };
  std::vector<Departure> to(n_ranks);
  std::size_t n_lists = 0;
  for_each_body_list([&](const char*, const auto&) { ++n_lists; }, state);
  for (Departure& departure : to) departure.lists.resize(n_lists);
  for (std::size_t i = 0; i < rank.size(); ++i) to[target(i)].bodies.push_back(i);
  const IdIndex index(bodies.constants);
  const auto target_of = [&](const ContactKey& key) {
    return target(home_among_owned(key, index, bodies.constants));
  };
  for (std::size_t k = 0; k < state.impulses.size(); ++k) {
    to[target_of(state.impulses[k].key)].impulses.push_back(k);
  }
  for (std::size_t k = 0; k < state.couples.size(); ++k) {
    to[target_of(state.couples[k].key)].couples.push_back(k);
  }
  std::size_t list = 0;
  for_each_body_list(
      [&](const char* name, const auto& items) {
        for (std::size_t k = 0; k < items.size(); ++k) {
          const Index owned = index.find(items[k].body);
          CATENA_CHECK(owned != kNoIndex, name);
          to[target(owned)].lists[list].push_back(k);
        }
        ++list;
      },
      state);
  return to;
}

// Number of bodies, each column's values, then numbers and items of impulses, couples and the lists
// that few bodies are in.
std::vector<std::byte> pack(const Departure& departure, const Bodies& bodies, const State& state) {
  Packer out;
  out.put(static_cast<std::uint64_t>(departure.bodies.size()));
  for_each_body_column(
      [&](const char*, const auto& column) {
        for (const std::size_t i : departure.bodies) out.put(column[i]);
      },
      bodies, state);
  out.put(static_cast<std::uint64_t>(departure.impulses.size()));
  for (const std::size_t k : departure.impulses) out.put(state.impulses[k]);
  out.put(static_cast<std::uint64_t>(departure.couples.size()));
  for (const std::size_t k : departure.couples) out.put(state.couples[k]);
  std::size_t list = 0;
  for_each_body_list(
      [&](const char*, const auto& items) {
        const std::vector<std::size_t>& leaving = departure.lists[list++];
        out.put(static_cast<std::uint64_t>(leaving.size()));
        for (const std::size_t k : leaving) out.put(items[k]);
      },
      state);
  return out.take();
}

void unpack(std::span<const std::byte> bytes, Bodies& bodies, State& state) {
  Unpacker in(bytes);
  const std::size_t n = in.get<std::uint64_t>();
  for_each_body_column([&](const char*, auto& column) { in.append_to(column, n); }, bodies, state);
  in.append_to(state.impulses, in.get<std::uint64_t>());
  in.append_to(state.couples, in.get<std::uint64_t>());
  for_each_body_list(
      [&](const char*, auto& items) { in.append_to(items, in.get<std::uint64_t>()); }, state);
}

// Brings every column into the order `from`: new[i] = old[from[i]].
void reorder(const std::vector<std::size_t>& from, Bodies& bodies, State& state) {
  for_each_body_column(
      [&](const char*, auto& column) {
        std::remove_reference_t<decltype(column)> ordered;
        ordered.reserve(from.size());
        for (const std::size_t i : from) ordered.push_back(column[i]);
        column = std::move(ordered);
      },
      bodies, state);
}

// Collective. Bodies along the curve, impulses and couples by key, what few bodies have by body.
void put_in_order(const Communicator& comm, Bodies& bodies, State& state) {
  const Aabb box = partition::curve_box(comm, state);
  const auto places = partition::curve_places(bodies, state, box);
  std::vector<std::size_t> from(places.size());
  std::iota(from.begin(), from.end(), std::size_t{0});
  std::ranges::sort(from, [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
  reorder(from, bodies, state);
  const auto by_key = [](const auto& a, const auto& b) { return a.key < b.key; };
  std::sort(state.impulses.begin(), state.impulses.end(), by_key);
  std::sort(state.couples.begin(), state.couples.end(), by_key);
  for_each_body_list(
      [](const char*, auto& items) {
        std::ranges::sort(items, [](const auto& a, const auto& b) { return a.body < b.body; });
      },
      state);
}

// Collective. Joints follow the bodies that they are held with.
void take_joints_along(const Communicator& comm, Bodies& bodies, State& state) {
  bodies.links = {};
  if (comm.sum(std::ssize(bodies.joints)) == 0) return;
  partition::JointWhereabouts where = partition::find_joint_bodies(comm, bodies);
  partition::bring_joints_home(comm, bodies, state, where);
  partition::connect_joints(comm, bodies, where);
}

}  // namespace

std::int64_t migrate(const Communicator& comm, Bodies& bodies, State& state,
                     std::span<const int> part, int n_parts) {
  std::vector<int> rank(part.size());
  std::transform(part.begin(), part.end(), rank.begin(),
                 [&](int p) { return rank_of_part(p, n_parts, comm.size()); });
  return migrate(comm, bodies, state, part, rank);
}

std::int64_t migrate(const Communicator& comm, Bodies& bodies, State& state,
                     std::span<const int> part, std::span<const int> rank) {
  std::vector<Parcel> out;
  std::int64_t leaving = 0;
  all_or_none(comm, [&] {
    CATENA_CHECK(part.size() == bodies.constants.size() && rank.size() == part.size(),
                 "a part and a rank for each body");
    state.subdomain.assign(part.begin(), part.end());
    for_each_body_column(
        [&](const char* name, const auto& column) {
          CATENA_CHECK(column.size() == part.size(), name);
        },
        bodies, state);
    CATENA_CHECK(state.joints.size() == bodies.joints.size(), "a state for each joint");
    const auto to = departures(bodies, state, rank, comm.size());
    for (int r = 0; r < comm.size(); ++r) {
      const Departure& departure = to[r];
      if (departure.bodies.empty()) continue;
      if (r != comm.rank()) leaving += std::ssize(departure.bodies);
      out.push_back({r, pack(departure, bodies, state)});
    }
  });
  // Those that stay travel through a parcel to oneself: one path for all.
  for_each_body_column([](const char*, auto& column) { column.clear(); }, bodies, state);
  state.impulses.clear();
  state.couples.clear();
  for_each_body_list([](const char*, auto& items) { items.clear(); }, state);
  for (const Parcel& parcel : comm.exchange(std::move(out))) unpack(parcel.bytes, bodies, state);
  put_in_order(comm, bodies, state);
  take_joints_along(comm, bodies, state);
  return comm.sum(leaving);
}

}  // namespace catena
