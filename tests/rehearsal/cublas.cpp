// Products of the rehearsal (cublas_v2.h, cublasLt.h).
#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "rehearsal/cublasLt.h"
#include "rehearsal/machine.h"

struct cublasContext {};

using namespace rehearsal;

namespace {

template <class T>
std::vector<T> rounded(const T* from, int rows, int cols, int ld, int bits) {      // without the last bits of mantissa
  std::vector<T> values(size_t(rows) * size_t(cols));
  for (size_t i = 0; i < values.size(); ++i) {
    float value = float(from[i / size_t(rows) * size_t(ld) + i % size_t(rows)]);
    uint32_t word = std::bit_cast<uint32_t>(value);
    if (std::isfinite(value)) word += (1u << (bits - 1)) - 1 + (word >> bits & 1), word &= ~0u << bits;
    values[i] = T(std::bit_cast<float>(word));
  }
  return values;
}

struct Gemm {
  cublasOperation_t ta, tb;
  int m, n, k, lda, ldb, ldc;
  bool valid() const {
    const auto form = [](cublasOperation_t t) { return t == CUBLAS_OP_N || t == CUBLAS_OP_T; };
    return form(ta) && form(tb) && m >= 0 && n >= 0 && k >= 0 && lda >= std::max(1, ta ? k : m) &&
           ldb >= std::max(1, tb ? n : k) && ldc >= std::max(1, m);
  }
  template <class T>
  void run(T alpha, const void* a, const void* b, T beta, void* c, int drop) const {
    if (m == 0 || n == 0) return;
    const auto check = [](const char* name, const void* at, int rows, int cols, int ld) {
      const size_t count = rows && cols ? size_t(cols - 1) * size_t(ld) + size_t(rows) : 0;
      if (count && !on_device(at, count * sizeof(T)))
        stop("cuBLAS: %s at %p, [%d, %d] by %d, is not or not wholly in device memory", name, at, rows, cols, ld);
    };
    const int ra = ta ? k : m, ca = ta ? m : k, rb = tb ? n : k, cb = tb ? k : n;
    check("A", a, ra, ca, lda), check("B", b, rb, cb, ldb), check("C", c, m, n, ldc);
    const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    std::vector<T> x_rounded, y_rounded;
    if (drop) {
      x_rounded = rounded(x, ra, ca, lda, drop), x = x_rounded.data();
      y_rounded = rounded(y, rb, cb, ldb, drop), y = y_rounded.data();
    }
    const auto multiply = [] { if constexpr (sizeof(T) == 4) return cblas_sgemm; else return cblas_dgemm; }();
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);                         // as on a GPU, the host's threads change no bit
    multiply(CblasColMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, alpha, x,
             drop ? std::max(1, ra) : lda, y, drop ? std::max(1, rb) : ldb, beta, static_cast<T*>(c), ldc);
    omp_set_num_threads(threads);
  }
};

bool supported(cudaDataType_t a, cudaDataType_t b, cudaDataType_t c, cublasComputeType_t compute) {
  return a == b && b == c && (a == CUDA_R_64F) == (compute == CUBLAS_COMPUTE_64F);
}
int dropped_bits(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_32F_FAST_16BF ? 16 : compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? 13 : 0;
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void* workspace, size_t bytes) {
  return on_device(workspace, bytes) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "unknown status";
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void* alpha, const void* A, cudaDataType_t Atype, int lda, const void* B,
                            cudaDataType_t Btype, int ldb, const void* beta, void* C, cudaDataType_t Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Gemm gemm{transa, transb, m, n, k, lda, ldb, ldc};
  if (!alpha || !beta || !gemm.valid()) return CUBLAS_STATUS_INVALID_VALUE;
  if (!supported(Atype, Btype, Ctype, computeType)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto run = [&]<class T>(T scale, T keep) {               // read on the host, before the device's turn
    const Turn turn;
    gemm.run<T>(scale, A, B, keep, C, dropped_bits(computeType));
  };
  if (Atype == CUDA_R_64F) run(*static_cast<const double*>(alpha), *static_cast<const double*>(beta));
  else run(*static_cast<const float*>(alpha), *static_cast<const float*>(beta));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                   int n, int k, const void* alpha, const void* const Aarray[], cudaDataType_t Atype,
                                   int lda, const void* const Barray[], cudaDataType_t Btype, int ldb,
                                   const void* beta, void* const Carray[], cudaDataType_t Ctype, int ldc,
                                   int batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Gemm gemm{transa, transb, m, n, k, lda, ldb, ldc};
  if (!alpha || !beta || !gemm.valid() || batchCount < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (!supported(Atype, Btype, Ctype, computeType)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto run = [&]<class T>(T scale, T keep) {               // read on the host, before the device's turn
    const Turn turn;
    for (const void* pointers : {static_cast<const void*>(Aarray), static_cast<const void*>(Barray),
                                 static_cast<const void*>(Carray)})
      if (batchCount && !on_device(pointers, size_t(batchCount) * sizeof(void*)))
        stop("cuBLAS: an array of %d pointers at %p is not in device memory", batchCount, pointers);
    const int drop = dropped_bits(computeType);
    for (int i = 0; i < batchCount; ++i) {
      // NVIDIA's documentation: for CUBLAS_COMPUTE_32F_FAST_TF32 pointers must be aligned to 16 bytes where k % 4 == 0.
      const uintptr_t any = uintptr_t(Aarray[i]) | uintptr_t(Barray[i]) | uintptr_t(Carray[i]);
      if (drop && k % 4 == 0 && any % 16) stop("cuBLAS: product %d in TF32 is not aligned to 16 bytes", i);
      gemm.run<T>(scale, Aarray[i], Barray[i], keep, Carray[i], drop);
    }
  };
  if (Atype == CUDA_R_64F) run(*static_cast<const double*>(alpha), *static_cast<const double*>(beta));
  else run(*static_cast<const float*>(alpha), *static_cast<const float*>(beta));
  return CUBLAS_STATUS_SUCCESS;
}

// ---- cublasLt ----
cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t desc, cublasComputeType_t compute, cudaDataType_t scale) {
  *desc = {compute, scale, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr};
  return CUBLAS_STATUS_SUCCESS;
}
namespace {
template <class Value>
cublasStatus_t take(Value& to, const void* value, size_t bytes) {
  if (bytes != sizeof to) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
// The product that the descriptions speak of; not valid where they do not fit together.
Gemm described(const cublasLtMatmulDescOpaque_t& desc, const cublasLtMatrixLayoutOpaque_t& a,
               const cublasLtMatrixLayoutOpaque_t& b, const cublasLtMatrixLayoutOpaque_t& d) {
  const bool t = desc.transa == CUBLAS_OP_T;
  const uint64_t m = t ? a.cols : a.rows, k = t ? a.rows : a.cols;
  if (b.rows != k || d.rows != m || d.cols != b.cols) return {CUBLAS_OP_N, CUBLAS_OP_N, -1, -1, -1, 0, 0, 0};
  return {desc.transa, CUBLAS_OP_N, int(m), int(d.cols), int(k), int(a.ld), int(b.ld), int(d.ld)};
}
}  // namespace
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return take(desc->transa, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return take(desc->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return take(desc->bias, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType_t type, uint64_t rows,
                                        uint64_t cols, int64_t ld) {
  *layout = {type, rows, cols, ld};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
  *preference = {0, {256, 256, 256, 256}};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return take(preference->workspace, value, bytes);
  return take(preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t A, cublasLtMatrixLayout_t B,
                                              cublasLtMatrixLayout_t C, cublasLtMatrixLayout_t D,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  *returned = 0;
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!described(*desc, *A, *B, *D).valid() || requested < 1) return CUBLAS_STATUS_INVALID_VALUE;
  if (!supported(A->type, B->type, D->type, desc->compute) || desc->scale != D->type || C->type != D->type ||
      desc->epilogue != CUBLASLT_EPILOGUE_BIAS || D->rows % 2)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const uint32_t* to = preference->alignment;
  results[0] = {{D->rows, D->cols, B->rows, preference->workspace, {to[0], to[1], to[2], to[3]}}, preference->workspace,
                CUBLAS_STATUS_SUCCESS};
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* A,
                              cublasLtMatrixLayout_t Adesc, const void* B, cublasLtMatrixLayout_t Bdesc,
                              const void* beta, const void*, cublasLtMatrixLayout_t, void* D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo, void* workspace,
                              size_t workspace_bytes, cudaStream_t) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Gemm gemm = described(*desc, *Adesc, *Bdesc, *Ddesc);
  if (!alpha || !beta || !gemm.valid() || workspace_bytes < algo->workspace) return CUBLAS_STATUS_INVALID_VALUE;
  if (algo->m != Ddesc->rows || algo->n != Ddesc->cols || algo->k != Bdesc->rows) return CUBLAS_STATUS_NOT_SUPPORTED;
  const void* const operands[] = {A, B, D, D};
  for (int i = 0; i < 4; ++i)
    if (uintptr_t(operands[i]) % algo->alignment[i]) stop("cublasLt: operand %d is less aligned than was said", i);
  const auto run = [&]<class T>(T scale, T keep) {
    const Turn turn;
    if (!on_device(workspace, workspace_bytes)) stop("cublasLt: the workspace is not in device memory");
    if (!on_device(desc->bias, Ddesc->rows * sizeof(T))) stop("cublasLt: the bias is not wholly in device memory");
    gemm.run<T>(scale, A, B, keep, D, dropped_bits(desc->compute));
    const T* bias = static_cast<const T*>(desc->bias);
    for (int64_t j = 0; j < gemm.n; ++j)
      for (int64_t i = 0; i < gemm.m; ++i) static_cast<T*>(D)[j * gemm.ldc + i] += bias[i];
  };
  if (Ddesc->type == CUDA_R_64F) run(*static_cast<const double*>(alpha), *static_cast<const double*>(beta));
  else run(*static_cast<const float*>(alpha), *static_cast<const float*>(beta));
  return CUBLAS_STATUS_SUCCESS;
}
