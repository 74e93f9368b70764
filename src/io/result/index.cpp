// The index of a result: result.h5 (links and series) and result.xdmf (for ParaView).
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/io/result_writer.hpp"
#include "catena/io/text_file.hpp"
#include "io/hdf5/atomic_file.hpp"
#include "io/hdf5/file.hpp"
#include "io/result/directory.hpp"
#include "io/result/format.hpp"

namespace catena {
namespace {

/// A snapshot as the index needs it.
struct SnapshotEntry {
  std::string stem;  ///< "00000012"
  double time = 0.0;
  std::uint64_t n_bodies = 0;
  bool has_constants = false;  ///< mass and sizes stand in the snapshot
};

struct Series {
  std::vector<SeriesColumn> columns;
  std::vector<std::vector<double>> values;  ///< per column
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream in(line);
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  return fields;
}

/// Reads a table up to its last whole row: a kill can leave half a row at the end.
Series read_series(const std::string& path) {
  Series series;
  std::ifstream in(path);
  std::string line;
  if (!in || !std::getline(in, line)) return series;
  for (const std::string& field : split(line)) {
    const std::size_t bracket = field.find(" [");
    series.columns.push_back(
        {field.substr(0, bracket), bracket == std::string::npos
                                       ? ""
                                       : field.substr(bracket + 2, field.size() - bracket - 3)});
  }
  series.values.resize(series.columns.size());
  while (std::getline(in, line) && !in.eof()) {
    const std::vector<std::string> fields = split(line);
    if (fields.size() != series.columns.size()) break;
    for (std::size_t k = 0; k < fields.size(); ++k)
      series.values[k].push_back(std::strtod(fields[k].c_str(), nullptr));
  }
  return series;
}

/// The columns of a table as datasets of a group.
void write_table(hdf5::File& file, const std::string& group, const Series& table) {
  file.make_group(group);
  for (std::size_t k = 0; k < table.columns.size(); ++k) {
    const std::array<std::uint64_t, 1> extents = {table.values[k].size()};
    file.write(group + "/" + table.columns[k].name, table.values[k], extents,
               table.columns[k].unit);
  }
}

void write_index(const std::string& directory, const std::vector<SnapshotEntry>& snapshots,
                 const hdf5::File& bodies) {
  const std::string path = directory + "/result.h5";
  hdf5::File file = hdf5::File::create(part_name(path));
  mark_format(file, "catena-result");
  for (const char* group : {"/bodies", "/joints", "/geometries", "/provenance"})
    if (bodies.exists(group)) file.link_external(group, "bodies.h5", group);
  file.make_group("/snapshots");
  for (const SnapshotEntry& s : snapshots)
    file.link_external("/snapshots/" + s.stem, "snapshots/" + s.stem + ".h5", "/");
  write_table(file, "/series", read_series(directory + "/series.csv"));
  const std::vector<std::string> probes = list_probes(directory);
  if (!probes.empty()) file.make_group("/probes");
  for (const std::string& name : probes)
    write_table(file, "/probes/" + name, read_series(probe_path(directory, name)));
  file.close();
  publish(path);
}

/// An XDMF attribute per body that points into an HDF5 file.
std::string xdmf_attribute(const std::string& name, const std::string& file,
                           const std::string& dataset, std::uint64_t n, int width,
                           const char* number_type = "Float") {
  const char* kind = width == 1 ? "Scalar" : width == 3 ? "Vector" : "Matrix";
  std::string dimensions = std::to_string(n);
  if (width > 1) dimensions += " " + std::to_string(width);
  return "        <Attribute Name=\"" + name + "\" AttributeType=\"" + kind +
         "\" Center=\"Node\">\n          <DataItem Format=\"HDF\" NumberType=\"" + number_type +
         "\" Precision=\"8\" Dimensions=\"" + dimensions + "\">" + file + ":" + dataset +
         "</DataItem>\n        </Attribute>\n";
}

std::string xdmf_grid(const SnapshotEntry& s, std::uint64_t n_constants) {
  const std::string file = "snapshots/" + s.stem + ".h5";
  const std::string n = std::to_string(s.n_bodies);
  std::string text = "      <Grid Name=\"bodies\" GridType=\"Uniform\">\n        <Time Value=\"";
  text += exact_text(s.time);
  text += "\"/>\n        <Topology TopologyType=\"Polyvertex\" NumberOfElements=\"" + n +
          "\" NodesPerElement=\"1\">\n"
          "          <DataItem Format=\"HDF\" NumberType=\"Int\" Precision=\"8\" Dimensions=\"" +
          n + "\">" + file +
          ":/bodies/row</DataItem>\n        </Topology>\n        <Geometry GeometryType=\"XYZ\">\n"
          "          <DataItem Format=\"HDF\" NumberType=\"Float\" Precision=\"8\" Dimensions=\"" +
          n + " 3\">" + file + ":/bodies/position</DataItem>\n        </Geometry>\n";
  text += xdmf_attribute("velocity", file, "/bodies/velocity", s.n_bodies, 3);
  text += xdmf_attribute("angular_velocity", file, "/bodies/angular_velocity", s.n_bodies, 3);
  text += xdmf_attribute("orientation", file, "/bodies/orientation", s.n_bodies, 4);
  text += xdmf_attribute("id", file, "/bodies/id", s.n_bodies, 1, "Int");
  text += xdmf_attribute("rank", file, "/bodies/rank", s.n_bodies, 1, "Int");
  // Constants belong to the same rows only while no body came or went; else they stand here, too.
  if (s.has_constants || n_constants == s.n_bodies) {
    const std::string constants = s.has_constants ? file : "bodies.h5";
    text += xdmf_attribute("radius", constants, "/bodies/radius", s.n_bodies, 1);
    text += xdmf_attribute("size", constants, "/bodies/size", s.n_bodies, 3);
    text += xdmf_attribute("mass", constants, "/bodies/mass", s.n_bodies, 1);
  }
  return text + "      </Grid>\n";
}

void write_xdmf(const std::string& directory, const std::vector<SnapshotEntry>& snapshots,
                std::uint64_t n_constants) {
  std::string text =
      "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">\n  <Domain>\n"
      "    <Grid Name=\"catena\" GridType=\"Collection\" CollectionType=\"Temporal\">\n";
  for (const SnapshotEntry& s : snapshots)
    if (s.n_bodies > 0) text += xdmf_grid(s, n_constants);
  write_text_file(directory + "/result.xdmf", text + "    </Grid>\n  </Domain>\n</Xdmf>\n");
}

}  // namespace

std::vector<std::string> rebuild_index(const std::string& directory) {
  const hdf5::File bodies = hdf5::File::open(directory + "/bodies.h5");
  refuse_newer(bodies);
  const std::uint64_t n_constants = bodies.extents("/bodies/id").at(0);
  std::vector<SnapshotEntry> snapshots;
  std::vector<std::string> unreadable;
  for (const std::string& name : list_snapshots(directory)) {
    try {
      const hdf5::File file = hdf5::File::open(directory + "/snapshots/" + name);
      snapshots.push_back({name.substr(0, name.size() - 3), file.attribute_number("/", "time"),
                           file.extents("/bodies/id").at(0), file.exists("/bodies/mass")});
    } catch (const std::exception&) {
      unreadable.push_back(name);
    }
  }
  write_index(directory, snapshots, bodies);
  write_xdmf(directory, snapshots, n_constants);
  return unreadable;
}

}  // namespace catena
