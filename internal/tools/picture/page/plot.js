// Drawing the timeline: only what is visible, on a canvas.

const markY = 11, markR = 4.6, barY = 20, barHeight = 15, clusterGap = 10.5;

// A frame has the parameters of a drawing: {width, from, to, colours}. It maps positions to pixels.
const pixel = (frame, u) => ((u - frame.from) / (frame.to - frame.from)) * frame.width;
const positionAt = (frame, x) => frame.from + (x / frame.width) * (frame.to - frame.from);

// isFolded reports idle stretches that get a break sign.
const isFolded = (gap) => gap >= 1e9;

// visibleInstants are the indexes of the first time in the frame and of the first one after it.
function visibleInstants(frame) {
  const all = folds.instants;
  const search = (u, key) => {
    let low = 0, high = all.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (all[mid][key] < u) low = mid + 1;
      else high = mid;
    }
    return low;
  };
  return [search(frame.from, "to"), Math.min(search(frame.to, "from") + 1, all.length)];
}

// foldedStretches are the idle stretches in the frame: {x0, x1, gap}.
function foldedStretches(frame) {
  if (folds.linear) return [];
  const [first, last] = visibleInstants(frame), stretches = [];
  const add = (from, to, gap) => {
    if (isFolded(gap)) stretches.push({ x0: pixel(frame, from), x1: pixel(frame, to), gap });
  };
  for (let n = first; n < last; n++) add(n > 0 ? folds.instants[n - 1].to : 0, folds.instants[n].from, folds.instants[n].gap);
  if (last === folds.instants.length && last > 0) add(folds.instants[last - 1].to, folds.length, data.span - folds.instants[last - 1].t);
  return stretches;
}

// drawAxis draws the axis, height pixels high.
function drawAxis(ctx, frame, height) {
  const { colours } = frame;
  ctx.font = `12px ${colours.font}`;
  ctx.textBaseline = "middle";
  for (const s of foldedStretches(frame)) {
    ctx.fillStyle = colours.faint;
    ctx.fillRect(s.x0, 0, s.x1 - s.x0, height);
    const label = duration(s.gap), width = ctx.measureText(label).width;
    if (s.x1 - s.x0 < width + 8) continue;
    ctx.fillStyle = colours.muted;
    ctx.textAlign = "center";
    ctx.fillText(label, (s.x0 + s.x1) / 2, height - 11);
  }
  ctx.textAlign = "left";
  for (const tick of ticks(ctx, frame)) {
    ctx.fillStyle = colours.line;
    ctx.fillRect(Math.round(tick.x), height - 20, 1, 20);
    ctx.fillStyle = colours.ink;
    ctx.fillText(tick.label, tick.at, 13);
  }
  ctx.fillStyle = colours.line;
  ctx.fillRect(0, height - 1, frame.width, 1);
}

// ticks are the times that get a label: those after the longest stretches first, without overlaps.
function ticks(ctx, frame) {
  const wanted = [];
  if (folds.linear) {
    const step = niceStep(((frame.to - frame.from) * 90) / frame.width);
    for (let n = Math.ceil(frame.from / step - 1e-9); n * step <= frame.to; n++) {
      if (n >= 0 && n * step <= data.span / 1e9 + 1e-9) wanted.push({ x: pixel(frame, n * step), t: Math.round(n * step * 1e9), gap: 0 });
    }
  } else {
    const [first, last] = visibleInstants(frame);
    for (let n = first; n < last; n++) wanted.push({ x: pixel(frame, folds.instants[n].from), t: folds.instants[n].t, gap: n === 0 ? Infinity : folds.instants[n].gap });
    wanted.sort((a, b) => b.gap - a.gap || a.x - b.x);
    wanted.splice(300);
  }
  const placed = [];
  for (const tick of wanted) {
    tick.label = offset(tick.t);
    const width = ctx.measureText(tick.label).width + 10;
    tick.at = Math.min(Math.max(tick.x, 3), frame.width - width);
    if (tick.x < -1 || tick.x > frame.width) continue;
    if (placed.some((p) => tick.at < p.at + p.width && p.at < tick.at + width)) continue;
    placed.push({ ...tick, width });
  }
  return placed;
}

// drawRows draws the rows from first on, shifted up by top, and records in hits where each mark and bar is.
function drawRows(ctx, frame, first, top, height, hits) {
  const { colours, width } = frame;
  const stretches = foldedStretches(frame);
  for (const s of stretches) {
    ctx.fillStyle = colours.faint;
    ctx.fillRect(s.x0, 0, s.x1 - s.x0, Math.min(height, shown.height - top));
  }
  for (let n = first; n < shown.rows.length && shown.rows[n].y - top < height; n++) {
    const row = shown.rows[n], y = row.y - top;
    if (row.lane < 0) {
      ctx.fillStyle = colours.surface;
      ctx.fillRect(0, y, width, row.height);
    } else if (row.lane === state.lane) {
      ctx.fillStyle = colours.select;
      ctx.fillRect(0, y, width, row.height);
    }
    ctx.fillStyle = colours.line;
    ctx.fillRect(0, y + row.height - 1, width, 1);
    if (row.lane < 0) continue;
    drawBars(ctx, frame, row.lane, y, stretches, hits);
    drawMarks(ctx, frame, row.lane, y, hits);
  }
}

function drawBars(ctx, frame, lane, y, stretches, hits) {
  const { bars } = data.lanes[lane], { colours, width } = frame;
  ctx.font = `500 11px ${colours.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (let b = 0; b < bars.length; b += 4) {
    const phase = bars[b + 1], deleting = bars[b + 2] === 1, index = bars[b + 3];
    if (phase < 0) continue;
    const x0 = pixel(frame, positionOfBar(bars[b], index));
    const x1 = b + 4 < bars.length ? pixel(frame, positionOfBar(bars[b + 4], bars[b + 7])) : pixel(frame, folds.length);
    if (x1 < -4 || x0 > width + 4) continue;
    const { name, tone } = data.phases[phase], [fill, on] = colours.tones[tone];
    const left = Math.max(x0, -4), w = Math.max(Math.min(x1, width + 4) - left - (x1 - x0 > 4 ? 1 : 0), 1.5);
    ctx.fillStyle = fill;
    ctx.beginPath();
    ctx.roundRect(left, y + barY, w, barHeight, Math.min(3, w / 2));
    ctx.fill();
    if (deleting) hatch(ctx, left, y + barY, w, barHeight, on);
    const folded = stretches.filter((s) => s.x0 >= left - 1 && s.x1 <= left + w + 1);
    for (const s of folded) fade(ctx, s, y + barY, colours.ground);
    const end = (deleting && drawLabel(ctx, name + ", deleting", left, w, y, on, fill)) || drawLabel(ctx, name, left, w, y, on, fill) || 0;
    for (const s of folded) breakSign(ctx, s, end, y + barY, colours.ground);
    hits?.push({ x0: left, x1: left + w, y0: y + barY - 2, y1: y + barY + barHeight + 3, lane, bar: b });
  }
}

// drawLabel writes into a bar if there is room, and returns where the label ends.
function drawLabel(ctx, label, left, w, y, on, fill) {
  const width = ctx.measureText(label).width, start = Math.max(left, 0) + 6;
  if (start + width > left + w - 4) return 0;
  ctx.fillStyle = fill;
  ctx.fillRect(start - 3, y + barY + 1, width + 6, barHeight - 2);
  ctx.fillStyle = on;
  ctx.fillText(label, start, y + barY + barHeight / 2 + 0.5);
  return start + width + 3;
}

// hatch hatches the bar of an object that is being deleted.
function hatch(ctx, x, y, w, h, colour) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  ctx.globalAlpha = 0.45;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.2;
  ctx.beginPath();
  for (let at = x - h - ((x - h) % 6); at < x + w; at += 6) {
    ctx.moveTo(at, y + h);
    ctx.lineTo(at + h, y);
  }
  ctx.stroke();
  ctx.restore();
}

// fade fades a bar where time is folded.
function fade(ctx, s, y, colour) {
  ctx.globalAlpha = 0.2;
  ctx.fillStyle = colour;
  ctx.fillRect(s.x0, y, s.x1 - s.x0, barHeight);
  ctx.globalAlpha = 1;
}

// breakSign marks a bar that is longer than drawn, if there is room.
function breakSign(ctx, s, labelEnd, y, colour) {
  const x = (s.x0 + s.x1) / 2;
  if (s.x1 - s.x0 < 34 || x - 6 < labelEnd) return;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (const dx of [-1.8, 1.8]) {
    ctx.moveTo(x + dx - 2.5, y + barHeight + 1);
    ctx.lineTo(x + dx + 2.5, y - 1);
  }
  ctx.stroke();
}

// extent is the horizontal range of a cluster of marks. A cluster of several marks shows their number.
function extent(group) {
  if (group.steps.length === 1) return [group.x0 - clusterGap / 2, group.x1 + clusterGap / 2];
  const half = Math.max(group.x1 - group.x0 + 10, 20 + 6.5 * String(group.steps.length).length) / 2, middle = (group.x0 + group.x1) / 2;
  return [middle - half, middle + half];
}

// clusters groups the marks of a lane in the frame that would touch: {x0, x1, steps}.
function clusters(frame, lane) {
  const marks = visibleMarks(lane), { positions } = folds, groups = [];
  const least = positionAt(frame, -clusterGap), most = positionAt(frame, frame.width + clusterGap);
  let low = 0, high = marks.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (positions[marks[mid]] < least) low = mid + 1;
    else high = mid;
  }
  for (; low < marks.length && positions[marks[low]] <= most; low++) {
    const x = pixel(frame, positions[marks[low]]);
    let group = { x0: x, x1: x, steps: [marks[low]] };
    // A growing cluster may touch the one before it.
    while (groups.length > 0 && extent(groups.at(-1))[1] > extent(group)[0]) {
      const last = groups.pop();
      last.steps.push(...group.steps);
      group = { x0: last.x0, x1: x, steps: last.steps };
    }
    groups.push(group);
  }
  return groups;
}

function drawMarks(ctx, frame, lane, y, hits) {
  const { colours } = frame;
  for (const index of visibleMarks(lane)) {
    const until = data.entries.until[index];
    if (until === undefined) continue;
    ctx.fillStyle = colours.storage;
    const x0 = pixel(frame, folds.positions[index]), x1 = pixel(frame, folds.positions[until]);
    if (x1 >= 0 && x0 <= frame.width) ctx.fillRect(x0, y + markY - 1, x1 - x0, 2);
  }
  for (const group of clusters(frame, lane)) {
    const { x0, x1, steps } = group;
    const chosen = steps.includes(state.step);
    if (steps.length === 1) {
      if (chosen) ring(ctx, x0, y + markY, x0, colours);
      drawMark(ctx, data.entries.type[steps[0]], x0, y + markY, markR, colours, failed(steps[0]));
      hits?.push({ x0: x0 - 7, x1: x0 + 7, y0: y, y1: y + barY - 1, lane, steps });
      continue;
    }
    const worst = steps.reduce((a, b) => (weight(b) > weight(a) ? b : a));
    const label = String(steps.length), [left, right] = extent(group), width = right - left;
    ctx.font = `600 10px ${colours.font}`;
    if (chosen) ring(ctx, left + 6, y + markY, left + width - 6, colours);
    ctx.fillStyle = colours.cluster;
    ctx.beginPath();
    ctx.roundRect(left, y + markY - 7, width, 14, 7);
    ctx.fill();
    drawMark(ctx, data.entries.type[worst], left + 7.5, y + markY, 3.6, { ...colours, ground: colours.cluster }, failed(worst));
    ctx.fillStyle = colours.clusterink;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.fillText(label, left + 13.5, y + markY + 0.5);
    hits?.push({ x0: left, x1: left + width, y0: y, y1: y + barY - 1, lane, steps });
  }
}

// ring marks the selected step.
function ring(ctx, x0, y, x1, colours) {
  ctx.strokeStyle = colours.accent;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.roundRect(x0 - 8.5, y - 8.5, x1 - x0 + 17, 17, 8.5);
  ctx.stroke();
}

// density is the number of steps, and the highest severity, in each column of the whole run. It is cached until the shown steps or their
// positions change.
let kept = {};
function density(columns) {
  if (kept.columns === columns && kept.steps === shown.steps && kept.linear === folds.linear) return kept;
  const counts = new Float64Array(columns), worst = new Float64Array(columns);
  for (const i of shown.steps) {
    const at = Math.min(Math.floor((folds.positions[i] / folds.length) * columns), columns - 1);
    counts[at]++;
    worst[at] = Math.max(worst[at], weight(i));
  }
  kept = { columns, steps: shown.steps, linear: folds.linear, counts, worst };
  return kept;
}

// drawOverview draws the density of the whole run, and the frame.
function drawOverview(ctx, frame, height) {
  const { colours, width } = frame, columns = Math.ceil(width / 3), { counts, worst } = density(columns);
  const most = Math.max(...counts, 1);
  ctx.fillStyle = colours.surface;
  ctx.fillRect(0, 0, width, height);
  for (let c = 0; c < columns; c++) {
    if (!counts[c]) continue;
    const h = 3 + (height - 8) * Math.sqrt(counts[c] / most);
    ctx.fillStyle = worst[c] >= 7 ? colours.warning : colours.muted;
    ctx.fillRect(c * 3, height - h, 2, h);
  }
  const x0 = (frame.from / folds.length) * width, x1 = (frame.to / folds.length) * width;
  ctx.fillStyle = colours.accent;
  ctx.globalAlpha = 0.13;
  ctx.fillRect(x0, 0, x1 - x0, height);
  ctx.globalAlpha = 1;
  ctx.fillRect(x0, 0, 1.5, height);
  ctx.fillRect(x1 - 1.5, 0, 1.5, height);
}
