// Lessons, known problems and files: what the menu opens, with its text and its question.
import { $, on } from "./dom.js";
import { ask } from "./simulator.js";
import { markdown } from "./text.js";
import { current, end, active, editor, inTurn, load, only, mayDiscard, saved, checkText } from "./futures.js";
import { forget } from "./objects.js";
import { moveTo } from "./view.js";
import { pause } from "./act.js";
import { enter, visit } from "./links.js";

export const start = `# A claim, a pod that uses it, and a driver that creates the disk. Change anything and look.
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

// lessons are those of the menu; lesson is what is open, null for the example.
export let lessons = [], lesson = null;

// loadLessons fills the menu.
export async function loadLessons() {
  const response = await fetch("lessons.json");
  if (!response.ok) throw new Error(`load lessons.json: ${response.status} ${response.statusText}`);
  lessons = await response.json();
  drawLessons();
}

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
export async function open(id, first = {}, own = "") {
  await study(id, own);
  pause();
  only({ seed: null });
  saved();
  forget();
  $("difference").hidden = true;
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

// study shows the text of a lesson and its question.
async function study(id, own) {
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
  checkText(true);
  await moveTo(end(current())); // the question is about the end
  const answers = await ask("holds", { run: active, lines: lesson.expect });
  const wrong = answers.findIndex((a) => a !== "");
  $("checked").textContent = wrong < 0 ? "Yes, that is it." : `Not yet: ${answers[wrong].replace(/^[^:]*:\d+: /, "")}`;
  $("checked").className = wrong < 0 ? "good" : "bad";
}));

on("hint", () => inTurn(async () => {
  if (!mayDiscard()) return;
  saved();
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
  visit(id ? `#open=${id}` : "#");
  await enter();
}

// A file is a script, or manifests that a script of two lines applies.
$("file").onchange = () => inTurn(async () => {
  const file = $("file").files[0];
  if (!file || !mayDiscard()) return;
  const text = await file.text(), name = file.name.replace(/\s/g, "-");
  visit("#");
  await open("", {}, /\.ya?ml$/.test(name) ? `apply -f ${name}\nsettle\n-- ${name} --\n${text}` : text);
});
