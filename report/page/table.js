// Tables: the steps (sorted by a click on a head, filtered by the search), modules as a tree, sizes of a sweep.

const columns = [
  {name: "#", number: true, value: s => s.index},
  ...(timed ? [{name: "ms", number: true, value: s => s.ms, text: s => format.ms(s.ms)}] : []),
  {name: timed ? "share" : "FLOP share", number: true, value: s => s.weight, text: s => format.percent(s.weight), share: true},
  {name: "operators", value: s => s.op},
  {name: "kernel", value: s => s.kernel},
  {name: "module", value: s => s.module ?? ""},
  {name: "FLOPs", number: true, value: s => s.flops, text: s => s.flops ? format.count(s.flops) : ""},
  {name: "bytes", number: true, value: s => s.bytes, text: s => s.bytes ? format.bytes(s.bytes) : ""},
  ...(timed ? [
    {name: "GFLOP/s", number: true, value: s => s.gflops ?? 0, text: s => s.gflops ? format.rate(s.gflops) : ""},
    {name: "GB/s", number: true, value: s => s.gbs ?? 0, text: s => s.gbs ? format.rate(s.gbs) : ""},
    ...(steps.some(s => s.roofline) ? [
      {name: "roofline", number: true, value: s => s.roofline ?? 0, text: s => s.roofline ? format.percent(s.roofline) : ""},
      {name: "bound", value: s => s.bound ?? ""}] : []),
  ] : []),
];

class StepTable {
  constructor(host, select) {
    this.column = columns.findIndex(c => c.share);
    this.down = true;
    this.words = [];
    this.count = el("span.muted");
    this.body = el("tbody");
    this.heads = columns.map((c, i) => el(c.number ? "th.number" : "th", {scope: "col"},
      el("button", {type: "button", onclick: () => this.sortBy(i)}, c.name)));
    this.select = select;
    this.most = 500;
    this.more = el("button", {type: "button", onclick: () => { this.most = Infinity; this.show(); }}, "");
    host.append(el("div.head", {}, el("h2", {}, "Steps"), this.count),
      el("div.scroll", {}, el("table", {}, el("thead", {}, el("tr", {}, ...this.heads)), this.body)), this.more);
    this.show();
  }
  /** Rows are made when they are first shown. */
  row(step) {
    step.row ??= el("tr", {"data-step": step.index, tabindex: -1, onclick: () => this.select(step), onkeydown: e => this.key(e, step, this.select)},
      ...columns.map(c => el(`td${c.share ? ".share" : ""}${c.number ? ".number" : ""}`,
        {title: c.number ? null : c.value(step), style: c.share ? `--h:${heat(step.weight) ** 2}` : null},
        c.text ? c.text(step) : String(c.value(step)))));
    step.row.classList.toggle("on", Boolean(step.on));
    return step.row;
  }
  sortBy(i) {
    this.down = this.column === i ? !this.down : Boolean(columns[i].number) && i > 0;
    this.column = i;
    this.show();
  }
  filter(words) {
    this.words = words;
    this.show();
  }
  key(event, step, select) {
    const rows = [...this.body.rows], at = rows.indexOf(step.row);
    const to = {ArrowDown: at + 1, ArrowUp: at - 1}[event.key];
    if (to !== undefined && rows[to]) { event.preventDefault(); rows[to].focus(); }
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); select(step); }
  }
  show() {
    const {value} = columns[this.column], sign = this.down ? -1 : 1;
    const hay = s => s.hay ??= [s.op, s.op.split("+").join(" + "), s.kernel, s.module, s.name, s.node ? haystack(s.node) : ""].join(" ").toLowerCase();
    const shown = steps.filter(s => matches(s, hay(s), this.words));
    shown.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return sign * (x < y ? -1 : x > y ? 1 : 0) || a.index - b.index;
    });
    const rows = shown.slice(0, this.most).map(s => this.row(s));
    this.body.replaceChildren(...rows);
    rows.forEach((row, i) => row.tabIndex = i ? -1 : 0);
    this.more.hidden = rows.length === shown.length;
    this.more.textContent = `Show the other ${shown.length - rows.length}`;
    this.heads.forEach((h, i) => {
      if (i === this.column) h.setAttribute("aria-sort", this.down ? "descending" : "ascending");
      else h.removeAttribute("aria-sort");
    });
    const share = shown.reduce((sum, s) => sum + s.weight, 0);
    this.count.textContent = shown.length === steps.length ? `${steps.length}, in the order of the plan`
      : `${shown.length} of ${steps.length}, ${format.percent(share)} of the ${heatName}`;
    if (this.column !== 0 && shown.length === steps.length) this.count.textContent = `${steps.length}`;
    const kept = new Set(shown);
    for (const s of steps) s.point?.classList.toggle("out", !kept.has(s));
  }
}

/** Module paths as a tree: what a module costs is its own and its children's. */
function drawModules(host, search) {
  const rows = profile?.modules ?? model.modules;
  const own = timed ? m => m.ms : m => m.flops;
  if (!rows?.length) return;
  host.hidden = false;
  const root = {children: new Map(), value: 0, parameters: 0};
  for (const m of rows) {
    let at = root;
    at.value += own(m);
    for (const part of (m.module || "(the model itself)").split(".")) {
      if (!at.children.has(part)) at.children.set(part, {children: new Map(), value: 0, estimated: false, path: at.path ? `${at.path}.${part}` : part});
      at = at.children.get(part);
      at.value += own(m);
      at.estimated ||= Boolean(m.estimated);
    }
  }
  const total = root.value || 1;
  const body = el("tbody");
  const add = (name, node, depth) => {
    const kids = [...node.children].sort((a, b) => b[1].value - a[1].value);
    const row = el("tr", {tabindex: 0, "aria-expanded": "false"},
      el("td", {style: `padding-left:${10 + 18 * depth}px`}, el("span.twist", {}, kids.length ? "▸" : ""), name),
      el("td.number", {}, (node.estimated ? "~" : "") + (timed ? format.ms(node.value) : format.count(node.value))),
      el("td.number.share", {style: `--h:${node.value / total}`}, format.percent(node.value / total)),
      el("td", {}, el("button", {type: "button", title: `Search ${node.path}`, "aria-label": `Search ${node.path}`,
        onclick: e => { e.stopPropagation(); search(`module:${node.path}`); }}, "find")));
    let below = null;
    row.fold = () => {
      below?.forEach(r => { r.fold(); r.remove(); });
      below = null;
      row.setAttribute("aria-expanded", "false");
      row.querySelector(".twist").textContent = kids.length ? "▸" : "";
    };
    const toggle = () => {
      if (!kids.length) return;
      if (below) return row.fold();
      below = kids.map(([kid, child]) => add(kid, child, depth + 1));
      row.after(...below);
      row.setAttribute("aria-expanded", "true");
      row.querySelector(".twist").textContent = "▾";
    };
    row.addEventListener("click", toggle);
    row.addEventListener("keydown", e => { if (e.key === "Enter" && e.target === row) toggle(); });
    return row;
  };
  for (const [name, node] of [...root.children].sort((a, b) => b[1].value - a[1].value)) body.append(add(name, node, 0));
  host.append(el("div.head", {}, el("h2", {}, "Modules of the source"),
    el("span.muted", {}, rows.some(m => m.estimated) ? "~ estimated: a fused step's time, divided by arithmetic and bytes" : "")),
  el("div.scroll", {}, el("table", {}, el("thead", {}, el("tr", {}, ...["module", timed ? "ms" : "FLOPs", "share", ""].map((h, i) =>
    el(i === 1 || i === 2 ? "th.plain.number" : "th.plain", {scope: "col"}, h)))), body)));
}

/** What each operator costs in all: of the graph before fusion where there is one. */
function drawOperators(host, search) {
  const totals = new Map(), nodes = (graphs.imported ?? graphs.fused).nodes.filter(n => !n.io);
  for (const node of nodes) {
    const total = totals.get(node.title) ?? {count: 0, flops: 0, share: 0};
    totals.set(node.title, {count: total.count + 1, flops: total.flops + (node.flops ?? 0), share: total.share + node.share});
  }
  if (!totals.size) return;
  host.hidden = false;
  const rows = [...totals].sort(([, a], [, b]) => b.share - a.share || b.flops - a.flops || b.count - a.count);
  const about = graphs.imported ? `before fusion; the share of the ${heatName} is estimated` : "";
  host.append(el("div.head", {}, el("h2", {}, "Operators"), el("span.muted", {}, about)),
    el("div.scroll", {}, el("table", {},
      el("thead", {}, el("tr", {}, ...["operator", "nodes", "FLOPs", "share", ""].map((h, i) =>
        el(i > 0 && i < 4 ? "th.plain.number" : "th.plain", {scope: "col"}, h)))),
      el("tbody", {}, ...rows.map(([op, t]) => el("tr.leaf", {"data-op": op}, el("td", {}, op), el("td.number", {}, String(t.count)),
        el("td.number", {}, t.flops ? format.count(t.flops) : ""),
        el("td.number.share", {style: `--h:${Math.min(1, t.share)}`}, t.share ? format.percent(t.share) : ""),
        el("td", {}, el("button", {type: "button", "aria-label": `Search op:${op}`,
          onclick: () => search(op.includes(" ") ? op : `op:${op}`)}, "find"))))))));
}

function drawSweep(host) {
  const rows = profile?.sweep;
  if (!rows?.length) return;
  host.hidden = false;
  const head = ["sizes", "median ms", "p99 ms", "per second", "arena"];
  host.append(el("div.head", {}, el("h2", {}, "Sizes")), el("div.scroll", {}, el("table", {},
    el("thead", {}, el("tr", {}, ...head.map((h, i) => el(i ? "th.plain.number" : "th.plain", {scope: "col"}, h)))),
    el("tbody", {}, ...rows.map(r => el("tr.leaf", {},
      el("td", {}, sizesText(r.sizes)),
      ...[format.ms(r.latency_ms.median), format.ms(r.latency_ms.p99), r.throughput_per_s?.toFixed(1) ?? "", format.bytes(r.peak_arena_bytes ?? 0)]
        .map(t => el("td.number", {}, t))))))));
}

const sizesText = sizes => Object.entries(sizes ?? {}).map(([k, v]) => `${k} = ${v}`).join(", ");
