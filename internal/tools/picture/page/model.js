// The data of the run, with indexes.

const data = JSON.parse(document.getElementById("data").textContent);
const count = data.entries.type.length;

const DECISION = 0, WRITE = 1, USER = 2, STORAGE = 3, EVENT = 4, WARNING = 5, FAULT = 6, CRASH = 7, RETRY = 8, NOTE = 9, VIOLATION = 10, START = 11, STARTUP = 12;
const markNames = ["Decision", "API write", "User's write", "Storage call", "Event", "Warning", "Fault", "Crash", "Retry", "Workload", "Violation", "Start", "Start-up"];

// Kinds in the order of lanes, with their short names in kubectl.
const kinds = [
  ["Pod", "pod", "Pods"], ["PersistentVolumeClaim", "pvc", "Claims"], ["PersistentVolume", "pv", "Volumes"],
  ["VolumeAttachment", "va", "Attachments"], ["Node", "node", "Nodes"], ["Storage", "disk", "Storage without a volume"],
  ["Component", "component", "Components that stop"], ["StorageClass", "sc", "Storage classes"],
  ["VolumeAttributesClass", "vac", "Attributes classes"], ["CSIDriver", "driver", "CSI drivers"], ["CSINode", "csinode", "CSI nodes"],
  ["CSIStorageCapacity", "capacity", "Capacities"],
];
const kindIndex = new Map(kinds.map(([name], i) => [name, i]));
const indexOfKind = (kind) => kindIndex.get(kind) ?? kinds.length;
const shortKind = (kind) => kinds[indexOfKind(kind)]?.[1] ?? kind.toLowerCase();
const pluralKind = (kind) => kinds[indexOfKind(kind)]?.[2] ?? kind;

// Columns that are stored as differences.
const times = new Float64Array(count);
const seqs = new Float64Array(count);
for (let i = 0, t = 0, s = 0; i < count; i++) {
  times[i] = t += data.entries.time[i];
  seqs[i] = s += data.entries.seq[i];
}
const text = (index) => (index === undefined || index < 0 ? "" : data.texts[index]);

// entry is one step with all its data.
function entry(i) {
  const e = data.entries;
  return {
    index: i, seq: seqs[i], time: times[i], type: e.type[i], actor: e.actor[i] < 0 ? "" : data.actors[e.actor[i]], lane: e.lane[i],
    rule: e.rule[i] < 0 ? null : data.rules[e.rule[i]], head: text(e.head[i]), text: text(e.text[i]), err: text(e.err[i]),
    also: e.also[i] ?? [], because: e.because[i] ?? -1, until: e.until[i] ?? -1,
  };
}
// The starts of all components at the beginning are a type of their own, so that the page can hide them.
for (let i = 0; i < count && data.entries.type[i] === START; i++) data.entries.type[i] = STARTUP;
const lanesOf = (i) => (data.entries.lane[i] < 0 ? [] : [data.entries.lane[i], ...(data.entries.also[i] ?? [])]);
const failed = (i) => data.entries.err[i] !== undefined;

// marksOf has the steps of each lane, in order.
const marksOf = data.lanes.map(() => []);
for (let i = 0; i < count; i++) for (const lane of lanesOf(i)) marksOf[lane].push(i);

// Random parts of names are shortened on labels.
const uuid = /([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const digest = /\b([0-9a-f]{8})[0-9a-f]{24,}\b/g;
const shortened = (name) => name.replace(/\bkubernetes\.io\/[\w./-]+\^/g, "").replace(uuid, "$1…").replace(digest, "$1…");
const withoutDefault = (name) => (name.startsWith("default/") ? name.slice(8) : name);
const laneLabel = (lane) => shortened(withoutDefault(data.lanes[lane].label || data.lanes[lane].name));
const laneTitle = (lane) => {
  const l = data.lanes[lane];
  return `${l.kind} ${l.name}` + (l.label ? ` (${l.label})` : "");
};
// The text that a filter searches: the kind in full and its short name, with the name.
const laneWords = data.lanes.map((l) => `${l.kind}/${l.name} ${shortKind(l.kind)}/${l.name} ${shortKind(l.kind)}/${withoutDefault(l.name)} ${l.label ?? ""}`.toLowerCase());

// searchText is what a search finds of a step.
const searchTexts = new Map();
function searchText(i) {
  if (!searchTexts.has(i)) {
    const e = entry(i);
    searchTexts.set(i, [headline(i), e.text, e.err, e.actor, e.rule?.id ?? "", e.lane >= 0 ? laneTitle(e.lane) : ""].join(" ").toLowerCase());
  }
  return searchTexts.get(i);
}

// Versions of objects, each built once.
function edited(doc, ops) {
  let root = structuredClone(doc);
  for (const [path, ...value] of ops ?? []) {
    if (path.length === 0) {
      root = structuredClone(value[0]);
      continue;
    }
    let at = root;
    for (const key of path.slice(0, -1)) at = at[key];
    const last = path[path.length - 1];
    if (value.length > 0) at[last] = structuredClone(value[0]);
    else delete at[last];
  }
  return root;
}
const cache = new Map();
function version(lane, n) {
  const key = lane + "." + n;
  if (cache.has(key)) return cache.get(key);
  if (cache.size > 400) cache.clear();
  const v = data.lanes[lane].versions[n];
  let doc;
  if (v.gone) doc = null;
  else if (v.full) doc = v.full;
  else if (v.base !== undefined) doc = edited(version(v.base, 0), v.ops);
  else doc = edited(version(lane, n - 1), v.ops);
  cache.set(key, doc);
  return doc;
}
// versionAt is the index of the version after a step, -1 before the first one.
function versionAt(lane, index) {
  const all = data.lanes[lane].versions;
  let low = 0, high = all.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (all[mid].entry <= index) low = mid + 1;
    else high = mid;
  }
  return low - 1;
}
const madeBy = (lane, n, index) => n >= 0 && data.lanes[lane].versions[n].entry === index;

// changes are the fields that differ: {path, old, new}; an absent value is undefined.
function changes(a, b, path = [], into = []) {
  const isMap = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
  if (isMap(a) && isMap(b)) {
    for (const key of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) changes(a[key], b[key], [...path, key], into);
  } else if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
    a.forEach((v, i) => changes(v, b[i], [...path, i], into));
  } else if (a === undefined && isMap(b) && Object.keys(b).length) {
    for (const key of Object.keys(b).sort()) changes(undefined, b[key], [...path, key], into);
  } else if (b === undefined && isMap(a) && Object.keys(a).length) {
    for (const key of Object.keys(a).sort()) changes(a[key], undefined, [...path, key], into);
  } else if (JSON.stringify(a) !== JSON.stringify(b)) {
    into.push({ path, old: a, new: b });
  }
  return into;
}
const isVersion = (path) => path.length === 2 && path[0] === "metadata" && path[1] === "resourceVersion";
function fieldName(path) {
  return path.reduce((name, key) => {
    if (typeof key === "number" || !/^[\w-]+$/.test(key)) return `${name}[${key}]`;
    return name ? `${name}.${key}` : key;
  }, "");
}
// changesOf is the change that a write made; null for other steps, and for rejected writes.
function changesOf(i) {
  const type = data.entries.type[i], lane = data.entries.lane[i];
  if ((type !== WRITE && type !== USER) || lane < 0) return null;
  const n = versionAt(lane, i);
  if (!madeBy(lane, n, i)) return null;
  const now = version(lane, n), before = n > 0 ? version(lane, n - 1) : null;
  if (!now || !before) return null;
  return changes(before, now).filter((c) => !isVersion(c.path));
}

// Durations: 0s, 20ms, 2m40s, 1h5m.
function duration(ns) {
  if (ns < 0) return "-" + duration(-ns);
  if (ns === 0) return "0s";
  if (ns < 1e3) return `${ns}ns`;
  if (ns < 1e6) return `${+(ns / 1e3).toFixed(1)}µs`;
  if (ns < 1e9) return `${+(ns / 1e6).toFixed(1)}ms`;
  let seconds = Math.round(ns / 1e6) / 1e3;
  const parts = [];
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60]]) {
    if (seconds >= size) {
      parts.push(Math.floor(seconds / size) + unit);
      seconds -= Math.floor(seconds / size) * size;
    }
  }
  seconds = +seconds.toFixed(3);
  if (seconds > 0 || parts.length === 0) parts.push(seconds + "s");
  return parts.join("");
}
const offset = (ns) => "+" + duration(ns);
const startMs = Date.parse(data.start);
function clock(ns) {
  const date = new Date(startMs + ns / 1e6);
  return isNaN(date) ? "" : date.toISOString().replace("T", " ").replace(/(\.000)?Z$/, "");
}

// headline describes a step in one line.
function headline(i) {
  const e = entry(i);
  switch (e.type) {
    case WRITE: case USER: {
      const what = e.err ? "rejected" : e.text;
      const fields = changesOf(i);
      if (!fields) return what === "created" ? (e.head === "create" ? what : `${what} (${e.head})`) : `${e.head}: ${what}`;
      if (fields.length === 0) return `${e.head}: only the version changed`;
      const phase = fields.find((c) => fieldName(c.path) === "status.phase");
      if (phase) return `${e.head}: ${phase.old ?? "no phase"} → ${phase.new ?? "no phase"}`;
      const names = fields.map((c) => fieldName(c.path).replace(/^(metadata|spec|status)\./, ""));
      return `${e.head}: ${names.slice(0, 2).join(", ")}` + (names.length > 2 ? ` and ${names.length - 2} more` : "");
    }
    case RETRY: return `${e.head}: ${e.lane >= 0 ? laneTitle(e.lane) : e.text}`;
    case STORAGE: case FAULT: case EVENT: case WARNING: case VIOLATION: return e.text ? `${e.head}: ${e.text}` : e.head;
    case CRASH: case START: case STARTUP: return `${e.actor} ${e.head}`;
  }
  return e.text;
}
