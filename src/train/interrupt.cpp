// Signals that end a run.
#include "train/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "engine/ranks.h"

namespace minbert {
namespace {

volatile std::sig_atomic_t interrupt = 0;

void on_signal(int signal) {
  interrupt = 1;
  if (signal != SIGINT) return;
  constexpr char text[] = "\nfinishing this step; Ctrl-C again ends at once\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, sizeof text - 1);
}

}  // namespace

void watch_for_interrupt() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1}) {
    if (signal == SIGUSR1 && ranks().size() == 1) continue;
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;     // as nohup wants it
    action.sa_handler = on_signal;
    // Once, so that the second Ctrl-C kills; but a closed pipe signals every line that is printed.
    action.sa_flags = signal == SIGPIPE ? SA_RESTART : int(SA_RESTART | SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}
bool interrupted() { return interrupt != 0; }
void check_interrupt() {
  if (interrupted()) throw Interrupted();
}

}  // namespace minbert
