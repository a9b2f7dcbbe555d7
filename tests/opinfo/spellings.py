"""In-place and out= spellings of PyTorch's operators: each as a case that calls it on a sample of the functional operator."""

import itertools
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from cases import Case, describe, is_measured, operators, run_eager
from torch.utils._pytree import tree_flatten, tree_map

DROPOUTS = ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")


def plain(schema) -> list[str]:
    """The types of the arguments that are read."""
    return [re.sub(r"\(.*?\)", "", str(a.real_type)) for a in schema.arguments if not a.is_out]


def spellings(functional) -> Iterator:
    """The overloads that compute the same into a given tensor."""
    name = functional._schema.name.removeprefix("aten::")
    for other in (name, name + "_"):
        packet = getattr(torch.ops.aten, other, None)
        for overload in packet.overloads() if packet else []:
            candidate = getattr(packet, overload)
            schema = candidate._schema
            writes = any(a.alias_info and a.alias_info.is_write for a in schema.arguments)
            if writes and plain(schema) == plain(functional._schema):
                yield candidate


def functionals(op) -> Iterator:
    for name in {op.name.split(".")[-1], op.aten_name}:
        packet = getattr(torch.ops.aten, name, None)
        for overload in packet.overloads() if packet else []:
            candidate = getattr(packet, overload)
            if not any(a.alias_info and a.alias_info.is_write for a in candidate._schema.arguments):
                yield candidate


def called(spelling, arguments: tuple, named: dict):
    """What the spelling leaves in the tensors that it writes; `named` lacks the out arguments."""
    outs = [a.name for a in spelling._schema.arguments if a.is_out]

    def function(*tensors):
        given = iter([t.clone() for t in tensors])
        own = tree_map(lambda v: next(given) if isinstance(v, torch.Tensor) else v, (list(arguments), dict(named)))
        results = spelling(*own[0], **own[1], **dict(zip(outs, given)))
        return [t for t in tree_flatten(results)[0] if isinstance(t, torch.Tensor)] or [tensors[0]]

    return function


@dataclass
class Spelled:
    case: Case
    functional: Case  # the same by the functional operator


def spelled(spelling, functional, arguments: tuple, named: dict) -> Spelled | None:
    tensors = [t for t in tree_flatten((list(arguments), dict(named)))[0] if isinstance(t, torch.Tensor)]
    name = str(spelling).removeprefix("aten.")
    plain_case = Case(name, "main", torch.float32, 0, called(functional, arguments, named), tensors, arguments=describe(tensors))
    plain_case.expected = run_eager(plain_case)
    outs = [torch.zeros_like(t) for t in plain_case.expected] if any(a.is_out for a in spelling._schema.arguments) else []
    case = Case(name, "main", torch.float32, 0, called(spelling, arguments, named), tensors + outs, arguments=describe(tensors))
    case.expected = run_eager(case)
    measured = case.expected and all(is_measured(t) for t in (*case.inputs, *case.expected))
    return Spelled(case, plain_case) if measured else None


def all_spelled() -> list[Spelled]:
    """One for each spelling that a sample of op_db reaches, and those of dropout, which is random there."""
    found: dict[str, Spelled] = {}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for op in operators():
            pairs = [(s, f) for f in functionals(op) for s in spellings(f) if str(s) not in found]
            if not pairs or torch.float32 not in op.supported_dtypes("cpu"):
                continue
            for sample in itertools.islice(op.sample_inputs("cpu", torch.float32, requires_grad=False), 4):
                for spelling, functional in pairs:
                    if str(spelling) in found:
                        continue
                    try:
                        one = spelled(spelling, functional, (sample.input, *sample.args), sample.kwargs)
                    except Exception:  # the sample is for another overload
                        continue
                    if one:
                        found[str(spelling)] = one
        for name in DROPOUTS:
            functional, spelling = getattr(torch.ops.aten, name).default, getattr(torch.ops.aten, name + "_").default
            found[str(spelling)] = spelled(spelling, functional, (torch.randn(2, 3, 4), 0.5, False), {})
    return list(found.values())
