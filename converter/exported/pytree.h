// How the arguments and results of an exported program nest: tuples, lists, dicts around flat lists of
// leaves.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace tenon::exported {

/// A container, or a leaf: one tensor or number of the flat list.
struct Tree {
  bool is_leaf = true;
  std::string type;                // "builtins.tuple", "builtins.dict", "collections.namedtuple", …
  std::vector<std::string> names;  // of the children, where they have some: dict keys, fields
  std::vector<Tree> children;
};

/// Field names of NamedTuple classes, by the class's name.
using TupleFields = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Reads the JSON text of torch.utils._pytree.treespec_dumps. Throws Error when it is none.
Tree read_tree(const std::string& text, const TupleFields& fields);

}  // namespace tenon::exported
