"""Writes small TorchScript programs with their results: make_programs.py FOLDER.

FOLDER/NAME/model.pt, inputs.txt (specs as for --input) and for every set K of sample inputs K/in_I.npy and
K/out_I.npy, what torch.jit.load(model.pt) returns for them. FOLDER/refused/NAME.pt are programs that cannot be
converted.
"""

import shutil
import sys
import warnings
from pathlib import Path
from typing import List

import numpy as np
import programs_of_code  # noqa: F401
import programs_of_operators  # noqa: F401
import torch
from program_cases import CASES, REFUSED
from torch import Tensor, nn


class Wrapper(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


class ScriptedWrapper(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def program(thing, script: bool, samples):
    if script and not isinstance(thing, type):
        return torch.jit.script(ScriptedWrapper(torch.jit.script(thing))).eval()
    module = (thing() if isinstance(thing, type) else Wrapper(thing)).eval()
    if script:
        return torch.jit.script(module)
    return torch.jit.trace(module, tuple(x.clone() for x in samples[0]), check_trace=False)


def flat(value) -> List[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [t for part in value for t in flat(part)]


def write(name: str, folder: Path) -> None:
    thing, samples, specs, script = CASES[name]
    folder.mkdir(parents=True)
    file = folder / "model.pt"
    program(thing, script, samples).save(str(file))
    described = specs
    if not described and script:
        names = [a.name for a in torch.jit.load(str(file)).forward.schema.arguments[1:]]
        described = " ".join(f"{n}=f32{list(x.shape)}".replace(", ", ",") for n, x in zip(names, samples[0]))
    (folder / "inputs.txt").write_text(described + "\n")
    for index, sample in enumerate(samples):
        part = folder / str(index)
        part.mkdir()
        for i, x in enumerate(sample):
            np.save(part / f"in_{i}.npy", x.numpy())
        outputs = flat(torch.jit.load(str(file))(*[x.clone() for x in sample]))
        for i, y in enumerate(outputs):
            np.save(part / f"out_{i}.npy", y.numpy())


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    for name in CASES:
        write(name, folder / name)
    (folder / "refused").mkdir()
    for name, (thing, sample, script) in REFUSED.items():
        program(thing, script, [sample]).save(str(folder / "refused" / f"{name}.pt"))


if __name__ == "__main__":
    main()
