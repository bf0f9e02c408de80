// The shapes of marks. Each type of step has its own shape, so that colour is not needed to distinguish them.

const markColour = ["decision", "write", "user", "storage", "event", "warning", "bad", "write", "retry", "note", "bad", "write", "write"];
// severity decides which of several marks at one position is shown.
const severity = [3, 4, 6, 5, 2, 7, 9, 8, 7.5, 1, 10, 1, 0];
const weight = (i) => severity[data.entries.type[i]] + (failed(i) ? 3 : 0);
const isWorthALook = (i) => weight(i) >= 7;

// drawMark draws the shape of a type of step around (x, y) with radius r.
function drawMark(ctx, type, x, y, r, colours, isFailed) {
  const colour = isFailed ? colours.bad : colours[markColour[type]];
  ctx.save();
  ctx.fillStyle = ctx.strokeStyle = colour;
  ctx.lineWidth = 1.6;
  ctx.lineJoin = ctx.lineCap = "round";
  ctx.beginPath();
  switch (type) {
    case DECISION:
      ctx.arc(x, y, r - 0.8, 0, 7);
      ctx.fillStyle = colours.ground;
      ctx.fill();
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(x, y, r * 0.32, 0, 7);
      ctx.fillStyle = colour;
      ctx.fill();
      break;
    case WRITE:
      ctx.rect(x - r * 0.8, y - r * 0.8, r * 1.6, r * 1.6);
      ctx.fill();
      break;
    case USER:
      ctx.moveTo(x - r, y - r * 0.8);
      ctx.lineTo(x + r, y - r * 0.8);
      ctx.lineTo(x, y + r);
      ctx.closePath();
      ctx.fill();
      break;
    case STORAGE:
      ctx.moveTo(x, y - r * 1.1);
      ctx.lineTo(x + r * 1.1, y);
      ctx.lineTo(x, y + r * 1.1);
      ctx.lineTo(x - r * 1.1, y);
      ctx.closePath();
      ctx.fill();
      break;
    case EVENT: case WARNING:
      ctx.moveTo(x, y - r);
      ctx.lineTo(x + r, y + r * 0.8);
      ctx.lineTo(x - r, y + r * 0.8);
      ctx.closePath();
      if (type === EVENT) {
        ctx.fillStyle = colours.ground;
        ctx.fill();
        ctx.stroke();
      } else {
        ctx.fill();
      }
      break;
    case FAULT:
      ctx.lineWidth = 2.4;
      ctx.moveTo(x - r * 0.75, y - r * 0.75);
      ctx.lineTo(x + r * 0.75, y + r * 0.75);
      ctx.moveTo(x + r * 0.75, y - r * 0.75);
      ctx.lineTo(x - r * 0.75, y + r * 0.75);
      ctx.stroke();
      break;
    case CRASH: case START:
      ctx.arc(x, y + r * 0.1, r * 0.8, -1, Math.PI + 1);
      ctx.moveTo(x, y - r);
      ctx.lineTo(x, y);
      ctx.stroke();
      break;
    case RETRY:
      ctx.arc(x, y, r * 0.75, -0.4, 4.6);
      ctx.stroke();
      ctx.beginPath();
      ctx.moveTo(x - r * 0.15, y - r * 1.15);
      ctx.lineTo(x + r * 0.6, y - r * 0.75);
      ctx.lineTo(x - r * 0.15, y - r * 0.3);
      ctx.closePath();
      ctx.fill();
      break;
    case NOTE:
      ctx.arc(x, y, r * 0.4, 0, 7);
      ctx.fill();
      break;
    case VIOLATION:
      for (let k = 0; k < 8; k++) ctx.lineTo(x + r * 1.15 * Math.cos((k + 0.5) * Math.PI / 4), y + r * 1.15 * Math.sin((k + 0.5) * Math.PI / 4));
      ctx.closePath();
      ctx.fill();
      ctx.strokeStyle = ctx.fillStyle = colours.ground;
      ctx.beginPath();
      ctx.moveTo(x, y - r * 0.6);
      ctx.lineTo(x, y + r * 0.1);
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(x, y + r * 0.55, 0.9, 0, 7);
      ctx.fill();
      break;
  }
  if (isFailed && type !== VIOLATION && type !== FAULT && type !== RETRY) {
    // A stroke: the step failed.
    ctx.strokeStyle = colours.ground;
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(x - r, y + r);
    ctx.lineTo(x + r, y - r);
    ctx.stroke();
  }
  ctx.restore();
}

// markIcon is a small canvas with the shape, for lists and the legend.
function markIcon(type, isFailed, colours) {
  const size = 16, canvas = document.createElement("canvas");
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.height = size * ratio;
  canvas.className = "icon";
  const ctx = canvas.getContext("2d");
  ctx.scale(ratio, ratio);
  drawMark(ctx, type, size / 2, size / 2, 5.5, colours, isFailed);
  return canvas;
}

// readColours reads the colours of an element from the style sheet.
function readColours(element) {
  const style = getComputedStyle(element), colours = {};
  for (const name of ["ground", "surface", "ink", "muted", "line", "faint", "accent", "select", "decision", "write", "user", "storage", "event",
    "warning", "bad", "retry", "note", "cluster", "clusterink"]) colours[name] = style.getPropertyValue("--" + name).trim();
  colours.tones = {};
  for (const tone of ["waiting", "free", "bound", "runs", "leaving", "bad", "done", "there"]) {
    colours.tones[tone] = [style.getPropertyValue("--tone-" + tone).trim(), style.getPropertyValue("--on-" + tone).trim()];
  }
  colours.font = style.fontFamily;
  return colours;
}
