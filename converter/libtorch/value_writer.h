// Types and values of a loaded module as JSON: tables whose rows refer to each other by index.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "converter/libtorch/loader.h"

namespace tenon::libtorch {

/// What stands for a value that has no form in the JSON, and why.
nlohmann::json unsupported_value(std::string what);

class ValueWriter {
 public:
  using json = nlohmann::json;
  using Index = std::size_t;

  explicit ValueWriter(const LoadedModule&);

  Index string(const std::string& text);
  Index type(const c10::TypePtr&);
  /// The type of an input of a trace, with the shapes and items it was traced with.
  Index traced_type(const c10::TypePtr& declared, const c10::IValue& given);
  /// Throws when a storage does not lie in the file as it should.
  json value(const c10::IValue&);

  /// The object of a module in training mode, noted before its value is written.
  void note_training(const void* object) { training_.insert(object); }
  /// Those that types and values name, in the order of their indices. Grows while others are written.
  const std::vector<c10::TypePtr>& classes() const { return classes_; }
  /// Moves the tables into the program.
  void give_tables(json& program);

 private:
  class Packed;
  /// One record for one object, however often it is met; its place is taken before its content is written.
  template <class Record>
  json shared(const char* tag, const c10::IValue& v, json& table, Record&& record);
  /// False when a key is no string.
  bool add_items(const c10::impl::GenericDict& dict, const c10::TypePtr& of, json& inner, json& keys);
  Index class_id(const c10::TypePtr& t);
  Index storage(const at::Tensor& tensor);
  ReadRecord range_in_file(const void* data, std::uint64_t size) const;
  /// What LibTorch copied while it read the file (packed parameters are made anew) is still there.
  std::optional<ReadRecord> same_bytes_in_file(const void* data, std::uint64_t size) const;
  /// Its integers, its scale or scales, the zero points, c10's number of its dtype, and the axis of scales.
  json quantized_value(const at::Tensor& t);
  /// An object of PyTorch's own classes is what it would be stored as: packed parameters are the tensors that
  /// were packed.
  json custom_value(const c10::IValue& v);
  json tensor_value(const at::Tensor& t);
  json list_record(const c10::IValue& v);
  json tuple_record(const c10::IValue& v);
  json dict_record(const c10::IValue& v);
  json instance_record(const c10::IValue& v);

  const LoadedModule& loaded_;
  bool is_packed_ = false;  // a packed or quantised value is being written
  std::map<std::uint64_t, std::vector<const ZipMember*>> entries_;  // by data offset
  std::unordered_set<const void*> training_;
  std::vector<c10::TypePtr> kept_types_, classes_;
  std::vector<c10::IValue> kept_values_;

  json strings_ = json::array(), types_ = json::array(), storages_ = json::array(), tensors_ = json::array();
  json lists_ = json::array(), tuples_ = json::array(), dicts_ = json::array(), instances_ = json::array();

  std::unordered_map<std::string, Index> string_ids_, type_records_;
  std::unordered_map<const void*, Index> type_ids_, class_ids_, storage_ids_, tensor_ids_, shared_ids_;
};

}  // namespace tenon::libtorch
