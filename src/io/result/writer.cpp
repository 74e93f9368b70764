#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/release.hpp"
#include "catena/comm/ordered_rows.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/io/result_writer.hpp"
#include "io/hdf5/atomic_file.hpp"
#include "io/hdf5/columns.hpp"
#include "io/hdf5/file.hpp"
#include "io/hdf5/write_together.hpp"
#include "io/result/background_write.hpp"
#include "io/result/directory.hpp"
#include "io/result/format.hpp"
#include "io/result/geometry.hpp"
#include "io/result/joint_rows.hpp"
#include "io/result/row_file.hpp"

namespace catena {
namespace {

/// A body's row on its way to the rank that writes it.
struct BodyRow {
  GlobalId id = kNoBody;
  std::array<double, 3> position{};
  std::array<double, 4> orientation{};
  std::array<double, 3> velocity{};
  std::array<double, 3> angular_velocity{};
  std::int64_t rank = 0;
  double mass = 0.0;  ///< these where bodies come and go
  double radius = 0.0;
  std::array<double, 3> size{};
};

struct ConstantsRow {
  GlobalId id = kNoBody;
  std::int32_t kind = 0;
  std::int32_t shape = 0;
  std::int32_t material = 0;
  std::int32_t geometry = -1;
  double mass = 0.0;
  std::array<double, 3> inertia{};
  std::array<double, 3> size{};  ///< in the file's measure
  std::int32_t closed_ends = 0;
  std::int32_t written = 0;  ///< 1: of the last bodies.h5
};
// checkpoints keep rows as they are: no byte of them may be by chance
static_assert(sizeof(ConstantsRow) == 88 && sizeof(JointRow) == 40);

std::array<double, 3> array_of(const Vec3& v) { return {v.x(), v.y(), v.z()}; }

double radius_of(ShapeType type, const std::array<double, 3>& size) {
  return type == ShapeType::sphere ? size[0] : 0.0;
}

/// The orientation is that of the frame in which the shape was written.
BodyRow body_row(const Model& model, const BodyConstants& body, const BodyMotionState& state,
                 int rank) {
  Quat q = state.pose.q;
  if (body.shape.geometry >= 0) {
    const Geometry& geometry = model.geometries[body.shape.geometry];
    q = (q * geometry.written.q).normalized();
  }
  return {body.id,
          array_of(state.pose.p),
          {q.w(), q.x(), q.y(), q.z()},
          array_of(state.twist.v),
          array_of(state.twist.w),
          rank,
          body.mass,
          radius_of(body.shape.type, array_of(body.shape.size)),
          size_in_file(body.shape)};
}

ConstantsRow constants_row(const BodyConstants& body) {
  return {body.id,
          static_cast<std::int32_t>(body.kind),
          static_cast<std::int32_t>(body.shape.type),
          body.material,
          body.shape.geometry,
          body.mass,
          array_of(body.inertia),
          size_in_file(body.shape),
          body.shape.closed_ends,
          0};
}

constexpr std::array<const char*, 3> kKindNames = {"dynamic", "fixed", "kinematic"};
constexpr std::size_t kWordLength = 10;

}  // namespace

struct ResultWriter::Impl {
  Communicator comm;
  std::string directory;
  Provenance provenance;
  RowFile series;  ///< these on rank 0
  std::vector<RowFile> probes;
  bool flow = false;    ///< bodies come and go
  bool breaks = false;  ///< joints may break
  std::vector<ConstantsRow>
      written;  ///< this rank's rows of bodies.h5, if it is to be written anew
  std::vector<JointRow> written_joints;      ///< and those of joints, also where these break
  bool jointed = false;                      ///< bodies.h5 has joints, and so have all snapshots
  hdf5::PendingRows later;                   ///< rows of snapshots in the background
  std::unique_ptr<BackgroundWrite> pending;  ///< of the last snapshot, if it is not whole yet
  std::string pending_path;

  Impl(const Communicator& communicator, std::string dir, Provenance p,
       std::vector<SeriesColumn> columns, std::vector<ProbeTable> tables)
      : comm(communicator),
        directory(std::move(dir)),
        provenance(std::move(p)),
        series(directory + "/series.csv", std::move(columns)) {
    for (ProbeTable& table : tables)
      probes.emplace_back(probe_path(directory, table.name), std::move(table.columns));
  }

  void sync_rows() {
    series.sync();
    for (RowFile& table : probes) table.sync();
  }

  /// Collective.
  void publish_snapshot(const std::string& path) {
    publish_together(comm, path);
    // The series up to this snapshot is as safe as the snapshot.
    all_or_none(comm, [&] {
      if (comm.rank() == 0) sync_rows();
    });
  }

  /// Rows of bodies.h5 as kept() gave them.
  void restore(std::span<const std::vector<std::byte>> kept) {
    for (const std::vector<std::byte>& bytes : kept) {
      Unpacker in(bytes);
      in.append_to(written, in.get<std::uint64_t>());
      in.append_to(written_joints, in.get<std::uint64_t>());
    }
  }
};

ResultWriter::ResultWriter(const Communicator& comm, std::string directory, Provenance provenance,
                           std::vector<SeriesColumn> columns, bool force,
                           std::vector<ProbeTable> probes)
    : impl_(std::make_unique<Impl>(comm, std::move(directory), std::move(provenance),
                                   std::move(columns), std::move(probes))) {
  all_or_none(comm, [&] {
    if (comm.rank() != 0) return;
    prepare_directory(impl_->directory, force);
    impl_->series.create();
    if (!impl_->probes.empty()) make_probe_directory(impl_->directory);
    for (RowFile& table : impl_->probes) table.create();
  });
}

ResultWriter::ResultWriter(const Communicator& comm, std::string directory, Provenance provenance,
                           std::vector<SeriesColumn> columns, std::int64_t step,
                           std::span<const std::vector<std::byte>> kept,
                           std::vector<ProbeTable> probes)
    : impl_(std::make_unique<Impl>(comm, std::move(directory), std::move(provenance),
                                   std::move(columns), std::move(probes))) {
  all_or_none(comm, [&] {
    impl_->restore(kept);
    if (comm.rank() != 0) return;
    resume_directory(impl_->directory, step);
    impl_->series.resume(step);
    if (!impl_->probes.empty()) make_probe_directory(impl_->directory);
    for (RowFile& table : impl_->probes) table.resume(step);
  });
}

ResultWriter::~ResultWriter() = default;

const std::string& ResultWriter::directory() const { return impl_->directory; }
const Provenance& ResultWriter::provenance() const { return impl_->provenance; }

std::vector<std::byte> ResultWriter::kept() const {
  Packer out;
  if (impl_->flow || impl_->breaks) {
    out.put_list(impl_->written);
    out.put_list(impl_->written_joints);
  }
  return out.take();
}

namespace {

std::string material_of(const Model& model, const ConstantsRow& row) {
  const std::vector<Material>& materials = model.materials.materials();
  return row.material >= 0 && row.material < std::ssize(materials) ? materials[row.material].name
                                                                   : std::string();
}

/// Text datasets of bodies.h5; the lengths are those of the longest text, on all ranks.
void write_constant_texts(hdf5::File& file, const Model& model,
                          const std::vector<ConstantsRow>& rows, const hdf5::RowRange& range,
                          std::size_t name_length, std::size_t material_length) {
  const ColumnWriter to(file, "/bodies", rows, range);
  to.text("name", name_length, [&](auto& r) { return model.names.name_of(r.id); });
  to.text("kind", kWordLength, [](auto& r) { return std::string(kKindNames[r.kind]); });
  to.text("shape", kShapeNameLength,
          [](auto& r) { return std::string(shape_name(static_cast<ShapeType>(r.shape))); });
  to.text("material", material_length, [&](auto& r) { return material_of(model, r); });
}

/// Numbers of bodies.h5.
void write_constant_numbers(hdf5::File& file, const std::vector<ConstantsRow>& rows,
                            const hdf5::RowRange& range) {
  const ColumnWriter to(file, "/bodies", rows, range);
  to.numbers("id", "", &ConstantsRow::id);
  to.numbers("mass", "kg", &ConstantsRow::mass);
  to.numbers("inertia", "kg m^2", &ConstantsRow::inertia);
  to.numbers("radius", "m",
             [](auto& r) { return radius_of(static_cast<ShapeType>(r.shape), r.size); });
  to.numbers("size", "m", &ConstantsRow::size);
  to.numbers("geometry", "", &ConstantsRow::geometry);
  to.numbers("closed_ends", "", &ConstantsRow::closed_ends);
}

}  // namespace

void ResultWriter::write_bodies(const Model& model, const Bodies& bodies, bool flow) {
  const Communicator& comm = impl_->comm;
  impl_->flow = flow;
  impl_->breaks = !model.break_limits.empty();
  std::vector<ConstantsRow> rows;
  for (const BodyConstants& body : bodies.constants) rows.push_back(constants_row(body));
  if (comm.rank() == 0)
    for (const BodyRecord& body : model.unbounded) rows.push_back(constants_row(body.constants));
  rows.insert(rows.end(), impl_->written.begin(), impl_->written.end());
  hdf5::RowRange range;
  rows = order_rows(
      comm, std::move(rows),
      [](const ConstantsRow& row) {
        return std::array<std::int64_t, 2>{row.id, row.written};
      },
      range);
  drop_doubles(comm, rows, range);
  impl_->written.clear();
  if (flow) impl_->written = rows;
  for (ConstantsRow& row : impl_->written) row.written = 1;
  const JointRows joints = joint_rows(comm, model, bodies, impl_->written_joints);
  impl_->jointed = joints.range.total > 0;
  impl_->written_joints.clear();
  if (flow || impl_->breaks) impl_->written_joints = joints.rows;
  for (JointRow& row : impl_->written_joints) row.written = 1;

  std::size_t longest = 1;
  for (const ConstantsRow& row : rows)
    longest = std::max(longest, model.names.name_of(row.id).size());
  longest = comm.max(narrow<std::int64_t>(longest));
  std::size_t material_length = 1;
  for (const Material& m : model.materials.materials())
    material_length = std::max(material_length, m.name.size());
  std::size_t bytes =
      range.total * (kWordLength + kShapeNameLength + longest + material_length + 96) +
      bytes_of_geometries(model.geometries) + joints.bytes();
  for (const auto& [name, value] : impl_->provenance) bytes += name.size() + value.size();
  write_together(comm, impl_->directory + "/bodies.h5", bytes, [&](hdf5::File& file) {
    mark_format(file, "catena-bodies");
    file.make_group("/provenance");
    for (const auto& [name, value] : impl_->provenance)
      file.set_attribute("/provenance", name, value);
    write_constant_numbers(file, rows, range);
    write_constant_texts(file, model, rows, range, longest, material_length);
    if (impl_->jointed) write_joint_constants(file, model, joints);
    write_geometries(file, comm, model.geometries);
  });
}

namespace {

void write_body_rows(hdf5::File& file, const std::vector<BodyRow>& rows,
                     const hdf5::RowRange& range, bool flow) {
  // XDMF wants the points of its grid listed.
  std::vector<std::int64_t> row(rows.size());
  std::iota(row.begin(), row.end(), narrow<std::int64_t>(range.first));
  file.write_rows("/bodies/row", row, range, 0, "");
  const ColumnWriter to(file, "/bodies", rows, range);
  to.numbers("id", "", &BodyRow::id);
  to.numbers("position", "m", &BodyRow::position);
  to.numbers("orientation", "", &BodyRow::orientation);
  to.numbers("velocity", "m/s", &BodyRow::velocity);
  to.numbers("angular_velocity", "rad/s", &BodyRow::angular_velocity);
  to.numbers("rank", "", &BodyRow::rank);
  if (!flow) return;  // bodies.h5 has the same rows
  to.numbers("mass", "kg", &BodyRow::mass);
  to.numbers("radius", "m", &BodyRow::radius);
  to.numbers("size", "m", &BodyRow::size);
}

/// Whether any two materials have rolling or spinning friction.
bool has_couples(const Model& model) {
  const int n = narrow<int>(model.materials.materials().size());
  for (int a = 0; a < n; ++a) {
    for (int b = a; b < n; ++b) {
      const PairMaterial& pair = model.materials.pair(a, b);
      if (pair.rolls() || pair.spins()) return true;
    }
  }
  return false;
}

void write_contact_rows(hdf5::File& file, const std::vector<ContactRecord>& rows,
                        const hdf5::RowRange& range, bool couples) {
  const ColumnWriter to(file, "/contacts", rows, range);
  to.numbers("bodies", "", [](auto& r) { return std::array<std::int64_t, 2>{r.key.a, r.key.b}; });
  to.numbers("feature", "", [](auto& r) { return r.key.feature; });
  to.numbers("part", "", [](auto& r) { return r.key.part; });
  to.numbers("point", "m", &ContactRecord::point);
  to.numbers("normal", "", &ContactRecord::normal);
  to.numbers("gap", "m", &ContactRecord::gap);
  to.numbers("impulse", "N s", &ContactRecord::impulse);
  if (couples) to.numbers("couple", "N m s", &ContactRecord::couple);
}

/// Collective. Rows of all bodies, this rank's part of them in the order of ids.
std::vector<BodyRow> body_rows(const Communicator& comm, const Model& model, const Bodies& bodies,
                               const State& state, hdf5::RowRange& range) {
  std::vector<BodyRow> rows;
  rows.reserve(bodies.constants.size() + model.unbounded.size());
  for (std::size_t i = 0; i < bodies.constants.size(); ++i)
    rows.push_back(body_row(model, bodies.constants[i], state.body[i], comm.rank()));
  if (comm.rank() == 0)
    for (const BodyRecord& body : model.unbounded)
      rows.push_back(body_row(model, body.constants,
                              prescribed_state(model, body.constants, body.state.pose,
                                               motion_of(state, body.constants), state.time),
                              0));
  return order_rows(
      comm, std::move(rows), [](const BodyRow& row) { return row.id; }, range);
}

/// Sides and offset of a periodic box whose images move.
void write_cell(hdf5::File& file, const Model& model, const State& state) {
  if (state.cell.empty()) return;
  const PeriodicBox box = box_of(model, state);
  for (std::size_t k = 0; k < 3; ++k) {
    if (!box.active[k]) continue;
    file.set_attribute("/", std::string("cell_lower_") + "xyz"[k], box.lo[k]);
    file.set_attribute("/", std::string("cell_upper_") + "xyz"[k], box.hi[k]);
  }
  file.set_attribute("/", "cell_offset", box.offset);
}

}  // namespace

bool ResultWriter::write_snapshot(const Model& model, const Bodies& bodies, const State& state,
                                  std::vector<ContactRecord> contacts,
                                  std::vector<JointRecord> joints, double most_buffered) {
  settle(true);
  const Communicator& comm = impl_->comm;
  hdf5::RowRange contact_range;
  contacts = order_rows(
      comm, std::move(contacts), [](const ContactRecord& row) { return row.key; }, contact_range);
  hdf5::RowRange joint_range;
  joints = order_rows(
      comm, std::move(joints), [](const JointRecord& row) { return row.id; }, joint_range);
  const std::int64_t n_bodies = comm.sum(std::ssize(bodies)) + std::ssize(model.unbounded);

  const std::uint64_t bytes = 168 * static_cast<std::uint64_t>(n_bodies) +
                              136 * contact_range.total + kJointRecordBytes * joint_range.total +
                              kBrokenJointBytes * static_cast<std::uint64_t>(state.broken_joints);
  // each rank writes about an equal part
  const bool background = static_cast<double>(bytes) / comm.size() < comm.min(most_buffered);
  const std::string path = snapshot_path(impl_->directory, state.step);
  if (background)
    impl_->later.clear();
  else
    impl_->later = {};
  write_part(comm, path, bytes, [&](hdf5::File& file) {
    if (background) file.keep_rows(impl_->later);
    mark_format(file, "catena-snapshot");
    file.set_attribute("/", "time", state.time);
    file.set_attribute("/", "step", state.step);
    write_cell(file, model, state);
    write_contact_rows(file, contacts, contact_range, has_couples(model));
    if (impl_->jointed || joint_range.total > 0) write_joint_records(file, joints, joint_range);
    if (!model.break_limits.empty()) write_broken_joints(file, comm, state.broken);
    // their memory is free for the rows of bodies
    release(contacts, joints);
    hdf5::RowRange body_range;
    const std::vector<BodyRow> rows = body_rows(comm, model, bodies, state, body_range);
    write_body_rows(file, rows, body_range, impl_->flow);
  });
  if (background) {
    comm.barrier();  // no rank is still closing the file
    impl_->pending_path = path;
    impl_->pending = std::make_unique<BackgroundWrite>(part_name(path), impl_->later);
  } else {
    impl_->publish_snapshot(path);
  }
  return background;
}

double ResultWriter::settle(bool wait) {
  std::unique_ptr<BackgroundWrite> pending = std::move(impl_->pending);
  if (!pending) return 0.0;
  const double seconds = pending->settle(impl_->comm, wait);
  if (std::isinf(seconds)) {
    impl_->pending = std::move(pending);
    return 0.0;
  }
  impl_->publish_snapshot(impl_->pending_path);
  return seconds;
}

void ResultWriter::append_series(std::span<const double> values) {
  all_or_none(impl_->comm, [&] {
    if (impl_->comm.rank() == 0) impl_->series.append(values);
  });
}

void ResultWriter::append_probes(std::span<const ProbeRow> rows) {
  all_or_none(impl_->comm, [&] {
    if (impl_->comm.rank() != 0) return;
    for (const ProbeRow& row : rows) impl_->probes[row.probe].append(row.values);
  });
}

std::vector<std::string> ResultWriter::finish() {
  settle(true);
  std::vector<std::string> unreadable;
  all_or_none(impl_->comm, [&] {
    if (impl_->comm.rank() != 0) return;
    impl_->sync_rows();
    unreadable = rebuild_index(impl_->directory);
  });
  return unreadable;
}

}  // namespace catena
