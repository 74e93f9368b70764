#include "io/hdf5/file.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

#include "catena/base/index.hpp"
#include "catena/base/text.hpp"

namespace catena::hdf5 {
namespace {

/// HDF5 prints its error stack by default; ours goes into Error instead.
void silence() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

Handle property_list(hid_t class_id) { return {H5Pcreate(class_id), H5Pclose}; }

/// Without times in object headers equal content gives equal bytes.
Handle untimed(hid_t class_id) {
  Handle list = property_list(class_id);
  H5Pset_obj_track_times(list.id(), false);
  return list;
}

/// Creates missing groups on the way to a dataset or group.
Handle link_list() {
  Handle list = property_list(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(list.id(), 1);
  return list;
}

Handle text_type(std::size_t length) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), std::max<std::size_t>(length, 1));
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  return type;
}

/// One string out of a dataset or attribute, by its own read function.
template <class Read>
std::string one_string(hid_t type, hid_t space, Read read) {
  if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1) return {};
  if (H5Tis_variable_str(type) > 0) {
    Handle memory(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(memory.id(), H5T_VARIABLE);
    H5Tset_cset(memory.id(), H5Tget_cset(type));
    char* text = nullptr;
    if (read(memory.id(), &text) < 0 || text == nullptr) return {};
    std::string result(text);
    H5Dvlen_reclaim(memory.id(), space, H5P_DEFAULT, &text);
    return result;
  }
  std::string text(H5Tget_size(type), '\0');
  if (text.size() > (std::size_t{1} << 28) || read(type, text.data()) < 0) return {};
  text.resize(std::strlen(text.c_str()));
  return text;
}

std::vector<std::uint64_t> row_extents(const RowRange& rows, std::uint64_t width) {
  return width == 0 ? std::vector<std::uint64_t>{rows.total}
                    : std::vector<std::uint64_t>{rows.total, width};
}

const char* wrong_class(H5T_class_t wanted) {
  return wanted == H5T_INTEGER ? "does not hold whole numbers"
                               : "does not hold floating-point numbers";
}

}  // namespace

void end() { H5close(); }

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    (void)reset();
    id_ = other.id_;
    close_ = other.close_;
    other.id_ = -1;
  }
  return *this;
}

herr_t Handle::reset() {
  const herr_t status = id_ >= 0 ? close_(id_) : 0;
  id_ = -1;
  return status;
}

void File::fail(const std::string& object, const std::string& what) const {
  throw Error(what, object.empty() ? path_ : path_ + ": " + object, {}, ExitCode::input_output);
}

File File::open(const std::string& path) {
  silence();
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  const auto refuse = [&](const std::string& what, const std::string& fix = {}) {
    throw Error(what, path, fix, ExitCode::input_output);
  };
  if (error == std::errc::no_such_file_or_directory) refuse("no such file", "check the path");
  if (error) refuse("cannot be read: " + error.message());
  if (size == 0) refuse("is an empty file");
  if (!std::ifstream(path)) refuse(std::string("cannot be read: ") + std::strerror(errno));
  if (H5Fis_hdf5(path.c_str()) <= 0)
    refuse("is not an HDF5 file", "name one of Catena's or of FCLIB's");
  Handle id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (id.id() < 0) refuse("HDF5 cannot open it", "is it truncated, or still being written?");
  return File(std::move(id), path, false);
}

File File::create(const std::string& path) {
  silence();
  Handle id(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, untimed(H5P_FILE_CREATE).id(), H5P_DEFAULT),
            H5Fclose);
  if (id.id() < 0)
    throw Error("cannot be created: " + std::string(std::strerror(errno)), path, {},
                ExitCode::input_output);
  return File(std::move(id), path, false);
}

File File::create(const Communicator& comm, const std::string& path, Format format) {
  silence();
  Handle access = property_list(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access.id(), MPI_Comm_f2c(comm.fortran_handle()), MPI_INFO_NULL);
  if (format == Format::checked)
    H5Pset_libver_bounds(access.id(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  Handle id(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, untimed(H5P_FILE_CREATE).id(), access.id()),
            H5Fclose);
  if (id.id() < 0)
    throw Error("cannot be created by the ranks together", path,
                "is the directory there, writable, and on a disk with room?",
                ExitCode::input_output);
  File file(std::move(id), path, true);
  file.comm_ = comm;
  file.format_ = format;
  return file;
}

bool File::exists(const std::string& object) const {
  // H5Lexists fails where a parent is missing, so each step of the path is asked for.
  for (std::size_t end = object.find('/', 1);; end = object.find('/', end + 1)) {
    const std::string part = object.substr(0, end);
    if (part != "/" && (H5Lexists(id_.id(), part.c_str(), H5P_DEFAULT) <= 0 ||
                        H5Oexists_by_name(id_.id(), part.c_str(), H5P_DEFAULT) <= 0))
      return false;
    if (end == std::string::npos) return true;
  }
}

Handle File::open_object(const std::string& object) const {
  if (!exists(object)) fail(object, "is missing");
  return {check(H5Oopen(id_.id(), object.c_str(), H5P_DEFAULT), object, "cannot be opened"),
          H5Oclose};
}

bool File::is_dataset(const std::string& object) const {
  return exists(object) && H5Iget_type(open_object(object).id()) == H5I_DATASET;
}

Handle File::open_dataset(const std::string& dataset) const {
  Handle object = open_object(dataset);
  if (H5Iget_type(object.id()) != H5I_DATASET) fail(dataset, "is not a dataset");
  // A damaged header can claim any size; what is stored cannot be larger than the file.
  const Handle type(H5Dget_type(object.id()), H5Tclose);
  const Handle space(H5Dget_space(object.id()), H5Sclose);
  const hssize_t n = check(H5Sget_simple_extent_npoints(space.id()), dataset, "has no extents");
  const Handle layout(H5Dget_create_plist(object.id()), H5Pclose);
  if (H5Pget_layout(layout.id()) != H5D_CHUNKED &&
      H5Dget_storage_size(object.id()) / std::max<std::size_t>(H5Tget_size(type.id()), 1) <
          static_cast<hsize_t>(n))
    fail(dataset, "holds less than its extents say");
  return object;
}

std::vector<std::string> File::members(const std::string& group) const {
  const Handle object = open_object(group);
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->emplace_back(name);
    return 0;
  };
  check(H5Literate(object.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names), group,
        "its members cannot be listed");
  return names;
}

std::vector<std::uint64_t> File::extents(const std::string& dataset) const {
  const Handle data = open_dataset(dataset);
  const Handle space(H5Dget_space(data.id()), H5Sclose);
  const int rank = check(H5Sget_simple_extent_ndims(space.id()), dataset, "has no extents");
  std::vector<hsize_t> sizes(rank);
  check(H5Sget_simple_extent_dims(space.id(), sizes.data(), nullptr), dataset, "has no extents");
  return {sizes.begin(), sizes.end()};
}

template <class T>
std::vector<T> File::read_numbers(const std::string& dataset, H5T_class_t wanted,
                                  hid_t memory_type) const {
  const Handle data = open_dataset(dataset);
  const Handle type(H5Dget_type(data.id()), H5Tclose);
  if (H5Tget_class(type.id()) != wanted) fail(dataset, wrong_class(wanted));
  const Handle space(H5Dget_space(data.id()), H5Sclose);
  const hssize_t n = check(H5Sget_simple_extent_npoints(space.id()), dataset, "has no extents");
  try {
    std::vector<T> values(n);
    if (n > 0)
      check(H5Dread(data.id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), dataset,
            "cannot be read");
    return values;
  } catch (const std::bad_alloc&) {
    fail(dataset, "is too large for this machine's memory");
  } catch (const std::length_error&) {
    fail(dataset, "is too large for this machine's memory");
  }
}

std::vector<double> File::read_doubles(const std::string& dataset) const {
  return read_numbers<double>(dataset, H5T_FLOAT, H5T_NATIVE_DOUBLE);
}

std::vector<std::int64_t> File::read_integers(const std::string& dataset) const {
  return read_numbers<std::int64_t>(dataset, H5T_INTEGER, H5T_NATIVE_INT64);
}

void File::read_raw_rows(const Handle& data, const std::string& dataset, const RowRange& rows,
                         std::uint64_t width, hid_t memory_type, void* values) const {
  const std::vector<std::uint64_t> wanted = row_extents(rows, width);
  if (extents(dataset) != wanted) {
    fail(dataset, "does not have " + std::to_string(rows.total) + " rows" +
                      (width == 0 ? "" : " of " + std::to_string(width) + " numbers"));
  }
  if (rows.count == 0) return;
  CATENA_CHECK(rows.first + rows.count <= rows.total, dataset);
  std::vector<hsize_t> start(wanted.size(), 0);
  std::vector<hsize_t> count(wanted.begin(), wanted.end());
  start[0] = rows.first;
  count[0] = rows.count;
  const Handle space(H5Dget_space(data.id()), H5Sclose);
  const Handle memory(H5Screate_simple(narrow<int>(count.size()), count.data(), nullptr), H5Sclose);
  check(
      H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
      dataset, "its rows cannot be selected");
  check(H5Dread(data.id(), memory_type, memory.id(), space.id(), H5P_DEFAULT, values), dataset,
        "cannot be read");
}

template <class T>
std::vector<T> File::read_number_rows(const std::string& dataset, const RowRange& rows,
                                      std::uint64_t width, H5T_class_t wanted,
                                      hid_t memory_type) const {
  const Handle data = open_dataset(dataset);
  const Handle type(H5Dget_type(data.id()), H5Tclose);
  if (H5Tget_class(type.id()) != wanted) fail(dataset, wrong_class(wanted));
  std::vector<T> values(rows.count * std::max<std::uint64_t>(width, 1));
  read_raw_rows(data, dataset, rows, width, memory_type, values.data());
  return values;
}

std::vector<double> File::read_double_rows(const std::string& dataset, const RowRange& rows,
                                           std::uint64_t width) const {
  return read_number_rows<double>(dataset, rows, width, H5T_FLOAT, H5T_NATIVE_DOUBLE);
}

std::vector<std::int64_t> File::read_integer_rows(const std::string& dataset, const RowRange& rows,
                                                  std::uint64_t width) const {
  return read_number_rows<std::int64_t>(dataset, rows, width, H5T_INTEGER, H5T_NATIVE_INT64);
}

std::vector<std::string> File::read_text_rows(const std::string& dataset,
                                              const RowRange& rows) const {
  constexpr std::size_t kLongestWord = 256;
  const Handle data = open_dataset(dataset);
  const Handle type(H5Dget_type(data.id()), H5Tclose);
  const std::size_t length = H5Tget_size(type.id());
  if (H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) > 0 ||
      length > kLongestWord)
    fail(dataset, "does not hold words of fixed length");
  std::vector<char> bytes(rows.count * length);
  read_raw_rows(data, dataset, rows, 0, type.id(), bytes.data());
  std::vector<std::string> words;
  for (std::size_t i = 0; i < rows.count; ++i) {
    const std::string word(bytes.data() + i * length, length);
    words.push_back(word.substr(0, word.find('\0')));
  }
  return words;
}

std::string File::read_text(const std::string& dataset) const {
  if (!is_dataset(dataset)) return {};
  const Handle data = open_dataset(dataset);
  const Handle type(H5Dget_type(data.id()), H5Tclose);
  const Handle space(H5Dget_space(data.id()), H5Sclose);
  return one_string(type.id(), space.id(), [&](hid_t memory_type, void* out) {
    return H5Dread(data.id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
  });
}

bool File::has_attribute(const std::string& object, const std::string& name) const {
  return exists(object) &&
         H5Aexists_by_name(id_.id(), object.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

std::string File::attribute_text(const std::string& object, const std::string& name) const {
  if (!has_attribute(object, name)) return {};
  const Handle owner = open_object(object);
  const Handle attribute(H5Aopen(owner.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(attribute.id()), H5Tclose);
  const Handle space(H5Aget_space(attribute.id()), H5Sclose);
  const H5T_class_t kind = H5Tget_class(type.id());
  if (H5Sget_simple_extent_npoints(space.id()) == 1 && kind != H5T_STRING) {
    if (kind == H5T_INTEGER) {
      std::int64_t value = 0;
      if (H5Aread(attribute.id(), H5T_NATIVE_INT64, &value) < 0) return {};
      return std::to_string(value);
    }
    if (kind == H5T_FLOAT) {
      double value = 0.0;
      if (H5Aread(attribute.id(), H5T_NATIVE_DOUBLE, &value) < 0) return {};
      return exact_text(value);
    }
    return {};
  }
  return one_string(type.id(), space.id(), [&](hid_t memory_type, void* out) {
    return H5Aread(attribute.id(), memory_type, out);
  });
}

double File::attribute_number(const std::string& object, const std::string& name) const {
  double value = 0.0;
  const Handle attribute(
      H5Aopen_by_name(id_.id(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  check(attribute.id(), object, ("has no attribute '" + name + "'").c_str());
  const Handle space(H5Aget_space(attribute.id()), H5Sclose);
  if (H5Sget_simple_extent_npoints(space.id()) != 1 ||
      H5Aread(attribute.id(), H5T_NATIVE_DOUBLE, &value) < 0)
    fail(object, "attribute '" + name + "' is not a number");
  return value;
}

std::vector<std::string> File::attribute_names(const std::string& object) const {
  const Handle owner = open_object(object);
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5A_info_t*, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->emplace_back(name);
    return 0;
  };
  check(H5Aiterate2(owner.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names), object,
        "its attributes cannot be listed");
  return names;
}

void File::make_group(const std::string& group) {
  if (exists(group)) return;
  const Handle made(H5Gcreate2(id_.id(), group.c_str(), link_list().id(),
                               untimed(H5P_GROUP_CREATE).id(), H5P_DEFAULT),
                    H5Gclose);
  check(made.id(), group, "the group cannot be created");
}

Handle File::make_dataset(const std::string& dataset, hid_t file_type, const Handle& space) {
  Handle data(H5Dcreate2(id_.id(), dataset.c_str(), file_type, space.id(), link_list().id(),
                         untimed(H5P_DATASET_CREATE).id(), H5P_DEFAULT),
              H5Dclose);
  check(data.id(), dataset, "the dataset cannot be created");
  return data;
}

void File::write_raw(const std::string& dataset, const void* values, hid_t memory_type,
                     hid_t file_type, std::span<const std::uint64_t> extents) {
  const std::vector<hsize_t> sizes(extents.begin(), extents.end());
  const Handle space(sizes.empty()
                         ? H5Screate(H5S_SCALAR)
                         : H5Screate_simple(narrow<int>(sizes.size()), sizes.data(), nullptr),
                     H5Sclose);
  check(space.id(), dataset, "its extents are not valid");
  const Handle data = make_dataset(dataset, file_type, space);
  if (H5Sget_simple_extent_npoints(space.id()) == 0) return;
  check(H5Dwrite(data.id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), dataset,
        "cannot be written (disk full?)");
}

void File::write(const std::string& dataset, std::span<const double> values,
                 std::span<const std::uint64_t> extents, std::string_view unit) {
  write_raw(dataset, values.data(), H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, extents);
  if (unit.data() != nullptr) set_attribute(dataset, "unit", std::string(unit));
}

void File::write(const std::string& dataset, std::span<const std::int32_t> values) {
  const std::array<std::uint64_t, 1> extents = {values.size()};
  write_raw(dataset, values.data(), H5T_NATIVE_INT32, H5T_STD_I32LE, extents);
}

void File::write(const std::string& dataset, std::span<const std::int64_t> values,
                 std::span<const std::uint64_t> extents) {
  write_raw(dataset, values.data(), H5T_NATIVE_INT64, H5T_STD_I64LE, extents);
}

void File::write_text(const std::string& dataset, const std::string& text) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), text.size() + 1);
  write_raw(dataset, text.c_str(), type.id(), type.id(), {});
}

void File::set_attribute(const std::string& object, const std::string& name,
                         const std::string& text) {
  const Handle owner = open_object(object);
  // A text of variable length: h5py gives these as str, and an object header could not hold the
  // text of a long config. (For attributes parallel HDF5 allows it, for datasets not.) They lie in
  // a heap without checksums, and HDF5 1.10 reads anywhere where one is damaged: what a checked
  // file is known by stands in the header.
  constexpr std::size_t kLongestInHeader = 256;
  const bool in_header = format_ == Format::checked && text.size() <= kLongestInHeader;
  const Handle type = text_type(text.size());
  if (!in_header) check(H5Tset_size(type.id(), H5T_VARIABLE), object, "no type for its attribute");
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(
      H5Acreate2(owner.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  check(attribute.id(), object, ("attribute '" + name + "' cannot be created").c_str());
  const char* pointer = text.c_str();
  const void* value = in_header ? static_cast<const void*>(pointer) : &pointer;
  check(H5Awrite(attribute.id(), type.id(), value), object, "attribute cannot be written");
}

void File::set_attribute(const std::string& object, const std::string& name, double value) {
  const Handle owner = open_object(object);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(
      H5Acreate2(owner.id(), name.c_str(), H5T_IEEE_F64LE, space.id(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  check(attribute.id(), object, ("attribute '" + name + "' cannot be created").c_str());
  check(H5Awrite(attribute.id(), H5T_NATIVE_DOUBLE, &value), object, "attribute cannot be written");
}

void File::set_attribute(const std::string& object, const std::string& name, std::int64_t value) {
  const Handle owner = open_object(object);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(
      H5Acreate2(owner.id(), name.c_str(), H5T_STD_I64LE, space.id(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  check(attribute.id(), object, ("attribute '" + name + "' cannot be created").c_str());
  check(H5Awrite(attribute.id(), H5T_NATIVE_INT64, &value), object, "attribute cannot be written");
}

void File::link_external(const std::string& link, const std::string& file,
                         const std::string& object) {
  check(H5Lcreate_external(file.c_str(), object.c_str(), id_.id(), link.c_str(), link_list().id(),
                           H5P_DEFAULT),
        link, "the link cannot be created");
}

void File::close() {
  check(H5Fflush(id_.id(), H5F_SCOPE_GLOBAL), {}, "cannot be flushed (disk full?)");
  check(id_.reset(), {}, "cannot be closed (disk full?)");
}

std::string library_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace catena::hdf5
