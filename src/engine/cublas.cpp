// Matrix products on the GPU, by cuBLAS, which stores matrices by columns: it takes a row-major
// matrix for its transpose, so C = A B is computed as C^T = B^T A^T.
#include "engine/cuda.h"

#ifdef MINBERT_CUDA
#include <cublasLt.h>
#include <cublas_v2.h>

#include <array>
#include <map>

#include "engine/storage.h"

namespace minbert::cuda {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    fail(formatted("cuBLAS: {}: {}", what, cublasGetStatusString(status)));
}

// cuBLAS and cublasLt work in the default stream, as everything else does, and share a workspace.
struct Blas {
  static constexpr int64_t bytes = 32 << 20;        // of the workspace
  cublasHandle_t handle{};
  std::shared_ptr<Storage> workspace = Storage::unpooled(bytes, Device::cuda);
  Blas() {
    check(cublasCreate(&handle), "starting");
    check(cublasSetWorkspace(handle, workspace->data(), size_t(bytes)), "setting its workspace");
  }
  // As its documentation allows
  cublasLtHandle_t lt() const { return reinterpret_cast<cublasLtHandle_t>(handle); }
};
const Blas& blas() {
  static const Blas* the_blas = new Blas;           // never destroyed, as the GPU is not
  return *the_blas;
}

constexpr bool is_double = sizeof(real) == sizeof(double);
constexpr cudaDataType_t element_type = is_double ? CUDA_R_64F : CUDA_R_32F;

cublasComputeType_t compute_type(Precision precision) {
  if (is_double) return CUBLAS_COMPUTE_64F;
  switch (precision) {
    case Precision::fp32: return CUBLAS_COMPUTE_32F;
    case Precision::tf32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::bf16: return CUBLAS_COMPUTE_32F_FAST_16BF;
  }
  return CUBLAS_COMPUTE_32F;
}
cublasOperation_t of_a(Transpose form) { return form == Transpose::tn ? CUBLAS_OP_T : CUBLAS_OP_N; }
cublasOperation_t of_b(Transpose form) { return form == Transpose::nt ? CUBLAS_OP_T : CUBLAS_OP_N; }

// A linear layer's product, y = x W^T + b, as cublasLt is told of it, and the kernel that it chose.
struct BiasProduct {
  cublasLtMatmulDescOpaque_t product;
  cublasLtMatrixLayoutOpaque_t w, x, y;             // by columns: W^T [k,n]  x^T [k,m]  y^T [n,m]
  cublasLtMatmulHeuristicResult_t best{};           // best.state: is there one?
  static constexpr uint32_t alignment = 64;         // bytes; that of parameters and of results

  explicit BiasProduct(const Product& p) {
    check(cublasLtMatmulDescInit(&product, compute_type(matmul_precision()), element_type),
          describing);
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    layout(&w, p.k, p.n, p.ldb);
    layout(&x, p.k, p.m, p.lda);
    layout(&y, p.n, p.m, p.ldc);
    cublasLtMatmulPreferenceOpaque_t wish;
    check(cublasLtMatmulPreferenceInit(&wish), describing);
    prefer(&wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, size_t(Blas::bytes));
    for (const auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(&wish, operand, alignment);
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        blas().lt(), &product, &w, &x, &y, &y, &wish, 1, &best, &found);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) best.state = CUBLAS_STATUS_NOT_SUPPORTED;
  }
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t name, const Value& value) {
    check(cublasLtMatmulDescSetAttribute(&product, name, &value, sizeof(value)), describing);
  }

 private:
  static constexpr const char* describing = "describing a product";
  template <class Value>
  static void prefer(cublasLtMatmulPreference_t wish, cublasLtMatmulPreferenceAttributes_t name,
                     const Value& value) {
    check(cublasLtMatmulPreferenceSetAttribute(wish, name, &value, sizeof(value)), describing);
  }
  static void layout(cublasLtMatrixLayout_t matrix, int64_t rows, int64_t cols, int64_t ld) {
    check(cublasLtMatrixLayoutInit(matrix, element_type, uint64_t(rows), uint64_t(cols), ld),
          describing);
  }
};
// Of each size and precision, described once.
BiasProduct& bias_product(const Product& p) {
  thread_local std::map<std::array<int64_t, 7>, BiasProduct> known;
  return known.try_emplace({p.m, p.n, p.k, p.lda, p.ldb, p.ldc, int64_t(matmul_precision())}, p)
      .first->second;
}

}  // namespace

bool gemm_with_bias(const Product& p, const real* bias) {
  if (p.m == 0 || p.n == 0) return true;
  for (const real* operand : {p.a, p.b, static_cast<const real*>(p.c), bias})
    if (reinterpret_cast<uintptr_t>(operand) % BiasProduct::alignment) return false;
  BiasProduct& known = bias_product(p);
  if (known.best.state != CUBLAS_STATUS_SUCCESS) return false;
  known.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const real one = 1, zero = 0;
  check(cublasLtMatmul(blas().lt(), &known.product, &one, p.b, &known.w, p.a, &known.x, &zero, p.c,
                       &known.y, p.c, &known.y, &known.best.algo, blas().workspace->data(),
                       size_t(Blas::bytes), nullptr),
        "a product with a bias");
  count_launch("a product with a bias");
  return true;
}

void gemm(Transpose form, const Product& p, real alpha, real beta) {
  if (p.m == 0 || p.n == 0) return;
  const auto i = [](int64_t v) { return int(v); };  // as cuBLAS counts
  check(cublasGemmEx(blas().handle, of_b(form), of_a(form), i(p.n), i(p.m), i(p.k), &alpha, p.b,
                     element_type, i(p.ldb), p.a, element_type, i(p.lda), &beta, p.c, element_type,
                     i(p.ldc), compute_type(matmul_precision()), CUBLAS_GEMM_DEFAULT),
        "a product");
  count_launch("a product");
}

void gemm_batch(Transpose form, const std::vector<Product>& products, real alpha, real beta) {
  if (products.empty()) return;
  const Product& p = products[0];
  for (const Product& other : products)
    if (!same_sizes(p, other)) return gemm_tiles(form, products, alpha, beta);
  const size_t count = products.size();
  std::vector<const void*> pointers(3 * count);     // all b, all a, all c
  uintptr_t bits = 0;                               // those that are set in one of them
  for (size_t i = 0; i < count; ++i) {
    pointers[i] = products[i].b;
    pointers[count + i] = products[i].a;
    pointers[2 * count + i] = products[i].c;
  }
  for (const void* pointer : pointers) bits |= reinterpret_cast<uintptr_t>(pointer);
  // All but fp32 needs operands that begin at multiples of 16 bytes.
  const Precision precision = bits % 16 ? Precision::fp32 : matmul_precision();
  const auto copy = Storage::copy_of(pointers.data(), int64_t(pointers.size() * sizeof(void*)),
                                     Device::cuda);
  void* const* const on_gpu = static_cast<void* const*>(copy->data());
  const auto i = [](int64_t v) { return int(v); };
  check(cublasGemmBatchedEx(blas().handle, of_b(form), of_a(form), i(p.n), i(p.m), i(p.k), &alpha,
                            on_gpu, element_type, i(p.ldb), on_gpu + count, element_type, i(p.lda),
                            &beta, on_gpu + 2 * count, element_type, i(p.ldc), int(count),
                            compute_type(precision), CUBLAS_GEMM_DEFAULT),
        "products of sentences and heads");
  count_launch("products of sentences and heads");
}

}  // namespace minbert::cuda

#else
namespace minbert::cuda {
void gemm(Transpose, const Product&, real, real) { require(); }
bool gemm_with_bias(const Product&, const real*) { return false; }
void gemm_batch(Transpose, const std::vector<Product>&, real, real) { require(); }
}  // namespace minbert::cuda
#endif
