// What hints tell the user to type: the command line's words for the inputs and sizes of a model. Each can be
// pasted.
#pragma once
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dim.h"
#include "ir/type.h"

namespace tenon {
class Graph;
class Value;
struct SymbolInfo;
}  // namespace tenon

namespace tenon::hint {

/// "--input x=5", in quotes where a shell needs them, the name where it holds what would end it. An input
/// without a name is given by its order.
std::string input(std::string_view name, std::string_view value);
/// "--input 'x=f32[N,16]'"
std::string input(std::string_view name, const Type&);
/// "--input x=x.npy"
std::string file(std::string_view name);
/// "--input x=x.npy --input mask=mask.npy": a file of its own for each.
std::string files(const std::vector<std::string>& names);
/// The input with a name for the size of one axis: "--input 'x=f32[N,3,8,8]'".
std::string varying(const Value& input, std::size_t axis);

/// "N=8, T=16"
std::string sizes(const Bindings&);
/// What makes an array of one type, with known sizes, one of the other: "... array.astype('float32')",
/// another order of its axes, an axis of size 1 before them. Empty: nothing does.
std::string array(const Type& given, const Type& wanted);
/// What makes an array of one dtype another's. Empty: NumPy lacks it.
std::string conversion(DType given, DType wanted);

/// "--shape N=8 --shape T=16"
std::string shape(const Bindings&);
/// The same for each size of the inputs that varies: this one, or what its range has next to it. Empty: none
/// varies.
std::string shape(const Graph&, std::int64_t size);

/// "1 to 64", "any size from 1"
std::string range(const SymbolInfo&);
/// Each size of the inputs that varies: "N: any size from 1 (dim 0 of input x)".
std::vector<std::string> symbols(const Graph&);
/// The same for some.
std::vector<std::string> symbols(const Graph&, const std::set<std::string>& names);

}  // namespace tenon::hint
