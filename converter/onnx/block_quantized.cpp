// Weights of few bits that share a scale by blocks of com.microsoft, packed into bytes.
#include <array>

#include "base/error.h"
#include "compose/packed_bits.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

std::int64_t bits_of(const Call& call) {
  const std::int64_t bits = call.integer("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8) throw unsupported("weights of {} bits", bits);
  return bits;
}

std::int64_t block_of(const Call& call, std::int64_t fallback) {
  const std::int64_t block = call.integer("block_size", fallback);
  if (block < 16 || (block & (block - 1)) != 0) throw error("its block_size is {}", block);
  return block;
}

/// Codes [rows, blocks, block] as numbers [rows, blocks * block]; zero points of the blocks may be missing.
Ref rows_of(const Ref& codes, const Ref& scales, const Ref& zeros, double zero) {
  const Dim rows = codes.shape()[0], blocks = codes.shape()[1];
  const auto beside = [&](const Ref& v) { return reshape(cast(DType::f32, v), {rows, blocks, Dim(1)}); };
  const Ref wide = cast(DType::f32, codes);
  const Ref centred = zeros ? wide - beside(zeros) : wide - zero;
  return reshape(centred * beside(scales), {rows, blocks * codes.shape()[2]});
}

/// Zero points of the blocks of each row, packed as the codes are, or one number each.
Ref zeros_of(const Ref& given, const Dim& rows, const Dim& blocks, std::int64_t bits) {
  if (is_float(given.dtype())) return given;
  const Ref bytes = reshape(given, {rows, ceil_div(blocks * Dim(bits), Dim(8))});
  return slice(unpacked(bytes, bits), 1, Dim(0), blocks);
}

Operands matmul_of_bits(Call& call) {
  if (call.has(4)) throw unsupported("blocks by g_idx");
  if (call.integer("weight_prepacked", 0) != 0) throw unsupported("weights that are packed for one device");
  const Ref x = call.tensor(0), packed = call.tensor(1);
  const std::int64_t bits = bits_of(call), block = block_of(call, 0);
  const Dim columns(call.integer("K")), rows(call.integer("N"));
  const Dim blocks = ceil_div(columns, Dim(block));
  const Ref codes = reshape(unpacked(packed, bits), {rows, blocks, Dim(block)});
  const Ref zeros = call.has(3) ? zeros_of(call.tensor(3), rows, blocks, bits) : Ref();
  const Ref all = rows_of(codes, call.tensor(2), zeros, static_cast<double>(1 << (bits - 1)));
  const Ref weight = cast(x.dtype(), slice(all, 1, Dim(0), columns));
  return {call.has(5) ? linear(x, weight, call.tensor(5)) : linear(x, weight)};
}

/// What the 16 codes of 4-bit floats stand for, as shares of a block's largest number: FP4 has 3 bits of
/// exponent and mantissa, NF4 the quantiles of a normal distribution (Dettmers et al. 2023, appendix E).
Ref table_of(const Call& call, bool is_normal) {
  static constexpr std::array fp4 = {0.0, 0.00520833333, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25};
  static constexpr std::array nf4 = {-1.0,
                                     -0.6961928009986877,
                                     -0.5250730514526367,
                                     -0.39491748809814453,
                                     -0.28444138169288635,
                                     -0.18477343022823334,
                                     -0.09105003625154495,
                                     0.0,
                                     0.07958029955625534,
                                     0.16093020141124725,
                                     0.24611230194568634,
                                     0.33791524171829224,
                                     0.44070982933044434,
                                     0.5626170039176941,
                                     0.7229568362236023,
                                     1.0};
  Tensor t = Tensor::empty(DType::f32, {16});
  for (std::size_t i = 0; i < 16; ++i)
    t.set_double(std::array{static_cast<std::int64_t>(i)}, is_normal ? nf4[i] : i < 8 ? fp4[i] : -fp4[i - 8]);
  return call.build.ref(call.build.graph().add_weight(is_normal ? "nf4" : "fp4", std::move(t)));
}

/// The high half of a byte is the first code; blocks run over the whole matrix.
Operands matmul_of_4_bit_floats(Call& call) {
  const Ref x = call.tensor(0), bytes = call.tensor(1), scales = call.tensor(2);
  const std::int64_t columns = call.integer("K"), rows = call.integer("N"), block = block_of(call, 0);
  if (columns < 1 || rows < 1 || columns > (1LL << 31) / rows)
    throw error("{} rows of {} columns", rows, columns);
  const std::int64_t count = rows * columns;
  if (count % block != 0) throw unsupported("{} numbers in blocks of {}", count, block);
  const Ref pairs = reshape(unpacked(reshape(bytes, {Dim(count / 2)}), 4), {Dim(count / 2), Dim(2)});
  const Ref codes = reshape(flip(pairs, {1}), {Dim(count / block), Dim(block)});
  const std::int64_t type = call.integer("quant_type");
  if (type != 0 && type != 1) throw error("its quant_type is {}", type);
  const Ref table = table_of(call, type == 1);
  const Ref shares = index_select(table, 0, cast(DType::i64, codes));
  const Ref numbers = shares * reshape(cast(DType::f32, scales), {Dim(count / block), Dim(1)});
  const Ref weight = cast(x.dtype(), reshape(numbers, {Dim(rows), Dim(columns)}));
  return {call.integer("transB", 1) != 0 ? linear(x, weight) : matmul(x, weight)};
}

/// Rows of a table of such weights.
Operands gather_rows(Call& call) {
  const Ref data = call.tensor(0), scales = call.tensor(2);
  check_rank("data", data.type(), 2);
  check_rank("scales", scales.type(), 2);
  if (call.axis(2, 0, "gather_axis") != 0 || call.axis(2, 1, "quantize_axis") != 1)
    throw unsupported("its axes: rows are gathered, and their elements quantised by blocks");
  const bool is_packed = call.operand(0).narrow == 0 && data.dtype() == DType::u8;
  if (!is_packed && is_float(data.dtype())) throw unsupported("data {}", data.type().str());
  const std::int64_t bits = bits_of(call), block = block_of(call, 128);
  const Ref codes = is_packed ? unpacked(data, bits) : data;
  const Dim rows = codes.shape()[0], blocks = scales.shape()[1];
  const Dim missing = blocks * Dim(block) - codes.shape()[1];
  const Ref whole = missing == Dim(0) ? codes : pad(codes, {Dim(0), Dim(0), Dim(0), missing});
  const Ref zeros = !call.has(3) ? Ref()
                    : is_packed  ? zeros_of(call.tensor(3), rows, blocks, bits)
                                 : call.tensor(3);
  const Ref all = rows_of(reshape(whole, {rows, blocks, Dim(block)}), scales, zeros,
                          is_packed ? static_cast<double>(1 << (bits - 1)) : 0);
  const Ref table = cast(scales.dtype(), slice(all, 1, Dim(0), codes.shape()[1]));
  const Ref places = cast(DType::i64, call.tensor(1));
  const Ref from_end = places + dim_value(rows, places);
  return {index_select(table, 0, where(places < places.literal(0), from_end, places))};
}

}  // namespace

std::span<const OnnxEntry> block_quantized_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"com.microsoft.GatherBlockQuantized", gather_rows},
      OnnxEntry{"com.microsoft.MatMulBnb4", matmul_of_4_bit_floats},
      OnnxEntry{"com.microsoft.MatMulNBits", matmul_of_bits},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
