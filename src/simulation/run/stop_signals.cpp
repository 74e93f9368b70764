#include "catena/simulation/stop_signals.hpp"

#include <unistd.h>

namespace catena {

namespace {

// A handler reaches nothing but what is global.
volatile std::sig_atomic_t checkpoint_asked = 0;
volatile std::sig_atomic_t stop_asked = 0;
volatile std::sig_atomic_t terminations = 0;  ///< by SIGTERM or SIGINT

extern "C" void ask_checkpoint(int) { checkpoint_asked = 1; }
extern "C" void ask_stop(int) { stop_asked = 1; }
extern "C" void ask_end(int) {
  if (terminations != 0) _exit(1);
  terminations = 1;
  stop_asked = 1;
}

void listen(int signal, void (*handler)(int), struct sigaction& before) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // system calls under way are not to fail
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, &before);
}

}  // namespace

StopSignals::StopSignals() {
  checkpoint_asked = 0;
  stop_asked = 0;
  terminations = 0;
  listen(SIGUSR1, ask_checkpoint, usr1_);
  listen(SIGUSR2, ask_stop, usr2_);
  listen(SIGTERM, ask_end, term_);
  listen(SIGINT, ask_end, int_);
}

StopSignals::~StopSignals() {
  sigaction(SIGUSR1, &usr1_, nullptr);
  sigaction(SIGUSR2, &usr2_, nullptr);
  sigaction(SIGTERM, &term_, nullptr);
  sigaction(SIGINT, &int_, nullptr);
}

bool StopSignals::end_asked() { return stop_asked != 0; }

StopSignals::Request StopSignals::take() {
  if (stop_asked != 0) return Request::stop;
  if (checkpoint_asked == 0) return Request::none;
  checkpoint_asked = 0;
  return Request::checkpoint;
}

}  // namespace catena
