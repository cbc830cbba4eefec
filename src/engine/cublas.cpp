// Matrix products on the GPU, by cuBLAS, which stores matrices by columns: it takes a row-major
// matrix for its transpose, so C = A B is computed as C^T = B^T A^T.
#include "engine/cuda.h"

#ifdef MINBERT_CUDA
#include <cublas_v2.h>

#include "engine/storage.h"

namespace minbert::cuda {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    fail(formatted("cuBLAS: {}: {}", what, cublasGetStatusString(status)));
}

// cuBLAS works in the default stream, as everything else does.
struct Blas {
  static constexpr int64_t bytes = 32 << 20;        // of its workspace
  cublasHandle_t handle{};
  std::shared_ptr<Storage> workspace = Storage::exact(bytes, Device::cuda);
  Blas() {
    check(cublasCreate(&handle), "starting");
    check(cublasSetWorkspace(handle, workspace->data(), size_t(bytes)), "setting its workspace");
  }
};
const Blas& blas() {
  static const Blas* the_blas = new Blas;           // never destroyed, as the GPU is not
  return *the_blas;
}

constexpr bool is_double = sizeof(real) == sizeof(double);
constexpr cudaDataType_t element_type = is_double ? CUDA_R_64F : CUDA_R_32F;

cublasComputeType_t compute_type(bool grouped) {
  if (is_double) return CUBLAS_COMPUTE_64F;
  switch (matmul_precision()) {
    case Precision::fp32: return CUBLAS_COMPUTE_32F;
    case Precision::tf32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::bf16:                          // grouped products of floats do not come in bf16
      return grouped ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F_FAST_16BF;
  }
  return CUBLAS_COMPUTE_32F;
}
cublasOperation_t of_a(Transpose form) { return form == Transpose::tn ? CUBLAS_OP_T : CUBLAS_OP_N; }
cublasOperation_t of_b(Transpose form) { return form == Transpose::nt ? CUBLAS_OP_T : CUBLAS_OP_N; }

}  // namespace

void gemm(Transpose form, const Product& p, real alpha, real beta) {
  if (p.m == 0 || p.n == 0) return;
  const auto i = [](int64_t v) { return int(v); };  // as cuBLAS counts
  check(cublasGemmEx(blas().handle, of_b(form), of_a(form), i(p.n), i(p.m), i(p.k), &alpha, p.b,
                     element_type, i(p.ldb), p.a, element_type, i(p.lda), &beta, p.c, element_type,
                     i(p.ldc), compute_type(false), CUBLAS_GEMM_DEFAULT),
        "a product");
  count_launch("a product");
}

// Each product is a group of its own, since sentences differ in length.
void gemm_batch(Transpose form, const std::vector<Product>& products, real alpha, real beta) {
  if (products.empty()) return;
  const size_t count = products.size();
  const auto each = [&](int64_t Product::*size) {
    std::vector<int> list;
    for (const Product& p : products) list.push_back(int(p.*size));
    return list;
  };
  const std::vector<int> m = each(&Product::m), n = each(&Product::n), k = each(&Product::k),
                         lda = each(&Product::lda), ldb = each(&Product::ldb),
                         ldc = each(&Product::ldc), ones(count, 1);
  std::vector<const void*> pointers(3 * count);     // all b, all a, all c
  uintptr_t bits = 0;                               // those that are set in one of them
  for (size_t i = 0; i < count; ++i) {
    pointers[i] = products[i].b;
    pointers[count + i] = products[i].a;
    pointers[2 * count + i] = products[i].c;
  }
  for (const void* pointer : pointers) bits |= reinterpret_cast<uintptr_t>(pointer);
  // tf32 needs operands that begin at multiples of 16 bytes.
  const cublasComputeType_t type =
      bits % 16 && !is_double ? CUBLAS_COMPUTE_32F : compute_type(true);
  const auto copy = Storage::copy_of(pointers.data(), int64_t(pointers.size() * sizeof(void*)),
                                     Device::cuda);
  void* const* const on_gpu = static_cast<void* const*>(copy->data());
  const std::vector<cublasOperation_t> op_b(count, of_b(form)), op_a(count, of_a(form));
  const std::vector<real> alphas(count, alpha), betas(count, beta);
  check(cublasGemmGroupedBatchedEx(blas().handle, op_b.data(), op_a.data(), n.data(), m.data(),
                                   k.data(), alphas.data(), on_gpu, element_type, ldb.data(),
                                   on_gpu + count, element_type, lda.data(), betas.data(),
                                   on_gpu + 2 * count, element_type, ldc.data(), int(count),
                                   ones.data(), type),
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
