// The part of NCCL that minbert uses, simulated by messages of MPI between the ranks. See cuda_runtime.h.
#pragma once

#include "cuda_runtime.h"

enum ncclResult_t { ncclSuccess = 0, ncclSystemError = 2, ncclInvalidArgument = 4, ncclInvalidUsage = 5 };
enum ncclDataType_t { ncclFloat = 7, ncclDouble = 8 };
using ncclComm_t = struct ncclComm*;
struct ncclUniqueId {
  char internal[128];
};

ncclResult_t ncclGetVersion(int* version);
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
// Two ranks with one GPU are ncclInvalidUsage, as is a name that is not rank 0's.
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
// Outside of a group they would wait for each other: ncclInvalidUsage.
ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
