// The description of the keys of motions, insertion, outflow and the periodic box, and what may
// not be combined.
#include <algorithm>
#include <cmath>

#include "scenarios/flow_parts.hpp"
#include "scenarios/joint_parts.hpp"

namespace catena {

namespace {

using scenarios::kMaxBodies;
using scenarios::numbers;

bool all_set(std::span<const double> values) {
  return std::none_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
}

void describe_harmonic(SettingsVisitor& visit, Harmonic& s) {
  visit.visit("amplitude", numbers(s.amplitude), {.unit = "m", .help = "of the translation"});
  visit.visit("angle_amplitude", numbers(s.angle_amplitude),
              {.unit = "rad", .help = "of the rotation vector"});
  visit.visit("frequency", s.frequency, {.unit = "Hz", .min = 0, .required = true, .help = "f"});
  visit.visit("phase", s.phase,
              {.unit = "rad", .help = "adds amplitude (sin(2 pi f t + phase) - sin(phase))"});
}

/// A box between two corners.
void describe_corners(SettingsVisitor& visit, Vec3& lower, Vec3& upper, bool finite) {
  const SettingInfo info{.unit = "m", .required = true, .finite = finite, .help = "corner"};
  visit.visit("lower", numbers(lower), info);
  visit.visit("upper", numbers(upper), info);
  if (!(lower.array() <= upper.array()).all() && !lower.hasNaN() && !upper.hasNaN()) {
    visit.reject("upper", "lies below `lower`", "give the lower corner first");
  }
}

void describe_rates(SettingsVisitor& visit, InsertionSettings& s) {
  visit.visit("number_rate", s.number_rate,
              {.unit = "1/s", .min = 0, .min_open = true, .help = "bodies per second"});
  visit.visit("mass_rate", s.mass_rate,
              {.unit = "kg/s", .min = 0, .min_open = true, .help = "in place of number_rate"});
  const bool by_number = !std::isnan(s.number_rate), by_mass = !std::isnan(s.mass_rate);
  if (!by_number && !by_mass) {
    visit.reject("", "has no rate", "give number_rate or mass_rate");
  } else if (by_number && by_mass) {
    visit.reject("mass_rate", "stands beside number_rate", "give one of the two");
  }
  visit.visit("count", s.count,
              {.min = 1,
               .max = kMaxBodies,
               .required = true,
               .help = "most bodies; their ids are reserved from the start"});
  visit.visit("start", s.start, {.unit = "s", .min = 0, .help = "of the inflow"});
  visit.visit("end", s.end,
              {.unit = "s",
               .min = 0,
               .finite = false,
               .help = "of the inflow; bodies still due come when there is room"});
  if (s.end < s.start) visit.reject("end", "lies before `start`", "");
}

}  // namespace

namespace scenarios {

void describe_interpolation(SettingsVisitor& visit, Interpolation& interpolation) {
  visit.choose(
      "interpolation", interpolation, kInterpolationNames,
      {.help = "between the rows: `monotone`: smooth, never beyond the two rows around; "
               "`linear`: straight, speeds jump at the rows; `cubic`: smooth, may overshoot "
               "(see \"Tables over time\" above)"});
}

namespace {

constexpr std::string_view kMotionValues[] = {"displacement", "absolute"};

void describe_motion_rows(SettingsVisitor& visit, MotionSettings& s) {
  visit.visit(
      "file", s.file,
      {.help = "CSV with the columns t, x, y, z and optionally rx, ry, rz; before the first "
               "and after the last row the body rests there"});
  visit.rows(
      "rows", s.rows, s.columns,
      {.unit = "m",
       .first_unit = "s",
       .help = "the same in the case: t in s, ascending, x, y, z in m and optionally rx, ry, "
               "rz in rad"});
  if (s.file.empty() == s.rows.empty()) {
    visit.reject("", s.file.empty() ? "nothing is given" : "has a file and rows",
                 "give rows or file");
    return;
  }
  if (s.rows.empty()) return;
  if (s.columns != 4 && s.columns != 7) {
    visit.reject("rows", "has " + std::to_string(s.columns) + " columns",
                 "give t, x, y, z, or these and rx, ry, rz");
    return;
  }
  for (std::size_t i = s.columns; i < s.rows.size(); i += s.columns) {
    if (s.rows[i] > s.rows[i - s.columns]) continue;
    visit.reject("rows", "times do not ascend", "sort the rows by time");
    return;
  }
}

void describe_motion_table(SettingsVisitor& visit, MotionSettings& s, const BodySettings* body) {
  describe_motion_rows(visit, s);
  int values = s.parts.absolute ? 1 : 0;
  visit.choice("values", values, kMotionValues,
               {.help = "`displacement`: from the body's position and orientation at the start; "
                        "`absolute`: its position itself, m, and, where the rows have rx, ry, rz, "
                        "its orientation as a rotation vector, rad"});
  s.parts.absolute = values == 1;
  describe_interpolation(visit, s.parts.table.interpolation);
  if (!s.parts.absolute) return;
  if (body == nullptr) {
    visit.reject("values", "`absolute` says where one body is, and a generator makes many",
                 "give displacements");
  } else if (!s.parts.about_origin) {
    visit.reject("values", "`absolute` stands beside `about`, which moves the body as well",
                 "leave out about, or give displacements");
  } else if (!body->position.isZero(0.0)) {
    visit.reject("values", "`absolute` stands beside the body's `position`, which it replaces",
                 "leave out position, or give displacements");
  }
}

}  // namespace

void describe_motion(SettingsVisitor& visit, MotionSettings& s, const BodySettings* body) {
  const char* help =
      body != nullptr
          ? "makes the body kinematic: it moves as told, whatever pushes; the parts add up"
          : "makes its bodies kinematic, each from its own place as `bodies[].motion` says";
  const char* about = body != nullptr
                          ? "point that the body turns about, which the translation takes "
                            "along; else its position"
                          : "point that the bodies turn about, which the translation takes along; "
                            "else each about its position, and a container about its `origin`";
  visit.optional_section("motion", s.present, {.help = help}, [&] {
    visit.visit("velocity", numbers(s.parts.velocity), {.unit = "m/s", .help = "constant"});
    visit.visit("angular_velocity", numbers(s.parts.angular_velocity),
                {.unit = "rad/s", .help = "constant, world frame"});
    Vec3 point = s.parts.about_origin ? Vec3::Constant(kNone) : s.parts.about;
    visit.visit("about", numbers(point), {.unit = "m", .help = about});
    s.parts.about_origin = !all_set(numbers(point));
    if (!s.parts.about_origin) s.parts.about = point;
    visit.list(
        "harmonics", s.parts.harmonics.size(), {.help = "shakers and swings"},
        [&](std::size_t n) { s.parts.harmonics.assign(n, {}); },
        [&](std::size_t i) { describe_harmonic(visit, s.parts.harmonics[i]); });
    bool has_table = s.has_table();
    visit.optional_section("table", has_table, {.help = "motion over time, from rows or a file"},
                           [&] { describe_motion_table(visit, s, body); });
  });
}

void describe_inflow(SettingsVisitor& visit, const SceneSettings& scene, InsertionSettings& s) {
  describe_sizes(visit, s.sizes);
  visit.section("region", {.required = true, .help = "box that new bodies lie in whole"},
                [&] { describe_corners(visit, s.lower, s.upper, true); });
  describe_rates(visit, s);
  visit.visit("velocity", numbers(s.velocity), {.unit = "m/s", .help = "of every new body"});
  visit.visit("angular_velocity", numbers(s.angular_velocity),
              {.unit = "rad/s", .help = "of every new body, world frame"});
  visit.visit("random_orientation", s.random_orientation,
              {.help = "uniform over all orientations; in two dimensions over all turns"});
  visit.visit("attempts", s.attempts,
              {.min = 1,
               .max = 1000,
               .help = "places drawn for a body in a step; if all are taken it waits"});
  visit.visit("seed", s.seed,
              {.min = 0,
               .word = "case",
               .word_value = -1,
               .help = "of sizes and places; `case`: follows from the case's seed"});
  if (scene.dimension == 2 &&
      (s.velocity[1] != 0.0 || s.angular_velocity[0] != 0.0 || s.angular_velocity[2] != 0.0)) {
    visit.reject(s.velocity[1] != 0.0 ? "velocity" : "angular_velocity",
                 "leaves the plane of two dimensions", "move along x and z, turn about y");
  }
}

}  // namespace scenarios

namespace {

constexpr std::string_view kAxes[] = {"x", "y", "z"};

void describe_gravity_table(SettingsVisitor& visit, SceneSettings& s) {
  GravityTableSettings& table = s.gravity_table;
  visit.optional_section(
      "gravity_table", table.present,
      {.help = "gravity over time, in place of `gravity`: straight between its rows, constant "
               "before and after them"},
      [&] {
        std::size_t width = 4;
        visit.visit("file", table.file, {.help = "CSV with the columns t, gx, gy, gz, in SI"});
        visit.rows("rows", table.rows, width,
                   {.unit = "m/s^2",
                    .first_unit = "s",
                    .help = "t in s, ascending, and the three components"});
        table.place = visit.where("");
        if (table.file.empty() == table.rows.empty()) {
          visit.reject("", table.file.empty() ? "nothing is given" : "has a file and rows",
                       "give rows or file");
        }
        for (std::size_t i = width; i < table.rows.size(); i += width) {
          if (table.rows[i] > table.rows[i - width]) continue;
          visit.reject("rows", "times do not ascend", "sort the rows by time");
          return;
        }
      });
  // the printed case has the default beside the table
  if (table.present && s.gravity != SceneSettings().gravity)
    visit.reject("gravity_table", "stands beside gravity", "give one of the two");
}

void describe_shear(SettingsVisitor& visit, const SceneSettings& scene, ShearSettings& s) {
  visit.optional_section(
      "shear", s.present,
      {.help = "Lees and Edwards: the images beyond the sides across move along, so that the box "
               "shears without walls"},
      [&] {
        visit.visit(
            "rate", s.rate,
            {.unit = "1/s", .required = true, .help = "of the velocity along, per m across"});
        visit.choice("along", s.along, kAxes, {.help = "direction of the velocity"});
        visit.choice("across", s.across, kAxes, {.help = "direction in which it grows"});
        if (s.along == s.across)
          visit.reject("across", "is the same direction as along",
                       "a shear needs two; the box would change its size");
        for (const int axis : {s.along, s.across}) {
          if (scene.periodic.along(axis)) continue;
          const std::string name(kAxes[axis]);
          visit.reject(axis == s.along ? "along" : "across",
                       "the box is not periodic along " + name, "give periodic." + name);
          return;
        }
      });
}

/// A stress needs a volume: sides in all directions.
void check_cell_stress(SettingsVisitor& visit, const SceneSettings& scene) {
  for (int k = 0; k < 3; ++k) {
    if (scene.periodic.along(k) || (k == 1 && scene.dimension == 2)) continue;
    visit.reject("stress", "the box is not periodic along " + std::string(kAxes[k]),
                 "a cell's stress needs sides in all directions: give periodic." +
                     std::string(kAxes[k]) + ", or a strain_rate");
    return;
  }
}

void describe_drive(SettingsVisitor& visit, const SceneSettings& scene, CellDriveSettings& s) {
  visit.visit("strain_rate", s.strain_rate,
              {.unit = "1/s",
               .help = "change of length over the present length (true strain): negative where "
                       "the box shrinks"});
  visit.visit("stress", s.stress,
              {.unit = "Pa",
               .help = "in place of a rate: the mean normal stress that the sides follow, "
                       "compression positive, that of contacts and motion (docs/theory.md, "
                       "Periodic boxes)"});
  visit.visit("max_strain_rate", s.max_strain_rate,
              {.unit = "1/s", .min = 0, .min_open = true, .help = "stress: no faster than this"});
  visit.visit("gain", s.gain,
              {.min = 0,
               .max = 1,
               .min_open = true,
               .help = "stress: part of the error that a step takes back, by the stiffness of "
                       "the loaded contacts"});
  scenarios::describe_factor(visit, s.table);
  s.place = visit.where("");
  const bool by_rate = !std::isnan(s.strain_rate), by_stress = !std::isnan(s.stress);
  if (by_rate == by_stress) {
    visit.reject(by_rate ? "stress" : "",
                 by_rate ? "stands beside strain_rate" : "has neither strain_rate nor stress",
                 "give one of the two");
    return;
  }
  if (by_stress) {
    check_cell_stress(visit, scene);
    if (std::isnan(s.max_strain_rate))
      visit.reject("max_strain_rate", "missing", "a stress is followed no faster than it says");
  } else if (!std::isnan(s.max_strain_rate) || s.gain != CellDriveSettings().gain) {
    visit.reject(std::isnan(s.max_strain_rate) ? "gain" : "max_strain_rate",
                 "is not for a strain_rate", "it is for a stress: remove it");
  }
}

void describe_deform(SettingsVisitor& visit, const SceneSettings& scene, PeriodicSettings& box) {
  visit.optional_section(
      "deform", box.deforms,
      {.help = "the box deforms, and all that moves freely in it with it (affinely)"}, [&] {
        bool any = false;
        for (int k = 0; k < 3; ++k) {
          CellDriveSettings& drive = box.deform[static_cast<std::size_t>(k)];
          visit.optional_section(kAxes[k], drive.present,
                                 {.help = "the rate of strain along it, or the stress"},
                                 [&] { describe_drive(visit, scene, drive); });
          any = any || drive.present;
          if (drive.present && !box.along(k))
            visit.reject(kAxes[k], "the box is not periodic along " + std::string(kAxes[k]),
                         "give periodic." + std::string(kAxes[k]));
        }
        if (!any) visit.reject("", "names no direction", "give some of x, y and z");
      });
}

void describe_periodic(SettingsVisitor& visit, SceneSettings& s) {
  PeriodicSettings& box = s.periodic;
  const std::pair<std::string_view, std::array<double, 2>*> sides[] = {
      {"x", &box.x}, {"y", &box.y}, {"z", &box.z}};
  bool any = false;
  for (const auto& [key, side] : sides) {
    visit.visit(key, *side, {.unit = "m", .help = "lower and upper side"});
    any = any || all_set(*side);
    if (all_set(*side) && !((*side)[0] < (*side)[1]))
      visit.reject(key, "does not ascend", "give the lower side first");
  }
  if (!any) visit.reject("", "names no direction", "give some of x, y and z");
  if (all_set(box.y) && s.dimension == 2)
    visit.reject("y", "two dimensions have no y", "remove it");
  describe_shear(visit, s, box.shear);
  describe_deform(visit, s, box);
}

}  // namespace

void describe_space(SettingsVisitor& visit, SceneSettings& s) {
  visit.visit("dimension", s.dimension,
              {.min = 2, .max = 3, .help = "2: bodies move in the x-z plane and turn about y"});
  visit.visit("gravity", numbers(s.gravity), {.unit = "m/s^2", .help = "world frame"});
  if (s.dimension == 2 && s.gravity[1] != 0.0) {
    visit.reject("gravity", "has a component along y, out of the plane of two dimensions",
                 "set it to zero, or dimension to 3");
  }
  describe_gravity_table(visit, s);
  visit.optional_section(
      "periodic", s.periodic.present,
      {.help = "the scene repeats itself; bodies that start outside are put to their place inside"},
      [&] { describe_periodic(visit, s); });
}

void describe_outflow(SettingsVisitor& visit, SceneSettings& s) {
  visit.list(
      "outflow", s.outflow.size(),
      {.help =
           "dynamic bodies whose centre lies in one of these boxes leave the scene; bodies that "
           "joints or springs connect leave together, with these, once the centre of each has "
           "been in a box, and stay if a joint or spring holds any of them to the world or to "
           "a fixed or moved body"},
      [&](std::size_t n) { s.outflow.assign(n, {}); },
      [&](std::size_t i) {
        OutflowSettings& region = s.outflow[i];
        visit.visit("name", region.name, {.required = true, .help = "unique among outflows"});
        describe_corners(visit, region.lower, region.upper, false);
        for (std::size_t k = 0; k < i; ++k) {
          if (!region.name.empty() && s.outflow[k].name == region.name) {
            visit.reject("name", "the name '" + region.name + "' is taken", "choose another");
          }
        }
      });
}

}  // namespace catena
