import { duration } from "./run.js";

// The timeline: a lane for each object, with bars for phases and marks for what happened. Each moment has the same width.
const order = ["Pod", "PersistentVolumeClaim", "PersistentVolume", "VolumeAttachment", "Node"];
const short = { PersistentVolumeClaim: "pvc", PersistentVolume: "pv", VolumeAttachment: "va", StorageClass: "sc", Pod: "pod", Node: "node", Storage: "disk", Component: "" };
const tones = ["--toneNone", "--good", "--waiting", "--bad"];
// colour returns the value of a colour of the style sheet in the present theme.
const probe = document.createElement("span");
probe.hidden = true;
const colour = (name) => {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
};
const toneColour = (phase) => {
  const name = String(phase.tone);
  const known = { good: "--good", ok: "--good", busy: "--waiting", wait: "--waiting", waiting: "--waiting", bad: "--bad", ends: "--dim", done: "--toneNone" };
  return colour(known[name] ?? (/^(Bound|Available|Running|Ready|Attached|Succeeded)/.test(phase.name) ? "--good" : /^(Failed|Lost|NotReady|Unknown|Off)/i.test(phase.name) ? "--bad" : /^(Pending|Released|Attaching|Detaching|Terminating|Creating)/.test(phase.name) ? "--waiting" : tones[0]));
};
const marks = { write: "--accent", user: "--keyword", storage: "--type", warning: "--bad", fault: "--bad", violation: "--bad", crash: "--bad", event: "--dim", decision: "--dim", retry: "--waiting" };

// drawTimeline draws a run into an element. select runs with the moment, or with the object of a lane, that the user chose.
export function drawTimeline(parent, run, times, tick, chosen, select) {
  const ticks = times.length;
  const shown = run.lanes.filter((l) => l.bars.some((b) => b.phase) || ["Pod", "PersistentVolumeClaim", "PersistentVolume", "VolumeAttachment", "Node", "Storage", "Component"].includes(l.kind) || l.marks.some((m) => m.type === "fault"));
  shown.sort((a, b) => ((order.indexOf(a.kind) + 99) % 99) - ((order.indexOf(b.kind) + 99) % 99) || a.index - b.index);
  parent.replaceChildren();
  const zoom = parseFloat(getComputedStyle(document.body).fontSize) / 14, height = Math.round(24 * zoom);
  const labels = document.createElement("div"), canvas = document.createElement("canvas");
  labels.className = "laneLabels";
  for (const lane of shown) {
    const b = document.createElement("button");
    b.className = "lane";
    b.style.height = `${height}px`;
    b.textContent = (short[lane.kind] === undefined ? lane.kind.toLowerCase() + "/" : short[lane.kind] && short[lane.kind] + "/") + lane.label;
    b.title = `${lane.kind} ${lane.name}`;
    b.dataset.key = lane.index;
    b.setAttribute("aria-label", `${b.textContent}: ${lane.bars.filter((x) => x.phase).map((x) => x.phase.name).join(", then ") || "no phases"}`);
    const object = short[lane.kind] ? `${short[lane.kind]}/${lane.name}` : "";
    b.setAttribute("aria-pressed", String(object !== "" && object === chosen));
    b.onclick = () => object && select({ object });
    labels.append(b);
  }
  canvas.setAttribute("aria-hidden", "true");
  parent.append(labels, canvas);
  const width = Math.max(canvas.clientWidth || parent.clientWidth - 160, 60), scale = devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = Math.max(shown.length * height, 4) * scale;
  canvas.style.height = `${shown.length * height}px`;
  const c = canvas.getContext("2d");
  c.scale(scale, scale);
  c.font = `${11 * zoom}px system-ui, "DejaVu Sans", sans-serif`;
  const x = (t) => 6 + ((width - 12) * t) / Math.max(ticks - 1, 1);
  shown.forEach((lane, row) => {
    const y = row * height;
    c.fillStyle = colour("--line");
    c.fillRect(0, y + height - 1, width, 1);
    lane.bars.forEach((bar, i) => {
      if (!bar.phase) return;
      const from = x(bar.from), to = i + 1 < lane.bars.length ? x(lane.bars[i + 1].from) : x(ticks - 1);
      c.globalAlpha = bar.ends ? 0.35 : 0.6;
      c.fillStyle = toneColour(bar.phase);
      c.fillRect(from, y + 4, Math.max(to - from, 1), height - 8);
      c.globalAlpha = 1;
    });
    for (const m of lane.marks) {
      if (!marks[m.type]) continue;
      c.fillStyle = colour(m.err ? "--bad" : marks[m.type]);
      c.beginPath();
      c.arc(x(m.tick), y + height / 2, (m.type === "decision" || m.type === "event" ? 1.5 : 2.5) * zoom, 0, 7);
      c.fill();
    }
    // The names of phases stand above the marks, with a halo.
    lane.bars.forEach((bar, i) => {
      const from = x(bar.from), to = i + 1 < lane.bars.length ? x(lane.bars[i + 1].from) : x(ticks - 1);
      if (!bar.phase || to - from <= 44) return;
      c.save();
      c.beginPath();
      c.rect(from, y, to - from, height);
      c.clip();
      c.lineWidth = 4;
      c.lineJoin = "round";
      c.strokeStyle = colour("--panel");
      c.strokeText(bar.phase.name, from + 8, y + height - 6 * zoom);
      c.fillStyle = colour("--text");
      c.fillText(bar.phase.name, from + 8, y + height - 6 * zoom);
      c.restore();
    });
  });
  c.fillStyle = colour("--text");
  c.fillRect(x(tick) - 0.5, 0, 1.5, shown.length * height);
  const tickAt = (ev) => Math.min(Math.max(Math.round(((ev.clientX - canvas.getBoundingClientRect().left - 6) / (width - 12)) * (ticks - 1)), 0), ticks - 1);
  const pick = (ev) => select({ tick: tickAt(ev) });
  // describe returns what a lane shows at a moment.
  const describe = (lane, at) => {
    const phase = lane.bars.findLast((b) => b.from <= at)?.phase;
    const happened = lane.marks.filter((m) => marks[m.type] && Math.abs(x(m.tick) - x(at)) < 3).slice(0, 6);
    return [`${lane.kind} ${lane.name}, +${duration(times[at])}${phase ? `: ${phase.name}` : ""}`,
      ...happened.map((m) => `+${duration(m.time)} ${m.actor}: ${[m.head, m.text, m.err].filter((s) => s).join(" · ").slice(0, 160)}`)].join("\n");
  };
  canvas.onpointerdown = (ev) => { canvas.setPointerCapture(ev.pointerId); pick(ev); };
  canvas.onpointermove = (ev) => {
    if (ev.buttons) return pick(ev);
    const lane = shown[Math.floor((ev.clientY - canvas.getBoundingClientRect().top) / height)];
    canvas.title = lane ? describe(lane, tickAt(ev)) : "";
  };
}
