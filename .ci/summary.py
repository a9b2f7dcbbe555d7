#!/usr/bin/env python3
"""Adds up JUnit reports: summary.py NAME=EXITCODE:FILE... Names the slowest suites, what tests counted and what failed; ends
with `N passed, N failed`.

A runner that failed without naming a test (it crashed, found none or could not start one) counts as one failure.
"""

import collections
import sys
import xml.etree.ElementTree as xml
from pathlib import Path


def cases(file: Path) -> list[xml.Element]:
    try:
        return list(xml.parse(file).getroot().iter("testcase"))
    except (OSError, xml.ParseError):
        return []


def outcome(case: xml.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    if skipped is None:
        return "skipped" if case.get("status") == "disabled" else "passed"
    # CTest also says "skipped" of a program that it could not start.
    return "failed" if skipped.get("message", "").startswith(("Unable to find", "Unable to start")) else "skipped"


def suite(case: xml.Element) -> str:
    """A class of GoogleTest ("ir.Parse"), a file of pytest ("tests.python.test_cli")."""
    name = case.get("classname", "")
    parts = name.split(".")
    return ".".join(parts[: 3 if parts[0] == "tests" else 2])


def slowest(files: list[Path], count: int = 10) -> list[tuple[str, float]]:
    """The suites that took a second or more, by the time of all their tests."""
    seconds: collections.Counter[str] = collections.Counter()
    for file in files:
        for case in cases(file):
            seconds[suite(case)] += float(case.get("time") or 0)
    return [(name, time) for name, time in seconds.most_common(count) if time >= 1]


def read(file: Path) -> list[tuple[str, str]]:
    """(test, outcome) of each test in a report; none where the runner left no report that can be read."""
    return [(f"{case.get('classname', '')} {case.get('name', '')}", outcome(case)) for case in cases(file)]


def counted(file: Path) -> list[str]:
    """What tests recorded as "count of ..." of their suite."""
    try:
        properties = [(p.get("name", ""), p.get("value", "")) for p in xml.parse(file).getroot().iter("property")]
    except (OSError, xml.ParseError):
        return []
    return [f"{name.removeprefix('count of ')}: {value}" for name, value in properties if name.startswith("count of ")]


def main() -> int:
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    files = [Path(argument.partition("=")[2].partition(":")[2]) for argument in sys.argv[1:]]
    for name, seconds in slowest(files):
        print(f"{seconds:7.1f} s  {name}")
    for argument in sys.argv[1:]:
        runner, _, rest = argument.partition("=")
        code, _, file = rest.partition(":")
        tests = read(Path(file))
        if not any(result == "passed" for _, result in tests):
            tests.append((f"{runner}: no test passed", "failed"))
        if code != "0" and not any(result == "failed" for _, result in tests):
            tests.append((f"{runner}: exit code {code}", "failed"))
        print("".join(f"{line}\n" for line in counted(Path(file))), end="")
        for test, result in tests:
            counts[result] += 1
            if result == "failed":
                print(f"failed: {test}")
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return int(counts["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
