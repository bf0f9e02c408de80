// The time axis. The unit of the folded axis is a step, the unit of the linear axis a second.

const folds = { linear: false, instants: [], positions: new Float64Array(count), length: 1 };

// gapWidth is the width of an idle stretch in steps: the logarithm of its length.
const gapWidth = (ns) => (ns < 1e6 ? 0.5 : 0.8 + 1.05 * Math.log10(ns / 1e6 + 1));
// slimness is the width of a step that no lane shows.
const slimness = 0.12;
// clusterWidth is the width of the steps at one time, in steps: above 32 they are drawn closer together.
const clusterWidth = (n) => (n <= 32 ? n : 32 * Math.pow(n / 32, 0.6));

// fold computes the positions of all steps. Steps that are shown get a position each, the others the position of their time.
function fold(linear, shown) {
  folds.linear = linear;
  const { positions } = folds;
  folds.instants = [];
  if (linear) {
    for (let i = 0; i < count; i++) positions[i] = times[i] / 1e9;
    folds.length = Math.max(data.span / 1e9, 1e-3);
    return;
  }
  const widthOf = (i) => (data.entries.lane[i] < 0 ? slimness : 1);
  // All times with their steps, to add up the widths of steps and of gaps.
  const groups = [];
  let t = 0, clustered = 0, gaps = 0;
  for (let i = 0; i < shown.length; ) {
    let j = i, steps = 0;
    for (; j < shown.length && times[shown[j]] === times[shown[i]]; j++) steps += widthOf(shown[j]);
    const at = times[shown[i]], gap = groups.length > 0 || at > 0 ? gapWidth(at - t) : 0;
    groups.push({ at, i, j, steps, gap, idle: at - t });
    clustered += clusterWidth(steps);
    gaps += gap;
    t = at;
    i = j;
  }
  const rest = data.span > t ? gapWidth(data.span - t) : 0;
  // At least a quarter of the axis is left for gaps.
  const stretch = Math.max(1, clustered / 3 / Math.max(gaps + rest, 1));
  let u = 0;
  for (const { at, i, j, steps, gap, idle } of groups) {
    u += gap * stretch;
    const width = clusterWidth(steps);
    folds.instants.push({ t: at, from: u, to: u + width, gap: idle });
    for (let k = i, before = 0; k < j; before += widthOf(shown[k++])) positions[shown[k]] = u + ((before + widthOf(shown[k]) / 2) * width) / steps;
    u += width;
  }
  u += rest * stretch;
  folds.length = Math.max(u, 1);
  // Hidden steps: after the shown step before them if it has the same time, else at their time.
  let next = 0;
  for (let i = 0; i < count; i++) {
    if (next < shown.length && shown[next] === i) {
      next++;
      continue;
    }
    const before = next > 0 ? shown[next - 1] : -1, after = next < shown.length ? shown[next] : -1;
    if (before >= 0 && times[before] === times[i]) positions[i] = positions[before];
    else if (after >= 0 && times[after] === times[i]) positions[i] = instantAt(times[i]).from;
    else positions[i] = positionOfTime(times[i]);
  }
}

// instantBefore is the index of the last time that is not after t, -1 for none.
function instantBefore(t) {
  let low = 0, high = folds.instants.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (folds.instants[mid].t <= t) low = mid + 1;
    else high = mid;
  }
  return low - 1;
}
const instantAt = (t) => folds.instants[instantBefore(t)];

// positionOfTime is the position of a time; the end of its steps if it has any.
function positionOfTime(t) {
  if (folds.linear) return t / 1e9;
  const n = instantBefore(t), all = folds.instants;
  const before = n >= 0 ? all[n] : { t: 0, to: 0 }, after = all[n + 1] ?? { t: data.span, from: folds.length };
  if (after.t <= before.t) return before.to;
  return before.to + ((t - before.t) / (after.t - before.t)) * (after.from - before.to);
}
// timeAtPosition is the time at a position.
function timeAtPosition(u) {
  if (folds.linear) return Math.min(Math.max(u * 1e9, 0), data.span);
  let low = 0, high = folds.instants.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (folds.instants[mid].from <= u) low = mid + 1;
    else high = mid;
  }
  const before = folds.instants[low - 1] ?? { t: 0, to: 0 }, after = folds.instants[low] ?? { t: data.span, from: folds.length };
  if (u <= before.to || after.from <= before.to) return before.t;
  return before.t + Math.min((u - before.to) / (after.from - before.to), 1) * (after.t - before.t);
}
// positionOfBar is the position at which a bar begins: that of the step that started it, or of its time.
const positionOfBar = (t, index) => (index >= 0 ? folds.positions[index] : t === 0 ? 0 : positionOfTime(t));

// niceStep is a round number of seconds, not less than the given one.
function niceStep(least) {
  const steps = [1e-6, 2e-6, 5e-6];
  for (let size = 1e-5; size < 1; size *= 10) steps.push(size, 2 * size, 5 * size);
  steps.push(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400);
  for (let days = 2; days < 1e6; days *= 2) steps.push(days * 86400);
  return steps.find((s) => s >= least) ?? least;
}
