#include "catena/simulation/memory_check.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/partition/plan.hpp"

namespace catena {

namespace {

/// Contacts of a settled grain, each counted once.
constexpr double kSettledContacts = 3.0;

/// The number behind `key` in a file of words; infinity where there is none.
double number_in(const char* file, const std::string& key, double unit) {
  std::ifstream in(file);
  double value = 0.0;
  if (key.empty()) return in >> value ? unit * value : std::numeric_limits<double>::infinity();
  for (std::string word; in >> word;)
    if (word == key && in >> value) return unit * value;
  return std::numeric_limits<double>::infinity();
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Collective. Per rank: 1 if it is on this rank's host.
std::vector<char> ranks_here(const Communicator& comm) {
  const auto key = static_cast<std::int64_t>(std::hash<std::string>{}(host_name()) >> 1);
  const std::array<std::int64_t, 1> own_key = {key};
  std::vector<char> here;
  for (const std::int64_t k : comm.all_gather(std::span<const std::int64_t>(own_key)))
    here.push_back(k == key ? 1 : 0);
  return here;
}

/// 1536 MiB is "1.5 GiB".
std::string size_text(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = bytes / (1024.0 * 1024.0);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return short_text(value, 3) + " " + kUnits[unit];
}

std::string ranks_text(const MemoryNeed& need) {
  return need.ranks == 1 ? "1 rank" : std::to_string(need.ranks) + " ranks";
}

/// The part of need.bodies that the elimination takes, where there is one.
std::string elimination_text(const MemoryNeed& need) {
  if (!(need.elimination > 0.0)) return "";
  return " (" + size_text(need.elimination) + " of it to eliminate mechanisms)";
}

/// Bonds that may come: one for each contact that bonded bodies would have as settled grains.
std::int64_t bonds_to_come(const SceneSettings& scene, const Model& model) {
  std::int64_t bodies = 0;
  for (const GeneratorSettings& g : scene.generators)
    if (const auto* bonds = std::get_if<BondSettings>(&g.kind))
      for (const std::string& name : bonds->between) bodies += model.names.ids_of(name).second;
  return std::llround(kSettledContacts * static_cast<double>(bodies));
}

}  // namespace

double available_memory() {
  const double host = number_in("/proc/meminfo", "MemAvailable:", 1024.0);
  // files in memory, which the kernel gives back when it runs short, count to neither
  const double limit = number_in("/sys/fs/cgroup/memory.max", "", 1.0);
  if (std::isinf(limit)) return host;
  const double own = number_in("/sys/fs/cgroup/memory.stat", "anon", 1.0);
  return std::min(host, std::isinf(own) ? limit : std::max(0.0, limit - own));
}

int ranks_on_host(const Communicator& comm) {
  return narrow<int>(std::ranges::count(ranks_here(comm), 1));
}

double memory_to_spare(int ranks_on_host) { return 0.5 * available_memory() / ranks_on_host; }

MemoryNeed memory_need(const Communicator& comm, const SceneSettings& scene, const Model& model,
                       double available, std::span<const double> elimination) {
  MemoryNeed need;
  const std::vector<char> here = ranks_here(comm);
  need.ranks = narrow<int>(std::ranges::count(here, 1));
  need.available = available;
  need.n_bodies = bodies_at_start(scene, model);
  need.n_joints = model.joint_names.size();

  const auto share = [&](std::int64_t n) { return (n + comm.size() - 1) / comm.size(); };
  const std::int64_t bodies = share(need.n_bodies), joints = share(need.n_joints);
  const auto contacts = static_cast<std::int64_t>(kSettledContacts * static_cast<double>(bodies));
  need.bodies = need.ranks * rank_memory(bodies, 0, 0, joints);
  const std::int64_t bonds = share(bonds_to_come(scene, model));
  need.settled = need.ranks * rank_memory(bodies, 0, contacts, joints + bonds);

  for (std::size_t r = 0; r < elimination.size(); ++r)
    if (here[r] != 0) need.elimination += elimination[r];
  need.bodies += need.elimination;
  need.settled += need.elimination;

  const double spare = need.available - need.bodies;
  const double least = comm.min(spare);
  const std::int64_t worst = comm.min(std::int64_t{spare == least ? comm.rank() : comm.size()});
  need.host = host_name();
  comm.broadcast(narrow<int>(worst), need.host);
  std::array<double, 5> numbers = {static_cast<double>(need.ranks), need.bodies, need.settled,
                                   need.available, need.elimination};
  if (comm.rank() != worst) numbers = {};
  comm.sum(numbers);
  need.ranks = static_cast<int>(numbers[0]);
  need.bodies = numbers[1];
  need.settled = numbers[2];
  need.available = numbers[3];
  need.elimination = numbers[4];
  return need;
}

void refuse_beyond_memory(const MemoryNeed& need) {
  if (need.bodies <= need.available) return;
  throw Error(
      "its " + std::to_string(need.n_bodies) + " bodies and " + std::to_string(need.n_joints) +
          " joints take " + size_text(need.bodies) + " at least" + elimination_text(need) +
          " on the " + ranks_text(need) + " of host " + need.host + ", which has " +
          size_text(need.available) + " available",
      "the scene",
      "run it on more hosts (catena plan CASE.yaml -n RANKS says what a rank would need), or "
      "make it smaller");
}

std::string memory_warning(const MemoryNeed& need) {
  if (need.settled <= need.available) return "";
  return "memory may not suffice: bodies and joints take " + size_text(need.bodies) +
         elimination_text(need) + " on the " + ranks_text(need) + " of host " + need.host + ", " +
         size_text(need.settled) + " once they touch as settled grains do; " +
         size_text(need.available) + " are available";
}

}  // namespace catena
