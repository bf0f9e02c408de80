// Find a seed: the script with many seeds.
import { $, on, say } from "./dom.js";
import { ask } from "./simulator.js";
import { futures, current, names, end, inTurn, turnTo, load, only, checkText, compare } from "./futures.js";
import { moveTo } from "./view.js";

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
    checkText();
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
  only({});
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
