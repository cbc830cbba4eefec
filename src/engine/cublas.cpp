// Matrix products on the GPU, by cuBLAS, which stores matrices by columns: it takes a row-major matrix for its
// transpose, so C = A B is computed as C^T = B^T A^T.
#include "engine/cuda.h"

#ifdef MINBERT_CUDA
#include <cublasLt.h>
#include <cublas_v2.h>

#include <array>
#include <map>
#include <span>

#include "engine/storage.h"

namespace minbert::cuda {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    fail(formatted("cuBLAS: {}: {}", what, cublasGetStatusString(status)));
}

// cuBLAS and cublasLt work in the default stream, as everything else does, and share one workspace.
struct Blas {
  cublasHandle_t handle{};
  std::shared_ptr<Storage> workspace = Storage::exact(cublas_workspace, Device::cuda, "cuBLAS");
  Blas() {
    check(cublasCreate(&handle), "starting");
    check(cublasSetWorkspace(handle, workspace->data(), size_t(cublas_workspace)), "setting its workspace");
  }
  cublasLtHandle_t lt() const { return reinterpret_cast<cublasLtHandle_t>(handle); }     // as its documentation allows
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

// The arguments of cuBLAS for each group of products of the same sizes.
struct Groups {
  std::vector<int> m, n, k, lda, ldb, ldc, size;
  void add(const Product& p) {
    m.push_back(i(p.m));
    n.push_back(i(p.n));
    k.push_back(i(p.k));
    lda.push_back(i(p.lda));
    ldb.push_back(i(p.ldb));
    ldc.push_back(i(p.ldc));
    size.push_back(0);
  }
};

// The bits of all addresses, or-ed: a multiple of 16, say, if each address is one.
uintptr_t bits_of(std::span<const void* const> addresses) {
  uintptr_t bits = 0;
  for (const void* address : addresses) bits |= reinterpret_cast<uintptr_t>(address);
  return bits;
}

// ---- cublasLt's kernel for a product with a bias ----
template <class Value>
void set(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t name, const Value& value) {
  check(cublasLtMatmulDescSetAttribute(product, name, &value, sizeof(value)), "describing a product");
}
template <class Value>
void set(cublasLtMatmulPreference_t wish, cublasLtMatmulPreferenceAttributes_t name, const Value& value) {
  check(cublasLtMatmulPreferenceSetAttribute(wish, name, &value, sizeof(value)), "describing what serves");
}
constexpr uint32_t operand_alignment = 64;          // bytes; that of parameters and of results

struct BiasProduct {
  cublasLtMatmulDescOpaque_t product;
  cublasLtMatrixLayoutOpaque_t w, x, y;             // columns: w^T [n,k]  x [k,m]  y [n,m]
  cublasLtMatmulHeuristicResult_t best{};           // best.state: CUBLAS_STATUS_SUCCESS if there is a kernel

  explicit BiasProduct(const Product& p) {
    check(cublasLtMatmulDescInit(&product, compute_type(false), element_type), "describing a product");
    set(&product, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(&product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set_bias(reinterpret_cast<const real*>(uintptr_t(operand_alignment)));     // any address of that alignment
    layout(&w, p.k, p.n, p.ldb);
    layout(&x, p.k, p.m, p.lda);
    layout(&y, p.n, p.m, p.ldc);
    cublasLtMatmulPreferenceOpaque_t wish;
    check(cublasLtMatmulPreferenceInit(&wish), "describing what serves");
    set(&wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, size_t(cublas_workspace));
    for (const auto matrix : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(&wish, matrix, operand_alignment);
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(blas().lt(), &product, &w, &x, &y, &y, &wish, 1, &best, &found);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) best.state = CUBLAS_STATUS_NOT_SUPPORTED;
  }
  void set_bias(const real* bias) { set(&product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }
  static void layout(cublasLtMatrixLayout_t matrix, int64_t rows, int64_t cols, int64_t ld) {
    check(cublasLtMatrixLayoutInit(matrix, element_type, uint64_t(rows), uint64_t(cols), ld), "describing a matrix");
  }
};
// Each size and precision is described, and its kernel looked up, once.
BiasProduct& bias_product(const Product& p) {
  thread_local std::map<std::array<int64_t, 7>, BiasProduct> known;
  return known.try_emplace({p.m, p.n, p.k, p.lda, p.ldb, p.ldc, int64_t(compute_type(false))}, p).first->second;
}

}  // namespace

bool gemm_with_bias(const Product& p, const real* bias) {
  if (is_empty(p)) return true;
  const void* const addresses[] = {p.a, p.b, p.c, bias};
  if (bits_of(addresses) % operand_alignment) return false;
  BiasProduct& known = bias_product(p);
  cublasStatus_t& state = known.best.state;
  if (state != CUBLAS_STATUS_SUCCESS) return false;
  known.set_bias(bias);
  const real one = 1, zero = 0;
  state = cublasLtMatmul(blas().lt(), &known.product, &one, p.b, &known.w, p.a, &known.x, &zero, p.c, &known.y, p.c,
                         &known.y, &known.best.algo, blas().workspace->data(), size_t(cublas_workspace), nullptr);
  if (state == CUBLAS_STATUS_EXECUTION_FAILED) check(state, "a product with a bias");
  if (state != CUBLAS_STATUS_SUCCESS) {             // `known` keeps this state: the kernel is not tried again
    cudaGetLastError();                             // clears the error, or the next launch would report it
    return false;
  }
  count_launch("a product with a bias");
  return true;
}

void gemm(Transpose form, const Product& p, real alpha, real beta) {
  if (is_empty(p)) return;
  check(cublasGemmEx(blas().handle, of_b(form), of_a(form), i(p.n), i(p.m), i(p.k), &alpha, p.b, element_type, i(p.ldb),
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
    pointers[k] = list[k].b;
    pointers[count + k] = list[k].a;
    pointers[2 * count + k] = list[k].c;
  }
  const size_t group_count = groups.size.size();
  // tf32 needs operands that begin at multiples of 16 bytes.
  const cublasComputeType_t type = bits_of(pointers) % 16 && !is_double ? CUBLAS_COMPUTE_32F : compute_type(true);
  const auto copy = Storage::copy_of(pointers.data(), int64_t(pointers.size() * sizeof(void*)), Device::cuda);
  void* const* const on_gpu = static_cast<void* const*>(copy->data());

  const std::vector<cublasOperation_t> op_b(group_count, of_b(form)), op_a(group_count, of_a(form));
  const std::vector<real> alphas(group_count, alpha), betas(group_count, beta);
  check(cublasGemmGroupedBatchedEx(blas().handle, op_b.data(), op_a.data(), groups.n.data(), groups.m.data(),
                                   groups.k.data(), alphas.data(), on_gpu, element_type, groups.ldb.data(),
                                   on_gpu + count, element_type, groups.lda.data(), betas.data(), on_gpu + 2 * count,
                                   element_type, groups.ldc.data(), int(group_count), groups.size.data(), type),
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
