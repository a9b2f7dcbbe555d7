"""What the benchmarks share: a burst of calls, the times of several bursts, and the machine they ran on."""

import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median


@dataclass
class Times:
    """Milliseconds, a number a burst."""

    minima: list[float] = field(default_factory=list)
    medians: list[float] = field(default_factory=list)

    def add(self, least: float, middle: float) -> None:
        self.minima.append(least)
        self.medians.append(middle)


def burst(call: Callable[[], object], seconds: float) -> tuple[float, float]:
    """The least and the median milliseconds of the calls after the first."""
    call()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return min(times), median(times)


def crowd(calls: list[Callable[[], object]], seconds: float) -> tuple[float, float]:
    """Milliseconds from the end of one call to that of the next, whoever's, of callers in threads of their own, which call for so long:
    the least of eight spans of time, and the median of them."""
    spans = []
    for _ in range(8):
        ready, counts, ends = threading.Barrier(len(calls) + 1), [0] * len(calls), [0.0] * len(calls)

        def run(index: int) -> None:
            ready.wait()
            while counts[index] == 0 or ends[index] < begin + seconds / 8:
                calls[index]()
                counts[index] += 1
                ends[index] = time.perf_counter()

        threads = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
        for thread in threads:
            thread.start()
        begin = time.perf_counter()
        ready.wait()
        for thread in threads:
            thread.join()
        spans.append(1e3 / sum(count / (end - begin) for count, end in zip(counts, ends)))
    return min(spans), median(spans)


def machine(*packages: str) -> dict[str, str]:
    """The CPU, the date, and the versions of these packages."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if "model name" in line] if info.exists() else []
    cpu = names[0].split(":", 1)[1].strip() if names else platform.processor()
    return {"cpu": cpu, "date": time.strftime("%Y-%m-%d")} | {name: version(name) for name in packages}
