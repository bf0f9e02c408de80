// Paste a dump: explanations and predictions of a real cluster.
import { $, on } from "./dom.js";
import { ask, restart } from "./simulator.js";

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
