"""Pages of `tenon inspect --html` and `tenon profile --html`, in a real Chromium without a network."""

import json
import re
import shutil
import subprocess
import time
import xml.etree.ElementTree

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@pytest.fixture(scope="module")
def browser():
    assert CHROMIUM and DRIVER, "chromium is missing: Debian's packages are chromium and chromium-driver"
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1500,1100"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


class Page:
    """A page that was opened without an error and without asking for anything but itself."""

    def __init__(self, browser, path):
        self.browser, self.path = browser, path
        for log in ("browser", "performance"):
            browser.get_log(log)
        begin = time.monotonic()
        browser.get(path.as_uri())
        self.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.seconds = time.monotonic() - begin
        self.data = json.loads(self.run("return document.getElementById('data').textContent"))
        self.check()

    def check(self):
        assert self.browser.get_log("browser") == []
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                assert url.startswith("data:") or url == self.path.as_uri(), f"the page asked for {url}"

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def search(self, text):
        box = self.one("#search")
        box.clear()
        box.send_keys(text)

    def node(self, pane, text):
        """The first node in a pane whose text holds `text`, as the page's own object."""
        return self.run(
            "return graphs[arguments[0]].nodes.find(n => n.text.includes(arguments[1])).index", pane, text
        )

    def click_node(self, pane, index):
        """A real click in the middle of a node, after bringing it into view."""
        self.run("panes.find(p => p.graph === graphs[arguments[0]]).reveal(graphs[arguments[0]].nodes[arguments[1]])", pane, index)
        self.one(f'.pane[data-graph="{pane}"] .node[data-index="{index}"] rect').click()


@pytest.fixture(scope="module")
def page_of(browser, tenon, exported, tmp_path_factory):
    """page_of(NAME, VERB): the page of a model, written once."""
    folder = tmp_path_factory.mktemp("pages")

    def write(name, verb="inspect"):
        target = folder / f"{name}-{verb}.html"
        if not target.exists():
            options = ["--iters", "3", "--warmup", "1"] if verb == "profile" else []
            command = [tenon, verb, exported(name) / "model.pt", "--html", target, *options]
            done = subprocess.run(command, capture_output=True, text=True, timeout=900)
            assert done.returncode == 0, done.stdout + done.stderr
        return Page(browser, target)

    return write


@pytest.mark.parametrize("verb", ["inspect", "profile"])
@pytest.mark.parametrize("name", ["resnet50", "unet", "minilm"])
def test_opens_with_both_graphs(page_of, name, verb):
    page = page_of(name, verb)
    graphs = page.data["model"]["graphs"]
    for key in ("imported", "fused"):
        nodes = page.count(f'.pane[data-graph="{key}"] .node:not(.io)')
        assert nodes == len(graphs[key]["nodes"])
        ends = len(graphs[key]["inputs"]) + len(graphs[key]["results"])
        assert page.count(f'.pane[data-graph="{key}"] .node.io') == ends
    assert page.seconds < 10  # it is drawn in about a tenth of that


def test_every_value_is_an_edge(page_of):
    page = page_of("resnet50")
    for key, graph in page.data["model"]["graphs"].items():
        known = {v["name"] for n in graph["nodes"] for v in n["outputs"]} | {v["name"] for v in graph["inputs"]}
        edges = sum(len(set(n["inputs"]) & known) for n in graph["nodes"]) + len(graph["results"])
        assert page.count(f'.pane[data-graph="{key}"] .edge') == edges


def test_no_box_lies_on_another(page_of):
    for name in ("resnet50", "unet", "minilm"):
        page = page_of(name)
        overlaps = page.run("""
            const hit = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
            return Object.values(graphs).flatMap(({nodes}) =>
                nodes.flatMap((a, i) => nodes.slice(i + 1).filter(b => hit(a, b)).map(b => [a.text, b.text])));""")
        assert overlaps == []


def test_regions_hold_what_fusion_replaced(page_of):
    page = page_of("resnet50")
    outside = page.run("""
        return graphs.imported.nodes.filter(n => n.group.members.length > 1 &&
            !(n.x >= n.group.x && n.y >= n.group.y && n.x + n.w <= n.group.x + n.group.w && n.y + n.h <= n.group.y + n.group.h))
            .map(n => n.text);""")
    assert outside == []
    graphs = page.data["model"]["graphs"]
    for node in graphs["imported"]["nodes"]:
        if node["op"] in ("conv", "batch_norm", "relu"):
            assert node["fused"] is not None
    first = graphs["fused"]["nodes"][0]
    replaced = [n["op"] for n in graphs["imported"]["nodes"] if n["fused"] == 0]
    assert first["op"] == "fused" and replaced == ["conv", "batch_norm", "relu"]


def test_search_finds_a_module(page_of):
    page = page_of("resnet50", "profile")
    page.search("layer3.0.conv2")
    found = page.texts('.pane[data-graph="imported"] .node.found .sub')
    assert found == ["layer3.0.conv2"]
    assert page.count('.pane[data-graph="fused"] .node.found') == 1
    assert page.count("#steps tbody tr") == 1
    page.search("no such thing")
    assert page.count(".node.found") == 0 and page.count("#steps tbody tr") == 0
    page.one("#search").send_keys(Keys.ESCAPE)
    assert page.count("#steps tbody tr") == len(page.data["profile"]["steps"])
    page.check()


def test_a_click_shows_the_partner(page_of):
    page = page_of("resnet50")
    page.click_node("imported", page.node("imported", "layer3.0.conv2"))
    assert page.count('.pane[data-graph="imported"] .node.on') == 1
    assert page.count('.pane[data-graph="imported"] .region.on') == 1
    assert "layer3.0" in page.one('.pane[data-graph="fused"] .node.partner .sub').text
    assert page.one("#details h3").text == "conv"
    assert "conv(" in page.one("#details pre").text

    page.click_node("fused", page.node("fused", "layer3.0.{conv2"))
    assert page.count('.pane[data-graph="fused"] .node.on') == 1
    ops = page.texts('.pane[data-graph="imported"] .node.partner .name')
    assert ops == ["conv", "batch_norm", "relu"]
    assert page.count("#steps tr.on") == 1
    assert "Replaced 3 imported nodes" in page.one("#details").text
    page.one("body").send_keys(Keys.ESCAPE)
    assert page.count(".node.on, .node.partner, .region.on, tr.on") == 0
    page.check()


def test_every_step_belongs_to_a_node(page_of):
    for name in ("resnet50", "unet", "minilm"):
        page = page_of(name, "profile")
        lost = page.run("return steps.filter(s => !s.node && s.op !== 'copy').map(s => s.name)")
        assert lost == []
        share = page.run("return graphs.fused.nodes.reduce((sum, n) => sum + n.share, 0)")
        assert share == pytest.approx(1, abs=0.01)


def test_a_row_selects_its_node(page_of):
    page = page_of("unet", "profile")
    row = page.one("#steps tbody tr:nth-child(2)")
    step = page.data["profile"]["steps"][int(row.get_attribute("data-step"))]
    row.click()
    assert page.count('.pane[data-graph="fused"] .node.on') == 1
    assert step["kernel"] in page.one("#details").text
    assert page.count("#roofline .point.on") == 1


def test_the_table_sorts(page_of):
    page = page_of("resnet50", "profile")
    times = [step["ms"] for step in page.data["profile"]["steps"]]
    order = lambda: [int(i) for i in page.run("return [...document.querySelectorAll('#steps tbody tr')].map(r => r.dataset.step)")]
    head = lambda name: next(b for b in page.all("#steps th button") if b.text.strip().startswith(name))
    shown = [times[i] for i in order()]
    assert shown == sorted(times, reverse=True)  # the hottest first, to begin with
    head("#").click()
    assert order() == list(range(len(times)))
    head("ms").click()
    assert [times[i] for i in order()] == sorted(times, reverse=True)
    head("ms").click()
    assert [times[i] for i in order()] == sorted(times)
    assert page.one('#steps th[aria-sort="ascending"]').text.strip().startswith("ms")
    head("kernel").click()
    kernels = [page.data["profile"]["steps"][i]["kernel"] for i in order()]
    assert kernels == sorted(kernels)


def test_the_theme_switches(page_of):
    page = page_of("unet")
    background = lambda: page.run("return getComputedStyle(document.body).backgroundColor")
    lightness = lambda: sum(int(v) for v in background().removeprefix("rgb(").rstrip(")").split(","))
    light = lightness()
    page.one("#theme").click()
    assert lightness() < light / 3
    page.one("#theme").click()
    assert lightness() == light
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    try:
        page = page_of("unet")
        assert lightness() < light / 3
    finally:
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read(page_of, theme):
    """The contrast of every text in sight is at least 4.5 (WCAG AA)."""
    page = page_of("resnet50", "profile")
    page.run("document.documentElement.dataset.theme = arguments[0]; panes.forEach(p => p.apply())", theme)
    low = page.run("""
        const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
        const rgb = color => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
          return [...canvas.getImageData(0, 0, 1, 1).data]; };
        const luminance = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
        const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
        const low = [];
        for (const e of document.querySelectorAll("h1, h2, p, span, b, button, td, th, dt, dd, small"))
          if (e.offsetParent && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) {
            const c = contrast(rgb(getComputedStyle(e).color), behind(e));
            if (c < 4.5) low.push([e.tagName, e.textContent.slice(0, 40), c]);
          }
        for (const e of document.querySelectorAll(".node text")) {
          const c = contrast(rgb(getComputedStyle(e).fill), rgb(getComputedStyle(e.parentElement.querySelector("rect")).fill));
          if (!e.parentElement.classList.contains("io") && c < 4.5) low.push(["node", e.textContent, c]);
        }
        return low.slice(0, 10);""")
    page.run("delete document.documentElement.dataset.theme")
    assert low == []


def test_keys_walk_through_the_graph(page_of):
    page = page_of("unet")
    svg = page.one('.pane[data-graph="fused"] svg')
    page.run("arguments[0].focus()", svg)
    for expected in (0, 1, 2):
        svg.send_keys(Keys.ARROW_DOWN)
        assert page.one('.pane[data-graph="fused"] .node.on').get_attribute("data-index") == str(expected)
    scale = lambda: page.run("return panes[1].k")
    before = scale()
    svg.send_keys("+")
    assert scale() > before
    svg.send_keys("0")
    assert page.run("return panes[1].drawing.h * panes[1].k <= panes[1].height")
    page.one("body").send_keys("/")
    assert page.run("return document.activeElement.id") == "search"


def test_views_switch(page_of):
    page = page_of("unet")
    visible = lambda: [p.get_attribute("data-graph") for p in page.all(".pane") if p.is_displayed()]
    assert visible() == ["imported", "fused"]
    for name, expected in (("Before", ["imported"]), ("After", ["fused"]), ("Both", ["imported", "fused"])):
        next(b for b in page.all("#views button") if b.text == name).click()
        assert visible() == expected


def test_memory_peak_is_the_profile_s(page_of):
    page = page_of("unet", "profile")
    live = max(step["live_bytes"] for step in page.data["model"]["plan"]["steps"])
    assert 0 < live <= page.data["profile"]["peak_arena_bytes"]
    assert page.one("#memory .peak") and "peak" in page.one("#memory").text


def test_an_artifact_shows_one_graph_and_says_why(browser, tenon, exported_tiny, tmp_path):
    artifact, target = tmp_path / "m.tenon", tmp_path / "m.html"
    subprocess.run([tenon, "convert", exported_tiny("resnet9") / "model.pt", "-o", artifact], check=True, capture_output=True)
    subprocess.run([tenon, "inspect", artifact, "--html", target], check=True, capture_output=True)
    page = Page(browser, target)
    assert page.count(".pane") == 1 and not page.one("#views").is_displayed()
    assert "artifact" in page.one("#notes").text
    assert page.run("return steps.filter(s => !s.node && s.op !== 'copy').length") == 0


def test_names_in_a_model_are_text_not_markup(browser, tenon, exported_tiny, tmp_path):
    folder = tmp_path / "<img src=x onerror=alert(1)></script><script>alert(2)"
    folder.mkdir(parents=True)
    shutil.copy(exported_tiny("mlp") / "model.pt", folder / "m.pt")
    target = tmp_path / "m.html"
    subprocess.run([tenon, "inspect", folder / "m.pt", "--html", target], check=True, capture_output=True)
    page = Page(browser, target)
    assert "alert(2)" in page.one("#model").text
    assert page.count("img") == 0


OPERATORS = ["layer_norm", "linear", "reshape", "permute", "matmul", "softmax", "matmul", "linear", "add", "gelu"]


def deep_graph(layers, named):
    """A chain of equal layers with shortcuts, as the page's JSON has it."""
    nodes = []
    for layer in range(layers):
        for k, op in enumerate(OPERATORS):
            name, before = f"%{len(nodes)}", nodes[-1]["outputs"][0]["name"] if nodes else "x"
            inputs = [before] + ([nodes[-8]["outputs"][0]["name"]] if op == "add" else [])
            module = f"encoder.layer.{layer}.{'attention' if k < 7 else 'mlp'}.{op}{k}" if named else ""
            nodes.append({"op": op, "text": f"{name} = {op}({', '.join(inputs)})", "module": module, "source": "", "weights": [],
                          "inputs": inputs, "flops": 1e6 * k, "fused": len(nodes),
                          "outputs": [{"name": name, "type": "f32[1,8]", "origin": len(nodes)}]})
    return {"inputs": [{"name": "x", "type": "f32[1,8]", "origin": -1}], "nodes": nodes, "results": [nodes[-1]["outputs"][0]["name"]]}


def deep_data(layers, named=True):
    graph = deep_graph(layers, named)
    steps = [{"index": i, "name": n["text"], "op": n["op"], "kernel": "loop", "module": n["module"], "flops": n["flops"],
              "bytes": 1000, "origins": [i], "live_bytes": 1000 + i % 7} for i, n in enumerate(graph["nodes"])]
    return {"profile": None, "model": {
        "tenon": "0", "flops": 1e9, "notes": [], "sizes": {}, "graphs": {"imported": graph, "fused": graph},
        "plan": {"steps": steps, "arena_bytes": 1000}, "modules": [{"module": n["module"], "flops": n["flops"]} for n in graph["nodes"]],
        "model": {"path": "a/deep.pt", "inputs": [{"name": "x", "type": "f32[1,8]"}], "outputs": [{"name": "out", "type": "f32[1,8]"}],
                  "parameters": 10, "weight_bytes": 40}}}


@pytest.fixture(scope="module")
def deep_page(browser, tenon, tmp_path_factory):
    """deep_page(LAYERS, NAMED): the page of this build with a graph that was made up."""
    import onnx
    from onnx import TensorProto, helper

    folder = tmp_path_factory.mktemp("deep")
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value("x")], [value("y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    subprocess.run([tenon, "inspect", folder / "m.onnx", "--html", folder / "m.html"], check=True, capture_output=True)
    before, data, after = re.split(r'(?<=id="data">)(.*?)(?=</script>)', (folder / "m.html").read_text(), maxsplit=1, flags=re.DOTALL)

    def write(layers, named=True):
        target = folder / f"{layers}-{named}.html"
        target.write_text(before + json.dumps(deep_data(layers, named)) + after)
        return Page(browser, target)

    return write


@pytest.mark.parametrize("named", [True, False], ids=["modules", "no modules"])
def test_twenty_thousand_nodes_stay_usable(deep_page, named):
    page = deep_page(2000, named)
    shown = lambda: page.run("return panes.map(p => p.shown.nodes.length)")
    assert max(shown()) < 700, "repeated layers are one box"
    assert page.count("#steps tbody tr") == 500
    page.search("op:softmax")
    assert page.one("#found").text == "2000 + 2000 nodes"
    assert page.count('.pane[data-graph="fused"] .node.found') >= 1
    page.run("select(graphs.fused.nodes[12345])")
    assert max(shown()) < 1500
    assert page.run("return panes[1].boxOf(graphs.fused.nodes[12345]) === graphs.fused.nodes[12345]"), "it is opened up to the node"
    assert page.count('.pane[data-graph="fused"] .node.on') == 1
    assert page.count("#details button.fold") >= 1
    page.one('#levels button[data-level="modules"]').click()
    assert max(shown()) < 300
    assert not page.one('#levels button[data-level="all"]').is_enabled()
    page.check()


def test_modules_and_layers_fold_and_open(deep_page):
    page = deep_page(6)
    everything = page.run("return graphs.fused.nodes.length")
    level = lambda name: page.one(f'#levels button[data-level="{name}"]').click()
    shown = lambda: page.run("return panes[1].shown.nodes.length")
    titles = lambda: page.texts('.pane[data-graph="fused"] .node.fold .name')
    assert shown() == everything  # a small graph is open
    level("layers")
    assert titles() == ["encoder.layer.0 … 5"] and shown() == 3
    assert "6 times 10 nodes" in page.texts('.pane[data-graph="fused"] .node.fold .sub')[0]
    page.run("select(panes[1].shown.nodes[1])")
    page.one("#details button.fold").click()
    assert titles() == [f"encoder.layer.{i}" for i in range(6)]
    page.run("panes[1].open(panes[1].shown.nodes[1])")
    assert titles()[:2] == ["encoder.layer.0.attention", "encoder.layer.0.mlp"]
    page.run("select(panes[1].shown.nodes[1].nodes[0])")  # which opens it
    assert page.one("#details h3").text == "layer_norm"
    next(b for b in page.all("#details button.fold") if b.text == "Fold encoder.layer.0").click()
    assert titles() == [f"encoder.layer.{i}" for i in range(6)]
    level("all")
    assert shown() == everything and titles() == []
    page.check()


def test_every_edge_of_a_folded_graph_leads_down(deep_page):
    page = deep_page(40)
    for name in ("modules", "layers", "all"):
        page.one(f'#levels button[data-level="{name}"]').click()
        assert page.run("return panes[1].shown.edges.filter(([a, b]) => panes[1].shown.nodes[a].y >= panes[1].shown.nodes[b].y)") == []
        assert page.run("return panes[1].shown.boxOf.every(box => panes[1].shown.nodes[box.at] === box)")


def test_search_by_operator_and_module(deep_page):
    page = deep_page(12)
    found = lambda text: (page.search(text), page.run("return panes[1].found.size"))[1]
    assert found("op:soft") == 12
    assert found("op:mat") == 24
    assert found("module:encoder.layer.1") == 10  # and not layers 10 and 11
    assert found("module:mlp") == 36
    assert found("op:linear module:encoder.layer.3") == 2
    assert found("layer.1") == 30  # anywhere
    assert found("op:nothing") == 0
    assert page.count("#steps tbody tr") == 0


def test_totals_by_operator(deep_page):
    page = deep_page(3)
    rows = {row[0]: row[1:] for row in page.run(
        "return [...document.querySelectorAll('#operators tbody tr')].map(r => [...r.cells].map(c => c.textContent))")}
    assert rows["linear"][0] == "6" and rows["matmul"][0] == "6" and rows["softmax"][0] == "3"
    assert rows["gelu"][1] == "27.0 M"
    assert sum(float(row[2].rstrip("%") or 0) for row in rows.values()) == pytest.approx(100, abs=1)
    page.one('#operators tr[data-op="softmax"] button').click()
    assert page.one("#search").get_attribute("value") == "op:softmax"


def test_a_drawing_is_saved_as_svg(deep_page):
    page = deep_page(4)
    text = page.run("return drawingText(panes[1])")
    root = xml.etree.ElementTree.fromstring(text)
    tag = lambda name: root.iter("{http://www.w3.org/2000/svg}" + name)
    assert len(list(tag("path"))) == page.run("return panes[1].shown.edges.length")
    assert len(list(tag("text"))) >= page.run("return panes[1].shown.nodes.length")
    for word in ("var(", "color-mix", "class=", "oklab", "light-dark"):
        assert word not in text
    assert all(e.get("fill", "").startswith(("rgb(", "none")) for e in [*tag("rect"), *tag("text")])
    assert "SVG" in page.texts(".zoom button")


def test_lists_of_any_length_have_a_largest(deep_page):
    """Spreading a list into Math.max ends near 100,000 elements."""
    page = deep_page(1)
    assert page.run("return largest(new Array(500000).fill(3))") == 3
    drawn = page.run("""
        const boxes = Array.from({length: 130000}, () => ({w: 10, h: 10}));
        return layOut(boxes, []).h;""")
    assert drawn == 10


def test_a_phone_shows_all_of_it_without_overlaps(deep_page, browser):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True})
    try:
        page = deep_page(3)
        page.search("op:softmax module:encoder.layer.1")
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        overlaps = page.run("""
            const leaves = [...document.querySelectorAll("h1, h2, p, b, button, input, th, #found, .legend, dt, dd")]
                .filter(e => e.offsetParent && (e.textContent.trim() || e.tagName === "INPUT") && !e.closest(".scroll, .pane"));
            const boxes = leaves.map(e => ({e, r: e.getBoundingClientRect()}));
            const hit = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
            return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => !a.e.contains(b.e) && !b.e.contains(a.e) && hit(a.r, b.r))
                .map(b => [a.e.outerHTML.slice(0, 60), b.e.outerHTML.slice(0, 60)]));""")
        assert overlaps == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
