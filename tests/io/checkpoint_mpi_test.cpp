// Checkpoints: what was written comes back on any number of ranks, and what was damaged does not.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "catena/base/error.hpp"
#include "catena/base/random.hpp"
#include "catena/io/checkpoint.hpp"
#include "catena/partition/state_hash.hpp"
#include "io/hdf5/file.hpp"
#include "support/first_ranks.hpp"

namespace catena {
namespace {

namespace fs = std::filesystem;

constexpr GlobalId kBodies = 57;

double number(GlobalId id, int k) {
  return uniform_pm1(7, static_cast<std::uint64_t>(id), static_cast<std::uint64_t>(k));
}
Vec3 vector(GlobalId id, int k) { return {number(id, k), number(id, k + 1), number(id, k + 2)}; }

BodyConstants constants_of(GlobalId id) {
  BodyConstants b;
  b.id = id;
  b.kind = static_cast<BodyKind>(id % 3);
  b.collides = id % 5 != 0;
  b.group = static_cast<std::uint8_t>(id % 4);
  b.jointed = id % 2 == 0;
  b.shape = {static_cast<ShapeType>(id % 11), vector(id, 0), static_cast<std::int32_t>(id - 3),
             number(id, 3), static_cast<std::uint8_t>(id % 4)};
  b.material = static_cast<int>(id % 7);
  b.motion = static_cast<int>(id) - 9;
  b.mass = number(id, 4);
  b.inertia = vector(id, 5);
  return b;
}

BodyMotionState motion_of(GlobalId id) {
  BodyMotionState s;
  s.pose.p = vector(id, 10);
  s.pose.q.coeffs() << number(id, 13), number(id, 14), number(id, 15), number(id, 16);
  s.twist = {vector(id, 17), vector(id, 20)};
  return s;
}

MotionStart start_of(GlobalId id) {
  return {motion_of(id).pose, vector(id, 90), number(id, 93), vector(id, 94), vector(id, 97)};
}

JointConstants joint_of(GlobalId id) {
  JointConstants j;
  j.id = id;
  j.body = {id == 0 ? kNoBody : id - 1, id, id % 5 == 0 ? id + 2 : kNoBody};
  j.type = static_cast<JointType>(id % 14);
  j.collide = id % 2 == 1;
  j.frame = {motion_of(id + 100).pose, motion_of(id + 200).pose};
  j.length = number(id, 30);
  j.erp = number(id, 31);
  j.axis[1].motor = MotorKind::position;
  j.axis[1].table = static_cast<int>(id);
  j.axis[1].friction = number(id, 32);
  return j;
}

JointState joint_state_of(GlobalId id) {
  JointState s;
  for (std::size_t k = 0; k < kJointRows; ++k) s.impulse[k] = number(id, 40 + static_cast<int>(k));
  s.drive[1][2] = number(id, 50);
  s.angle = {number(id, 51), number(id, 52)};
  return s;
}

/// Bodies dealt without order; the second of several ranks has none. Impulses and couples of some.
struct Scene {
  Bodies bodies;
  State state;
  CheckpointNotes notes;

  explicit Scene(const Communicator& comm, std::int64_t step = 12) {
    for (GlobalId id = kBodies; id-- > 0;) {
      int owner = static_cast<int>((id * 7) % comm.size());
      if (comm.size() > 1 && owner == 1) owner = 0;
      if (owner != comm.rank()) continue;
      bodies.constants.push_back(constants_of(id));
      state.body.push_back(motion_of(id));
      state.subdomain.push_back(static_cast<std::int32_t>(id % 6));
      for (int part = 0; part < 2; ++part)
        state.impulses.push_back({{id, id + 4, part, static_cast<std::int32_t>(id)},
                                  vector(id, 60 + 3 * part),
                                  vector(id, 80 + 3 * part),
                                  number(id, 86 + part),
                                  number(id, 88 + part),
                                  number(id, 90 + part),
                                  number(id, 92 + part)});
      if (id % 4 == 0)
        state.couples.push_back({{id, id + 4, 0, 0}, vector(id, 70), vector(id, 73)});
      if (id % 3 == 2) state.motions.push_back({id, start_of(id)});
      if (id % 5 == 0) state.loads.push_back({id, vector(id, 100), vector(id, 103)});
      if (id % 3 != 0) continue;
      bodies.joints.push_back(joint_of(id));
      state.joints.push_back(joint_state_of(id));
    }
    state.time = 0.3;
    state.step = step;
    state.sub_step = 1e-3;
    state.stiffness_step = 2e-3;
    state.prepared = step;
    state.audit[EnergyTerm::initial_energy] = 5.5;
    state.inflow = {{7, 0.25, 3, 1}, {9, 0.5, 0, 0}};
    state.outflow = {4, 5, 6};
    state.flow = {16, 15, 2.5, 2.25};
    state.plane_motions = {{kBodies, start_of(kBodies)}, {kBodies + 1, start_of(kBodies + 1)}};
    state.added_bodies = 3;
    state.balance.split_price_factor = 3.0;
    notes.config = "catena: 1\nname: test\n";
    notes.provenance = {{"version", "0"}, {"command_line", "catena run"}};
    notes.n_parts = 6;
    const std::string own = "rank " + std::to_string(comm.rank());
    const auto bytes = std::as_bytes(std::span(own));
    notes.kept.emplace_back("test", std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
};

/// Hash of everything but the order, and of scalars.
std::uint64_t hash_of(const Communicator& comm, const Bodies& bodies, const State& state) {
  std::uint64_t hash = state_hash(comm, bodies, state);
  const auto add = [&](const char*, const auto& value) {
    hash = mix64(hash ^ static_cast<std::uint64_t>(
                            static_cast<std::int64_t>(1e6 * static_cast<double>(value))));
  };
  for_each_scalar(add, state);
  for_each_balance_scalar(add, state);
  return hash;
}

std::string file_name(const char* stem, int ranks) {
  return std::string(stem) + "-np" + std::to_string(ranks) + ".h5";
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The message and code of what `work` throws; "" if it does not.
template <class Work>
std::pair<std::string, ExitCode> failure_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.what(), error.code()};
  }
  return {"", ExitCode::done};
}

TEST(Checkpoint, ComesBackAsItWasInTheSameOrderOnTheSameRanks) {
  const Communicator comm = Communicator::world();
  const Scene scene(comm);
  const std::string path = file_name("same", comm.size());

  write_checkpoint(comm, path, scene.notes, scene.bodies, scene.state);
  const Checkpoint back = read_checkpoint(comm, path);

  EXPECT_EQ(back.ranks, comm.size());
  EXPECT_EQ(hash_of(comm, back.bodies, back.state), hash_of(comm, scene.bodies, scene.state));
  EXPECT_EQ(back.state.subdomain, scene.state.subdomain);
  EXPECT_EQ(back.bodies.size(), scene.bodies.size());
  for (std::size_t i = 0; i < back.bodies.constants.size(); ++i) {
    const BodyConstants &a = back.bodies.constants[i], &b = scene.bodies.constants[i];
    EXPECT_EQ(a.id, b.id);  // the rest is in the hash, but for these two
    EXPECT_EQ(a.jointed, b.jointed);
    EXPECT_EQ(a.shape.geometry_radius, b.shape.geometry_radius);
  }
  EXPECT_EQ(back.state.impulses.size(), scene.state.impulses.size());
  for (std::size_t k = 0; k < back.state.impulses.size(); ++k)
    EXPECT_EQ(back.state.impulses[k].key, scene.state.impulses[k].key);
  EXPECT_EQ(back.notes.config, scene.notes.config);
  EXPECT_EQ(back.notes.provenance, scene.notes.provenance);
  EXPECT_EQ(back.notes.n_parts, 6);
  EXPECT_EQ(back.notes.kept, scene.notes.kept);
  EXPECT_FALSE(fs::exists(path + ".part"));
}

TEST(Checkpoint, TheSameStateTwiceGivesTheSameBytes) {
  const Communicator comm = Communicator::world();
  const std::string first = file_name("first", comm.size());
  const std::string second = file_name("second", comm.size());

  {
    const Scene scene(comm);
    write_checkpoint(comm, first, scene.notes, scene.bodies, scene.state);
  }
  {
    // memory that held something else: padding of records is not what it was
    std::vector<char> dirt(1 << 20, static_cast<char>(0xa5));
    EXPECT_NE(dirt[1000], 0);
    dirt = {};
    const Scene scene(comm);
    write_checkpoint(comm, second, scene.notes, scene.bodies, scene.state);
  }

  std::ifstream a(first, std::ios::binary), b(second, std::ios::binary);
  const std::string bytes_a(std::istreambuf_iterator<char>(a), {});
  const std::string bytes_b(std::istreambuf_iterator<char>(b), {});
  EXPECT_EQ(bytes_a.size(), bytes_b.size());
  EXPECT_TRUE(bytes_a == bytes_b);
}

TEST(Checkpoint, IsReadWholeByAnyNumberOfRanks) {
  const Communicator world = Communicator::world();
  for (int writers = 1; writers <= world.size(); ++writers) {
    const std::string path = file_name("pairs", world.size());
    std::uint64_t hash = 0;
    if (const auto comm = test::first_ranks(writers)) {
      const Scene scene(*comm);
      write_checkpoint(*comm, path, scene.notes, scene.bodies, scene.state);
      hash = hash_of(*comm, scene.bodies, scene.state);
    }
    const std::array<std::int64_t, 1> own = {static_cast<std::int64_t>(hash)};
    hash = static_cast<std::uint64_t>(world.all_gather(own)[0]);  // more ranks may read
    for (int readers = 1; readers <= world.size(); ++readers) {
      if (const auto comm = test::first_ranks(readers)) {
        const Checkpoint back = read_checkpoint(*comm, path);
        EXPECT_EQ(hash_of(*comm, back.bodies, back.state), hash) << writers << " " << readers;
        // an equal share each
        if (readers != writers) {
          EXPECT_LE(comm->max(static_cast<std::int64_t>(back.bodies.size())),
                    kBodies / readers + 1);
        }
        std::string kept;
        for (const auto& [name, bytes] : back.notes.kept) kept += text_of(bytes) + ";";
        const std::vector<std::byte> all = comm->all_gather_bytes(std::as_bytes(std::span(kept)));
        std::string expected;
        for (int w = 0; w < writers; ++w) expected += "rank " + std::to_string(w) + ";";
        EXPECT_EQ(text_of(all), expected);
      }
    }
    world.barrier();
  }
}

/// Writes the scene, lets rank 0 spoil the file, and reads it.
template <class Spoil>
std::pair<std::string, ExitCode> read_spoilt(const Communicator& comm, Spoil spoil) {
  const Scene scene(comm);
  const std::string path = file_name("spoilt", comm.size());
  write_checkpoint(comm, path, scene.notes, scene.bodies, scene.state);
  if (comm.rank() == 0) spoil(path);
  comm.barrier();
  return failure_of([&] { read_checkpoint(comm, path); });
}

void flip_bit(const std::string& path, std::uint64_t byte, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(byte));
  const int c = file.get();
  file.seekp(static_cast<std::streamoff>(byte));
  file.put(static_cast<char>(c ^ (1 << bit)));
}

/// Where a dataset's bytes stand in the file.
std::pair<std::uint64_t, std::uint64_t> place_of(const std::string& path, const char* dataset) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t data = H5Dopen2(file, dataset, H5P_DEFAULT);
  const std::pair<std::uint64_t, std::uint64_t> place(H5Dget_offset(data),
                                                      H5Dget_storage_size(data));
  H5Dclose(data);
  H5Fclose(file);
  return place;
}

TEST(Checkpoint, AFlippedBitInAnyDatasetIsFoundAndNamed) {
  const Communicator comm = Communicator::world();
  for (const char* dataset : {"/head", "/counts", "/scalars", "/kept", "/bodies/constants",
                              "/bodies/body", "/bodies/subdomain", "/joints/joint_constants",
                              "/joints/joints", "/impulses", "/couples"}) {
    const auto [message, code] = read_spoilt(comm, [&](const std::string& path) {
      const auto [offset, size] = place_of(path, dataset);
      flip_bit(path, offset + size / 2, 5);
    });
    EXPECT_NE(message.find(std::string(dataset) + ": is damaged"), std::string::npos)
        << dataset << ": " << message;
    EXPECT_EQ(code, ExitCode::input_output);
  }
}

TEST(Checkpoint, AFlippedBitAnywhereDoesNoHarmOrIsFound) {
  const Communicator comm = Communicator::world();
  const Scene scene(comm);
  const std::string path = file_name("anywhere", comm.size());
  write_checkpoint(comm, path, scene.notes, scene.bodies, scene.state);
  const std::uint64_t hash = hash_of(comm, scene.bodies, scene.state);
  int found = 0;
  for (std::uint64_t k = 0; k < 60; ++k) {
    // most of them near the start, where HDF5 keeps what it needs
    const std::uint64_t size = fs::file_size(path);
    const std::uint64_t byte = mix64(k) % (k % 2 == 0 ? std::min<std::uint64_t>(4096, size) : size);
    const int bit = static_cast<int>(mix64(k + 1000) % 8);
    comm.barrier();
    if (comm.rank() == 0) flip_bit(path, byte, bit);
    comm.barrier();
    std::optional<Checkpoint> back;
    const auto [message, code] = failure_of([&] { back = read_checkpoint(comm, path); });
    if (back) {
      EXPECT_EQ(hash_of(comm, back->bodies, back->state), hash) << byte << " " << bit;
      EXPECT_EQ(back->notes.config, scene.notes.config);
    } else {
      ++found;
      EXPECT_EQ(code, ExitCode::input_output) << message;
    }
    comm.barrier();
    if (comm.rank() == 0) flip_bit(path, byte, bit);
  }
  comm.barrier();
  EXPECT_GT(found, 20);
}

TEST(Checkpoint, TruncatedForeignAndOtherVersionsAreRefused) {
  const Communicator comm = Communicator::world();
  const auto expect = [&](auto spoil, const std::string& message) {
    const auto [found, code] = read_spoilt(comm, spoil);
    EXPECT_NE(found.find(message), std::string::npos) << found;
    EXPECT_EQ(code, ExitCode::input_output);
  };
  for (const double part : {0.0, 0.3, 0.9, 0.999}) {
    expect(
        [&](const std::string& path) {
          fs::resize_file(
              path, static_cast<std::uintmax_t>(part * static_cast<double>(fs::file_size(path))));
        },
        part == 0.0 ? "is an empty file" : "HDF5 cannot open it");
  }
  expect([](const std::string& path) { fs::remove(path); }, "no such file");
  expect([](const std::string& path) { std::ofstream(path) << "no checkpoint"; },
         "is not an HDF5 file");
  expect(
      [](const std::string& path) {
        hdf5::File file = hdf5::File::create(path);
        file.set_attribute("/", "format", std::string("catena-result"));
        file.close();
      },
      "is no checkpoint, but a file of format catena-result");
  expect(
      [](const std::string& path) {
        hdf5::File file = hdf5::File::create(path);
        file.set_attribute("/", "format", std::string("catena-checkpoint"));
        file.set_attribute("/", "format_version", std::int64_t{8});
        file.set_attribute("/", "git_hash", std::string("abcdef"));
        file.close();
      },
      "is a checkpoint of format version 8, this build reads version 7; resume with the build that "
      "wrote it, git hash abcdef");
}

TEST(Checkpoint, TheLastTwoAreKept) {
  const Communicator comm = Communicator::world();
  const std::string directory = "kept-np" + std::to_string(comm.size());
  if (comm.rank() == 0) {
    fs::remove_all(directory);
    fs::create_directory(directory);
    std::ofstream(directory + "/checkpoint-123.h5") << "not by this name";
  }
  comm.barrier();
  for (const std::int64_t step : {5, 100, 123456789}) {
    const Scene scene(comm, step);
    write_checkpoint(comm, checkpoint_path(directory, step), scene.notes, scene.bodies,
                     scene.state);
  }
  comm.barrier();
  EXPECT_EQ(list_checkpoints(directory), (std::vector<std::int64_t>{5, 100, 123456789}));
  comm.barrier();
  if (comm.rank() == 0) drop_old_checkpoints(directory);
  comm.barrier();
  EXPECT_EQ(list_checkpoints(directory), (std::vector<std::int64_t>{100, 123456789}));
  EXPECT_TRUE(fs::exists(directory + "/checkpoint-00000100.h5"));
  EXPECT_TRUE(fs::exists(directory + "/checkpoint-123.h5"));
}

}  // namespace
}  // namespace catena
