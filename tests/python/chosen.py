"""Which tests run: a choice that fits into everyday work and CI, or with TENON_TESTS=all (./dev test --all) all."""

import os

ALL = os.environ.get("TENON_TESTS") == "all"


def chosen(items, n, turn=0):
    """Each nth, from that of the turn."""
    return list(items) if ALL else list(items)[turn % n :: n]
