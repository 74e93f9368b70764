// A result directory: rows by id and key whatever the rank count, nothing overwritten, errors
// on every rank.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/io/info.hpp"
#include "catena/io/result_writer.hpp"
#include "io/hdf5/file.hpp"
#include "io/result/background_write.hpp"
#include "io/result/directory.hpp"

namespace catena {
namespace {

namespace fs = std::filesystem;

constexpr GlobalId kBodies = 40;
constexpr double kPlenty = 1e9;  ///< bytes
/// What a kill can leave: files half written, and what Open MPI keeps beside open ones.
constexpr std::array<const char*, 7> kUnfinished = {"snapshots/00000004.h5.part",
                                                    "snapshots/00000004.h5.part-1-10124.lock",
                                                    "snapshots/00000004.h5.part.locktest.1",
                                                    "bodies.h5.part.data.0",
                                                    "bodies.h5.part.metadata.0",
                                                    "checkpoint-00000004.h5.part",
                                                    "result.xdmf.part"};
const std::vector<SeriesColumn> kColumns = {
    {"time", "s"}, {"kinetic_energy", "J"}, {"contacts", ""}};

Vec3 position_of(GlobalId id) {
  return {static_cast<double>(id), 0.5 * static_cast<double>(id), -1.0};
}

/// A plane (id 0, unbounded) and spheres and boxes 1 .. kBodies-1, dealt without order; the
/// middle rank of three or more has none.
struct SmallRun {
  explicit SmallRun(const Communicator& comm) {
    model.materials = MaterialTable({{"glass", 2500.0, 0.5, 0.0}, {"steel", 7800.0, 0.3, 0.0}});
    model.names.add(0, 1, "floor", false);
    model.names.add(1, kBodies - 1, "grain", true);
    BodyRecord floor;
    floor.constants.id = 0;
    floor.constants.kind = BodyKind::fixed;
    floor.constants.shape = {ShapeType::plane, Vec3::Zero()};
    floor.constants.material = 1;
    model.unbounded = {floor};
    add_geometries();
    for (GlobalId id = kBodies - 1; id > 0; --id) {
      int owner = static_cast<int>((id * 7) % comm.size());
      if (comm.size() > 2 && owner == 1) owner = 0;
      if (owner != comm.rank()) continue;
      BodyConstants body;
      body.id = id;
      const bool box = id % 4 == 0;
      body.shape = box ? Shape{ShapeType::box, Vec3(0.1, 0.2, 0.3)}
                       : Shape{ShapeType::sphere, Vec3(0.01 * static_cast<double>(id), 0.0, 0.0)};
      if (id >= 33) body.shape = other_shape(id - 33);
      body.mass = 2.0 * static_cast<double>(id);
      body.inertia = Vec3(1.0, 2.0, 3.0);
      bodies.constants.push_back(body);
      BodyMotionState s;
      s.pose.p = position_of(id);
      s.pose.q = Quat(0.5, -0.5, 0.5, 0.5);
      s.twist.v = 2.0 * position_of(id);
      s.twist.w = Vec3(0.0, 0.0, static_cast<double>(id));
      state.body.push_back(s);
      for (int feature = 1; feature >= 0; --feature) {
        ContactRecord c;
        c.key = {0, id, feature, 0};
        c.point = position_of(id);
        c.normal = {0.0, 0.0, 1.0};
        c.gap = -1e-3 * static_cast<double>(id);
        c.impulse = {0.0, 0.0, static_cast<double>(id)};
        contacts.push_back(c);
      }
    }
    state.time = 0.25;
    state.step = 12;
  }
  /// A tetrahedron, the same as a mesh, a heightfield and a clump.
  void add_geometries() {
    std::vector<Geometry>& g = model.geometries;
    g.resize(4);
    g[0].type = ShapeType::hull;
    g[0].vertices = {{0, 0, 0}, {0.3, 0, 0}, {0, 0.3, 0}, {0, 0, 0.3}};
    g[0].face_begin = {0, 3, 6, 9, 12};
    g[0].face_corners = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    g[0].face_normals = {-Vec3::UnitZ(), -Vec3::UnitY(), -Vec3::UnitX(),
                         Vec3::Constant(std::sqrt(1.0 / 3.0))};
    g[0].face_offsets = {0.0, 0.0, 0.0, 0.1 * std::sqrt(3.0)};
    g[1].type = ShapeType::mesh;
    g[1].vertices = g[0].vertices;
    g[1].triangles = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
    g[2].type = ShapeType::heightfield;
    g[2].n_x = 3;
    g[2].n_y = 2;
    g[2].dx = g[2].dy = 0.2;
    g[2].heights = {0, 0.1, 0, 0.1, 0.2, 0.1};
    g[3].type = ShapeType::compound;
    g[3].parts = {{Shape{ShapeType::sphere, Vec3::Constant(0.2)}, {}},
                  {shape_of_geometry(g[0], 0), {Vec3(0.2, 0, 0), Quat::Identity()}},
                  {Shape{ShapeType::capsule, Vec3(0.1, 0.2, 0)}, {}}};
    for (Geometry& geometry : g) complete_geometry(geometry, GeometryFrame::as_written, g);
  }
  /// Joints 2, 5, 8, ... 38 (one of every type in turn), each held where body `id` is.
  void add_joints(const Communicator& comm) {
    model.joint_names.add(0, 2, "unused", true);
    model.joint_names.add(2, 21, "hinge", true);
    for (std::size_t i = bodies.constants.size(); i-- > 0;) {
      const GlobalId id = bodies.constants[i].id;
      if (id % 3 != 2) continue;
      JointConstants joint;
      joint.id = id;
      joint.body = {id == 2 ? kNoBody : id - 1, id, id == 29 ? 1 : kNoBody};
      joint.type = static_cast<JointType>(id / 3);
      bodies.joints.push_back(joint);
      JointRecord r;
      r.id = id;
      for (std::size_t k = 0; k < 6; ++k) {
        r.impulse[k] = joint_value(id, 0, k);
        r.reaction[k] = joint_value(id, 1, k);
        r.drive[k] = joint_value(id, 2, k);
      }
      if (id % 2 == 0) r.coordinate[0] = joint_value(id, 3, 0);
      joints.push_back(r);
    }
    if (comm.rank() == 0) std::reverse(joints.begin(), joints.end());
  }
  static double joint_value(std::int64_t id, int column, std::size_t k) {
    return static_cast<double>(id) + 0.1 * column + 0.01 * static_cast<double>(k);
  }
  Shape other_shape(GlobalId k) const {
    if (k < 2) return {k == 0 ? ShapeType::capsule : ShapeType::cylinder, Vec3(0.1, 0.2, 0.0)};
    if (k == 2) return {ShapeType::hollow_cylinder, Vec3(0.2, 0.1, 0.05), -1, 0.0, kLowerEnd};
    const auto geometry = static_cast<std::int32_t>(k - 3);
    return shape_of_geometry(model.geometries.at(static_cast<std::size_t>(geometry)), geometry);
  }

  Model model;
  Bodies bodies;
  State state;
  std::vector<ContactRecord> contacts;
  std::vector<JointRecord> joints;
};

class ResultDirectory : public testing::Test {
 protected:
  void SetUp() override {
    if (comm_.rank() == 0) fs::remove_all(directory_);
    comm_.barrier();
  }
  ResultWriter writer(bool force = false) {
    return {comm_,
            directory_,
            {{"version", "1"}, {"config", std::string(90000, 'x')}},
            kColumns,
            force};
  }
  /// Exit code of the Error that `action` ends in on this rank; 0 if none.
  template <class Action>
  int code_of(Action action) {
    try {
      action();
    } catch (const Error& error) {
      message_ = error.what();
      return static_cast<int>(error.code());
    }
    return 0;
  }
  void leave_unfinished() const {
    fs::create_directories(directory_ + "/snapshots");
    for (const char* name : kUnfinished) std::ofstream(directory_ + "/" + name) << "half";
  }
  void expect_nothing_unfinished() const {
    for (const char* name : kUnfinished) EXPECT_FALSE(fs::exists(directory_ + "/" + name)) << name;
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Communicator comm_ = Communicator::world();
  std::string directory_ = "result_np" + std::to_string(comm_.size());
  std::string message_;
};

TEST_F(ResultDirectory, SnapshotRowsAreOrderedByIdAndKeyWhateverTheRankCount) {
  const SmallRun run(comm_);
  ResultWriter out = writer();
  out.write_bodies(run.model, run.bodies);
  out.write_snapshot(run.model, run.bodies, run.state, run.contacts);
  out.finish();

  if (comm_.rank() != 0) return;
  const hdf5::File file = hdf5::File::open(directory_ + "/snapshots/00000012.h5");
  EXPECT_EQ(file.attribute_number("/", "time"), 0.25);
  EXPECT_EQ(file.attribute_text("/", "step"), "12");
  const std::vector<std::int64_t> id = file.read_integers("/bodies/id");
  const std::vector<double> position = file.read_doubles("/bodies/position");
  const std::vector<double> orientation = file.read_doubles("/bodies/orientation");
  const std::vector<double> velocity = file.read_doubles("/bodies/velocity");
  const std::vector<double> angular = file.read_doubles("/bodies/angular_velocity");
  EXPECT_EQ(id.size(), static_cast<std::size_t>(kBodies));
  if (HasFailure()) return;
  EXPECT_EQ(file.extents("/bodies/orientation"), (std::vector<std::uint64_t>{kBodies, 4}));
  EXPECT_EQ(orientation[0], 1.0);  // the floor, w first
  for (std::size_t i = 1; i < id.size(); ++i) {
    EXPECT_EQ(id[i], static_cast<std::int64_t>(i));
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(position[3 * i + k], position_of(id[i])[static_cast<Eigen::Index>(k)]);
      EXPECT_EQ(velocity[3 * i + k], 2.0 * position[3 * i + k]);
    }
    EXPECT_EQ(angular[3 * i + 2], static_cast<double>(i));
    EXPECT_EQ(orientation[4 * i + 1], -0.5);
  }
  const std::vector<std::int64_t> pairs = file.read_integers("/contacts/bodies");
  const std::vector<std::int64_t> feature = file.read_integers("/contacts/feature");
  const std::vector<double> gap = file.read_doubles("/contacts/gap");
  EXPECT_EQ(gap.size(), static_cast<std::size_t>(2 * (kBodies - 1)));
  if (HasFailure()) return;
  for (std::size_t k = 0; k < gap.size(); ++k) {
    EXPECT_EQ(pairs[2 * k + 1], static_cast<std::int64_t>(k / 2 + 1));
    EXPECT_EQ(feature[k], static_cast<std::int64_t>(k % 2));
    EXPECT_EQ(gap[k], -1e-3 * static_cast<double>(k / 2 + 1));
  }
  for (const char* name : {"/bodies/id", "/bodies/position", "/bodies/rank", "/contacts/impulse"})
    EXPECT_TRUE(file.has_attribute(name, "unit")) << name;
  EXPECT_EQ(file.attribute_text("/contacts/impulse", "unit"), "N s");
}

TEST_F(ResultDirectory, IndexLinksToBodiesSnapshotsAndSeries) {
  SmallRun run(comm_);
  ResultWriter out = writer();
  out.write_bodies(run.model, run.bodies);
  for (int k = 0; k < 3; ++k) {
    out.write_snapshot(run.model, run.bodies, run.state, {});
    run.state.step += 1;
    out.append_series(std::vector<double>{0.5 * k, 1e-3, 7.0});
  }
  out.finish();

  if (comm_.rank() != 0) return;
  const hdf5::File file = hdf5::File::open(directory_ + "/result.h5");
  EXPECT_EQ(file.attribute_text("/", "format"), "catena-result");
  EXPECT_EQ(file.members("/snapshots"),
            (std::vector<std::string>{"00000012", "00000013", "00000014"}));
  EXPECT_EQ(file.read_integers("/snapshots/00000013/bodies/id").size(),
            static_cast<std::size_t>(kBodies));
  EXPECT_EQ(file.extents("/snapshots/00000013/contacts/gap")[0], 0u);
  EXPECT_EQ(file.attribute_number("/snapshots/00000012", "time"), 0.25);
  EXPECT_EQ(file.read_doubles("/series/time"), (std::vector<double>{0.0, 0.5, 1.0}));
  EXPECT_EQ(file.attribute_text("/series/kinetic_energy", "unit"), "J");
  EXPECT_EQ(file.attribute_text("/provenance", "config").size(), 90000u);
  EXPECT_EQ(file.read_doubles("/bodies/mass")[4], 8.0);
  EXPECT_EQ(file.read_doubles("/bodies/radius")[5], 0.05);
  EXPECT_EQ(file.read_doubles("/bodies/size")[3 * 8 + 2], 0.6);  // whole edges of a box
  const std::string text = describe_file(directory_);
  EXPECT_NE(text.find("snapshots           3"), std::string::npos) << text;
}

TEST_F(ResultDirectory, JointsAreRowsByIdWhateverTheRankCount) {
  SmallRun run(comm_);
  run.add_joints(comm_);
  ResultWriter out = writer();
  out.write_bodies(run.model, run.bodies);
  out.write_snapshot(run.model, run.bodies, run.state, run.contacts, run.joints);
  run.state.step = 13;
  out.write_snapshot(run.model, run.bodies, run.state, run.contacts);
  out.finish();

  if (comm_.rank() != 0) return;
  std::vector<std::int64_t> expected;
  for (std::int64_t id = 2; id < kBodies; id += 3) expected.push_back(id);
  const std::uint64_t n = expected.size();
  const hdf5::File index = hdf5::File::open(directory_ + "/result.h5");
  EXPECT_EQ(index.read_integers("/joints/id"), expected);
  const std::vector<std::int64_t> bodies = index.read_integers("/joints/bodies");
  const std::vector<std::int64_t> carrier = index.read_integers("/joints/carrier");
  const std::vector<std::string> name = index.read_text_rows("/joints/name", {0, n, n});
  const std::vector<std::string> type = index.read_text_rows("/joints/type", {0, n, n});
  EXPECT_EQ(index.extents("/joints/bodies"), (std::vector<std::uint64_t>{n, 2}));
  EXPECT_EQ(type, (std::vector<std::string>{"fixed", "spherical", "revolute", "prismatic",
                                            "cylindrical", "universal", "planar", "point_on_line",
                                            "distance", "gear", "knife_edge", "rolling", "rope"}));
  const hdf5::File file = hdf5::File::open(directory_ + "/snapshots/00000012.h5");
  EXPECT_EQ(file.read_integers("/joints/id"), expected);
  const std::array<const char*, 3> columns = {"/joints/impulse", "/joints/reaction",
                                              "/joints/drive"};
  for (int c = 0; c < 3; ++c) {
    const char* dataset = columns[static_cast<std::size_t>(c)];
    EXPECT_EQ(file.extents(dataset), (std::vector<std::uint64_t>{n, 6}));
    const std::vector<double> values = file.read_doubles(dataset);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], SmallRun::joint_value(expected[i / 6], c, i % 6)) << dataset;
  }
  const std::vector<double> coordinate = file.read_doubles("/joints/coordinate");
  EXPECT_EQ(coordinate.size(), 3 * n);
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(bodies[2 * i], i == 0 ? kNoBody : expected[i] - 1);
    EXPECT_EQ(bodies[2 * i + 1], expected[i]);
    EXPECT_EQ(carrier[i], expected[i] == 29 ? 1 : kNoBody);
    EXPECT_EQ(name[i], expected[i] < 23 ? "hinge-" + std::to_string(expected[i] - 2)
                                        : "joint-" + std::to_string(expected[i]));
    if (expected[i] % 2 == 0) {
      EXPECT_EQ(coordinate[3 * i], SmallRun::joint_value(expected[i], 3, 0));
    } else {
      EXPECT_TRUE(std::isnan(coordinate[3 * i]));
    }
    EXPECT_TRUE(std::isnan(coordinate[3 * i + 1]) && std::isnan(coordinate[3 * i + 2]));
  }
  EXPECT_EQ(file.attribute_text("/joints/reaction", "unit"), "N s, N m s");
  for (const char* dataset :
       {"/joints/id", "/joints/impulse", "/joints/drive", "/joints/coordinate"})
    EXPECT_TRUE(file.has_attribute(dataset, "unit")) << dataset;
  // every snapshot of a run with joints has the group, known or not
  EXPECT_EQ(index.extents("/snapshots/00000013/joints/impulse")[0], 0u);
  const std::string text = describe_file(directory_);
  EXPECT_NE(text.find("joints              13"), std::string::npos) << text;
  EXPECT_NE(text.find("1 gear, 1 knife_edge"), std::string::npos) << text;
  EXPECT_NE(describe_file(directory_ + "/snapshots/00000012.h5").find("joints              13"),
            std::string::npos);
}

TEST_F(ResultDirectory, RunWithoutJointsHasNoneInItsFiles) {
  const SmallRun run(comm_);
  ResultWriter out = writer();
  out.write_bodies(run.model, run.bodies);
  out.write_snapshot(run.model, run.bodies, run.state, run.contacts);
  out.finish();

  if (comm_.rank() != 0) return;
  const hdf5::File index = hdf5::File::open(directory_ + "/result.h5");
  EXPECT_FALSE(index.exists("/joints"));
  EXPECT_FALSE(index.exists("/snapshots/00000012/joints"));
  EXPECT_EQ(describe_file(directory_).find("joints"), std::string::npos);
}

TEST_F(ResultDirectory, JointsThatLeftKeepTheirRowsWhereBodiesComeAndGo) {
  SmallRun run(comm_);
  run.add_joints(comm_);
  ResultWriter out = writer();
  out.write_bodies(run.model, run.bodies, true);
  std::erase_if(run.bodies.joints, [](const JointConstants& j) { return j.id < 20; });
  out.write_bodies(run.model, run.bodies, true);
  run.bodies.joints.clear();
  out.write_bodies(run.model, run.bodies, true);
  out.finish();

  if (comm_.rank() != 0) return;
  const hdf5::File index = hdf5::File::open(directory_ + "/result.h5");
  const std::vector<std::int64_t> id = index.read_integers("/joints/id");
  EXPECT_EQ(id.size(), 13u);
  for (std::size_t i = 0; i < id.size(); ++i)
    EXPECT_EQ(id[i], static_cast<std::int64_t>(3 * i + 2));
}

TEST_F(ResultDirectory, JointsThatBrokeBeforeAResumeKeepTheirRows) {
  SmallRun run(comm_);
  run.add_joints(comm_);
  run.model.break_limits.emplace_back();
  ResultWriter whole = writer();
  whole.write_bodies(run.model, run.bodies);
  const std::string before = bytes_of(directory_ + "/bodies.h5");
  // what all ranks kept comes to the last one, as in a run that goes on with other ranks
  const std::vector<std::byte> own = whole.kept();
  const bool last = comm_.rank() == comm_.size() - 1;
  std::vector<Parcel> parcels;
  parcels.push_back({comm_.size() - 1, own});
  std::vector<std::vector<std::byte>> kept;
  for (Parcel& parcel : comm_.exchange(std::move(parcels))) kept.push_back(std::move(parcel.bytes));
  EXPECT_EQ(kept.size(), last ? static_cast<std::size_t>(comm_.size()) : 0u);

  std::erase_if(run.bodies.joints, [](const JointConstants& j) { return j.id % 2 == 0; });
  ResultWriter resumed{comm_, directory_, whole.provenance(), kColumns, 12, kept};
  resumed.write_bodies(run.model, run.bodies);

  if (comm_.rank() == 0) {
    EXPECT_EQ(bytes_of(directory_ + "/bodies.h5"), before);
  }
}

/// A heap of spheres and boxes on a floor that falls apart: what the scripts' tests draw.
TEST_F(ResultDirectory, ResultForTheScriptsIsWritten) {
  directory_ = "scripts_np" + std::to_string(comm_.size());
  SmallRun run(comm_);
  ResultWriter out = writer(true);
  for (std::size_t i = 0; i < run.bodies.constants.size(); ++i) {
    BodyConstants& body = run.bodies.constants[i];
    const GlobalId id = body.id;
    if (id % 4 != 0) body.shape.size.x() = 0.2;
    run.state.body[i].pose.p =
        Vec3(0.45 * static_cast<double>(id % 4), 0.45 * static_cast<double>(id / 4 % 4),
             0.3 + 0.65 * static_cast<double>(id / 16));
    run.state.body[i].pose.q =
        Quat(Eigen::AngleAxisd(0.3 * static_cast<double>(id), Vec3(1.0, 2.0, 3.0).normalized()));
  }
  out.write_bodies(run.model, run.bodies);
  for (int k = 0; k < 5; ++k) {
    run.state.time = 0.1 * k;
    run.state.step = 10 * k;
    for (BodyMotionState& body : run.state.body) {
      body.twist.v = Vec3(0.5 * body.pose.p.x(), 0.0, 0.0);
      body.pose.p += 0.1 * body.twist.v;
    }
    out.write_snapshot(run.model, run.bodies, run.state, run.contacts);
    out.append_series(std::vector<double>{run.state.time, 1.0 + k * k, 20.0 * k});
  }
  out.finish();
  EXPECT_TRUE(comm_.rank() != 0 || fs::exists(directory_ + "/result.xdmf"));
}

TEST_F(ResultDirectory, SeriesIsCsvWithUnitsAndHalfARowAtItsEndIsLeftOut) {
  const SmallRun run(comm_);
  ResultWriter out = writer();
  out.write_bodies(run.model, run.bodies);
  out.append_series(std::vector<double>{0.1, 2.0, 3.0});
  if (comm_.rank() == 0) {
    std::ifstream in(directory_ + "/series.csv");
    std::string header, row;
    std::getline(in, header);
    std::getline(in, row);
    EXPECT_EQ(header, "time [s],kinetic_energy [J],contacts");
    EXPECT_EQ(row, "0.10000000000000001,2,3");
    std::ofstream(directory_ + "/series.csv", std::ios::app) << "0.2,4";
    std::ofstream(directory_ + "/snapshots/00000099.h5") << "half a file";
    EXPECT_EQ(rebuild_index(directory_), std::vector<std::string>{"00000099.h5"});
    const hdf5::File file = hdf5::File::open(directory_ + "/result.h5");
    EXPECT_EQ(file.read_doubles("/series/time").size(), 1u);
  }
  comm_.barrier();
}

TEST_F(ResultDirectory, NothingIsOverwrittenWithoutForceWhichSparesForeignFiles) {
  if (comm_.rank() == 0) {
    leave_unfinished();
    std::ofstream(directory_ + "/notes.txt") << "mine";
    std::ofstream(directory_ + "/snapshots/00000003.h5") << "old";
    std::ofstream(directory_ + "/snapshots/picture.h5.png") << "mine";
  }
  comm_.barrier();

  EXPECT_EQ(code_of([&] { writer(); }), 3);
  EXPECT_NE(message_.find("--force"), std::string::npos) << message_;
  EXPECT_TRUE(fs::exists(directory_ + "/snapshots/00000003.h5"));
  comm_.barrier();

  EXPECT_EQ(code_of([&] { writer(true); }), 0) << message_;
  EXPECT_FALSE(fs::exists(directory_ + "/snapshots/00000003.h5"));
  expect_nothing_unfinished();
  EXPECT_TRUE(fs::exists(directory_ + "/notes.txt"));
  EXPECT_TRUE(fs::exists(directory_ + "/snapshots/picture.h5.png"));
}

TEST_F(ResultDirectory, ResumeClearsAwayWhatAKillLeavesAndWhatIsLater) {
  if (comm_.rank() == 0) {
    leave_unfinished();
    for (const char* name : {"bodies.h5", "notes.part.txt", "snapshots/00000003.h5",
                             "snapshots/00000005.h5", "checkpoint-00000005.h5"})
      std::ofstream(directory_ + "/" + name) << "there";
    resume_directory(directory_, 4);
    expect_nothing_unfinished();
    for (const char* name : {"bodies.h5", "notes.part.txt", "snapshots/00000003.h5"})
      EXPECT_TRUE(fs::exists(directory_ + "/" + name)) << name;
    for (const char* name : {"snapshots/00000005.h5", "checkpoint-00000005.h5"})
      EXPECT_FALSE(fs::exists(directory_ + "/" + name)) << name;
  }
  comm_.barrier();
}

TEST_F(ResultDirectory, MissingFolderEndsEveryRankWithAnErrorAndLeavesNoPart) {
  const SmallRun run(comm_);
  ResultWriter out = writer();
  out.write_bodies(run.model, run.bodies);
  if (comm_.rank() == 0) fs::remove_all(directory_ + "/snapshots");
  comm_.barrier();

  EXPECT_EQ(code_of([&] { out.write_snapshot(run.model, run.bodies, run.state, run.contacts); }),
            5);
  EXPECT_NE(message_.find("00000012.h5"), std::string::npos) << message_;
}

TEST_F(ResultDirectory, FullDiskEndsEveryRankWithAnErrorAndLeavesFinishedSnapshots) {
  SmallRun run(comm_);
  ResultWriter out = writer();
  out.write_bodies(run.model, run.bodies);
  out.write_snapshot(run.model, run.bodies, run.state, run.contacts);
  run.state.step = 13;

  // No file may grow beyond 3000 bytes: writes fail as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 3000;
  setrlimit(RLIMIT_FSIZE, &small);
  const int code =
      code_of([&] { out.write_snapshot(run.model, run.bodies, run.state, run.contacts); });
  setrlimit(RLIMIT_FSIZE, &before);

  EXPECT_EQ(code, 5) << message_;
  comm_.barrier();
  EXPECT_FALSE(fs::exists(directory_ + "/snapshots/00000013.h5"));
  EXPECT_FALSE(fs::exists(directory_ + "/snapshots/00000013.h5.part"));
  if (comm_.rank() != 0) return;
  const hdf5::File last = hdf5::File::open(directory_ + "/snapshots/00000012.h5");
  EXPECT_EQ(last.read_integers("/bodies/id").size(), static_cast<std::size_t>(kBodies));
}

TEST_F(ResultDirectory, SnapshotInTheBackgroundHasTheSameBytesAndItsNameOnceItIsWhole) {
  SmallRun run(comm_);
  run.add_joints(comm_);
  ResultWriter out = writer();
  out.write_bodies(run.model, run.bodies, true);
  const auto write = [&](std::int64_t step, double most_buffered) {
    run.state.step = step;
    return out.write_snapshot(run.model, run.bodies, run.state, run.contacts, run.joints,
                              most_buffered);
  };
  EXPECT_FALSE(write(12, 0.0));
  const std::string file = directory_ + "/snapshots/00000012.h5";
  const std::string at_once = bytes_of(file);
  comm_.barrier();
  if (comm_.rank() == 0) fs::remove(file);
  comm_.barrier();

  EXPECT_TRUE(write(12, kPlenty));
  EXPECT_FALSE(fs::exists(file));
  EXPECT_GT(out.settle(true), 0.0);

  EXPECT_FALSE(at_once.empty());
  EXPECT_TRUE(bytes_of(file) == at_once);
  EXPECT_FALSE(fs::exists(file + ".part"));
  EXPECT_EQ(out.settle(true), 0.0);

  // the next snapshot waits for the one before, and the index for the last
  EXPECT_TRUE(write(13, kPlenty));
  EXPECT_TRUE(write(14, kPlenty));
  EXPECT_TRUE(fs::exists(directory_ + "/snapshots/00000013.h5"));
  EXPECT_TRUE(out.finish().empty());
  EXPECT_TRUE(fs::exists(directory_ + "/snapshots/00000014.h5"));
}

TEST_F(ResultDirectory, SnapshotIsWrittenAtOnceWhereOneRankHasNoMemoryForItsCopy) {
  const SmallRun run(comm_);
  ResultWriter out = writer();
  out.write_bodies(run.model, run.bodies);

  EXPECT_FALSE(out.write_snapshot(run.model, run.bodies, run.state, run.contacts, {},
                                  comm_.rank() + 1 == comm_.size() ? 100.0 : kPlenty));

  EXPECT_TRUE(fs::exists(directory_ + "/snapshots/00000012.h5"));
}

TEST_F(ResultDirectory, RunThatEndsBeforeItsSnapshotIsWholeLeavesItWithoutAName) {
  const SmallRun run(comm_);
  {
    ResultWriter out = writer();
    out.write_bodies(run.model, run.bodies);
    out.write_snapshot(run.model, run.bodies, run.state, run.contacts, {}, kPlenty);
  }

  EXPECT_FALSE(fs::exists(directory_ + "/snapshots/00000012.h5"));
  EXPECT_TRUE(fs::exists(directory_ + "/snapshots/00000012.h5.part"));
}

/// The disk refuses one rank's rows: no file has bytes beyond the largest offset.
TEST_F(ResultDirectory, FailureInTheBackgroundIsTheSameErrorOnEveryRank) {
  const std::string path = directory_ + ".rows";
  if (comm_.rank() == 0) std::ofstream(path) << "there";
  comm_.barrier();
  hdf5::PendingRows rows;
  const bool fails = comm_.rank() + 1 == comm_.size();
  rows.add(fails ? std::numeric_limits<std::int64_t>::max() - 1 : 0, 8)[0] = {};
  BackgroundWrite write(path, rows);

  EXPECT_EQ(code_of([&] { write.settle(comm_, true); }), 5);

  EXPECT_NE(message_.find(path + ": its rows cannot be written"), std::string::npos) << message_;
}

TEST_F(ResultDirectory, SnapshotThatCannotBeNamedFailsOnceOnEveryRank) {
  const SmallRun run(comm_);
  ResultWriter out = writer();
  out.write_bodies(run.model, run.bodies);
  out.write_snapshot(run.model, run.bodies, run.state, run.contacts, {}, kPlenty);
  if (comm_.rank() == 0) fs::remove_all(directory_ + "/snapshots");
  comm_.barrier();

  EXPECT_EQ(code_of([&] { out.settle(true); }), 5);
  EXPECT_NE(message_.find("00000012.h5"), std::string::npos) << message_;
  EXPECT_EQ(code_of([&] { out.settle(true); }), 0);
}

}  // namespace
}  // namespace catena
