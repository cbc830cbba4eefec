// NCCL: the only file that includes nccl.h.
#include "engine/nccl.h"

#if defined(MINBERT_CUDA) && defined(MINBERT_NCCL)
#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/cuda.h"
#include "engine/ranks.h"

namespace minbert::nccl {
namespace {

void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) [[unlikely]]
    fail(formatted("NCCL: {}: {} ({}); MINBERT_NCCL=0 goes through the hosts' memory instead", what,
                   ncclGetErrorString(result), ncclGetLastError(nullptr)));
}

struct Connection {
  std::string why_not;
  ncclComm_t ranks = nullptr;                       // never destroyed: the end of the process ends it
};

// In one group, so that neither waits for the other to receive first.
void swap_by(ncclComm_t comm, const real* mine, real* theirs, int64_t n, int partner) {
  const ncclDataType_t type = sizeof(real) == sizeof(double) ? ncclDouble : ncclFloat;
  check(ncclGroupStart(), "a message");
  check(ncclSend(mine, size_t(n), type, partner, comm, nullptr), "sending");
  check(ncclRecv(theirs, size_t(n), type, partner, comm, nullptr), "receiving");
  check(ncclGroupEnd(), "a message");
  cuda::count_launch("a message to another GPU");
}

// Rank 0 draws a name for the meeting, which the others learn by MPI.
Connection connect() {
  const char* const wish = std::getenv("MINBERT_NCCL");
  std::vector<std::string> gpus = ranks().gather(wish && std::string(wish) == "0" ? "" : cuda::gpu_id());
  std::ranges::sort(gpus);
  if (gpus[0].empty()) return {"MINBERT_NCCL=0"};
  if (std::ranges::adjacent_find(gpus) != gpus.end()) return {"NCCL needs a GPU of its own for each rank"};
  ncclUniqueId id{};
  if (ranks().first()) check(ncclGetUniqueId(&id), "a name for the meeting of the ranks");
  const std::string name = ranks().gather(std::string(reinterpret_cast<const char*>(&id), sizeof id))[0];
  std::memcpy(&id, name.data(), sizeof id);
  Connection c;
  check(ncclCommInitRank(&c.ranks, ranks().size(), id, ranks().rank()), "connecting the ranks");
  // The first message between two takes memory of the GPU: now, while there is some.
  const Tensor mine = Tensor::full({1}, 0, Device::cuda), theirs({1}, Device::cuda);
  for (int d = 1; d < ranks().size(); d *= 2) swap_by(c.ranks, mine.data(), theirs.data(), 1, ranks().rank() ^ d);
  return c;
}
const Connection& connection() {
  static const Connection the_connection = connect();
  return the_connection;
}

}  // namespace

const std::string& why_not() { return connection().why_not; }

std::string version() {
  int v = 0;
  check(ncclGetVersion(&v), "its version");
  return formatted("NCCL {}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

void swap(const real* mine, real* theirs, int64_t n, int partner) {
  swap_by(connection().ranks, mine, theirs, n, partner);
}

}  // namespace minbert::nccl

#else
namespace minbert::nccl {
const std::string& why_not() {
  static const std::string text = "this build has no NCCL";
  return text;
}
std::string version() { fail(why_not()); }
void swap(const real*, real*, int64_t, int) { fail(why_not()); }
}  // namespace minbert::nccl
#endif
