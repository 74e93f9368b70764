#include "peer_programs.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace catena {
namespace {

/// The number behind the first `mark` in the text.
std::optional<double> number_after(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return std::nullopt;
  const char* begin = text.c_str() + at + mark.size();
  char* end = nullptr;
  const double value = std::strtod(begin, &end);
  if (end == begin) return std::nullopt;
  return value;
}

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

/// All that a command prints.
std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> part;
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    text.append(part.data(), n);
  pclose(pipe);
  return text;
}

}  // namespace

std::optional<PeerResult> parse_peer(std::size_t peer, const std::string& line) {
  constexpr double kRows = 3.0;  // of a contact
  const bool ode = peer == 0;
  const auto rows = number_after(line, " rows "), speed = number_after(line, " => ");
  const auto step = number_after(line, ode ? " it50 " : " step ");
  // quickstep's time is without the collision
  const auto collision = ode ? number_after(line, " collide ") : std::optional<double>(0.0);
  if (!rows || !speed || !step || !collision) return std::nullopt;
  return PeerResult{*rows / kRows, *speed / kRows, *step + *collision};
}

std::optional<PeerResult> run_peer(const std::string& directory, std::size_t peer,
                                   const std::string& scene) {
  constexpr std::array<const char*, kPeers.size()> kPrograms = {"ode_bench", "bullet64",
                                                                "bullet32"};
  const std::filesystem::path program = std::filesystem::path(directory) / kPrograms[peer];
  const std::filesystem::path file = std::filesystem::path(directory) / "scenes" / (scene + ".txt");
  if (!std::filesystem::exists(program) || !std::filesystem::exists(file)) return std::nullopt;
  const std::string command = peer == 0 ? quoted(program) + " qs " + quoted(file)
                                        : quoted(program) + " si si " + quoted(file) + " 50 20";
  return parse_peer(peer, output_of(command));
}

}  // namespace catena
