// Layered drawing of acyclic graphs, top to bottom: longest-path layers, order by barycentres, positions by
// least squares within the order. Times are linear in edges and bends.

/** Layer of each vertex: the longest path from a source; sources stand just above their first reader. */
function layersOf(count, edges) {
  const before = Array.from({length: count}, () => 0), after = Array.from({length: count}, () => []);
  for (const [a, b] of edges) { after[a].push(b); ++before[b]; }
  const layer = new Array(count).fill(0), waiting = [...before], done = new Array(count).fill(false);
  const ready = [];
  for (let v = 0; v < count; ++v) if (!before[v]) ready.push(v);
  for (let next = 0, seen = 0; seen < count; ++seen) {
    // A cycle (possible between groups of nodes only) is entered at its first vertex.
    if (next === ready.length) ready.push(done.indexOf(false));
    const v = ready[next++];
    done[v] = true;
    for (const w of after[v]) {
      if (done[w]) continue;
      layer[w] = Math.max(layer[w], layer[v] + 1);
      if (--waiting[w] === 0) ready.push(w);
    }
  }
  for (let v = 0; v < count; ++v)
    if (!before[v] && after[v].length) layer[v] = Math.max(0, least(after[v], w => layer[w]) - 1);
  return layer;
}

/** Non-decreasing numbers nearest to the wished ones (pool adjacent violators). */
function isotonic(wished, weights) {
  const pools = [];
  wished.forEach((value, i) => {
    let pool = {sum: value * weights[i], weight: weights[i], size: 1};
    while (pools.length && pools.at(-1).sum / pools.at(-1).weight >= pool.sum / pool.weight) {
      const last = pools.pop();
      pool = {sum: last.sum + pool.sum, weight: last.weight + pool.weight, size: last.size + pool.size};
    }
    pools.push(pool);
  });
  return pools.flatMap(p => new Array(p.size).fill(p.sum / p.weight));
}

/**
 * boxes: [{w, h}], edges: [[from, to]]. Sets x, y (the upper left corner) of each box; returns
 * {w, h, routes}: for each edge the points [x, y] between the layers it passes.
 */
function layOut(boxes, edges, {gapX = 22, gapY = 30} = {}) {
  if (!boxes.length) return {w: 0, h: 0, routes: []};
  const layer = layersOf(boxes.length, edges);
  const cells = boxes.map((box, i) => ({box, layer: layer[i], w: box.w, up: [], down: [], x: 0}));
  const bends = new Map();  // source -> its bends by layer: all its edges share one line
  const joined = new Set();
  const join = (a, b) => {
    const key = `${a} ${b}`;
    if (joined.has(key)) return;
    joined.add(key);
    cells[a].down.push(b);
    cells[b].up.push(a);
  };
  const paths = edges.map(([a, b]) => {
    const path = [];
    if (layer[b] <= layer[a]) return path;
    if (!bends.has(a)) bends.set(a, []);
    const line = bends.get(a);
    let last = a;
    for (let l = layer[a] + 1; l < layer[b]; ++l) {
      const i = l - layer[a] - 1;
      if (line[i] === undefined) {
        line[i] = cells.length;
        cells.push({box: null, layer: l, w: 8, up: [], down: [], x: 0});
      }
      join(last, line[i]);
      path.push(last = line[i]);
    }
    join(last, b);
    return path;
  });

  const layers = Array.from({length: largest(layer) + 1}, () => []);
  cells.forEach((cell, i) => layers[cell.layer].push(i));
  order(layers, cells);
  place(layers, cells, gapX);

  const heights = layers.map(row => Math.max(10, largest(row, i => cells[i].box ? cells[i].box.h : 0)));
  const tops = [];
  heights.reduce((y, h, l) => (tops[l] = y, y + h + gapY), 0);
  const left = least(cells, c => c.x - c.w / 2);
  for (const cell of cells) {
    cell.x -= left;
    if (!cell.box) continue;
    cell.box.x = cell.x - cell.w / 2;
    cell.box.y = tops[cell.layer] + (heights[cell.layer] - cell.box.h) / 2;
  }
  const routes = paths.map(path => path.flatMap(i => {
    const {x, layer: l} = cells[i];
    return [[x, tops[l]], [x, tops[l] + heights[l]]];
  }));
  return {w: largest(cells, c => c.x + c.w / 2), h: tops.at(-1) + heights.at(-1), routes};
}

function order(layers, cells) {
  const at = new Array(cells.length);
  const number = row => row.forEach((cell, i) => at[cell] = i);
  const mean = list => list.reduce((sum, i) => sum + at[i], 0) / list.length;
  layers.forEach(number);
  const sweep = (rows, side) => {
    for (const row of rows) {
      const key = new Map(row.map(i => [i, cells[i][side].length ? mean(cells[i][side]) : at[i]]));
      row.sort((a, b) => key.get(a) - key.get(b));
      number(row);
    }
  };
  for (let round = 0; round < 6; ++round) {
    sweep(layers.slice(1), "up");
    sweep(layers.slice(0, -1).reverse(), "down");
  }
}

function place(layers, cells, gap) {
  for (const row of layers) row.reduce((x, i) => (cells[i].x = x + cells[i].w / 2, x + cells[i].w + gap), 0);
  const settle = (row, sides) => {
    let offset = 0;
    const offsets = row.map((i, n) => n ? offset += (cells[row[n - 1]].w + cells[i].w) / 2 + gap : 0);
    const wished = row.map((i, n) => {
      let sum = 0, weight = 0;
      for (const side of sides)
        for (const j of cells[i][side]) {
          const w = cells[j].box ? 8 : 1;
          sum += w * cells[j].x;
          weight += w;
        }
      return (weight ? sum / weight : cells[i].x) - offsets[n];
    });
    // Boxes stay below one another, long lines give way.
    const weights = row.map(i => cells[i].box ? 8 : 1);
    isotonic(wished, weights).forEach((x, n) => cells[row[n]].x = x + offsets[n]);
  };
  for (let round = 0; round < 8; ++round) {
    for (const row of layers) settle(row, ["up"]);
    for (const row of [...layers].reverse()) settle(row, ["down"]);
  }
  for (const row of layers) settle(row, ["up", "down"]);
}
