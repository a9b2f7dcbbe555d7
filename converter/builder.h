// Writes the graph while the program is interpreted: tensors, views of them, and writes through views.
#pragma once
#include <map>
#include <set>

#include "converter/tensor.h"
#include "ir/graph.h"

namespace tenon::converter {

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph), place_{&graph.body(), nullptr, {}} {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Graph& graph() { return graph_; }
  const Place& place() const { return place_; }
  /// What the nodes added from now on carry.
  void set_source(Source source) { place_.source = std::move(source); }

  Ref ref(Value* value) const { return Ref(value, place_); }
  Ref literal(double value, DType) const;
  Ref literal(std::int64_t value, DType) const;
  Ref literal(const Datum& number, DType) const;
  /// A size as a rank-0 i64.
  Ref size(const Dim&) const;

  /// A tensor with memory of its own.
  TensorPtr tensor(Ref value, bool dense = true);
  /// A rank-0 i64 with this value; becomes a node only when an operator needs it.
  TensorPtr number(Dim value);
  /// Data of the model.
  TensorPtr state(Value* value, std::string name, bool dense);

  /// An input of the model.
  TensorPtr input(Value* parameter);

  /// The tensor's value now. Throws Error when it cannot be known (see maybe_view).
  Ref read(const TensorPtr&);
  /// A view. `op` is slice, permute, reshape or expand.
  TensorPtr view(const TensorPtr& of, Op op);
  /// A tensor that PyTorch makes a view or a copy depending on strides. It may be read freely until one of
  /// the two is written; then reading the other is unsupported.
  TensorPtr maybe_view(const TensorPtr& of, Ref value, bool dense = false);
  /// Stores a value of the tensor's dtype (it broadcasts to the tensor's shape) into the tensor and so into
  /// everything that shares its memory. Throws Error when that cannot be expressed.
  void write(const TensorPtr&, Ref value);
  void write_number(const TensorPtr&, Dim value);
  void poison(const TensorPtr&);

  /// The rank-0 tensor's value when it is known: an int (perhaps symbolic), float or bool. What depends on
  /// constants alone is computed.
  std::optional<Datum> known_number(const TensorPtr&);

  /// What bounds of the symbols say: true, false, or nullopt when they do not decide.
  std::optional<bool> known_less(const Dim& a, const Dim& b) const;
  /// min(size, limit), remembered: if the model only fits together with size <= limit, that can be assumed.
  Dim limited(const Dim& size, const Dim& limit);

  struct Limit {
    std::string symbol;
    std::int64_t max;
    std::string text;  // of the Dim it makes: "min(S,512)"
    std::string where;
  };
  const std::vector<Limit>& limits() const { return limits_; }
  const std::set<std::string>& written_inputs() const { return written_inputs_; }

 private:
  void before_write(const TensorPtr&);
  void after_write(Buffer&, Value* value);
  Ref write_back(const ViewStep&, Ref before, Ref value);

  std::map<std::string, DimRange, std::less<>> ranges() const;

  Graph& graph_;
  Place place_;
  std::vector<Limit> limits_;
  std::set<std::string> written_inputs_;
};

/// The dtype with c10's number, or nullopt when there is none here.
std::optional<DType> dtype_from_c10(std::int64_t code);
std::int64_t c10_code(DType);

}  // namespace tenon::converter
