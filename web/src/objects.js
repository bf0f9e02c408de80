// The tables of objects, and the explanation of the chosen one.
import { $, redraw } from "./dom.js";
import { ask } from "./simulator.js";
import { shortened } from "./run.js";
import { futures, active, names, inTurn, activate } from "./futures.js";
import { show } from "./view.js";

// chosen is the object that is explained, "" for none.
export let chosen = "";
export function choose(object) { chosen = object; }

// drawObjects draws the tables, those of two futures side by side. Rows that changed since the last picture flash.
let before = {};
export function drawObjects(views) {
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
  redraw(parent, () => parent.replaceChildren(...columns));
}

// forget ends the explanation; nothing flashes in the next picture.
export function forget() {
  chosen = "";
  before = {};
  $("explanation").innerHTML = '<p class="dim">Select an object.</p>';
}

export async function select(object, name = active) {
  chosen = object;
  if (name !== active) await activate(name);
  else await show();
  $("details").scrollIntoView({ block: "nearest" });
}

// explaining is the timer of an explanation that waits until the moment stays; yaml is true if the YAML of objects is open.
export let explaining = null;
let yaml = false;

// explain draws the explanation of the chosen object, while time moves only after it has stopped.
export async function explain(moving) {
  clearTimeout(explaining);
  explaining = null;
  if (moving) explaining = setTimeout(() => { explaining = null; inTurn(drawExplanation); }, 200);
  else await drawExplanation();
}

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
