"""Blocks of factorisations and systems of equations."""

import torch

from models.cost.draw import Of, block


def regular(r):
    n = r.between(2, 256)
    batch = max(1, min(r.choice([1, 1, 4, 16, 64, 256]), 2**22 // n**3))
    return torch.randn(batch, n, n) + 2 * n**0.5 * torch.eye(n)


@block("matrices")
def matrices(r):
    x = regular(r)
    right = torch.randn(x.shape[0], x.shape[1], r.choice([1, 3, 16, 64]))
    positive = lambda x: x @ x.mT + torch.eye(x.shape[1])  # noqa: E731
    one = [lambda x: torch.linalg.cholesky(positive(x)), torch.linalg.inv, torch.linalg.det, torch.linalg.slogdet, lambda x: torch.linalg.qr(x), lambda x: torch.linalg.lu_factor(x),
           lambda x: torch.linalg.eigvalsh(positive(x)), torch.linalg.svdvals]
    two = [torch.linalg.solve, lambda x, b: torch.linalg.solve_triangular(x, b, upper=True), lambda x, b: torch.cholesky_solve(b, torch.linalg.cholesky(positive(x)))]
    return (Of(r.choice(two)), (x, right)) if r.random() < 0.4 else (Of(r.choice(one)), (x,))
