// A graph in a pane: drawn once as SVG, moved by a transform, with a strip beside it that shows the whole.

const measure = document.createElement("canvas").getContext("2d");
const family = getComputedStyle(document.documentElement).fontFamily;
function textWidth(text, font) {
  measure.font = `${font} ${family}`;
  return measure.measureText(text).width;
}
function shortened(text, font, room) {
  const width = textWidth(text, font);
  if (width <= room) return text;
  return `${text.slice(0, Math.max(1, Math.floor(text.length * room / width) - 1))}…`;
}
const fonts = {name: "600 12px", sub: "10.5px", share: "600 11px"};

/** Sizes of the boxes, by what is written in them. */
function sizeNodes(graph, withShares) {
  for (const node of graph.nodes) {
    node.under = node.fold ? node.sub : node.module || node.outputs[0]?.type || (node.io ? node.text.split(": ")[1] : "");
    node.badge = withShares && node.share >= 0.005 ? format.percent(node.share) : "";
    const badge = node.badge ? textWidth(node.badge, fonts.share) + 12 : 0;
    const wide = Math.max(textWidth(node.title, fonts.name) + badge, textWidth(node.under, fonts.sub)) + (node.fold ? 16 : 0);
    node.w = Math.round(Math.min(232, Math.max(84, wide + 20)));
    node.h = node.under ? 38 : 26;
    node.name = shortened(node.title, fonts.name, node.w - 18 - badge);
    node.under = shortened(node.under, fonts.sub, node.w - 16);
  }
}

const lane = 16, margin = 12;  // room beside and above the members of a group

/**
 * Positions for all nodes and lines for all edges. Nodes that one fused node replaced are laid out as a group,
 * which then takes the place of one box: so the graph before looks like the graph after.
 */
function arrange(graph) {
  const groups = new Map();
  for (const node of graph.nodes) {
    const key = node.fused ?? `alone ${node.at}`;
    if (!groups.has(key)) groups.set(key, {members: [], fused: node.fused});
    groups.get(key).members.push(node);
    node.group = groups.get(key);
  }
  const boxes = [...groups.values()];
  for (const box of boxes) box.edges = box.members.length > 1 ? [] : undefined;
  for (const edge of graph.edges) {
    const [from, to] = edge.map(at => graph.nodes[at].group);
    if (from === to) from.edges?.push(edge);
  }
  boxes.forEach((box, i) => {
    box.index = i;
    if (box.members.length === 1) {
      [box.w, box.h] = [box.members[0].w, box.members[0].h];
      return;
    }
    const local = new Map(box.members.map((node, n) => [node.at, n]));
    box.inner = layOut(box.members, box.edges.map(([a, b]) => [local.get(a), local.get(b)]), {gapX: 14, gapY: 16});
    box.w = box.inner.w + 2 * lane;
    box.h = box.inner.h + 2 * margin;
  });

  const outer = [], number = new Map();
  const key = (a, b) => `${graph.nodes[a].group.index} ${graph.nodes[b].group.index}`;
  for (const [a, b] of graph.edges) {
    const from = graph.nodes[a].group.index, to = graph.nodes[b].group.index;
    if (from === to || number.has(key(a, b))) continue;
    number.set(key(a, b), outer.length);
    outer.push([from, to]);
  }
  const whole = layOut(boxes, outer);

  for (const box of boxes) {
    if (box.members.length === 1) {
      [box.members[0].x, box.members[0].y] = [box.x, box.y];
      continue;
    }
    for (const node of box.members) { node.x += box.x + lane; node.y += box.y + margin; }
    for (const route of box.inner.routes)
      for (const point of route) { point[0] += box.x + lane; point[1] += box.y + margin; }
  }
  const inside = new Map();
  for (const box of boxes) (box.edges ?? []).forEach(([a, b], i) => inside.set(`${a} ${b}`, box.inner.routes[i]));
  const lines = graph.edges.map(([a, b]) => {
    const [from, to] = [graph.nodes[a], graph.nodes[b]];
    const within = inside.get(`${a} ${b}`);
    if (within) return line(from, to, within);
    return line(from, to, whole.routes[number.get(key(a, b))] ?? []);
  });
  return {w: whole.w, h: whole.h, lines, regions: boxes.filter(b => b.members.length > 1)};
}

const centre = node => node.x + node.w / 2;

/** From the lower edge of one box to the upper edge of another; a member deep in a group is reached from its side. */
function line(from, to, route) {
  const points = [[centre(from), from.y + from.h], ...route];
  const deep = from.group !== to.group && to.group.members.length > 1 && to.y > to.group.y + margin + 1;
  if (!deep) {
    points.push([centre(to), to.y - 1]);
    return curve(points);
  }
  const left = points.at(-1)[0] < centre(to);
  const x = left ? to.x - lane / 2 : to.x + to.w + lane / 2;
  const y = to.y + to.h / 2;
  points.push([x, to.group.y], [x, y - 8]);
  return `${curve(points)}Q${x},${y} ${left ? to.x : to.x + to.w},${y}`;
}

function curve(points) {
  let path = `M${points[0][0].toFixed(1)},${points[0][1].toFixed(1)}`;
  for (let i = 1; i < points.length; ++i) {
    const [x0, y0] = points[i - 1], [x1, y1] = points[i], middle = ((y0 + y1) / 2).toFixed(1);
    path += Math.abs(x1 - x0) < 0.5 ? `V${y1.toFixed(1)}`
      : `C${x0.toFixed(1)},${middle} ${x1.toFixed(1)},${middle} ${x1.toFixed(1)},${y1.toFixed(1)}`;
  }
  return path;
}

class Pane {
  /** `select(node)` is called for a click; null for one beside all nodes. */
  constructor(host, graph, caption, select) {
    this.graph = graph;
    this.caption = caption;
    this.folding = new Folding(graph);
    this.k = 1; this.x = 0; this.y = 0;
    this.marked = new Set();
    this.found = new Set();
    this.words = [];
    this.svg = el("svg:svg", {tabindex: 0, role: "application", "aria-label":
      `${caption.name}: ${graph.count} nodes. Arrows move from node to node, + and - zoom, 0 fits, Enter opens a module.`});
    this.view = el("svg:g");
    this.strip = el("canvas", {"aria-hidden": "true"});
    const zoom = (text, title, act) => el("button", {type: "button", title, onclick: act}, text);
    this.host = el("div.pane", {"data-graph": caption.key}, this.svg, this.strip,
      el("div.caption", {}, el("b", {}, caption.name), ` ${graph.count} nodes`),
      el("div.zoom", {}, zoom("−", "Zoom out", () => this.zoomBy(1 / 1.4)), zoom("+", "Zoom in", () => this.zoomBy(1.4)),
        zoom("Fit", "Show all", () => this.fit()), zoom("SVG", "Save this drawing as SVG", () => saveDrawing(this))));
    this.svg.append(this.view);
    host.append(this.host);
    this.select = select;
    this.layOut();
    this.listen();
    new ResizeObserver(() => this.resized()).observe(this.host);
  }

  /** Lays out and draws what is open. */
  layOut() {
    this.shown = this.folding.shown();
    sizeNodes(this.shown, this.caption.shares);
    this.drawing = arrange(this.shown);
    this.view.replaceChildren();
    this.draw();
    this.whole = null;
  }
  /** The same after something was opened or closed: marks and the search stay, and so does the sight of `node`. */
  refold(node) {
    const before = node && this.boxOf(node), y = before ? before.y * this.k + this.y : 0, x = before ? before.x * this.k + this.x : 0;
    this.layOut();
    this.search(this.words);
    this.mark(this.selected, this.partners ?? [], false);
    const after = node && this.boxOf(node);
    if (!after) return this.width ? this.start() : undefined;
    [this.x, this.y] = [x - after.x * this.k, y - after.y * this.k];
    this.reveal(node);
  }
  level(name) {
    this.folding.level(name);
    this.refold(null);
  }
  open(fold) {
    this.folding.open.add(fold);
    this.refold(fold.nodes[0]);
  }
  close(fold) {
    this.folding.close(fold);
    this.refold(fold.nodes[0]);
  }
  /** The box that a node of the graph, or a fold, is seen in. */
  boxOf(node) { return this.shown.boxOf[(node.fold ? node.nodes[0] : node).index]; }

  draw() {
    const {lines, regions} = this.drawing, {shown} = this;
    this.regions = new Map();
    this.bands = [];
    const [regionLayer, edgeLayer, nodeLayer] = [0, 1, 2].map(() => this.layer());
    for (const box of regions) {
      const g = el("svg:g.region", {"data-fused": box.fused},
        el("svg:rect", {x: box.x, y: box.y, width: box.w, height: box.h, rx: 9}));
      this.regions.set(box.fused, g);
      regionLayer(g, box.y, box.y + box.h);
    }
    this.lines = lines.map(d => el("svg:path.edge", {d}));
    shown.edges.forEach(([a, b], i) => {
      const [from, to] = [shown.nodes[a], shown.nodes[b]];
      edgeLayer(this.lines[i], Math.min(from.y, to.y), Math.max(from.y + from.h, to.y + to.h));
    });
    for (const node of shown.nodes) {
      node.element = el(node.io ? "svg:g.node.io" : node.fold ? "svg:g.node.fold" : "svg:g.node", {"data-at": node.at, "data-index": node.index,
        transform: `translate(${node.x.toFixed(1)},${node.y.toFixed(1)})`, style: `--h:${heat(node.share).toFixed(3)}`},
        el("svg:rect", {width: node.w, height: node.h, rx: node.io ? node.h / 2 : 6}),
        el("svg:text.name", {x: 9, y: node.under ? 16 : 17}, node.name));
      if (node.fold) node.element.prepend(el("svg:rect", {x: 4, y: 4, width: node.w, height: node.h, rx: 6}));
      if (node.under) node.element.append(el("svg:text.sub", {x: 9, y: 30}, node.under));
      if (node.badge) node.element.append(el("svg:text.share", {x: node.w - 8, y: 16}, node.badge));
      nodeLayer(node.element, node.y, node.y + node.h);
    }
  }
  /** A layer in bands from top to bottom, of which only those in sight are drawn; long lines are bands of their own. */
  layer() {
    const layer = el("svg:g"), bands = new Map(), tall = 800;
    this.view.append(layer);
    return (element, top, bottom) => {
      const key = bottom - top > 2 * tall ? element : Math.floor(top / tall);
      if (!bands.has(key)) {
        const band = {group: el("svg:g"), top, bottom, shown: true};
        layer.append(band.group);
        bands.set(key, band);
        this.bands.push(band);
      }
      const band = bands.get(key);
      band.top = Math.min(band.top, top);
      band.bottom = Math.max(band.bottom, bottom);
      band.group.append(element);
    };
  }

  nodeOf(event) {
    const at = event.target.closest?.(".node");
    return at ? this.shown.nodes[Number(at.dataset.at)] : null;
  }

  listen() {
    const {svg} = this;
    let drag = null;
    svg.addEventListener("wheel", event => {
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) this.zoomBy(Math.exp(-event.deltaY * 0.004), event);
      else this.move(-event.deltaX, -event.deltaY);
    }, {passive: false});
    svg.addEventListener("pointerdown", event => {
      if (event.button) return;
      drag = {x: event.clientX, y: event.clientY, moved: 0, node: this.nodeOf(event)};
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", event => {
      if (!drag) {
        const node = this.nodeOf(event);
        return node ? showTip(event, tipOf(node)) : hideTip();
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      drag.moved += Math.abs(dx) + Math.abs(dy);
      [drag.x, drag.y] = [event.clientX, event.clientY];
      if (drag.moved > 4) { hideTip(); this.move(dx, dy); }
    });
    svg.addEventListener("pointerup", () => {
      if (drag && drag.moved <= 4) this.select(drag.node);
      drag = null;
    });
    svg.addEventListener("dblclick", event => {
      const node = this.nodeOf(event);
      if (node?.fold) this.open(node);
    });
    svg.addEventListener("pointercancel", () => { drag = null; });
    svg.addEventListener("pointerleave", hideTip);
    svg.addEventListener("keydown", event => this.key(event));
    const jump = event => {
      const y = (event.offsetY - 4) / this.stripScale;
      this.y = this.height / 2 - y * this.k;
      this.apply();
    };
    this.strip.addEventListener("pointerdown", event => { this.strip.setPointerCapture(event.pointerId); jump(event); });
    this.strip.addEventListener("pointermove", event => { if (event.buttons) jump(event); });
  }

  key(event) {
    const act = {"+": () => this.zoomBy(1.25), "=": () => this.zoomBy(1.25), "-": () => this.zoomBy(0.8), "0": () => this.fit(),
      ArrowDown: () => this.step(1), ArrowRight: () => this.step(1), ArrowUp: () => this.step(-1), ArrowLeft: () => this.step(-1),
      Enter: () => this.selected?.fold && this.open(this.selected)}[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  }
  step(by) {
    const {nodes} = this.shown;
    const at = this.current ? this.current.at + by : by > 0 ? 0 : nodes.length - 1;
    this.select(nodes[Math.min(nodes.length - 1, Math.max(0, at))]);
  }

  resized() {
    const fresh = !this.width;
    this.width = this.svg.clientWidth;
    this.height = this.svg.clientHeight;
    if (!this.width) return;
    this.whole = null;
    if (fresh) this.start(); else this.apply();
  }
  /** The upper end, as wide as it is readable. */
  start() {
    if (this.wanted) return this.reveal(this.wanted);
    this.k = Math.min(1, Math.max(0.55, (this.width - 40) / this.drawing.w));
    const first = this.shown.nodes[0];
    this.x = this.drawing.w * this.k <= this.width ? (this.width - this.drawing.w * this.k) / 2
      : this.width / 2 - centre(first) * this.k;
    this.y = 44;
    this.apply();
  }
  fit() {
    this.k = Math.min(1.2, (this.width - 24) / this.drawing.w, (this.height - 60) / this.drawing.h);
    this.x = (this.width - this.drawing.w * this.k) / 2;
    this.y = 40 + (this.height - 50 - this.drawing.h * this.k) / 2;
    this.apply();
  }
  zoomBy(factor, event) {
    const box = this.svg.getBoundingClientRect();
    const [cx, cy] = event ? [event.clientX - box.left, event.clientY - box.top] : [this.width / 2, this.height / 2];
    const k = Math.min(3, Math.max(0.02, this.k * factor));
    this.x = cx - (cx - this.x) * k / this.k;
    this.y = cy - (cy - this.y) * k / this.k;
    this.k = k;
    this.apply();
  }
  move(dx, dy) {
    this.x = Math.min(this.width - 30, Math.max(30 - this.drawing.w * this.k, this.x + dx));
    this.y = Math.min(this.height - 30, Math.max(30 - this.drawing.h * this.k, this.y + dy));
    this.apply();
  }
  apply() {
    this.view.setAttribute("transform", `translate(${this.x},${this.y}) scale(${this.k})`);
    this.svg.classList.toggle("far", this.k < 0.42);
    for (const band of this.bands) {
      const shown = band.bottom * this.k + this.y >= 0 && band.top * this.k + this.y <= this.height;
      if (shown !== band.shown) band.group.setAttribute("display", (band.shown = shown) ? "inline" : "none");
    }
    if (!this.queued) this.queued = requestAnimationFrame(() => { this.queued = 0; this.paintStrip(); });
  }
  /** Moves until the node (with its group) is well inside. */
  reveal(node) {
    if (!this.width) { this.wanted = node; return; }
    const seen = this.boxOf(node), box = seen.group.members.length > 1 ? seen.group : seen;
    if (this.k < 0.5) this.k = 0.8;
    const [left, top] = [box.x * this.k + this.x, box.y * this.k + this.y];
    const [w, h] = [box.w * this.k, box.h * this.k];
    if (left < 20 || left + w > this.width - 20) this.x = this.width / 2 - (box.x + box.w / 2) * this.k;
    if (top < 40 || top + h > this.height - 30) this.y = this.height / 2 - (box.y + box.h / 2) * this.k;
    this.apply();
  }

  /** The whole graph in the strip, drawn again when marks, colours or sizes change. */
  paintWhole() {
    const {strip, drawing} = this;
    const [w, h, dense] = [strip.clientWidth, strip.clientHeight, devicePixelRatio || 1];
    this.whole = Object.assign(document.createElement("canvas"), {width: w * dense, height: h * dense});
    strip.width = w * dense;
    strip.height = h * dense;
    const c = this.whole.getContext("2d");
    c.scale(dense, dense);
    const sx = (w - 8) / drawing.w;
    this.stripScale = Math.min((h - 8) / drawing.h, 0.5);
    const found = new Set([...this.found].map(n => this.boxOf(n)));
    for (const node of this.shown.nodes) {
      if (node.io) continue;
      c.fillStyle = this.marked.has(node) ? paint("--accent") : found.has(node) ? paint("--text") : heatPaint(node.share);
      c.fillRect(4 + node.x * sx, 4 + node.y * this.stripScale, Math.max(3, node.w * sx), Math.max(1.2, node.h * this.stripScale));
    }
  }
  paintStrip() {
    const {strip} = this;
    if (!strip.clientWidth) return;
    if (!this.whole) this.paintWhole();
    const c = strip.getContext("2d"), [w, h] = [strip.clientWidth, strip.clientHeight];
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, strip.width, strip.height);
    c.drawImage(this.whole, 0, 0);
    c.scale(strip.width / w, strip.height / h);
    c.strokeStyle = paint("--accent");
    const top = 4 - this.y / this.k * this.stripScale;
    c.strokeRect(1.5, Math.max(1, top), w - 3, Math.min(h - 2, this.height / this.k * this.stripScale));
  }
  /** Colours, marks or the size changed. */
  refresh() {
    this.whole = null;
    this.apply();
  }

  /** Marks the selected node, its partners in the other graph and the region around them. */
  mark(selected, partners, moves = true) {
    const mine = n => n && (n.fold ? this.graph.nodes[n.nodes[0].index] === n.nodes[0] : this.graph.nodes[n.index] === n);
    [this.selected, this.partners] = [selected, partners];
    if (moves && mine(selected) && !selected.fold && this.boxOf(selected) !== selected) {
      this.folding.openTo(selected);
      return this.refold(selected);
    }
    for (const e of this.view.querySelectorAll(".on, .partner")) e.classList.remove("on", "partner");
    this.current = mine(selected) ? this.boxOf(selected) : null;
    const boxes = new Set([this.current, ...partners.filter(mine).map(n => this.boxOf(n))].filter(Boolean));
    for (const box of boxes) {
      box.element.classList.add(box === this.current ? "on" : "partner");
      this.regions.get(box.fused)?.classList.add("on");
    }
    const here = new Set([...boxes].map(b => b.at));
    this.shown.edges.forEach(([a, b], i) => this.lines[i].classList.toggle("on", here.has(a) !== here.has(b)));
    this.marked = boxes;
    if (moves && boxes.size) this.reveal(this.current ?? [...boxes][0]);
    this.refresh();
  }
  search(words) {
    this.words = words;
    this.svg.classList.toggle("searching", words.length > 0);
    const found = words.length ? this.graph.nodes.filter(node => matches(node, haystack(node), words)) : [];
    this.found = new Set(found);
    const boxes = new Set(found.map(n => this.boxOf(n)));
    for (const node of this.shown.nodes) node.element.classList.toggle("found", boxes.has(node));
    this.refresh();
    return found;
  }
}

function tipOf(node) {
  const lines = [node.title];
  if (node.fold) lines.push(node.sub, "Double-click opens it");
  if (node.module) lines.push(node.module);
  for (const v of node.outputs) lines.push(`${v.name}: ${v.type}`);
  if (node.share) lines.push(`${node.members || timed && node.steps.length ? "" : "about "}${format.percent(node.share)} of the ${heatName}`);
  return lines.join("\n");
}

/** Colours of the style sheet for canvases, in the current theme. */
const paints = new Map(), probe = el("i", {hidden: ""});
document.body.append(probe);
function resolved(text) {
  if (!paints.has(text)) {
    probe.style.color = text;
    paints.set(text, getComputedStyle(probe).color);
  }
  return paints.get(text);
}
const paint = name => resolved(`var(${name})`);
const heatPaint = share => share ? resolved(`color-mix(in oklab, var(--hot) ${5 * Math.round(20 * heat(share))}%, var(--line-strong))`)
  : paint("--line-strong");
