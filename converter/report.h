// What a conversion has to say: what is unsupported (all of it, at once), and what it assumed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/source.h"

namespace tenon {

/// One kind of thing that Tenon does not support, and everywhere the model does it.
struct UnsupportedUse {
  std::string what;          // "aten::nonzero", "if", "state"
  std::string reason;        // a sentence
  std::string hint;          // what to write instead; may be empty
  std::string nearest;       // an operator of a similar name that is supported; may be empty
  bool is_operator = false;  // a user may bring it: docs/custom_operators.md
  int count = 0;
  std::vector<std::string> places;  // "encoder.layer.0 (net.py:57)", each once
  bool operator==(const UnsupportedUse&) const = default;
};

struct UnsupportedReport {
  std::vector<UnsupportedUse> uses;

  bool empty() const { return uses.empty(); }
  void add(std::string_view what, std::string_view reason, std::string_view hint, const Source& where);
  /// An operator that is not implemented: looks up what to write instead.
  void add_operator(std::string_view name, std::string_view reason, const Source& where);
  /// The one Error that lists them all.
  Error to_error() const;

 private:
  UnsupportedUse& use(std::string_view what, std::string_view reason, const Source& where);
};

/// What holds for the converted graph but not, or not visibly, for the model.
struct ConvertNote {
  enum class Kind {
    assumption,  // "N == 8 is assumed" where the model would raise otherwise
    baked_size,  // a number in a traced file that equals a size of the trace
    input,       // an in-place write to an input, which the caller will not see
    custom,      // an operator of a library: verification uses the same library
    weights,     // given weights that the program does not use
    training,    // a module saved in training mode, converted in eval mode
  } kind;
  std::string text;
  bool operator==(const ConvertNote&) const = default;
};
using ConvertNotes = std::vector<ConvertNote>;

}  // namespace tenon
