// Cutting rows into parts.
#include "kernels/gpu/loop_split.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "kernels/gpu/loop_centred.h"
#include "kernels/gpu/loop_stages.h"

namespace tenon::gpu {
namespace {

constexpr std::int64_t long_row =
    1 << 16;  // elements; shorter ones are read by one block in some microseconds
constexpr std::int64_t least_part = 1 << 12;  // elements of a row that are worth a block
constexpr std::int64_t least_parts = 4;
constexpr std::int64_t kept_part = 1 << 14;  // elements that the registers of a block hold

/// A dim of a new loop: `extent` points of a dim of the old one, `scale` apart.
struct PartDim {
  std::size_t from = 0;
  std::int64_t extent = 1;
  std::int64_t scale = 1;
};
using PartDims = std::vector<PartDim>;

/// Which dim is cut, and into how many parts.
struct Cut {
  std::size_t dim = 0;
  std::int64_t parts = 0;
};

std::size_t kept_dims(const LoopProgram& p) {
  return p.shape.dims.size() - static_cast<std::size_t>(p.code.reduced);
}
std::int64_t row_count(const LoopProgram& p) {
  std::int64_t rows = 1;
  for (std::size_t d = 0; d < kept_dims(p); ++d) rows *= p.shape.dims[d];
  return rows;
}
bool counts_along(const LoopProgram& p, std::size_t dim) {
  const auto& instructions = p.code.instructions;
  return std::any_of(instructions.begin(), instructions.end(), [&](const Instruction& i) {
    return i.op == LoopOp::iota && i.dim == static_cast<int>(dim);
  });
}
bool has_positions(const LoopProgram& p) {
  const auto& instructions = p.code.instructions;
  return std::any_of(instructions.begin(), instructions.end(), [](const Instruction& i) {
    return i.op == LoopOp::reduce && info(i.reduce).kind == ReduceKind::position;
  });
}

std::int64_t largest_divisor(std::int64_t n, std::int64_t most) {
  std::int64_t divisor = std::min(n, most);
  while (divisor > 1 && n % divisor != 0) --divisor;
  return divisor;
}

Cut best_cut(const LoopProgram& p, const GpuLimits& limits) {
  const std::int64_t busy = limits.processors * 4 / std::max<std::int64_t>(row_count(p), 1);
  const std::int64_t wanted =
      std::min(std::max(busy, p.row_length() / kept_part), p.row_length() / least_part);
  Cut best;
  for (std::size_t d = kept_dims(p); d < p.shape.dims.size(); ++d) {
    if (counts_along(p, d)) continue;
    const std::int64_t parts = largest_divisor(p.shape.dims[d], wanted);
    if (parts > best.parts) best = {d, parts};
  }
  return best;
}

class Splitter {
 public:
  explicit Splitter(const LoopProgram& program)
      : from_(program),
        values_(describe(program.code, false)),
        ready_(program.code.instructions.size()),
        folded_(program.code.instructions.size(), -1) {
    for (Reg r = 0; r < size(); ++r) ready_[static_cast<std::size_t>(r)] = find_ready(r);
  }

  /// Do parts find what one loop would walk along the rows for once more?
  bool saves_walks() const {
    for (Reg r = 0; r < size(); ++r)
      if (is_fold(r) && early_sum(r)) return true;
    return false;
  }

  SplitLoop run(const Cut& cut) {
    cut_ = cut;
    const int stages = last_fold() + 1;
    for (int stage = 0; stage < stages; ++stage) split_stage(stage);
    add_stores(false, all_dims());
    add_stores(true, kept());
    return std::move(result_);
  }

 private:
  // Dims.

  PartDims kept() const {
    PartDims dims;
    for (std::size_t d = 0; d < kept_dims(from_); ++d) dims.push_back({d, from_.shape.dims[d], 1});
    return dims;
  }
  PartDims all_dims() const {
    PartDims dims;
    for (std::size_t d = 0; d < from_.shape.dims.size(); ++d) dims.push_back({d, from_.shape.dims[d], 1});
    return dims;
  }
  std::int64_t part_extent() const { return from_.shape.dims[cut_.dim] / cut_.parts; }
  PartDim parts() const { return {cut_.dim, cut_.parts, part_extent()}; }
  /// The rows, their parts, and what is left to fold.
  PartDims partial() const {
    PartDims dims = all_dims();
    dims[cut_.dim].extent = part_extent();
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(kept_dims(from_)), parts());
    return dims;
  }

  LoopProgram program_over(const PartDims& dims, int reduced) const {
    std::vector<std::int64_t> extents;
    for (const PartDim& dim : dims) extents.push_back(dim.extent);
    return {from_.name, std::move(extents), reduced};
  }

  // Scratch: row-major over the first `count` dims.

  int add_scratch(DType dtype, std::int64_t elements) {
    result_.scratch.push_back({dtype, elements});
    return from_.buffer_count() + static_cast<int>(result_.scratch.size()) - 1;
  }
  static LoopOperand scratch_over(int buffer, DType dtype, const LoopProgram& p, std::size_t count) {
    std::vector<std::int64_t> strides(p.shape.dims.size());
    std::int64_t stride = 1;
    for (std::size_t d = count; d-- > 0; stride *= p.shape.dims[d]) strides[d] = stride;
    return {.buffer = buffer, .dtype = dtype, .strides = strides};
  }

  // Stages.

  const Instruction& at(Reg r) const { return from_.code.instructions[static_cast<std::size_t>(r)]; }
  int size() const { return static_cast<int>(from_.code.instructions.size()); }
  const LoopValue& value(Reg r) const { return values_[static_cast<std::size_t>(r)]; }

  bool is_fold(Reg r) const { return at(r).op == LoopOp::reduce && value(r).needed; }
  int ready(Reg r) const { return ready_[static_cast<std::size_t>(r)]; }
  /// A sum whose parts need not wait for its center, which is found while they are joined.
  std::optional<CentredSum> early_sum(Reg fold) const {
    const auto sum = centred_sum(from_.code, values_, fold);
    return sum && ready(sum->center) > ready(sum->x) ? sum : std::nullopt;
  }
  /// The first stage that knows a register.
  int find_ready(Reg r) const {
    if (at(r).op == LoopOp::reduce)
      if (const auto sum = early_sum(r)) return ready(sum->center);
    int last = 0;
    for (int a = 0; a < arg_count(at(r)); ++a)
      if (const Reg arg = at(r).args[static_cast<std::size_t>(a)]; arg >= 0)
        last = std::max(last, ready(arg));
    return last + (at(r).op == LoopOp::reduce);
  }
  int last_fold() const {
    int last = -1;
    for (Reg r = 0; r < size(); ++r)
      if (is_fold(r)) last = std::max(last, ready(r) - 1);
    return last;
  }

  void split_stage(int stage) {
    const PartDims dims = partial();
    const std::size_t rows = kept_dims(from_);
    LoopProgram parts = program_over(dims, from_.code.reduced);
    const PartDims of_whole(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(rows) + 1);
    LoopProgram whole = program_over(of_whole, 1);
    const std::int64_t length = from_.row_length() / cut_.parts;
    std::map<Reg, Reg> copies, joined;
    for (Reg r = 0; r < size(); ++r) {
      if (!is_fold(r) || ready(r) - 1 != stage) continue;
      const DType dtype = from_.type_of(r);
      const auto handed_on = [&](Reg part) {
        const int buffer = add_scratch(dtype, row_count(from_) * cut_.parts);
        parts.store(scratch_over(buffer, dtype, parts, rows + 1), part);
        return whole.load(scratch_over(buffer, dtype, whole, rows + 1));
      };
      if (const auto sum = early_sum(r)) {
        std::vector<Reg> kept = fold_part(parts, sum->of, copy(sum->x, parts, dims, copies), length);
        for (Reg& part : kept) part = handed_on(part);
        const Reg center = copy(sum->center, whole, of_whole, joined);
        joined[r] = join_parts(whole, sum->of, kept, center, length);
      } else {
        const Reg part = parts.reduce(at(r).reduce, copy(at(r).args[0], parts, dims, copies));
        joined[r] = whole.reduce(at(r).reduce, handed_on(part));
      }
      const int of_rows = add_scratch(dtype, row_count(from_));
      whole.store(scratch_over(of_rows, dtype, whole, rows), joined[r]);
      folded_[static_cast<std::size_t>(r)] = of_rows;
    }
    result_.programs.push_back(std::move(parts));
    result_.programs.push_back(std::move(whole));
  }

  /// The stores of row values, or those of elements.
  void add_stores(bool of_rows, const PartDims& dims) {
    LoopProgram p = program_over(dims, 0);
    std::map<Reg, Reg> copies;
    std::vector<std::pair<LoopOperand, Reg>> stores;
    for (Reg r = 0; r < size(); ++r)
      if (at(r).op == LoopOp::store && value(r).of_row == of_rows)
        stores.emplace_back(mapped(at(r), dims), copy(at(r).args[0], p, dims, copies));
    for (auto& [operand, stored] : stores) p.store(std::move(operand), stored);
    if (!stores.empty()) result_.programs.push_back(std::move(p));
  }

  // Instructions.

  LoopOperand mapped(const Instruction& i, const PartDims& dims) const {
    LoopOperand operand = from_.operand(static_cast<std::size_t>(i.operand));
    std::vector<std::int64_t> strides;
    for (const PartDim& dim : dims) strides.push_back(operand.strides[dim.from] * dim.scale);
    operand.strides = std::move(strides);
    return operand;
  }

  /// The register in another program, with all that it is computed from.
  Reg copy(Reg r, LoopProgram& to, const PartDims& dims, std::map<Reg, Reg>& copies) {
    if (const auto found = copies.find(r); found != copies.end()) return found->second;
    const Instruction& i = at(r);
    const auto arg = [&](std::size_t a) { return i.args[a] < 0 ? -1 : copy(i.args[a], to, dims, copies); };
    const auto copied = [&]() -> Reg {
      switch (i.op) {
        case LoopOp::load: return to.load(mapped(i, dims));
        case LoopOp::gather: {
          const Reg index = arg(0);
          return to.gather(mapped(i, dims), index, arg(1));
        }
        case LoopOp::constant:
          return is_float(i.type) ? to.constant(i.value, i.type) : to.constant_int(i.integer, i.type);
        case LoopOp::count:
          return is_float(i.type) ? to.constant(static_cast<double>(from_.row_length()), i.type)
                                  : to.constant_int(from_.row_length(), i.type);
        case LoopOp::iota: return to.iota(new_dim(i.dim, dims));
        case LoopOp::prim: {
          const Reg a = arg(0), b = arg(1), c = arg(2);
          return i.prim == Prim::cast ? to.cast(i.type, a) : to.prim(i.prim, a, b, c);
        }
        case LoopOp::reduce:
          return to.load(
              scratch_over(folded_[static_cast<std::size_t>(r)], from_.type_of(r), to, kept_dims(from_)));
        default: TENON_CHECK(false);
      }
    };
    return copies[r] = copied();
  }
  static int new_dim(int dim, const PartDims& dims) {
    const auto found = std::find_if(
        dims.begin(), dims.end(), [&](const PartDim& d) { return d.from == static_cast<std::size_t>(dim); });
    return static_cast<int>(found - dims.begin());
  }

  const LoopProgram& from_;
  Cut cut_;
  const std::vector<LoopValue> values_;
  std::vector<int> ready_;   // for each register: the first stage that knows it
  std::vector<int> folded_;  // for each reduction: the buffer of its results
  SplitLoop result_;
};

}  // namespace

SplitLoop split_rows(const LoopProgram& program, const GpuLimits& limits) {
  if (program.code.reduced == 0 || row_count(program) == 0 || program.row_length() < long_row) return {};
  if (has_positions(program)) return {};
  Splitter splitter(program);
  const bool leaves_idle = row_count(program) * 2 <= limits.processors;
  if (!leaves_idle && !splitter.saves_walks()) return {};
  const Cut cut = best_cut(program, limits);
  return cut.parts >= least_parts ? splitter.run(cut) : SplitLoop{};
}

}  // namespace tenon::gpu
