#include "catena/io/text_file.hpp"

#include <fstream>

#include "io/hdf5/atomic_file.hpp"

namespace catena {

void write_text_file(const std::string& path, const std::string& text) {
  std::ofstream out(part_name(path));
  out << text;
  out.close();
  if (!out) fail_with_errno(path, "cannot be written");
  publish(path);
}

}  // namespace catena
