#include "fuzz/inputs.hpp"

#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "catena/base/error.hpp"
#include "catena/io/checkpoint.hpp"
#include "catena/io/fclib.hpp"
#include "catena/io/info.hpp"
#include "catena/io/read_bytes.hpp"
#include "catena/simulation/rehearsal.hpp"
#include "catena/simulation/simulation.hpp"
#include "simulation/initial/find_checkpoint.hpp"

namespace catena::fuzz {

namespace {

namespace fs = std::filesystem;

/// Larger scenes are read and checked, not made.
constexpr GlobalId kMostBodies = 300;

/// A ball on what a file describes; the keys of its reader come after.
constexpr const char* kScene = R"(catena: 1
name: fuzz
materials: {m: {density: 1000, friction: 0.5}}
time: {step: 1 ms, end: 1 s}
)";
constexpr const char* kBall =
    "  - {name: ball, material: m, shape: {sphere: {radius: 0.3}}, position: [0, 0, 0.3]}\n";

/// Keys that read a file of coordinates.
std::vector<std::string> surface_readers(const std::string& file) {
  const std::string from = "{file: " + file + ", unit: m";
  std::vector<std::string> bodies;
  for (const std::string& shape : std::vector<std::string>{
           "fixed: true, shape: {mesh: " + from + ", open: true}}",
           "fixed: true, shape: {mesh: " + from + "}}", "shape: {hull: " + from + "}}",
           "shape: {hull: " + from + ", decompose: {pieces: 4}}}",
           "shape: {clump: " + from + ", spheres: 3}}"}) {
    bodies.push_back(std::string("bodies:\n") + kBall + "  - {name: b, material: m, " + shape +
                     "}\n");
  }
  return bodies;
}

/// Keys that read a file of rows.
std::vector<std::string> row_readers() {
  const std::string body = std::string("bodies:\n") + kBall + "  - {name: b, material: m, ";
  const std::string joint =
      body + "shape: {sphere: {radius: 0.1}}, position: [1, 0, 0]}\njoints:\n  - {name: j, ";
  return {
      body + "shape: {sphere: {radius: 0.1}}, motion: {table: {file: input.csv}}}\n",
      body + "fixed: true, shape: {heightfield: {file: input.csv, unit: m, spacing: [1, 1]}}}\n",
      body + "shape: {clump: {file: input.csv, unit: m}}}\n",
      "generators:\n  - table: {name: t, material: m, file: input.csv}\n",
      "gravity_table: {file: input.csv}\nbodies:\n" + std::string(kBall),
      joint +
          "type: revolute, between: [world, b], at: [1, 0, 0], axis: [0, 1, 0],\n"
          "     motor: {velocity: 1, table: {file: input.csv}}}\n",
      joint +
          "type: point_on_curve, between: [world, b], at: [1, 0, 0], curve: {file: input.csv}}\n",
  };
}

/// Throws std::logic_error for an error by which no input may be refused.
void judge(const Error& error) {
  const bool usual = error.code() == ExitCode::bad_input ||
                     error.code() == ExitCode::input_output || error.code() == ExitCode::blow_up;
  if (!usual) throw std::logic_error("an error of another kind: " + std::string(error.what()));
  // a run that blows up has no place in a file: its text names the step, and the body or the joint
  const bool placed = error.code() == ExitCode::blow_up || !error.where().empty();
  if (error.found().empty() || !placed)
    throw std::logic_error("an error without what or where: " + std::string(error.what()));
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> stored_numbers(const fs::path& file) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const auto add = [](hid_t root, const char* name, const H5O_info_t* info, void* out) -> herr_t {
    if (info->type != H5O_TYPE_DATASET) return 0;
    const hid_t data = H5Dopen2(root, name, H5P_DEFAULT);
    if (const haddr_t at = H5Dget_offset(data); at != HADDR_UNDEF && H5Dget_storage_size(data) > 0)
      static_cast<decltype(found)*>(out)->emplace_back(at, H5Dget_storage_size(data));
    H5Dclose(data);
    return 0;
  };
  H5Ovisit(id, H5_INDEX_NAME, H5_ITER_INC, add, &found);
  H5Fclose(id);
  return found;
}

Outcome try_input(const Kind& kind, std::string_view input) {
  try {
    kind.take(input);
  } catch (const Error& error) {
    judge(error);
    return Outcome::refused;
  }
  return Outcome::accepted;
}

Inputs::Inputs(const fs::path& sources, const fs::path& corpus)
    : folder_(fs::temp_directory_path() / ("catena-fuzz-" + std::to_string(getpid()))) {
  if (fs::is_directory("/dev/shm")) folder_ = fs::path("/dev/shm") / folder_.filename();
  fs::create_directories(folder_);
  make_results();
  const fs::path data = sources / "tests/data", seeds = folder_ / "seeds";
  const auto add = [&](const std::string& name, Form form, std::vector<fs::path> folders,
                       std::string_view ending, std::uintmax_t largest,
                       std::function<void(std::string_view)> take) {
    Kind kind{name, form, {}, std::move(take)};
    folders.push_back(corpus / name);
    for (const fs::path& folder : folders) {
      if (!fs::is_directory(folder)) continue;
      for (const auto& entry : fs::directory_iterator(folder)) {
        const bool fits = folder == corpus / name || entry.path().extension() == ending;
        if (entry.is_regular_file() && fits && entry.file_size() <= largest)
          kind.seeds.push_back(entry.path());
      }
    }
    std::sort(kind.seeds.begin(), kind.seeds.end());
    kinds_.push_back(std::move(kind));
  };
  const auto in_scenes = [this](const std::string& file, const std::vector<std::string>& readers) {
    return [this, file, readers](std::string_view input) {
      write(file, input);
      std::optional<Error> refusal;
      bool accepted = false;
      for (const std::string& keys : readers) {
        try {
          rehearse_case(kScene + keys);
          accepted = true;
        } catch (const Error& error) {
          judge(error);  // of every reader, also where another one accepts
          refusal = error;
        }
      }
      if (!accepted && refusal) throw *refusal;
    };
  };
  // files that these cases name lie beside them
  for (const fs::path& from : {sources / "configs/examples", data / "trials", data / "cases"}) {
    for (const auto& entry : fs::directory_iterator(from)) {
      const fs::path ending = entry.path().extension();
      if (ending == ".csv" || ending == ".obj" || ending == ".stl")
        fs::copy_file(entry.path(), folder_ / entry.path().filename(),
                      fs::copy_options::skip_existing);
    }
  }
  add("case", Form::text, {sources / "configs/examples", data / "trials", data / "cases"}, ".yaml",
      5000, [this](std::string_view input) { take_case(std::string(input)); });
  add("csv", Form::text, {data / "trials", data / "cases"}, ".csv", 4000,
      in_scenes("input.csv", row_readers()));
  add("stl", Form::bytes, {}, ".stl", 40000, in_scenes("input.stl", surface_readers("input.stl")));
  add("obj", Form::text, {sources / "configs/examples"}, ".obj", 8000,
      in_scenes("input.obj", surface_readers("input.obj")));
  add("fclib", Form::bytes, {data / "fclib", seeds / "fclib"}, ".hdf5", 30000,
      [this](std::string_view input) {
        const std::string path = write("input.hdf5", input);
        FclibInfo info;
        describe_file(path);
        const ConstraintProblem problem = read_fclib(Communicator::self(), path, info);
        if (info.has_guess) read_fclib_guess(path, problem);
        read_dumped_step(Communicator::self(), path);
      });
  add("checkpoint", Form::bytes, {seeds / "checkpoint"}, ".h5", 200000,
      [this](std::string_view input) {
        const std::string path = write("input.h5", input);
        describe_file(path);
        Checkpoint checkpoint = read_checkpoint(Communicator::self(), path);
        const CaseSettings settings = case_of(checkpoint.notes.config, path);
        Simulation(Communicator::self(), settings, checkpoint).step();
      });
  const std::string from_snapshot =
      std::string(kScene) +
      "generators:\n  - table: {name: t, material: m, file: result/snapshots/00000000.h5}\n";
  add("snapshot", Form::numbers, {seeds / "snapshot"}, ".h5", 200000,
      [=, this](std::string_view input) {
        describe_file(write("result/snapshots/00000000.h5", input));
        rehearse_case(from_snapshot);
      });
  add("bodies", Form::numbers, {seeds / "bodies"}, ".h5", 200000,
      [=, this](std::string_view input) {
        const std::string path = (folder_ / "result/bodies.h5").string(), sound = read_bytes(path);
        write("result/bodies.h5", input);
        try {
          describe_file(path);
          rehearse_case(from_snapshot);
        } catch (...) {
          write("result/bodies.h5", sound);
          throw;
        }
        write("result/bodies.h5", sound);
      });
}

Inputs::~Inputs() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

fs::path Inputs::write(const std::string& name, std::string_view content) const {
  const fs::path path = folder_ / name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

/// Reads a case and tries its first step.
void Inputs::rehearse_case(const std::string& text) const {
  rehearse(Communicator::self(), parse_case(text, "fuzz.yaml", folder_.string()), kMostBodies);
}

/// The same; and printed with all keys it must be the same case again.
void Inputs::take_case(const std::string& text) const {
  const CaseSettings settings = parse_case(text, "fuzz.yaml", folder_.string());
  const std::string printed = print_case(settings);
  std::string again;
  try {
    again = print_case(parse_case(printed, "printed.yaml", folder_.string()));
  } catch (const Error& error) {
    throw std::logic_error("a case that is accepted is refused as printed: " +
                           std::string(error.what()));
  }
  if (again != printed) throw std::logic_error("a case as printed is read as another one");
  rehearse(Communicator::self(), settings, kMostBodies);
}

/// Results, checkpoints and a dumped problem of this build, as seeds.
void Inputs::make_results() const {
  constexpr const char* kKeys = R"(bodies:
  - {name: floor, material: m, shape: {plane: {}}}
  - {name: box, material: m, shape: {box: {size: [0.2, 0.2, 0.2]}}, position: [0, 0, 0.0999]}
  - {name: rock, material: m, position: [1, 0, 0.1],
     shape: {hull: {vertices: [[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2]]}}}
  - {name: pair, material: m, shapes: [{sphere: {radius: 0.1}}, {sphere: {radius: 0.1}, at: [0.15, 0, 0]}],
     position: [0, 1, 0.1]}
joints:
  - {name: hinge, type: revolute, between: [box, rock], at: [0.5, 0, 0.5], axis: [0, 1, 0]}
output: {checkpoint_steps: 1, dump_interval: 2 ms}
)";
  CaseSettings settings = parse_case(std::string(kScene) + kKeys, "seed.yaml", folder_.string());
  settings.time.end = 2e-3;
  Simulation sim(Communicator::self(), settings);
  Log log(true, true);
  RunOptions options;
  options.directory = (folder_ / "result").string();
  sim.run(options, log);
  // seeds apart from what inputs are written over, in a folder a kind
  const fs::path result = folder_ / "result", seeds = folder_ / "seeds";
  for (const char* kind : {"fclib", "checkpoint", "bodies"}) fs::create_directories(seeds / kind);
  fs::copy(result / "snapshots", seeds / "snapshot");
  fs::copy_file(result / "bodies.h5", seeds / "bodies/bodies.h5");
  for (const auto& entry : fs::directory_iterator(result)) {
    const fs::path path = entry.path(), name = path.filename();
    if (name.string().starts_with("checkpoint")) fs::copy_file(path, seeds / "checkpoint" / name);
    if (path.extension() == ".hdf5") fs::copy_file(path, seeds / "fclib" / name);
  }
}

}  // namespace catena::fuzz
