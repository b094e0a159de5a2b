// A tree with keyboard support for thousands of rows: only visible rows are in the page.

import { el, fill } from "../shared/base.js";

const ROW = 30; // px, the same as in the style sheet
const MARGIN = 10; // rows above and below the visible ones

/** Create a tree of rows from `forest.js`. `chosen` receives the chosen node, `toggled` a node and whether to open it. */
export function treeOf(label, draw, chosen, toggled) {
  const inner = el("div", { class: "tree-inner", role: "presentation" });
  const element = el("div", { class: "tree", role: "tree", tabindex: "0", "aria-label": label, on: { scroll: () => render(), keydown: onKey, click: onClick } }, inner);
  let rows = [];
  let active = 0;
  let selected = null;
  let typed = { text: "", at: 0 };

  function render() {
    inner.style.setProperty("height", `${rows.length * ROW}px`);
    const first = Math.max(0, Math.floor(element.scrollTop / ROW) - MARGIN);
    const last = Math.min(rows.length, Math.ceil((element.scrollTop + (element.clientHeight || 600)) / ROW) + MARGIN);
    const wanted = rows.slice(first, last).map((row, at) => rowNode(row, first + at));
    if (rows.length && (active < first || active >= last)) wanted.push(rowNode(rows[active], active));
    fill(inner, wanted);
    if (rows.length) element.setAttribute("aria-activedescendant", `row-${active}`);
    else element.removeAttribute("aria-activedescendant");
  }

  function rowNode({ node, level, at, of, hasChildren, isOpen }, number) {
    return el("div", {
      role: "treeitem", id: `row-${number}`, class: number === active ? "row is-active" : "row", "data-number": number,
      "aria-level": level, "aria-setsize": of, "aria-posinset": at, "aria-selected": String(node === selected),
      "aria-expanded": hasChildren ? String(isOpen) : null, style: { top: `${number * ROW}px`, "--level": String(level - 1) },
    }, el("span", { class: hasChildren ? "twist" : "twist none", "aria-hidden": "true" }), draw(node));
  }

  function move(to) {
    active = Math.min(Math.max(0, to), Math.max(0, rows.length - 1));
    const top = active * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    if (top + ROW > element.scrollTop + element.clientHeight) element.scrollTop = top + ROW - element.clientHeight;
    render();
  }

  function onKey(event) {
    const row = rows[active];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(element.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
    if (event.key in steps) move(active + steps[event.key]);
    else if (event.key === "ArrowRight") row.hasChildren && (row.isOpen ? move(active + 1) : toggled(row.node, true));
    else if (event.key === "ArrowLeft") row.isOpen ? toggled(row.node, false) : move(parentOf(active));
    else if (event.key === "Enter" || event.key === " ") chosen(row.node);
    else if (/^[\p{L}\p{N}_]$/u.test(event.key)) seek(event.key, event.timeStamp);
    else return;
    event.preventDefault();
  }

  function parentOf(number) {
    for (let at = number; at >= 0; at -= 1) if (rows[at].level < rows[number].level) return at;
    return number;
  }

  /** Move to the next class that begins with the quickly typed letters. */
  function seek(letter, now) {
    typed = { text: now - typed.at < 700 ? typed.text + letter.toLowerCase() : letter.toLowerCase(), at: now };
    const from = typed.text.length > 1 ? active : active + 1;
    const order = [...rows.keys()].map((at) => (at + from) % rows.length);
    const found = order.find((at) => rows[at].node.name.split(".").at(-1).toLowerCase().startsWith(typed.text));
    if (found !== undefined) move(found);
  }

  function onClick(event) {
    const number = Number(event.target.closest(".row")?.dataset.number ?? -1);
    if (number < 0) return;
    active = number;
    const { node, isOpen } = rows[number];
    if (event.target.closest(".twist:not(.none)")) return toggled(node, !isOpen);
    chosen(node);
  }

  return {
    element,
    /** Show other rows with the given node active; without a node, the active node stays active if it still exists. */
    show(next, node = rows[active]?.node) {
      rows = next;
      move(Math.max(0, rows.findIndex((row) => row.node === node)));
    },
    /** Choose the active row. */
    open() {
      if (rows[active]) chosen(rows[active].node);
    },
    /** Mark a node as chosen and scroll it into view. */
    select(node) {
      selected = node;
      const at = rows.findIndex((row) => row.node === node);
      if (at >= 0) move(at);
      else render();
    },
  };
}
