// Operators of com.microsoft that have no form here, and what can be done instead.
#include <array>

#include "base/error.h"
#include "converter/onnx/table.h"

namespace tenon::converter::onnx {

namespace {

Operands search(Call&) {
  throw unsupported("it runs the model again for every token")
      .hint("export the decoder alone, and choose its tokens outside of the model");
}
Operands packed_attention(Call&) {
  throw unsupported("samples of different lengths in one row, without padding")
      .hint("export the model with padding: com.microsoft.Attention or MultiHeadAttention");
}
Operands padding(Call&) {
  throw unsupported("a number of rows that a mask decides").hint("export the model with padding");
}
Operands token_choice(Call&) {
  throw unsupported("a choice of tokens").hint("choose the tokens outside of the model");
}
Operands quantised_mixture(Call&) {
  throw unsupported("experts with weights of few bits").hint("export the model with com.microsoft.MoE");
}
Operands quantised_recurrence(Call&) {
  throw unsupported("a recurrent layer that quantises its state in every step")
      .hint("leave LSTM out of the operators that are quantised");
}
Operands layout(Call&) {
  throw unsupported("a layout of the machine that the model was optimised on")
      .hint("write the optimised model at the level ORT_ENABLE_EXTENDED");
}
Operands unknown_pads(Call&) {
  throw unsupported("pads that the model computes").hint("export the model with ConvTranspose");
}

}  // namespace

std::span<const Entry> refused_entries() {
  static constexpr std::array entries = {
      Entry{"com.microsoft.BeamSearch", search},
      Entry{"com.microsoft.BifurcationDetector", token_choice},
      Entry{"com.microsoft.ConvTransposeWithDynamicPads", unknown_pads},
      Entry{"com.microsoft.DynamicQuantizeLSTM", quantised_recurrence},
      Entry{"com.microsoft.GreedySearch", search},
      Entry{"com.microsoft.NGramRepeatBlock", token_choice},
      Entry{"com.microsoft.PackedAttention", packed_attention},
      Entry{"com.microsoft.PackedMultiHeadAttention", packed_attention},
      Entry{"com.microsoft.QMoE", quantised_mixture},
      Entry{"com.microsoft.RemovePadding", padding},
      Entry{"com.microsoft.RestorePadding", padding},
      Entry{"com.microsoft.Sampling", search},
      Entry{"com.microsoft.WhisperBeamSearch", search},
      Entry{"com.microsoft.nchwc.AveragePool", layout},
      Entry{"com.microsoft.nchwc.Conv", layout},
      Entry{"com.microsoft.nchwc.GlobalAveragePool", layout},
      Entry{"com.microsoft.nchwc.GlobalMaxPool", layout},
      Entry{"com.microsoft.nchwc.MaxPool", layout},
      Entry{"com.microsoft.nchwc.ReorderInput", layout},
      Entry{"com.microsoft.nchwc.ReorderOutput", layout},
      Entry{"com.microsoft.nchwc.Upsample", layout},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
