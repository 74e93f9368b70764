// What an FCLIB file holds, read and checked but not yet turned into a problem.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "catena/base/index.hpp"

namespace catena {

/// Rows of (column, value), columns ascending, duplicates added up.
struct SparseRows {
  std::int64_t n_columns = 0;
  std::vector<std::int64_t> row_begin = {0};
  std::vector<Index> column;
  std::vector<double> value;

  std::int64_t n_rows() const { return std::ssize(row_begin) - 1; }
  std::span<const Index> columns_of(std::int64_t row) const;
  std::span<const double> values_of(std::int64_t row) const;
};

/// Entries of a sparse matrix in any order, as FCLIB's triplet form has them.
struct Triplets {
  std::int64_t n_rows = 0;
  std::int64_t n_columns = 0;
  std::vector<std::int32_t> row;
  std::vector<std::int32_t> column;
  std::vector<double> value;
  void add(std::int64_t i, std::int64_t j, double x);
};

/// Rows of `t`, or of its transpose.
SparseRows to_rows(const Triplets& t, bool transpose);

/// Rolling and spinning rows of contacts and their cohesion (group /catena/couples).
struct CoupleExtras {
  bool present = false;
  std::vector<std::int64_t> begin;  ///< per contact its first row, and one past the last
  SparseRows rows;                  ///< over velocities
  std::vector<double> w;            ///< per row
  std::vector<double> rolling, spinning, cohesion;  ///< per contact, as in GeneralBlocks
};

/// What only Catena's own dumps have (group /catena, docs/output.md): which velocities form
/// a body, which contacts are scalar, the boxed rows, and what contacts have beyond friction.
struct CatenaExtras {
  bool present = false;
  std::string law;
  std::vector<std::int64_t> body_begin;  ///< first velocity of each body, and one past the last
  std::vector<std::int64_t> body_id;
  std::vector<std::int64_t>
      bilateral_begin;                   ///< first row of each bilateral block, one past the last
  std::vector<std::int64_t> unilateral;  ///< 1 per contact that is one unilateral row
  std::vector<std::int64_t> bilateral_angular, boxed_angular, unilateral_angular;
  std::vector<std::int64_t> boxed_begin;
  SparseRows boxed;  ///< J^T: a row per boxed row, over velocities
  std::vector<double> boxed_w, boxed_lower, boxed_upper;
  std::vector<double> shift;  ///< per contact, m/s, of law lagged; empty: there is none
  CoupleExtras couples;
};

/// A local problem (u = W r + q) or a global one (M v = H r + G l + f, u = H^T v + w,
/// 0 = G^T v + b). Matrices H and G are held as rows of their transposes.
struct FclibFile {
  bool local = false;
  bool has_guess = false;  ///< /guesses/1/r
  std::string title, description, math_info;
  std::vector<double> mu;  ///< per contact
  SparseRows w_matrix;     ///< W
  std::vector<double> q;
  SparseRows mass;          ///< M
  SparseRows h_transposed;  ///< a row per contact row
  SparseRows g_transposed;  ///< a row per bilateral row; no rows if the file has no G
  std::vector<double> f, w, b;
  CatenaExtras extras;

  std::int64_t n_contacts() const { return std::ssize(mu); }
};

/// Not collective. Reads and checks a whole file. Throws Error(input_output) where it
/// cannot be read or something is missing, Error(bad_input) where the content is
/// inconsistent, naming the dataset.
FclibFile read_fclib_file(const std::string& path);

}  // namespace catena
