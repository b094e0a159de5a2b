// The list of indexed files, filtered by path and type and loaded page by page.

import * as api from "../shared/api.js";
import { TYPES } from "../shared/chips.js";
import { el, fill } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { failure } from "../shared/notes.js";
import { sourceLink } from "../shared/route.js";

const PAGE_TOKENS = 20_000;
const FILTER_TOKENS = 150_000;
const ROWS = 100;

/** Create the card with the files. */
export function filesPanel() {
  const text = el("input", { id: "file-filter", type: "search", placeholder: "Filter by path or title", autocomplete: "off", spellcheck: "false", on: { input: filter } });
  const type = el("select", { id: "file-type", on: { change: () => load() } }, ["all", ...TYPES].map((name) => el("option", { value: name }, name === "all" ? "all types" : name)));
  const said = el("p", { class: "said", role: "status" });
  const rows = el("tbody", {});
  const more = el("button", { type: "button", class: "button more", hidden: true, on: { click: grow } }, "Show more");
  const state = { load: 0, files: [], cursor: null, total: 0, most: ROWS, isLoading: false };

  /** Reload. The current list is shown until the new list has arrived. */
  async function load() {
    const mine = (state.load += 1);
    try {
      const page = await api.sources({ type: type.value, max_tokens: PAGE_TOKENS });
      if (mine !== state.load) return;
      Object.assign(state, { files: page.sources, cursor: page.next_cursor, total: page.total, most: ROWS, isLoading: false });
      filter();
    } catch (problem) {
      if (mine === state.load) fill(said, failure(problem, load));
    }
  }

  function filter() {
    state.most = ROWS;
    complete();
  }

  function grow() {
    state.most += ROWS;
    complete();
  }

  /** Show the loaded files, and load more if needed, one page at a time; a filter needs all files. */
  async function complete() {
    const mine = state.load;
    show();
    try {
      while (!state.isLoading && isWanting()) {
        state.isLoading = true;
        await next(mine);
        if (mine !== state.load) return;
        state.isLoading = false;
        show();
      }
    } catch (problem) {
      if (mine !== state.load) return;
      if (problem.code === "STALE_CURSOR") load();
      else fill(said, failure(problem, load));
    }
  }

  async function next(mine) {
    const page = await api.sources({ type: type.value, max_tokens: isFiltered() ? FILTER_TOKENS : PAGE_TOKENS, cursor: state.cursor });
    if (mine !== state.load) return;
    state.files.push(...page.sources);
    state.cursor = page.next_cursor;
  }

  const isFiltered = () => text.value.trim() !== "";
  const isWanting = () => Boolean(state.cursor) && (isFiltered() || state.files.length < state.most);

  function matching() {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    return state.files.filter((file) => words.every((word) => `${file.source} ${file.title}`.toLowerCase().includes(word)));
  }

  function show() {
    const found = matching();
    fill(rows, found.slice(0, state.most).map(row));
    said.textContent = saying(found.length);
    more.hidden = found.length <= state.most && (!state.cursor || isFiltered());
  }

  function saying(found) {
    if (!isFiltered()) return plural(state.total, "file");
    if (state.cursor) return `Searching: ${count(found)} found in the first ${count(state.files.length)} of ${plural(state.total, "file")}`;
    return `${count(found)} of ${plural(state.total, "file")}`;
  }

  const element = el("section", { class: "card files" },
    el("h2", {}, "Files"),
    el("div", { class: "ask-row" },
      el("label", { class: "unseen", for: "file-filter" }, "Filter files"), text,
      el("label", { class: "unseen", for: "file-type" }, "File type"), type),
    said,
    el("table", { class: "list" },
      el("thead", {}, el("tr", {}, ["File", "Type", "Chunks", "Lines"].map((name, at) => el("th", { scope: "col", class: at > 1 ? "figure" : "" }, name)))),
      rows),
    more);
  return { element, load };
}

function row(file) {
  return el("tr", {},
    el("td", {}, el("a", { href: sourceLink(file.source) }, file.source),
      file.title !== file.source && el("span", { class: "quiet title-of" }, file.title)),
    el("td", {}, el("span", { class: "type" }, file.type)),
    el("td", { class: "figure" }, count(file.chunks)),
    el("td", { class: "figure" }, count(file.lines)));
}
