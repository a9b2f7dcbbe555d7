// Two ways that a block may have gone become one: what differs is an output of the if.
#pragma once
#include <array>
#include <functional>

#include "base/error.h"
#include "converter/interpreter/world.h"
#include "ir/ops/control.h"

namespace tenon::converter {

class Join {
 public:
  /// `before`, and the worlds that the two regions of `node` left. What cannot be joined becomes Mixed, with
  /// `why` (the condition) in its text.
  Join(Builder& builder, Node& node, const World& before, std::array<const World*, 2> after, std::string why);

  /// A variable that holds `a` after one region and `b` after the other.
  Datum datum(const Datum& a, const Datum& b);
  /// Restores the world before, then gives everything in it the joined content; the node gets its outputs.
  void finish();
  /// Whether anything became Mixed.
  bool is_mixed() const { return is_mixed_; }

 private:
  using Reader = std::function<Ref()>;
  struct Output {
    std::array<Reader, 2> read;
    std::function<void(Value*)> set;
  };

  Datum mixed(std::string what);
  Datum of_one(const Datum&, std::size_t branch);
  Dim either(const Dim& a, const Dim& b);
  void appended(const ListPtr&, const List& a, const List& b);
  Datum tensors(const TensorPtr& a, const TensorPtr& b);
  Datum lists(const ListPtr& a, const ListPtr& b);
  Datum one_for(const void* a, const void* b, const std::function<Datum()>& make);
  TensorPtr output(Type type, Reader a, Reader b);
  void aliases(const TensorPtr& joined, const TensorPtr& from);
  std::vector<Datum> items(const std::vector<Datum>& a, const std::vector<Datum>& b);
  void buffers();
  void containers();
  void attributes();

  Builder& build_;
  Node& node_;
  const World& before_;
  std::array<const World*, 2> after_;
  std::string why_;
  std::vector<Output> outputs_;
  If op_;
  std::map<std::pair<std::string, std::string>, Dim> sizes_;  // that the node gives, by what they are in each
  std::vector<std::function<void()>> changes_;                // of the world before
  /// Lists and dicts that were joined, by what they were in a branch; null where a branch has none.
  std::map<const void*, std::pair<std::pair<const void*, const void*>, Datum>> containers_;
  bool is_mixed_ = false;
  std::map<std::shared_ptr<Buffer>, std::vector<std::shared_ptr<Buffer>>>
      made_;  // joined, by where they came from
};

}  // namespace tenon::converter
