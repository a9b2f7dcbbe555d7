// Sequences and optionals: they exist only while the model is read.
#include <array>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/axis.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

const std::vector<Operand>& items(const Call& call, std::size_t i) {
  call.need(i + 1);
  if (const auto* s = call.operand(i).get<Sequence>()) return **s;
  throw unsupported("its input {} is no sequence that is known while the model is read", i);
}

Operand sequence_of(std::vector<Operand> values) {
  return Sequence(std::make_shared<const std::vector<Operand>>(std::move(values)));
}

/// Negative places count from the end.
std::size_t place(const Call& call, std::size_t i, std::size_t count, std::size_t last) {
  const std::int64_t given = call.integer(i);
  const std::int64_t at = given < 0 ? given + static_cast<std::int64_t>(count) : given;
  if (at < 0 || at > static_cast<std::int64_t>(last))
    throw error("the place {} is outside of a sequence of {}", given, count);
  return static_cast<std::size_t>(at);
}

Operands construct(Call& call) {
  call.need(call.count());
  std::vector<Operand> all;
  for (std::size_t i = 0; i < call.count(); ++i) all.push_back(call.operand(i));
  return {sequence_of(std::move(all))};
}
Operands empty(Call&) { return {sequence_of({})}; }

Operands at(Call& call) {
  const auto& all = items(call, 0);
  if (all.empty()) throw error("an element of an empty sequence");
  return {all[place(call, 1, all.size(), all.size() - 1)]};
}

Operands insert(Call& call) {
  call.need(2);
  std::vector<Operand> all = items(call, 0);
  const std::size_t where = call.has(2) ? place(call, 2, all.size(), all.size()) : all.size();
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(where), call.operand(1));
  return {sequence_of(std::move(all))};
}

Operands erase(Call& call) {
  std::vector<Operand> all = items(call, 0);
  if (all.empty()) throw error("an element of an empty sequence");
  const std::size_t where = call.has(1) ? place(call, 1, all.size(), all.size() - 1) : all.size() - 1;
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(where));
  return {sequence_of(std::move(all))};
}

Operands length(Call& call) {
  return {Tensor::scalar(DType::i64, static_cast<std::int64_t>(items(call, 0).size()))};
}

Operands concat_from(Call& call) {
  std::vector<Ref> parts;
  for (const Operand& o : items(call, 0)) parts.push_back(call.values.read(o));
  if (parts.empty()) throw error("a concatenation of nothing");
  const bool stacks = call.integer("new_axis", 0) != 0;
  const std::size_t rank = parts[0].rank() + (stacks ? 1 : 0);
  const std::int64_t axis = normalize_axis(call.integer("axis"), rank);
  if (stacks)
    for (Ref& r : parts) r = reshape(r, with_axis(r.shape(), axis));
  return {concat(parts, axis)};
}

constexpr std::int64_t most_parts = 1 << 16;

/// Into parts of one size, parts of given sizes, or single elements without the axis.
Operands split_to(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t axis = call.axis(x.rank(), 0);
  const Dim& size = x.shape()[static_cast<std::size_t>(axis)];
  if (!size.is_known()) throw unsupported("a split of an axis of unknown size ({})", size.str());
  Axes sizes;
  const bool drops_axis = !call.has(1) && call.integer("keepdims", 1) == 0;
  if (call.has(1) && call.type(1).rank() > 0) {
    sizes = call.integers(1);
  } else {
    const std::int64_t each = call.has(1) ? call.integer(1) : 1;
    if (each < 1) throw error("parts of {} elements", each);
    const std::int64_t whole = size.value() / each, rest = size.value() % each;
    if (whole + (rest > 0) > most_parts)
      throw unsupported("a split into {} parts, more than {}", whole + (rest > 0), most_parts);
    sizes.assign(static_cast<std::size_t>(whole), each);
    if (rest > 0) sizes.push_back(rest);
  }
  std::vector<Operand> parts;
  std::int64_t start = 0;
  for (const std::int64_t n : sizes) {
    if (n < 0 || n > size.value() - start)
      throw error("parts beyond the end of an axis of size {}", size.value());
    Ref part = slice(x, axis, Dim(start), Dim(start + n));
    parts.emplace_back(drops_axis ? reshape(part, without_axis(part.shape(), axis)) : part);
    start += n;
  }
  if (start != size.value()) throw error("parts of {} elements of an axis of size {}", start, size.value());
  return {sequence_of(std::move(parts))};
}

/// The body on each element; what is no sequence is given to each.
Operands map(Call& call) {
  const std::size_t count = items(call, 0).size();
  const GraphProto& body = call.graph("body");
  std::vector<std::vector<Operand>> results(call.outputs());
  for (std::size_t k = 0; k < count; ++k) {
    Operands given;
    for (std::size_t i = 0; i < call.count(); ++i) {
      const auto* s = call.operand(i).get<Sequence>();
      if (s && (*s)->size() != count) throw error("sequences of {} and {} elements", count, (*s)->size());
      given.push_back(s ? (**s)[k] : call.operand(i));
    }
    const Operands out = call.run_graph(body, std::move(given));
    if (out.size() != results.size())
      throw error("its body has {} outputs, not {}", out.size(), results.size());
    for (std::size_t i = 0; i < out.size(); ++i) results[i].push_back(out[i]);
  }
  Operands all;
  for (auto& r : results) all.push_back(sequence_of(std::move(r)));
  return all;
}

Operands optional(Call& call) { return {call.operand(0)}; }
Operands has_element(Call& call) { return {Tensor::scalar(DType::boolean, std::int64_t{call.has(0)})}; }
Operands get_element(Call& call) {
  if (!call.has(0)) throw error("the element of an empty optional");
  return {call.operand(0)};
}

}  // namespace

std::span<const OnnxEntry> sequence_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"ConcatFromSequence", concat_from},
      OnnxEntry{"Optional", optional},
      OnnxEntry{"OptionalGetElement", get_element},
      OnnxEntry{"OptionalHasElement", has_element},
      OnnxEntry{"SequenceAt", at},
      OnnxEntry{"SequenceConstruct", construct},
      OnnxEntry{"SequenceEmpty", empty},
      OnnxEntry{"SequenceErase", erase},
      OnnxEntry{"SequenceInsert", insert},
      OnnxEntry{"SequenceLength", length},
      OnnxEntry{"SequenceMap", map},
      OnnxEntry{"SplitToSequence", split_to},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
