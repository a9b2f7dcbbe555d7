// Writes the graph while the program is interpreted: tensors, views of them, and writes through views.
#pragma once
#include <complex>
#include <map>
#include <set>

#include "converter/tensor.h"
#include "ir/graph.h"

namespace tenon::converter {

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph), insertion_point_{&graph.body(), nullptr, {}} {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Graph& graph() { return graph_; }
  const InsertionPoint& insertion_point() const { return insertion_point_; }
  /// The source location of all nodes that are added from now on.
  void set_source(Source source) { insertion_point_.source = std::move(source); }

  Ref ref(Value* value) const { return Ref(value, insertion_point_); }
  Ref literal(double value, DType) const;
  Ref literal(std::int64_t value, DType) const;
  Ref literal(const AbstractValue& number, DType) const;
  /// A size as a rank-0 i64.
  Ref size(const Dim&) const;

  /// The results of an operator whose output size depends on data (ir/data_size.h). The size is a new symbol.
  /// The same operands give the same results. If all operands are constant, the results are computed here.
  std::vector<Ref> sized(const Op& op, const std::vector<Ref>& operands);
  /// Uses a number that the model computes as a size. A negative number stops the run.
  Dim data_size(const Ref& number);
  /// A symbol for a size that a node will give which is not written yet (ir/data_size.h).
  Dim new_size();

  Region& region() const { return *insertion_point_.region; }
  /// Nodes are added at the end of this region for as long as the returned object lives.
  class Inside {
   public:
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    friend class Builder;
    Inside(Builder& builder, Region& region);
    Builder& builder_;
    Region* outer_;
    std::uint64_t outer_number_;
  };
  [[nodiscard]] Inside enter(Region& region) { return Inside(*this, region); }

  /// A Python number that is not known: an i64 or f64 of rank 0.
  TensorPtr python_number(Ref value);
  /// A complex Python number: a c128 of rank 0.
  TensorPtr python_number(std::complex<double>);
  /// A tensor with memory of its own: contiguous, or laid out so (nullopt: not known how).
  TensorPtr tensor(Ref value);
  TensorPtr tensor(Ref value, std::optional<Layout> layout);
  /// A rank-0 i64 with this value; becomes a node only when an operator needs it.
  TensorPtr number(Dim value);
  /// Data of the model; `name` is its path.
  TensorPtr state(Value* value, std::string name, std::optional<Layout> layout);

  /// An input of the model.
  TensorPtr input(Value* parameter);

  /// The tensor's value now. Throws Error when it cannot be known (see maybe_view).
  Ref read(const TensorPtr&);
  /// A view. `op` is slice, permute, reshape or expand; or index_select, with an index that lies
  /// in [0, size).
  TensorPtr view(const TensorPtr& of, Op op, Ref index = {});
  /// A view of elements anywhere in the memory of `of`: places[i] is where element i lies, `layout` says it
  /// as strides. Throws Error when it is not known how that memory is laid out.
  TensorPtr strided(const TensorPtr& of, const Ref& places, Layout layout);
  /// All memory of a tensor as a vector; throws as `strided` does.
  TensorPtr memory(const TensorPtr&);
  /// squeeze_ and its kin: from now on the tensor is another view of its own memory.
  static void become(const TensorPtr&, const TensorPtr& other);
  /// Writes a value of another size to an out= argument: the tensor gets new memory.
  void resize(const TensorPtr&, const Ref& value);
  /// A tensor that PyTorch makes either a view or a copy, depending on strides. Both may be read until one of
  /// the two is written. After that, reading the other one is unsupported.
  TensorPtr maybe_view(const TensorPtr& of, Ref value, std::optional<Layout> layout = std::nullopt);
  /// Stores a value of the tensor's dtype (it broadcasts to the tensor's shape) into the tensor and so into
  /// everything that shares its memory. Throws Error when that cannot be expressed.
  void write(const TensorPtr&, Ref value);
  void write_number(const TensorPtr&, Dim value);
  void poison(const TensorPtr&);
  /// Two tensors that may or may not share memory.
  static void share_maybe(const std::shared_ptr<Buffer>& a, const std::shared_ptr<Buffer>& b);
  /// The memory that a tensor of this buffer may have in PyTorch: this one and maybe_shared.
  static std::vector<std::shared_ptr<Buffer>> memory_of(const std::shared_ptr<Buffer>&);
  /// True when elements of the view may share memory.
  static bool repeats(const AbstractTensor&);
  /// Sets the content of a buffer.
  void set_content(Buffer& buffer, Value* value);
  /// The content of a buffer.
  Ref content(Buffer& buffer);

  /// The rank-0 tensor's value when it is known: an int (perhaps symbolic), float or bool. What depends on
  /// constants alone is computed.
  std::optional<AbstractValue> known_number(const TensorPtr&);

  /// Compares two sizes by the bounds of their symbols. nullopt when the bounds do not decide.
  std::optional<bool> known_less(const Dim& a, const Dim& b) const;
  std::optional<bool> known_equal(const Dim& a, const Dim& b) const;
  /// True when a size cannot be 1. Bounds that the exporter assumed count as well; when they decide, they
  /// become bounds of the graph.
  bool is_never_one(const Dim& size);
  /// Whether a size is 1, for operators whose rank depends on it. An error, with the advice, where it may be
  /// 1 or not.
  bool is_one(const Dim& size, std::string_view advice = {});
  /// An error with this message where a size is less than the limit, when the bounds decide it or when a run
  /// does.
  void need_at_least(const Dim& size, const Dim& limit, std::string message);
  /// Makes 2 the least size of an input's symbol; false for other sizes.
  bool assume_never_one(const Dim& size);
  void set_exported_minima(std::map<std::string, std::int64_t, std::less<>> minima) {
    exported_minima_ = std::move(minima);
  }
  /// min(size, limit). The condition size <= limit is recorded as a possible guard: if the shapes of the
  /// model only agree under it, the conversion may assume it.
  Dim guarded_min(const Dim& size, const Dim& limit);

  struct SizeGuard {
    std::string symbol;
    std::int64_t max;
    std::string text;  // of the Dim it makes: "min(S,512)"
    std::string where;
  };
  const std::vector<SizeGuard>& size_guards() const { return size_guards_; }
  const std::set<std::string>& written_inputs() const { return written_inputs_; }
  /// Data of the model that was written: the next call would see it.
  const std::set<std::string>& written_states() const { return written_states_; }

 private:
  void before_write(const TensorPtr&);
  /// The integer as a size, derived from the sizes and constants that it is computed from. If these do not
  /// determine it, it becomes a new symbol; without `may_add` the result is nullopt.
  std::optional<Dim> size_of(const Ref& number, bool may_add);
  Ref apply(const ViewStep& step, const Ref& value) const;
  Ref write_back(const ViewStep&, Ref before, Ref value);
  Ref written_at_places(const AbstractTensor&, const Ref& value);

  std::map<std::string, DimRange, std::less<>> ranges() const;

  Graph& graph_;
  InsertionPoint insertion_point_;
  std::uint64_t region_number_ = 0, regions_ = 0, versions_ = 0;
  std::map<std::string, std::vector<Value*>> sized_;  // by region, operator and operands
  std::size_t data_sizes_ = 0;
  std::vector<SizeGuard> size_guards_;
  std::map<std::string, std::int64_t, std::less<>> exported_minima_;
  std::set<std::string> written_inputs_, written_states_;
};

}  // namespace tenon::converter
