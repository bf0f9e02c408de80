// What is shown of a moment, around the tables of objects.
import { $, on, options, redraw, say } from "./dom.js";
import { ask } from "./simulator.js";
import { drawTimeline } from "./timeline.js";
import { drawScene } from "./scene.js";
import { futures, active, current, names, end, editor, inTurn, tickAt, activate, closeTab } from "./futures.js";
import { chosen, drawObjects, explain, select } from "./objects.js";

export async function moveTo(tick, moving = false) {
  const f = current();
  f.tick = Math.min(Math.max(tick, 0), end(f));
  for (const name of names()) {
    if (name !== active) futures[name].tick = f.tick === end(f) ? end(futures[name]) : tickAt(futures[name], f.state.times[f.tick]);
  }
  await show(moving);
}

// show draws the moment of all futures.
export async function show(moving = false) {
  const f = current();
  if (!f?.state) return;
  const views = {};
  for (const name of names()) if (futures[name].state) views[name] = await ask("view", { run: name, tick: futures[name].tick });
  redraw($("tabs"), drawTabs);
  drawObjects(views);
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
  await explain(moving);
}

// seek moves to the newest of the moments that were asked for, and leaves out the others.
export let wanted = null;
export function seek(tick, moving = "seek") {
  const queued = wanted !== null;
  wanted = tick;
  if (queued) return;
  inTurn(() => {
    const to = wanted;
    wanted = null;
    return moveTo(to, moving);
  });
}

export function drawLanes() {
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

on("closeTab", () => inTurn(closeTab));

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

function drawTargets(targets) {
  options($("node"), targets.nodes);
  options($("driver"), targets.drivers);
  options($("controller"), targets.controllers);
  for (const id of ["kill", "cut", "revive", "node"]) $(id).disabled = !targets.nodes.length;
  for (const id of ["fail", "slow", "lose", "driver", "op"]) $(id).disabled = !targets.drivers.length;
}
