#include "fuzz/mutate.hpp"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "catena/base/random.hpp"

namespace catena::fuzz {

namespace {

constexpr std::string_view kNumbers[] = {
    "0",     "-1",    "1",      "nan",   ".nan", "inf",        ".inf",
    "-.inf", "1e308", "1e-320", "-1e99", "1e20", "2147483648", "9223372036854775807",
    "1e5",   "-0",    "3 m",    "1 kg",  "7",    "0.5",        "99999999999999999999"};
constexpr std::string_view kSyntax[] = {
    "{",   "}",   "[",  "]", ",",  ":", "\n",        "\n  ", "- ",   "'",
    "\"",  "&a ", "*a", "~", "\t", "#", "!!binary ", "|\n",  "<<: ", std::string_view("\0", 1),
    "\xff"};
constexpr std::int64_t kIntegers[] = {
    0,   1,     -1,    2,          127,           128,          255,
    256, 32767, 65535, 2147483647, -2147483648LL, 4294967295LL, 9223372036854775807LL};
constexpr double kDoubles[] = {0.0, -1.0, 1e308, 1e-310, -0.0};

class Mutation {
 public:
  Mutation(std::string input, const std::vector<std::string>& others, std::uint64_t seed)
      : data_(std::move(input)), others_(others), seed_(mix64(seed)) {}

  std::string done(bool text) {
    for (std::uint64_t k = 1 + below(1 + below(4)); k > 0; --k)
      text&& below(4) > 0 ? change_text() : change_bytes();
    return std::move(data_);
  }

 private:
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : mix64(seed_ + ++drawn_) % n; }
  template <class List>
  auto one_of(const List& list) {
    return list[below(std::size(list))];
  }
  Piece piece(std::string_view text) {
    const std::size_t begin = below(text.size());
    return {begin, below(std::min<std::size_t>(text.size() - begin, 1 + (1U << below(10))))};
  }
  Piece line(std::string_view text) {
    const std::size_t before = text.rfind('\n', below(text.size()));
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    return {begin, std::min(text.find('\n', begin), text.size() - 1) + 1 - begin};
  }
  /// A word or number at or after a random place.
  Piece word(std::string_view text) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
    const std::size_t begin = text.find_first_of(kLetters, below(text.size()));
    if (begin == std::string_view::npos) return {text.size(), 0};
    return {begin, std::min(text.find_first_not_of(kLetters, begin), text.size()) - begin};
  }
  void put(Piece where, std::string_view content) {
    data_.replace(std::min(where.first, data_.size()), where.second, std::string(content));
  }
  const std::string& other() { return others_[below(others_.size())]; }

  void change_text() {
    if (data_.empty()) return put({0, 0}, one_of(kSyntax));
    const std::string& from = other();
    switch (below(7)) {
      case 0:
        return put(word(data_), one_of(kNumbers));
      case 1:
        return put({below(data_.size() + 1), 0}, one_of(kSyntax));
      case 2:
        return put(line(data_), "");
      case 3: {
        const Piece found = line(data_);
        return put({found.first, 0}, data_.substr(found.first, found.second));
      }
      case 4: {
        const Piece found = line(from);
        return put({line(data_).first, 0}, from.substr(found.first, found.second));
      }
      case 5: {
        const Piece found = word(from);
        return put(word(data_), from.substr(found.first, found.second));
      }
      default:
        return put(word(data_), "");
    }
  }

  void change_bytes() {
    if (data_.empty()) return put({0, 0}, one_of(kNumbers));
    switch (below(8)) {
      case 0:
        data_[below(data_.size())] ^= static_cast<char>(1U << below(8));
        return;
      case 1:
        data_[below(data_.size())] = static_cast<char>(below(256));
        return;
      case 2:
        return set(one_of(kIntegers), std::size_t{1} << below(4));
      case 3:
        return set(one_of(kDoubles), sizeof(double));
      case 4:
        return put(piece(data_), "");
      case 5: {
        const Piece found = piece(data_);
        return put({below(data_.size()), 0}, data_.substr(found.first, found.second));
      }
      case 6: {
        const std::string& from = other();
        const Piece found = piece(from);
        return put({below(data_.size()), found.second}, from.substr(found.first, found.second));
      }
      default:
        if (below(4) == 0) data_.resize(below(data_.size()));
    }
  }
  /// The first bytes of a number, at a multiple of their length.
  template <class T>
  void set(T value, std::size_t size) {
    if (data_.size() < size) return;
    const std::size_t place = below(data_.size() / size) * size;
    std::memcpy(data_.data() + place, &value, size);
  }

  std::string data_;
  const std::vector<std::string>& others_;
  std::uint64_t seed_, drawn_ = 0;
};

}  // namespace

std::string mutated(std::string input, const std::vector<std::string>& others, bool text,
                    std::uint64_t seed) {
  return Mutation(std::move(input), others, seed).done(text);
}

std::string mutated_pieces(std::string input, const std::vector<Piece>& pieces,
                           std::uint64_t seed) {
  if (pieces.empty() || mix64(~seed) % 16 == 0) return input.substr(0, mix64(~seed) % input.size());
  const auto [begin, length] = pieces[mix64(seed) % pieces.size()];
  std::string piece = mutated(input.substr(begin, length), {input}, false, seed);
  piece.resize(length);
  return input.replace(begin, length, piece);
}

}  // namespace catena::fuzz
