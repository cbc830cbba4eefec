// Products of the rehearsal (cublas_v2.h).
#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "cublas_v2.h"
#include "machine.h"

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

cublasStatus_t cublasGemmGroupedBatchedEx(
    cublasHandle_t handle, const cublasOperation_t transa_array[], const cublasOperation_t transb_array[],
    const int m_array[], const int n_array[], const int k_array[], const void* alpha_array, const void* const Aarray[],
    cudaDataType_t Atype, const int lda_array[], const void* const Barray[], cudaDataType_t Btype,
    const int ldb_array[], const void* beta_array, void* const Carray[], cudaDataType_t Ctype, const int ldc_array[],
    int group_count, const int group_size[], cublasComputeType_t computeType) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (group_count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (!supported(Atype, Btype, Ctype, computeType) || computeType == CUBLAS_COMPUTE_32F_FAST_16BF)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  struct Group { Gemm gemm; double alpha, beta; int size; };
  std::vector<Group> groups;                       // read on the host, before the device's turn
  size_t products = 0;
  for (int g = 0; g < group_count; ++g) {
    const auto scale = [&](const void* of) {
      return Atype == CUDA_R_64F ? static_cast<const double*>(of)[g] : double(static_cast<const float*>(of)[g]);
    };
    const Gemm gemm{transa_array[g], transb_array[g], m_array[g], n_array[g],
                    k_array[g], lda_array[g], ldb_array[g], ldc_array[g]};
    groups.push_back({gemm, scale(alpha_array), scale(beta_array), group_size[g]});
    if (!gemm.valid() || group_size[g] < 0) return CUBLAS_STATUS_INVALID_VALUE;
    products += size_t(group_size[g]);
  }
  const Turn turn;
  for (const void* pointers : {static_cast<const void*>(Aarray), static_cast<const void*>(Barray),
                               static_cast<const void*>(Carray)})
    if (products && !on_device(pointers, products * sizeof(void*)))
      stop("cuBLAS: an array of %zu pointers at %p is not in device memory", products, pointers);
  const int drop = dropped_bits(computeType);
  size_t i = 0;
  for (const Group& group : groups)
    for (const size_t end = i + size_t(group.size); i < end; ++i) {
      // NVIDIA's documentation: for CUBLAS_COMPUTE_32F_FAST_TF32 pointers must be aligned to 16 bytes where k % 4 == 0.
      const uintptr_t any = uintptr_t(Aarray[i]) | uintptr_t(Barray[i]) | uintptr_t(Carray[i]);
      if (drop && group.gemm.k % 4 == 0 && any % 16) stop("cuBLAS: product %zu in TF32 is not aligned to 16 bytes", i);
      if (Atype == CUDA_R_64F) group.gemm.run<double>(group.alpha, Aarray[i], Barray[i], group.beta, Carray[i], 0);
      else group.gemm.run<float>(float(group.alpha), Aarray[i], Barray[i], float(group.beta), Carray[i], drop);
    }
  return CUBLAS_STATUS_SUCCESS;
}
