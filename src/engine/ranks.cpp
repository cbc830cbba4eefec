// Messages between the ranks: the only file that includes mpi.h.
#include "engine/ranks.h"

#ifdef MINBERT_MPI
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>
#endif

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <thread>

#include "minbert/error.h"

namespace minbert {

#ifdef MINBERT_MPI

namespace {

// What Open MPI, MPICH and Slurm tell the processes that they start.
bool is_started_by_mpirun() {
  constexpr const char* names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_SIZE"};
  return std::ranges::any_of(names, [](const char* name) { return std::getenv(name) != nullptr; });
}

// srun starts as many processes as it is asked for, also where it has no way to connect them: as many lone trainings.
void check_slurm(int ranks) {
  const char *const tasks = std::getenv("SLURM_STEP_NUM_TASKS"), *const place = std::getenv("SLURM_PROCID");
  if (!tasks || std::atoi(tasks) < 2 || ranks > 1 || std::getenv("OMPI_COMM_WORLD_SIZE")) return;
  if (!place || std::atoi(place) == 0)
    std::cerr << formatted("srun started {} processes, but did not connect them: give it --mpi=pmix for Open MPI or "
                           "--mpi=pmi2 for MPICH (srun --mpi=list shows what it has). For runs that have nothing to do "
                           "with each other, unset SLURM_STEP_NUM_TASKS\n", tasks);
  std::exit(1);
}

}  // namespace

Ranks::Ranks() {
  if (!is_started_by_mpirun()) {
    check_slurm(1);
    return;
  }
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);       // the main thread sends all messages
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  check_slurm(size_);
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &on_this_host_);
  MPI_Comm_rank(host, &place_on_host_);
  MPI_Comm_free(&host);
  if (first()) return;
  std::cout.rdbuf(nullptr);
  std::cerr.rdbuf(nullptr);
}

bool Ranks::built() { return true; }

Ranks::~Ranks() {
  if (is_started_by_mpirun()) MPI_Finalize();
}

namespace {

constexpr size_t piece = 1 << 20;

// A piece of x on its way to the partner, and the partner's on its way here.
template <class T>
class Swap {
 public:
  void begin(std::span<T> mine, int partner) {
    mine_ = mine;
    theirs_.resize(std::max(theirs_.size(), mine.size()));
    const int bytes = int(mine.size_bytes());
    MPI_Irecv(theirs_.data(), bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &both_[0]);
    MPI_Isend(mine.data(), bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &both_[1]);
  }
  void add() {
    MPI_Waitall(2, both_, MPI_STATUSES_IGNORE);
    for (size_t k = 0; k < mine_.size(); ++k) mine_[k] += theirs_[k];
  }

 private:
  std::span<T> mine_;
  std::vector<T> theirs_;
  MPI_Request both_[2];
};

}  // namespace

// At distance d both partners compute a + b, which is b + a: the same bits. While a piece is added, the next is on its
// way.
template <class T>
void Ranks::sum(std::span<T> x) const {
  MB_CHECK(std::has_single_bit(unsigned(size_)), "mpirun -n {}: expected a power of two: 1, 2, 4, 8, ...", size_);
  const size_t n = (x.size() + piece - 1) / piece;
  const auto part = [&](size_t i) { return x.subspan(i * piece, std::min(piece, x.size() - i * piece)); };
  Swap<T> swaps[2];
  for (int d = 1; d < size_; d *= 2) {
    if (n > 0) swaps[0].begin(part(0), rank_ ^ d);
    for (size_t i = 0; i < n; ++i) {
      if (i + 1 < n) swaps[(i + 1) % 2].begin(part(i + 1), rank_ ^ d);
      swaps[i % 2].add();
    }
  }
}

std::vector<std::string> Ranks::gather(const std::string& mine) const {
  if (size_ == 1) return {mine};
  const int length = int(mine.size());
  std::vector<int> lengths(size_t(size_), 0), places(size_t(size_), 0);
  MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::exclusive_scan(lengths.begin(), lengths.end(), places.begin(), 0);
  std::string text(size_t(places.back() + lengths.back()), ' ');
  MPI_Allgatherv(mine.data(), length, MPI_BYTE, text.data(), lengths.data(), places.data(), MPI_BYTE, MPI_COMM_WORLD);
  std::vector<std::string> all;
  for (size_t r = 0; r < lengths.size(); ++r) all.push_back(text.substr(size_t(places[r]), size_t(lengths[r])));
  return all;
}

void Ranks::end_all(const std::string& message) const {
  // A lower rank that has an error, too, ends this one while it waits: mpirun sends SIGTERM, after a second SIGKILL.
  std::signal(SIGTERM, SIG_DFL);
  if (!first()) std::this_thread::sleep_for(std::chrono::milliseconds(std::min(1500 + 400 * rank_, 6000)));
  const std::string text = formatted("[rank {}] {}\n", rank_, message);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));      // mpirun drops what it has not read by then
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

#else

Ranks::Ranks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* size = std::getenv(name); size && std::atoi(size) > 1) {
      std::cerr << formatted("mpirun or srun started {} ranks, but this program was built without MPI: install it (on "
                             "Debian libopenmpi-dev and openmpi-bin) and run make MPI=1\n", size);
      std::exit(1);
    }
}
bool Ranks::built() { return false; }
Ranks::~Ranks() = default;
template <class T>
void Ranks::sum(std::span<T>) const {}
std::vector<std::string> Ranks::gather(const std::string& mine) const { return {mine}; }
void Ranks::end_all(const std::string& message) const { fail(message); }

#endif

template void Ranks::sum(std::span<float>) const;
template void Ranks::sum(std::span<double>) const;

bool Ranks::any(bool mine) const {
  const std::vector<std::string> all = gather(mine ? "yes" : "no");
  return std::ranges::count(all, "yes") > 0;
}

void Ranks::wait() const { gather(""); }

const Ranks& ranks() {
  static const Ranks those_of_this_run;
  return those_of_this_run;
}

}  // namespace minbert
