// Linked into every program: an instruction that this processor does not have, since the program was
// compiled for another one, is said in one line. The instruction, tried again, then ends it.
#include <unistd.h>

#include <csignal>

namespace {

// Runs before any other code of the program. So plain that the compiler takes no such instruction
// for it; a text that is not static would be copied.
[[gnu::constructor(101)]] void watch_for_illegal_instruction() {
  std::signal(SIGILL, [](int) {
    static constexpr char text[] =
        "illegal instruction: this program was compiled for another processor; compile it on this "
        "machine, or with make MARCH=x86-64-v3 for all that have AVX2\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, sizeof text - 1);
    std::signal(SIGILL, SIG_DFL);
  });
}

}  // namespace
