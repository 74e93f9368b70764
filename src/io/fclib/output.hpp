// What writing FCLIB problems and their solutions share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5/atomic_file.hpp"
#include "io/hdf5/file.hpp"

namespace catena {

/// Numbers on their way to rank 0, one after the other.
class Packer {
 public:
  template <class T>
  void put(const T& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(T));
  }
  void put_all(std::span<const double> values) {
    put(std::ssize(values));
    for (const double x : values) put(x);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool empty() const { return at_ == bytes_.size(); }
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, &bytes_[at_], sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::vector<double> get_all() {
    std::vector<double> values(get<std::int64_t>());
    for (double& x : values) x = get<double>();
    return values;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

inline void write_vector(hdf5::File& file, const std::string& name,
                         std::span<const double> values) {
  const std::array<std::uint64_t, 1> extents = {values.size()};
  file.write(name, values, extents);
}

/// Not collective. Writes a file under its part name and publishes it.
template <class Write>
void write_alone(const std::string& path, Write write) {
  try {
    hdf5::File file = hdf5::File::create(part_name(path));
    write(file);
    file.close();
    publish(path);
  } catch (...) {
    std::remove(part_name(path).c_str());
    throw;
  }
}

}  // namespace catena
