// The page: it loads the simulator, and shows what its address says. Keys and colours are here; lessons, seeds, dumps and links have files of
// their own.
import { $, on } from "./dom.js";
import { ask, ready, onLoading, took } from "./simulator.js";
import { futures, active, current, names, end, editor, inTurn, busy, unsaved } from "./futures.js";
import { chosen, explaining } from "./objects.js";
import { drawLanes } from "./view.js";
import { play } from "./act.js";
import { loadLessons, start } from "./lessons.js";
import { enter } from "./links.js";
import "./seeds.js";
import "./dump.js";

const started = performance.now();

document.addEventListener("keydown", (e) => {
  if ($("main").inert || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("#editor, #tablist, input:not([type=range]), textarea, select, dialog")) return;
  const keys = { " ": play, ArrowLeft: $("back").onclick, ArrowRight: $("forward").onclick, Home: $("first").onclick, End: $("last").onclick, n: $("change").onclick, q: $("quiet").onclick, m: $("minute").onclick, "?": $("help").onclick, e: () => editor.view.focus() };
  const action = keys[e.key];
  if (!action || (e.key === " " && e.target.closest?.("button, summary"))) return;
  e.preventDefault();
  action();
});

addEventListener("beforeunload", (e) => unsaved && e.preventDefault());

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
  await loadLessons();
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
