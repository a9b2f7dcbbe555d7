// Values for the inputs of a graph: given ones by name or order, random ones for the rest.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// A value for an input; without a name it takes the next input that has none.
struct GivenInput {
  std::string name;
  Tensor value;
  bool is_number = false;  // written out: takes the input's dtype, if it can hold the number
  bool is_random = false;  // made up
};

/// Whole numbers from `min` to `max`.
struct IntegerRange {
  std::int64_t min = 0, max = 1;
};

/// Within which random integers for an input are valid, as far as the graph says so: below the size of the
/// axis they index, when they reach an index operator; up to the number of places they are compared with, as
/// lengths are; as the checks of the model ask. Else 0 and 1, as in a mask; 1 for the size of a tensor. Sizes
/// of symbols that are not bound are not known.
IntegerRange integer_range(const Value& input, const Bindings& = {});

/// Seeded: floats from the standard normal distribution, integers from the range, bools by coin.
Tensor random_tensor(DType, const Index& sizes, IntegerRange, std::uint64_t seed);

/// One tensor per input of the graph.
/// Inputs without a value are random, states (runtime/stateful_session.h) zero; their symbols take the sizes
/// of the given inputs, then `sizes`, then defaults within the symbol's bounds: 1 for the first axis, 64 for
/// the last two of rank 4 and more (images), 16 for the others. Throws Error for an unknown name, too many
/// values, two for one input, a number that its dtype cannot hold. `random` receives the names of those that
/// are random.
std::vector<Tensor> input_values(const Graph&, std::vector<GivenInput> given, std::uint64_t seed,
                                 const Bindings& sizes = {}, std::vector<std::string>* random = nullptr);

}  // namespace tenon
