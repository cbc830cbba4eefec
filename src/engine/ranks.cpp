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

namespace {

// What Open MPI, MPICH and Slurm tell the processes that they start.
constexpr const char* sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

bool alone = false;

// Processes that are not connected would be as many lone trainings: ends this one instead.
void check_connected(int ranks) {
  const auto name = std::ranges::find_if(sizes, is_set);        // the nearest starter comes first
  if (alone || name == std::end(sizes) || std::atoi(std::getenv(*name)) < 2 || ranks > 1) return;
  std::cerr << formatted(
      "mpirun or srun started {} processes, but did not connect them. {}. For runs that have "
      "nothing to do with each other, unset {}\n", std::getenv(*name),
      Ranks::built()
          ? "Give srun --mpi=pmix for Open MPI or --mpi=pmi2 for MPICH (srun --mpi=list "
            "shows what it has)"
          : "This program was built without MPI: install it (on Debian libopenmpi-dev and "
            "openmpi-bin) and run make MPI=1", *name);
  std::exit(1);
}

}  // namespace

#ifdef MINBERT_MPI

static bool is_started_by_mpirun() {
  constexpr const char* names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK"};
  return std::ranges::any_of(names, is_set);
}

Ranks::Ranks() {
  if (alone || !is_started_by_mpirun()) {
    check_connected(1);
    return;
  }
  int level = 0;
  // Only the main thread sends messages.
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  check_connected(size_);
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &on_this_host_);
  MPI_Comm_rank(host, &number_on_host_);
  MPI_Comm_free(&host);
  if (first()) return;
  std::cout.rdbuf(nullptr);
  std::cerr.rdbuf(nullptr);
}

bool Ranks::built() { return true; }

Ranks::~Ranks() {
  if (!alone && is_started_by_mpirun()) MPI_Finalize();
}

// At distance d both partners compute a + b, which is b + a: the same bits.
template <class T>
void Ranks::sum(std::span<T> x) const {
  MB_CHECK(std::has_single_bit(unsigned(size_)),
           "mpirun -n {}: expected a power of two: 1, 2, 4, 8, ...", size_);
  constexpr size_t piece = 1 << 20;
  std::vector<T> theirs(std::min(piece, x.size()));
  for (int d = 1; d < size_; d *= 2)
    for (size_t begin = 0; begin < x.size(); begin += piece) {
      const std::span<T> mine = x.subspan(begin, std::min(piece, x.size() - begin));
      const int bytes = int(mine.size_bytes()), partner = rank_ ^ d;
      MPI_Sendrecv(mine.data(), bytes, MPI_BYTE, partner, 0, theirs.data(), bytes, MPI_BYTE,
                   partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (size_t k = 0; k < mine.size(); ++k) mine[k] += theirs[k];
    }
}

std::vector<std::string> Ranks::gather(const std::string& mine) const {
  if (size_ == 1) return {mine};
  const int length = int(mine.size());
  std::vector<int> lengths(size_t(size_), 0), begins(size_t(size_), 0);
  MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), 0);
  std::string text(size_t(begins.back() + lengths.back()), ' ');
  MPI_Allgatherv(mine.data(), length, MPI_BYTE, text.data(), lengths.data(), begins.data(),
                 MPI_BYTE, MPI_COMM_WORLD);
  std::vector<std::string> all;
  for (size_t r = 0; r < lengths.size(); ++r)
    all.push_back(text.substr(size_t(begins[r]), size_t(lengths[r])));
  return all;
}

void Ranks::end_all(const std::string& message) const {
  // A lower rank that has an error, too, ends this one while it waits: mpirun sends SIGTERM, after
  // a second SIGKILL.
  std::signal(SIGTERM, SIG_DFL);
  if (!first())
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(1500 + 400 * rank_, 6000)));
  const std::string text = formatted("[rank {}] {}\n", rank_, message);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  // By then mpirun has read the message, which it would drop otherwise.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

#else

Ranks::Ranks() { check_connected(1); }
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
  return std::ranges::count(gather(mine ? "yes" : "no"), "yes") > 0;
}

void Ranks::wait() const { gather(""); }

void stay_alone() { alone = true; }

const Ranks& ranks() {
  static const Ranks those_of_this_run;
  return those_of_this_run;
}

}  // namespace minbert
