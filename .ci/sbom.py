"""Writes build/tenon.spdx.json, the SPDX 2.3 document of a build: the table of THIRD_PARTY.md with the versions found here."""

import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("tenon", "tenon-torch")
RELATION = {"static": "STATIC_LINK", "dynamic": "DYNAMIC_LINK", "headers": "CONTAINS"}


def output(*command: str) -> str:
    return subprocess.run(command, check=True, text=True, capture_output=True, cwd=ROOT).stdout.strip()


def third_party() -> list[dict[str, str]]:
    rows = [[cell.strip() for cell in line.strip("|\n ").split("|")]
            for line in (ROOT / "THIRD_PARTY.md").read_text().splitlines() if line.startswith("| ")]  # fmt: skip
    return [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]


def version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return output("dpkg-query", "-W", "-f", "${Version}", package)


def identifier(name: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


def created() -> str:
    """Of the commit, so that equal builds give equal documents."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct")
    return datetime.fromtimestamp(int(seconds), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def package(name: str, version: str, licence: str, home: str, **more) -> dict:
    return {"SPDXID": identifier(name), "name": name, "versionInfo": version, "downloadLocation": home, "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}  # fmt: skip


def document(build: Path) -> dict:
    version = re.search(r"project\(tenon VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    packages, relations = [], []
    for program in PROGRAMS:
        digest = hashlib.sha256((build / program).read_bytes()).hexdigest()
        packages.append(package(program, version, "Apache-2.0", "NOASSERTION", primaryPackagePurpose="APPLICATION",
                                checksums=[{"algorithm": "SHA256", "checksumValue": digest}]))  # fmt: skip
        relations.append({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                          "relatedSpdxElement": identifier(program)})  # fmt: skip
    for row in third_party():
        packages.append(package(row["name"], version_of(row["package"]), row["licence"], row["home"], sourceInfo=row["package"]))
        for program in row["in"].split(", "):
            relations.append({"spdxElementId": identifier(program), "relationshipType": RELATION[row["how"]],
                              "relatedSpdxElement": identifier(row["name"])})  # fmt: skip
    digests = "".join(p["checksums"][0]["checksumValue"] for p in packages if "checksums" in p)
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"tenon-{version}",
            "documentNamespace": f"urn:sha256:{hashlib.sha256(digests.encode()).hexdigest()}",
            "creationInfo": {"created": created(), "creators": ["Tool: tenon ./dev sbom"]},
            "packages": packages, "relationships": relations}  # fmt: skip


if __name__ == "__main__":
    target = Path(sys.argv[2])
    target.write_text(json.dumps(document(Path(sys.argv[1])), indent=2) + "\n")
    print(f"{target}: {len(third_party())} packages")
