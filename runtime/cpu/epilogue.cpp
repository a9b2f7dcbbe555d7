#include "runtime/cpu/epilogue.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cpu/loop_patch.h"
#include "kernels/cpu/loop_patterns.h"
#include "kernels/cpu/rounded_rows.h"
#include "runtime/centred_bytes.h"
#include "runtime/cpu/coded_epilogue.h"
#include "runtime/index_fault.h"

namespace tenon {
namespace {

// The largest piece of a tile the program is given at once, and the stack it may use for it.
constexpr long piece_rows = 16;
constexpr long piece_cols = 128;
constexpr std::size_t stack_bytes = 128 << 10;

std::string_view name(cpu::Activation::Kind kind) {
  using enum cpu::Activation::Kind;
  switch (kind) {
    case none: return "";
    case relu: return "+relu";
    case clamp: return "+clamp";
    case leaky_relu: return "+leaky_relu";
    case hardsigmoid: return "+hardsigmoid";
    case hardswish: return "+hardswish";
    case sigmoid: return "+sigmoid";
    case silu: return "+silu";
    case tanh: return "+tanh";
    case gelu: return "+gelu";
    case gelu_tanh: return "+gelu_tanh";
  }
  return "";
}

// activation(tile), to which a load of floats may be added; or, rounded, activation(tile + load), where the
// load may be of 16 bits.
struct KnownProgram {
  cpu::Activation activation = cpu::Activation::none;
  std::optional<LoopOperand> added;
  std::optional<cpu::RoundedRows> rounded = {};
};

// What the kernels can do themselves of a program over [rows, columns].
class Recogniser {
 public:
  explicit Recogniser(const LoopProgram& program) : program_(program), patterns_(program) {}

  /// nullopt unless that is all of it.
  std::optional<KnownProgram> recognise() {
    const Reg result = program_.code.instructions.back().args[0];
    return rounds_ ? rounded(result) : exact(result);
  }

 private:
  bool is_tile(Reg r) const { return patterns_.at(r).op == LoopOp::tile; }

  std::optional<LoopOperand> rows_of(Reg r) const {
    if (patterns_.at(r).op != LoopOp::load) return std::nullopt;
    LoopOperand from = program_.operand(static_cast<std::size_t>(patterns_.at(r).operand));
    const bool repeats = from.strides[0] == 0;  // one row for all
    const bool fits = (from.dtype == DType::f32 || from.dtype == rounds_) &&
                      (from.strides[0] > 0 || (rounds_ && repeats)) && from.strides[1] == 1 &&
                      from.offset == 0;
    return fits ? std::optional(std::move(from)) : std::nullopt;
  }

  // The other summand of a load.
  std::optional<Reg> take_added(Reg sum, KnownProgram& known) const {
    if (!patterns_.is(sum, Prim::add)) return std::nullopt;
    const auto& args = patterns_.at(sum).args;
    const std::size_t loaded = rows_of(args[1]) ? 1 : 0;
    known.added = rows_of(args[loaded]);
    return known.added ? std::optional(args[1 - loaded]) : std::nullopt;
  }

  std::optional<KnownProgram> exact(Reg value) const {
    KnownProgram known;
    value = take_added(value, known).value_or(value);
    if (is_tile(value)) return known;
    const auto found = patterns_.activation(value);
    if (!found || !is_tile(found->of)) return std::nullopt;
    known.activation = found->function;
    return known;
  }

  // The argument of a rounding.
  std::optional<Reg> take_rounding(Reg r, cpu::RoundedRows& rows) const {
    const Instruction& i = patterns_.at(r);
    if (i.op != LoopOp::prim || i.prim != Prim::cast || i.type != *rounds_) return std::nullopt;
    rows.to = i.type == DType::f16 ? cpu::RoundedRows::To::f16 : cpu::RoundedRows::To::bf16;
    return i.args[0];
  }

  std::optional<KnownProgram> rounded(Reg value) const {
    KnownProgram known;
    cpu::RoundedRows rows{};
    const auto of_result = take_rounding(value, rows);
    if (of_result && is_tile(*of_result)) return with(known, rows);
    rows.rounds_result = of_result.has_value();
    value = of_result.value_or(value);
    if (const auto found = patterns_.activation(value)) {
      rows.activation = found->function;
      value = found->of;
    }
    const auto of_sum = take_rounding(value, rows);
    if (of_sum && is_tile(*of_sum)) return with(known, rows);
    const auto summand = take_added(of_sum.value_or(value), known);
    if (!summand) return std::nullopt;
    rows.adds = true;
    rows.residual_is_half = known.added->dtype != DType::f32;
    rows.rounds_sum = of_sum.has_value();
    const auto of_tile = take_rounding(*summand, rows);
    rows.adds_to_sum = !of_tile;
    if (!is_tile(of_tile.value_or(*summand))) return std::nullopt;
    return with(known, rows);
  }

  static KnownProgram with(KnownProgram known, const cpu::RoundedRows& rows) {
    known.rounded = rows;
    return known;
  }

  // The 16-bit type of its casts.
  std::optional<DType> first_rounding() const {
    for (const Instruction& i : program_.code.instructions)
      if (i.op == LoopOp::prim && i.prim == Prim::cast && (i.type == DType::f16 || i.type == DType::bf16))
        return i.type;
    return std::nullopt;
  }

  const LoopProgram& program_;
  cpu::LoopPatterns patterns_;
  std::optional<DType> rounds_ = first_rounding();
};

// The program stores rows that begin so far apart.
void set_row_stride(LoopProgram& program, std::int64_t stride) {
  program.shape.operands.back().strides = {stride, 1};
  program.code.operands.back().strides = {class_of(stride), class_of(1)};
}

}  // namespace

std::optional<CpuEpilogue> CpuEpilogue::compile(Epilogue epilogue, std::int64_t fewest) {
  CpuEpilogue compiled;
  compiled.epilogue_ = std::move(epilogue);
  const Epilogue& e = compiled.epilogue_;
  if (e.relu) compiled.activation_ = cpu::Activation::relu;
  if (!e.program) return compiled;
  if (const auto known = Recogniser(*e.program).recognise();
      known && (!e.relu || known->activation == cpu::Activation::none)) {
    if (!e.relu) compiled.activation_ = known->activation;
    compiled.rounded_ = known->rounded;
    if (known->added) {
      compiled.added_ = static_cast<std::size_t>(known->added->buffer);
      compiled.added_row_stride_ = known->added->strides[0];
    }
    return compiled;
  }
  for (const tenon::CodedPass& pass : coded_passes(*e.program)) {
    CodedPass& coded = compiled.coded_.emplace_back(CodedPass{.rows = pass.rows});
    if (!pass.residual) continue;
    coded.added = static_cast<std::size_t>(pass.residual->buffer);
    coded.added_row_stride = pass.residual->strides[0];
  }
  if (!compiled.coded_.empty()) {
    if (compiled.coded_.size() == 1) compiled.codes_ = cpu::CodesOfSums::of(compiled.coded_[0].rows);
    return compiled;
  }
  if (e.program->shape.dims[1] < fewest || e.operands.size() + 1 > max_buffers) return std::nullopt;
  LoopProgram program = *e.program;
  if (!is_byte(program.code.operands.back().dtype)) {
    // Kernels store what it leaves in float32, rounded as it is already.
    program.code.operands.back().dtype = DType::f32;
    set_row_stride(program, piece_cols);  // the result is one piece, too
  }
  compiled.kernel_ = cpu::LoopKernel::compile_epilogue(program, piece_rows, piece_cols);
  if (compiled.kernel_->scratch_bytes(1) > stack_bytes) return std::nullopt;
  return compiled;
}

std::string CpuEpilogue::text() const {
  if (kernel_) return epilogue_.text();
  if (!coded_.empty()) {
    Epilogue before = epilogue_;
    before.program.reset();
    std::string text = before.text();
    for (const CodedPass& pass : coded_) {
      if (pass.added) text += pass.added_row_stride == 0 ? "+bias" : "+residual";
      text += name(pass.rows.activation.kind);
    }
    return text + (coded_.back().rows.by_table ? "+table" : "+codes");
  }
  Epilogue in_kernel = epilogue_;
  in_kernel.program.reset();
  in_kernel.relu = false;
  if (!rounded_) return in_kernel.text() + std::string(name(activation_.kind)) + (added_ ? "+residual" : "");
  const std::string_view type = rounded_->to == cpu::RoundedRows::To::f16 ? "+f16" : "+bf16";
  return fmt::format("{}{}{}{}", in_kernel.text(), type, added_ ? "+residual" : "",
                     name(rounded_->activation.kind));
}

bool CpuEpilogue::is_hook() const {
  const bool adds_behind = added_ && !rounded_;
  return !epilogue_.residual && activation_ == cpu::Activation::none && !adds_behind;
}

PlannedTensor CpuEpilogue::place_result(Planner& planner, const Group& group, const Order& order) {
  const PlannedTensor out = epilogue_.assign_result(
      planner, group, order, [&](const PlannedTensor& t) { return row_stride(t, order).has_value(); });
  if (is_byte(out.dtype())) write_bytes(*row_stride(out, order));
  place(planner);
  return out;
}

void CpuEpilogue::write_bytes(long row_stride) {
  codes_stride_ = row_stride;
  if (!coded_.empty()) return;
  LoopProgram program = *epilogue_.program;
  set_row_stride(program, row_stride);
  kernel_ = cpu::LoopKernel::compile_epilogue(program, piece_rows, piece_cols);
}

void CpuEpilogue::place(Planner& planner) {
  const auto read = [&](const Value* value) {
    reads_.push_back(planner.assignment().at(value));
    return reads_.back().address();
  };
  if (epilogue_.bias) bias_ = read(epilogue_.bias);
  if (epilogue_.residual_rows) {
    for (const Value* value : {epilogue_.residual, epilogue_.residual_rows})
      reads_.push_back(planner.dense(value));
    residual_ = reads_[reads_.size() - 2].address();
    residual_rows_ = reads_.back().address();
  } else if (epilogue_.residual) {
    residual_ = read(epilogue_.residual);
  }
  for (const Value* value : epilogue_.operands) buffers_.push_back(read(value));
}

cpu::Epilogue CpuEpilogue::bind(const CpuFrame& frame, Running& running, long first_row,
                                const Address* bytes) const {
  cpu::Epilogue epilogue;
  epilogue.residual_stride = epilogue_.residual_row_stride;
  if (bias_) epilogue.bias = frame.at<const float>(*bias_);
  if (residual_) epilogue.residual = frame.at<const float>(*residual_);
  epilogue.activation = activation_;
  if (added_ && !rounded_) {
    epilogue.added = frame.at<const float>(buffers_[*added_]);
    epilogue.added_stride = added_row_stride_;
  }
  epilogue = epilogue.from(first_row, 0);
  running.self = this;
  running.first_row = first_row;
  if (rounded_) {
    epilogue.rounded = &*rounded_;
    if (added_) {
      running.buffers[0] = frame.at<void>(buffers_[*added_]);
      epilogue.rounded_residual = rounded_->further(running.buffers[0], first_row * added_row_stride_);
      epilogue.rounded_residual_stride = added_row_stride_;
    }
    epilogue.hook = run_rounded;
    epilogue.context = &running;
  }
  if (!coded_.empty()) {
    for (std::size_t i = 0; i < coded_.size(); ++i)
      running.buffers[i] = coded_[i].added ? frame.at<void>(buffers_[*coded_[i].added]) : nullptr;
    running.buffers[coded_.size()] = bytes ? frame.at<void>(*bytes) : nullptr;
    epilogue.hook = run_coded;
    epilogue.hook_takes_tiles = true;
    epilogue.context = &running;
  }
  const bool lies_like_codes = !codes_ || !codes_->residual || coded_[0].added_row_stride == codes_stride_;
  if (codes_ && bytes && lies_like_codes) {
    const long first = first_row * codes_stride_;
    running.codes = codes_;
    running.codes->to = frame.at<std::uint8_t>(*bytes) + first;
    running.codes->stride = codes_stride_;
    if (running.codes->residual)
      running.codes->residual->from = static_cast<const std::uint8_t*>(running.buffers[0]) + first;
    epilogue.codes = &*running.codes;
  }
  if (!kernel_) return epilogue;
  for (std::size_t i = 0; i < buffers_.size(); ++i) running.buffers[i] = frame.at<void>(buffers_[i]);
  if (bytes) running.buffers[buffers_.size()] = frame.at<void>(*bytes);
  epilogue.hook = bytes ? run_bytes : run_hook;
  epilogue.context = &running;
  return epilogue;
}

std::optional<CpuEpilogue> find_epilogue(const Planner& planner, const Group& group, const Node& anchor,
                                         const Value* bias, const Order& order, EpilogueOptions options) {
  auto match = Epilogue::match(planner, group, anchor, bias, order, options);
  if (!match) return std::nullopt;
  return CpuEpilogue::compile(*std::move(match), options.bytes ? 1 : CpuEpilogue::fewest_columns);
}

bool CpuEpilogue::find_rows(const CpuFrame& frame, cpu::Epilogue& epilogue, long rows, void* scratch) const {
  if (!residual_rows_) return true;
  const auto* const indices = frame.at<const void>(*residual_rows_);
  const DType dtype = epilogue_.residual_rows->dtype();
  const std::int64_t range = epilogue_.residual->shape()[0].value();
  auto* const found = static_cast<long*>(scratch);
  for (long r = 0; r < rows; ++r) {
    const std::int64_t index = index_at(indices, dtype, r);
    if (!is_in_range(index, range, epilogue_.residual_rows_from_end)) {
      report_index(frame.faults[0], index, range, epilogue_.residual_rows_from_end);
      return false;
    }
    found[r] = index < 0 ? index + range : index;
  }
  epilogue.residual_rows = found;
  return true;
}

void CpuEpilogue::run_rounded(const void* context, float* tile, long stride, long row0, long rows, long col0,
                              long cols) {
  const auto& running = *static_cast<const Running*>(context);
  const CpuEpilogue& self = *running.self;
  constexpr long together = 64;
  std::array<long, together> sums, residual;
  for (long first = 0; first < rows; first += together) {
    const long count = std::min(together, rows - first);
    for (long r = 0; r < count; ++r) {
      sums[static_cast<std::size_t>(r)] = (first + r) * stride;
      residual[static_cast<std::size_t>(r)] =
          (row0 + running.first_row + first + r) * self.added_row_stride_ + col0;
    }
    cpu::finish_rounded(*self.rounded_, {.sums = tile,
                                         .sums_rows = sums.data(),
                                         .residual = self.added_ ? running.buffers[0] : nullptr,
                                         .residual_rows = residual.data(),
                                         .rows = count,
                                         .cols = cols});
  }
}

void CpuEpilogue::run_coded(const void* context, float* tile, long stride, long row0, long rows, long col0,
                            long cols) {
  const auto& running = *static_cast<const Running*>(context);
  const CpuEpilogue& self = *running.self;
  row0 += running.first_row;
  for (std::size_t i = 0; i < self.coded_.size(); ++i) {
    const CodedPass& pass = self.coded_[i];
    const cpu::CodedRows& how = pass.rows;
    cpu::CodedTile part{.sums = tile, .sums_stride = stride, .rows = rows, .cols = cols};
    if (how.adds) {
      const long at = row0 * pass.added_row_stride + col0;
      part.residual = static_cast<const std::byte*>(running.buffers[i]) +
                      at * static_cast<long>(size_of(how.residual_type));
      part.residual_stride = pass.added_row_stride;
    }
    if (how.result == cpu::CodedRows::Result::codes) {
      part.codes =
          static_cast<std::uint8_t*>(running.buffers[self.coded_.size()]) + row0 * self.codes_stride_ + col0;
      part.codes_stride = self.codes_stride_;
    }
    // The next tile lies beside this one or begins below it: its lines would be waited for one by one.
    const bool is_last = col0 + cols >= self.epilogue_.program->shape.dims[1];
    for (long r = is_last ? rows : 0; r < (is_last ? 2 * rows : rows); ++r) {
      const long col = is_last ? -col0 : cols;
      if (part.residual && how.residual_type != DType::f32)
        __builtin_prefetch(static_cast<const std::byte*>(part.residual) + r * part.residual_stride + col);
      if (part.codes) __builtin_prefetch(part.codes + r * part.codes_stride + col, 1);
    }
    const bool is_one_row = stride == cols && (!part.residual || part.residual_stride == cols) &&
                            (!part.codes || part.codes_stride == cols);
    if (is_one_row) part.cols = std::exchange(part.rows, 1) * cols;
    cpu::finish_coded(how, part);
  }
}

void CpuEpilogue::run_bytes(const void* context, float* tile, long stride, long row0, long rows, long col0,
                            long cols) {
  const auto& running = *static_cast<const Running*>(context);
  row0 += running.first_row;
  alignas(64) std::byte scratch[stack_bytes];
  for (long r = 0; r < rows; r += piece_rows)
    for (long c = 0; c < cols; c += piece_cols)
      running.self->kernel_->run_on_tile({tile + r * stride + c, stride, row0 + r, col0 + c,
                                          std::min(piece_rows, rows - r), std::min(piece_cols, cols - c)},
                                         {running.buffers.data(), running.self->buffers_.size() + 1},
                                         scratch);
}

void CpuEpilogue::run_hook(const void* context, float* tile, long stride, long row0, long rows, long col0,
                           long cols) {
  const auto& running = *static_cast<const Running*>(context);
  const CpuEpilogue& self = *running.self;
  auto buffers = running.buffers;
  row0 += running.first_row;
  const std::size_t count = self.buffers_.size() + 1;
  alignas(64) std::byte scratch[stack_bytes];
  alignas(64) float result[piece_rows * piece_cols];
  const cpu::PatchFn move = cpu::patch_op(sizeof(float));
  for (long r = 0; r < rows; r += piece_rows) {
    for (long c = 0; c < cols; c += piece_cols) {
      const long height = std::min(piece_rows, rows - r);
      const long width = std::min(piece_cols, cols - c);
      float* piece = tile + r * stride + c;
      // The program stores at [row * piece_cols + column]; this makes that result[0] for the piece's corner.
      // The address lies outside of result, where no pointer of C++ may point.
      const long corner = (row0 + r) * piece_cols + col0 + c;
      buffers[count - 1] = reinterpret_cast<void*>(reinterpret_cast<std::intptr_t>(result) -
                                                   corner * static_cast<long>(sizeof(float)));
      self.kernel_->run_on_tile({piece, stride, row0 + r, col0 + c, height, width}, {buffers.data(), count},
                                scratch);
      move({.to = piece,
            .from = result,
            .rows = height,
            .cols = width,
            .to_row = stride,
            .from_row = piece_cols});
    }
  }
}

}  // namespace tenon
