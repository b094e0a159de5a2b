// An indexed file: its lines with marked chunks, and an outline beside them.

import * as api from "../shared/api.js";
import { editorAnchor, changedMark } from "../shared/anchors.js";
import { el, fill, reveal, say } from "../shared/dom.js";
import { count, plural, span } from "../shared/format.js";
import { fileHistory } from "./file-history.js";
import { addLines } from "./lines.js";
import { failure } from "../shared/notes.js";
import { markCurrent } from "../shared/outline.js";
import { linesOf, sourceLink } from "../shared/route.js";

const PAGE_TOKENS = 20_000;

/** Return the view of `#/source/<path>?line=…&chunk=…`. */
export function documentView() {
  const heading = el("h1", {}, "File");
  const facts = el("p", { class: "where file-head" });
  const trouble = el("div", {});
  const text = el("div", { class: "text" });
  const outline = el("nav", { class: "outline", "aria-label": "Chunks of this file" });
  const more = el("button", { type: "button", class: "button more", hidden: true, on: { click: () => next() } }, "Load more");
  const body = el("div", { class: "beside file", hidden: true }, el("div", { class: "paper" }, text, more), outline);
  const past = fileHistory();
  const state = { path: null, flight: 0, last: 0, cursor: null, chunks: [], line: null, loading: null, asked: null, visit: 0 };

  const open = (path) => (state.loading = load(path));

  async function load(path) {
    const mine = (state.flight += 1);
    Object.assign(state, { path, last: 0, cursor: null, chunks: [], line: null, marked: null, asked: null });
    for (const part of [trouble, text, outline, facts]) fill(part);
    more.hidden = body.hidden = true;
    more.disabled = false;
    heading.textContent = path;
    try {
      const page = await api.source({ path, max_tokens: PAGE_TOKENS });
      if (mine !== state.flight) return false;
      state.line = page.lines[0];
      heading.textContent = page.title;
      body.hidden = false;
      show(page);
      return true;
    } catch (problem) {
      if (mine !== state.flight) return false;
      fill(trouble, failure(problem, () => open(path)));
      state.path = null;
      return false;
    }
  }

  function show(page) {
    const known = new Set(state.chunks.map((chunk) => chunk.id));
    state.chunks.push(...page.chunks.filter((chunk) => !known.has(chunk.id)));
    addLines(text, state.path, page, state.chunks);
    fill(outline, el("h2", {}, plural(state.chunks.length, "chunk")), el("ol", {}, state.chunks.map((chunk) => outlineRow(state.path, chunk))));
    markCurrent(outline, state.marked);
    state.last = page.lines[1];
    state.cursor = page.next_cursor ?? null;
    more.hidden = !state.cursor;
    fill(facts, factsOf(page));
  }

  function factsOf(page) {
    return [
      el("code", { class: "path" }, page.source), el("span", { class: "type" }, page.type),
      el("span", {}, state.cursor ? `lines 1-${count(state.last)}` : plural(state.last, "line")),
      editorAnchor(page.source, state.line ?? 1), page.changed && changedMark(), past.button,
    ];
  }

  /** Load the next lines, once for all concurrent requests. */
  function next() {
    state.asked ??= loadNext();
    return state.asked;
  }

  async function loadNext() {
    const mine = state.flight;
    const { path, cursor } = state;
    more.disabled = true;
    try {
      const page = await api.source({ path, max_tokens: PAGE_TOKENS, cursor });
      if (mine === state.flight) show(page);
    } catch (problem) {
      if (mine !== state.flight) return;
      state.cursor = null;
      fill(trouble, failure(problem, () => open(path)));
    } finally {
      if (mine === state.flight) {
        state.asked = null;
        more.disabled = false;
      }
    }
  }

  /** Load the file up to the target lines or chunk, mark them and scroll to them. */
  async function showTarget(params, isLeft) {
    const { chunk } = params;
    const lines = linesOf(params);
    const isThere = () => (lines ? state.last >= lines[1] : state.chunks.some((candidate) => candidate.id === chunk));
    while (state.cursor && !isThere()) {
      await next();
      if (isLeft()) return;
    }
    for (const element of text.querySelectorAll(".is-target")) element.classList.remove("is-target");
    const [first, end] = lines ?? state.chunks.find((candidate) => candidate.id === chunk)?.lines ?? [];
    past.show(state.path, first ? [first, end] : null);
    if (!first) return;
    const last = Math.min(end, state.last);
    const head = chunk && text.querySelector(`[data-chunk="${CSS.escape(chunk)}"]`);
    head?.classList.add("is-target");
    for (let number = first; number <= last; number += 1) byLine(number)?.classList.add("is-target");
    const isWhole = head && state.chunks.find((candidate) => candidate.id === chunk).lines[0] === first;
    const node = isWhole ? head : byLine(first);
    if (node) {
      reveal(node, isWhole || last - first > 10 ? "start" : "center");
      say(isWhole ? `Chunk ${head.textContent}` : `Line ${span([first, last])}`);
    }
    markOutline(head ? chunk : innermost(first)?.id);
    facts.querySelector("a.editor")?.replaceWith(editorAnchor(state.path, first));
  }

  const byLine = (number) => text.querySelector(`#L${number}`);

  /** Return the smallest chunk that contains a line, otherwise the previous chunk. */
  function innermost(line) {
    const around = state.chunks.filter((candidate) => candidate.lines[0] <= line && line <= candidate.lines[1]);
    const size = ({ lines: [first, last] }) => last - first;
    return around.sort((left, right) => size(left) - size(right))[0] ?? state.chunks.findLast((candidate) => candidate.lines[0] <= line);
  }

  function markOutline(id) {
    state.marked = id;
    markCurrent(outline, id);
  }

  async function showRoute(route) {
    const mine = (state.visit += 1);
    const isLeft = () => mine !== state.visit;
    if (route.path !== state.path) open(route.path);
    if (!(await state.loading) || isLeft()) return;
    if (route.params.line || route.params.chunk) await showTarget(route.params, isLeft);
    else if (route.path) {
      past.show(route.path, null);
      scrollTo(0, 0);
    }
  }

  const content = [
    el("div", { class: "view-head" }, heading), facts, past.panel, trouble, body,
  ];
  return { content, title: (route) => route.path, show: showRoute };
}

function outlineRow(path, chunk) {
  const name = chunk.heading.split(" > ").at(-1) || chunk.kind;
  return el("li", {}, el("a", { href: sourceLink(path, chunk.lines, chunk.id), "data-id": chunk.id },
    el("span", { class: "outline-name" }, name), el("span", { class: "quiet" }, `${chunk.kind} · ${span(chunk.lines)}`)));
}
