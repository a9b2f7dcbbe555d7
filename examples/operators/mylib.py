"""The same operators for PyTorch, and a model that uses them: python mylib.py writes net.pt and net.pt2."""

import torch

library = torch.library.Library("mylib", "DEF")
library.define("gated_swish(Tensor x, Tensor weight, float beta=1.0) -> Tensor")
library.define("windows(Tensor x, int size) -> (Tensor, Tensor)")


@torch.library.impl(library, "gated_swish", "CPU")
def gated_swish(x, weight, beta=1.0):
    return x * torch.sigmoid(beta * x) * weight


@torch.library.register_fake("mylib::gated_swish")
def gated_swish_type(x, weight, beta=1.0):
    return torch.empty_like(x)


@torch.library.impl(library, "windows", "CPU")
def windows(x, size):
    return x.unfold(0, size, 1).clone(), torch.arange(x.shape[0] - size + 1)


@torch.library.register_fake("mylib::windows")
def windows_type(x, size):
    count = x.shape[0] - size + 1
    return x.new_empty(count, size), x.new_empty(count, dtype=torch.int64)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 6)
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, 6))

    def forward(self, x):
        hidden = torch.ops.mylib.gated_swish(self.linear(x), self.weight, 2.0)
        rows, starts = torch.ops.mylib.windows(hidden.mean(-1), 3)
        return torch.relu(hidden), rows, starts


if __name__ == "__main__":
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(5, 8)
    with torch.no_grad():
        traced = torch.jit.trace(net, x)
    traced.save("net.pt")
    batch = torch.export.Dim("batch", min=4, max=64)
    torch.export.save(torch.export.export(net, (x,), dynamic_shapes=({0: batch},)), "net.pt2")
