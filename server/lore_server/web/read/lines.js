// The lines of a file, with their numbers and colours. Of a long file, only the lines near the window are in the page.

import { el, fill, headingsOf, link, span } from "../shared/base.js";
import { failure, isMarkdown } from "../shared/parts.js";
import { followSymbols } from "./symbols.js";
import * as api from "../shared/server.js";

const BLOCK = 100; // lines that are added to the page, and removed, together
const WHOLE = 2_000; // lines of a file that stays in the page, so that the browser can search in it
const NEAR = "1200px"; // above and below the window
const LINE = 20; // px, the same as in the style sheet
const COLOURED_AT_ONCE = 60_000; // characters

/** Create the pane; `addressOf(path, params)` returns the address of a line, and `chosen(first, last)` is called when the reader chooses lines by their numbers. */
export function linesPane(addressOf, chosen) {
  const element = el("div", { class: "lines", on: { click, pointerdown, pointerup, copy } });
  const nearby = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => (isIntersecting ? draw(target) : empty(target))), { rootMargin: NEAR });
  let file = { path: "", lines: [], starts: [], chunks: [], heads: new Map(), marks: null, colours: [], blocks: [] };
  let pressed = null;
  followSymbols(element);

  /** Show a file, whose chunks begin at the lines `starts` (from 0); with `chunks`, each under a bar with its heading. */
  function show(path, lines, starts, chunks = []) {
    nearby.disconnect();
    element.classList.toggle("has-passages", chunks.length > 0);
    file = { path, lines, starts, chunks, heads: Map.groupBy(chunks, (chunk) => chunk.lines[0]), marks: null, colours: [], blocks: [] };
    for (let first = 0; first < lines.length; first += BLOCK) file.blocks.push(el("div", { class: "block", "data-first": first }));
    fill(element, file.blocks);
    for (const block of file.blocks) lines.length > WHOLE ? nearby.observe(empty(block)) : draw(block);
    if (lines.length <= WHOLE) colour(0, lines.length);
  }

  function draw(block) {
    if (block.childElementCount) return;
    const first = Number(block.dataset.first);
    const last = Math.min(first + BLOCK, file.lines.length);
    block.style.removeProperty("height");
    for (let at = first; at < last; at += 1) block.append(...(file.heads.get(at + 1) ?? []).map(head), row(at + 1));
    if (file.lines.length > WHOLE) colour(first, last);
  }

  /** Remove the lines of a block, and keep their height. */
  function empty(block) {
    const height = block.childElementCount ? block.offsetHeight : LINE * Math.min(BLOCK, file.lines.length - Number(block.dataset.first));
    fill(block).style.setProperty("height", `${height}px`);
    return block;
  }

  function row(number) {
    const classes = ["line"];
    if (file.chunks.some(({ lines: [first, last] }) => first <= number && number <= last)) classes.push("in");
    if (isMarked(number)) classes.push("is-target");
    return el("div", { class: classes.join(" "), id: `L${number}` },
      el("a", { class: "number", href: addressOf(file.path, { line: number }), "aria-label": `Line ${number}`, "data-n": number }),
      el("code", {}, file.colours[number - 1] ?? file.lines[number - 1]));
  }

  function head(chunk) {
    const text = el("div", { class: "chunk-text", hidden: true });
    const button = el("button", { type: "button", class: "quiet-button", "aria-expanded": "false", title: "The text that is searched and embedded", on: { click: () => showText(chunk, text, button) } }, "Text");
    return el("div", { class: "chunk-head", "data-chunk": chunk.id },
      el("span", { class: "kind" }, chunk.kind), chunk.heading && el("span", { class: "chunk-name" }, headingsOf(chunk.heading).join(" › ")),
      button, el("a", { class: "quiet-button", href: link("search", "", { q: `like:${chunk.id}` }), title: "Passages with nearly the same text" }, "Similar"),
      el("a", { class: "chunk-id", href: addressOf(file.path, { line: span(chunk.lines), chunk: chunk.id, view: "passages" }), title: `Chunk ${chunk.id}, lines ${span(chunk.lines)}` }, chunk.id.slice(0, 8)), text);
  }

  /** Show a chunk as it is in the index. */
  async function showText({ id }, place, button) {
    place.hidden = !place.hidden;
    button.setAttribute("aria-expanded", String(!place.hidden));
    if (place.hidden || place.childElementCount) return;
    try {
      const { text, heading, tags, symbols } = await api.chunk(id);
      fill(place, el("p", {}, [...heading, ...tags, ...symbols].join(" · ")), el("pre", { tabindex: "0" }, text));
    } catch (problem) {
      fill(place, failure(problem));
    }
  }

  /** Colour lines, in parts of a size that is read quickly. A part begins where it likely is not within a text or comment. */
  async function colour(from, to) {
    const mine = file;
    let start = from > 0 ? Math.max(0, ...mine.starts.filter((line) => line <= from)) : 0;
    if (from - start > 3 * BLOCK) start = from;
    while (start < to) {
      let [end, size] = [start, 0];
      for (; end < to && size < COLOURED_AT_ONCE; end += 1) size += mine.lines[end].length + 1;
      const text = mine.lines.slice(start, end).join("\n");
      const { parts: [[pre]] } = await api.renderedParts([{ text, path: isMarkdown(mine.path) ? "markdown" : mine.path }]).catch(() => ({ parts: [[["pre", {}, ["code", {}, text]]]] }));
      if (mine !== file) return;
      byLines(pre[2].slice(2)).forEach((nodes, at) => paint(start + at, nodes));
      start = end;
    }
  }

  function paint(at, nodes) {
    file.colours[at] ??= nodes;
    const code = nodes.some((node) => typeof node !== "string") && element.querySelector(`#L${at + 1} > code`);
    if (code && code.childElementCount === 0) fill(code, nodes);
  }

  const isMarked = (number) => file.marks !== null && file.marks[0] <= number && number <= file.marks[1];

  /** Mark lines; return the first one. */
  function mark(first, last) {
    for (const line of element.querySelectorAll(".is-target")) line.classList.remove("is-target");
    file.marks = first ? [first, last] : null;
    if (!first) return null;
    const blocks = file.blocks.slice(Math.floor((first - 1) / BLOCK), Math.floor((Math.min(last, first + WHOLE, file.lines.length) - 1) / BLOCK) + 1);
    blocks.forEach(draw);
    for (let number = first; number <= last; number += 1) byLine(number)?.classList.add("is-target");
    return byLine(first);
  }

  const byLine = (number) => element.querySelector(`#L${number}`);

  function click(event) {
    const number = numberAt(event.target);
    if (!number || !event.shiftKey) return;
    event.preventDefault();
    const [first, last] = file.marks ?? [number, number];
    chosen(Math.min(first, number), Math.max(last, number));
  }

  function pointerdown(event) {
    pressed = event.button === 0 && !event.shiftKey ? numberAt(event.target) : null;
    if (pressed) event.preventDefault(); // a drag over the numbers selects lines, not their text
  }

  function pointerup({ target }) {
    const line = Number(target.closest?.(".line")?.id.slice(1));
    if (pressed && line && line !== pressed) chosen(Math.min(line, pressed), Math.max(line, pressed));
    pressed = null;
  }

  /** Copy the selected lines as they are in the file, without bars, also if some of them are not in the page. */
  function copy(event) {
    const range = getSelection().rangeCount && !getSelection().isCollapsed && getSelection().getRangeAt(0);
    const [from, to] = range ? [placeOf(range.startContainer, range.startOffset), placeOf(range.endContainer, range.endOffset)] : [];
    if (!from || !to || from.at === to.at) return;
    const lines = file.lines.slice(from.at, to.at + 1);
    lines[lines.length - 1] = lines.at(-1).slice(0, to.column);
    lines[0] = lines[0].slice(from.column);
    event.clipboardData.setData("text/plain", lines.join("\n"));
    event.preventDefault();
  }

  function placeOf(node, offset) {
    const inner = node.nodeType === Node.ELEMENT_NODE ? (node.childNodes[offset] ?? node) : node;
    const near = inner.nodeType === Node.ELEMENT_NODE ? inner : inner.parentElement;
    const isEnd = node.nodeType === Node.ELEMENT_NODE && offset === node.childNodes.length && !node.closest(".line");
    const line = isEnd ? [...node.querySelectorAll(".line")].at(-1) : (near.closest(".line") ?? near.closest(".chunk-head")?.nextElementSibling ?? near.querySelector(".line"));
    if (!line?.id) return null;
    const before = document.createRange();
    before.selectNodeContents(line.querySelector("code"));
    if (!isEnd && before.comparePoint(node, offset) === 0) before.setEnd(node, offset);
    else if (!isEnd) before.collapse(true);
    return { at: Number(line.id.slice(1)) - 1, column: before.toString().length };
  }

  /** Return the number of the line at a height of the window. */
  function lineAt(top) {
    const { left, width } = element.getBoundingClientRect();
    const found = document.elementFromPoint(left + width / 2, top)?.closest(".line, .chunk-head, .block");
    if (found?.matches(".block")) return Number(found.dataset.first) + 1 + Math.floor((top - found.getBoundingClientRect().top) / LINE); // it is not drawn yet
    return Number((found?.matches(".chunk-head") ? found.nextElementSibling : found)?.id?.slice(1)) || null;
  }

  return { element, show, mark, byLine, lineAt };
}

const numberAt = (target) => Number(target.closest?.(".number")?.dataset.n) || null;

/** Split rendered code into the nodes of each line. */
function byLines(parts) {
  const lines = [[]];
  for (const part of parts) {
    const [kind, text] = typeof part === "string" ? [null, part] : [part[1].class, part[2]];
    text.split("\n").forEach((piece, at) => {
      if (at) lines.push([]);
      if (piece) lines.at(-1).push(kind ? el("span", { class: kind }, piece) : piece);
    });
  }
  return lines;
}
