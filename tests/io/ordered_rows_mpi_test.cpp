// Rows that are too many for one round of messages, and columns for one piece of a file.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "catena/comm/ordered_rows.hpp"
#include "io/hdf5/columns.hpp"

namespace catena {
namespace {

/// Ten megabytes in all.
constexpr std::int64_t kRows = 100000;

struct Row {
  std::int64_t id = 0;
  std::array<double, 12> values{};
};

double value(std::int64_t id, std::size_t k) {
  return static_cast<double>(id) + 0.125 * static_cast<double>(k);
}

/// Ids in no order, over the ranks by chance; those of the last rank are few.
std::vector<Row> scattered(const Communicator& comm) {
  std::vector<Row> rows;
  for (std::int64_t k = 0; k < kRows; ++k) {
    const std::int64_t id = k * 7919 % kRows;  // a prime: each id once
    std::int64_t owner = k * 31 % 97 % comm.size();
    if (owner == comm.size() - 1 && comm.size() > 1 && k % 50 != 0) owner = 0;
    if (owner != comm.rank()) continue;
    Row row{id, {}};
    for (std::size_t i = 0; i < row.values.size(); ++i) row.values[i] = value(id, i);
    rows.push_back(row);
  }
  return rows;
}

TEST(OrderedRows, AreInTheOrderOfTheirKeysOverAllRanksAndInEqualParts) {
  const Communicator comm = Communicator::world();
  hdf5::RowRange range;

  const std::vector<Row> rows = order_rows(
      comm, scattered(comm), [](const Row& row) { return row.id; }, range);

  EXPECT_EQ(range.count, rows.size());
  EXPECT_EQ(range.total, static_cast<std::uint64_t>(kRows));
  std::int64_t wrong = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto id = static_cast<std::int64_t>(range.first + k);
    wrong += rows[k].id != id || rows[k].values[11] != value(id, 11);
  }
  EXPECT_EQ(wrong, 0);
  const double part = static_cast<double>(rows.size()) * comm.size() / kRows;
  EXPECT_GT(part, 0.9);
  EXPECT_LT(part, 1.1);
}

TEST(OrderedRows, MayBeNoneOrOneRanksAlone) {
  const Communicator comm = Communicator::world();
  const auto key = [](const Row& row) { return row.id; };
  hdf5::RowRange range;

  EXPECT_TRUE(order_rows(comm, std::vector<Row>(), key, range).empty());
  EXPECT_EQ(range.total, 0u);
  std::vector<Row> rows;
  if (comm.rank() == comm.size() - 1) rows = {{5, {}}, {3, {}}};
  rows = order_rows(comm, rows, key, range);

  EXPECT_EQ(range.total, 2u);
  for (std::size_t k = 0; k < rows.size(); ++k) EXPECT_EQ(rows[k].id, range.first + k == 0 ? 3 : 5);
}

TEST(Columns, OfManyPiecesAreReadBackWhole) {
  const Communicator comm = Communicator::world();
  const std::string path = "columns_np" + std::to_string(comm.size()) + ".h5";
  hdf5::RowRange range;
  const std::vector<Row> rows = order_rows(
      comm, scattered(comm), [](const Row& row) { return row.id; }, range);

  hdf5::File file = hdf5::File::create(comm, path);
  file.write_rows("/values", column<double>(rows, [](auto& r) { return r.values; }), range, 12,
                  "m");
  file.write_rows("/id", column<std::int64_t>(rows, [](auto& r) { return r.id; }), range, 0, "");
  file.write_text_rows("/name", text_column(rows, 9, [](auto& r) { return std::to_string(r.id); }),
                       9, range);
  file.close();
  comm.barrier();

  const hdf5::File read = hdf5::File::open(path);
  const hdf5::RowRange all = {0, kRows, kRows};
  const std::vector<double> values = read.read_double_rows("/values", all, 12);
  const std::vector<std::int64_t> ids = read.read_integers("/id");
  const std::vector<std::string> names = read.read_text_rows("/name", all);
  std::int64_t wrong = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(kRows); ++k) {
    const auto id = static_cast<std::int64_t>(k);
    wrong += ids[k] != id || names[k] != std::to_string(id) || values[12 * k] != value(id, 0) ||
             values[12 * k + 11] != value(id, 11);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(read.attribute_text("/values", "unit"), "m");
  comm.barrier();
  if (comm.rank() == 0) std::remove(path.c_str());
}

/// Turns one bit of the first place in a file where the number stands.
void turn_bit_of(const std::string& path, double number) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto* words = reinterpret_cast<const char*>(&number);
  const std::size_t at = bytes.find(std::string(words, sizeof number));
  EXPECT_NE(at, std::string::npos);
  if (at == std::string::npos) return;
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(bytes[at] ^ 1));
}

TEST(Columns, TellAChangedBitByTheirChecksum) {
  const Communicator comm = Communicator::world();
  const std::string path = "bits_np" + std::to_string(comm.size()) + ".h5";
  hdf5::RowRange range;
  const std::vector<Row> rows = order_rows(
      comm, scattered(comm), [](const Row& row) { return row.id; }, range);
  hdf5::File file = hdf5::File::create(comm, path);
  file.write_rows("/large", column<double>(rows, [](auto& r) { return r.values; }), range, 12, "");
  file.write_rows("/ids", column<std::int64_t>(rows, [](auto& r) { return r.id; }), range, 0, "");
  file.close();
  comm.barrier();

  if (comm.rank() == 0) {
    EXPECT_TRUE(hdf5::File::open(path).is_intact("/large"));
    EXPECT_TRUE(hdf5::File::open(path).is_intact("/ids"));
    turn_bit_of(path, value(12345, 5));
    EXPECT_FALSE(hdf5::File::open(path).is_intact("/large"));
    EXPECT_TRUE(hdf5::File::open(path).is_intact("/ids"));
    std::remove(path.c_str());
  }
}

}  // namespace
}  // namespace catena
