// A small renderer for the Markdown of the lessons: headings, paragraphs, lists and code. A link to a known problem opens it here; of other
// links the text remains.
const escaped = (s) => s.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const inline = (s) => escaped(s)
  .replace(/`([^`]+)`/g, "<code>$1</code>").replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>")
  .replace(/\[([^\]]+)\]\(([^)]*)\)/g, (_, text, to) => {
    const problem = /problems\/(.+)\.txtar$/.exec(to);
    if (problem) return `<a href="#open=${problem[1]}">${text}</a>`;
    return /\.\w+$/.test(text) ? `<code>${text}</code>` : text;
  });

export function markdown(source) {
  const out = [];
  let list = false, code = false, paragraph = [];
  const flush = () => {
    if (paragraph.length) out.push(`<p>${inline(paragraph.join(" "))}</p>`);
    paragraph = [];
  };
  const endList = () => { if (list) out.push("</ul>"); list = false; };
  for (const line of source.split("\n")) {
    if (line.startsWith("```")) {
      flush(); endList();
      out.push(code ? "</code></pre>" : "<pre><code>");
      code = !code;
    } else if (code) out.push(escaped(line) + "\n");
    else if (/^#+ /.test(line)) {
      flush(); endList();
      const level = line.startsWith("# ") ? "h2" : "h3";
      out.push(`<${level}>${inline(line.replace(/^#+ /, ""))}</${level}>`);
    } else if (/^- /.test(line)) {
      flush();
      if (!list) out.push("<ul>");
      list = true;
      out.push(`<li>${inline(line.slice(2))}</li>`);
    } else if (list && /^ {2}/.test(line)) {
      out[out.length - 1] = out[out.length - 1].replace(/<\/li>$/, " " + inline(line.trim()) + "</li>");
    } else if (line.trim() === "") { flush(); endList(); }
    else paragraph.push(line);
  }
  flush(); endList();
  return out.join("");
}
