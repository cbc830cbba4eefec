// Ctrl-C and its kin: a run ends between two steps, with everything saved.
#pragma once

namespace minbert {

// Ctrl-C (or the end of the terminal, or of the pipe that reads the output) asks a run to stop and
// save after the step at work, or the batch that it scores; a second Ctrl-C ends the program at
// once. Under mpirun SIGUSR1 asks likewise: mpirun passes that on, whereas it kills its ranks one
// second after Ctrl-C.
void watch_for_interrupt();
bool interrupted();

// Thrown where a long pass over data is left for that; nothing of the pass is kept.
struct Interrupted {};
void check_interrupt();                             // throws it

}  // namespace minbert
