// Links that carry the state of the page, and what the page exports.
import { $, on, say } from "./dom.js";
import { ask } from "./simulator.js";
import { encode, decodeLink } from "./link.js";
import { futures, active, current, names, inTurn, turnTo, load, mayDiscard, saved, compare } from "./futures.js";
import { choose, chosen } from "./objects.js";
import { show } from "./view.js";
import { lesson, lessons, open } from "./lessons.js";

on("share", () => inTurn(async () => {
  const state = { v: 1, active, lesson: lesson?.id, own: lesson && !lesson.id ? lesson.text : undefined, chosen, futures: names().map((n) => ({ n, text: futures[n].text, seed: futures[n].seed, tick: futures[n].tick })) };
  history.replaceState(null, "", "#s=" + await encode(state));
  shown = location.hash;
  saved();
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied, and is the address of this page.");
  } catch {
    say("The link is the address of this page.");
  }
}));

async function restore(state) {
  await open(state.lesson, state.futures[0], state.own);
  choose(state.chosen ?? "");
  for (const f of state.futures.slice(1)) await load(f.n, f.text, f.seed, f.tick);
  turnTo(state.active in futures ? state.active : "a");
  $("seed").value = current().seed ?? current().state.seed;
  await compare();
  await show();
}

// enter shows what the fragment of the address says: a shared state, a lesson, or the example. shown is the fragment of what is shown.
let shown = "";
export async function enter() {
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

// visit changes the address; the page shows it already, or enter follows.
export function visit(fragment) {
  history.pushState(null, "", fragment);
  shown = location.hash;
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
  if (format === "txtar") saved();
  say(`${file} is saved.`);
});
