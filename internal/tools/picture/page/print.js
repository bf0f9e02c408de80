// The printed version: lanes in portions that fit a page, in light colours, then the selected step and the list of steps.

const paperWidth = 1000, paperLabels = 190, paperLanes = 15, paperSteps = 500, paperMost = 300;

function fillPaper(paper) {
  const colours = readColours(paper);
  const frame = { width: paperWidth - paperLabels, from: state.view.from, to: state.view.to, colours };
  const parts = [make("h1", "", data.title), make("p", "muted", byId("summary").textContent)];
  const lanes = shown.rows.filter((row) => row.lane >= 0).slice(0, paperMost);
  const kept = { rows: shown.rows, height: shown.height };
  for (let n = 0; n < lanes.length; n += paperLanes) parts.push(portion(frame, lanes.slice(n, n + paperLanes), colours));
  Object.assign(shown, kept);
  if (shown.lanes.length > lanes.length) parts.push(make("p", "muted", `${shown.lanes.length - lanes.length} more lanes are not printed; filter to select others.`));
  parts.push(make("div", "legendLine", markNames.map((name, type) => make("span", "", [markImage(type, colours), name]))));
  if (state.step >= 0) {
    const step = make("div", "paperStep");
    showStep(step, state.step, state.lane, colours, { select() {} });
    for (const canvas of step.querySelectorAll("canvas")) canvas.remove();
    for (const button of step.querySelectorAll(".copy, .choices")) button.remove();
    parts.push(step);
  }
  if (shown.steps.length <= paperSteps) parts.push(stepTable());
  paper.replaceChildren(...parts);
}

// portion draws some lanes with an axis of their own.
function portion(frame, lanes, colours) {
  shown.rows = lanes.map((row, n) => ({ lane: row.lane, y: n * laneHeight, height: laneHeight }));
  shown.height = lanes.length * laneHeight;
  const axisHeight = 44, canvas = sheet(frame.width, axisHeight + shown.height), ctx = canvas.getContext("2d");
  ctx.scale(3, 3);
  drawAxis(ctx, frame, axisHeight);
  ctx.translate(0, axisHeight);
  ctx.beginPath();
  ctx.rect(0, 0, frame.width, shown.height);
  ctx.clip();
  drawRows(ctx, frame, 0, 0, shown.height, null);
  const labels = make("div", "paperLabels", lanes.map((row) => make("div", "paperLabel", laneName(row.lane))));
  return make("div", "portion", [labels, image(canvas, frame.width)]);
}

function sheet(width, height) {
  return Object.assign(document.createElement("canvas"), { width: width * 3, height: height * 3 });
}
// image converts a canvas to an image, because some browsers do not print canvases.
function image(canvas, width) {
  return make("img", "", [], { src: canvas.toDataURL(), width, alt: "" });
}
function markImage(type, colours) {
  const canvas = sheet(14, 14), ctx = canvas.getContext("2d");
  ctx.scale(3, 3);
  drawMark(ctx, type, 7, 7, 5, colours, false);
  return image(canvas, 14);
}

function stepTable() {
  return make("table", "steps", [
    make("thead", "", make("tr", "", ["When", "Who", "What", "Rule", ""].map((h) => make("th", "", h)))),
    make("tbody", "", shown.steps.map((i) => {
      const e = entry(i);
      return make("tr", "", [
        make("td", "", offset(e.time)), make("td", "", e.actor), make("td", "", e.lane >= 0 ? laneName(e.lane) : ""),
        make("td", "", e.rule?.id ?? ""), make("td", "", shortened(headline(i)) + (e.err ? `: ${e.err}` : "")),
      ]);
    })),
  ]);
}
