#include "verify/onnxruntime.h"

#include <nlohmann/json.hpp>

#include "base/count.h"
#include "base/environment.h"
#include "base/temporary_path.h"
#include "converter/onnx/tensor_proto.h"
#include "converter/process.h"
#include "ir/npy.h"
#include "verify/python.h"
#include "verify/run_onnx.h"
#include "verify/torch.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::minutes longest_run{10};

// The script's exit code for a model that ONNX Runtime refuses.
constexpr int not_loaded = 4;

}  // namespace

std::vector<Tensor> onnxruntime_outputs(const fs::path& model, const Graph& graph,
                                        std::span<const Tensor> inputs,
                                        std::span<const NamedRawTensor> fixed) {
  if (!fs::is_regular_file(model)) throw error("there is no such file").at(model.string());
  std::error_code failed;
  const fs::path place = fs::temp_directory_path(failed);
  if (failed)
    throw environment_error("there is no folder for temporary files").at("TMPDIR").hint("TMPDIR=/var/tmp");
  TemporaryFolder folder(place);
  nlohmann::json names = {{"inputs", nlohmann::json::array()}, {"fixed", nlohmann::json::array()}};
  NamedTensors arrays;
  const auto give = [&](const char* list, const std::string& name, const Tensor& value) {
    arrays.emplace_back(fmt::format("in_{}", arrays.size()), value);
    names[list].push_back(name);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i)
    give("inputs", graph.body().parameter(i)->name(), inputs[i]);
  for (const NamedRawTensor& literal : fixed) give("fixed", literal.name, to_tensor(literal.tensor));
  save_npz(folder.file("in.npz"), arrays);
  const PythonEnd end =
      run_python(std::string(python::run_onnx_py),
                 {fs::absolute(model), folder.path().string(), names.dump()}, folder.path(), longest_run);
  if (!end.is_done()) {
    const bool missing = !end.status.crashed && end.status.code == python_lacks_package;
    OnnxRuntimeError e("ONNX Runtime gives no result: " + end.what(),
                       missing ? environment_failed : Exit::bad_input);
    e.refuses_model = !end.status.crashed && end.status.code == not_loaded;
    e.at(model.string());
    const std::string without = "without it: convert --no-verify, verify --against FOLDER";
    e.hint(missing ? "install it with: pip install onnxruntime, or name a Python that has it: "
                     "export TENON_PYTHON=/path/to/python; " +
                         without
                   : without);
    throw e;
  }
  std::vector<Tensor> outputs;
  const auto next = [&] { return folder.file(fmt::format("out_{}.pb", outputs.size())); };
  while (fs::exists(next())) outputs.push_back(converter::onnx::load_tensor_proto(next()).tensor);
  if (outputs.size() != graph.body().results().size())
    throw error("the ONNX model has {}, the model has {}", counted(outputs.size(), "output"),
                graph.body().results().size())
        .at(model.string());
  for (std::size_t i = 0; i < outputs.size(); ++i) {  // float8 is read as f16
    const DType dtype = graph.body().results()[i]->dtype();
    if (is_float8(dtype) && outputs[i].dtype() == DType::f16) outputs[i] = outputs[i].to(dtype);
  }
  return outputs;
}

}  // namespace tenon
