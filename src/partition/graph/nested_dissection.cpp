#include "catena/partition/nested_dissection.hpp"

#include <metis.h>

#include <limits>
#include <numeric>

#include "catena/base/error.hpp"

namespace catena {

std::vector<Index> nested_dissection(const BlockGraph& graph) {
  std::vector<Index> place(graph.size());
  std::iota(place.begin(), place.end(), 0);
  // METIS is not to see graphs without edges
  if (graph.neighbour.empty()) return place;
  constexpr Offset kMost = std::numeric_limits<idx_t>::max();
  const auto refuse = [](const std::string& found) {
    throw Error(found, "nested dissection of joints",
                "use solver.joints.method: iterative, or break the mechanism into smaller ones",
                ExitCode::runtime_error);
  };
  if (std::ssize(graph.neighbour) > kMost)
    refuse("the graph of the joints has more edges than METIS' numbers can count");
  std::vector<idx_t> begin(graph.begin.begin(), graph.begin.end());
  std::vector<idx_t> neighbour(graph.neighbour.begin(), graph.neighbour.end());
  std::vector<idx_t> weight(place.size()), at(place.size()), to(place.size());
  for (std::size_t k = 0; k < weight.size(); ++k)
    weight[k] = graph.row_begin[k + 1] - graph.row_begin[k];
  idx_t n = graph.size();
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;
  options[METIS_OPTION_NUMBERING] = 0;
  if (METIS_NodeND(&n, begin.data(), neighbour.data(), weight.data(), options, at.data(),
                   to.data()) != METIS_OK)
    refuse("METIS found no order for the joints");
  place.assign(to.begin(), to.end());
  return place;
}

}  // namespace catena
