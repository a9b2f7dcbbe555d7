// The page: what is selected and searched, and who is told.

const byId = id => document.getElementById(id);

function drawHeader() {
  const name = model.model.path.split("/").filter(Boolean).slice(-2).join("/");
  document.title = `${name} - tenon`;
  byId("model").textContent = name;
  const machine = profile?.machine;
  const sizes = sizesText(profile?.sizes ?? model.sizes);
  byId("about").textContent = [
    machine?.cpu, machine?.isa, profile && `${profile.threads} thread${profile.threads === 1 ? "" : "s"}`, sizes,
    model.model.inputs.map(i => `${i.name}: ${i.type}`).join(", "), `tenon ${model.tenon}`].filter(Boolean).join("  ·  ");
  const figure = (value, unit, text, title) => byId("figures").append(el("div.figure", {title: title ?? null},
    el("b", {}, value, unit ? el("small", {}, ` ${unit}`) : ""), el("span", {}, text)));
  const split = text => [text.split(" ")[0], text.split(" ")[1] ?? ""];
  if (profile) {
    const t = profile.latency_ms;
    figure(format.ms(t.median), "ms", t.ci95 ? `median latency (95%: ${format.ms(t.ci95[0])} to ${format.ms(t.ci95[1])})` : "median latency");
    figure(format.ms(t.p99), "ms", `p99 of ${profile.iterations} runs; best ${format.ms(t.min)}`);
    const perSecond = profile.throughput_per_s ?? 1000 / t.median;
    figure(perSecond >= 100 ? perSecond.toFixed(0) : perSecond.toFixed(1), "/s", "throughput");
    const flops = steps.reduce((sum, s) => sum + s.flops, 0), rate = flops / t.median / 1e6;
    const atPeak = steps.reduce((sum, s) => sum + s.flops / peakOf(s) / 1e6, 0);
    figure(format.rate(rate), "GFLOP/s", `${format.flops(flops)} a run` + (atPeak ? `, ${format.percent(atPeak / t.median)} of the peak` : ""));
    figure(...split(format.bytes(profile.peak_arena_bytes)), "arena for intermediate values");
    figure(...split(format.bytes(model.model.weight_bytes)), `weights${profile.packed_bytes ? `, ${format.bytes(profile.packed_bytes)} packed` : ""}`);
  } else {
    figure(...split(format.count(model.model.parameters)), "numbers in its weights");
    figure(...split(format.bytes(model.model.weight_bytes)), "weights");
    figure(...split(format.flops(model.flops)), "a run");
    if (model.plan) figure(...split(format.bytes(model.plan.arena_bytes)), "arena for intermediate values");
    if (model.plan) figure(String(steps.length), "steps", graphs.imported ? `from ${graphs.imported.count} imported nodes` : "in the plan");
  }
  for (const text of [...model.notes, ...(model.no_plan ? [`There is no plan: ${model.no_plan}.`] : []), ...(graphs.imported ? [] : ["An artifact holds the fused graph only: the graph before fusion is in the source model."])])
    byId("notes").append(el("p.note", {}, text));
}

function drawTheme() {
  const root = document.documentElement, button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  const update = () => {
    button.textContent = dark() ? "Light" : "Dark";
    paints.clear();
    for (const pane of panes) pane.refresh();
  };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; update(); });
  system.addEventListener("change", update);
  update();
}

const panes = [];
let table;

/** Selects a node of either graph (null: none) and shows it everywhere. */
function select(node) {
  const partners = !node ? [] : node.fold ? [...new Set(node.nodes.flatMap(n => n.partners))] : node.partners;
  for (const pane of panes) pane.mark(node, partners);
  const fused = node && !node.fold && (graphs.fused.nodes[node.index] === node ? node : partners[0]);
  const chosen = new Set(fused?.steps ?? []);
  for (const s of steps) turn(s, chosen.has(s));
  const first = [...chosen][0];
  first?.showMemory?.();
  showDetails(node, fused);
}
function turn(step, on) {
  step.on = on;
  step.row?.classList.toggle("on", on);
  step.point?.classList.toggle("on", on);
}
function selectStep(step) {
  if (step.node) return select(step.node);
  select(null);
  turn(step, true);
  step.showMemory?.();
  byId("details").replaceChildren(el("h3", {}, step.op), el("p.muted", {}, step.module || "no node of the graph"), stepFacts(step), el("pre", {}, step.name));
}

const link = (node, note) => el("button.link", {type: "button", onclick: () => select(node)}, node.title,
  el("span", {}, `  ${note ?? (node.module || node.outputs[0]?.type || "")}`));

function facts(rows) {
  return el("dl", {}, ...rows.filter(([, v]) => v !== undefined && v !== null && v !== "").flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
}
function stepFacts(s) {
  return facts([["kernel", s.kernel], timed && ["time", `${format.ms(s.ms)} ms`], [`share of ${heatName}`, format.percent(s.weight)],
    ["FLOPs", s.flops ? format.flops(s.flops) : ""], ["bytes", format.bytes(s.bytes)], ["achieved", s.gflops ? `${format.rate(s.gflops)} GFLOP/s` : ""],
    ["", s.gbs ? `${format.rate(s.gbs)} GB/s` : ""], ["of the roofline", s.roofline ? `${format.percent(s.roofline)} (${s.bound})` : ""],
    ["live memory", s.live_bytes ? format.bytes(s.live_bytes) : ""]].filter(Boolean));
}

function showDetails(node, fused) {
  const host = byId("details");
  if (!node) return showOverview();
  if (node.fold) return showFold(node);
  const graph = fused === node || !graphs.imported ? graphs.fused : graphs.imported;
  const parts = [el("h3", {}, node.title), el("p.muted", {}, [node.module, node.source].filter(Boolean).join("  ·  "))];
  if (node.share) parts.push(el("div.bar", {}, el("i", {style: `width:${100 * node.share / hottest}%`})));
  parts.push(facts([...node.outputs.map(v => [v.name, v.type]), node.steps.length ? null : ["FLOPs", node.flops ? format.flops(node.flops) : ""],
    !node.steps.length && node.share ? [`share of ${heatName}`, `about ${format.percent(node.share)}`] : null].filter(Boolean)));
  for (const s of node.steps) {
    if (node.steps.length > 1) parts.push(el("h4", {}, `Step ${s.index}: ${s.op}`));
    parts.push(stepFacts(s));
  }
  if (graph === graphs.fused && !node.io && steps.length && !node.steps.length)
    parts.push(el("p.muted", {}, "No step: it is read where it lies, or was computed while planning."));
  parts.push(el("pre", {}, node.text));
  const list = (title, nodes) => { if (nodes.length) parts.push(el("h4", {}, title), linkList(nodes)); };
  const around = [];
  for (let fold = node.within; fold; fold = fold.within) around.push(fold);
  if (around.length)
    parts.push(el("h4", {}, "Within"), ...around.map(fold => foldButton(fold, "close", `Fold ${fold.title}`)));
  if (!node.io) {
    if (graph === graphs.imported) list("Became", node.partners);
    else if (graphs.imported) list(`Replaced ${node.partners.length} imported node${node.partners.length === 1 ? "" : "s"}`, node.partners);
  }
  list("Reads", graph.edges.filter(([, b]) => b === node.index).map(([a]) => graph.nodes[a]));
  if (node.weights?.length) parts.push(el("h4", {}, "Weights"), el("ol", {}, ...node.weights.map(w => el("li.muted", {}, w))));
  list("Read by", graph.edges.filter(([a]) => a === node.index).map(([, b]) => graph.nodes[b]));
  host.replaceChildren(...parts);
  host.scrollTop = 0;
}

const linkList = nodes => el("ol", {}, ...nodes.slice(0, 100).map(n => el("li", {}, link(n, n.fold ? n.sub : undefined))),
  nodes.length > 100 ? el("li.muted", {}, `and ${nodes.length - 100} more`) : null);
/** Opens or closes a fold in its own pane. */
function foldButton(fold, action, text) {
  const pane = panes.find(p => p.graph.nodes[fold.nodes[0].index] === fold.nodes[0]);
  return el("button.fold", {type: "button", onclick: () => { pane[action](fold); select(action === "close" ? fold : null); }}, text);
}
function showFold(fold) {
  const steps = [...new Set(fold.nodes.flatMap(n => n.steps))], flops = fold.nodes.reduce((sum, n) => sum + (n.flops ?? 0), 0);
  byId("details").replaceChildren(el("h3", {}, fold.title), el("p.muted", {}, fold.sub), foldButton(fold, "open", "Open"),
    facts([["nodes", String(fold.nodes.length)], ["FLOPs", flops ? format.flops(flops) : ""], ["steps", steps.length ? String(steps.length) : ""],
      [`share of ${heatName}`, fold.share ? format.percent(fold.share) : ""]]),
    el("h4", {}, "Holds"), linkList(fold.children));
}

function showOverview() {
  const hot = [...steps].sort((a, b) => b.weight - a.weight).slice(0, 10);
  byId("details").replaceChildren(el("h3", {}, timed ? "Where the time goes" : "Where the arithmetic is"),
    el("p.muted", {}, "Choose a node to see what it is, what it replaced and what it costs."),
    el("ol", {style: "margin-top:10px"}, ...hot.map(s => el("li", {}, el("button.link", {type: "button", onclick: () => selectStep(s)},
      `${format.percent(s.weight)}  ${s.op}`, el("span", {}, `  ${s.module || s.kernel}`))))));
}

function drawGraphs() {
  const host = byId("panes");
  if (graphs.imported) panes.push(new Pane(host, graphs.imported, {key: "imported", name: "Imported", shares: false}, select));
  panes.push(new Pane(host, graphs.fused, {key: "fused", name: graphs.imported ? "Fused" : "The graph that runs", shares: true}, select));
  const views = byId("views");
  if (panes.length < 2) views.hidden = true;
  const choices = [["Both", [true, true]], ["Before", [true, false]], ["After", [false, true]]];
  const choose = i => {
    choices[i][1].forEach((shown, n) => { if (panes[n]) panes[n].host.hidden = !shown; });
    [...views.children].forEach((b, n) => b.setAttribute("aria-pressed", String(n === i)));
  };
  choices.forEach(([name], i) => views.append(el("button", {type: "button", "aria-pressed": "false", onclick: () => choose(i)}, name)));
  if (panes.length > 1) choose(innerWidth < 1000 ? 2 : 0);
  const levels = byId("levels"), names = [["Modules", "modules"], ["Layers", "layers"], ["All", "all"]];
  const canFold = panes.some(p => p.folding.root.some(item => item.fold));
  levels.hidden = !canFold;
  for (const [text, name] of names)
    levels.append(el("button", {type: "button", "data-level": name, disabled: name === "all" && !panes.every(p => p.folding.canOpenAll),
      onclick: () => { panes.forEach(p => p.level(name)); press(name); }}, text));
  const press = name => { for (const b of levels.children) b.setAttribute("aria-pressed", String(b.dataset.level === name)); };
  press(panes.every(p => p.folding.opensAll) ? "all" : "layers");
  byId("heat").append("less", el("i"), `more of the ${heatName}`);
}

function drawSearch() {
  const input = byId("search");
  let hits = [], at = -1;
  const run = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const counts = panes.map(p => p.search(words));
    hits = counts.at(-1).length ? counts.at(-1) : counts[0];
    at = -1;
    table.filter(words);
    byId("found").textContent = words.length ? counts.map(c => c.length).join(" + ") + (counts.reduce((sum, c) => sum + c.length, 0) === 1 ? " node" : " nodes") : "";
  };
  input.addEventListener("input", run);
  input.addEventListener("keydown", e => {
    if (e.key === "Enter" && hits.length) select(hits[at = (at + (e.shiftKey ? hits.length - 1 : 1)) % hits.length]);
    if (e.key === "Escape") { input.value = ""; run(); input.blur(); }
  });
  addEventListener("keydown", e => {
    if (e.target instanceof HTMLInputElement || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "/") { e.preventDefault(); input.focus(); input.select(); }
    if (e.key === "t") byId("theme").click();
    if (e.key === "Escape") select(null);
  });
  return text => { input.value = text; run(); if (hits.length) select(hits[0]); byId("workspace").scrollIntoView({block: "nearest"}); };
}

drawHeader();
drawPipeline(byId("pipeline"));
drawGraphs();
drawRoofline(byId("roofline"), selectStep);
drawMemory(byId("memory"), selectStep);
table = new StepTable(byId("steps"), selectStep);
const search = drawSearch();
drawModules(byId("modules"), search);
drawOperators(byId("operators"), search);
drawSweep(byId("sweep"));
drawTheme();
showOverview();
