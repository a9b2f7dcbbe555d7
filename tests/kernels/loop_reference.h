// The plain meaning of a loop program: point by point, in double and int64. The loop tests compare with it.
#pragma once
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "kernels/loop_program.h"

namespace tenon {

/// A value of any compute type: `real` where the type is a float, else `whole`.
struct Number {
  double real = 0;
  std::int64_t whole = 0;
};

inline Number read_number(const std::byte* data, DType dtype, std::int64_t index) {
  return dispatch_real(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T x{};
    std::memcpy(&x, data + index * static_cast<std::int64_t>(sizeof x), sizeof x);
    if (is_float(dtype)) return Number{.real = convert<double>(x)};
    return Number{.whole = convert<std::int64_t>(x)};
  });
}
inline void write_number(std::byte* data, DType dtype, std::int64_t index, Number value) {
  dispatch_real(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T x = is_float(dtype) ? convert<T>(value.real) : convert<T>(value.whole);
    std::memcpy(data + index * static_cast<std::int64_t>(sizeof x), &x, sizeof x);
  });
}

inline Number apply_numbers(const Instruction& i, DType operand_type, Number a, Number b, Number c) {
  const bool real = is_float(operand_type);
  if (i.prim == Prim::select) return a.whole != 0 ? b : c;
  if (i.prim == Prim::cast) {
    Number result;
    const DType to = compute_type(i.type);
    if (is_float(to)) {
      result.real =
          real ? (i.type == DType::f64 ? a.real : cast<float>(i.type, a.real))
               : (i.type == DType::f64 ? static_cast<double>(a.whole) : cast<float>(i.type, a.whole));
    } else if (is_bool(to)) {
      result.whole = real ? a.real != 0 : a.whole != 0;
    } else {
      result.whole = real ? cast<std::int64_t>(i.type, a.real) : cast<std::int64_t>(i.type, a.whole);
    }
    return result;
  }
  const bool test = info(i.prim).kind == PrimKind::test;
  if (real) {
    const double y = apply<double>(i.prim, a.real, b.real, c.real);
    return test ? Number{.whole = y != 0} : Number{.real = y};
  }
  if (is_bool(operand_type)) return {.whole = apply<bool>(i.prim, a.whole != 0, b.whole != 0, c.whole != 0)};
  return {.whole = apply<std::int64_t>(i.prim, a.whole, b.whole, c.whole)};
}

inline Number reduce_numbers(Reduce kind, DType type, const std::vector<Number>& row) {
  const bool real = is_float(type);
  const auto value = [&](const Number& n) { return real ? n.real : static_cast<double>(n.whole); };
  const auto fold = [&](Prim p, Number start) {
    for (const Number& n : row) {
      start.real = apply<double>(p, start.real, n.real);
      start.whole = apply<std::int64_t>(p, start.whole, n.whole);
    }
    return start;
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr auto whole = std::numeric_limits<std::int64_t>{};
  switch (kind) {
    case Reduce::sum: return fold(Prim::add, {});
    case Reduce::prod: return fold(Prim::mul, {1, 1});
    case Reduce::min: return fold(Prim::min, {inf, whole.max()});
    case Reduce::max: return fold(Prim::max, {-inf, whole.min()});
    case Reduce::any: return fold(Prim::logical_or, {0, 0});
    case Reduce::all: return fold(Prim::logical_and, {1, 1});
    default: break;
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size() && !std::isnan(value(row[best])); ++i) {
    const bool better =
        kind == Reduce::argmax ? value(row[i]) > value(row[best]) : value(row[i]) < value(row[best]);
    if (better || std::isnan(value(row[i]))) best = i;
  }
  return {.whole = static_cast<std::int64_t>(best)};
}

/// Runs the program. `tile` is what LoopOp::tile reads, row-major over dims, if the program has one.
inline void run_reference(const LoopProgram& program, std::span<void* const> buffers,
                          const float* tile = nullptr) {
  const std::size_t rank = program.shape.dims.size();
  const std::size_t kept = rank - static_cast<std::size_t>(program.code.reduced);
  std::int64_t rows = 1;
  std::int64_t row_size = 1;
  for (std::size_t d = 0; d < kept; ++d) rows *= program.shape.dims[d];
  for (std::size_t d = kept; d < rank; ++d) row_size *= program.shape.dims[d];
  const std::vector<bool> varying = varies_over_row(program);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<std::vector<Number>> registers(program.code.instructions.size());
    const auto index_of = [&](std::int64_t point) {
      std::vector<std::int64_t> index(rank);
      std::int64_t rest = row * std::max<std::int64_t>(row_size, 1) + point;
      for (std::size_t d = rank; d-- > 0;) {
        const std::int64_t extent = std::max<std::int64_t>(program.shape.dims[d], 1);
        index[d] = rest % extent;
        rest /= extent;
      }
      return index;
    };
    const auto address = [&](const LoopOperand& operand, std::int64_t point) {
      const std::vector<std::int64_t> index = index_of(point);
      std::int64_t at = operand.offset;
      for (std::size_t d = 0; d < rank; ++d) at += index[d] * operand.strides[d];
      return at;
    };
    const auto loop = [&](bool stores) {
      for (std::size_t n = 0; n < program.code.instructions.size(); ++n) {
        const Instruction& i = program.code.instructions[n];
        if ((i.op == LoopOp::store) != stores) continue;
        registers[n].resize(static_cast<std::size_t>(row_size));
        const auto arg = [&](int a, std::int64_t point) {
          const Reg r = i.args[static_cast<std::size_t>(a)];
          if (r < 0) return Number{};
          const auto& values = registers[static_cast<std::size_t>(r)];
          return values[program.code.instructions[static_cast<std::size_t>(r)].op == LoopOp::reduce
                            ? 0
                            : static_cast<std::size_t>(point)];
        };
        if (i.op == LoopOp::reduce) {
          const DType type = program.type_of(i.args[0]);
          std::vector<Number> values;
          for (std::int64_t p = 0; p < row_size; ++p) values.push_back(arg(0, p));
          registers[n].assign(static_cast<std::size_t>(std::max<std::int64_t>(row_size, 1)),
                              reduce_numbers(i.reduce, type, values));
          continue;
        }
        // A row of no points still has its row values.
        const std::int64_t points = i.op == LoopOp::store && !varying[n] ? 1
                                    : varying[n]                         ? row_size
                                                 : std::max<std::int64_t>(row_size, 1);
        registers[n].resize(static_cast<std::size_t>(std::max<std::int64_t>(points, 1)));
        for (std::int64_t p = 0; p < points; ++p) {
          Number& out = registers[n][static_cast<std::size_t>(p)];
          const bool memory = i.operand >= 0;
          const LoopOperand operand =
              memory ? program.operand(static_cast<std::size_t>(i.operand)) : LoopOperand{};
          auto* const data =
              memory ? static_cast<std::byte*>(buffers[static_cast<std::size_t>(operand.buffer)]) : nullptr;
          switch (i.op) {
            case LoopOp::gather: {
              std::int64_t index = arg(0, p).whole;
              if (index < 0 && operand.from_end) index += operand.range;
              if (i.args[1] >= 0 && (index < 0 || index >= operand.range)) {
                out = arg(1, p);
                break;
              }
              out = read_number(data, operand.dtype, address(operand, p) + index * operand.index_stride);
              break;
            }
            case LoopOp::load: out = read_number(data, operand.dtype, address(operand, p)); break;
            case LoopOp::tile: out.real = static_cast<double>(tile[row * row_size + p]); break;
            case LoopOp::constant: out = {i.value, i.integer}; break;
            case LoopOp::count:
              out = {static_cast<double>(program.row_length()), program.row_length()};
              break;
            case LoopOp::iota: out.whole = index_of(p)[static_cast<std::size_t>(i.dim)]; break;
            case LoopOp::prim: {
              const DType type = program.type_of(i.args[0]);
              out = apply_numbers(i, type, arg(0, p), arg(1, p), arg(2, p));
              break;
            }
            case LoopOp::store: write_number(data, operand.dtype, address(operand, p), arg(0, p)); break;
            case LoopOp::reduce: break;
          }
        }
      }
    };
    loop(false);
    loop(true);
  }
}

}  // namespace tenon
