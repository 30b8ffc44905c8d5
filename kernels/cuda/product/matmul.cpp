#include "kernels/cuda/product/matmul.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "kernels/preference.hpp"

namespace blaslift {
namespace {

constexpr std::size_t most_remembered = 256;

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(Algorithm::words) &&
              std::is_trivially_copyable_v<cublasLtMatmulAlgo_t>);

/// Partial sums of k, if any, are added up afterwards, in one order.
constexpr std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
/// Fewer products of real numbers, or of shorter ones, than the product has.
constexpr std::uint64_t not_classical =
    CUBLASLT_NUMERICAL_IMPL_FLAGS_GAUSSIAN | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 |
    CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF;

/// The first failure of a sequence; later ones are not tried.
template <class... Steps>
cublasStatus_t in_order(Steps... steps) {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  (void)(... && ((status = steps()) == CUBLAS_STATUS_SUCCESS));
  return status;
}

/// Whether this says that the library cannot do it, and not that the device is in trouble.
bool is_refusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
         status == CUBLAS_STATUS_ARCH_MISMATCH;
}

/// In bytes, up to what cuBLASLt distinguishes.
std::uint32_t alignment(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(bits & -bits, 256));
}

/// How the four matrices are aligned, in bytes.
struct Alignments {
  std::uint32_t a, b, c, e;
};

/// A product as cuBLASLt describes it, but for addresses and factors: its C is our E, its D our C.  Without E the two
/// are one, as where E is C.  Stays where it was made: nobody promises that a copy is as good.
class Description {
 public:
  Description() = default;
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  cublasStatus_t make(const Gemm& p) {
    e_ = p.E && p.E != p.C ? &separate_e_ : &c_;
    const cublasOperation_t ops[] = {operation(p.transa, p.precision), operation(p.transb, p.precision)};
    const bool a_is_plain = p.transa == Op::none, b_is_plain = p.transb == Op::none;
    const auto layout = [&](cublasLtMatrixLayoutOpaque_t& x, index rows, index cols, index ld) {
      return cublasLtMatrixLayoutInit(&x, type(p.precision), static_cast<std::uint64_t>(rows),
                                      static_cast<std::uint64_t>(cols), ld);
    };
    return in_order([&] { return cublasLtMatmulDescInit(&operation_, compute(p.precision), type(p.precision)); },
                    [&] { return set(CUBLASLT_MATMUL_DESC_TRANSA, ops[0]); },
                    [&] { return set(CUBLASLT_MATMUL_DESC_TRANSB, ops[1]); },
                    [&] { return layout(a_, a_is_plain ? p.m : p.k, a_is_plain ? p.k : p.m, p.lda); },
                    [&] { return layout(b_, b_is_plain ? p.k : p.n, b_is_plain ? p.n : p.k, p.ldb); },
                    [&] { return layout(separate_e_, p.m, p.n, p.E ? p.lde : p.ldc); },
                    [&] { return layout(c_, p.m, p.n, p.ldc); });
  }

  /// The algorithms that cuBLASLt holds to be the fastest of those that repeat their results and are classical products
  /// in the precision asked for.
  cublasStatus_t ask(cublasLtHandle_t handle, std::uint64_t workspace, const Alignments& aligned,
                     cublasLtMatmulHeuristicResult_t* results, int most, int& found) {
    cublasLtMatmulPreferenceOpaque_t preference;
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      return cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value);
    };
    found = 0;
    return in_order([&] { return cublasLtMatmulPreferenceInit(&preference); },
                    [&] { return prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace); },
                    [&] { return prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions); },
                    [&] { return prefer(CUBLASLT_MATMUL_PREF_IMPL_MASK, ~not_classical); },
                    [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, aligned.a); },
                    [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, aligned.b); },
                    [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, aligned.e); },
                    [&] { return prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, aligned.c); },
                    [&] {
                      return cublasLtMatmulAlgoGetHeuristic(handle, &operation_, &a_, &b_, e_, &c_, &preference, most,
                                                            results, &found);
                    });
  }

  /// The first of them, for operands that are aligned like the product's.
  cublasStatus_t choose(cublasLtHandle_t handle, std::uint64_t workspace, const Gemm& p,
                        cublasLtMatmulAlgo_t& algorithm) {
    const Alignments aligned{alignment(p.A), alignment(p.B), alignment(p.C), alignment(p.E ? p.E : p.C)};
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    const cublasStatus_t status = ask(handle, workspace, aligned, &result, 1, found);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (found == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    algorithm = result.algo;
    return result.state;
  }

  /// Whether an algorithm that comes from somewhere else could have been one of them.
  bool allows(cublasLtHandle_t handle, std::uint64_t workspace, const cublasLtMatmulAlgo_t& algorithm) {
    std::uint32_t reduction = ~std::uint32_t{0};
    std::uint64_t implementation = ~std::uint64_t{0};
    std::size_t written = 0;
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status = in_order(
        [&] {
          return cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &reduction,
                                                      sizeof reduction, &written);
        },
        [&] {
          return cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &implementation,
                                                   sizeof implementation, &written);
        },
        [&] { return cublasLtMatmulAlgoCheck(handle, &operation_, &a_, &b_, e_, &c_, &algorithm, &result); });
    return status == CUBLAS_STATUS_SUCCESS && (reduction & ~reductions) == 0 && (implementation & not_classical) == 0 &&
           result.workspaceSize <= workspace;
  }

  cublasStatus_t start(cublasLtHandle_t handle, const Gemm& p, const cublasLtMatmulAlgo_t& algorithm,
                       const Matmul::Where& where) {
    alignas(16) char alpha[16], beta[16];  // cuBLAS's complex types are aligned to 16 bytes, a caller's need not be
    std::memcpy(alpha, p.alpha, element_size(p.precision));
    std::memcpy(beta, p.beta, element_size(p.precision));
    return cublasLtMatmul(handle, &operation_, alpha, p.A, &a_, p.B, &b_, beta, p.E ? p.E : p.C, e_, p.C, &c_,
                          &algorithm, where.workspace, where.bytes, where.stream);
  }

 private:
  static cudaDataType type(Precision precision) {
    constexpr cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
    return types[static_cast<int>(precision)];
  }
  static cublasComputeType_t compute(Precision precision) {
    return precision == Precision::s || precision == Precision::c ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F;
  }
  /// Real matrices are not asked to be conjugated.
  static cublasOperation_t operation(Op op, Precision precision) {
    if (op == Op::none) return CUBLAS_OP_N;
    return op == Op::conjugate && is_complex(precision) ? CUBLAS_OP_C : CUBLAS_OP_T;
  }
  cublasStatus_t set(cublasLtMatmulDescAttributes_t attribute, cublasOperation_t value) {
    return cublasLtMatmulDescSetAttribute(&operation_, attribute, &value, sizeof value);
  }

  cublasLtMatmulDescOpaque_t operation_;
  cublasLtMatrixLayoutOpaque_t a_, b_, c_, separate_e_;
  cublasLtMatrixLayout_t e_ = nullptr;
};

cublasLtMatmulAlgo_t as_cublaslt(const Algorithm& algorithm) {
  cublasLtMatmulAlgo_t result;
  std::memcpy(&result, algorithm.words, sizeof result);
  return result;
}

/// cuBLAS looks for an algorithm in every call, which takes it 2 us; cuBLASLt's first proposal, remembered, is as fast
/// a kernel where that matters (H100; docs/measurements/lab-notes.md).  Not measured for narrow products, nor any use
/// where shapes do not come again, as in a QR.
bool is_small(const Gemm& p) {
  constexpr double most = 2e10;
  constexpr index least_size = 256, most_slender = 16;
  const auto [least, largest] = std::minmax({p.m, p.n, p.k});
  return least >= least_size && largest <= most_slender * least &&
         static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) <= most;
}

/// What people tell algorithms apart by.  Attributes that cannot be read show as 0.
void describe(const cublasLtMatmulAlgo_t& algorithm, char* text, std::size_t size) {
  const auto read = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto value) {
    std::size_t written = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written);
    return status == CUBLAS_STATUS_SUCCESS ? static_cast<int>(value) : 0;
  };
  constexpr std::uint32_t word = 0;
  constexpr std::uint16_t half = 0;
  std::snprintf(text, size, "id %d tile %d stages %d split %d swizzle %d custom %d inner %d cluster %d",
                read(CUBLASLT_ALGO_CONFIG_ID, 0), read(CUBLASLT_ALGO_CONFIG_TILE_ID, word),
                read(CUBLASLT_ALGO_CONFIG_STAGES_ID, word), read(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 0),
                read(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, word), read(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, word),
                read(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, half), read(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, half));
}

}  // namespace

/// How products of one shape are computed.
struct Matmul::Choice {
  Description description;
  std::optional<cublasLtMatmulAlgo_t> algorithm;  ///< none: not by cuBLASLt
};

Matmul::Matmul() = default;
Matmul::~Matmul() = default;

void Matmul::prefer(std::shared_ptr<const Preferences> preferences) {
  if (preferences == preferences_) return;
  preferences_ = std::move(preferences);
  choices_.clear();
  without_e_ = preferences_ && std::any_of(preferences_->begin(), preferences_->end(),
                                           [](const Preference& x) { return !x.product.adds_e && !x.own; });
}

cublasStatus_t Matmul::multiply(cublasLtHandle_t handle, const Gemm& p, const Where& where) {
  const bool small = is_small(p), in_place = p.E == p.C;
  if (!small && (in_place || (!p.E && !without_e_))) return CUBLAS_STATUS_NOT_SUPPORTED;
  const Shape shape{static_cast<index>(p.precision),
                    static_cast<index>(p.transa),
                    static_cast<index>(p.transb),
                    p.m,
                    p.n,
                    p.k,
                    p.lda,
                    p.ldb,
                    p.ldc,
                    p.E ? p.lde : 0,
                    in_place,
                    alignment(p.A),
                    alignment(p.B),
                    alignment(p.C),
                    p.E ? alignment(p.E) : 0};
  if (const auto known = choices_.find(shape); known != choices_.end()) {
    Choice& choice = *known->second;
    if (!choice.algorithm) return CUBLAS_STATUS_NOT_SUPPORTED;
    const cublasStatus_t status = choice.description.start(handle, p, *choice.algorithm, where);
    if (!is_refusal(status)) return status;
    choice.algorithm.reset();
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }

  const Preference* preference =
      preferences_ && !in_place
          ? nearest(preferences_->data(), static_cast<int>(preferences_->size()), p, alignment_of(p))
          : nullptr;
  const bool cublas = preference && preference->own && !p.E;
  if (preference && preference->own) preference = nullptr;
  // What cuBLASLt itself would choose.
  const bool first_proposal = p.E || (small && !cublas);
  if (!preference && !first_proposal) return CUBLAS_STATUS_NOT_SUPPORTED;
  auto choice = std::make_unique<Choice>();
  if (const cublasStatus_t status = choice->description.make(p); status != CUBLAS_STATUS_SUCCESS)
    return is_refusal(status) ? CUBLAS_STATUS_NOT_SUPPORTED : status;
  std::optional<cublasLtMatmulAlgo_t>& algorithm = choice->algorithm;
  cublasStatus_t status = CUBLAS_STATUS_NOT_SUPPORTED;
  if (preference && preference->algorithm.workspace <= where.bytes) {
    algorithm = as_cublaslt(preference->algorithm);
    if (choice->description.allows(handle, where.bytes, *algorithm))
      status = choice->description.start(handle, p, *algorithm, where);
  }
  if (is_refusal(status) && first_proposal)
    status = in_order([&] { return choice->description.choose(handle, where.bytes, p, algorithm.emplace()); },
                      [&] { return choice->description.start(handle, p, *algorithm, where); });
  if (status != CUBLAS_STATUS_SUCCESS && !is_refusal(status)) return status;  // not the shape's fault
  if (status != CUBLAS_STATUS_SUCCESS) algorithm.reset();
  if (choices_.size() >= most_remembered) choices_.clear();
  choices_.insert_or_assign(shape, std::move(choice));
  return status == CUBLAS_STATUS_SUCCESS ? status : CUBLAS_STATUS_NOT_SUPPORTED;
}

int matmul_candidates(const SquareProduct& x, std::uint32_t aligned, std::size_t workspace, Candidate* candidates,
                      int most) {
  const Gemm p{.precision = x.precision,
               .transa = x.transa,
               .transb = x.transb,
               .m = x.n,
               .n = x.n,
               .k = x.n,
               .alpha = nullptr,
               .A = nullptr,
               .lda = x.n,
               .B = nullptr,
               .ldb = x.n,
               .beta = nullptr,
               .C = nullptr,
               .ldc = x.n,
               .E = nullptr,
               .lde = x.n};
  Description description;
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  cublasLtHandle_t handle = nullptr;
  int found = 0, taken = 0;
  if (cublasLtCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 0;
  const cublasStatus_t status = in_order(
      [&] { return description.make(p); },
      [&] {
        return description.ask(handle, workspace, {aligned, aligned, aligned, aligned}, results.data(), most, found);
      });
  for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < found; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = results[static_cast<std::size_t>(i)];
    if (result.state != CUBLAS_STATUS_SUCCESS || !description.allows(handle, workspace, result.algo)) continue;
    Candidate& candidate = candidates[taken++] = {};
    std::memcpy(candidate.algorithm.words, &result.algo, sizeof candidate.algorithm.words);
    candidate.algorithm.workspace = result.workspaceSize;
    candidate.algorithm.alignment = aligned;
    describe(result.algo, candidate.name, sizeof candidate.name);
  }
  (void)cublasLtDestroy(handle);
  return taken;
}

std::string matmul_version() { return "cublasLt-" + std::to_string(cublasLtGetVersion()); }

}  // namespace blaslift
