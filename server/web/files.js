// The indexed files: a list that is filtered by path and type, loaded page by page.

import * as api from "./api.js";
import { TYPES } from "./chips.js";
import { el, fill } from "./dom.js";
import { count, plural } from "./format.js";
import { failure } from "./notes.js";
import { sourceLink } from "./route.js";

const PAGE_TOKENS = 20_000;
const ROWS = 100;

/** The card with the files. */
export function filesPanel() {
  const text = el("input", { id: "file-filter", type: "search", placeholder: "Filter by path or title", autocomplete: "off", spellcheck: "false", on: { input: () => filter() } });
  const type = el("select", { id: "file-type", on: { change: () => load() } }, ["all", ...TYPES].map((one) => el("option", { value: one }, one === "all" ? "all types" : one)));
  const said = el("p", { class: "said" });
  const rows = el("tbody", {});
  const more = el("button", { type: "button", class: "button more", hidden: true, on: { click: () => grow() } }, "Show more");
  const state = { load: 0, files: [], cursor: null, total: 0, most: ROWS };

  async function load() {
    const mine = (state.load += 1);
    try {
      const page = await api.sources({ type: type.value, max_tokens: PAGE_TOKENS });
      if (mine !== state.load) return;
      Object.assign(state, { files: page.sources, cursor: page.next_cursor, total: page.total, most: ROWS });
      await filter();
    } catch (problem) {
      if (mine === state.load) fill(said, failure(problem, load));
    }
  }

  /** A filter looks at every file, so what is not loaded yet is loaded for it. */
  async function filter() {
    state.most = ROWS;
    show();
    const mine = state.load;
    while (text.value.trim() && state.cursor && (await next(mine))) show();
  }

  async function grow() {
    state.most += ROWS;
    const mine = state.load;
    if (matching().length < state.most && state.cursor) await next(mine);
    show();
  }

  async function next(mine) {
    const page = await api.sources({ type: type.value, max_tokens: PAGE_TOKENS, cursor: state.cursor });
    if (mine !== state.load) return false;
    state.files.push(...page.sources);
    state.cursor = page.next_cursor;
    return true;
  }

  function matching() {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    return state.files.filter((one) => words.every((word) => `${one.source} ${one.title}`.toLowerCase().includes(word)));
  }

  function show() {
    const found = matching();
    fill(rows, found.slice(0, state.most).map(row));
    const isFiltered = text.value.trim() !== "";
    said.textContent = isFiltered ? `${count(found.length)} of ${plural(state.total, "file")}` : plural(state.total, "file");
    more.hidden = found.length <= state.most && (!state.cursor || isFiltered);
  }

  const element = el("section", { class: "card files" },
    el("h2", {}, "Files"),
    el("div", { class: "ask-row" },
      el("label", { class: "unseen", for: "file-filter" }, "Filter files"), text,
      el("label", { class: "unseen", for: "file-type" }, "Type of the files"), type),
    said,
    el("table", { class: "list" },
      el("thead", {}, el("tr", {}, ["File", "Type", "Passages", "Lines"].map((name, at) => el("th", { scope: "col", class: at > 1 ? "figure" : "" }, name)))),
      rows),
    more);
  return { element, load };
}

function row(one) {
  return el("tr", {},
    el("td", {}, el("a", { href: sourceLink(one.source) }, one.source),
      one.title !== one.source && el("span", { class: "quiet title-of" }, one.title)),
    el("td", {}, el("span", { class: "type" }, one.type)),
    el("td", { class: "figure" }, count(one.chunks)),
    el("td", { class: "figure" }, count(one.lines)));
}
