// The shape contract of an exported program: the types that it declares for its values, over the symbols of
// one conversion.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converter/torchscript/program.h"
#include "ir/graph.h"

namespace tenon::converter {

class DeclaredTypes {
 public:
  DeclaredTypes() = default;
  explicit DeclaredTypes(const std::map<std::string, torchscript::SizeRange>& ranges) : ranges_(ranges) {}

  /// Applies the type that the user gives for an input. Symbols of the file are bound to the given sizes,
  /// which are numbers or names. Throws Error when the file does not allow them.
  void narrow(const std::string& input, const torchscript::Type& declared, const Type& given, Graph&);
  /// To be called once all given inputs are known. Throws Error when their sizes contradict each other.
  void settle();
  /// The type of an input; symbols that nothing narrowed stay, with their ranges in the graph.
  Type input_type(const std::string& input, const torchscript::Type& declared, Graph&);

  /// The smallest sizes that the exporter assumed for the graph's symbols.
  const std::map<std::string, std::int64_t, std::less<>>& exported_minima() const { return minima_; }

  /// A sentence that says how the type of a value differs from the declared one; nullopt when they agree.
  /// Sizes that are written differently are compared at several values of their symbols. The declaration does
  /// not hold for sizes below those that the exporter assumed, although PyTorch runs with them.
  std::optional<std::string> difference(const Type& got, const torchscript::Type& declared,
                                        const Graph&) const;

 private:
  struct Equation {
    std::string place;  // "dim 0 of input x"
    Dim declared, given;
  };

  void take(const std::string& symbol, const Dim& size, const std::string& place, Graph&);
  std::optional<Dim> known_size(const std::string& declared) const;
  torchscript::SizeRange range_of(const std::string& symbol) const;
  /// "for s15: 1 to 10": of the symbols of a size.
  std::string ranges_text(const Dim& size) const;

  std::map<std::string, torchscript::SizeRange> ranges_;
  std::map<std::string, Dim, std::less<>> sizes_;  // of the file's symbols
  std::map<std::string, std::int64_t, std::less<>> minima_;
  bool is_foreseen_ = true;  // every size is one that the exporter assumed possible
  std::vector<Equation> equations_;
};

}  // namespace tenon::converter
