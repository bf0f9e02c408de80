// The story of a run: its chapters on the axis, the script beside them, and playing it.

const chapters = data.chapters ?? [];
const hasStory = chapters.some((chapter) => chapter.commands.length > 0);

// missed reports whether a line that has to hold with some seed does not hold with this one.
const missed = (c) => c.text.startsWith("some ") && c.error && !c.failed;
// commands has all commands in order, each with its chapter.
const commands = chapters.flatMap((chapter, n) => chapter.commands.map((command) => ({ ...command, chapter: n })));
// commandOf is the index of the command during which a step happened, -1 before the first.
function commandOf(step) {
  let low = 0, high = commands.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (commands[mid].step <= step) low = mid + 1;
    else high = mid;
  }
  return low - 1;
}
// beginOf is the position at which a command begins, just before its first step.
function beginOf({ step, from }) {
  if (step >= count) return positionOfTime(from);
  const here = folds.positions[step], before = step > 0 ? folds.positions[step - 1] : here - 1;
  if (times[step] > from && (step === 0 || times[step - 1] < from)) return Math.min(positionOfTime(from), here);
  return Math.max((here + before) / 2, here - (folds.linear ? 0 : 0.6));
}
const chapterStart = (n) => (n === 0 || !chapters[n].commands.length ? 0 : beginOf(chapters[n].commands[0]));
const chapterEnd = (n) => (n + 1 < chapters.length ? chapterStart(n + 1) : folds.length);
const chapterName = (chapter, n) => chapter.title || (n === 0 ? "Beginning" : `Part ${n + 1}`);
// The introduction of a script is its title, so that the first chapter has a short name.
const chapterLabel = (chapter, n) => (chapter.title === data.title ? "Beginning" : chapterName(chapter, n));

const storyHeight = 22;

// drawChapters draws the chapters and the expectations in a strip, and returns where each is: {x0, x1, chapter} or {x0, x1, command}.
function drawChapters(ctx, frame) {
  const { colours, width } = frame, found = [];
  ctx.font = `500 11.5px ${colours.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  chapters.forEach((chapter, n) => {
    const x0 = pixel(frame, chapterStart(n)), x1 = pixel(frame, chapterEnd(n)), left = Math.max(x0, 0), right = Math.min(x1, width);
    if (right <= left) return;
    const failed = chapter.commands.some((c) => c.failed);
    ctx.fillStyle = n % 2 ? colours.surface : colours.select;
    ctx.fillRect(left, 0, right - left, storyHeight);
    ctx.fillStyle = failed ? colours.bad : colours.accent;
    if (n > 0 && x0 >= 0) ctx.fillRect(x0, 0, 1, storyHeight);
    const label = clipped(ctx, chapterLabel(chapter, n), right - left - 12);
    ctx.fillStyle = failed ? colours.bad : colours.ink;
    if (label) ctx.fillText(label, left + 6, storyHeight / 2 - 2);
    found.push({ x0: left, x1: right, chapter: n });
  });
  commands.forEach((command, n) => {
    if (!command.expects) return;
    const x = pixel(frame, beginOf(command));
    if (x < -5 || x > width + 5) return;
    drawResult(ctx, x, storyHeight - 4, command.failed, colours);
    found.push({ x0: x - 5, x1: x + 5, command: n });
  });
  return found;
}
// drawResult draws a check mark, or a cross for a failed expectation.
function drawResult(ctx, x, y, failed, colours) {
  ctx.strokeStyle = failed ? colours.bad : colours.tones.runs[0];
  ctx.lineWidth = failed ? 2.2 : 1.7;
  ctx.lineCap = "round";
  ctx.beginPath();
  if (failed) {
    ctx.moveTo(x - 3.5, y - 3.5);
    ctx.lineTo(x + 3.5, y + 3.5);
    ctx.moveTo(x + 3.5, y - 3.5);
    ctx.lineTo(x - 3.5, y + 3.5);
  } else {
    ctx.moveTo(x - 3, y - 1);
    ctx.lineTo(x - 1, y + 2);
    ctx.lineTo(x + 3.5, y - 3);
  }
  ctx.stroke();
}
// clipped shortens a label to a width; "" if too little of it would be left.
function clipped(ctx, label, width) {
  if (ctx.measureText(label).width <= width) return label;
  let length = label.length;
  while (length > 0 && ctx.measureText(label.slice(0, length) + "…").width > width) length--;
  return length < 3 ? "" : label.slice(0, length).trimEnd() + "…";
}
// drawChapterLines draws where chapters begin through the lanes.
function drawChapterLines(ctx, frame, height) {
  ctx.fillStyle = frame.colours.accent;
  ctx.globalAlpha = 0.35;
  for (let n = 1; n < chapters.length; n++) {
    const x = pixel(frame, chapterStart(n));
    if (x >= 0 && x <= frame.width) ctx.fillRect(x, 0, 1, height);
  }
  ctx.globalAlpha = 1;
}

// tipForStory is the tooltip of a chapter or an expectation.
function tipForStory(hit) {
  if (hit.command !== undefined) {
    const c = commands[hit.command];
    return [make("div", "tipHead", [make("strong", "", c.failed ? "Failed" : "As expected"), make("span", "muted", offset(c.from))]), make("div", "tipText", make("code", "", c.text)), c.failed ? make("div", "error", c.error) : null].filter((part) => part);
  }
  const chapter = chapters[hit.chapter];
  return [make("div", "tipHead", make("strong", "", chapterName(chapter, hit.chapter))), make("div", "tipText", chapter.text), make("div", "muted", "Click to zoom to this chapter.")];
}

// showScript shows the script with the result of each command. The command of the selected step is marked.
function showScript(panel, act) {
  const now = state.step < 0 ? -1 : commandOf(state.step);
  panel.replaceChildren(...chapters.flatMap((chapter, n) => [
    make("h2", "", make("button", "chapterLink", chapterName(chapter, n), { onclick: () => act.chapter(n), title: "Zoom to this chapter" })),
    chapter.text ? make("p", "muted", chapter.text) : null,
    make("ol", "commands", chapter.commands.map((c) => {
      const index = commands.findIndex((other) => other.line === c.line && other.from === c.from && other.text === c.text);
      const kind = c.failed ? "failed" : c.expects ? "passed" : "";
      return make("li", "", [make("button", `command ${kind}` + (index === now ? " chosen" : ""), [
        make("span", "time", offset(c.from)), make("span", "verdict", c.failed ? "✗" : !c.expects ? "" : missed(c) ? "–" : "✓"),
        make("span", "commandText", [make("code", "", c.text), c.to > c.from ? make("span", "muted", ` ${duration(c.to - c.from)}`) : null,
          c.error ? make("span", c.failed ? "error" : "muted", ` ${missed(c) ? "not with this seed: " : ""}${c.error}`) : null]),
      ], { onclick: () => act.command(index), title: c.line ? `line ${c.line}` : "" }), index === now && c.output ? make("pre", "output", c.output) : null]);
    })),
  ]).filter((part) => part));
  const chosen = panel.querySelector(".chosen"), { scrollTop: top, clientHeight: height } = panel;
  if (chosen && (chosen.offsetTop - panel.offsetTop < top || chosen.offsetTop - panel.offsetTop + chosen.offsetHeight > top + height)) {
    panel.scrollTop = chosen.offsetTop - panel.offsetTop - height / 3;
  }
}

// player selects one step after the other.
const player = { timer: 0, rate: 4 };
function play(on) {
  clearInterval(player.timer);
  player.timer = 0;
  if (on && shown.steps.length > 0) {
    if (state.step < 0 || state.step >= shown.steps.at(-1)) select(shown.steps[0]);
    player.timer = setInterval(() => {
      if (state.step >= shown.steps.at(-1)) play(false);
      else go(1, false);
    }, 1000 / player.rate);
  }
  const button = byId("play");
  button.textContent = player.timer ? "❚❚" : "▶";
  button.setAttribute("aria-label", player.timer ? "Pause" : "Play");
  button.title = (player.timer ? "Pause" : "Play") + " (Space)";
}
