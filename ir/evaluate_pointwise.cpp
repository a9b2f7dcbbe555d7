// Runs the flattened expression step by step on blocks of elements that stay in the cache.
#include "ir/evaluate_pointwise.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/zero_division.h"

namespace tenon {
namespace {

constexpr std::int64_t block_size = 256;

// The values of one step on one block, in the compute type of the step.
struct alignas(64) Block {
  std::array<std::byte, block_size * sizeof(double)> bytes;
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
};

template <class F>
decltype(auto) dispatch_compute(DType t, F&& f) {
  switch (compute_type(t)) {
    case DType::boolean: return f(dtype_tag<bool>{});
    case DType::i64: return f(dtype_tag<std::int64_t>{});
    case DType::f64: return f(dtype_tag<double>{});
    default: return f(dtype_tag<float>{});
  }
}

void load(const Tensor& t, std::int64_t at, std::int64_t stride, std::int64_t n, Block& block) {
  dispatch_real(t.dtype(), [&]<class E>(dtype_tag<E>) {
    dispatch_compute(t.dtype(), [&]<class T>(dtype_tag<T>) {
      const E* from = t.data<E>() + at;
      for (std::int64_t i = 0; i < n; ++i) block.as<T>()[i] = convert<T>(from[i * stride]);
    });
  });
}

void store(Block& block, std::int64_t n, Tensor& t, std::int64_t at) {
  dispatch_real(t.dtype(), [&]<class E>(dtype_tag<E>) {
    dispatch_compute(t.dtype(), [&]<class T>(dtype_tag<T>) {
      E* to = t.mutable_data<E>() + at;
      for (std::int64_t i = 0; i < n; ++i) to[i] = convert<E>(block.as<T>()[i]);
    });
  });
}

class PointwiseRunner {
 public:
  PointwiseRunner(const Expr& e, std::span<const DType> dtypes)
      : program_(flatten(e, dtypes)), blocks_(program_.steps.size()) {
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (program_.steps[i].kind == Expr::Kind::constant)
        dispatch_compute(program_.steps[i].type, [&]<class T>(dtype_tag<T>) {
          std::fill_n(blocks_[i].as<T>(), block_size, convert<T>(program_.steps[i].number));
        });
  }

  /// `fetch(operand, block)` loads an operand.
  template <class Fetch>
  Block& run(std::int64_t n, Fetch&& fetch) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const ScalarStep& step = program_.steps[i];
      if (step.kind == Expr::Kind::input) fetch(static_cast<std::size_t>(step.input), blocks_[i]);
      if (step.kind == Expr::Kind::prim) compute(step, blocks_[i], n);
    }
    return blocks_.back();
  }

 private:
  Block& arg(const ScalarStep& step, std::size_t i) {
    return blocks_[static_cast<std::size_t>(step.args.at(i))];
  }
  DType arg_type(const ScalarStep& step) const {
    return program_.steps[static_cast<std::size_t>(step.args[0])].type;
  }

  void compute(const ScalarStep& step, Block& out, std::int64_t n) {
    switch (info(step.prim).kind) {
      case PrimKind::select: return choose(step, out, n);
      case PrimKind::cast: return convert_to(step, out, n);
      case PrimKind::test:
        return dispatch_compute(arg_type(step),
                                [&]<class T>(dtype_tag<T>) { calculate<T, bool>(step, out, n); });
      default:
        return dispatch_compute(step.type, [&]<class T>(dtype_tag<T>) { calculate<T, T>(step, out, n); });
    }
  }

  template <class T, class R>
  void calculate(const ScalarStep& step, Block& out, std::int64_t n) {
    const T* a = arg(step, 0).template as<T>();
    const T* b = step.args.size() > 1 ? arg(step, 1).template as<T>() : a;
    if constexpr (std::is_integral_v<T>)
      if (divides(step.prim) && std::find(b, b + n, T(0)) != b + n) refuse_zero_divisor();
    for (std::int64_t i = 0; i < n; ++i) out.as<R>()[i] = static_cast<R>(apply<T>(step.prim, a[i], b[i]));
  }

  void choose(const ScalarStep& step, Block& out, std::int64_t n) {
    const bool* condition = arg(step, 0).as<bool>();
    dispatch_compute(step.type, [&]<class T>(dtype_tag<T>) {
      const T* a = arg(step, 1).template as<T>();
      const T* b = arg(step, 2).template as<T>();
      for (std::int64_t i = 0; i < n; ++i) out.as<T>()[i] = condition[i] ? a[i] : b[i];
    });
  }

  void convert_to(const ScalarStep& step, Block& out, std::int64_t n) {
    dispatch_compute(arg_type(step), [&]<class T>(dtype_tag<T>) {
      dispatch_compute(step.type, [&]<class R>(dtype_tag<R>) {
        const T* a = arg(step, 0).template as<T>();
        for (std::int64_t i = 0; i < n; ++i) out.as<R>()[i] = cast<R>(step.type, a[i]);
      });
    });
  }

  ScalarProgram program_;
  std::vector<Block> blocks_;
};

// Joins neighbouring axes that every operand steps through as one.
Index join_axes(std::vector<Tensor>& operands, const Index& shape) {
  std::vector<Index> strides;
  for (const Tensor& t : operands) strides.push_back(t.strides());
  Index joined;
  std::vector<Index> joined_strides(operands.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    bool continues = !joined.empty();
    for (std::size_t k = 0; k < operands.size() && continues; ++k)
      continues = joined_strides[k].back() == strides[k][axis] * shape[axis];
    if (continues)
      joined.back() *= shape[axis];
    else
      joined.push_back(shape[axis]);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (continues)
        joined_strides[k].back() = strides[k][axis];
      else
        joined_strides[k].push_back(strides[k][axis]);
    }
  }
  for (std::size_t k = 0; k < operands.size(); ++k)
    operands[k] = Tensor::view_of(operands[k].storage(), operands[k].dtype(), joined, joined_strides[k],
                                  operands[k].offset());
  return joined;
}

}  // namespace

Tensor evaluate_pointwise(const Expr& e, std::span<const Tensor> operands, const Index& shape) {
  std::vector<DType> dtypes;
  std::vector<Tensor> views;
  for (const Tensor& t : operands) {
    if (is_complex(t.dtype()))
      throw unsupported("complex numbers are not computed with ({})", t.type_string());
    dtypes.push_back(t.dtype());
    views.push_back(t.expand(shape));
  }
  const Tensor result = Tensor::empty(flatten(e, dtypes).result(), shape);
  if (result.numel() == 0) return result;
  // Strings are compared and chosen by their handles.
  for (std::size_t i = 0; i < views.size(); ++i)
    if (is_string(dtypes[i])) views[i] = views[i].bits_as(dtypes[i] = DType::i64);
  PointwiseRunner runner(e, dtypes);
  Tensor out = is_string(result.dtype()) ? result.bits_as(DType::i64) : result;
  Index sizes = join_axes(views, shape);
  if (sizes.empty()) {
    sizes = {1};
    for (Tensor& t : views) t = t.reshape({1});
  }
  const std::int64_t length = sizes.back();
  std::int64_t at = 0;
  for_each_index(std::span(sizes).first(sizes.size() - 1), [&](std::span<const std::int64_t> row) {
    for (std::int64_t first = 0; first < length; first += block_size) {
      const std::int64_t n = std::min(block_size, length - first);
      Block& block = runner.run(n, [&](std::size_t k, Block& operand) {
        const Index& strides = views[k].strides();
        std::int64_t from = first * strides.back();
        for (std::size_t i = 0; i < row.size(); ++i) from += row[i] * strides[i];
        load(views[k], from, strides.back(), n, operand);
      });
      store(block, n, out, at);
      at += n;
    }
  });
  return result;
}

}  // namespace tenon
