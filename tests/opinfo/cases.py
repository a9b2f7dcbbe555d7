"""The cases: sample inputs of PyTorch's operator database as functions of tensors, with the results PyTorch gives."""

import fnmatch
import itertools
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, OpInfo, UnaryUfuncInfo
from torch.utils._pytree import tree_flatten, tree_unflatten

DTYPES = (torch.float32, torch.int64, torch.bool, torch.float16, torch.bfloat16, torch.float64, torch.complex64)

# Their results are random, or are whatever memory holds.
NO_RESULT = ("empty*", "new_empty*", "*dropout", "*dropout?d", "*alpha_dropout.with_train", "nn.functional.rrelu", "bernoulli", "multinomial", "normal*", "rand*",
             "uniform", "cauchy", "exponential", "geometric", "log_normal", "nn.functional.gumbel_softmax",
             "nn.functional.fractional_max_pool*", "pca_lowrank", "svd_lowrank")  # fmt: skip
# What takes sparse or nested tensors, gives complex numbers of 16 bits or no tensor, or takes memory as it is.
OTHER_KINDS = ("sparse.*", "to_sparse", "*jagged*", "view_as_real", "chalf", "resize_*", "item", "equal", "allclose")
LINEAR_ALGEBRA = ("linalg.*", "fft.*", "stft", "istft", "cholesky*", "lu*", "geqrf", "qr", "svd", "symeig", "ormqr",
                  "triangular_solve", "inverse", "logdet", "pinverse", "matrix_exp", "cdist_", "tensorinv",
                  "torch.linalg*", "ops.aten.linalg*")  # fmt: skip

# PyTorch does not say which place of equal values it gives: what stands there is compared.
UNSTABLE = {"argsort": 0, "sort": 0, "topk": 1, "kthvalue": 1}  # where the axis stands among the arguments


def of_svd(x, u, s, vh):
    """Singular vectors have open signs, or are any basis: what they multiply to, and that they are orthonormal."""
    count = s.shape[-1]
    product = (u[..., :count] * s.unsqueeze(-2)) @ vh[..., :count, :]
    return [s, product, u.mT @ u, vh @ vh.mT]


def of_eigh(x, values, vectors):
    return [values, (vectors * values.unsqueeze(-2)) @ vectors.mT, vectors.mT @ vectors]


def of_eigvals(x, values):
    """They come in any order."""
    return [values.sum(-1), (values * values).sum(-1), values.abs().sort().values]


def of_eig(x, values, vectors):
    """Vectors of length 1 may point anywhere in the complex plane."""
    scaled = vectors * values.unsqueeze(-2)
    return [*of_eigvals(x, values), (vectors.abs() ** 2).sum(-2), x @ vectors.real - scaled.real, x @ vectors.imag - scaled.imag]


# What is defined of their results for x.
DEFINED = {
    "linalg.svd": of_svd,
    "svd": lambda x, u, s, v: of_svd(x, u, s, v.mT),
    "linalg.eigh": of_eigh,
    "linalg.eig": of_eig,
    "linalg.eigvals": of_eigvals,
}


def family(op: OpInfo, dtype: torch.dtype = torch.float32) -> str:
    """"main", "linalg" (with fft), "complex", or "" for what is not measured."""
    name = op.name
    if any(fnmatch.fnmatch(full_name(op), p) for p in NO_RESULT + OTHER_KINDS):
        return ""
    if dtype.is_complex:
        return "complex"
    return "linalg" if any(fnmatch.fnmatch(name, p) for p in LINEAR_ALGEBRA) else "main"


@dataclass
class Case:
    operator: str
    family: str
    dtype: torch.dtype
    number: int  # of the sample
    function: Callable  # of the tensors, to a list of tensors
    inputs: list[torch.Tensor]
    reference: Callable | None = None  # the same in NumPy or SciPy, of arrays
    signed_zeros: bool = False  # the sign of a zero is a part of the result
    expected: list[torch.Tensor] = field(default_factory=list)
    arguments: str = ""  # for people

    @property
    def name(self) -> str:
        return f"{self.operator} {str(self.dtype).removeprefix('torch.')} {self.number}"


def operators(pattern: str = "*") -> list[OpInfo]:
    chosen = [op for op in op_db if family(op) and fnmatch.fnmatch(full_name(op), pattern)]
    return sorted(chosen, key=full_name)


def full_name(op: OpInfo) -> str:
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def is_measured(t: torch.Tensor) -> bool:
    return t.layout == torch.strided and not t.is_quantized and t.device.type == "cpu"


def spread(samples: Iterable, limit: int) -> list[tuple[int, object]]:
    """At most `limit` of the samples with their numbers, evenly over all of them; a single one is the first."""
    numbered = list(itertools.islice(enumerate(samples), 1 if limit == 1 else None))
    if len(numbered) <= limit:
        return numbered
    return [numbered[i * len(numbered) // limit] for i in range(limit)]


def cases_of(op: OpInfo, limit: int, dtypes=DTYPES) -> list[Case]:
    """The cases of an operator, of these dtypes or what a function of it gives; those that PyTorch cannot run are left out."""
    out = []
    supported = op.supported_dtypes("cpu")
    for dtype in dtypes(op) if callable(dtypes) else dtypes:
        if dtype not in supported:
            continue
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                share = limit if dtype == torch.float32 else max(1, limit // 2)
                samples = spread(op.sample_inputs("cpu", dtype, requires_grad=False), share)
            except Exception:
                continue
            for number, sample in samples:
                case = make_case(op, dtype, number, sample)
                if case:
                    out.append(case)
    return out


def few_dtypes(op: OpInfo) -> tuple[torch.dtype, ...]:
    """float32, or what an operator has in its place; and int64."""
    supported = [dtype for dtype in DTYPES if dtype in op.supported_dtypes("cpu")]
    return tuple(dict.fromkeys(supported[:1] + [dtype for dtype in supported if dtype == torch.int64]))


def make_case(op: OpInfo, dtype: torch.dtype, number: int, sample) -> Case | None:
    if sample.kwargs.get("dropout_p"):  # random
        return None
    leaves, tree = tree_flatten((sample.input, tuple(sample.args), dict(sample.kwargs)))
    if any(isinstance(x, torch.Generator) or callable(x) and not isinstance(x, torch.Tensor) for x in leaves):
        return None
    places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
    tensors = [leaves[i].detach() for i in places]
    if not tensors or not all(is_measured(t) for t in tensors):
        return None
    baked = [None if isinstance(x, torch.Tensor) else x for x in leaves]
    function_of_op = op.op

    def function(*given):
        filled = list(baked)
        for i, t in zip(places, given):
            filled[i] = t
        x, args, kwargs = tree_unflatten(filled, tree)
        result = function_of_op(x, *args, **kwargs)
        tensors = [t for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor)]
        if op.name in UNSTABLE and not kwargs.get("stable"):
            tensors[-1] = selected(x, tensors[-1], kwargs.get("dim", (*args, -1, -1)[UNSTABLE[op.name]]))
        if op.name in DEFINED:
            tensors = DEFINED[op.name](x, *tensors)
        return [t.resolve_conj() for t in tensors]

    pointwise = isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo))
    plain = len(tensors) == len(leaves) and pointwise
    reference = op.ref if plain else None
    case = Case(full_name(op), family(op, dtype), dtype, number, function, tensors, reference,
                signed_zeros=pointwise and not op.name.startswith("special."), arguments=describe(leaves))  # fmt: skip
    try:
        case.expected = run_eager(case)
    except Exception:
        return None
    if not case.expected or not all(is_measured(t) for t in case.expected):
        return None
    return case


def selected(x: torch.Tensor, places: torch.Tensor, dim: int) -> torch.Tensor:
    """What stands at places along an axis, which may have lost that axis."""
    if x.dim() == 0:
        return x[None][places]
    return torch.take_along_dim(x, places if places.dim() == x.dim() else places.unsqueeze(dim), dim)


def run_eager(case: Case) -> list[torch.Tensor]:
    with torch.no_grad():
        return [t.clone() for t in case.function(*(t.clone() for t in case.inputs))]


def describe(leaves: list) -> str:
    def word(x):
        if isinstance(x, torch.Tensor):
            return f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}"
        return str(x)

    return ", ".join(map(word, leaves))
