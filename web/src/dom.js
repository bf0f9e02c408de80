// Helpers for the elements of the page.

export const $ = (id) => document.getElementById(id);

export const on = (id, action) => { $(id).onclick = action; };

export function say(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
}

// redraw draws the content of an element again, and keeps the focus.
export function redraw(parent, draw) {
  const at = parent.contains(document.activeElement) && document.activeElement.dataset.key;
  draw();
  if (at) parent.querySelector(`[data-key="${CSS.escape(at)}"]`)?.focus({ preventScroll: true });
}

export function options(select, values) {
  const old = select.value;
  if ([...select.options].map((o) => o.value).join() === values.join()) return;
  select.replaceChildren(...values.map((v) => new Option(v, v)));
  if (values.includes(old)) select.value = old;
}
