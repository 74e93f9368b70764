#include "simulation/run/run_profile.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <span>

#include "catena/base/timer.hpp"
#include "catena/base/version.hpp"
#include "catena/io/text_file.hpp"
#include "simulation/run/run_output.hpp"

namespace catena {

namespace {

/// CPU time of this process, s.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Largest resident memory of this process so far, bytes.
double peak_memory() {
  constexpr double kKilobyte = 1024.0;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double size = 0.0;
    if (word == "VmHWM:" && status >> size) return kKilobyte * size;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return kKilobyte * static_cast<double>(usage.ru_maxrss);
}

std::string member(std::string_view key, const std::string& value) {
  return json_string(key) + ": " + value;
}

std::string object(const std::vector<std::string>& members, const std::string& indent) {
  std::string text = "{";
  for (std::size_t i = 0; i < members.size(); ++i)
    text += (i > 0 ? ",\n" : "\n") + indent + "  " + members[i];
  return text + "\n" + indent + "}";
}

/// Least, mean and largest of entry `i` of each rank's `width` entries.
std::string spread_of(const std::vector<double>& all, std::size_t width, std::size_t i) {
  double least = all[i], largest = all[i], sum = 0.0;
  for (std::size_t k = i; k < all.size(); k += width) {
    least = std::min(least, all[k]);
    largest = std::max(largest, all[k]);
    sum += all[k];
  }
  const double mean = sum / static_cast<double>(all.size() / width);
  return "{\"min\": " + json_number(least) + ", \"mean\": " + json_number(mean) +
         ", \"max\": " + json_number(largest) + "}";
}

/// An object of spreads, by name; `all`: entries of each rank in the order of the names.
std::string spreads(std::span<const std::string_view> names, const std::vector<double>& all) {
  std::vector<std::string> members;
  for (std::size_t i = 0; i < names.size(); ++i)
    members.push_back(member(names[i], spread_of(all, names.size(), i)));
  return object(members, "  ");
}

}  // namespace

RunProfile::RunProfile(const Simulation& sim) : sim_(sim), start_(wall_seconds()) {
  seconds(RunPhase::setup) = sim.setup_seconds();
}

void RunProfile::start_loop() { seconds(RunPhase::output) += wall_seconds() - start_; }

void RunProfile::before_step() {
  step_start_ = wall_seconds();
  cpu_start_ = cpu_seconds();
  traffic_start_ = sim_.communicator().traffic();
  collectives_start_ = collective_count(sim_.communicator());
}

double RunProfile::after_step() {
  const double own_wall = wall_seconds() - step_start_;
  const double wall = sim_.communicator().max(own_wall);
  const StepReport& report = sim_.stepper().report();
  const StepTimes& times = report.times;
  const LoopTimes& loop = sim_.loop_times();
  const double passed = wall_seconds() - step_start_;
  steps_wall_ += passed;
  steps_cpu_ += cpu_seconds() - cpu_start_;
  // the set-up's seconds are the slowest rank's, the solve's this one's
  const double solve = times[StepStage::solve_impulses];
  const double solver_setup = std::min(report.solve.setup_s, solve);
  const double find = times[StepStage::find_contacts];
  const double rows = times[StepStage::assemble_problem];
  const double motion = times[StepStage::keep_impulses] + times[StepStage::audit_work] +
                        times[StepStage::advance_poses] + times[StepStage::project_joints];
  stages_ += times;
  seconds(RunPhase::contacts) += find;
  seconds(RunPhase::rows) += rows;
  seconds(RunPhase::solver_setup) += solver_setup;
  seconds(RunPhase::sweeps) += solve - solver_setup;
  seconds(RunPhase::motion) += motion;
  seconds(RunPhase::flow) += loop.flow;
  seconds(RunPhase::balance) += loop.balance;
  seconds(RunPhase::probes) += loop.probes;
  // what waits for the slowest rank at the step's end counts here
  seconds(RunPhase::checks) += wall_seconds() - step_start_ - loop.flow - loop.balance -
                               loop.probes - find - rows - solve - motion;

  ++steps_;
  if (report.solve.status != SolveStatus::converged) ++missed_;
  const std::int64_t iterations = report.solve.iterations;
  iterations_ += iterations;
  most_iterations_ = std::max(most_iterations_, iterations);
  contacts_ += static_cast<double>(report.contacts);
  const auto own = static_cast<double>(sim_.stepper().n_contacts());
  own_contacts_ += own;
  contact_updates_ += own * static_cast<double>(iterations);
  const ConstraintProblem& problem = sim_.stepper().problem();
  own_rows_ += static_cast<double>(problem.n_rows());
  for (const HaloPlan::Neighbour& neighbour : problem.ghosts.neighbours) {
    ghosts_ += static_cast<double>(neighbour.receive.size());
    shared_ += static_cast<double>(neighbour.send.size());
  }
  imbalance_ += sim_.imbalance();
  worst_imbalance_ = std::max(worst_imbalance_, sim_.imbalance());
  const TrafficCount& traffic = sim_.communicator().traffic();
  traffic_.messages += traffic.messages - traffic_start_.messages;
  traffic_.bytes += traffic.bytes - traffic_start_.bytes;
  traffic_.waited_s += traffic.waited_s - traffic_start_.waited_s;
  const CollectiveCount& collectives = collective_count(sim_.communicator());
  collectives_.blocking += collectives.blocking - collectives_start_.blocking;
  collectives_.posted += collectives.posted - collectives_start_.posted;
  collectives_.gathered_bytes += collectives.gathered_bytes - collectives_start_.gathered_bytes;
  return wall;
}

std::vector<RunProfile::Spread> RunProfile::rank_figures() const {
  const double steps = std::max(1.0, static_cast<double>(steps_));
  return {{"wall_s", sim_.setup_seconds() + wall_seconds() - start_},
          {"steps_wall_s", steps_wall_},
          {"steps_cpu_s", steps_cpu_},
          {"waited_s", traffic_.waited_s},
          {"bodies", static_cast<double>(sim_.bodies().size())},
          {"joints", static_cast<double>(sim_.bodies().joints.size())},
          {"contacts", own_contacts_ / steps},
          {"rows", own_rows_ / steps},
          {"contact_updates", contact_updates_},
          {"ghosts", ghosts_ / steps},
          {"shared", shared_ / steps},
          {"neighbours", static_cast<double>(sim_.stepper().problem().ghosts.neighbours.size())},
          {"messages", static_cast<double>(traffic_.messages)},
          {"bytes", static_cast<double>(traffic_.bytes)},
          {"collectives", static_cast<double>(collectives_.blocking)},
          {"posted_reductions", static_cast<double>(collectives_.posted)},
          {"gathered_bytes", static_cast<double>(collectives_.gathered_bytes)},
          {"peak_memory", peak_memory()}};
}

std::string RunProfile::text(std::string_view ended, const std::string& hosts,
                             const std::vector<std::string>& spread_members) const {
  const double steps = std::max(1.0, static_cast<double>(steps_));
  const auto number = [](auto value) { return json_number(static_cast<double>(value)); };
  const PartitionQuality& partition = sim_.partition();
  std::vector<std::string> members = {member("schema", "1"),
                                      member("case", json_string(sim_.settings().name)),
                                      member("ended", json_string(ended)),
                                      member("version", json_string(version())),
                                      member("git_hash", json_string(git_hash())),
                                      member("build", json_string(build_description())),
                                      member("hosts", json_string(hosts)),
                                      member("ranks", number(sim_.communicator().size())),
                                      member("step", number(sim_.state().step)),
                                      member("time", number(sim_.state().time)),
                                      member("steps", number(steps_)),
                                      member("steps_missed", number(missed_)),
                                      member("iterations", number(iterations_)),
                                      member("most_iterations", number(most_iterations_)),
                                      member("contacts_per_step", number(contacts_ / steps)),
                                      member("imbalance", number(imbalance_ / steps)),
                                      member("worst_imbalance", number(worst_imbalance_)),
                                      member("edge_cut", number(partition.edge_cut))};
  members.insert(members.end(), spread_members.begin(), spread_members.end());
  return object(members, "") + "\n";
}

void RunProfile::write(const std::string& directory, std::string_view ended) const {
  const Communicator& comm = sim_.communicator();
  std::vector<std::string_view> names;
  std::vector<double> own;
  for (const Spread& figure : rank_figures()) {
    names.push_back(figure.name);
    own.push_back(figure.value);
  }
  const std::vector<std::string> spread_members = {
      member("phases", spreads(kRunPhaseNames, comm.all_gather(seconds_))),
      member("stages", spreads(kStepStageNames, comm.all_gather(stages_.values()))),
      member("per_rank", spreads(names, comm.all_gather(own)))};
  const std::string hosts = host_names(comm);
  all_or_none(comm, [&] {
    if (comm.rank() == 0)
      write_text_file(directory + "/profile.json", text(ended, hosts, spread_members));
  });
}

}  // namespace catena
