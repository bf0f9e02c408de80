// The details of a step, the list of all steps, and tooltips.

// make creates an element with a class, children (strings become text), and properties.
function make(tag, className, children = [], properties = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  Object.assign(element, properties);
  element.append(...[children].flat().filter((c) => c !== null && c !== undefined && c !== ""));
  return element;
}
const byId = (id) => document.getElementById(id);

// prose renders the Markdown that rules use.
function prose(source) {
  const parts = [];
  for (const piece of source.split(/(`[^`]+`|\*\*[^*]+\*\*)/)) {
    if (piece.startsWith("`") && piece.length > 2) parts.push(make("code", "", piece.slice(1, -1)));
    else if (piece.startsWith("**") && piece.length > 4) parts.push(make("strong", "", prose(piece.slice(2, -2))));
    else if (piece) parts.push(piece.replace(/\\\|/g, "|"));
  }
  return parts;
}

// ruleParts are the paragraphs of a rule's text without its ID. A row of a table has one for each cell.
function ruleParts(rule) {
  const source = rule.text ?? "";
  if (source.startsWith("|")) {
    const cells = source.replace(/\\\|/g, "\u0001").split("|").map((c) => c.replaceAll("\u0001", "|").trim());
    return cells.slice(2).filter((c) => c !== "" && c !== "–" && c !== "-");
  }
  // A paragraph ends at an empty line, an item or a row.
  return source.split(/\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) ?)/).map((line, n) => (n > 0 ? line : line.replace(/^- /, "")
    .replace(/^\*\*[A-Z]+-\d+\w?(\.\w+)?\*\*[:.]?\s*/, "").replace(/^\*\*[A-Z]+-\d+\w?(\.\w+)?\s+/, "**").replace(/^[A-Z]+-\d+\w?(\.\w+)?[:.]?\s+/, "")))
    .filter((line) => line !== "");
}

function ruleCard(rule, short) {
  const parts = ruleParts(rule);
  return make("div", "rule", [
    make("div", "ruleHead", [make("span", "ruleID", rule.id), short || !rule.file ? null : make("span", "muted", `docs/rules/${rule.file}`)]),
    ...(parts.length ? parts : ["The catalogue has no rule with this ID."]).slice(0, short ? 3 : 20).map((p) => make("p", "", prose(p))),
  ]);
}

// The node of an attachment stays readable where its volume is cut off.
const laneName = (lane, full) => {
  const [name, node] = full ? [withoutDefault(data.lanes[lane].name)] : laneLabel(lane).split(" → ");
  return [make("span", "kind", shortKind(data.lanes[lane].kind)), make("span", "name", name), ...(node ? [make("span", "node", `→ ${node}`)] : [])];
};

// stepLine shows a step in one line.
function stepLine(i, colours) {
  return [markIcon(data.entries.type[i], failed(i), colours), make("span", "time", offset(times[i])), make("span", "headline", shortened(headline(i)))];
}

// tipFor is the tooltip for what is under the pointer.
function tipFor(hit, colours) {
  if (hit.bar !== undefined) return tipForBar(hit);
  if (hit.chapter !== undefined || hit.command !== undefined) return tipForStory(hit);
  if (hit.gap !== undefined) return [make("strong", "", duration(hit.gap)), " without a step"];
  if (hit.steps.length > 1) {
    const { steps } = hit, most = 7;
    return [
      make("div", "tipHead", `${steps.length} steps, ${offset(times[steps[0]])}` + (times[steps.at(-1)] > times[steps[0]] ? ` to ${offset(times[steps.at(-1)])}` : "")),
      ...steps.slice(0, most).map((i) => make("div", "tipLine", stepLine(i, colours))),
      make("div", "muted", (steps.length > most ? `and ${steps.length - most} more. ` : "") + "Click to zoom in."),
    ];
  }
  const e = entry(hit.steps[0]);
  const rule = e.rule ?? (e.because >= 0 ? entry(e.because).rule : null);
  return [
    make("div", "tipHead", [markIcon(e.type, e.err !== "", colours), make("strong", "", markNames[e.type]), make("span", "muted", `${offset(e.time)} · ${e.actor}`)]),
    make("div", "tipText", shortened(headline(e.index))),
    e.err ? make("div", "error", e.err) : null,
    rule && !e.rule ? make("div", "muted", "decided by") : null,
    rule ? ruleCard(rule, true) : null,
  ].filter((part) => part !== null);
}

function tipForBar({ lane, bar }) {
  const { bars } = data.lanes[lane], from = bars[bar], to = bars[bar + 4] ?? data.span, { name } = data.phases[bars[bar + 1]];
  return [
    make("div", "tipHead", [make("strong", "", name + (bars[bar + 2] ? ", being deleted" : "")), make("span", "muted", `${offset(from)} to ${bar + 4 < bars.length ? offset(to) : "the end"}, ${duration(to - from)}`)]),
    make("div", "tipText", laneTitle(lane)),
  ];
}

// showStep shows a step, and the object of a lane at that moment.
function showStep(panel, i, lane, colours, act) {
  const e = entry(i), parts = [];
  parts.push(make("div", "stepHead", [
    markIcon(e.type, e.err !== "", colours), make("span", "sort", markNames[e.type] + (e.err && e.type !== VIOLATION ? ", failed" : "")),
    make("span", "muted", e.seq && e.type !== VIOLATION ? `#${e.seq}` : ""),
  ]));
  parts.push(make("h2", "", shortened(headline(i)), { title: headline(i) }));
  parts.push(make("dl", "facts", [
    make("dt", "", "When"), make("dd", "", [make("strong", "", offset(e.time)), make("span", "muted", ` ${clock(e.time)}`)]),
    ...(e.actor ? [make("dt", "", "Who"), make("dd", "", e.actor)] : []),
    ...(e.until >= 0 ? [make("dt", "", "Took"), make("dd", "", duration(times[e.until] - e.time))] : []),
  ]));
  if (e.err) parts.push(make("p", "error", e.err));
  if (e.rule) parts.push(ruleCard(e.rule, false));
  if (e.because >= 0) {
    const why = make("button", "why", [make("span", "muted", "Caused by "), make("strong", "", entry(e.because).rule?.id ?? ""), ` ${shortened(headline(e.because))}`]);
    why.onclick = () => act.select(e.because);
    parts.push(why);
    const { rule } = entry(e.because);
    if (rule) parts.push(ruleCard(rule, false));
  }
  const fields = changesOf(i);
  if (fields?.length) parts.push(make("h3", "", "What changed"), changeTable(fields));
  const lanes = lanesOf(i);
  const others = [...new Set([...lanes, ...lanes.flatMap((l) => data.lanes[l].related)])].filter((l) => data.lanes[l].versions.length > 0);
  if (others.length > 1 || (others.length === 1 && others[0] !== lane)) {
    parts.push(make("div", "choices", [make("h3", "", "Objects"), make("div", "objects", others.slice(0, 12).map((l) => make("button", "object" + (l === lane ? " chosen" : ""), laneName(l),
      { title: laneTitle(l), onclick: () => act.select(i, l) })))]));
  }
  if (lane >= 0) parts.push(...objectParts(i, lane));
  panel.replaceChildren(...parts);
}

function changeTable(fields) {
  const show = (v) => (v === undefined ? make("span", "muted", "none") : make("code", "", typeof v === "string" && v !== "" ? v : JSON.stringify(v)));
  // A long name may break after a dot.
  const broken = (name) => name.split(/(?<=[.\]])/).flatMap((part) => [part, make("wbr")]);
  return make("table", "changes", [make("tbody", "", fields.map((c) => make("tr", "", [
    make("th", "", broken(fieldName(c.path)), { scope: "row" }), make("td", "old", show(c.old)), make("td", "new", show(c.new)),
  ])))]);
}

// objectParts are the YAML of a lane's object after a step; what the step changed is marked.
function objectParts(i, lane) {
  const n = versionAt(lane, i), l = data.lanes[lane];
  const title = make("h3", "yamlTitle", laneName(lane, true));
  if (!l.apiVersion) return [];
  if (n < 0) return [title, make("p", "muted", l.versions.length ? "It does not exist yet." : "No write to this object is recorded.")];
  const doc = version(lane, n), made = madeBy(lane, n, i);
  if (!doc) return [title, make("p", "muted", made ? "This step deleted it." : "It is deleted."), ...(made && n > 0 ? [yamlBlock(lane, version(lane, n - 1), null)] : [])];
  const before = made && n > 0 ? version(lane, n - 1) : null;
  const copy = make("button", "quiet copy", "Copy", { title: "Copy the YAML" });
  const block = yamlBlock(lane, doc, before);
  copy.onclick = () => navigator.clipboard?.writeText(block.textContent).then(() => { copy.textContent = "Copied"; }, () => { copy.textContent = "Not allowed"; });
  title.append(make("span", "muted", ` version ${n + 1} of ${l.versions.filter((v) => !v.gone).length}`), copy);
  return [title, block];
}

function yamlBlock(lane, doc, before) {
  const changed = new Set(before ? changes(before, doc).filter((c) => c.new !== undefined && !isVersion(c.path)).map((c) => JSON.stringify(c.path)) : []);
  const isChanged = (path) => path.some((_, n) => changed.has(JSON.stringify(path.slice(0, n + 1))));
  return make("pre", "yaml", yamlLines(manifest(lane, doc)).map(({ text: line, path }) => {
    const [, indent, key, rest] = /^([\s-]*)((?:"(?:[^"\\]|\\.)*"|[^\s":]+):(?= |$))?(.*)$/s.exec(line);
    return make("div", "line" + (isChanged(path) ? " changed" : ""), [indent, key ? make("span", "key", key) : null, rest, "\n"]);
  }));
}

// showOverview fills the panel while no step is selected.
function showOverview(panel, colours, act) {
  // Equal steps on several objects share a line.
  const alike = new Map();
  for (const i of shown.steps) {
    if (!isWorthALook(i)) continue;
    const key = `${data.entries.type[i]} ${data.entries.actor[i]} ` + headline(i).replace(/\d+/g, "#").replace(/#[0-9a-f#]*…?/g, "#");
    if (!alike.has(key)) alike.set(key, []);
    alike.get(key).push(i);
  }
  const worth = [...alike.values()].sort(([a], [b]) => (data.entries.type[b] === VIOLATION) - (data.entries.type[a] === VIOLATION) || a - b);
  const most = 40;
  panel.replaceChildren(
    make("h2", "", "Select a step"),
    make("p", "muted", "Point at a mark to see what happened and which rule decided. Click it to see the object at that moment. The arrow keys move from step to step."),
    ...(worth.length ? [make("h3", "", "Warnings and failures"), make("div", "worth", worth.slice(0, most).map(([i, ...others]) => make("button", "worthLine", [
      ...stepLine(i, colours), others.length > 0 ? make("span", "times", `×${others.length + 1}`) : data.entries.lane[i] >= 0 ? make("span", "object", laneName(data.entries.lane[i])) : null,
    ], { onclick: () => act.select(i) })))] : []),
    ...(worth.length > most ? [make("p", "muted", `and ${worth.length - most} more`)] : []),
  );
}

// The list of all steps has elements for visible lines only.
const logRow = 30;
function showLog(panel, colours, act) {
  const spacer = byId("logSpacer"), inner = byId("logWindow");
  spacer.style.height = shown.steps.length * logRow + "px";
  const first = Math.max(Math.floor(panel.scrollTop / logRow) - 2, 0), last = Math.min(first + Math.ceil(panel.clientHeight / logRow) + 4, shown.steps.length);
  inner.style.top = first * logRow + "px";
  inner.replaceChildren(...shown.steps.slice(first, last).map((i) => {
    const lane = data.entries.lane[i];
    return make("button", "logLine" + (i === state.step ? " chosen" : ""), [
      ...stepLine(i, colours), make("span", "object", lane >= 0 ? laneName(lane) : [CRASH, START, STARTUP].includes(data.entries.type[i]) ? "" : data.actors[data.entries.actor[i]] ?? ""),
    ], { onclick: () => act.select(i), title: headline(i) });
  }));
}
