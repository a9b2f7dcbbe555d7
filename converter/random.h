// What conversion does with the random numbers of a model.
#pragma once
#include "converter/report.h"
#include "ir/graph.h"

namespace tenon {

/// By default a model that draws random numbers is refused.
struct RandomOptions {
  bool sample = false;                                                  // draw them
  enum class Dropout { refuse, drop, keep } dropout = Dropout::refuse;  // in training mode
};

namespace converter {

/// Leaves in the graph what the options allow; what they do not is reported.
void settle_random(Graph&, const RandomOptions&, UnsupportedReport&);
/// Notes which outputs depend on random numbers.
void note_random(const Graph&, ConvertNotes&);

}  // namespace converter
}  // namespace tenon
