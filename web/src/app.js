// The page. Its state is text: each future is a script, a seed and a moment.
import { ask, ready, took } from "./simulator.js";
import { createEditor } from "./editor.js";
import { decode, duration, shortened } from "./run.js";
import { drawTimeline } from "./timeline.js";
import { drawScene } from "./scene.js";
import { markdown } from "./text.js";
import { encode, decodeLink } from "./link.js";

const $ = (id) => document.getElementById(id);
const started = performance.now();
const start = `# A claim, a pod that uses it, and a driver that creates the disk. Change anything and look.
backend disk.example.com
node add n1 n2
apply -f app.yaml
settle
-- app.yaml --
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: fast
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 5Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: web
    volumeMounts: [{name: data, mountPath: /data}]
  volumes:
  - name: data
    persistentVolumeClaim: {claimName: data}
`;

// futures by name: {text, seed, state, run, tick, views}. The first is a.
const futures = {};
let active = "a", chosen = "", lessons = [], lesson = null, playing = null, busy = Promise.resolve();

const editor = createEditor($("editor"), edited, (text) => ask("complete", { text }));
const current = () => futures[active];
const names = () => Object.keys(futures).sort();
const end = (f) => f.state.times.length - 1;

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
}

// inTurn runs one action after the other.
function inTurn(action) {
  busy = busy.then(action).catch((err) => say(err.message, true));
  return busy;
}

let typing;
function edited(text) {
  clearTimeout(typing);
  pause();
  current().text = text;
  typing = setTimeout(() => inTurn(() => load(active, text, current().seed)), 350);
}

// load executes a text. Errors stay at their lines, and the last run stays in view.
async function load(name, text, seed, tick) {
  const answer = await ask("load", { run: name, text, seed: seed ?? undefined });
  const f = (futures[name] ??= {});
  f.text = text;
  f.seed = seed ?? null;
  showProblems(name, answer.problems);
  if (!answer.state) {
    say(`${answer.problems.length} line${answer.problems.length === 1 ? "" : "s"} with an error; the picture is that of the last text without one.`, true);
    return false;
  }
  accept(f, answer.state);
  f.tick = Math.min(tick ?? end(f), end(f));
  await picture(name);
  await show();
  return true;
}

function accept(f, state) {
  f.state = state;
  f.text = state.text;
}

async function picture(name) {
  const f = futures[name];
  f.run = decode(await ask("picture", { run: name }), f.state);
}

function showProblems(name, problems) {
  if (name !== active) return;
  editor.problems(problems);
  $("problems").replaceChildren(...problems.map((p) => {
    const li = document.createElement("li"), b = document.createElement("button");
    b.textContent = `line ${p.line}: ${p.text}`;
    b.onclick = () => editor.go(p.line);
    li.append(b);
    return li;
  }));
}

// tickAt returns the last moment of a run at a virtual time.
function tickAt(f, ns) {
  let n = 0;
  while (n < end(f) && f.state.times[n + 1] <= ns) n++;
  return n;
}

async function moveTo(tick, moving = false) {
  const f = current();
  f.tick = Math.min(Math.max(tick, 0), end(f));
  for (const name of names()) {
    if (name !== active) futures[name].tick = f.tick === end(f) ? end(futures[name]) : tickAt(futures[name], f.state.times[f.tick]);
  }
  await show(moving);
}

// show draws the moment of all futures.
async function show(moving = false) {
  const f = current();
  if (!f?.state) return;
  const views = {};
  for (const name of names()) if (futures[name].state) views[name] = await ask("view", { run: name, tick: futures[name].tick });
  drawTabs();
  drawObjects(views);
  $("slider").max = end(f);
  $("slider").value = f.tick;
  $("slider").setAttribute("aria-valuetext", `${views[active].offset}, event ${f.tick} of ${end(f)}`);
  $("clock").textContent = `${views[active].offset} · ${f.tick} of ${end(f)}`;
  if (document.activeElement?.closest("#editor") === null) editor.show(f.text);
  else if (editor.text() !== f.text) editor.show(f.text);
  editor.run(views[active].line);
  drawTargets(f.state.names);
  drawActs(drawScene($("scene"), f.run, f.tick, moving, 900 / Math.max(+$("speed").value, 1)));
  drawLanes();
  drawCommands(f);
  const failures = f.state.failures;
  if (failures.length) say(`Line ${failures[0].line}: ${failures[0].text}`, true);
  else if (f.state.violations.length) say(f.state.violations[0], true);
  else say(f.tick === end(f) ? f.state.summary : `In the past. What you do here begins a second future.`);
  clearTimeout(explaining);
  if (moving) explaining = setTimeout(() => inTurn(drawExplanation), 200);
  else await drawExplanation();
}

function drawLanes() {
  const f = current();
  drawTimeline($("lanes"), f.run, f.state.times.length, f.tick, chosen, ({ tick, object }) => inTurn(() => (object ? select(object) : moveTo(tick))));
}

function drawTabs() {
  const all = names();
  $("tabs").replaceChildren(...all.map((name) => {
    const f = futures[name], b = document.createElement("button");
    b.role = "tab";
    b.id = "tab-" + name;
    b.setAttribute("aria-selected", String(name === active));
    b.textContent = all.length === 1 ? "Script" : `Future ${name.toUpperCase()}${f.seed ? `, seed ${f.seed}` : ""}`;
    b.onclick = () => inTurn(() => activate(name));
    return b;
  }));
  if (all.length > 1) {
    const close = document.createElement("button");
    close.id = "closeTab";
    close.className = "quiet";
    close.textContent = `Close ${active.toUpperCase()}`;
    close.onclick = () => inTurn(closeTab);
    $("tabs").append(close);
  }
}

async function activate(name) {
  active = name;
  const f = current();
  editor.show(f.text);
  showProblems(name, []);
  $("seed").value = f.seed ?? f.state.seed;
  await moveTo(f.tick);
}

async function closeTab() {
  const kept = names().find((n) => n !== active);
  const f = futures[kept];
  delete futures.a;
  delete futures.b;
  active = "a";
  futures.a = {};
  await load("a", f.text, f.seed, f.tick);
  editor.show(futures.a.text);
  $("difference").hidden = true;
}

// drawObjects draws the tables, those of two futures side by side. Rows that changed since the last picture flash.
const before = {};
function drawObjects(views) {
  const parent = $("objects");
  const focused = document.activeElement?.dataset?.object;
  parent.classList.toggle("two", Object.keys(views).length > 1);
  const columns = Object.entries(views).map(([name, view]) => {
    const column = document.createElement("div");
    column.className = "future";
    if (Object.keys(views).length > 1) {
      const h = document.createElement("h2");
      h.textContent = `Future ${name.toUpperCase()} at ${view.offset}`;
      column.append(h);
    }
    const old = before[name] ?? {}, now = {};
    for (const t of view.tables) {
      const table = document.createElement("table"), caption = table.createCaption();
      caption.textContent = t.kind;
      const head = table.createTHead().insertRow();
      // Beside another future there is no room for columns without values.
      const hidden = (i) => Object.keys(views).length > 1 && t.rows.every((r) => r.cells[i] === "" || r.cells[i] === "<unset>" || r.cells[i] === "<none>");
      t.columns.forEach((c, i) => {
        if (hidden(i)) return;
        const th = document.createElement("th");
        th.scope = "col";
        th.textContent = c;
        head.append(th);
      });
      const body = table.createTBody();
      for (const r of t.rows) {
        const tr = body.insertRow();
        tr.className = "tone-" + r.tone + (r.ends ? " ends" : "") + (r.object === chosen ? " chosen" : "");
        r.cells.forEach((cell, i) => {
          if (hidden(i)) return;
          const td = tr.insertCell();
          if (i === 0) {
            const b = document.createElement("button");
            b.className = "object";
            b.textContent = shortened(cell);
            b.title = cell;
            b.dataset.object = r.object;
            b.dataset.run = name;
            b.setAttribute("aria-pressed", String(r.object === chosen && name === active));
            b.onclick = () => inTurn(() => select(r.object, name));
            td.append(b);
          } else {
            td.textContent = shortened(cell);
            td.title = cell;
          }
        });
        const said = r.cells.filter((_, i) => t.columns[i] !== "AGE").join("|");
        now[r.object] = said;
        if (old[r.object] !== undefined && old[r.object] !== said || old[r.object] === undefined && before[name]) tr.classList.add("fresh");
      }
      const wrap = document.createElement("div");
      wrap.className = "tableWrap";
      wrap.append(table);
      column.append(wrap);
    }
    if (!view.tables.length) column.append(Object.assign(document.createElement("p"), { className: "dim", textContent: "No objects." }));
    before[name] = now;
    return column;
  });
  parent.replaceChildren(...columns);
  if (focused) parent.querySelector(`[data-object="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

async function select(object, name = active) {
  chosen = object;
  if (name !== active) return activate(name);
  await show();
}

let explaining;
async function drawExplanation() {
  if (!chosen) return;
  const parts = [];
  for (const name of names()) {
    const f = futures[name];
    const box = document.createElement("div");
    if (names().length > 1) box.append(Object.assign(document.createElement("h3"), { textContent: `Future ${name.toUpperCase()}` }));
    const pre = document.createElement("pre");
    try {
      pre.textContent = await ask("explain", { run: name, tick: f.tick, object: chosen });
    } catch (err) {
      pre.textContent = err.message;
    }
    const details = document.createElement("details"), yaml = document.createElement("pre");
    details.append(Object.assign(document.createElement("summary"), { textContent: "YAML" }), yaml);
    details.ontoggle = () => details.open && ask("object", { run: name, tick: f.tick, object: chosen }).then((t) => { yaml.textContent = t; }, (err) => { yaml.textContent = err.message; });
    box.append(pre, details);
    parts.push(box);
  }
  $("explanation").replaceChildren(...parts);
}

function drawActs(happened) {
  $("acts").replaceChildren(...happened.slice(0, 12).map((e) => {
    const li = document.createElement("li");
    const lane = current().run.lanes[e.lane];
    li.className = e.err ? "bad" : "";
    li.textContent = `${e.actor || "the cluster"}: ${[e.head, lane && `${lane.kind} ${lane.label}`, e.text, e.err].filter((x) => x).join(" · ")}${e.rule ? ` (${e.rule.id})` : ""}`;
    if (e.rule?.text) li.title = e.rule.text;
    return li;
  }));
}

function drawCommands(f) {
  $("commands").replaceChildren(...f.state.commands.filter((c) => c.output || c.error || c.expects).map((c) => {
    const div = document.createElement("div"), head = document.createElement("code"), pre = document.createElement("pre");
    head.textContent = `${c.expects ? (c.failed ? "✗ " : "✓ ") : "> "}${c.text}`;
    head.className = c.failed ? "bad" : "";
    pre.textContent = [c.output, c.error].filter((x) => x).join("\n");
    div.append(head, pre);
    return div;
  }));
}

function options(select, values) {
  const old = select.value;
  if ([...select.options].map((o) => o.value).join() === values.join()) return;
  select.replaceChildren(...values.map((v) => new Option(v, v)));
  if (values.includes(old)) select.value = old;
}

function drawTargets(targets) {
  options($("node"), targets.nodes);
  options($("driver"), targets.drivers);
  options($("controller"), targets.controllers);
  for (const id of ["kill", "cut", "revive", "node"]) $(id).disabled = !targets.nodes.length;
  for (const id of ["fail", "slow", "lose", "driver", "op"]) $(id).disabled = !targets.drivers.length;
}

// act does something at the moment that is shown: at the end of the run, or as the beginning of a second future.
async function act(...lines) {
  pause();
  const f = current();
  if (f.tick === end(f)) {
    for (const line of lines) accept(f, (await ask("do", { run: active, line })).state);
    f.tick = end(f);
    await picture(active);
    await show();
    return;
  }
  const at = f.state.times[f.tick];
  const text = await ask("fork", { run: active, tick: f.tick, lines, rest: true });
  const from = active, name = from === "a" ? "b" : "a";
  if (!(await load(name, text, f.seed))) throw new Error("the second future has an error");
  futures[name].tick = end(futures[name]);
  futures[from].tick = end(futures[from]);
  active = name;
  editor.show(futures[name].text);
  await compare();
  await moveTo(end(futures[name]));
  say(`A second future: from +${duration(at)} on, ${lines.join("; ")}.`);
}

async function compare() {
  if (names().length < 2) return;
  $("differenceText").textContent = await ask("compare", { A: "a", B: "b" });
  $("difference").hidden = false;
}

async function forward(moving) {
  const f = current();
  if (f.tick < end(f)) await moveTo(f.tick + 1, moving);
  else await act("step");
}

async function nextChange() {
  const f = current();
  for (let n = f.tick + 1; n <= end(f); n++) if (f.state.seqs[n] > f.state.seqs[f.tick]) return moveTo(n, true);
  const steps = await ask("next", { run: active });
  if (steps === 0) return say("Nothing changes any more, unless you act.");
  await moveTo(end(f));
  await act(`step ${steps}`);
}

// beyond lets time pass: from the end of the run on.
async function beyond(line) {
  await moveTo(end(current()));
  await act(line);
}

function pause() {
  clearInterval(playing);
  playing = null;
  $("play").textContent = "▶";
  $("play").setAttribute("aria-label", "Play");
}

function play() {
  if (playing) return pause();
  const f = current();
  if (f.tick === end(f)) f.tick = 0;
  $("play").textContent = "⏸";
  $("play").setAttribute("aria-label", "Pause");
  playing = setInterval(() => {
    const now = current();
    if (now.tick >= end(now)) return pause();
    // Events that leave no trace are passed over.
    let n = now.tick + 1;
    while (n < end(now) && now.state.seqs[n] === now.state.seqs[now.tick]) n++;
    inTurn(() => moveTo(n, true));
  }, 1000 / +$("speed").value);
}

const driverFault = (effect) => inTurn(() => act(`fault backend ${$("driver").value} ${$("op").value} ${effect} once`));
const nodeFault = (...effects) => inTurn(() => act(...effects.map((e) => `? fault node ${$("node").value} ${e}`)));
const on = (id, action) => { $(id).onclick = action; };

on("first", () => inTurn(() => moveTo(0)));
on("last", () => inTurn(() => moveTo(end(current()))));
on("back", () => { pause(); inTurn(() => moveTo(current().tick - 1)); });
on("forward", () => { pause(); inTurn(() => forward(true)); });
on("play", play);
on("change", () => { pause(); inTurn(nextChange); });
on("quiet", () => inTurn(() => beyond("settle")));
on("minute", () => inTurn(() => beyond("advance 1m")));
on("kill", () => nodeFault("poweroff"));
on("cut", () => nodeFault("partition"));
on("revive", () => nodeFault("heal", "start"));
on("fail", () => driverFault("error=Internal:'broken by hand'"));
on("slow", () => driverFault("delay=2m"));
on("lose", () => driverFault("lose=DeadlineExceeded:'the reply is lost'"));
on("restart", () => inTurn(() => act(`crash ${$("controller").value}`, `restart ${$("controller").value}`)));
$("slider").oninput = () => { pause(); inTurn(() => moveTo(+$("slider").value)); };
$("seed").onchange = () => inTurn(() => load(active, current().text, Math.max(0, Math.trunc(+$("seed").value) || 0)));

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("#editor, input:not([type=range]), textarea, select, dialog")) return;
  const keys = { " ": play, ArrowLeft: $("back").onclick, ArrowRight: $("forward").onclick, Home: $("first").onclick, End: $("last").onclick, n: $("change").onclick, q: $("quiet").onclick, m: $("minute").onclick, "?": $("help").onclick, e: () => editor.view.focus() };
  const action = keys[e.key];
  if (!action || (e.key === " " && e.target.closest?.("button, summary"))) return;
  e.preventDefault();
  action();
});

// Lessons.
function drawLessons() {
  const select = $("open");
  select.replaceChildren(new Option("An example", ""));
  for (const group of new Set(lessons.map((l) => l.group))) {
    const g = document.createElement("optgroup");
    g.label = group;
    for (const l of lessons) if (l.group === group) g.append(new Option(l.title.slice(0, 90), l.id));
    select.append(g);
  }
}

async function open(id) {
  await choose(id);
  pause();
  delete futures.b;
  futures.a = { seed: null };
  active = "a";
  chosen = "";
  $("difference").hidden = true;
  $("explanation").innerHTML = '<p class="dim">Select an object.</p>';
  const text = lesson?.script ?? start;
  editor.show(text);
  if (await load("a", text, null)) $("seed").value = current().state.seed;
}

// choose shows the text of a lesson and its question.
async function choose(id) {
  const found = lessons.find((l) => l.id === id);
  lesson = found ? { ...found, ...(await ask("lesson", { text: found.text })) } : null;
  $("open").value = lesson?.id ?? "";
  $("lesson").hidden = !lesson;
  $("question").hidden = !lesson?.question;
  if (!lesson) return;
  const intro = lesson.script.split("\n").filter((l, i, all) => l.startsWith("#") && all.slice(0, i).every((x) => x.startsWith("#"))).map((l) => l.replace(/^# ?/, "")).join("\n");
  // The parts about files of the repository make no sense here.
  $("lessonText").innerHTML = markdown((lesson.about ?? intro).replace(/```sh\n[^`]*```\n/, "").replace(/^\[lesson\.txtar\].*\n/m, ""));
  $("questionText").textContent = lesson.question ?? "";
  $("checked").textContent = "";
}

on("check", () => inTurn(async () => {
  const answers = await ask("holds", { run: active, lines: lesson.expect });
  const wrong = answers.findIndex((a) => a !== "");
  $("checked").textContent = wrong < 0 ? "Yes, that is it." : `Not yet: ${answers[wrong].replace(/^[^:]*:\d+: /, "")}`;
  $("checked").className = wrong < 0 ? "good" : "bad";
}));

on("hint", () => inTurn(async () => {
  editor.show(lesson.solved);
  await load(active, lesson.solved, current().seed);
}));

$("open").onchange = () => inTurn(() => open($("open").value));

// Seeds.
let sweeping = false;
on("seeds", () => $("seedsDialog").showModal());
on("stopSweep", () => { sweeping = false; });
on("sweep", async () => {
  sweeping = true;
  $("sweep").disabled = true;
  $("stopSweep").disabled = false;
  $("foundSeeds").replaceChildren();
  const count = +$("count").value, goal = $("goal").value, text = current().text;
  let wrong = 0, n = 0;
  try {
    for (n = 1; n <= count && sweeping && wrong < 10; n++) {
      const answer = await ask("try", { text, seed: n, goal });
      $("progress").value = n / count;
      $("found").textContent = `${n} of ${count} seeds, ${wrong} wrong`;
      if (answer.ok) continue;
      wrong++;
      const li = document.createElement("li"), b = document.createElement("button"), seed = n;
      b.type = "button";
      b.textContent = `seed ${n}`;
      b.onclick = () => { $("seedsDialog").close(); sweeping = false; inTurn(() => openSeed(seed)); };
      li.append(b, ` ${answer.problem.split("\n")[0]}`);
      $("foundSeeds").append(li);
    }
    $("found").textContent = `${n - 1} of ${count} seeds, ${wrong} wrong${wrong ? "; choose one to see it beside the present order" : ""}`;
  } catch (err) {
    $("found").textContent = err.message;
  }
  sweeping = false;
  $("sweep").disabled = false;
  $("stopSweep").disabled = true;
});

// openSeed runs the script with another seed, beside the present order.
async function openSeed(seed) {
  const text = current().text, other = current().seed;
  delete futures.b;
  futures.a = {};
  active = "a";
  await load("a", text, other ?? current().seed);
  await load("b", text, seed);
  active = "b";
  $("seed").value = seed;
  await compare();
  const a = futures.a.state, b = futures.b.state;
  let n = 0;
  while (n < Math.min(a.seqs.length, b.seqs.length) && a.seqs[n] === b.seqs[n] && a.times[n] === b.times[n]) n++;
  await moveTo(Math.min(n, end(futures.b)));
  say(`Seed ${seed}, at the first event after which the order may differ. Step forward to follow it.`);
}

// Dumps.
on("dump", () => $("dumpDialog").showModal());
async function dumpAnswer(steps) {
  $("dumpAnswer").textContent = "…";
  try {
    const answer = await ask("dump", { text: $("dumpText").value, objects: $("dumpObjects").value, steps });
    $("dumpIgnored").textContent = answer.ignored ? `ignored: ${answer.ignored}` : "";
    $("dumpAnswer").textContent = answer.text;
  } catch (err) {
    $("dumpAnswer").textContent = err.message;
  }
}
on("dumpExplain", () => dumpAnswer(""));
on("dumpPredict", () => dumpAnswer($("dumpSteps").value || "nothing"));

// Links and files.
on("share", () => inTurn(async () => {
  const state = { v: 1, active, lesson: lesson?.id, chosen, futures: names().map((n) => ({ n, text: futures[n].text, seed: futures[n].seed, tick: futures[n].tick })) };
  location.hash = "s=" + await encode(state);
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied, and is the address of this page.");
  } catch {
    say("The link is the address of this page.");
  }
}));

async function restore(state) {
  await choose(state.lesson);
  chosen = state.chosen ?? "";
  for (const f of state.futures) {
    active = f.n;
    await load(f.n, f.text, f.seed, f.tick);
  }
  active = state.active in futures ? state.active : "a";
  editor.show(current().text);
  $("seed").value = current().seed ?? current().state?.seed ?? 0;
  await compare();
  await show();
}

$("export").onchange = () => inTurn(async () => {
  const format = $("export").value;
  $("export").value = "";
  if (!format) return;
  const text = await ask("export", { run: active, format });
  const file = { txtar: "playground.txtar", go: "playground_test.go", html: "playground.html", trace: "trace.txt" }[format];
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([text], { type: format === "html" ? "text/html" : "text/plain" }));
  a.download = file;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
  say(`${file} is saved.`);
});

on("help", () => $("helpDialog").showModal());
on("theme", () => {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  if (current()?.run) drawLanes();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => current()?.run && drawLanes());
addEventListener("resize", () => current()?.run && drawLanes());

async function begin() {
  lessons = await (await fetch("lessons.json")).json();
  drawLessons();
  futures.a = { text: start, seed: null };
  editor.show(start);
  await ready;
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (fragment.get("s")) await restore(await decodeLink(fragment.get("s")));
  else await open(fragment.get("open") ?? "");
  page.firstPicture = performance.now() - started;
  if ("serviceWorker" in navigator) await navigator.serviceWorker.register("sw.js");
}

// page is for tests: what is shown, and how long it took.
const page = { ask, took, idle: async () => { await busy; await new Promise((r) => setTimeout(r)); await busy; }, state: () => ({ active, chosen, futures: names(), tick: current().tick, end: end(current()), text: current().text, seed: current().seed, failures: current().state.failures }), editor, firstPicture: 0 };
window.playground = page;
busy = begin().catch((err) => say(err.message, true));
