"""TorchScript's functions on Python values, from PyTorch's own list: ints, floats, bools, strings, lists, dicts."""

import re

import numpy
import pytest
import torch

from tests.python.compared import run, tenon_run

# What a program for inference on the CPU has no use for, or has no meaning outside one process.
WITHOUT_MEANING = re.compile(
    "aten::(Generator|_cufft_.*|_get_cpu_capability|_nnpack_available|confirmed_by_owner|dequantize|get_autocast_dtype|hash|"
    "initial_seed|is_owner|local_value|manual_seed|owner|owner_name|save|seed|to_here|wait|can_cast|result_type|_assert_scalar|"
    "sym_constrain_range.*|set_grad_enabled|is_grad_enabled|is_autocast.*|warn|_print|format|device|str|_unwrap_optional|"
    "is_scripting|percentFormat|has_torch_function|_no_grad_.*|__is__|__isnot__|_size_if_not_equal)"
    "|prim::(?!min$|max$|abs$|rangelist$|StringIndex$).*")
NEVER_CHOSEN = {"aten::pow.int_to_int"}  # pow.int takes the same arguments
VALUES = {
    "int": [3, 2, 1], "float": [0.5, 0.75, 1.25], "bool": [True, False], "str": ["b", "a", "c"], "ScalarType": [6, 3],
    "List[int]": [[3, 1, 2], [3, 2, 1]], "List[float]": [[0.5, -1.5, 2.0], [0.5, 1.0]],
    "List[bool]": [[True, False], [True, True]], "List[str]": [["b", "a", "c"], ["b", "a"]],
    "Dict[str, int]": [{"a": 1, "b": 2}, {"b": 5}], "Dict[int, int]": [{3: 1, 2: 2}, {2: 5}],
    "Dict[bool, int]": [{True: 1, False: 2}, {True: 5}], "Dict[float, int]": [{0.5: 1, 0.75: 2}, {0.75: 5}],
    "List[Tuple[str, int]]": [[("a", 1), ("b", 2)]], "List[Tuple[int, int]]": [[(3, 1), (2, 2)]],
    "List[Tuple[bool, int]]": [[(True, 1), (False, 2)]], "List[Tuple[float, int]]": [[(0.5, 1), (0.75, 2)]],
}  # fmt: skip
# Where those values are out of the domain.
SPECIAL = {
    "aten::acos.int": [1], "aten::asin.int": [1], "aten::atanh.int": [0], "aten::acosh.float": [2.5], "aten::acosh.int": [2],
    "aten::chr": [98], "aten::Int.str": ["-12"], "aten::Float.str": ["2.25"], "aten::__getitem__.str": ["a b", -1],
    "prim::StringIndex": ["a b", 1], "aten::center": ["ab", 5, "*"], "aten::ljust": ["ab", 5, "*"], "aten::rjust": ["ab", 5, "*"],
    "aten::zfill": ["-ab", 6], "aten::strip": [" b ", " "], "aten::lstrip": [" b ", " "], "aten::rstrip": [" b ", " "],
    "aten::expandtabs": ["a b", 4], "aten::find": ["a b, ab", "b", 0, -1], "aten::rfind": ["a b, ab", "b", 0, -1],
    "aten::index.str": ["a b, ab", "b", 0, -1], "aten::rindex": ["a b, ab", "b", 0, -1], "aten::count": ["a b, ab", "b", 0, -1],
    "aten::slice.str": ["abcdef", 1, 5, 2], "aten::replace": ["a b, ab", "b", "xy", -1], "aten::split.str": ["a b, ab", " ", -1],
    "aten::rsplit": ["a b, ab", " ", 1], "aten::splitlines": ["a b", False], "aten::startswith": ["ab", "a", 0, -1],
    "aten::endswith": ["ab", "b", 0, -1], "aten::title": ["a bC"], "aten::partition": ["a, b, c", ", "],
    "aten::rpartition": ["a, b, c", ", "], "aten::capitalize": ["aB c"], "aten::swapcase": ["aB c"], "aten::upper": ["aB c"],
    "aten::lower": ["aB c"], "aten::isalnum": ["a1"], "aten::isdigit": ["12"], "aten::istitle": ["A Bc"],
    "aten::__derive_index": [2, 1, 3], "aten::__range_length": [1, 9, 3], "aten::broadcast_shapes": [[3, 1, 2], [5, 1]],
    "aten::_infer_size": [[3, 1, 2], [5, 1]], "aten::ldexp": [2.5, 3], "aten::slice.t": [[3, 1, 2], 0, 2, 1],
    "aten::insert.t": [[3, 1, 2], 1, 7], "aten::__getitem__.t": [[3, 1, 2], -1], "aten::select.t": [[3, 1, 2], 1],
    "aten::pop.t": [[3, 1, 2], 1], "aten::Delete.t": [[3, 1, 2], 1], "aten::_set_item.t": [[3, 1, 2], 1, 7],
    "aten::join": [", ", ["a", "b"]], "aten::list": ["ab"], "aten::list.t": [[3, 1, 2]], "aten::remainder.int": [-7, 3], "aten::floordiv.int": [-7, 3],
    "aten::__round_to_zero_floordiv": [-7, 3], "aten::fmod.int": [-7, 3], "aten::divmod.int": [-7, 3], "aten::gcd": [12, 18],
    "aten::round.float": [2.5], "aten::floor.float": [-2.5], "aten::ceil.float": [-2.5], "aten::Int.float": [-2.5],
    "aten::neg.bool": [True], "aten::log.int_int": [8, 2],
}  # fmt: skip


def typed(annotation):
    """TorchScript's type with int for `t` and `tVal`."""
    text = re.sub(r"\b(t|tVal)\b", "int", annotation)
    return re.sub(r"Optional\[(.*)\]$", r"\1", text)


def literal(value):
    """The value as a constant of the graph."""
    return f'"{value}"' if isinstance(value, str) else str(int(value)) if isinstance(value, bool) else repr(value)


def parts_of(kind):
    """The types inside List[...], Dict[...] and Tuple[...]."""
    inner, depth, parts = kind[kind.index("[") + 1 : -1], 0, [""]
    for c in inner:
        depth += (c == "[") - (c == "]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def ir_type(kind):
    """The type as the text of a graph has it."""
    if kind.startswith("List"):
        return f"{ir_type(parts_of(kind)[0])}[]"
    if kind.startswith(("Dict", "Tuple")):
        return f"{'Dict' if kind[0] == 'D' else ''}({', '.join(map(ir_type, parts_of(kind)))})"
    return "int" if kind == "ScalarType" else kind


class Writer:
    """The text of a graph."""

    def __init__(self, unknown=False):
        self.unknown, self.data = unknown, []  # numbers as elements of the input, and these
        self.lines, self.outputs, self.expected, self.count = [], [], [], 0

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def add(self, kind, op, arguments=()):
        name = self.fresh()
        self.lines.append(f"{name} : {kind} = {op}({', '.join(arguments)})")
        return name

    def value(self, kind, value):
        if kind.startswith("List"):
            return self.add(ir_type(kind), "prim::ListConstruct", [self.value(parts_of(kind)[0], v) for v in value])
        if kind.startswith("Tuple"):
            return self.add(ir_type(kind), "prim::TupleConstruct", [self.value(*pair) for pair in zip(parts_of(kind), value)])
        if kind.startswith("Dict"):
            return self.add(ir_type(kind), "prim::DictConstruct",
                            [self.value(*one) for pair in value.items() for one in zip(parts_of(kind), pair)])  # fmt: skip
        if self.unknown and kind in ("int", "float", "bool"):
            self.data.append(value)
            place = self.add("int", f"prim::Constant[value={len(self.data) - 1}]")
            zero = self.add("int", "prim::Constant[value=0]")
            item = self.add("Tensor", "aten::select", ["%x", zero, place])
            return self.add(kind, {"int": "aten::Int", "float": "aten::Float", "bool": "aten::Bool"}[kind], [item])
        return self.add(ir_type(kind), f"prim::Constant[value={literal(value)}]")

    def output(self, key, kind, name, expected):
        """A result as outputs of the graph; of a string, whether it is the right one."""
        if kind in ("str", "List[str]"):
            wanted = Writer.value(self, kind, expected) if not self.unknown else None
            name, expected = self.add("bool", "aten::eq", [name, wanted]), True
        elif kind.startswith("Dict"):
            inner = parts_of(kind)
            for function, of, items in zip(("keys", "values"), inner, (list(expected), list(expected.values()))):
                self.output(key, f"List[{of}]", self.add(f"{ir_type(of)}[]", f"aten::{function}", [name]), items)
            return
        elif kind.startswith("Tuple"):
            names = [self.fresh() for _ in expected]
            left = ", ".join(f"{n} : {ir_type(k)}" for n, k in zip(names, parts_of(kind)))
            self.lines.append(f"{left} = prim::TupleUnpack({name})")
            for one in zip(parts_of(kind), names, expected):
                self.output(key, *one)
            return
        elif kind.startswith("List[Tuple"):
            inner = parts_of(kind)[0]
            for i, item in enumerate(expected):
                place = self.add("int", f"prim::Constant[value={i}]")
                self.output(key, inner, self.add(ir_type(inner), "aten::__getitem__", [name, place]), item)
            return
        self.outputs.append(name)
        for value in expected if isinstance(expected, list) else [expected]:
            self.expected.append((key, value))

    def call(self, schema, given):
        """The call with these arguments; its results and what it changes are outputs. Also says them."""
        arguments = [self.value(kind, value) for kind, value in given]
        kinds = [typed(r.type.annotation_str) for r in schema.returns]
        names = [self.fresh() for _ in kinds]
        left = ", ".join(f"{name} : {ir_type(kind)}" for name, kind in zip(names, kinds))
        self.lines.append(f"{left}{' = ' if kinds else ''}{schema.name}({', '.join(arguments)})")
        if "(a!)" in str(schema):
            kinds, names = kinds + [given[0][0]], names + [arguments[0]]
        return kinds, names

    def function(self):
        result = self.add(f"({', '.join('Any' for _ in self.outputs)})", "prim::TupleConstruct", self.outputs)
        text = "graph(%x : Tensor):\n  " + "\n  ".join([*self.lines, f"return ({result})"])
        return torch._C._create_function_from_graph("forward", torch._C.parse_ir(text))


def functions():
    """Schemas by their names: those on Python values alone."""
    found = {}
    foreign = re.compile("Tensor|complex|Any|enum|Device|Generator|Future|Scalar$|number")
    for schema in torch._C._jit_get_all_schemas():
        kinds = [a.type.annotation_str for a in (*schema.arguments, *schema.returns)]
        if not schema.name.startswith(("aten::", "prim::")) or any(foreign.search(kind) for kind in kinds):
            continue
        key = f"{schema.name}.{schema.overload_name}".rstrip(".")
        if not WITHOUT_MEANING.fullmatch(schema.name) and "..." not in str(schema) and key not in NEVER_CHOSEN:
            found[key] = schema
    return dict(sorted(found.items()))


def arguments_of(key, schema):
    special = SPECIAL.get(key, SPECIAL.get(key.split(".")[0], []))
    kinds = [typed(argument.type.annotation_str) for argument in schema.arguments]
    fits = len(special) == len(kinds)
    return [(kind, special[i] if fits else VALUES[kind][kinds[:i].count(kind) % len(VALUES[kind])]) for i, kind in enumerate(kinds)]


def eager(schema, given):
    """What the call gives in PyTorch, with what it changes."""
    writer = Writer()
    kinds, writer.outputs = writer.call(schema, given)
    return list(writer.function()(torch.ones(1)))


def checked(tenon, folder, writer):
    function = writer.function()
    function.save(str(folder / "m.pt"))
    data = torch.tensor(writer.data or [0.0], dtype=torch.float64)
    numpy.save(folder / "x.npy", data.numpy())
    tenon_run(tenon, "convert", folder / "m.pt", "-o", folder / "m.tenon", "--input", f"x={folder / 'x.npy'}")
    got = run(tenon, folder / "m.tenon", [data], folder)
    assert len(got) == len(writer.expected)
    wrong = [f"{key}: {g.item()}, not {want}" for g, (key, want) in zip(got, writer.expected)
             if type(g.item()) is not type(want) or g.item() != pytest.approx(want, rel=1e-12, nan_ok=True)]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_every_function_on_python_values_equals_pytorch(tenon, tmp_path):
    writer = Writer()
    for key, schema in functions().items():
        given = arguments_of(key, schema)
        expected = eager(schema, given)
        for one in zip(*writer.call(schema, given), expected):
            writer.output(key, *one)
    assert len(writer.expected) > 350
    checked(tenon, tmp_path, writer)


# Functions of numbers for which the graph has no operator.
KNOWN_ONLY = re.compile(
    "(aten|prim)::(angle|bin|chr|factorial|frexp|gamma|gcd|hex|ldexp|mathremainder|modf|oct|promote_types|rangelist)(\\..*)?")


def test_every_function_on_numbers_that_depend_on_data_equals_pytorch(tenon, tmp_path):
    writer = Writer(unknown=True)
    count = 0
    for key, schema in functions().items():
        given = arguments_of(key, schema)
        if KNOWN_ONLY.fullmatch(key) or not given or any(kind not in ("int", "float", "bool") for kind, _ in given):
            continue
        expected = eager(schema, given)
        for one in zip(*writer.call(schema, given), expected):
            writer.output(key, *one)
        count += 1
    assert count > 130
    checked(tenon, tmp_path, writer)
