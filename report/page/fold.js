// Folding: a graph as a tree of modules and repeated layers. What is closed is one box.
// The nodes of a fold are neighbours in the order of the graph, so a graph of folds has no cycles either.

/** The module's names from the outside in; of "layer1.0.{conv1,bn1}" those that all parts share. */
function pathOf(node) {
  const text = (node.module ?? "").split("{")[0].replace(/\.$/, "");
  return text ? text.split(".") : [];
}

class Fold {
  constructor(name, children, note = "") {
    this.fold = true;
    this.title = name;
    this.children = children;
    this.nodes = children.flatMap(c => c.fold ? c.nodes : [c]);
    this.sub = note || `${this.nodes.length} nodes`;
    this.outputs = [];
    this.share = this.nodes.reduce((sum, n) => sum + n.share, 0);
    for (const c of children) c.within = this;
  }
}

const longestBlock = 256, mostSiblings = 250;

/** Equal numbers for what computes the same by the same operators. */
function signatures(items) {
  const numbers = new Map();
  return items.map(item => {
    const text = item.fold ? `fold ${item.nodes.map(n => n.title).join(" ")}` : item.title;
    if (!numbers.has(text)) numbers.set(text, numbers.size);
    return numbers.get(text);
  });
}

/** The blocks that are repeated from `at` on: {size, times} that cover the most, or null. */
function repetition(items, kinds, at) {
  let best = null;
  for (let size = 1; size <= longestBlock && at + 3 * size <= items.length; ++size) {
    if (kinds[at] !== kinds[at + size]) continue;
    let end = at;
    while (end + size < items.length && kinds[end] === kinds[end + size]) ++end;
    const times = Math.floor((end - at) / size) + 1;
    if (times < 3 || (best && times * size <= best.times * best.size)) continue;
    const block = items.slice(at, at + size);
    const worthIt = block.some(i => i.fold) || (size > 2 && new Set(kinds.slice(at, at + size)).size > 1);
    if (worthIt && block.every(i => !i.io)) best = {size, times};
  }
  return best;
}

/** "layer.0 … 11" for layer.0 and layer.11, which differ in their last part. */
function rangeOf(first, last) {
  const [, stem] = /^(.*[ .])?[^ .]*$/.exec(first), same = stem && last.startsWith(stem) && !last.slice(stem.length).includes(".");
  return `${first} … ${same ? last.slice(stem.length) : last}`;
}

function foldRepeated(items) {
  const kinds = signatures(items), out = [];
  for (let at = 0; at < items.length;) {
    const found = repetition(items, kinds, at);
    if (!found) { out.push(items[at++]); continue; }
    const blocks = [];
    for (let i = 0; i < found.times; ++i, at += found.size) {
      const block = items.slice(at, at + found.size), named = block.find(b => b.fold);
      blocks.push(block.length === 1 ? block[0] : new Fold(named?.title ?? `block ${i + 1}`, block));
    }
    const repeated = new Fold(rangeOf(blocks[0].title, blocks.at(-1).title), foldMany(blocks), `${found.times} times ${blocks[0].nodes.length} nodes`);
    repeated.repeats = true;
    out.push(repeated);
  }
  return out;
}

/** Where there are too many siblings to be seen: parts of the order. */
function foldMany(items) {
  if (items.length <= mostSiblings) return items;
  const size = Math.max(50, Math.ceil(items.length / mostSiblings)), out = [];
  for (let at = 0; at < items.length; at += size)
    out.push(new Fold(`${at + 1} to ${Math.min(items.length, at + size)}`, items.slice(at, at + size)));
  return foldMany(out);
}

/** The nodes [begin, end), which share the first `depth` names, as nodes and folds. */
function foldModules(nodes, depth) {
  const items = [];
  for (let at = 0; at < nodes.length;) {
    const name = nodes[at].path[depth];
    let end = at + 1;
    while (name !== undefined && end < nodes.length && nodes[end].path[depth] === name) ++end;
    const run = nodes.slice(at, end);
    at = end;
    if (run.length === 1) { items.push(run[0]); continue; }
    const inner = foldModules(run, depth + 1);
    const whole = inner.length === 1 && inner[0].fold;
    items.push(whole ? inner[0] : new Fold(run[0].path.slice(0, depth + 1).join("."), inner));
  }
  return foldMany(foldRepeated(items));
}

/** The tree of a graph, what of it is open, and what is therefore seen. */
class Folding {
  constructor(graph) {
    this.graph = graph;
    for (const node of graph.nodes) node.path = node.io ? [] : pathOf(node);
    this.root = foldModules(graph.nodes, 0);
    this.open = new Set();
    this.opensAll = graph.nodes.length <= 1500;
    this.level(this.opensAll ? "all" : "layers");
  }
  get canOpenAll() { return this.graph.nodes.length <= 4000; }

  /** "modules": the outermost ones; "layers": all but repeated ones, as far as that stays readable; "all". */
  level(name) {
    this.open.clear();
    if (name === "modules" || (name === "all" && !this.canOpenAll)) return;
    let seen = this.root.length;
    for (let row = this.root; row.length;) {
      const next = [];
      for (const fold of row) {
        if (!fold.fold || (name === "layers" && (fold.repeats || seen + fold.children.length > 600))) continue;
        this.open.add(fold);
        seen += fold.children.length - 1;
        next.push(...fold.children);
      }
      row = next;
    }
  }
  openTo(node) {
    for (let fold = node.within; fold; fold = fold.within) this.open.add(fold);
  }
  close(fold) { this.open.delete(fold); }

  /** {nodes, edges, boxOf}: boxes and the edges between them; the box that holds each node of the graph. */
  shown() {
    const nodes = [], boxOf = new Array(this.graph.nodes.length);
    const walk = items => {
      for (const item of items) {
        if (item.fold && this.open.has(item)) { walk(item.children); continue; }
        item.at = nodes.length;
        nodes.push(item);
        for (const node of item.fold ? item.nodes : [item]) boxOf[node.index] = item;
      }
    };
    walk(this.root);
    const edges = [], seen = new Set();
    for (const [a, b] of this.graph.edges) {
      const from = boxOf[a].at, to = boxOf[b].at, key = from * nodes.length + to;
      if (from === to || seen.has(key)) continue;
      seen.add(key);
      edges.push([from, to]);
    }
    return {nodes, edges, boxOf};
  }
}
