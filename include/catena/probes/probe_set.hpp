// What a run measures at each of its steps (docs/probes.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/io/result_writer.hpp"
#include "catena/model/state.hpp"
#include "catena/probes/probe_settings.hpp"
#include "catena/scenarios/scene.hpp"
#include "catena/stepper/time_stepper.hpp"

namespace catena {

/// The probes of a case. Each measures quantities at the end of every step, which are the same on
/// every rank (and, with Model::deterministic, on any number of ranks), and keeps their mean, least
/// and largest value over its interval: State::probes holds all of that, so that a resumed run goes
/// on with it. Steps at which a quantity is not defined (the mean velocity of an empty region) are
/// left out of all three.
class ProbeSet {
 public:
  /// Throws Error with the probe's place for names that the model has not. All but `probes` must
  /// outlive it; `step` is h, s.
  ProbeSet(const Communicator& comm, const std::vector<ProbeSettings>& probes,
           const SceneSettings& scene, const Model& model, double step);
  ~ProbeSet();

  bool none() const;
  std::size_t size() const;
  const std::string& name(std::size_t probe) const;

  /// Makes the numbers of a state at the start of a run.
  void begin(State& state) const;
  /// Whether a state has the numbers of these probes.
  bool belongs_to(const State& state) const;

  /// Local. What probes have to know of a step's start.
  void before_step(const State& state);
  /// Collective. Measures the step just done and keeps it in state.probes.
  void after_step(const Bodies& bodies, State& state, const TimeStepper& stepper);

  /// Columns of a probe's rows, time and step first.
  std::vector<SeriesColumn> columns(std::size_t probe) const;
  /// Whether the step just done ended an interval of the probe.
  bool row_due(std::size_t probe, const State& state) const;
  void fill_row(std::size_t probe, const State& state, std::vector<double>& row) const;

  /// A column of a probe: place of its number in State::probes.
  struct Column {
    std::size_t number = 0;
    std::string unit;
  };
  /// The column that `path` names, "plate.force_z"; throws Error(found, `where`) with a near word.
  Column find(std::string_view path, const std::string& where) const;
  /// All paths.
  std::vector<std::string> paths() const;
  /// Of the last step, or of the last interval that is whole (_mean, _min, _max); NaN before.
  static double value(const Column& column, const State& state) {
    return state.probes[column.number];
  }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
