// The page's data: graphs, steps and what belongs together, derived once from the embedded JSON.

const data = JSON.parse(document.getElementById("data").textContent);
const model = data.model, profile = data.profile;

/** The largest of f over a list of any length, and the least. */
const largest = (list, f = x => x) => list.reduce((most, x) => Math.max(most, f(x)), -Infinity);
const least = (list, f = x => x) => list.reduce((most, x) => Math.min(most, f(x)), Infinity);

const format = {
  ms: v => v >= 100 ? v.toFixed(1) : v >= 1 ? v.toFixed(2) : v >= 0.01 ? v.toFixed(3) : v.toFixed(4),
  percent: v => `${(100 * v).toFixed(v < 0.0995 ? 1 : 0)}%`,
  scaled(v, base, units) {
    let i = 0;
    while (v >= base && i + 1 < units.length) { v /= base; ++i; }
    return `${i === 0 || v >= 100 ? Math.round(v) : v.toFixed(v >= 10 ? 1 : 2)} ${units[i]}`.trim();
  },
  bytes: v => format.scaled(v, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]),
  count: v => format.scaled(v, 1000, ["", "K", "M", "G", "T"]),
  flops: v => format.scaled(v, 1000, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"]),
  rate: v => v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2),
};

const timed = Boolean(profile);
/** The plan's steps, with their times if there is a profile of the same plan. */
const steps = (model.plan?.steps ?? []).map((step, i) => {
  if (!timed) return step;
  const all = {...step, ...profile.steps[i]};
  all.gflops ??= all.flops / all.ms / 1e6;
  all.gbs ??= all.bytes / all.ms / 1e6;
  return all;
});
/** What the machine does at most of a step's arithmetic, in GFLOP/s; undefined where it was not measured. */
const peakOf = step => profile?.machine?.peak_gflops_of?.[step.arithmetic] ?? profile?.machine?.peak_gflops ?? undefined;
const heatName = timed ? "time" : "FLOPs";

/** A graph of the JSON with what the page adds: who computes a value, the share of a node, its text to search. */
function prepare(graph) {
  if (!graph) return null;
  const producer = new Map();
  const nodes = [
    ...graph.inputs.map(v => ({io: "input", op: v.name, outputs: [v], inputs: [], text: `${v.name}: ${v.type}`})),
    ...graph.nodes.map(n => ({...n})),
    ...graph.results.map((name, i) => ({io: "output", op: model.model.outputs[i].name, outputs: [], inputs: [name],
      text: `output ${model.model.outputs[i].name}: ${model.model.outputs[i].type}`})),
  ];
  nodes.forEach((node, i) => {
    node.index = i;
    node.title = node.members ? node.members.map(m => m.op).join(" + ") : node.op;
    node.share = 0;
    node.steps = [];
    for (const v of node.outputs) producer.set(v.name, i);
  });
  const edges = [], seen = new Set();
  for (const node of nodes)
    for (const name of node.inputs) {
      const from = producer.get(name), key = `${from} ${node.index}`;
      if (from === undefined || seen.has(key)) continue;
      seen.add(key);
      edges.push([from, node.index]);
    }
  return {nodes, edges, first: graph.inputs.length, count: graph.nodes.length};
}

const graphs = {imported: prepare(model.graphs.imported), fused: prepare(model.graphs.fused)};

/** A fused node has the steps whose results it, or one of its members, computes. */
function linkSteps() {
  const owner = new Map();
  for (const node of graphs.fused.nodes) {
    if (node.io) continue;
    for (const v of [...node.outputs, ...(node.members ?? []).flatMap(m => m.outputs)])
      if (v.origin >= 0) owner.set(v.origin, node);
  }
  // Of values that no imported one equals: the node of the same module with all these operators.
  const similar = step => graphs.fused.nodes.find(node => !node.io && node.module === step.module &&
    step.op.split("+").every(op => node.title.split(" + ").includes(op)));
  const weight = step => timed ? step.ms : step.flops;
  const total = steps.reduce((sum, s) => sum + weight(s), 0) || 1;
  steps.forEach((step, i) => {
    step.index = i;
    step.weight = weight(step) / total;
    step.node = owner.get(step.origins.find(o => owner.has(o))) ?? similar(step);
    if (!step.node) return;
    step.node.steps.push(step);
    step.node.share += step.weight;
  });
}

/** Which imported nodes a fused node replaced; nodes of both graphs that are inputs or outputs are partners too. */
function linkGraphs() {
  const {imported, fused} = graphs;
  for (const node of fused.nodes) node.partners = [];
  if (!imported) return;
  for (const node of imported.nodes) {
    const partner = node.io
      ? fused.nodes.find(f => f.io === node.io && f.op === node.op)
      : node.fused !== null && node.fused !== undefined ? fused.nodes[fused.first + node.fused] : undefined;
    node.partners = partner ? [partner] : [];
    if (partner) partner.partners.push(node);
  }
  // The share of an imported node is its part of the fused one's, by its arithmetic.
  for (const node of fused.nodes) {
    const flops = node.partners.reduce((sum, p) => sum + (p.flops ?? 0), 0);
    for (const p of node.partners)
      p.share = node.share * (flops ? (p.flops ?? 0) / flops : 1 / node.partners.length);
  }
}

linkSteps();
linkGraphs();

const hottest = Math.max(1e-9, largest(graphs.fused.nodes, n => n.share));
/** 0 to 1 for colours: a share against the largest, bent so that small ones are still seen. */
const heat = share => Math.sqrt(Math.min(1, share / hottest));

/** The text a search looks into. */
function haystack(node) {
  node.hay ??= [node.title, node.op, node.module, node.source, node.text, ...node.outputs.map(v => v.name),
    ...node.steps.map(s => s.kernel)].join(" ").toLowerCase();
  return node.hay;
}
/** The operators of a node or step, and its modules with the parts of "layer1.{conv1,bn1}" written out. */
const operatorsOf = item => (item.title ?? item.op).toLowerCase().split(/[+ ]+/);
function modulesOf(item) {
  const [, head, parts, tail] = /^([^{]*){([^}]*)}(.*)$/.exec(item.module ?? "") ?? [];
  return (parts === undefined ? [item.module ?? ""] : parts.split(",").map(p => head + p + tail)).map(m => m.toLowerCase());
}
/** "op:conv" is an operator whose name begins so, "module:layer1" a module and those in it; other words are looked for anywhere. */
function matches(item, hay, words) {
  return words.every(word => {
    const [, key, value] = /^(op|module):(.*)$/.exec(word) ?? [];
    if (key === "op") return operatorsOf(item).some(op => op.startsWith(value));
    if (key === "module") return modulesOf(item).some(m => `${m}.`.startsWith(`${value}.`) || (value && `.${m}.`.includes(`.${value}.`)));
    return hay.includes(word);
  });
}

/** An element: el("div.card", {title: "…"}, child, …); names with a colon-free "svg:" prefix are SVG. */
function el(spec, attributes = {}, ...children) {
  const svg = spec.startsWith("svg:");
  const [tag, ...classes] = (svg ? spec.slice(4) : spec).split(".");
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.filter(c => c !== null && c !== undefined));
  return node;
}

const tip = document.getElementById("tip");
function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, innerWidth - width - 8);
  const y = event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18;
  tip.style.left = `${Math.max(8, x)}px`;
  tip.style.top = `${Math.max(8, y)}px`;
}
const hideTip = () => { tip.hidden = true; };
