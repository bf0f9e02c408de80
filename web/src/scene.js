// The scene shows who acts on what: the API server in the middle, controllers and kubelets around it, storage at the bottom.
const ns = "http://www.w3.org/2000/svg";
const element = (name, attributes, text) => {
  const e = document.createElementNS(ns, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text) e.textContent = text;
  return e;
};
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const label = (actor) => actor.replace("-controller", "").replace(/^external-/, "").replace("persistentvolume", "pv").replace(/\/(.{9}).+$/, "/$1…");

let places = new Map(), svg, drawnFor, drawnWide;

// layout places all that act in a run. The same run is laid out once.
function layout(run) {
  drawnFor = run;
  places = new Map();
  svg.replaceChildren();
  const acting = run.entries.filter((e) => ["write", "user", "storage", "decision", "event", "warning", "crash"].includes(e.type) && e.actor);
  const actors = [...new Set(acting.map((e) => e.actor))].slice(0, 16);
  const storage = [...new Set(run.entries.filter((e) => e.type === "storage").map((e) => e.head.split(" ")[0]))].filter((s) => s).slice(0, 5);
  // Actors stand in rows above the API server, in the order in which they first act.
  const w = drawnWide ? 720 : 440, inRow = drawnWide ? 5 : 3, rows = Math.ceil(actors.length / inRow) || 1;
  const cx = w / 2, cy = rows * 46 + 46, h = cy + 120;
  svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
  places.set("api", { x: cx, y: cy });
  actors.forEach((a, i) => {
    const row = Math.floor(i / inRow), n = Math.min(inRow, actors.length - row * inRow);
    places.set(a, { x: (w / n) * ((i % inRow) + 0.5), y: 16 + row * 46 });
  });
  storage.forEach((s, i) => places.set("storage:" + s, { x: cx + (i - (storage.length - 1) / 2) * 180, y: h - 36 }));
  for (const [name, p] of places) {
    if (name === "api" || name.startsWith("storage:")) continue;
    svg.append(element("line", { x1: p.x, y1: p.y, x2: cx, y2: cy, class: "wire" }));
  }
  for (const [name, p] of places) {
    const g = element("g", { class: "actor" + (name === "api" ? " api" : name.startsWith("storage:") ? " disk" : ""), "data-actor": name });
    g.append(element("circle", { cx: p.x, cy: p.y, r: name === "api" ? 26 : 9 }));
    const text = name === "api" ? "API server" : name.startsWith("storage:") ? name.slice(8) : label(name);
    g.append(element("text", { x: p.x, y: name === "api" ? p.y + 4 : p.y + 22 }, text));
    svg.append(g);
  }
}

function fly(from, to, kind, delay, ms) {
  if (!from || !to) return;
  const dot = element("circle", { r: 4.5, class: "dot " + kind, cx: 0, cy: 0 });
  svg.append(dot);
  const at = (p) => `translate(${p.x}px, ${p.y}px)`;
  dot.animate([{ transform: at(from), opacity: 1 }, { transform: at(to), opacity: 1, offset: 0.9 }, { transform: at(to), opacity: 0 }], { duration: ms, delay, fill: "both", easing: "ease-in-out" })
    .finished.then(() => dot.remove(), () => dot.remove());
}

// drawScene shows what happened at a moment, with motion if moving.
export function drawScene(parent, run, tick, moving, ms) {
  svg = parent;
  const wide = svg.clientWidth > 560;
  if (drawnFor !== run || drawnWide !== wide) {
    drawnWide = wide;
    layout(run);
  }
  const happened = run.at(tick);
  const active = new Set(happened.map((e) => e.actor));
  for (const g of svg.querySelectorAll(".actor")) g.classList.toggle("active", active.has(g.dataset.actor));
  if (moving && !calm.matches) {
    happened.slice(0, 8).forEach((e, i) => {
      const from = places.get(e.actor), delay = (i * ms) / 10;
      if (e.type === "storage") fly(from, places.get("storage:" + e.head.split(" ")[0]), e.err ? "bad" : "storage", delay, ms);
      else if (e.type === "write" || e.type === "user") fly(from, places.get("api"), e.err ? "bad" : "write", delay, ms);
    });
  }
  return happened;
}
