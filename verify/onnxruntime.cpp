#include "verify/onnxruntime.h"

#include <nlohmann/json.hpp>

#include "base/count.h"
#include "base/environment.h"
#include "base/temporary_path.h"
#include "converter/process.h"
#include "ir/npy.h"
#include "ir/random.h"
#include "verify/python.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::minutes timeout{10};

constexpr const char* script = R"(
import ctypes, json, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: an interrupted tenon leaves nothing behind
try:
    import numpy, onnxruntime
except ImportError as e:
    print(f"{sys.executable} has no package {e.name}", file=sys.stderr)
    sys.exit(3)
model, folder, names = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
try:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as e:
        print(str(e).strip().replace("\n", " "), file=sys.stderr)
        sys.exit(1 if "NOT_IMPLEMENTED" in str(e) else 4)
    wanted = [i.name for i in session.get_inputs()]
    if len(wanted) != len(names):
        sys.exit(f"the ONNX model takes {len(wanted)} inputs ({', '.join(wanted)}), not {len(names)}")
    if set(wanted) != set(names):
        names = wanted
    given = numpy.load(folder + "/in.npz")
    outputs = session.run(None, {name: given[f"in_{k}"] for k, name in enumerate(names)})
    outputs = [value.astype(str) if value.dtype == object else value for value in map(numpy.asarray, outputs)]
    numpy.savez(folder + "/out.npz", **{f"out_{k}": value for k, value in enumerate(outputs)})
except Exception as e:
    sys.exit(str(e).strip().replace("\n", " "))
)";

// The script's exit code for a model that ONNX Runtime refuses.
constexpr int not_loaded = 4;

}  // namespace

std::vector<Tensor> onnxruntime_outputs(const fs::path& model, const Graph& graph,
                                        std::span<const Tensor> inputs) {
  if (!fs::is_regular_file(model)) throw error("there is no such file").at(model.string());
  std::error_code failed;
  const fs::path place = fs::temp_directory_path(failed);
  if (failed)
    throw environment_error("there is no folder for temporary files").at("TMPDIR").hint("TMPDIR=/var/tmp");
  TemporaryFolder folder(place);
  nlohmann::json names = nlohmann::json::array();
  NamedTensors arrays;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    names.push_back(graph.body().parameter(i)->name());
    arrays.emplace_back(fmt::format("in_{}", i), inputs[i]);
  }
  save_npz(folder.file("in.npz"), arrays);
  const fs::path results = folder.file("out.npz");
  const PythonEnd end =
      run_python(script, {fs::absolute(model), folder.path().string(), names.dump()}, folder.path(), timeout);
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
  for (auto& [key, tensor] : load_npz(results)) outputs.push_back(std::move(tensor));
  if (outputs.size() != graph.body().results().size())
    throw error("the ONNX model has {}, the model has {}", counted(outputs.size(), "output"),
                graph.body().results().size())
        .at(model.string());
  clear_random(graph, outputs);
  return outputs;
}

}  // namespace tenon
