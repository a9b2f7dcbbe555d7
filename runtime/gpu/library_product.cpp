#include "runtime/gpu/library_product.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "kernels/gpu/product_tiling.h"
#include "runtime/gpu/library_candidate.h"
#include "runtime/gpu/queue.h"

namespace tenon::gpu {
namespace {

using namespace blas_numbers;

int number_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return float32;
    case DType::f16: return float16;
    case DType::bf16: return bfloat16;
    default: TENON_CHECK(false);
  }
}

// How a matrix [lines, depths] of the product is handed over: as a matrix by columns, or as its transpose.
struct Operand {
  std::uint64_t rows = 0, columns = 0;
  std::int64_t column_stride = 0;
  bool transposed = false;  // the depth lies side by side
};

// The lines are rows of what the library calls A, columns of B.
std::optional<Operand> operand(std::int64_t lines, std::int64_t depths, std::int64_t line,
                               std::int64_t depth) {
  const auto l = static_cast<std::uint64_t>(lines), d = static_cast<std::uint64_t>(depths);
  if (depth == 1 && line >= depths) return Operand{d, l, line, true};
  if (line == 1 && depth >= lines) return Operand{l, d, depth, false};
  return std::nullopt;
}

// The library computes result^T = right^T x left^T.
class LibraryStep : public Step {
 public:
  LibraryStep(Gpu& gpu, const LibraryProduct& p, const Operand& a, const Operand& b)
      : gpu_(gpu),
        blas_(blas(gpu.driver().vendor)),
        left_(p.left.address()),
        right_(p.right.address()),
        result_(p.result.address()),
        a_transposed_(a.transposed),
        b_transposed_(!b.transposed),
        tf32_(is_tf32(p.product)),
        epilogue_((p.bias ? with_bias : 0) | (p.relu ? with_relu : 0)),
        a_(layout(p.product.right_type, a)),
        b_(layout(p.product.left_type, b)),
        d_(layout(p.result.dtype(), {static_cast<std::uint64_t>(p.product.columns),
                                     static_cast<std::uint64_t>(p.product.rows), p.result_row})) {
    if (epilogue_ == 0) epilogue_ = plain;
    if (p.bias) bias_ = p.bias->address();
    scratch_bytes = library_workspace;
  }

  /// Whether the library has an algorithm for it.
  bool find_algorithm(const LibraryProduct& p) {
    const LibraryObject description = describe(nullptr);
    void* made = nullptr;
    blas_.check(blas_.create_preference(&made), "making a preference");
    const LibraryObject preference(made, blas_.destroy_preference);
    const auto prefer = [&](int attribute, const auto& value) {
      blas_.check(blas_.set_preference(made, attribute, &value, sizeof value), "saying what is preferred");
    };
    prefer(most_workspace, library_workspace);
    const PlannedTensor* const of[] = {&p.right, &p.left, &p.result, &p.result};
    for (std::size_t i = 0; i < std::size(of); ++i)
      if (const int attribute = blas_.numbers.least_alignment[i]) prefer(attribute, alignment_of(*of[i]));
    int found = 0;
    const int status = blas_.find_algorithms(blas_handle(gpu_), description.get(), a_.get(), b_.get(),
                                             d_.get(), d_.get(), made, 1, algorithm_.data(), &found);
    return status == 0 && found > 0;
  }

  void run(const Frame& frame) const override {
    const float one = 1, zero = 0;
    const LibraryObject description = describe(bias_ ? frame.at(*bias_) : nullptr);
    std::byte* const result = frame.at(result_);
    blas_.check(
        blas_.multiply(blas_handle(gpu_), description.get(), &one, frame.at(right_), a_.get(),
                       frame.at(left_), b_.get(), &zero, result, d_.get(), result, d_.get(),
                       algorithm_.data(), frame.scratch, library_workspace, gpu_queue(frame.queue).stream()),
        "multiplying matrices");
  }

 private:
  LibraryObject layout(DType dtype, const Operand& o) const {
    void* made = nullptr;
    blas_.check(blas_.create_layout(&made, number_of(dtype), o.rows, o.columns, o.column_stride),
                "describing a matrix");
    return {made, blas_.destroy_layout};
  }
  // Each run has its own: it holds the bias's address.
  LibraryObject describe(const std::byte* bias) const {
    const BlasNumbers& n = blas_.numbers;
    void* made = nullptr;
    blas_.check(blas_.create_description(&made, tf32_ ? n.tf32_sums : n.float32_sums, number_of(DType::f32)),
                "describing a product");
    LibraryObject description(made, blas_.destroy_description);
    const auto set = [&](int attribute, const auto& value) {
      blas_.check(blas_.set_description(made, attribute, &value, sizeof value), "describing a product");
    };
    set(n.left_operation, a_transposed_ ? n.transposed : n.as_it_lies);
    set(n.right_operation, b_transposed_ ? n.transposed : n.as_it_lies);
    set(n.epilogue, epilogue_);
    if (bias) set(n.bias, bias);
    return description;
  }
  static std::uint32_t alignment_of(const PlannedTensor& t) {
    return is_aligned_for_library(t) ? library_alignment : static_cast<std::uint32_t>(size_of(t.dtype()));
  }

  Gpu& gpu_;
  const Blas& blas_;
  const Address left_, right_, result_;
  std::optional<Address> bias_;
  const bool a_transposed_, b_transposed_, tf32_;
  int epilogue_;
  const LibraryObject a_, b_, d_;
  alignas(16) std::array<std::byte, algorithm_bytes> algorithm_{};
};

}  // namespace

bool library_multiplies(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32;
}

std::unique_ptr<Step> library_step(Gpu& gpu, LibraryProduct p) {
  const Product& q = p.product;
  if (q.rows == 0 || q.columns == 0 || q.depth == 0) return nullptr;
  if (batches(q) != 1 || !q.windows.empty() || q.left_type != q.right_type ||
      q.left_type != p.result.dtype() || !library_multiplies(q.left_type) ||
      (p.bias && p.bias->dtype() != q.left_type))
    return nullptr;
  const auto a = operand(q.columns, q.depth, q.right_column, q.right_row);
  const auto b = operand(q.rows, q.depth, q.left_row, q.left_column);
  if (!a || !b || p.result_row < q.columns) return nullptr;
  try {
    (void)blas_handle(gpu);
  } catch (const Error&) { return nullptr; }  // doctor says it
  auto step = std::make_unique<LibraryStep>(gpu, p, *a, *b);
  if (!step->find_algorithm(p)) return nullptr;
  return step;
}

}  // namespace tenon::gpu
