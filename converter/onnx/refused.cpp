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

std::span<const OnnxEntry> refused_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"com.microsoft.BeamSearch", search},
      OnnxEntry{"com.microsoft.BifurcationDetector", token_choice},
      OnnxEntry{"com.microsoft.ConvTransposeWithDynamicPads", unknown_pads},
      OnnxEntry{"com.microsoft.DynamicQuantizeLSTM", quantised_recurrence},
      OnnxEntry{"com.microsoft.GreedySearch", search},
      OnnxEntry{"com.microsoft.NGramRepeatBlock", token_choice},
      OnnxEntry{"com.microsoft.PackedAttention", packed_attention},
      OnnxEntry{"com.microsoft.PackedMultiHeadAttention", packed_attention},
      OnnxEntry{"com.microsoft.QMoE", quantised_mixture},
      OnnxEntry{"com.microsoft.RemovePadding", padding},
      OnnxEntry{"com.microsoft.RestorePadding", padding},
      OnnxEntry{"com.microsoft.Sampling", search},
      OnnxEntry{"com.microsoft.WhisperBeamSearch", search},
      OnnxEntry{"com.microsoft.nchwc.AveragePool", layout},
      OnnxEntry{"com.microsoft.nchwc.Conv", layout},
      OnnxEntry{"com.microsoft.nchwc.GlobalAveragePool", layout},
      OnnxEntry{"com.microsoft.nchwc.GlobalMaxPool", layout},
      OnnxEntry{"com.microsoft.nchwc.MaxPool", layout},
      OnnxEntry{"com.microsoft.nchwc.ReorderInput", layout},
      OnnxEntry{"com.microsoft.nchwc.ReorderOutput", layout},
      OnnxEntry{"com.microsoft.nchwc.Upsample", layout},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
