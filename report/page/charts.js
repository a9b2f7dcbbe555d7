// The plots: stages of the pipeline, roofline, memory over time.

const colours = ["--s1", "--s2", "--s3", "--s4", "--s5", "--s6"];

function drawPipeline(host) {
  const stages = (profile?.stages ?? []).filter(s => s.ms > 0);
  const unfused = profile?.unfused;
  if (!stages.length && !unfused) return;
  host.hidden = false;
  const total = stages.reduce((sum, s) => sum + s.ms, 0);
  if (stages.length) {
    const told = s => `${s.name.replace("_", " ")}: ${format.ms(s.ms)} ms` + (s.passes ?? [])
      .filter(p => p.rewrites || p.ms > 0.05 * s.ms)
      .map(p => `\n    ${p.name}: ${format.ms(p.ms)} ms, ${p.rewrites} rewrites`).join("");
    host.append(el("div.head", {}, el("h2", {}, "Pipeline"),
      el("span.muted", {}, `from file to first result: ${format.ms(total)} ms`)));
    host.append(el("div.stages", {}, ...stages.map((s, i) => el("i", {style: `flex:${s.ms}; background:var(${colours[i % 6]})`,
      onmousemove: e => showTip(e, told(s)), onmouseleave: hideTip}))));
    host.append(el("div.keys", {}, ...stages.map((s, i) => el("span", {onmousemove: e => showTip(e, told(s)), onmouseleave: hideTip},
      el("i", {style: `background:var(${colours[i % 6]})`}), `${s.name.replace("_", " ")} `, el("b", {}, format.ms(s.ms)), " ms"))));
  }
  if (unfused) {
    const rows = [["Unfused", unfused.latency_ms.median, unfused.steps, "--s5"],
      ["Fused", profile.latency_ms.median, steps.length, "--s2"]];
    const longest = largest(rows, r => r[1]);
    host.append(el("div.versus", {}, ...rows.flatMap(([name, ms, count, colour]) => [el("span", {}, name),
      el("i", {style: `width:${100 * ms / longest}%; background:var(${colour})`}),
      el("span.muted", {}, `${format.ms(ms)} ms, ${count} steps`)]),
    el("span"), el("span.muted", {}, `${unfused.ratio.toFixed(2)} times` +
      (unfused.ratio_ci95 ? ` (95%: ${unfused.ratio_ci95.map(v => v.toFixed(2)).join(" to ")})` : "")), el("span")));
  }
}

/** Positions of powers of ten between two values, and of their names. */
function decades(low, high) {
  const list = [];
  for (let e = Math.floor(Math.log10(low)); 10 ** e <= high * 1.0001; ++e) if (10 ** e >= low * 0.999) list.push(10 ** e);
  return list;
}
const plain = v => v >= 1e6 || v < 1e-3 ? v.toExponential(0) : String(Number(v.toPrecision(2)));

function drawRoofline(host, select) {
  const points = steps.filter(s => timed && s.flops > 0 && s.bytes > 0 && s.ms > 0)
    .map(s => ({s, x: s.flops / s.bytes, y: s.flops / s.ms / 1e6}));
  if (!points.length) return;
  host.hidden = false;
  const lanes = profile.machine?.peak_gflops, bandwidth = profile.machine?.peak_gbs;
  const roofs = Boolean(lanes && bandwidth);
  const names = new Map(roofs ? [...points.map(p => [peakOf(p.s), ` in ${p.s.arithmetic}`]), [lanes, ""]] : []);
  const peak = largest([...names.keys()]);
  const [W, H, L, B, T, R] = [560, 330, 52, 40, 14, 16];
    const x0 = Math.min(0.1, least(points, p => p.x)) / 1.4, x1 = Math.max(roofs ? 4 * peak / bandwidth : 10, largest(points, p => p.x)) * 1.4;
  const y1 = Math.max(roofs ? peak : 1, largest(points, p => p.y)) * 1.6, y0 = Math.max(least(points, p => p.y) / 1.6, y1 / 1e5);
  const X = v => L + (W - L - R) * Math.log(v / x0) / Math.log(x1 / x0);
  const Y = v => H - B - (H - B - T) * Math.log(Math.max(v, y0) / y0) / Math.log(y1 / y0);
  const chart = el("svg:svg.chart", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Roofline plot"});
  for (const v of decades(x0, x1))
    chart.append(el("svg:line.grid", {x1: X(v), x2: X(v), y1: T, y2: H - B}), el("svg:text", {x: X(v), y: H - B + 15, "text-anchor": "middle"}, plain(v)));
  for (const v of decades(y0, y1))
    chart.append(el("svg:line.grid", {x1: L, x2: W - R, y1: Y(v), y2: Y(v)}), el("svg:text", {x: L - 7, y: Y(v) + 4, "text-anchor": "end"}, plain(v)));
  chart.append(el("svg:text", {x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle"}, "FLOP per byte"),
    el("svg:text", {x: 13, y: (T + H - B) / 2, "text-anchor": "middle", transform: `rotate(-90 13 ${(T + H - B) / 2})`}, "GFLOP/s"));
  if (roofs) {
    const knee = peak / bandwidth, low = Math.max(x0, y0 / bandwidth);
    for (const [rate, name] of names)
      chart.append(el("svg:path.roof", {d: `M${X(low)},${Y(low * bandwidth)}L${X(rate / bandwidth)},${Y(rate)}H${W - R}`}),
        el("svg:text", {x: W - R, y: Y(rate) - 6, "text-anchor": "end"}, `${format.rate(rate)} GFLOP/s${name}`));
    const at = Math.sqrt(low * knee), slope = Math.atan2(Y(peak) - Y(low * bandwidth), X(knee) - X(low)) * 180 / Math.PI;
    chart.append(el("svg:text", {x: X(at), y: Y(at * bandwidth) - 7, "text-anchor": "middle",
      transform: `rotate(${slope} ${X(at)} ${Y(at * bandwidth) - 7})`}, `${format.rate(bandwidth)} GB/s`));
  }
  for (const p of points.sort((a, b) => b.s.weight - a.s.weight)) {
    const reach = roofs ? `, ${format.percent(p.y / Math.min(peakOf(p.s), p.x * bandwidth))} of attainable` : "";
    p.s.point = el("svg:circle.point", {cx: X(p.x), cy: Y(p.y), r: 3 + 22 * Math.sqrt(p.s.weight), "data-step": p.s.index,
      onclick: () => select(p.s), onmouseleave: hideTip,
      onmousemove: e => showTip(e, `${p.s.op}  ${p.s.module}\n${format.ms(p.s.ms)} ms, ${format.rate(p.y)} GFLOP/s, ${plain(p.x)} FLOP/byte${reach}`)});
    chart.append(p.s.point);
  }
  host.append(el("div.head", {}, el("h2", {}, "Roofline"),
    el("span.muted", {}, roofs ? "each step against this machine's ceilings; areas are times" : "each step; this machine's ceilings were not measured")), chart);
}

function drawMemory(host, select) {
  const live = steps.map(s => s.live_bytes ?? 0), peak = Math.max(0, largest(live));
  if (!peak) return;
  host.hidden = false;
  const [W, H, L, B, T, R] = [560, 330, 62, 40, 22, 10];
  const durations = steps.map(s => timed ? s.ms : 1), total = durations.reduce((a, b) => a + b, 0);
  const top = peak * 1.12;
  const Y = v => H - B - (H - B - T) * v / top;
  const chart = el("svg:svg.chart", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Memory over time"});
  const unit = [1, 2, 5, 10].map(m => m * 2 ** Math.floor(Math.log2(top / 4))).find(u => top / u <= 6) ?? top;
  for (let v = 0; v <= top; v += unit)
    chart.append(el("svg:line.grid", {x1: L, x2: W - R, y1: Y(v), y2: Y(v)}), el("svg:text", {x: L - 7, y: Y(v) + 4, "text-anchor": "end"}, format.bytes(v)));
  let x = L, path = `M${L},${H - B}`;
  const spans = steps.map((s, i) => {
    const from = x;
    x += (W - L - R) * durations[i] / total;
    path += `V${Y(live[i]).toFixed(1)}H${x.toFixed(2)}`;
    return [from, x];
  });
  chart.append(el("svg:path.area", {d: `${path}V${H - B}Z`}),
    el("svg:line.peak", {x1: L, x2: W - R, y1: Y(peak), y2: Y(peak)}));
  const at = live.indexOf(peak), mid = (spans[at][0] + spans[at][1]) / 2;
  chart.append(el("svg:text", {x: Math.min(Math.max(mid, L + 70), W - R - 70), y: Y(peak) - 6, "text-anchor": "middle"}, `peak ${format.bytes(peak)}`),
    el("svg:text", {x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle"}, timed ? `time, ${format.ms(total)} ms in steps` : "steps in order"));
  const here = el("svg:rect.here", {y: T, height: H - B - T, width: 0});
  chart.append(here);
  for (const [i, step] of steps.entries()) {
    step.showMemory = () => { here.setAttribute("x", spans[i][0]); here.setAttribute("width", Math.max(2, spans[i][1] - spans[i][0])); };
  }
  const stepAt = event => {
    const box = chart.getBoundingClientRect(), px = (event.clientX - box.left) * W / box.width;
    return steps[spans.findIndex(([a, b]) => px >= a && px < b)];
  };
  chart.addEventListener("mousemove", e => {
    const s = stepAt(e);
    if (s) showTip(e, `step ${s.index}: ${s.op}  ${s.module}\n${format.bytes(s.live_bytes)} of intermediate values alive`);
    else hideTip();
  });
  chart.addEventListener("mouseleave", hideTip);
  chart.addEventListener("click", e => { const s = stepAt(e); if (s) select(s); });
  const arena = profile ? profile.peak_arena_bytes : model.plan.arena_bytes;
  host.append(el("div.head", {}, el("h2", {}, "Memory over time"),
    el("span.muted", {}, `intermediate values alive; the arena is ${format.bytes(arena)}`)), chart);
}
