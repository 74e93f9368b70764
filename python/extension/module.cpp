// The extension module catena._core: what catena.Simulation (python/catena/simulation.py) calls.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/units.hpp"
#include "catena/base/version.hpp"
#include "catena/simulation/series.hpp"
#include "core.hpp"
#include "ranks.hpp"

namespace catena::python {
namespace {

/// Errors of the library become catena.CatenaError.
void raise_error(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const Error& error) {
    const py::object type = py::module_::import("catena.errors").attr("CatenaError");
    const py::object made = type.attr("of_program")(error.found(), error.where(), error.fix(),
                                                    static_cast<int>(error.code()));
    PyErr_SetObject(type.ptr(), made.ptr());
  }
}

Ranks make_ranks(const std::optional<int>& fortran_handle, const Ranks* first) {
  return Ranks(fortran_handle ? Communicator::from_fortran(*fortran_handle) : Communicator::world(),
               first);
}

Vec3 vector_of(const Doubles& numbers, const char* what) {
  if (numbers.size() != 3)
    throw Error("has " + std::to_string(numbers.size()) + " numbers", what, "give three");
  return Vec3::Map(numbers.data());
}

py::object own_bodies_ids(Core& core) {
  const Simulation& sim = core.simulation("Simulation.ids");
  return table<std::int64_t>(sim.bodies().size(), 0, [&](std::size_t i, std::size_t) {
    return sim.bodies().constants[i].id;
  });
}

/// A column of this rank's bodies: `get(state, k)` is number k of `width`.
template <class Get>
py::object own_bodies(Core& core, const char* what, std::size_t width, Get get) {
  const Simulation& sim = core.simulation(what);
  return table<double>(sim.bodies().size(), width,
                       [&](std::size_t i, std::size_t k) { return get(sim.state().body[i], k); });
}

void bind_ranks(py::module_& m) {
  py::class_<Ranks, std::shared_ptr<Ranks>>(
      m, "Ranks", "Ranks that run one program, of a communicator's Fortran handle or of all.")
      .def(py::init(&make_ranks), py::arg("fortran_handle") = py::none(),
           py::arg("first") = py::none())
      .def_property_readonly("all_of_program", &Ranks::all_of_program)
      .def_property_readonly("rank", [](const Ranks& r) { return r.communicator().rank(); })
      .def_property_readonly("size", [](const Ranks& r) { return r.communicator().size(); })
      .def_property_readonly(
          "fortran_handle", [](const Ranks& r) { return r.communicator().fortran_handle(); },
          "Of the communicator that the simulation uses, a duplicate of the one given.")
      .def("together", &Ranks::together, py::arg("what"), py::arg("work"),
           "Collective. Calls work(); what it raises on one rank is an error on all.")
      .def("leave", &Ranks::leave, "Collective, the last of all calls.")
      .def_property_readonly("exit_status", &Ranks::exit_status,
                             "By which a rank asked for the end in together(); 0: none has.")
      .def(
          "abort",
          [](const Ranks& r, int code, const std::string& text) {
            r.communicator().abort(code, text);
          },
          py::arg("code"), py::arg("text"), "Ends all ranks.");
}

void bind_bodies(py::class_<Core>& core) {
  core.def("ids", &own_bodies_ids)
      .def("positions",
           [](Core& c) {
             return own_bodies(c, "Simulation.positions", 3,
                               [](const BodyMotionState& s, auto k) { return s.pose.p[k]; });
           })
      .def("orientations",
           [](Core& c) {
             return own_bodies(c, "Simulation.orientations", 4,
                               [](const BodyMotionState& s, auto k) {
                                 return s.pose.q.coeffs()[(k + 3) % 4];  // stored x, y, z, w
                               });
           })
      .def("velocities",
           [](Core& c) {
             return own_bodies(c, "Simulation.velocities", 3,
                               [](const BodyMotionState& s, auto k) { return s.twist.v[k]; });
           })
      .def("angular_velocities",
           [](Core& c) {
             return own_bodies(c, "Simulation.angular_velocities", 3,
                               [](const BodyMotionState& s, auto k) { return s.twist.w[k]; });
           })
      .def("body_position",
           [](Core& c, GlobalId id) {
             auto& scene = c.enter("Body.position", CallHash().add(id)).scene();
             return vector3(scene.body_state(id).pose.p);
           })
      .def("body_orientation",
           [](Core& c, GlobalId id) {
             auto& scene = c.enter("Body.orientation", CallHash().add(id)).scene();
             return quaternion(scene.body_state(id).pose.q);
           })
      .def("body_velocity",
           [](Core& c, GlobalId id) {
             auto& scene = c.enter("Body.velocity", CallHash().add(id)).scene();
             return vector3(scene.body_state(id).twist.v);
           })
      .def("body_angular_velocity",
           [](Core& c, GlobalId id) {
             auto& scene = c.enter("Body.angular_velocity", CallHash().add(id)).scene();
             return vector3(scene.body_state(id).twist.w);
           })
      .def("body_mass",
           [](Core& c, GlobalId id) {
             return c.enter("Body.mass", CallHash().add(id)).scene().body_constants(id).mass;
           })
      .def("body_inertia", [](Core& c, GlobalId id) {
        auto& scene = c.enter("Body.inertia", CallHash().add(id)).scene();
        return vector3(scene.body_constants(id).inertia);
      });
}

void bind_setters(py::class_<Core>& core) {
  core.def("set_loads", &Core::set_loads)
      .def("set_load",
           [](Core& c, GlobalId id, const Doubles& force, const Doubles& torque) {
             const Vec3 f = vector_of(force, "force"), t = vector_of(torque, "torque");
             const CallHash hash =
                 CallHash().add(id).add(std::span(f.data(), 3)).add(std::span(t.data(), 3));
             c.enter("Body.set_load", hash).scene().set_load(id, f, t);
           })
      .def("set_velocity",
           [](Core& c, GlobalId id, const Doubles& velocity, const Doubles& angular_velocity) {
             const Vec3 v = vector_of(velocity, "velocity"),
                        w = vector_of(angular_velocity, "angular_velocity");
             const CallHash hash =
                 CallHash().add(id).add(std::span(v.data(), 3)).add(std::span(w.data(), 3));
             c.enter("Body.set_velocity", hash).scene().set_velocity(id, v, w);
           })
      .def("set_material",
           [](Core& c, GlobalId id, const std::string& material) {
             c.enter("Body.set_material", CallHash().add(id).add(material))
                 .scene()
                 .set_material(id, material);
           })
      .def("set_motor_target", [](Core& c, GlobalId id, double target, std::int64_t axis) {
        if (axis < 0 || axis >= static_cast<std::int64_t>(kJointAxes))
          throw Error("is " + std::to_string(axis), "axis", "0 or 1");
        c.enter("Joint.set_motor_target", CallHash().add(id).add(target).add(axis))
            .scene()
            .set_motor_target(id, target, axis);
      });
}

void bind_names(py::class_<Core>& core) {
  core.def("body",
           [](Core& c, const std::string& name) {
             return c.simulation("Simulation.body").scene().body(name);
           })
      .def("joint",
           [](Core& c, const std::string& name) {
             return c.simulation("Simulation.joint").scene().joint(name);
           })
      .def("ids_of",
           [](Core& c, const std::string& name) {
             return c.simulation("Simulation.ids_of").model().names.ids_of(name);
           })
      .def("name_of", [](Core& c, GlobalId id) {
        return c.simulation("Simulation.name_of").model().names.name_of(id);
      });
}

void bind_run(py::class_<Core>& core) {
  core.def("step", &Core::step)
      .def("run", &Core::run)
      .def("checkpoint", &Core::checkpoint)
      .def("add_body", &Core::add_body)
      .def("add_joint", &Core::add_joint)
      .def("remove_body", &Core::remove_body)
      .def("remove_joint", &Core::remove_joint)
      .def("close", &Core::close)
      .def_property_readonly("closed", &Core::closed)
      .def_property_readonly("time",
                             [](Core& c) { return c.simulation("Simulation.time").state().time; })
      .def_property_readonly(
          "step_count", [](Core& c) { return c.simulation("Simulation.step_count").state().step; })
      .def_property_readonly("n_steps",
                             [](Core& c) { return c.simulation("Simulation.n_steps").n_steps(); })
      .def_property_readonly(
          "step_length",
          [](Core& c) { return c.simulation("Simulation.step_length").settings().time.step; })
      .def_property_readonly(
          "name", [](Core& c) { return c.simulation("Simulation.name").settings().name; })
      .def_property_readonly(
          "stops_on_missed_tolerance",
          [](Core& c) {
            return c.simulation("Simulation.run").settings().step_solve.on_missed_tolerance ==
                   OnMissedTolerance::stop;
          })
      .def_property_readonly(
          "stop_reason",
          [](Core& c) { return c.simulation("Simulation.stop_reason").stop_reason(); })
      .def_property_readonly("warnings",
                             [](Core& c) { return c.simulation("Simulation.warnings").warnings(); })
      .def("report", &Core::report)
      .def("solve_status",
           [](Core& c) {
             const SolveReport report = c.solve_report();
             return std::pair(std::string(to_string(report.status)), report.reason);
           })
      .def("contacts", &Core::contacts)
      .def("joint_place", &Core::joint_place)
      .def("joint_forces", &Core::joint_forces)
      .def("measure", [](Core& c, const std::string& path) {
        Simulation& sim = c.simulation("Simulation.measure");
        const ProbeSet::Column column = sim.probes().find(path, "Simulation.measure");
        return ProbeSet::value(column, sim.state());
      });
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The library behind catena.Simulation: no interface of its own.";
  py::register_local_exception_translator(&raise_error);
  m.def("version", [] { return std::string(version()); });
  m.def("mpi_version", &mpi_version);
  m.def(
      "seconds", [](const std::string& text) { return parse_quantity(text, "s"); },
      "A duration as cases have it.");
  m.def("series_columns", [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (SeriesColumn& column : series_columns())
      all.emplace_back(std::move(column.name), std::move(column.unit));
    return all;
  });
  bind_ranks(m);
  py::class_<Core> core(m, "Simulation");
  core.def_static("of_file", &Core::of_file);
  core.def_static("of_text", &Core::of_text);
  bind_bodies(core);
  bind_setters(core);
  bind_names(core);
  bind_run(core);
}

}  // namespace catena::python
