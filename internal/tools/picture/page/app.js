// The page: the state determines what is shown, and keys and pointers change the state.

const lanesBox = byId("lanes"), plot = byId("plot"), axis = byId("axis"), overview = byId("overview"), story = byId("story"), tip = byId("tip"), stepPanel = byId("step"), logPanel = byId("log");
let colours, hits = [], storyHits = [], isDue = false;
const act = { select: showSelected, chapter: goToChapter, command: (n) => select(Math.min(commands[n].step, count - 1)) };

const frame = () => ({ width: plot.clientWidth || 1, from: state.view.from, to: state.view.to, colours });

// draw redraws everything in the next animation frame.
function draw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    drawNow();
  });
}

// prepared sets the size of a canvas to its size on the screen, and returns its context.
function prepared(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1, w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return ctx;
}

function drawNow() {
  const height = lanesBox.clientHeight;
  byId("spacer").style.height = Math.max(shown.height, height) + "px";
  byId("window").style.height = height + "px";
  const f = frame(), top = lanesBox.scrollTop, first = rowAt(top);
  hits = [];
  const ctx = prepared(plot, f.width, height);
  drawRows(ctx, f, first, top, height, hits);
  drawAxis(prepared(axis, f.width, axis.clientHeight), f, axis.clientHeight);
  if (hasStory) {
    storyHits = drawChapters(prepared(story, f.width, storyHeight), f);
    drawChapterLines(ctx, f, Math.min(height, shown.height - top));
  }
  if (band) {
    const axisCtx = axis.getContext("2d");
    axisCtx.globalAlpha = 0.2;
    axisCtx.fillStyle = colours.accent;
    axisCtx.fillRect(Math.min(...band), 0, Math.abs(band[1] - band[0]), axis.clientHeight);
    axisCtx.globalAlpha = 1;
  }
  if (state.step >= 0) {
    const x = pixel(f, folds.positions[state.step]);
    for (const [context, h] of [[ctx, Math.min(height, shown.height - top)], [axis.getContext("2d"), axis.clientHeight]]) {
      context.globalAlpha = 0.55;
      context.fillStyle = colours.accent;
      context.fillRect(Math.round(x) - 0.5, 0, 1, h);
      context.globalAlpha = 1;
    }
  }
  drawOverview(prepared(overview, overview.clientWidth, overview.clientHeight), { ...f, width: overview.clientWidth }, overview.clientHeight);
  drawLabels(first, top, height);
}

function drawLabels(first, top, height) {
  const labels = [];
  for (let n = first; n < shown.rows.length && shown.rows[n].y - top < height; n++) {
    const row = shown.rows[n];
    const label = row.lane < 0 ? make("div", "groupLabel", [row.head, make("span", "muted", ` ${row.size}`)])
      : make("div", "laneLabel" + (row.lane === state.lane ? " chosen" : ""), laneName(row.lane), { title: laneTitle(row.lane) });
    if (row.lane >= 0) label.dataset.lane = row.lane;
    label.style.top = row.y - top + "px";
    label.style.height = row.height + "px";
    labels.push(label);
  }
  byId("labels").replaceChildren(...labels);
}

// refresh recomputes what is shown after a change of a filter or of the axis.
function refresh(keepView) {
  const middle = keepView && timeAtPosition((state.view.from + state.view.to) / 2), share = (state.view.to - state.view.from) / folds.length;
  filter();
  if (keepView && share < 0.98) setView(positionOfTime(middle) - (share * folds.length) / 2, positionOfTime(middle) + (share * folds.length) / 2);
  else fit();
  byId("empty").hidden = shown.rows.length > 0;
  byId("clear").hidden = !isFiltered();
  byId("span").hidden = !state.span;
  if (state.span) byId("span").textContent = `${offset(state.span[0])} to ${offset(state.span[1])} ×`;
  byId("corner").textContent = shown.lanes.length === data.lanes.length ? `${data.lanes.length} lanes` : `${shown.lanes.length} of ${data.lanes.length} lanes`;
  if (state.step >= 0 && state.lane >= 0 && !shown.isLane[state.lane]) state.lane = lanesOf(state.step).find((lane) => shown.isLane[lane]) ?? -1;
  for (const [id, on] of [["folded", !state.linear], ["linear", state.linear]]) byId(id).setAttribute("aria-checked", on);
  for (const chip of document.querySelectorAll("#kinds button")) chip.setAttribute("aria-pressed", !state.hiddenKinds.has(chip.value));
  for (const chip of document.querySelectorAll("#legend button")) chip.setAttribute("aria-pressed", !state.hiddenTypes.has(+chip.value));
  panels();
  draw();
}

function panels() {
  const at = shown.steps.indexOf(state.step);
  byId("position").textContent = state.step < 0 ? `${shown.steps.length} steps` : `${at < 0 ? "–" : at + 1} / ${shown.steps.length}`;
  if (state.step >= 0) showStep(stepPanel, state.step, state.lane, colours, act);
  else showOverview(stepPanel, colours, act);
  if (state.tab === "log") showLog(logPanel, colours, act);
  if (state.tab === "script") showScript(byId("script"), act);
}

// goToChapter zooms to a chapter and selects its first step.
function goToChapter(n) {
  const from = chapterStart(n), to = chapterEnd(n), { commands: own } = chapters[n];
  if (own.length > 0 && own[0].step < count) select(own[0].step);
  setView(from - (to - from) * 0.03, to + (to - from) * 0.03);
}

// setSpan shows only the steps between two times; null shows all.
function setSpan(span) {
  state.span = span;
  refresh(false);
  if (span) setView(positionOfTime(span[0]) - (folds.linear ? 0 : 2), positionOfTime(span[1]) + (folds.linear ? 0 : 2));
}

// setView sets the visible part of the axis, within limits.
function setView(from, to) {
  const width = Math.max(plot.clientWidth, 1), least = folds.linear ? Math.max(data.span / 1e9 / 1e7, 1e-5) : Math.min(3, folds.length);
  let size = Math.max(to - from, least);
  const margin = (20 / width) * size;
  size = Math.min(size, folds.length + 2 * margin);
  const middle = (from + to) / 2, low = -margin, high = folds.length + margin - size;
  const start = Math.min(Math.max(middle - size / 2, low), Math.max(high, low));
  state.view = { from: start, to: start + size };
  draw();
}
function fit() {
  setView(-0.03 * folds.length, 1.03 * folds.length);
}
function zoom(factor, around) {
  const { from, to } = state.view, u = around ?? (state.step >= 0 && inFrame(state.step) ? folds.positions[state.step] : (from + to) / 2);
  setView(u - (u - from) * factor, u + (to - u) * factor);
}
const inFrame = (i) => folds.positions[i] >= state.view.from && folds.positions[i] <= state.view.to;
function pan(pixels) {
  const by = (pixels / plot.clientWidth) * (state.view.to - state.view.from);
  setView(state.view.from + by, state.view.to + by);
}

// showSelected selects a step, and shows it instead of the script.
function showSelected(i, lane) {
  if (state.tab === "script") setTab("step");
  select(i, lane);
}

// select selects a step and one of its objects, and scrolls to the step.
function select(i, lane) {
  if (!(i >= 0 && i < count)) return;
  state.step = i;
  const own = lanesOf(i);
  if (lane !== undefined) state.lane = lane;
  else if (!own.includes(state.lane) || !shown.isLane[state.lane]) state.lane = own.find((l) => shown.isLane[l]) ?? own[0] ?? -1;
  const u = folds.positions[i], size = state.view.to - state.view.from;
  if (u < state.view.from + size * 0.02 || u > state.view.to - size * 0.02) setView(u - size / 2, u + size / 2);
  reveal(state.lane);
  panels();
  stepPanel.scrollTop = 0;
  byId("say").textContent = `${offset(times[i])} ${markNames[data.entries.type[i]]} ${state.lane >= 0 ? laneTitle(state.lane) : ""}: ${headline(i)}`;
  try {
    history.replaceState(null, "", "#" + seqs[i]);
  } catch {
    // Some viewers of files have no history.
  }
  if (state.tab === "log") revealInLog();
  draw();
}
function reveal(lane) {
  const row = shown.rows[rowOf(lane)];
  if (!row) return;
  if (row.y < lanesBox.scrollTop) lanesBox.scrollTop = row.y - headHeight;
  else if (row.y + row.height > lanesBox.scrollTop + lanesBox.clientHeight) lanesBox.scrollTop = row.y + row.height - lanesBox.clientHeight + 8;
}
function revealInLog() {
  const y = shown.steps.indexOf(state.step) * logRow;
  if (y >= 0 && (y < logPanel.scrollTop || y + logRow > logPanel.scrollTop + logPanel.clientHeight)) logPanel.scrollTop = y - logPanel.clientHeight / 2;
}

// go selects the next or previous step of those that are shown, or of those on the selected lane.
function go(by, onLane) {
  const steps = onLane && state.lane >= 0 ? visibleMarks(state.lane) : shown.steps;
  if (steps.length === 0) return;
  if (state.step < 0) return select(steps[by > 0 ? 0 : steps.length - 1]);
  let low = 0, high = steps.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (steps[mid] < state.step + (by > 0 ? 1 : 0)) low = mid + 1;
    else high = mid;
  }
  const at = by > 0 ? low : low - 1;
  if (at >= 0 && at < steps.length) select(steps[at], onLane ? state.lane : undefined);
}
function goLane(by) {
  const lanes = shown.rows.filter((row) => row.lane >= 0).map((row) => row.lane);
  if (lanes.length === 0) return;
  const at = lanes.indexOf(state.lane), next = lanes[Math.min(Math.max(at < 0 ? 0 : at + by, 0), lanes.length - 1)];
  if (state.step >= 0) return select(state.step, next);
  state.lane = next;
  reveal(next);
  draw();
}

function hitAt(x, y) {
  for (let n = hits.length - 1; n >= 0; n--) {
    const h = hits[n];
    if (x >= h.x0 && x <= h.x1 && y >= h.y0 && y <= h.y1) return h;
  }
  return null;
}
const within = (event, element) => {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

function showTip(hit, event) {
  tip.hidden = !hit;
  if (!hit) return;
  tip.replaceChildren(...tipFor(hit, colours));
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = Math.max(Math.min(event.clientX + 14, innerWidth - width - 8), 8) + "px";
  tip.style.top = (event.clientY + 18 + height > innerHeight - 8 ? Math.max(event.clientY - height - 12, 8) : event.clientY + 18) + "px";
}

// choose handles a click on a mark, a cluster of marks, a bar, or a lane.
function choose(x, y) {
  const hit = hitAt(x, y), row = shown.rows[rowAt(y + lanesBox.scrollTop)];
  if (hit?.steps) {
    state.lane = hit.lane;
    if (hit.steps.length > 1) {
      const positions = hit.steps.map((i) => folds.positions[i]), low = positions[0], high = positions.at(-1);
      if (high > low) setView(low - (high - low) * 0.35, high + (high - low) * 0.35);
    }
    return showSelected(hit.steps[0], hit.lane);
  }
  if (!row || row.lane < 0 || y + lanesBox.scrollTop > shown.height) return;
  const u = positionAt(frame(), x), before = (steps) => steps.findLast((i) => folds.positions[i] <= u);
  const step = before(visibleMarks(row.lane)) ?? before(shown.steps) ?? shown.steps[0];
  if (step !== undefined) showSelected(step, row.lane);
}

// band is the part of the axis over which the pointer is dragged: [from, to] in pixels.
let band = null;

function pointers() {
  let drag = null;
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { x: event.clientX, y: event.clientY, moved: false, view: { ...state.view }, top: lanesBox.scrollTop };
    plot.setPointerCapture(event.pointerId);
    lanesBox.focus({ preventScroll: true });
  });
  plot.addEventListener("pointermove", (event) => {
    if (!drag) {
      const [x, y] = within(event, plot), hit = hitAt(x, y);
      plot.style.cursor = hit?.steps ? "pointer" : "grab";
      return showTip(hit, event);
    }
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 5) return;
    drag.moved = true;
    showTip(null);
    plot.style.cursor = "grabbing";
    const by = (-dx / plot.clientWidth) * (drag.view.to - drag.view.from);
    setView(drag.view.from + by, drag.view.to + by);
    if (event.pointerType !== "touch") lanesBox.scrollTop = drag.top - dy;
  });
  plot.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) choose(...within(event, plot));
    drag = null;
  });
  plot.addEventListener("pointercancel", () => { drag = null; });
  plot.addEventListener("pointerleave", () => showTip(null));
  plot.addEventListener("dblclick", (event) => zoom(0.4, positionAt(frame(), within(event, plot)[0])));
  for (const element of [lanesBox, axis]) {
    element.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey || element === axis) {
        event.preventDefault();
        zoom(Math.exp(Math.max(Math.min(event.deltaY, 60), -60) * 0.006), positionAt(frame(), within(event, plot)[0]));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        pan(event.deltaX || event.deltaY);
      }
      showTip(null);
    }, { passive: false });
  }
  axis.addEventListener("pointermove", (event) => {
    const x = within(event, axis)[0], s = foldedStretches(frame()).find((g) => x >= g.x0 && x <= g.x1);
    showTip(s ? { gap: s.gap } : null, event);
  });
  axis.addEventListener("pointerleave", () => showTip(null));
  axis.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    band = [within(event, axis)[0], within(event, axis)[0]];
    axis.setPointerCapture(event.pointerId);
  });
  axis.addEventListener("pointermove", (event) => {
    if (!band) return;
    band[1] = within(event, axis)[0];
    draw();
  });
  axis.addEventListener("pointercancel", () => { band = null; draw(); });
  axis.addEventListener("pointerup", () => {
    if (!band) return;
    const [x0, x1] = [...band].sort((a, b) => a - b), at = (x) => positionAt(frame(), x);
    band = null;
    if (x1 - x0 > 6) return setSpan([timeAtPosition(at(x0)), timeAtPosition(at(x1))]);
    const step = shown.steps.findLast((i) => folds.positions[i] <= at(x0)) ?? shown.steps[0];
    if (step !== undefined) select(step);
    draw();
  });
  const storyHit = (event) => {
    const x = within(event, story)[0];
    return storyHits.findLast((h) => x >= h.x0 && x <= h.x1) ?? null;
  };
  story.addEventListener("pointermove", (event) => showTip(storyHit(event), event));
  story.addEventListener("pointerleave", () => showTip(null));
  story.addEventListener("click", (event) => {
    const hit = storyHit(event);
    if (!hit) return;
    if (hit.command !== undefined) act.command(hit.command);
    else goToChapter(hit.chapter);
    setTab("script");
  });
  const jump = (event) => {
    if (!(event.buttons & 1)) return;
    const u = (within(event, overview)[0] / overview.clientWidth) * folds.length, size = state.view.to - state.view.from;
    setView(u - size / 2, u + size / 2);
  };
  overview.addEventListener("pointerdown", jump);
  overview.addEventListener("pointermove", jump);
  byId("labels").addEventListener("click", (event) => {
    const label = event.target.closest("[data-lane]");
    if (!label) return;
    const lane = +label.dataset.lane, step = state.step >= 0 ? state.step : visibleMarks(lane)[0];
    if (step !== undefined) select(step, lane);
  });
  lanesBox.addEventListener("scroll", () => { showTip(null); draw(); });
  logPanel.addEventListener("scroll", () => showLog(logPanel, colours, act));
  divider();
}

// divider resizes the details.
function divider() {
  const element = byId("divider"), set = (width) => {
    document.documentElement.style.setProperty("--panel", Math.min(Math.max(width, 260), innerWidth * 0.7) + "px");
    draw();
  };
  element.addEventListener("pointerdown", (event) => element.setPointerCapture(event.pointerId));
  element.addEventListener("pointermove", (event) => { if (element.hasPointerCapture(event.pointerId)) set(innerWidth - event.clientX); });
  element.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
    if (!by) return;
    event.stopPropagation();
    set(byId("panel").clientWidth + by);
  });
}

const keys = [
  ["Space", "play, pause"], ["← →", "step back, step forward"], ["Shift + ← →", "on the selected lane only"], ["Home, End", "first step, last step"], ["↑ ↓", "select the lane above, below"],
  ["+ −", "zoom in, zoom out (also Ctrl and the wheel)"], ["[ ]", "pan left, pan right (also drag, or Shift and the wheel)"], ["0", "show the whole run"],
  ["A", "fold idle time, or show time to scale"], ["drag on the axis", "show only that time"], ["/", "filter by object"], ["F", "search steps"], ["R", "also show related objects"], ["S", "the script"], ["L", "list all steps"], ["D", "dark or light"],
  ["Esc", "clear the selection, then the filters"], ["?", "these keys"],
];
function keyboard() {
  byId("keys").append(make("h2", "", "Keys"), make("dl", "", keys.flatMap(([key, what]) => [make("dt", "", key), make("dd", "", what)])),
    make("button", "", "Close", { onclick: () => byId("keys").close() }));
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape") || byId("keys").open) return;
    const actions = {
      ArrowLeft: () => go(-1, event.shiftKey), ArrowRight: () => go(1, event.shiftKey), ArrowUp: () => goLane(-1), ArrowDown: () => goLane(1),
      Home: () => select(shown.steps[0]), End: () => select(shown.steps.at(-1)), "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), "0": fit,
      "[": () => pan(-plot.clientWidth / 5), "]": () => pan(plot.clientWidth / 5), a: () => setAxis(!state.linear), "/": () => byId("objects").select(),
      f: () => byId("search").select(), s: () => hasStory && setTab("script"), " ": () => play(!player.timer),
      r: () => byId("related").click(), l: () => setTab(state.tab === "log" ? "step" : "log"), d: () => setTheme(!state.dark), "?": () => byId("keys").showModal(), Escape: () => escape(event),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (event.key === " " && event.target.closest?.("button")) return;
    const scrolls = event.target.closest?.("#step, #log") && /^(ArrowUp|ArrowDown|Home|End)$/.test(event.key);
    if (!action || scrolls) return;
    event.preventDefault();
    action();
  });
}
function escape(event) {
  if (event.target.tagName === "INPUT" || event.target.tagName === "SELECT") return lanesBox.focus();
  play(false);
  if (state.step < 0) return clearFilters();
  state.step = state.lane = -1;
  panels();
  draw();
}

function setAxis(linear) {
  state.linear = linear;
  refresh(true);
  if (state.step >= 0 && !inFrame(state.step)) select(state.step, state.lane);
}
function setTab(tab) {
  state.tab = tab;
  for (const [id, name, element] of [["tabScript", "script", byId("script")], ["tabStep", "step", stepPanel], ["tabLog", "log", logPanel]]) {
    byId(id).setAttribute("aria-selected", tab === name);
    element.hidden = tab !== name;
  }
  panels();
  if (tab === "log") revealInLog();
}
function setTheme(dark) {
  state.dark = dark;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  colours = readColours(document.documentElement);
  legend();
  refresh(true);
}
function clearFilters() {
  Object.assign(state, { words: "", related: false, actor: -1, query: "", span: null });
  state.hiddenKinds.clear();
  state.hiddenTypes.clear();
  state.hiddenTypes.add(STARTUP);
  byId("objects").value = byId("search").value = "";
  byId("related").checked = false;
  byId("actor").value = "-1";
  refresh(false);
}

// legend shows the shapes and the colours. A click hides the steps of a shape.
function legend() {
  const seen = new Set(data.entries.type), toggle = (set, value) => () => {
    if (set.has(value)) set.delete(value);
    else set.add(value);
    refresh(true);
  };
  byId("legend").replaceChildren(...markNames.map((name, type) => (seen.has(type) ? make("button", "chip", [markIcon(type, false, colours), name],
    { value: type, title: "Show or hide", onclick: toggle(state.hiddenTypes, type) }) : null)).filter((c) => c));
  const tones = new Map();
  for (const { name, tone } of data.phases) tones.set(tone, [...(tones.get(tone) ?? []), name]);
  byId("tones").replaceChildren(...[...tones].map(([tone, names]) => make("span", "tone", [make("i", "swatch tone-" + tone), names.join(", ")])),
    make("span", "tone", [make("i", "swatch tone-folded"), "idle time, folded"]));
  const sizes = new Map();
  for (const { kind } of data.lanes) sizes.set(kind, (sizes.get(kind) ?? 0) + 1);
  byId("kinds").replaceChildren(...[...sizes].sort(([a], [b]) => indexOfKind(a) - indexOfKind(b)).map(([kind, size]) => make("button", "chip",
    [pluralKind(kind), make("span", "muted", String(size))], { value: kind, title: "Show or hide", onclick: toggle(state.hiddenKinds, kind) })));
}

function controls() {
  const on = (id, event, action) => byId(id).addEventListener(event, action);
  on("first", "click", () => select(shown.steps[0]));
  on("back", "click", (event) => go(-1, event.shiftKey));
  on("forward", "click", (event) => go(1, event.shiftKey));
  on("last", "click", () => select(shown.steps.at(-1)));
  on("play", "click", () => play(!player.timer));
  on("speed", "change", (event) => { player.rate = +event.target.value; if (player.timer) play(true); });
  on("span", "click", () => setSpan(null));
  on("search", "input", (event) => { state.query = event.target.value; refresh(false); });
  on("search", "keydown", (event) => { if (event.key === "Enter") go(event.shiftKey ? -1 : 1, false); });
  on("tabScript", "click", () => setTab("script"));
  on("folded", "click", () => setAxis(false));
  on("linear", "click", () => setAxis(true));
  on("zoomIn", "click", () => zoom(0.6));
  on("zoomOut", "click", () => zoom(1 / 0.6));
  on("fit", "click", fit);
  on("theme", "click", () => setTheme(!state.dark));
  on("help", "click", () => byId("keys").showModal());
  on("clear", "click", clearFilters);
  on("objects", "input", (event) => { state.words = event.target.value; refresh(false); });
  on("related", "change", (event) => { state.related = event.target.checked; refresh(false); });
  on("actor", "change", (event) => { state.actor = +event.target.value; refresh(false); });
  on("order", "change", (event) => { state.order = event.target.value; refresh(true); lanesBox.scrollTop = 0; });
  on("tabStep", "click", () => setTab("step"));
  on("tabLog", "click", () => setTab("log"));
  byId("actor").append(...data.actors.map((name, index) => make("option", "", name, { value: index })).sort((a, b) => a.textContent.localeCompare(b.textContent)));
  addEventListener("resize", draw);
  new ResizeObserver(draw).observe(lanesBox);
  addEventListener("beforeprint", () => fillPaper(byId("paper")));
}

function begin() {
  const wide = data.span > 0 ? `${duration(data.span)} of virtual time from ${clock(0)} UTC` : `at ${clock(0)} UTC`;
  const many = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
  byId("summary").textContent = (data.note ? data.note + " · " : "") + (count === 0 ? "Nothing happened in this run." : `${wide} · ${many(count, "step")} · ${many(data.lanes.length, "lane")}`);
  story.hidden = byId("tabScript").hidden = !hasStory;
  byId("paper").dataset.theme = "light";
  controls();
  pointers();
  keyboard();
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
  const wanted = location.hash ? seqs.indexOf(+location.hash.slice(1)) : -1;
  if (hasStory && wanted < 0) setTab("script");
  if (wanted >= 0) select(wanted);
}
begin();

// For programs that drive the page (the browser tests): select a step, wait until the page is drawn, read what is shown, find where a step is drawn.
window.picture = {
  select: showSelected,
  // drawn resolves when no drawing has been due for three frames in a row. One quiet frame is not enough: scrolling and resizing
  // request a drawing only in the frame after they happen.
  async drawn() {
    for (let quiet = 0; quiet < 3; quiet++) {
      await new Promise(requestAnimationFrame);
      if (isDue) quiet = -1;
    }
  },
  shown: () => ({ lanes: shown.lanes.length, steps: shown.steps.length, step: state.step, lane: state.lane, linear: state.linear, view: { ...state.view }, drawn: hits.length }),
  where(i) {
    drawNow();
    const box = plot.getBoundingClientRect(), hit = hits.find((h) => h.steps?.includes(i));
    return hit ? { x: box.left + (hit.x0 + hit.x1) / 2, y: box.top + markY + hit.y0, steps: hit.steps.length } : null;
  },
};
