// A simulation as Python holds it.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catena/simulation/simulation.hpp"
#include "ranks.hpp"

namespace catena::python {

using Doubles = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Integers = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

/// A catena::Simulation with what Python adds: callbacks that are given with each step, and the
/// announcement of collective calls (Ranks). Arrays are copies. Until close() everything but what
/// is called local is collective.
class Core {
 public:
  /// `checkpoint`: that the case goes on from; empty: none.
  static std::unique_ptr<Core> of_file(std::shared_ptr<Ranks> ranks, const std::string& path,
                                       const std::string& checkpoint);
  /// The case as text; paths in it are relative to `folder`.
  static std::unique_ptr<Core> of_text(std::shared_ptr<Ranks> ranks, const std::string& text,
                                       const std::string& folder, const std::string& checkpoint);
  Core(std::shared_ptr<Ranks> ranks, const CaseSettings& settings, const std::string& checkpoint);

  /// Local. Frees the simulation; what is called afterwards is an Error.
  void close();
  bool closed() const { return simulation_ == nullptr; }

  /// One step; `before` and `after` are functions without arguments or None. What they raise, and
  /// a KeyboardInterrupt, is raised on its rank.
  void step(const py::object& before, const py::object& after);
  /// All steps that are left, with output. Returns an exit code (docs/cli.md).
  int run(const std::string& directory, bool force, bool quiet, const std::string& command_line,
          const py::object& before, const py::object& after);
  void checkpoint(const std::string& path);

  /// As text of the keys of one of `bodies` or `joints`; files are relative to `folder`. What the
  /// last step did can be read no more. All return or take ids.
  GlobalId add_body(const std::string& text, const std::string& folder);
  GlobalId add_joint(const std::string& text);
  /// Refuses a body that joints hold.
  void remove_body(GlobalId body);
  void remove_joint(GlobalId joint);

  /// Local. `function`: for errors.
  Simulation& simulation(const char* function = "");
  /// The same, announced to the other ranks.
  Simulation& enter(const char* function, const CallHash& arguments = {});

  /// Values of series_columns after a step.
  std::vector<double> report();
  SolveReport solve_report();
  py::dict contacts();
  py::dict joint_place(GlobalId id);
  /// Of the last step.
  py::dict joint_forces(GlobalId id);
  void set_loads(const Integers& ids, const Doubles& forces, const Doubles& torques);

 private:
  class Calls;
  void take_callbacks();
  void call(const py::object& callback, const char* when);
  /// Whether what the last step left can be read.
  bool shows_step() const { return stepped_ && simulation_->shows_last_step(); }
  void need_step();
  template <class Work>
  void guarded(const py::object& before, const py::object& after, Work work);

  std::shared_ptr<Ranks> ranks_;
  std::unique_ptr<Simulation> simulation_;
  py::object before_, after_;
  bool takes_callbacks_ = false;  ///< the simulation knows of them
  bool busy_ = false;             ///< a step is under way
  /// The last step was whole, and made by this simulation.
  bool stepped_ = false;
  std::optional<py::error_already_set> raised_;
};

/// Copies of numbers as an array of `rows` x `columns` (0: one dimension).
template <class Number, class Get>
py::array_t<Number> table(std::size_t rows, std::size_t columns, Get get) {
  std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(rows)};
  if (columns > 0) shape.push_back(static_cast<py::ssize_t>(columns));
  py::array_t<Number> made(shape);
  Number* out = made.mutable_data();
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < std::max<std::size_t>(columns, 1); ++k) *out++ = get(i, k);
  return made;
}

inline Doubles vector3(const Vec3& v) { return Doubles(3, v.data()); }
/// (w, x, y, z)
inline Doubles quaternion(const Quat& q) {
  const std::array<double, 4> numbers = {q.w(), q.x(), q.y(), q.z()};
  return Doubles(4, numbers.data());
}

}  // namespace catena::python
