// Messages between the ranks: the only file that includes mpi.h.
#include "minbert/ranks.h"

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

}  // namespace

Ranks::Ranks() {
  if (!is_started_by_mpirun()) return;
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);    // only the main thread sends messages
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
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

// At distance d both partners compute a + b, which is b + a: the same bits.
template <class T>
void Ranks::sum(std::span<T> x) const {
  MB_CHECK(std::has_single_bit(unsigned(size_)), "mpirun -n {}: expected a power of two: 1, 2, 4, 8, ...", size_);
  constexpr size_t piece = 1 << 20;
  std::vector<T> theirs(size_ > 1 ? std::min(piece, x.size()) : 0);
  for (int d = 1; d < size_; d *= 2)
    for (size_t i = 0; i < x.size(); i += piece) {
      const size_t n = std::min(piece, x.size() - i);
      const int partner = rank_ ^ d, bytes = int(n * sizeof(T));
      MPI_Sendrecv(&x[i], bytes, MPI_BYTE, partner, 0, theirs.data(), bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      for (size_t k = 0; k < n; ++k) x[i + k] += theirs[k];
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
  const std::string text = format("[rank {}] {}\n", rank_, message);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));      // mpirun drops what it has not read by then
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

#else

Ranks::Ranks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"})
    if (const char* size = std::getenv(name); size && std::atoi(size) > 1) {
      std::cerr << format("mpirun started {} ranks, but this program was built without MPI: install it (on Debian "
                          "libopenmpi-dev and openmpi-bin) and run make MPI=1\n", size);
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
