// Matrix products on the GPU, by cuBLAS. It counts by columns: a row-major matrix is to it its own transpose, and
// C = A B is C^T = B^T A^T.
#include "engine/cuda.h"

#ifdef MINBERT_CUDA
#include <cublas_v2.h>

#include "engine/storage.h"

namespace minbert::cuda {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    fail(format("cuBLAS: {}: {}", what, cublasGetStatusString(status)));
}

// It works in the same stream as all else, the default one.
cublasHandle_t blas() {
  static const cublasHandle_t handle = [] {
    require();
    cublasHandle_t h{};
    check(cublasCreate(&h), "starting");
    void* const place = allocate(cublas_workspace);
    MB_CHECK(place, "out of GPU memory: {} MB asked for, as cuBLAS's workspace", cublas_workspace >> 20);
    check(cublasSetWorkspace(h, place, size_t(cublas_workspace)), "setting its workspace");
    return h;
  }();
  return handle;
}

constexpr bool is_double = sizeof(real) == sizeof(double);
constexpr cudaDataType_t element_type = is_double ? CUDA_R_64F : CUDA_R_32F;

cublasComputeType_t compute_type(bool grouped) {
  if (is_double) return CUBLAS_COMPUTE_64F;
  switch (matmul_precision()) {
    case Precision::fp32: return CUBLAS_COMPUTE_32F;
    case Precision::tf32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::bf16:                           // grouped products of floats do not come in bf16
      return grouped ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F_FAST_16BF;
  }
  return CUBLAS_COMPUTE_32F;
}
cublasOperation_t of_a(Transpose form) { return form == Transpose::tn ? CUBLAS_OP_T : CUBLAS_OP_N; }
cublasOperation_t of_b(Transpose form) { return form == Transpose::nt ? CUBLAS_OP_T : CUBLAS_OP_N; }

int i(int64_t v) { return int(v); }                 // as cuBLAS counts
bool is_empty(const Product& p) { return p.m == 0 || p.n == 0; }
bool same_sizes(const Product& p, const Product& q) {
  return p.m == q.m && p.n == q.n && p.k == q.k && p.lda == q.lda && p.ldb == q.ldb && p.ldc == q.ldc;
}

// What cuBLAS wants to know of each group of products of the same sizes.
struct Groups {
  std::vector<int> m, n, k, lda, ldb, ldc, size;
  void add(const Product& p) {
    m.push_back(i(p.m)), n.push_back(i(p.n)), k.push_back(i(p.k));
    lda.push_back(i(p.lda)), ldb.push_back(i(p.ldb)), ldc.push_back(i(p.ldc)), size.push_back(0);
  }
};

}  // namespace

void gemm(Transpose form, const Product& p, real alpha, real beta) {
  if (is_empty(p)) return;
  check(cublasGemmEx(blas(), of_b(form), of_a(form), i(p.n), i(p.m), i(p.k), &alpha, p.b, element_type, i(p.ldb),
                     p.a, element_type, i(p.lda), &beta, p.c, element_type, i(p.ldc), compute_type(false),
                     CUBLAS_GEMM_DEFAULT),
        "a product");
  count_launch("a product");
}

void gemm_batch(Transpose form, const std::vector<Product>& products, real alpha, real beta) {
  std::vector<Product> list;
  for (const Product& p : products)
    if (!is_empty(p)) list.push_back(p);
  if (list.empty()) return;
  Groups groups;
  const size_t count = list.size();
  std::vector<const void*> pointers(3 * count);     // all b, all a, all c
  for (size_t k = 0; k < count; ++k) {
    if (k == 0 || !same_sizes(list[k - 1], list[k])) groups.add(list[k]);
    ++groups.size.back();
    pointers[k] = list[k].b, pointers[count + k] = list[k].a, pointers[2 * count + k] = list[k].c;
  }
  const size_t group_count = groups.size.size();
  uintptr_t bits = 0;                               // tf32 wants operands at multiples of 16 bytes (where k % 4 is 0)
  for (const void* p : pointers) bits |= reinterpret_cast<uintptr_t>(p);
  const cublasComputeType_t type = bits % 16 && !is_double ? CUBLAS_COMPUTE_32F : compute_type(true);
  const auto place = Storage::copy_of(pointers.data(), int64_t(pointers.size() * sizeof(void*)), Device::cuda);
  void* const* const at = static_cast<void* const*>(place->data());

  const std::vector<cublasOperation_t> op_b(group_count, of_b(form)), op_a(group_count, of_a(form));
  const std::vector<real> alphas(group_count, alpha), betas(group_count, beta);
  check(cublasGemmGroupedBatchedEx(blas(), op_b.data(), op_a.data(), groups.n.data(), groups.m.data(),
                                   groups.k.data(), alphas.data(), at, element_type, groups.ldb.data(), at + count,
                                   element_type, groups.lda.data(), betas.data(), at + 2 * count, element_type,
                                   groups.ldc.data(), int(group_count), groups.size.data(), type),
        "products of sentences and heads");
  count_launch("products of sentences and heads");
}

}  // namespace minbert::cuda

#else
namespace minbert::cuda {
void gemm(Transpose, const Product&, real, real) { require(); }
void gemm_batch(Transpose, const std::vector<Product>&, real, real) { require(); }
}  // namespace minbert::cuda
#endif
