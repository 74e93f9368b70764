// write_snapshots DIR: writes snapshots of 20,000 bodies until it is killed.
// write_snapshots --rebuild DIR: rebuilds the index and prints what is there.
#include <cstdio>
#include <string>

#include "catena/io/info.hpp"
#include "catena/io/result_writer.hpp"

int main(int argc, char** argv) {
  using namespace catena;
  if (argc == 3) {
    const std::size_t left_out = rebuild_index(argv[2]).size();
    std::printf("%s  left out %zu\n", describe_file(argv[2]).c_str(), left_out);
    return 0;
  }
  const Communicator comm = Communicator::world();
  Model model;
  model.names.add(0, 20000, "grain", true);
  Bodies bodies;
  State state;
  for (GlobalId id = comm.rank(); id < 20000; id += comm.size()) {
    BodyConstants body;
    body.id = id;
    bodies.constants.push_back(body);
    state.body.emplace_back();
  }
  ResultWriter out(comm, argv[1], {}, {{"time", "s"}}, true);
  out.write_bodies(model, bodies);
  for (state.step = 0; state.step < 100000; ++state.step) {
    state.time = 0.1 * static_cast<double>(state.step);
    out.append_series(std::vector<double>{state.time});
    out.write_snapshot(model, bodies, state, {});
  }
}
