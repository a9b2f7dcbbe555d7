// Printing of loops.
#include "kernels/gpu/loop_source.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/gpu/loop_elements.h"

namespace tenon::gpu {
namespace {

class Printer : LoopElements {
 public:
  Printer(const LoopCode& code, const LoopForm& form, std::string_view name)
      : LoopElements(code, form, name) {}

  std::string kernel() {
    print_arguments();
    const std::string bounds =
        fmt::format("extern \"C\" __global__ void __launch_bounds__({})", form_.threads);
    if (has_pieces()) {
      line("template <bool Whole>");
      print_walk("GPU_INLINE void", name_ + "_walk");
      print_kernel_of_walks(bounds);
    } else {
      print_walk(bounds, name_);
    }
    return std::move(out_);
  }

  std::string part() {
    TENON_CHECK(form_.group == RowGroup::none && !has_faults());
    is_part_ = true;
    print_arguments();
    if (has_pieces()) {
      line("template <bool Whole>");
      print_walk("GPU_INLINE void", name_ + "_walk");
      print_kernel_of_walks("GPU_INLINE void");
    } else {
      print_walk("GPU_INLINE void", name_);
    }
    return std::move(out_);
  }

  std::string tile() {
    print_arguments();
    line("struct {}_tile {{ {}{}_arguments a; }};", name_, ended(parameters(), "; "), name_);
    line("template <class T>");
    line("__device__ inline void {}(const {}_tile& tile, const TilePieces<T, {}, {}>& pieces) {{", name_,
         name_, form_.chunks, form_.vector);
    indent_ = 1;
    line("using Index = {};", index_type());
    line("const {}_arguments& a = tile.a;", name_);
    if (has_faults()) line("BadOperand bad;");
    line("constexpr bool Whole = false;");
    pointer_prefix_ = "tile.";
    where_in_pieces_ = " && i1 % pieces.vector == 0";  // groups of columns begin anywhere
    print_pointers(0, 0);
    print_tile_pieces();
    if (has_faults()) line("report(tile.fault, bad);");
    indent_ = 0;
    line("}}\n");
    return std::move(out_);
  }

  std::string element() {
    print_arguments();
    line("struct {} {{", name_);
    ++indent_;
    line("{}{}_arguments a;", ended(parameters(), "; "), name_);
    const std::size_t result = code_.instructions.size() - 1;
    TENON_CHECK(at(result).op == LoopOp::store);
    line("__device__ inline {} operator()({} i0, {} i1) const {{", storage(operand(at(result)).dtype),
         index_type(), index_type());
    ++indent_;
    line("using Index = {};", index_type());
    line("constexpr int chunk = 0, v = 0, valid = 1;");
    if (has_faults()) line("BadOperand bad;");
    print_elements(0, print_begin());
    if (has_faults()) line("report(fault, bad);");
    line("return w{}[v];", result);
    --indent_;
    line("}}");
    indent_ = 0;
    line("}};\n");
    return std::move(out_);
  }

 private:
  // A walk over all of the loop. That of whole chunks has no elements that do not exist and no single ones:
  // what it reads stands side by side, without a branch between.

  bool has_pieces() const {
    for (std::size_t k = 0; k < code_.operands.size(); ++k)
      if (LoopText::has_pieces(k)) return true;
    return false;
  }
  void print_walk(std::string_view kind, std::string_view name) {
    line("{} {}({}const {}_arguments{} a{}) {{", kind, name, ended(parameters(), ", "), name_,
         has_pieces() || is_part_ ? "&" : "", is_part_ ? ", int block, int blocks" : "");
    indent_ = 1;
    line("using Index = {};", index_type());
    if (has_faults()) line("BadOperand bad;");
    form_.group == RowGroup::none ? print_points() : print_rows();
    if (has_faults()) line("report(fault, bad);");
    indent_ = 0;
    line("}}\n");
  }
  void print_kernel_of_walks(std::string_view kind) {
    line("{} {}({}const {}_arguments{} a{}) {{", kind, name_, ended(parameters(), ", "), name_,
         is_part_ ? "&" : "", is_part_ ? ", int block, int blocks" : "");
    indent_ = 1;
    line("bool whole = a.{} % {} == 0;", form_.group == RowGroup::none ? "rows" : "length", form_.vector);
    for (std::size_t k = 0; k < code_.operands.size(); ++k)
      if (LoopText::has_pieces(k) && code_.operands[k].buffer >= 0)
        line(
            "whole = whole && a.pieces_{} != 0 && is_aligned<{}>(reinterpret_cast<const {}*>(b{}) + "
            "a.offset_{});",
            k, form_.vector, storage(code_.operands[k].dtype), code_.operands[k].buffer, k);
    std::string values;
    for (const std::string& parameter : parameters())
      values += parameter.substr(parameter.rfind(' ') + 1) + ", ";
    values += is_part_ ? "a, block, blocks" : "a";
    line("whole ? {0}_walk<true>({1}) : {0}_walk<false>({1});", name_, values);
    indent_ = 0;
    line("}}\n");
  }

  // Parameters.

  void print_arguments() {
    LoopShape shape{.dims = std::vector<std::int64_t>(rank_), .operands = {}};
    shape.operands.resize(code_.operands.size());
    for (LoopShape::OperandShape& operand : shape.operands) operand.strides.resize(rank_);
    line("struct {}_arguments {{", name_);
    for (const LoopArgument& argument : list_arguments(code_, shape, form_)) line("  Int {};", argument.name);
    line("}};");
  }

  // Walks.

  /// What comes before the elements at i0, i1, of which it gives those that are wanted.
  std::vector<bool> print_begin() {
    print_pointers(0, 0);
    std::vector<bool> wanted = computed_in(0);
    declare_reads(wanted);
    print_reads(wanted);
    declare_written(wanted);
    return wanted;
  }
  /// All pieces are read before one is written: what is written might be what others read. Where all of them
  /// are whole and aligned no branch stands between the reads, so that they are on their way together.
  void print_tile_pieces() {
    std::string whole;
    for (std::size_t k = 0; k < code_.operands.size(); ++k)
      if (LoopText::has_pieces(k)) whole += fmt::format("{}pieces{}", whole.empty() ? "" : " && ", k);
    if (whole.empty()) return print_tile_chunks(false);
    line("bool whole = {};", whole);
    line("#pragma unroll");
    line("for (int chunk = 0; chunk < {}; ++chunk)", form_.chunks);
    line("  whole = whole && pieces.valid[chunk] == {0} && pieces.column[chunk] % {0} == 0;", form_.vector);
    line("if (whole) {{");
    ++indent_;
    print_tile_chunks(true);
    --indent_;
    line("}} else {{");
    ++indent_;
    print_tile_chunks(false);
    --indent_;
    line("}}");
  }
  void print_tile_chunks(bool whole) {
    const std::vector<bool> wanted = computed_in(0);
    if (reads(wanted)) {
      declare_reads(wanted);
      begin_tile_piece(whole);
      print_reads(wanted);
      --indent_;
      line("}}");
    }
    begin_tile_piece(whole);
    print_values(0, wanted);
    --indent_;
    line("}}");
  }
  void begin_tile_piece(bool whole) {
    line("#pragma unroll");
    line("for (int chunk = 0; chunk < {}; ++chunk) {{", form_.chunks);
    ++indent_;
    line("const Index i0 = Index(pieces.row[chunk]), i1 = Index(pieces.column[chunk]);");
    are_whole_ = whole;
    if (whole) return line("constexpr int valid = {};", form_.vector);
    line("const int valid = pieces.valid[chunk];");
    line("if (valid <= 0) continue;");
  }
  void print_points() {
    print_pointers(0, 0);
    const int block = form_.threads * form_.vector * form_.chunks;
    line("const int lane = int(threadIdx.x);");
    line("const Index end = Index(a.rows);");
    line("for (Index base = Index({}) * {}; base < end; base += Index({}) * {}) {{",
         is_part_ ? "block" : "blockIdx.x", block, is_part_ ? "blocks" : "gridDim.x", block);
    ++indent_;
    print_chunks(0, "base + ");
    --indent_;
    line("}}");
  }

  void print_rows() {
    print_place_in_block();
    line("const bool live = row < Index(a.rows);");
    line("const Index end = live ? Index(a.length) : 0;");
    print_indices("(live ? row : Index(a.rows) - 1)", 0, kept_dims_);
    print_pointers(0, kept_dims_);
    declare_kept();
    if (part_words() > 0) line("GPU_SHARED(Bits, part, [{}]);", part_words());
    print_row_values(0);
    const int stages = stage_count(code_, values_);
    for (int stage = 0; stage < stages; ++stage) {
      print_stage(stage);
      print_row_values(stage + 1);
    }
    print_row_stores();
  }

  /// The row of the thread, and which of the row's threads it is.
  void print_place_in_block() {
    const int threads = form_.threads, width = form_.width;
    switch (form_.group) {
      case RowGroup::lanes:
        line("const Index row = Index(blockIdx.x) * {} + Index(threadIdx.x / {});", threads / width, width);
        line("const int lane = int(threadIdx.x % {});", width);
        return;
      case RowGroup::block:
        line("const Index row = Index(blockIdx.x);");
        line("const int lane = int(threadIdx.x);");
        return;
      default:
        line("const Index row = Index(blockIdx.x) * {} + Index(threadIdx.x % {});", width, width);
        line("const int lane = int(threadIdx.x / {});", width);
    }
  }
  /// The threads that share a row, or a block's points.
  int sharing_threads() const {
    switch (form_.group) {
      case RowGroup::lanes: return form_.width;
      case RowGroup::columns: return form_.threads / form_.width;
      default: return form_.threads;
    }
  }

  /// Shared memory for one reduction: an accumulator of each wave, or of each wave and column.
  int part_words() const {
    int acc_words = 0;
    for (const Instruction& i : code_.instructions)
      if (i.op == LoopOp::reduce)
        acc_words = std::max(acc_words, info(i.reduce).kind == ReduceKind::position ? 2 : 1);
    constexpr int least_wave = 32;
    if (form_.group == RowGroup::lanes) return 0;
    const int columns = form_.group == RowGroup::columns ? form_.width : 1;
    return acc_words * form_.threads / least_wave * std::min(columns, least_wave);
  }

  /// Values that outlive a stage: in registers, since all loops over them are unrolled.
  void declare_kept() {
    for (std::size_t i = 0; i < size(); ++i)
      if (is_kept(i)) line("{} v{}{};", computed(at(i).type), i, extents(i));
  }
  std::string extents(std::size_t i) const {
    return values_[i].of_chunk ? fmt::format("[{}]", form_.chunks)
                               : fmt::format("[{}][{}]", form_.chunks, form_.vector);
  }

  void print_stage(int stage) {
    const std::vector<std::size_t> folds = folds_of(stage);
    for (const std::size_t i : folds) {
      line("using Fold{} = {}<{}>;", i, fold_name(at(i).reduce), computed(type_of(at(i).args[0])));
      line("Fold{}::Acc acc{} = Fold{}::identity();", i, i, i);
    }
    if (keeps_) {
      line("{{");
    } else {
      line("for (Index base = 0; base < end; base += {}) {{",
           sharing_threads() * form_.vector * form_.chunks);
    }
    ++indent_;
    print_chunks(stage, keeps_ ? "" : "base + ");
    --indent_;
    line("}}");
    for (const std::size_t i : folds) print_reduction(i);
  }

  std::vector<std::size_t> folds_of(int stage) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < size(); ++i)
      if (at(i).op == LoopOp::reduce && values_[i].needed && values_[i].ready - 1 == stage)
        result.push_back(i);
    return result;
  }

  void print_reduction(std::size_t i) {
    const std::string_view type = computed(at(i).type);
    switch (form_.group) {
      case RowGroup::lanes:
        line("const {} v{} = Fold{}::result(over_lanes<Fold{}, {}>(acc{}));", type, i, i, i, form_.width, i);
        return;
      case RowGroup::block:
        line("const {} v{} = Fold{}::result(over_block<Fold{}, {}>(acc{}, part));", type, i, i, i,
             form_.threads, i);
        return;
      default:
        line("const {} v{} = Fold{}::result(over_columns<Fold{}, {}, {}>(acc{}, part));", type, i, i, i,
             form_.threads, form_.width, i);
    }
  }

  void print_row_values(int ready) {
    for (std::size_t i = 0; i < size(); ++i) {
      const LoopOp op = at(i).op;
      if (!values_[i].needed || !values_[i].of_row || values_[i].ready != ready) continue;
      if (op != LoopOp::reduce && op != LoopOp::store) print_single(i);
    }
  }

  void print_row_stores() {
    std::vector<std::size_t> stores;
    bool in_place = false;
    for (std::size_t i = 0; i < size(); ++i) {
      if (at(i).op != LoopOp::store || !values_[i].of_row) continue;
      stores.push_back(i);
      in_place = in_place || is_loaded(operand(at(i)).buffer);
    }
    if (stores.empty()) return;
    if (in_place) line("__syncthreads();");
    line("if (live && lane == 0) {{");
    for (const std::size_t i : stores)
      line("  p{}[0] = convert<{}>({});", at(i).operand, storage(operand(at(i)).dtype), text(at(i).args[0]));
    line("}}");
  }

  /// All chunks are read, then computed with.
  void print_chunks(int stage, std::string_view base) {
    const std::vector<bool> wanted = computed_in(stage);
    if (reads(wanted)) {
      declare_reads(wanted);
      begin_chunk(base);
      print_reads(wanted);
      --indent_;
      line("}}");
    }
    begin_chunk(base);
    print_values(stage, wanted);
    --indent_;
    line("}}");
  }
  void begin_chunk(std::string_view base) {
    line("#pragma unroll");
    line("for (int chunk = 0; chunk < {}; ++chunk) {{", form_.chunks);
    ++indent_;
    line("const Index x = {}Index(chunk * {} + lane) * {};", base, sharing_threads(), form_.vector);
    line("if (x >= end) continue;");
    line("const int valid = {}end - x < {} ? int(end - x) : {};", has_pieces() ? "!Whole && " : "",
         form_.vector, form_.vector);
    print_indices("x", first_inner_dim(), rank_);
  }

  bool is_part_ = false;  // of a kernel of several loops: some of its blocks are this one's
};

}  // namespace

std::string loop_source(const LoopCode& code, const LoopForm& form, std::string_view name) {
  return Printer(code, form, name).kernel();
}
std::string joined_source(std::span<const LoopPart> loops, std::string_view name) {
  std::string parts, pointers, structs, calls;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const auto& [code, form] = loops[i];
    TENON_CHECK(form.threads == loops[0].form.threads);
    const std::string part = fmt::format("{}_{}", name, i);
    parts += Printer(code, form, part).part();
    std::string values;
    for (const std::string& parameter : LoopText(code, form).parameters()) {
      pointers += fmt::format("{}_{}, ", parameter, i);
      values += fmt::format("{}_{}, ", parameter.substr(parameter.rfind(' ') + 1), i);
    }
    structs += fmt::format("const {}_arguments a{}, ", part, i);
    const std::string begin = i > 0 ? fmt::format("int(ends.of_{})", i - 1) : "0";
    calls += fmt::format(
        "  if (block < int(ends.of_{0})) return {1}({2}a{0}, block - {3}, int(ends.of_{0}) - {3});\n", i,
        part, values, begin);
  }
  std::string ends;
  for (std::size_t i = 0; i < loops.size(); ++i) ends += fmt::format(" Int of_{};", i);
  return parts + fmt::format(
                     "struct {0}_ends {{{1} }};\n"
                     "extern \"C\" __global__ void __launch_bounds__({2}) {0}({3}{4}const {0}_ends ends) {{\n"
                     "  const int block = int(blockIdx.x);\n{5}}}\n",
                     name, ends, loops[0].form.threads, pointers, structs, calls);
}
std::string tile_source(const LoopCode& code, const LoopForm& form, std::string_view name) {
  return Printer(code, form, name).tile();
}
std::string value_source(const LoopCode& code, const LoopForm& form, std::string_view name) {
  return Printer(code, form, name).element();
}

}  // namespace tenon::gpu
