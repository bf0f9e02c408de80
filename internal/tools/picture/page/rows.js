// Filters, and the rows of the lanes that match.

const state = {
  words: "", related: false, query: "", span: null, actor: -1, order: "kind", hiddenKinds: new Set(), hiddenTypes: new Set([STARTUP]),
  step: -1, lane: -1, linear: false, view: { from: 0, to: 1 }, tab: "step", dark: false,
};
const shown = { lanes: [], rows: [], height: 0, steps: [], isLane: new Uint8Array(data.lanes.length), marks: new Map() };
const laneHeight = 40, headHeight = 28;

// Lanes that are related to nearly everything: their other related objects are not added.
const hubs = new Set(["Node", "StorageClass", "VolumeAttributesClass", "CSIDriver", "CSINode", "CSIStorageCapacity", "Component"]);
const isHub = (lane) => hubs.has(data.lanes[lane].kind);

// withRelated adds the lanes that are related, directly or through others.
function withRelated(lanes) {
  const found = new Set(lanes), todo = [...lanes];
  while (todo.length > 0) {
    const lane = todo.pop();
    if (isHub(lane) && !lanes.has(lane)) continue;
    for (const other of data.lanes[lane].related) {
      if (!found.has(other)) {
        found.add(other);
        todo.push(other);
      }
    }
  }
  return found;
}

// lanesNamed are the lanes that match a word. A word that is the complete name of an object matches only that.
function lanesNamed(words) {
  if (words.length === 0) return new Set(data.lanes.keys());
  const found = new Set();
  for (const word of words) {
    const all = [...data.lanes.keys()], whole = all.filter((lane) => laneWords[lane].split(" ").some((name) => name === word || name.endsWith("/" + word)));
    for (const lane of whole.length > 0 ? whole : all.filter((lane) => laneWords[lane].includes(word))) found.add(lane);
  }
  return found;
}

const isFiltered = () => state.words.trim() !== "" || state.query.trim() !== "" || state.span !== null || state.actor >= 0 || state.hiddenKinds.size > 0 ||
  [...state.hiddenTypes].some((type) => type !== STARTUP);

// isShown reports whether the filters of steps let a step through.
function isShown(i) {
  if (state.actor >= 0 && data.entries.actor[i] !== state.actor) return false;
  if (state.hiddenTypes.has(data.entries.type[i])) return false;
  if (state.span && (times[i] < state.span[0] || times[i] > state.span[1])) return false;
  const query = state.query.trim().toLowerCase();
  return query === "" || searchText(i).includes(query);
}

// filter computes what is shown.
function filter() {
  const words = state.words.toLowerCase().split(/[\s,]+/).filter((w) => w !== "");
  const byActor = new Set();
  if (state.actor >= 0) {
    for (let i = 0; i < count; i++) if (data.entries.actor[i] === state.actor) for (const lane of lanesOf(i)) byActor.add(lane);
  }
  let wanted = lanesNamed(words);
  if (state.related && words.length > 0) wanted = withRelated(wanted);
  shown.lanes = [...wanted].filter((lane) => !state.hiddenKinds.has(data.lanes[lane].kind) && (state.actor < 0 || byActor.has(lane)));
  shown.isLane.fill(0);
  for (const lane of shown.lanes) shown.isLane[lane] = 1;
  const someLanes = words.length > 0 || state.hiddenKinds.size > 0;
  shown.steps = [];
  for (let i = 0; i < count; i++) {
    if (!isShown(i)) continue;
    const lanes = lanesOf(i);
    if (lanes.length === 0 ? someLanes : !lanes.some((lane) => shown.isLane[lane])) continue;
    shown.steps.push(i);
  }
  shown.marks.clear();
  order();
  fold(state.linear, shown.steps);
}

// visibleMarks are the steps of a lane that are shown.
function visibleMarks(lane) {
  let marks = shown.marks.get(lane);
  if (!marks) {
    marks = marksOf[lane].filter(isShown);
    shown.marks.set(lane, marks);
  }
  return marks;
}

const firstMark = (lane) => marksOf[lane][0] ?? count;
const byKind = (a, b) => indexOfKind(data.lanes[a].kind) - indexOfKind(data.lanes[b].kind) || firstMark(a) - firstMark(b) || a - b;

// order returns the rows of the lanes, with headings.
function order() {
  const groups = [];
  if (state.order === "time") {
    groups.push(["", [...shown.lanes].sort((a, b) => firstMark(a) - firstMark(b) || a - b)]);
  } else if (state.order === "related") {
    groups.push(...relatedGroups());
  } else {
    const kindsOf = new Map();
    for (const lane of [...shown.lanes].sort(byKind)) {
      const kind = data.lanes[lane].kind;
      if (!kindsOf.has(kind)) kindsOf.set(kind, []);
      kindsOf.get(kind).push(lane);
    }
    for (const [kind, lanes] of kindsOf) groups.push([pluralKind(kind), lanes]);
  }
  shown.rows = [];
  let y = 0;
  for (const [title, lanes] of groups) {
    if (title) {
      shown.rows.push({ head: title, size: lanes.length, lane: -1, y, height: headHeight });
      y += headHeight;
    }
    for (const lane of lanes) {
      shown.rows.push({ lane, y, height: laneHeight });
      y += laneHeight;
    }
  }
  shown.height = y;
}

// relatedGroups are groups of related lanes; lanes that many groups share come last.
function relatedGroups() {
  const groups = [], placed = new Set();
  const inOrder = [...shown.lanes].sort((a, b) => firstMark(a) - firstMark(b) || a - b);
  for (const lane of inOrder) {
    if (placed.has(lane) || isHub(lane)) continue;
    const members = [...withRelated(new Set([lane]))].filter((other) => !isHub(other) && shown.isLane[other]).sort(byKind);
    for (const member of members) placed.add(member);
    groups.push([laneLabel(members.find((m) => data.lanes[m].kind === "PersistentVolumeClaim") ?? members[0]), members]);
  }
  const rest = inOrder.filter((lane) => !placed.has(lane)).sort(byKind);
  if (rest.length > 0) groups.push(["Shared", rest]);
  return groups;
}

// rowAt is the index of the row at a height, or of the nearest one.
function rowAt(y) {
  let low = 0, high = shown.rows.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (shown.rows[mid].y <= y) low = mid + 1;
    else high = mid;
  }
  return Math.max(low - 1, 0);
}
const rowOf = (lane) => shown.rows.findIndex((row) => row.lane === lane);
