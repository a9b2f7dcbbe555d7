"""Random programs over views, in-place writes, strides and memory formats: the text of functions of one vector x.

Each line is run as it is written: what PyTorch refuses is left out, and so is what it leaves open, which is a write whose elements share
memory, or that reads what it writes in another order."""

import random
import warnings
from dataclasses import dataclass

import torch
import torch.nn.functional as F

NUMBERS = 120  # of the vector that each program reads
SHAPES = ((2, 3, 4), (4, 6), (12,), (1, 3, 4, 4), (2, 1, 3, 4), (2, 3, 1, 1), (1, 1, 1, 5), (2, 4, 3, 2), (5, 1, 2), (3, 3), (1,),
          (2, 2, 3, 2, 2), (1, 3, 2, 1, 2), (6, 1, 4))  # fmt: skip
FORMATS = ("torch.contiguous_format", "torch.channels_last", "torch.channels_last_3d", "torch.preserve_format")


@dataclass
class Program:
    name: str
    lines: list[str]
    results: list[str]

    def text(self) -> str:
        body = "".join(f"        {line}\n" for line in self.lines)
        return f"    def forward(self, x: Tensor) -> List[Tensor]:\n{body}        return [{', '.join(f'{r} * 1' for r in self.results)}]\n"


class Writer:
    """One program under way; `scope` holds its variables as PyTorch has them."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.scope = {"torch": torch, "F": F, "x": torch.randn(NUMBERS)}
        self.names: list[str] = []

    def write(self, steps: int) -> None:
        self.begin()
        for _ in range(20 * steps):
            if len(self.lines) >= steps:
                return
            kind = self.rng.choices((self.view, self.copy, self.fresh, self.put, self.reform, self.begin), (9, 3, 3, 7, 1, 0.5))[0]
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    kind()
            except (RuntimeError, IndexError, TypeError, ValueError):
                pass

    # ---- what the methods below are made of ----

    def choose(self, at_least: int = 0) -> tuple[str, torch.Tensor]:
        names = [n for n in self.names[-6:] if self.scope[n].dim() >= at_least]
        if not names:
            raise IndexError
        name = self.rng.choice(names)
        return name, self.scope[name]

    def axis(self, t: torch.Tensor, more: int = 0) -> int:
        return self.rng.randrange(-t.dim() - more, t.dim() + more)

    def number(self) -> str:
        return self.rng.choice(("2.0", "-0.5", "1.5", "3", "0.25"))

    def keep(self, value: str) -> None:
        """A new variable."""
        result = eval(value, self.scope)
        if not isinstance(result, torch.Tensor) or result.numel() > 400 or result.numel() == 0 and self.rng.random() < 0.9:
            return
        name = f"v{len(self.lines)}"
        self.scope[name] = result
        self.names.append(name)
        self.lines.append(f"{name} = {value}")

    def change(self, target: torch.Tensor, source: torch.Tensor | None, line: str, is_fill: bool = False) -> None:
        """A write; `source` is the tensor that it reads beside its target."""
        if "out=" in line and source.shape != target.shape:  # resizing is deprecated
            return
        mine = places(target)
        if not is_fill and len(set(mine.tolist())) < mine.numel():
            return
        if source is not None and shares(source, target):
            same = source.shape == target.shape and torch.equal(places(source), mine)
            if not same and set(places(source).tolist()) & set(mine.tolist()):
                return
        exec(line, self.scope)
        self.lines.append(line)

    # ---- lines ----

    def begin(self) -> None:
        shape = self.rng.choice(SHAPES)
        count = torch.Size(shape).numel()
        start = self.rng.randrange(NUMBERS - count + 1)
        self.keep(f"(x[{start}:{start + count}] * 1).view({', '.join(map(str, shape))})")

    def view(self) -> None:
        r = self.rng
        name, t = self.choose()
        a, b = (self.axis(t), self.axis(t)) if t.dim() else (0, 0)
        size = t.shape[a] if t.dim() else 1
        i = r.randrange(-size, size) if size else 0
        start, stop = sorted((r.randrange(size + 1), r.randrange(size + 1)))
        order = r.sample(range(t.dim()), t.dim())
        window = r.randint(1, max(size, 1))
        parts = r.randint(1, 3)
        self.keep(f"{name}" + r.choice((
            f".select({a}, {i})", f"[{i}]", f"[..., {start}:{stop}:{r.randint(1, 3)}]", f"[{start}:{stop}]", f"[:, {start}:]", "[None]",
            f"[:, None, ..., {i}]", f".narrow({a}, {start}, {stop - start})", f".transpose({a}, {b})", f".permute({order})", ".t()",
            ".T" if t.dim() == 2 else ".mT", f".unsqueeze({self.axis(t, 1)})", ".squeeze()", f".squeeze({a})", f".movedim({a}, {b})",
            f".swapaxes({a}, {b})", ".view(-1)", f".view({self.sizes(t)})", f".reshape({self.sizes(t)})", ".flatten()",
            f".flatten({min(a % max(t.dim(), 1), b % max(t.dim(), 1))}, -1)", ".ravel()", f".unfold({a}, {window}, {r.randint(1, 3)})",
            f".expand({self.expanded(t)})", f".diagonal({r.randint(-1, 1)}, {a}, {b})", ".diagonal()", f".chunk({parts}, {a})[-1]",
            f".split({max(1, size // parts)}, {a})[0]", f".unbind({a})[{i}]", ".detach()", f".as_strided({self.strided(t)})",
            f".tensor_split({parts}, {a})[0]", f".unflatten({a}, ({window}, -1))", ".view_as(" + name + ")", ".expand_as(" + name + ")",
            f".broadcast_to({self.expanded(t)})"
        )))  # fmt: skip

    def copy(self) -> None:
        """Perhaps a copy, perhaps the same memory."""
        r = self.rng
        name, _ = self.choose()
        form = r.choice(FORMATS)
        self.keep(name + r.choice((
            ".contiguous()", f".contiguous(memory_format={form})", f".to(memory_format={form})", ".clone()", f".clone(memory_format={form})",
            ".to(torch.float32)", ".to(torch.float64).to(torch.float32)", ".float()", ".type_as(x)", ".to(x)", ".cpu()"
        )))  # fmt: skip

    def fresh(self) -> None:
        r = self.rng
        name, t = self.choose()
        other, _ = self.choose()
        a = self.axis(t) if t.dim() else 0
        self.keep(r.choice((
            f"{name} + {self.number()}", f"{name} * {other}", f"torch.relu({name})", f"{name}.sum({a})", f"{name}.sum({a}, keepdim=True)",
            f"torch.cat([{name}, {name}], {a})", f"torch.stack([{name}, {name}], {a})", f"torch.where({name} > 0, {name}, {other})",
            f"torch.zeros_like({name})", f"torch.ones_like({name}, memory_format=torch.contiguous_format)", f"{name}.flip({a})",
            f"{name}.cumsum({a})", f"torch.maximum({name}, {other})", f"{name}.masked_fill({name} > 0, 2.0)", f"{name}.repeat(2)",
            f"F.pad({name}, [1, 0])", f"{name}.max({a})[0]", f"{name}.sort({a})[0]", f"torch.tril({name})", f"{name}.abs().sqrt()",
            f"{name}.index_select({a}, torch.tensor([0]))", f"{name}[torch.tensor([0, -1])]", f"{name}.softmax({a})", f"torch.dropout({name}, 0.5, False)",
            f"{name}.clamp({self.number()})", f"{name}.new_zeros(3, 2)", f"torch.full_like({name}, 2.0)", f"{name}.roll(1, {a})",
        )))  # fmt: skip

    def put(self) -> None:
        r = self.rng
        name, t = self.choose()
        other, s = self.choose()
        n = self.number()
        size = t.shape[0] if t.dim() else 1
        i = r.randrange(-size, size) if size else 0
        part = t[i] if t.dim() else t
        if r.random() < 0.25:
            return self.change(t, None, f"{name}{r.choice((f'.fill_({n})', '.zero_()', f'[...] = {n}'))}", is_fill=True)
        if r.random() < 0.3:
            where = r.choice((f"[{i}]", "[1:]", "[..., -1]", "[::2]", "[:, 0]"))
            target = eval(f"{name}{where}", self.scope)
            line = r.choice((f"{name}{where} = {n}", f"{name}{where} += {n}", f"{name}{where} = {other}", f"{name}{where} *= {other}"))
            return self.change(target, s if other in line.split("=")[1] else None, line, is_fill=line.endswith(f" = {n}"))
        if r.random() < 0.4:
            return self.change(t, s, r.choice((f"{name}.copy_({other})", f"{name}.add_({other})", f"{name}.mul_({other})", f"{name}.sub_({other})",
                                               f"torch.add({other}, {n}, out={name})")))  # fmt: skip
        if t.dim() and r.random() < 0.2:
            return self.change(part, None, f"{name}.index_fill_(0, torch.tensor([{i % max(size, 1)}]), {n})")
        self.change(t, None, name + r.choice((f".add_({n})", f".mul_({n})", ".neg_()", ".relu_()", f".clamp_(max={n})", ".tanh_()",
                                              f".masked_fill_({name} > 0, {n})", f".div_({n})", ".abs_()", ".sigmoid_()")))  # fmt: skip

    def reform(self) -> None:
        """An operator that changes its tensor's sizes and strides in place."""
        r = self.rng
        name, t = self.choose()
        a, b = (self.axis(t), self.axis(t)) if t.dim() else (0, 0)
        line = f"{name}." + r.choice((".squeeze_()", f".squeeze_({a})", f".unsqueeze_({self.axis(t, 1)})", ".t_()", f".transpose_({a}, {b})",
                                      f".swapaxes_({a}, {b})", f".as_strided_({self.strided(t)})"))[1:]  # fmt: skip
        exec(line, self.scope)
        self.lines.append(line)

    def sizes(self, t: torch.Tensor) -> str:
        """Other sizes with as many elements."""
        left, sizes = t.numel(), []
        while left > 1 and len(sizes) < 4:
            part = self.rng.choice([d for d in range(1, left + 1) if left % d == 0])
            sizes.append(part)
            left //= part
        return ", ".join(map(str, sizes + [left]))

    def expanded(self, t: torch.Tensor) -> str:
        sizes = [self.rng.randint(1, 3) if s == 1 else s for s in t.shape]
        return ", ".join(map(str, [self.rng.randint(1, 3)] * self.rng.randint(0, 1) + sizes)) or "2"

    def strided(self, t: torch.Tensor) -> str:
        sizes = [self.rng.randint(1, 4) for _ in range(self.rng.randint(1, 3))]
        strides = [self.rng.randint(0, 4) for _ in sizes]
        room = t.untyped_storage().nbytes() // t.element_size() - sum((n - 1) * s for n, s in zip(sizes, strides))
        offset = self.rng.choice(("", f", {self.rng.randrange(max(room, 1))}"))
        return f"{sizes}, {strides}{offset}"


def places(t: torch.Tensor) -> torch.Tensor:
    """Where the elements lie in the storage."""
    count = t.untyped_storage().nbytes() // t.element_size()
    return torch.arange(count).as_strided(t.shape, t.stride(), t.storage_offset()).reshape(-1)


def shares(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def program(seed: int, number: int) -> Program:
    rng = random.Random(f"{seed} {number}")
    torch.manual_seed(rng.randrange(2**31))
    writer = Writer(rng)
    writer.write(rng.randint(4, 14))
    return Program(f"case_{number}", writer.lines, writer.names[-6:])
