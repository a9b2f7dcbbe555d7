"""Runs an ONNX model in ONNX Runtime: run_onnx.py MODEL FOLDER NAMES.

NAMES is JSON: the lists "inputs", as Tenon calls them, and "fixed", of those that its conversion fixed, with their values in_0, in_1, ...,
one list after the other, in FOLDER/in.npz: those of a sequence x are x.0, x.1, ..., those of a dictionary x.keys and x.values. The outputs are written in the same way: FOLDER/out_0.pb, ..., a TensorProto each.
The exit codes: 3 a package is missing, 4 the model is refused, 1 anything else.
"""

import ctypes
import json
import math
import re
import signal
import sys

ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: an interrupted tenon leaves nothing behind
try:
    import numpy
    import onnxruntime
except ImportError as e:
    print(f"{sys.executable} has no package {e.name}", file=sys.stderr)
    sys.exit(3)

# TensorProto.DataType of NumPy's types, and how ONNX Runtime calls those that have another name there.
NUMBERS = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "object": 8, "bool": 9, "float16": 10,
           "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15}
IN_NUMPY = {"float": "float32", "double": "float64", "string": "object"}
BFLOAT16 = 16
FLOAT8 = {"tensor(float8e4m3fn)": 17, "tensor(float8e4m3fnuz)": 18, "tensor(float8e5m2)": 19, "tensor(float8e5m2fnuz)": 20}
# How many bits an element of a type has that NumPy lacks: bfloat16, integers and floats of four and two bits; else 8.
BITS = {BFLOAT16: 16, 21: 4, 22: 4, 23: 4, 25: 2, 26: 2}


def in_numpy(type):
    """NumPy's name of the element type; None where it has none."""
    element = re.search(r"tensor\((\w+)\)", type)[1].lower()
    name = IN_NUMPY.get(element, element)
    return name if name in NUMBERS else None


def is_given(name, arrays):
    return any(key == name or key.startswith(name + ".") for key in arrays)


def bfloat16_bits(array):
    """Of bfloat16, which comes as its two bytes, or of a number that is written out, rounded to the nearest, ties to even."""
    if array.dtype.kind == "V":
        return array.view(numpy.uint16)
    bits = array.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return numpy.where(numpy.isnan(array), 0x7FC0, rounded).astype(numpy.uint16)


def value_of(name, type, arrays):
    """An input from its parts; None is an optional that is not given."""
    if type.startswith("optional("):
        return value_of(name, type[len("optional("):-1], arrays) if is_given(name, arrays) else None
    if type.startswith("seq("):
        items = []
        while is_given(f"{name}.{len(items)}", arrays):
            items.append(value_of(f"{name}.{len(items)}", type[len("seq("):-1], arrays))
        return items
    if type.startswith("map("):
        return dict(zip(arrays[name + ".keys"].tolist(), arrays[name + ".values"].tolist()))
    array = arrays[name]
    if type == "tensor(string)" and array.dtype == "uint8":  # written out: it comes as its bytes
        return numpy.array(array.tobytes().decode(), object)
    if type == "tensor(bfloat16)":
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bfloat16_bits(array), BFLOAT16)
    if type in FLOAT8 and array.dtype.kind == "V":  # single bytes
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(numpy.uint8), FLOAT8[type])
    is_written_out = array.ndim == 0 and in_numpy(type) not in (None, "object")  # a number: its type is not the model's
    return array.astype(in_numpy(type)) if is_written_out else array


def plain(name):
    """A name as the model has it: Tenon shows what a terminal would obey as \\uXXXX."""
    return re.sub(r"\\u([0-9a-f]{4})", lambda escape: chr(int(escape[1], 16)), name)


def inputs_of(session, arrays, fixed):
    """By the names of the model, or in its order where they are others: names change when a model is exported. Those of `fixed` are the model's."""
    weights = [w for w in session.get_overridable_initializers() if plain(w.name) in arrays]  # that are inputs, too
    wanted = {plain(i.name): i for i in session.get_inputs() + weights}
    for name in fixed:
        if name not in wanted:
            sys.exit(f"the ONNX model has no input {name!r}, only {', '.join(wanted)}")
    if not all(is_given(name, arrays) or i.type.startswith(("optional(", "seq(")) for name, i in wanted.items()):
        open_names = [name for name in wanted if name not in fixed]
        values = [array for name, array in arrays.items() if name not in fixed]
        if len(open_names) != len(values):
            sys.exit(f"the ONNX model takes {len(wanted)} inputs ({', '.join(wanted)}), not {len(arrays)}")
        arrays = {name: arrays[name] for name in fixed} | dict(zip(open_names, values))
    return {i.name: value_of(name, i.type, arrays) for name, i in wanted.items()}


def parts_of(value, type):
    """The arrays in an output: items in order, or the keys in ascending order and the values of dictionaries, a row for each."""
    if value is None:
        return []
    if isinstance(value, dict):
        keys, rows = parts_of([value], type)
        return [keys, rows[0]]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        keys = sorted(value[0])
        rows = [[row[key] for key in keys] for row in value]
        return [numpy.array(keys, object if isinstance(keys[0], str) else "int64"), numpy.array(rows, in_numpy(type))]
    if isinstance(value, list):
        return [part for item in value for part in parts_of(item, type)]
    return [numpy.asarray(value)]


def message(array):
    """A TensorProto with the array in it."""
    if array.dtype.kind in "OU":
        texts = [str(text).encode(errors="surrogateescape") for text in array.ravel()]
        return tensor_proto(NUMBERS["object"], array.shape) + b"".join(b"\x32" + varint(len(t)) + t for t in texts)
    return tensor_proto(NUMBERS[array.dtype.name], array.shape, numpy.ascontiguousarray(array).tobytes())


def bits_message(value):
    """The same of an OrtValue, whatever its type."""
    number, shape = value.element_type(), value.shape()
    size = (math.prod(shape) * BITS.get(number, 8) + 7) // 8
    return tensor_proto(number, shape, ctypes.string_at(value.data_ptr(), size) if size else b"")


def tensor_proto(number, shape, raw=None):
    head = b"".join(b"\x08" + varint(size) for size in shape) + b"\x10" + varint(number)
    return head if raw is None else head + b"\x4a" + varint(len(raw)) + raw


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def outputs_of(session, given):
    """All parts of all outputs. What NumPy has no type for is read from ONNX Runtime's memory, in a run of its own."""
    is_plain = {o.name: in_numpy(o.type) is not None or not o.type.startswith("tensor(") for o in session.get_outputs()}
    plain = [name for name, yes in is_plain.items() if yes]
    others = [name for name, yes in is_plain.items() if not yes]
    found = dict(zip(plain, session.run(plain, given))) if plain else {}
    if others:
        values = {name: v if isinstance(v, onnxruntime.OrtValue) else onnxruntime.OrtValue.ortvalue_from_numpy(v)
                  for name, v in given.items()}
        found.update(zip(others, session.run_with_ort_values(others, values)))
    for o in session.get_outputs():
        if is_plain[o.name]:
            yield from map(message, parts_of(found[o.name], o.type))
        else:
            yield bits_message(found[o.name])


def main(model, folder, names):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # By default it rounds the other factor of a dequantised weight to 8 bits: 1 keeps float32.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    # By default sums of products of bytes saturate on CPUs without a dot product of them (AVX2): 1 keeps them exact.
    options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as e:
        print(str(e).strip().replace("\n", " "), file=sys.stderr)
        sys.exit(1 if "NOT_IMPLEMENTED" in str(e) else 4)
    stored = numpy.load(folder + "/in.npz")
    names = {kind: [plain(name) for name in of_kind] for kind, of_kind in json.loads(names).items()}
    arrays = {name: stored[f"in_{k}"] for k, name in enumerate(names["inputs"] + names["fixed"])}
    given = inputs_of(session, arrays, names["fixed"])
    for k, part in enumerate(outputs_of(session, given)):
        with open(f"{folder}/out_{k}.pb", "wb") as file:
            file.write(part)


try:
    main(*sys.argv[1:])
except Exception as e:
    sys.exit(str(e).strip().replace("\n", " "))
