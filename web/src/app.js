// The page. Its state is text: each future is a script, a seed and a moment.
import { ask, ready, restart, onLoading, onEnd, took } from "./simulator.js";
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

// futures by name: {text, seed, problems, state, run, tick}. The text may have problems; the state is that of the last text without one. The
// first is a.
const futures = {};
let active = "a", chosen = "", lessons = [], lesson = null, playing = null, busy = Promise.resolve(), asked = 0;

const editor = createEditor($("editor"), edited, (text, rest) => ask("complete", { text, rest }).catch(() => ({ options: [] })));
const current = () => futures[active];
const names = () => Object.keys(futures).sort();
const end = (f) => f.state.times.length - 1;

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
}

// inTurn runs one action after the other. What was typed before is executed first.
function inTurn(action) {
  asked++;
  document.body.classList.add("busy");
  busy = busy.then(recover).then(typed).then(action).catch((err) => say(err.message, true)).then(() => { if (--asked === 0) document.body.classList.remove("busy"); });
  return busy;
}

// writing are the futures with typed text that was not executed yet; unsaved is true if typed text is in no file or link.
const writing = new Set();
let typing, unsaved = false;
function edited(text) {
  pause();
  current().text = text;
  $("checked").textContent = "";
  unsaved = true;
  writing.add(active);
  clearTimeout(typing);
  typing = setTimeout(() => inTurn(() => {}), 350);
}

// typed executes what was typed.
async function typed() {
  const all = names().filter((name) => writing.has(name));
  writing.clear();
  for (const name of all) await load(name, futures[name].text, futures[name].seed);
}

// lost says why the simulator has ended, "" if its runs exist.
let lost = "";
onEnd((reason) => {
  lost = reason;
  inTurn(() => {});
});

// recover runs again what was shown before a simulator ended; if that ends it, too, an empty cluster is shown.
async function recover() {
  if (!lost) return;
  const why = lost;
  lost = "";
  for (const name of names()) {
    const f = futures[name], ran = f.again ? undefined : f.state?.text;
    if (!f.state && name !== "a") {
      turnTo("a");
      delete futures[name];
      continue;
    }
    f.again = true;
    f.state = (await ask("load", { run: name, text: ran ?? "now\n", seed: f.seed ?? undefined })).state;
    f.again = false;
    f.tick = Math.min(f.tick ?? end(f), end(f));
    f.problems = f.text === ran ? [] : [{ line: 1, text: `${why} Change the script to run it.` }];
    await picture(name);
  }
  await compare();
  await show();
  say(why, true);
}

// turnTo makes a future the one that is edited.
function turnTo(name) {
  if (name !== active) futures[active].editor = editor.turn(futures[name].text, futures[name].editor);
  active = name;
}

// load executes a text. Errors stay at their lines, and the last run stays in view.
async function load(name, text, seed, tick) {
  const f = (futures[name] ??= {});
  f.text = text;
  f.seed = seed ?? null;
  if (name === active) editor.show(text);
  const answer = await ask("load", { run: name, text, seed: seed ?? undefined });
  f.problems = answer.problems;
  // Without an earlier run, the picture is that of an empty cluster.
  const state = answer.state ?? (f.state ? null : (await ask("load", { run: name, text: "now\n" })).state);
  if (state) {
    f.state = state;
    f.tick = Math.min(tick ?? end(f), end(f));
    await picture(name);
  }
  await show();
  return answer.problems.length === 0;
}

// sound refuses an action if the text has an error: the picture is not that of the text. With whole it also refuses it if a line failed.
function sound(whole = false) {
  const f = current();
  if (f.problems.length) throw new Error(`Correct line ${f.problems[0].line} first: ${f.problems[0].text}`);
  if (whole && f.state.failures.length) throw new Error(`Correct line ${f.state.failures[0].line} first: it failed, and the script ends there.`);
}

// appended returns a text with one more command.
function appended(text, line) {
  const files = text.search(/^-- .* --$/m), script = files < 0 ? text : text.slice(0, files);
  return script + (script === "" || script.endsWith("\n") ? "" : "\n") + line + "\n" + text.slice(script.length);
}

// mayDiscard asks before typed text is lost.
const mayDiscard = () => !unsaved || confirm("Discard what you typed?");

async function picture(name) {
  const f = futures[name];
  f.run = decode(await ask("picture", { run: name }), f.state);
}

// showProblems marks lines that have an error or that failed.
function showProblems(f) {
  const problems = f.problems.length ? f.problems : f.state.failures;
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
  redraw($("tabs"), drawTabs);
  redraw($("objects"), () => drawObjects(views));
  $("slider").max = end(f);
  if (wanted === null) $("slider").value = f.tick;
  $("slider").setAttribute("aria-valuetext", `${views[active].offset}, event ${f.tick} of ${end(f)}`);
  $("clock").textContent = `${views[active].offset} · ${f.tick} of ${end(f)}`;
  editor.show(f.text);
  showProblems(f);
  editor.run(views[active].line);
  drawTargets(f.state.names);
  drawActs(drawScene($("scene"), f.run, f.tick, moving === true, 900 / Math.max(+$("speed").value, 1)));
  drawLanes();
  drawCommands(f);
  const n = f.problems.length, failed = f.state.failures[0], last = f.tick === end(f);
  if (n) say(`${n} line${n === 1 ? "" : "s"} with an error; the picture is that of the last text without one.`, true);
  else if (!last) say("In the past. What you do here begins a second future.");
  else if (failed) say(`Line ${failed.line}: ${failed.text}${f.state.commands.some((c) => c.failed && c.expects) ? ". The run ends here; if you wanted this, change or remove the line." : ""}`, true);
  else if (f.state.violations.length) say(f.state.violations[0], true);
  else say(f.state.summary);
  clearTimeout(explaining);
  explaining = null;
  if (moving) explaining = setTimeout(() => { explaining = null; inTurn(drawExplanation); }, 200);
  else await drawExplanation();
}

// redraw draws the content of an element again, and keeps the focus.
function redraw(parent, draw) {
  const at = parent.contains(document.activeElement) && document.activeElement.dataset.key;
  draw();
  if (at) parent.querySelector(`[data-key="${CSS.escape(at)}"]`)?.focus({ preventScroll: true });
}

// seek moves to the newest of the moments that were asked for, and leaves out the others.
let wanted = null;
function seek(tick, moving = "seek") {
  const queued = wanted !== null;
  wanted = tick;
  if (queued) return;
  inTurn(() => {
    const to = wanted;
    wanted = null;
    return moveTo(to, moving);
  });
}

function drawLanes() {
  const f = current();
  redraw($("lanes"), () => drawTimeline($("lanes"), f.run, f.state.times, f.tick, chosen, ({ tick, object }) => (object ? inTurn(() => select(object)) : seek(tick))));
}

function drawTabs() {
  const all = names();
  $("tablist").replaceChildren(...all.map((name) => {
    const f = futures[name], b = document.createElement("button");
    b.role = "tab";
    b.id = "tab-" + name;
    b.dataset.key = name;
    b.tabIndex = name === active ? 0 : -1;
    b.setAttribute("aria-selected", String(name === active));
    b.setAttribute("aria-controls", "editor");
    b.textContent = all.length === 1 ? "Script" : `Future ${name.toUpperCase()}${f.seed ? `, seed ${f.seed}` : ""}`;
    b.onclick = () => inTurn(() => activate(name));
    return b;
  }));
  $("editor").setAttribute("aria-labelledby", "tab-" + active);
  $("closeTab").hidden = all.length < 2;
  $("closeTab").textContent = `Close ${active.toUpperCase()}`;
}

$("tablist").onkeydown = (e) => {
  const all = names(), step = { ArrowLeft: all.length - 1, ArrowRight: 1 }[e.key];
  if (!step) return;
  e.preventDefault();
  inTurn(async () => {
    await activate(all[(all.indexOf(active) + step) % all.length]);
    $("tab-" + active).focus();
  });
};

async function activate(name) {
  turnTo(name);
  const f = current();
  $("seed").value = f.seed ?? f.state.seed;
  await moveTo(f.tick);
}

async function closeTab() {
  const kept = names().find((n) => n !== active);
  const f = futures[kept];
  turnTo(kept);
  delete futures.a;
  delete futures.b;
  active = "a";
  futures.a = {};
  await load("a", f.text, f.seed, f.tick);
  $("difference").hidden = true;
}

// drawObjects draws the tables, those of two futures side by side. Rows that changed since the last picture flash.
const before = {};
function drawObjects(views) {
  const parent = $("objects");
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
            b.dataset.key = `${name} ${r.object}`;
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
}

async function select(object, name = active) {
  chosen = object;
  if (name !== active) await activate(name);
  else await show();
  $("details").scrollIntoView({ block: "nearest" });
}

// explaining is the timer of an explanation that waits until the moment stays; yaml is true if the YAML of objects is open.
let explaining = null, yaml = false;
async function drawExplanation() {
  if (!chosen) return;
  const parts = [];
  for (const name of names()) {
    const f = futures[name];
    const box = document.createElement("div");
    if (names().length > 1) box.append(Object.assign(document.createElement("h3"), { textContent: `Future ${name.toUpperCase()}` }));
    const request = { run: name, tick: f.tick, object: chosen };
    const told = (method) => ask(method, request).catch((err) => err.message);
    const details = document.createElement("details"), pre = document.createElement("pre");
    details.append(Object.assign(document.createElement("summary"), { textContent: "YAML" }), pre);
    const text = await told("explain"), explained = !text.includes("cannot explain this kind");
    if (explained) box.append(indented(text));
    else box.append(Object.assign(document.createElement("p"), { className: "dim", textContent: chosen }));
    details.open = yaml || !explained;
    if (details.open) pre.textContent = await told("object");
    details.ontoggle = async () => {
      if (explained) yaml = details.open;
      if (details.open && !pre.textContent) pre.textContent = await told("object");
    };
    box.append(details);
    parts.push(box);
  }
  $("explanation").replaceChildren(...parts);
}

// indented returns lines that keep their indent when they are wrapped; below a word and a gap, they keep that of the text beside it.
function indented(text) {
  const pre = document.createElement("pre");
  pre.append(...text.split("\n").map((line) => {
    const span = document.createElement("span"), [, own, word] = /^( *)(\S+ {3,})?/.exec(line);
    const indent = own.length + (word?.length ?? 2);
    span.className = "line";
    span.style.paddingLeft = `${indent}ch`;
    span.style.textIndent = `${-indent}ch`;
    span.textContent = line + "\n";
    return span;
  }));
  return pre;
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

// drawCommands shows the output of the lines that are finished at the moment, with the last one in view.
function drawCommands(f) {
  const { lines, commands } = f.state, at = lines[f.tick], finished = lines[f.tick + 1] === at ? at - 1 : at;
  const shown = commands.filter((c) => c.line <= finished && (c.output || c.error || c.expects));
  $("output").hidden = !shown.length;
  $("commands").replaceChildren(...shown.map((c) => {
    const div = document.createElement("div"), head = document.createElement("code"), pre = document.createElement("pre");
    head.textContent = `${c.expects ? (c.failed ? "✗ " : "✓ ") : "> "}${c.text}`;
    head.className = c.failed ? "bad" : "";
    pre.textContent = [c.output, c.error].filter((x) => x).join("\n");
    div.append(head, pre);
    return div;
  }));
  $("commands").scrollTop = $("commands").scrollHeight;
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
  $("checked").textContent = "";
  sound(f.tick === end(f));
  if (f.tick === end(f)) {
    for (const line of lines) {
      const ran = f.state.text;
      f.state = (await ask("do", { run: active, line })).state;
      f.text = f.text === ran ? f.state.text : appended(f.text, line); // the user may have typed meanwhile
      f.tick = end(f);
    }
    await picture(active);
    await show();
    return;
  }
  if (names().length > 1) throw new Error("There are two futures already. Close one of them first.");
  const at = f.state.times[f.tick];
  const text = await ask("fork", { run: active, tick: f.tick, lines, rest: true });
  const from = active, name = from === "a" ? "b" : "a";
  if (!(await load(name, text, f.seed))) {
    delete futures[name];
    await show();
    throw new Error("The second future has an error.");
  }
  futures[name].tick = end(futures[name]);
  futures[from].tick = end(futures[from]);
  turnTo(name);
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
  sound(true);
  const steps = await ask("next", { run: active });
  if (steps === 0) return say("Nothing changes any more, unless you act.");
  await moveTo(end(f));
  await act(`step ${steps}`);
}

// beyond lets time pass: from the end of the run on.
async function beyond(line) {
  sound(true);
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
    if (wanted !== null) return; // the page is busy
    if (now.tick >= end(now)) return pause();
    // Events that leave no trace are passed over.
    let n = now.tick + 1;
    while (n < end(now) && now.state.seqs[n] === now.state.seqs[now.tick]) n++;
    seek(n, true);
  }, 1000 / +$("speed").value);
}

const driverFault = (effect) => inTurn(() => act(`fault backend ${$("driver").value} ${$("op").value} ${effect} once`));
const nodeFault = (...effects) => inTurn(() => act(...effects.map((e) => `? fault node ${$("node").value} ${e}`)));
const on = (id, action) => { $(id).onclick = action; };

on("first", () => inTurn(() => moveTo(0)));
on("last", () => inTurn(() => moveTo(end(current()))));
on("back", () => { pause(); seek((wanted ?? current().tick) - 1); });
on("forward", () => {
  pause();
  const tick = wanted ?? current().tick;
  if (tick < end(current())) seek(tick + 1, true);
  else inTurn(() => forward(true));
});
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
on("stop", () => restart("You stopped the run."));
on("closeTab", () => inTurn(closeTab));
$("slider").oninput = () => { pause(); seek(+$("slider").value); };
$("seed").onchange = () => inTurn(() => {
  const f = current(), seed = $("seed").valueAsNumber;
  if (Number.isSafeInteger(seed) && seed >= 0) return load(active, f.text, seed);
  $("seed").value = f.seed ?? f.state.seed;
  throw new Error("A seed is a whole number from 0 on.");
});

document.addEventListener("keydown", (e) => {
  if ($("main").inert || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("#editor, #tablist, input:not([type=range]), textarea, select, dialog")) return;
  const keys = { " ": play, ArrowLeft: $("back").onclick, ArrowRight: $("forward").onclick, Home: $("first").onclick, End: $("last").onclick, n: $("change").onclick, q: $("quiet").onclick, m: $("minute").onclick, "?": $("help").onclick, e: () => editor.view.focus() };
  const action = keys[e.key];
  if (!action || (e.key === " " && e.target.closest?.("button, summary"))) return;
  e.preventDefault();
  action();
});

// Lessons.
function drawLessons() {
  const select = $("open");
  select.replaceChildren(new Option("An example", ""), new Option("A file…", "file"));
  for (const group of new Set(lessons.map((l) => l.group))) {
    const g = document.createElement("optgroup");
    g.label = group;
    for (const l of lessons) if (l.group === group) g.append(new Option(l.title.length > 90 ? l.title.slice(0, 90).replace(/\s+\S*$/, "…") : l.title, l.id));
    select.append(g);
  }
}

// open shows a lesson, or the example; first has the text, seed and moment of its future if they are others. own is a script of the user: its
// question is asked.
async function open(id, first = {}, own = "") {
  await choose(id, own);
  pause();
  delete futures.b;
  futures.a = { seed: null };
  active = "a";
  chosen = "";
  unsaved = false;
  delete before.a;
  delete before.b;
  $("difference").hidden = true;
  $("explanation").innerHTML = '<p class="dim">Select an object.</p>';
  const text = first.text ?? lesson?.script ?? start;
  editor.turn(text);
  $("right").scrollTop = 0;
  await load("a", text, first.seed, first.tick);
  $("seed").value = current().seed ?? current().state.seed;
}

// drawChoice shows in the menu what is open; a file is no entry of it.
function drawChoice() {
  $("open").value = lesson?.id ?? "";
  if (lesson && !lesson.id) $("open").selectedIndex = -1;
}

// choose shows the text of a lesson and its question.
async function choose(id, own) {
  const found = own ? { text: own } : lessons.find((l) => l.id === id);
  lesson = found ? { ...found, ...(await ask("lesson", { text: found.text })) } : null;
  drawChoice();
  $("lesson").hidden = !lesson;
  $("question").hidden = !lesson?.question;
  if (!lesson) return;
  const intro = lesson.script.split("\n").filter((l, i, all) => l.startsWith("#") && all.slice(0, i).every((x) => x.startsWith("#"))).map((l) => l.replace(/^# ?/, "")).join("\n");
  // The parts about files of the repository make no sense here.
  $("lessonText").innerHTML = markdown((lesson.about ?? intro).replace(/```sh\n[^`]*```\n/, "").replace(/^\[lesson\.txtar\].*\n/m, ""));
  $("lesson").scrollTop = 0;
  $("questionText").textContent = lesson.question ?? "";
  $("checked").textContent = "";
}

on("check", () => inTurn(async () => {
  $("checked").textContent = "";
  sound(true);
  await moveTo(end(current())); // the question is about the end
  const answers = await ask("holds", { run: active, lines: lesson.expect });
  const wrong = answers.findIndex((a) => a !== "");
  $("checked").textContent = wrong < 0 ? "Yes, that is it." : `Not yet: ${answers[wrong].replace(/^[^:]*:\d+: /, "")}`;
  $("checked").className = wrong < 0 ? "good" : "bad";
}));

on("hint", () => inTurn(async () => {
  if (!mayDiscard()) return;
  unsaved = false;
  const added = editor.show(lesson.solved);
  await load(active, lesson.solved, current().seed);
  editor.select(added);
}));

$("open").onchange = () => {
  const id = $("open").value;
  if (id !== "file") return inTurn(() => openLesson(id));
  drawChoice();
  $("file").value = "";
  $("file").click();
};

async function openLesson(id) {
  if (!mayDiscard()) return drawChoice();
  history.pushState(null, "", id ? `#open=${id}` : "#");
  await enter();
}

// A file is a script, or manifests that a script of two lines applies.
$("file").onchange = () => inTurn(async () => {
  const file = $("file").files[0];
  if (!file || !mayDiscard()) return;
  const text = await file.text(), name = file.name.replace(/\s/g, "-");
  history.pushState(null, "", "#");
  shown = location.hash;
  await open("", {}, /\.ya?ml$/.test(name) ? `apply -f ${name}\nsettle\n-- ${name} --\n${text}` : text);
});
addEventListener("beforeunload", (e) => unsaved && e.preventDefault());

// Seeds.
let sweeping = false;
on("seeds", () => $("seedsDialog").showModal());
on("stopSweep", () => { sweeping = false; });
$("seedsDialog").onclose = () => { sweeping = false; };
on("sweep", async (e) => {
  e.preventDefault(); // it would close the dialog
  if (sweeping || !$("count").reportValidity()) return;
  const goal = $("goal").value;
  await inTurn(() => {}); // what was typed
  sweeping = true;
  $("sweep").disabled = true;
  $("stopSweep").disabled = false;
  $("foundSeeds").replaceChildren();
  const count = +$("count").value, text = current().text;
  let wrong = 0, n = 0;
  try {
    sound();
    for (n = 1; n <= count && sweeping && wrong < 10; n++) {
      const answer = await ask("try", { text, seed: n, goal });
      $("progress").value = n / count;
      $("found").textContent = `${n} of ${count} seeds, ${wrong} wrong`;
      if (answer.ok) continue;
      wrong++;
      const li = document.createElement("li"), b = document.createElement("button"), seed = n;
      b.type = "button";
      b.textContent = `seed ${n}`;
      b.onclick = () => { $("seedsDialog").close(); inTurn(() => openSeed(seed)); };
      li.append(b, ` ${answer.problem.split("\n")[0]}`);
      $("foundSeeds").append(li);
    }
    $("found").textContent = `${n - 1} of ${count} seeds, ${wrong} wrong${wrong ? "; choose one to see it beside the present order" : ""}`;
  } catch (err) {
    $("found").textContent = err.message.replace(/^[^:]*:\d+: /, "It must also hold: ");
  }
  sweeping = false;
  $("sweep").disabled = false;
  $("stopSweep").disabled = true;
});

// openSeed runs the script with another seed, beside the present order.
async function openSeed(seed) {
  const text = current().text, other = current().seed;
  if (names().some((n) => futures[n].text !== text)) throw new Error("There are two futures already. Close one of them first.");
  delete futures.b;
  futures.a = {};
  active = "a";
  await load("a", text, other ?? current().seed);
  await load("b", text, seed);
  turnTo("b");
  $("seed").value = seed;
  await compare();
  const a = futures.a.state, b = futures.b.state;
  let n = 0;
  while (n < Math.min(a.seqs.length, b.seqs.length) && a.seqs[n] === b.seqs[n] && a.times[n] === b.times[n]) n++;
  await moveTo(Math.min(n, end(futures.b)));
  say(`Seed ${seed}, at the first event after which the order may differ. Step forward to follow it.`);
}

// Dumps.
let dumps = 0;
on("dump", () => $("dumpDialog").showModal());
$("dumpDialog").onclose = () => { if (dumps && !$("dumpDialog").open) restart("You stopped the explanation."); };
async function dumpAnswer(steps) {
  $("dumpAnswer").textContent = "…";
  dumps++;
  try {
    const answer = await ask("dump", { text: $("dumpText").value, objects: $("dumpObjects").value, steps });
    $("dumpIgnored").textContent = answer.ignored ? `ignored: ${answer.ignored}` : "";
    $("dumpAnswer").textContent = answer.text;
  } catch (err) {
    $("dumpAnswer").textContent = err.message;
  }
  dumps--;
}
on("dumpExplain", (e) => { e.preventDefault(); dumpAnswer(""); });
on("dumpPredict", () => dumpAnswer($("dumpSteps").value || "nothing"));
on("dumpCopy", () => navigator.clipboard.writeText($("dumpCommand").textContent));
$("dumpSteps").onkeydown = (e) => {
  if (e.key !== "Enter") return;
  e.preventDefault();
  $("dumpPredict").click();
};

// Links and files.
on("share", () => inTurn(async () => {
  const state = { v: 1, active, lesson: lesson?.id, own: lesson && !lesson.id ? lesson.text : undefined, chosen, futures: names().map((n) => ({ n, text: futures[n].text, seed: futures[n].seed, tick: futures[n].tick })) };
  history.replaceState(null, "", "#s=" + await encode(state));
  shown = location.hash;
  unsaved = false;
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied, and is the address of this page.");
  } catch {
    say("The link is the address of this page.");
  }
}));

async function restore(state) {
  await open(state.lesson, state.futures[0], state.own);
  chosen = state.chosen ?? "";
  for (const f of state.futures.slice(1)) await load(f.n, f.text, f.seed, f.tick);
  turnTo(state.active in futures ? state.active : "a");
  $("seed").value = current().seed ?? current().state.seed;
  await compare();
  await show();
}

// enter shows what the fragment of the address says: a shared state, a lesson, or the example. shown is the fragment of what is shown.
let shown = "";
async function enter() {
  shown = location.hash;
  const fragment = new URLSearchParams(shown.slice(1)), id = fragment.get("open") ?? "";
  let state, problem = "";
  if (fragment.has("s")) state = await decodeLink(fragment.get("s")).catch(() => null);
  else if (id && !lessons.some((l) => l.id === id)) problem = `There is no lesson ${JSON.stringify(id)}. This is the example.`;
  if (state?.futures?.[0]?.n === "a") return restore(state);
  if (fragment.has("s")) problem = "The link is damaged. This is the example.";
  await open(id);
  if (problem) say(problem, true);
}

addEventListener("hashchange", () => inTurn(() => {
  if (!lessons.length || location.hash === shown || !/^(#(s|open)=.*)?$/.test(location.hash)) return;
  if (mayDiscard()) return enter();
  history.replaceState(null, "", shown || "#");
}));

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
  if (format === "txtar") unsaved = false;
  say(`${file} is saved.`);
});

on("help", () => $("helpDialog").showModal());
on("theme", () => {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  if (current()?.run) drawLanes();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => current()?.run && drawLanes());
new ResizeObserver(() => document.documentElement.style.setProperty("--timeHeight", `${$("time").offsetHeight}px`)).observe($("time"));
addEventListener("resize", () => current()?.run && drawLanes());

async function begin() {
  onLoading((text) => { $("loading").textContent = text; });
  const response = await fetch("lessons.json");
  if (!response.ok) throw new Error(`load lessons.json: ${response.status} ${response.statusText}`);
  lessons = await response.json();
  drawLessons();
  futures.a = { text: start, seed: null };
  editor.show(start);
  await ready;
  $("loading").textContent = "Running the script.";
  inTurn(enter).then(async () => {
    $("main").inert = false;
    $("loading").hidden = true;
    page.firstPicture = performance.now() - started;
    if ("serviceWorker" in navigator) await navigator.serviceWorker.register("sw.js");
  });
}

// page is for tests: what is shown, and how long it took.
const page = { ask, took, idle: async () => { do { await busy; await new Promise((r) => setTimeout(r, explaining === null ? 0 : 50)); await busy; } while (explaining !== null); }, state: () => ({ active, chosen, futures: names(), tick: current().tick, end: end(current()), text: current().text, seed: current().seed, problems: current().problems, failures: current().state.failures }), editor, firstPicture: 0 };
window.playground = page;
begin().catch((err) => {
  $("loading").textContent = `The page does not start: ${err.message}. Reload it to try again.`;
  $("loading").className = "bad";
});
