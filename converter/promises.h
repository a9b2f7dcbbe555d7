// The types that an exported program promises of its values, over the symbols of one conversion.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converter/torchscript/program.h"
#include "ir/graph.h"

namespace tenon::converter {

class Promises {
 public:
  Promises() = default;
  explicit Promises(const std::map<std::string, torchscript::SizeRange>& ranges) : ranges_(ranges) {}

  /// The user says what an input is. Symbols of the file take the sizes given: numbers, or names. Throws
  /// Error when the file does not allow it.
  void narrow(const std::string& input, const torchscript::Type& promised, const Type& given, Graph&);
  /// Called once all given inputs are known. Throws Error when they do not fit together.
  void settle();
  /// The type of an input; symbols that nothing narrowed stay, with their ranges in the graph.
  Type input_type(const std::string& input, const torchscript::Type& promised, Graph&);

  /// The least sizes that the exporter reckoned with, of the graph's symbols.
  const std::map<std::string, std::int64_t, std::less<>>& exported_minima() const { return minima_; }

  /// A sentence on how the type of a value breaks the promise; nullopt when it keeps it. Sizes that are not
  /// equal in form are compared at several values of their symbols. Nothing is promised for sizes below those
  /// that the exporter reckoned with, though PyTorch runs with them.
  std::optional<std::string> difference(const Type& got, const torchscript::Type& promised,
                                        const Graph&) const;

 private:
  struct Equation {
    std::string place;  // "dim 0 of input x"
    Dim promised, given;
  };

  void take(const std::string& symbol, const Dim& size, const std::string& place, Graph&);
  std::optional<Dim> known_size(const std::string& promised) const;
  torchscript::SizeRange range_of(const std::string& symbol) const;

  std::map<std::string, torchscript::SizeRange> ranges_;
  std::map<std::string, Dim, std::less<>> sizes_;  // of the file's symbols
  std::map<std::string, std::int64_t, std::less<>> minima_;
  bool is_foreseen_ = true;  // no size is one that the exporter did not reckon with
  std::vector<Equation> equations_;
};

}  // namespace tenon::converter
