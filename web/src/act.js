// What the user does: each button adds lines to a script, or moves through its moments.
import { $, on, say } from "./dom.js";
import { ask, restart } from "./simulator.js";
import { duration } from "./run.js";
import { futures, active, current, names, end, inTurn, turnTo, load, checkText, appended, picture, compare } from "./futures.js";
import { moveTo, show, seek, wanted } from "./view.js";

// act does something at the moment that is shown: at the end of the run, or as the beginning of a second future.
export async function act(...lines) {
  pause();
  const f = current();
  $("checked").textContent = "";
  checkText(f.tick === end(f));
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

async function forward(moving) {
  const f = current();
  if (f.tick < end(f)) await moveTo(f.tick + 1, moving);
  else await act("step");
}

async function nextChange() {
  const f = current();
  for (let n = f.tick + 1; n <= end(f); n++) if (f.state.seqs[n] > f.state.seqs[f.tick]) return moveTo(n, true);
  checkText(true);
  const steps = await ask("next", { run: active });
  if (steps === 0) return say("Nothing changes any more, unless you act.");
  await moveTo(end(f));
  await act(`step ${steps}`);
}

// beyond lets time pass: from the end of the run on.
async function beyond(line) {
  checkText(true);
  await moveTo(end(current()));
  await act(line);
}

let playing = null;
export function pause() {
  clearInterval(playing);
  playing = null;
  $("play").textContent = "▶";
  $("play").setAttribute("aria-label", "Play");
}

export function play() {
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

$("slider").oninput = () => { pause(); seek(+$("slider").value); };
$("seed").onchange = () => inTurn(() => {
  const f = current(), seed = $("seed").valueAsNumber;
  if (Number.isSafeInteger(seed) && seed >= 0) return load(active, f.text, seed);
  $("seed").value = f.seed ?? f.state.seed;
  throw new Error("A seed is a whole number from 0 on.");
});
