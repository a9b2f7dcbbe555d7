"""`tenon inspect`: what it says of a model, to people and to programs."""

import json
import shutil
import subprocess
import xml.etree.ElementTree

import pytest
import torch


@pytest.fixture(scope="module")
def inspect(tenon):
    def run(*arguments, code=0):
        done = subprocess.run([tenon, "inspect", *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == code, f"{arguments}\n{done.stdout}{done.stderr}"
        return done.stdout if code == 0 else done.stderr

    return run


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """saved(module, input): a traced .pt."""
    folder = tmp_path_factory.mktemp("models")

    def save(module, *inputs):
        path = folder / f"{len(list(folder.iterdir()))}.pt"
        torch.jit.trace(module.eval(), inputs).save(path)
        return path

    return save


def test_summary(inspect, exported):
    text = inspect(exported("resnet50") / "model.pt")
    lines = dict(line.split(maxsplit=1) for line in text.splitlines() if not line.startswith(" "))
    assert lines["input"] == "x: f32[1,3,224,224]"
    assert lines["output"].endswith("f32[1,1000]")
    assert "97." in lines["weights"] and "MiB" in lines["weights"]
    assert lines["arithmetic"].startswith("8.")
    assert "GFLOP" in lines["arithmetic"].replace(" ", "")
    assert "fixed" in lines["sizes"]
    assert "175 nodes imported" in lines["graph"] and "57 after fusion" in lines["graph"]


def test_symbols_and_sizes(inspect, exported):
    model, given = exported("resnet50") / "model.pt", "x=f32[N,3,224,224]"
    text = inspect(model, "--input", given)
    assert "N: any size from 1" in text and "at N=1" in text
    one = json.loads(inspect(model, "--input", given, "--json"))
    four = json.loads(inspect(model, "--input", given, "--shape", "N=4", "--json"))
    assert four["sizes"] == {"N": 4} and four["flops"] == pytest.approx(4 * one["flops"])
    assert four["plan"]["arena_bytes"] > 3 * one["plan"]["arena_bytes"]


def test_operators_by_cost(inspect, exported):
    text = inspect(exported("resnet50") / "model.pt", "--ops")
    fused, imported = text.split("imported: ")
    assert fused.index("fused conv+relu") < fused.index("max_pool")  # the dearest first
    assert "batch_norm" in imported and "batch_norm" not in fused


def test_modules_as_a_tree(inspect, exported):
    text = inspect(exported("resnet50") / "model.pt", "--modules", "--depth", 1)
    names = [line.split()[-1] for line in text.split("module\n")[-1].splitlines()]
    assert {"layer1", "layer2", "layer3", "layer4", "fc"} <= set(names)
    assert not any("." in name for name in names)
    assert "conv2" in inspect(exported("resnet50") / "model.pt", "--modules", "--depth", 3)


def test_json_schema(inspect, exported):
    data = json.loads(inspect(exported("minilm") / "model.pt", "--json"))
    assert data["schema"] == "tenon.model/1"
    assert [i["name"] for i in data["model"]["inputs"]] == ["input_ids", "attention_mask"]
    imported, fused = data["graphs"]["imported"], data["graphs"]["fused"]
    for graph in (imported, fused):
        known = {v["name"] for v in graph["inputs"]}
        for node in graph["nodes"]:  # in order of execution: every operand is there before it is read
            assert set(node["inputs"]) <= known, node["text"]
            known |= {v["name"] for v in node["outputs"]}
        assert set(graph["results"]) <= known
    assert all(n["fused"] is None or 0 <= n["fused"] < len(fused["nodes"]) for n in imported["nodes"])
    assert sum(o["count"] for o in data["operators"]) == len(fused["nodes"]) == data["nodes"]
    assert sum(o["flops"] for o in data["operators"]) == pytest.approx(data["flops"])
    assert sum(m["flops"] for m in data["modules"]) == pytest.approx(data["flops"])
    assert sum(s["flops"] for s in data["plan"]["steps"]) == pytest.approx(data["flops"], rel=0.02)


def test_the_candidates_of_each_step(inspect, exported, tmp_path):
    model = exported("resnet50") / "model.pt"
    text = inspect(model, "--explain-plan")
    plan = json.loads(inspect(model, "--json"))["plan"]
    made = [step for c in plan["choices"] for step in range(c["first_step"], c["first_step"] + c["steps"])]
    assert made == list(range(len(plan["steps"])))
    for choice in plan["choices"]:
        if choice["taken"] is None:  # a copy of the result
            continue
        taken = choice["candidates"][choice["taken"]]
        estimates = [c["estimated_ms"] or 0 for c in choice["candidates"]]
        assert (taken["estimated_ms"] or 0) == min(estimates)
        assert f"> {taken['kernel']}" in text and choice["group"] in text
    for other in ("--json", "--ops", "--modules", "--weights", f"--html={tmp_path}/x.html", f"--dot={tmp_path}/x.dot"):
        assert "--explain-plan" in inspect(model, "--explain-plan", other, code=2)
    assert not list(tmp_path.iterdir())


def test_the_candidates_of_stages(inspect, saved):
    class Positive(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x[x.sum(1) > 0])

    model = saved(Positive(), torch.ones(6, 4))
    plan = json.loads(inspect(model, "--input", "x=f32[6,4]", "--json"))["plan"]
    assert len(plan["choices"]) == len(plan["steps"])
    inner = [choice for step in plan["choices"] for stage in step["plans"] for choice in stage]
    assert any(c["candidates"][c["taken"]]["kernel"] == "loop" for c in inner)


def test_weight_statistics_are_numpy_s(inspect, saved):
    model = torch.nn.Sequential(torch.nn.Linear(300, 70), torch.nn.Linear(70, 5))
    with torch.no_grad():
        model[0].weight[3] = 0
        model[1].bias[:] = torch.tensor([1.0, float("nan"), 2.0, float("inf"), 3.0])
    path = saved(model, torch.zeros(1, 300))
    tensors = {t["name"]: t for t in json.loads(inspect(path, "--weights", "--json"))["tensors"]}
    weight = model[0].weight.detach().double().numpy()
    got = tensors["0.weight"]
    assert got["shape"] == [70, 300] and got["dtype"] == "f32" and got["bytes"] == 4 * 70 * 300
    assert (got["min"], got["max"]) == (weight.min(), weight.max())
    assert got["mean"] == pytest.approx(weight.mean(), rel=1e-9)
    assert got["std"] == pytest.approx(weight.std(), rel=1e-9)
    assert got["zeros"] == 300
    bias = tensors["1.bias"]
    assert (bias["nan"], bias["inf"], bias["mean"]) == (1, 1, 2)
    text = inspect(path, "--weights")
    assert "1 NaN, 1 infinite" in text.splitlines()[-1]


def test_dot_is_what_graphviz_reads(inspect, exported, tmp_path):
    assert shutil.which("dot"), "Graphviz is missing: Debian's package is graphviz"
    graphs = json.loads(inspect(exported("resnet50") / "model.pt", "--json"))["graphs"]
    imported, fused = graphs["imported"]["nodes"], graphs["fused"]["nodes"]
    owners = [node["fused"] for node in imported]
    groups = sum(owners.count(owner) > 1 for owner in set(owners) - {None})
    members = [len(node["members"]) for node in fused if node["op"] == "fused"]
    singles = len(fused) - len(members)
    for stage, nodes, clusters in (("imported", len(imported), groups), ("fused", sum(members) + singles, len(members))):
        target = tmp_path / f"{stage}.dot"
        inspect(exported("resnet50") / "model.pt", "--dot", target, "--ir", stage)
        svg = subprocess.run(["dot", "-Tsvg", target], capture_output=True, text=True, timeout=300)
        assert svg.returncode == 0 and svg.stderr == ""
        kinds = [g.get("class") for g in xml.etree.ElementTree.fromstring(svg.stdout).iter("{http://www.w3.org/2000/svg}g")]
        assert kinds.count("node") == nodes + 2  # and the input and the output
        assert kinds.count("cluster") == clusters


def test_an_artifact(inspect, tenon, exported_tiny, tmp_path):
    artifact = tmp_path / "m.tenon"
    subprocess.run([tenon, "convert", exported_tiny("resnet9") / "model.pt", "-o", artifact], check=True, capture_output=True)
    text = inspect(artifact)
    assert "(artifact)" in text and "verified" in text and "goldens" in text
    assert json.loads(inspect(artifact, "--json"))["graphs"]["imported"] is None
    inspect(artifact, "--dot", tmp_path / "m.dot")
    assert "cluster" in (tmp_path / "m.dot").read_text()


def test_wrong_use_is_one_clear_error(inspect, tenon, exported_tiny, tmp_path):
    model, artifact = exported_tiny("mlp") / "model.pt", tmp_path / "m.tenon"
    subprocess.run([tenon, "convert", model, "-o", artifact], check=True, capture_output=True)
    assert "nowhere" in inspect(model, "--html", tmp_path / "nowhere/x.html", code=2)
    assert "nowhere" in inspect(model, "--dot", tmp_path / "nowhere/x.dot", code=2)
    assert "--ir imported" in inspect(model, "--dot", tmp_path / "x.dot", "--ir", "planned", code=2)
    assert "source model" in inspect(artifact, "--ir", "imported", code=2)
    assert "source model" in inspect(artifact, "--ir", "imported", "--dot", tmp_path / "x.dot", code=2)
    shown = subprocess.run([tenon, "convert", artifact, "--explain-plan"], capture_output=True, text=True)
    assert shown.returncode == 2 and f"tenon inspect {artifact} --explain-plan" in shown.stderr
    assert inspect(artifact, "--explain-plan").startswith("plan ")
    inspect(model, "--ir", "everything", code=2)
    inspect(model, "--depth", "0", "--modules", code=2)
    assert not list(tmp_path.glob("x.*"))
