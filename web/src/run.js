// The data of a run's picture (internal/tools/picture), with indexes by moment.
const types = ["decision", "write", "user", "storage", "event", "warning", "fault", "crash", "retry", "note", "violation", "start"];
const uuid = /([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const digest = /\b([0-9a-f]{8})[0-9a-f]{24,}\b/g;

export const shortened = (name) => name.replace(uuid, "$1…").replace(digest, "$1…").replace(/^default\//, "");

// decode returns {entries, lanes}: entries with their moment, and lanes with bars in moments.
export function decode(picture, state) {
  const e = picture.entries, entries = [];
  let seq = 0, time = 0, tick = 0;
  for (let i = 0; i < e.type.length; i++) {
    seq += e.seq[i];
    time += e.time[i];
    while (tick < state.seqs.length - 1 && state.seqs[tick] < seq) tick++;
    const text = (n) => (n === undefined || n < 0 ? "" : picture.texts[n]);
    entries.push({
      seq, time, tick, type: types[e.type[i]], actor: e.actor[i] < 0 ? "" : picture.actors[e.actor[i]], lane: e.lane[i],
      rule: e.rule[i] < 0 ? null : picture.rules[e.rule[i]], head: text(e.head[i]), text: text(e.text[i]), err: text(e.err[i]),
    });
  }
  const tickOf = (ns) => {
    let low = 0, high = state.times.length - 1;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (state.times[mid] < ns) low = mid + 1;
      else high = mid;
    }
    return low;
  };
  const lanes = picture.lanes.map((l, index) => {
    const bars = [];
    for (let i = 0; i < l.bars.length; i += 4) {
      const [ns, phase, ends, entry] = l.bars.slice(i, i + 4);
      bars.push({ from: entry >= 0 ? entries[entry].tick : tickOf(ns), phase: phase < 0 ? null : picture.phases[phase], ends: ends === 1 });
    }
    return { index, kind: l.kind, name: l.name, label: shortened(l.label || l.name), bars, marks: entries.filter((x) => x.lane === index) };
  });
  return { entries, lanes, at: (n) => entries.filter((x) => x.tick === n) };
}

export function duration(ns) {
  const s = ns / 1e9;
  if (s < 60) return `${+s.toFixed(3)}s`;
  const h = Math.floor(s / 3600), m = Math.floor((s % 3600) / 60), rest = +(s % 60).toFixed(1);
  return (h ? `${h}h` : "") + (m ? `${m}m` : "") + (rest ? `${rest}s` : "");
}
