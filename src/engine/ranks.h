// The processes of a run over several. mpirun starts N of them, the ranks 0 to N-1, on one host or
// on many; all run the same program. Only rank 0 prints, and only rank 0 writes files. Without
// mpirun there is one rank, and nothing here does anything.
//
//   mpirun -n 4 build/bin/multitask ...
#pragma once

#include <span>
#include <string>
#include <vector>

namespace minbert {

class Ranks {
 public:
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool first() const { return rank_ == 0; }
  static bool built();                              // is MPI in this build?
  // Work that is dealt out in turn: is item i this rank's?
  bool takes(size_t i) const { return i % size_t(size_) == size_t(rank_); }
  int on_this_host() const { return on_this_host_; }            // how many of the ranks
  int number_on_host() const { return number_on_host_; }        // 0 .. on_this_host() - 1

  // x becomes the sum over all ranks, with the same bits on each. The ranks are added as a binary
  // tree: (0 + 1) + (2 + 3). Error if their number is no power of two. T: float or double.
  template <class T>
  void sum(std::span<T> x) const;
  std::vector<std::string> gather(const std::string& mine) const;  // what each rank gave, by rank
  bool any(bool mine) const;                        // is it true on one of the ranks?
  void wait() const;                                // until every rank is here

  // Prints "[rank 2] message" and ends every rank. Of several ranks that have one, the lowest
  // speaks.
  [[noreturn]] void end_all(const std::string& message) const;

 private:
  friend const Ranks& ranks();
  Ranks();
  int rank_ = 0, size_ = 1, on_this_host_ = 1, number_on_host_ = 0;
};

// The first call joins the others, where mpirun or srun started this program. Where they cannot be
// reached (a build without MPI, an srun without --mpi), it says so and ends the program.
const Ranks& ranks();

// Before that call, in a program that shares no work: it is one rank, whoever started it.
void stay_alone();

}  // namespace minbert
