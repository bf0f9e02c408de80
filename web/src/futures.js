// The state of the page is text: each future is a script, a seed and a moment.
import { $, say } from "./dom.js";
import { ask, onEnd } from "./simulator.js";
import { createEditor } from "./editor.js";
import { decode } from "./run.js";
import { moveTo, show } from "./view.js";
import { pause } from "./act.js";

// futures by name: {text, seed, problems, state, run, tick}. The text may have problems; the state is that of the last text without one. The
// first is a.
export const futures = {};
export let active = "a";
export const current = () => futures[active];
export const names = () => Object.keys(futures).sort();
export const end = (f) => f.state.times.length - 1;

// The editor has the text of the active future.
export const editor = createEditor($("editor"), edited, (text, rest) => ask("complete", { text, rest }).catch(() => ({ options: [] })));

// busy ends when all actions have ended.
export let busy = Promise.resolve();
let asked = 0;

// inTurn runs one action after the other. What was typed before is executed first.
export function inTurn(action) {
  asked++;
  document.body.classList.add("busy");
  busy = busy.then(recover).then(typed).then(action).catch((err) => say(err.message, true)).then(() => { if (--asked === 0) document.body.classList.remove("busy"); });
  return busy;
}

// writing are the futures with typed text that was not executed yet; unsaved is true if typed text is in no file or link.
const writing = new Set();
let typing;
export let unsaved = false;
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

// saved says that nothing would be lost.
export function saved() { unsaved = false; }

// mayDiscard asks before typed text is lost.
export const mayDiscard = () => !unsaved || confirm("Discard what you typed?");

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
export function turnTo(name) {
  if (name !== active) futures[active].editor = editor.turn(futures[name].text, futures[name].editor);
  active = name;
}

// only makes a future the only one.
export function only(f) {
  delete futures.b;
  futures.a = f;
  active = "a";
}

// load executes a text. Errors stay at their lines, and the last run stays in view.
export async function load(name, text, seed, tick) {
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

// checkText refuses an action if the text has an error: the picture is not that of the text. With whole it also refuses it if a line failed.
export function checkText(whole = false) {
  const f = current();
  if (f.problems.length) throw new Error(`Correct line ${f.problems[0].line} first: ${f.problems[0].text}`);
  if (whole && f.state.failures.length) throw new Error(`Correct line ${f.state.failures[0].line} first: it failed, and the script ends there.`);
}

// appended returns a text with one more command.
export function appended(text, line) {
  const files = text.search(/^-- .* --$/m), script = files < 0 ? text : text.slice(0, files);
  return script + (script === "" || script.endsWith("\n") ? "" : "\n") + line + "\n" + text.slice(script.length);
}

export async function picture(name) {
  const f = futures[name];
  f.run = decode(await ask("picture", { run: name }), f.state);
}

// tickAt returns the last moment of a run at a virtual time.
export function tickAt(f, ns) {
  let n = 0;
  while (n < end(f) && f.state.times[n + 1] <= ns) n++;
  return n;
}

export async function activate(name) {
  turnTo(name);
  const f = current();
  $("seed").value = f.seed ?? f.state.seed;
  await moveTo(f.tick);
}

export async function closeTab() {
  const kept = names().find((n) => n !== active);
  const f = futures[kept];
  turnTo(kept);
  only({});
  await load("a", f.text, f.seed, f.tick);
  $("difference").hidden = true;
}

export async function compare() {
  if (names().length < 2) return;
  $("differenceText").textContent = await ask("compare", { A: "a", B: "b" });
  $("difference").hidden = false;
}
