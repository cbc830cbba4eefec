// Messages of the rehearsal's NCCL (nccl.h): a group's sends and receives run at its end, in the device's turn.
#ifdef MINBERT_NCCL
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include "nccl.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "machine.h"

struct ncclComm {
  int ranks;
};

namespace {

struct Message {
  void* data;
  size_t bytes;
  int peer;
  bool sends;
};
bool in_group = false;
std::vector<Message> group;

ncclResult_t add(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, bool sends) {
  if (!in_group || peer < 0 || peer >= comm->ranks) return ncclInvalidUsage;
  const size_t bytes = count * (type == ncclDouble ? 8 : 4);
  const rehearsal::Turn turn;
  if (!rehearsal::on_device(data, bytes)) return ncclInvalidArgument;
  group.push_back({data, bytes, peer, sends});
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = 20000;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage" : result == ncclSuccess ? "no error" : "invalid argument";
}
const char* ncclGetLastError(ncclComm_t) { return "rehearsal"; }
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 0, sizeof *id);
  std::strcpy(id->internal, "rehearsal");
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  int devices = 0, size = 0, mine = 0;
  cudaGetDeviceCount(&devices);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &mine);
  if (devices < ranks || size != ranks || mine != rank || std::string(id.internal) != "rehearsal")
    return ncclInvalidUsage;
  *comm = new ncclComm{ranks};
  return ncclSuccess;
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t) {
  return add(const_cast<void*>(data), count, type, peer, comm, true);
}
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t) {
  return add(data, count, type, peer, comm, false);
}
ncclResult_t ncclGroupStart() {
  if (in_group) return ncclInvalidUsage;
  in_group = true;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (!in_group) return ncclInvalidUsage;
  std::vector<std::vector<char>> rooms;             // MPI's threads are not the device's
  std::vector<MPI_Request> requests;
  const rehearsal::Turn turn;
  for (const Message& m : group) {
    std::vector<char>& room = rooms.emplace_back(m.bytes);
    rehearsal::on_device(m.data, m.bytes);
    if (m.sends) std::memcpy(room.data(), m.data, m.bytes);
    MPI_Request& request = requests.emplace_back();
    if (m.sends) MPI_Isend(room.data(), int(m.bytes), MPI_BYTE, m.peer, 1, MPI_COMM_WORLD, &request);
    else MPI_Irecv(room.data(), int(m.bytes), MPI_BYTE, m.peer, 1, MPI_COMM_WORLD, &request);
  }
  MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (size_t i = 0; i < group.size(); ++i)
    if (!group[i].sends) std::memcpy(group[i].data, rooms[i].data(), group[i].bytes);
  group.clear();
  in_group = false;
  return ncclSuccess;
}
#endif
