// Suggests what to write instead of an operator that Tenon does not implement.
#pragma once
#include <string>
#include <string_view>

namespace tenon {

/// For "aten::nonzero", "torchvision::nms", with or without an overload.
struct Alternative {
  std::string instead;  // a sentence; empty when none is known
  std::string
      nearest;  // the implemented operator of PyTorch with the most similar name; empty: none is close
};
Alternative alternative_to(std::string_view name);

}  // namespace tenon
