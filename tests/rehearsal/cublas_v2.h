// The products of cuBLAS, by OpenBLAS, for the rehearsal (cuda_runtime.h). TF32 and BF16 round the operands' mantissas
// to 10 and 7 bits, to nearest even, and add up in float. Arguments that cuBLAS refuses are refused here, too.
#pragma once

#include "rehearsal/cuda_runtime.h"

using cublasHandle_t = struct cublasContext*;
enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1 };

cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t bytes);
const char* cublasGetStatusString(cublasStatus_t status);

// C = alpha op(A) op(B) + beta C, all column-major: op(A) [m,k], op(B) [k,n], C [m,n]. alpha and beta are on the host.
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void* alpha, const void* A, cudaDataType_t Atype, int lda, const void* B,
                            cudaDataType_t Btype, int ldb, const void* beta, void* C, cudaDataType_t Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t algo);

// Many such products, alike in form and size. The arrays of pointers, one for each product, are on the device.
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                   int n, int k, const void* alpha, const void* const Aarray[], cudaDataType_t Atype,
                                   int lda, const void* const Barray[], cudaDataType_t Btype, int ldb,
                                   const void* beta, void* const Carray[], cudaDataType_t Ctype, int ldc,
                                   int batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo);
