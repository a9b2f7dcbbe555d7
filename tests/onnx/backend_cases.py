"""ONNX's own backend tests, written as folders that `tenon check` reads."""

import fnmatch
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import DATA_DIR, load_model_tests
from onnx.backend.test.runner import Runner

# Two units in the last place: the expected values are rounded after every step, ours once.
HALVES = {onnx.TensorProto.BFLOAT16: 2**-6, onnx.TensorProto.FLOAT16: 2**-9}
# Where zero is right, the expected values are what a transform in float32 leaves.
NOISE = {"test_dft_inverse*": 1e-6}
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")


@dataclass
class Case:
    name: str
    kind: str
    operator: str  # what it tests; several are joined with +
    folder: Path


def operator_of(name: str, model: onnx.ModelProto) -> str:
    """The operator a case is about: that of its only node, or the one its name begins with."""
    kinds = {n.op_type for n in model.graph.node}
    if len(kinds) == 1:
        return kinds.pop()
    words = name.removeprefix("test_").replace("_", "")
    schemas = {s.name for s in onnx.defs.get_all_schemas()}
    fitting = [s for s in schemas if words.startswith(s.lower())]
    named = max(fitting, key=len, default="")
    return named or "+".join(sorted(kinds))


def write_data(test, folder: Path) -> None:
    graph = test.model.graph
    for k, (inputs, outputs) in enumerate(test.data_sets):
        data = folder / f"test_data_set_{k}"
        data.mkdir(exist_ok=True)
        for values, infos, prefix in ((inputs, graph.input, "input"), (outputs, graph.output, "output")):
            named = [item for value, info in zip(values, infos) for item in items(value, info.name)]
            for i, (name, item) in enumerate(named):
                message = item if isinstance(item, onnx.TensorProto) else numpy_helper.from_array(np.asarray(item))
                message.name = name
                (data / f"{prefix}_{i}.pb").write_bytes(message.SerializeToString())


def write_onnx_data(test, folder: Path) -> None:
    """As `backend-test-tools generate-data` of the onnx package does: a sequence or an optional is one file."""
    graph = test.model.graph
    write = {"sequence_type": numpy_helper.from_list, "optional_type": numpy_helper.from_optional,
             "map_type": numpy_helper.from_dict, "tensor_type": numpy_helper.from_array}
    for k, data_set in enumerate(test.data_sets):
        data = folder / f"test_data_set_{k}"
        data.mkdir(exist_ok=True)
        for prefix, values, infos in zip(("input", "output"), data_set, (graph.input, graph.output)):
            for i, (value, info) in enumerate(zip(values, infos)):
                kind = info.type.WhichOneof("value")
                message = value if isinstance(value, onnx.TensorProto) else write[kind](value, info.name)
                (data / f"{prefix}_{i}.pb").write_bytes(message.SerializeToString())


def write_light(folder: Path, name: str) -> onnx.ModelProto:
    """An architecture whose weights are computed, with the input that ONNX's own runner makes and the output stored beside it."""
    light = Path(DATA_DIR) / "light"
    model = onnx.load(light / f"light_{name}.onnx")
    shutil.copy(light / f"light_{name}.onnx", folder / "model.onnx")
    data = folder / "test_data_set_0"
    data.mkdir(exist_ok=True)
    weights = {w.name for w in model.graph.initializer}
    (given,) = [i for i in model.graph.input if i.name not in weights]
    message = numpy_helper.from_array(Runner.generate_dummy_data(given), given.name)
    (data / "input_0.pb").write_bytes(message.SerializeToString())
    shutil.copy(light / f"light_{name}_output_0.pb", data / "output_0.pb")
    return model


def items(value, name: str) -> list:
    """The tensors in a value, with the names that Tenon gives them."""
    if isinstance(value, list):
        return [item for i, v in enumerate(value) for item in items(v, f"{name}.{i}")]
    return [] if value is None else [(name, value)]


def write_cases(root: Path, kinds=KINDS, pattern: str = "*", as_onnx: bool = False, part: slice = slice(None)) -> list[Case]:
    """Writes the cases, or a part of each kind, below the folder and says what they are. A case that ONNX cannot write itself is
    left out.

    With `as_onnx` they are the files of ONNX's own layout and no more: no tolerance, and no tensor of its own for each item of a
    sequence."""
    cases = []
    for kind in kinds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tests = load_model_tests(kind="real" if kind == "light" else kind)  # ONNX runs the light forms of real models
        for test in sorted(tests, key=lambda t: t.name)[part]:
            if not fnmatch.fnmatch(test.name, pattern):
                continue
            folder = root / kind / test.name
            folder.mkdir(parents=True, exist_ok=True)
            if kind == "light":
                model = write_light(folder, test.model_name)
            elif test.model is None:
                shutil.copytree(test.model_dir, folder, dirs_exist_ok=True)
                model = onnx.load(folder / "model.onnx")
            else:
                model = test.model
                (folder / "model.onnx").write_bytes(model.SerializeToString())
                (write_onnx_data if as_onnx else write_data)(test, folder)
            cases.append(Case(test.name, kind, operator_of(test.name, model), folder))
            if as_onnx:
                continue
            rtol = max([test.rtol, *(HALVES.get(v.type.tensor_type.elem_type, 0) for v in model.graph.output)])
            atol = next((a for p, a in NOISE.items() if fnmatch.fnmatch(test.name, p)), test.atol)
            (folder / "case.toml").write_text(f"rtol = {rtol}\natol = {atol}\n")
    return cases
