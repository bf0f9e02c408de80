// Objects as YAML, as kubectl prints them: keys sorted, and each line with its path.

// plainWord matches strings that need no quotes in YAML.
function plainWord(s) {
  return /^[A-Za-z_./][\w./^+@%-]*([ :][\w./^+@%(),-]+)*$/.test(s) && !/: |:$/.test(s) && !/^(true|false|yes|no|on|off|y|n|null|nan|inf|~|\.nan|[-+]?\.inf)$/i.test(s) &&
    !/^[-+.]?[0-9]/.test(s);
}
const scalar = (v) => (typeof v === "string" && plainWord(v) ? v : JSON.stringify(v));
const keyWord = (key) => (/^[A-Za-z_][\w./-]*$/.test(key) && plainWord(key) ? key : JSON.stringify(key));

// yamlLines returns the lines of a value: {text, path}.
function yamlLines(value, indent = 0, path = [], into = []) {
  const pad = "  ".repeat(indent);
  const empty = (v) => v === null || typeof v !== "object" || Object.keys(v).length === 0;
  if (Array.isArray(value)) {
    value.forEach((v, i) => {
      const at = [...path, i];
      if (empty(v)) {
        into.push({ text: `${pad}- ${scalar(v)}`, path: at });
        return;
      }
      const first = into.length;
      yamlLines(v, indent + 1, at, into);
      into[first].text = pad + "- " + into[first].text.slice(pad.length + 2);
    });
    return into;
  }
  for (const key of Object.keys(value).sort()) {
    const v = value[key], at = [...path, key];
    if (empty(v)) {
      into.push({ text: `${pad}${keyWord(key)}: ${scalar(v)}`, path: at });
      continue;
    }
    into.push({ text: `${pad}${keyWord(key)}:`, path: at });
    yamlLines(v, Array.isArray(v) ? indent : indent + 1, at, into);
  }
  return into;
}
// manifest is the object of a lane with apiVersion and kind.
const manifest = (lane, doc) => ({ ...doc, apiVersion: data.lanes[lane].apiVersion, kind: data.lanes[lane].kind });
