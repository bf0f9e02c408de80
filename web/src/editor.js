// The editor of scripts: commands first, then files with manifests.
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter, drawSelection, Decoration, ViewPlugin } from "@codemirror/view";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { StreamLanguage, syntaxHighlighting, HighlightStyle, indentUnit, bracketMatching } from "@codemirror/language";
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { setDiagnostics, lintGutter, lintKeymap } from "@codemirror/lint";
import { searchKeymap, highlightSelectionMatches } from "@codemirror/search";
import { tags } from "@lezer/highlight";

const fileLine = /^-- .* --$/;

const language = StreamLanguage.define({
  startState: () => ({ file: false }),
  token(stream, state) {
    if (stream.sol()) {
      if (fileLine.test(stream.string)) {
        state.file = true;
        stream.skipToEnd();
        return "heading";
      }
      if (/^\s*#/.test(stream.string)) {
        stream.skipToEnd();
        return "comment";
      }
      if (!state.file) {
        if (stream.match(/^\s*([!?]|some)\s+/)) return "operator";
        if (stream.match(/^\s*[\w-]+/)) return "keyword";
      }
    }
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.match(/^'(?:[^']|'')*'?/) || stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (state.file) {
      if (stream.match(/^[\w./-]+(?=:(\s|$))/)) return "propertyName";
      if (stream.match(/^(true|false|null)\b/)) return "bool";
      if (stream.match(/^-?\d+(\.\d+)?([A-Za-z]i?)?(?=[\s,\]}]|$)/)) return "number";
      if (stream.match(/^[\w./-]+/)) return null;
    } else {
      if (stream.match(/^\$\{?\w+\}?/)) return "variableName";
      if (stream.match(/^--?[\w-]+/)) return "attributeName";
      if (stream.match(/^[\w.]+(?=[=<>!]+)/)) return "propertyName";
      if (stream.match(/^\d+(\.\d+)?(ns|us|ms|s|m|h|Gi|Mi|Ki|Ti)\b/)) return "number";
      if (stream.match(/^[a-z]+(?=\/)/)) return "typeName";
      if (stream.match(/^[\w.-]+/)) return null;
    }
    stream.next();
    return null;
  },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" }, { tag: tags.comment, color: "var(--comment)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--string)" }, { tag: tags.number, color: "var(--number)" }, { tag: tags.bool, color: "var(--number)" },
  { tag: tags.propertyName, color: "var(--property)" }, { tag: tags.attributeName, color: "var(--property)" },
  { tag: tags.typeName, color: "var(--type)" }, { tag: tags.variableName, color: "var(--type)" }, { tag: tags.operator, color: "var(--bad)" },
  { tag: tags.heading, color: "var(--accent)", fontWeight: "600" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: ".93em", backgroundColor: "var(--panel)", color: "var(--text)" },
  ".cm-scroller": { fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--dim)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--active)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--onAccent)" },
  ".cm-completionInfo": { maxWidth: "28em", whiteSpace: "pre-wrap" },
  ".cm-running": { backgroundColor: "var(--running)" },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)" },
});

// createEditor returns the editor. change runs after the user typed, complete answers {from, options} for the text before and after the cursor.
export function createEditor(parent, change, complete) {
  let running = 0, quiet = false;
  const runningLine = ViewPlugin.fromClass(class {
    constructor(view) { this.decorations = this.find(view); }
    update(u) { this.decorations = this.find(u.view); }
    find(view) {
      if (running < 1 || running > view.state.doc.lines) return Decoration.none;
      return Decoration.set(Decoration.line({ class: "cm-running" }).range(view.state.doc.line(running).from));
    }
  }, { decorations: (v) => v.decorations });
  const propose = async (context) => {
    const word = context.matchBefore(/[\w.-]+/);
    if (!word && !context.explicit) return null;
    const answer = await complete(context.state.sliceDoc(0, context.pos), context.state.sliceDoc(context.pos));
    if (!answer.options.length) return null;
    return { from: context.pos - answer.from, options: answer.options.map((o) => ({ label: o.label, detail: o.detail?.slice(0, 60), info: o.info })), validFor: /^[\w.:=-]*$/ };
  };
  const state = (doc) => EditorState.create({
    doc,
    extensions: [
      lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(), EditorView.lineWrapping, history(), bracketMatching(), highlightSelectionMatches(),
      language, syntaxHighlighting(colours), indentUnit.of("  "), look, runningLine, lintGutter(), autocompletion({ override: [propose] }),
      keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...lintKeymap, ...searchKeymap]),
      EditorView.contentAttributes.of({ "aria-label": "Script and manifests" }),
      EditorView.updateListener.of((u) => { if (u.docChanged && !quiet) change(u.state.doc.toString()); }),
    ],
  });
  const view = new EditorView({ parent, state: state("") });
  return {
    view,
    text: () => view.state.doc.toString(),
    // show replaces the text without a call of change; the new text keeps the place of the cursor if it only grew. It returns what differs.
    show(text) {
      const old = view.state.doc.toString();
      if (old === text) return { from: 0, to: 0 };
      let from = 0;
      while (from < old.length && from < text.length && old[from] === text[from]) from++;
      let end = 0;
      while (end < old.length - from && end < text.length - from && old[old.length - 1 - end] === text[text.length - 1 - end]) end++;
      quiet = true;
      view.dispatch({ changes: { from, to: old.length - end, insert: text.slice(from, text.length - end) } });
      quiet = false;
      return { from, to: text.length - end };
    },
    // turn shows another text, and returns what is known about the one that was shown: what can be undone in it. known is such a value of an
    // earlier call for the other text, if there was one.
    turn(text, known) {
      const left = view.state;
      view.setState(known ?? state(text));
      this.show(text);
      return left;
    },
    // select selects a part of the text, and scrolls to it.
    select({ from, to }) {
      view.dispatch({ selection: { anchor: to, head: from }, effects: EditorView.scrollIntoView(from, { y: "start", yMargin: 40 }) });
      view.focus();
    },
    problems(list) {
      const doc = view.state.doc;
      view.dispatch(setDiagnostics(view.state, list.filter((p) => p.line >= 1 && p.line <= doc.lines).map((p) => {
        const line = doc.line(p.line);
        return { from: line.from, to: line.to, severity: "error", message: p.text };
      })));
    },
    run(line) {
      if (line === running) return;
      running = line;
      view.dispatch({});
    },
    go(line) {
      const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
      view.dispatch({ selection: { anchor: at.from }, scrollIntoView: true });
      view.focus();
    },
  };
}
