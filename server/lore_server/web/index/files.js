// The list of indexed files, filtered by path and type and loaded page by page.

import { count, el, fill, plural, sourceLink, sum, TYPES } from "../shared/base.js";
import { failure } from "../shared/parts.js";
import * as api from "../shared/server.js";
import { resource } from "../shared/server.js";

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
  const state = { files: [], cursor: null, total: 0, most: ROWS, folder: "" };
  const way = el("p", { class: "crumbs" });
  const first = resource({ part: rows, load: (only, signal) => api.sources({ type: only, max_tokens: PAGE_TOKENS }, signal), show: showFirst, fail, of: "index" });
  const rest = resource({ load: ({ only, tokens }, signal) => api.sources({ type: only, max_tokens: tokens, cursor: state.cursor }, signal), show: add, fail: (problem, again) => (problem.code === "STALE_CURSOR" ? load() : fail(problem, again)) });

  /** Reload. The current list is shown until the new list has arrived. */
  function load() {
    rest.leave();
    first.ask(type.value);
  }

  function showFirst(page) {
    Object.assign(state, { files: page.sources, cursor: page.next_cursor, total: page.total });
    filter();
  }

  function fail(problem, again) {
    fill(said, failure(problem, again));
  }

  /** Show the loaded files, and load more if needed, one page at a time; a filter needs all files. */
  function complete() {
    show();
    if (isWanting() && !rest.isLoading()) rest.ask({ only: type.value, tokens: isFiltered() ? FILTER_TOKENS : PAGE_TOKENS });
  }

  function add(page) {
    state.files.push(...page.sources);
    state.cursor = page.next_cursor;
    complete();
  }

  function filter() {
    state.most = ROWS;
    complete();
  }

  function grow() {
    state.most += ROWS;
    complete();
  }

  const isFiltered = () => text.value.trim() !== "";
  const isWanting = () => Boolean(state.cursor); // a folder and a filter need all files

  function matching() {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    return state.files.filter((file) => words.every((word) => `${file.source} ${file.title}`.toLowerCase().includes(word)));
  }

  function show() {
    const found = matching();
    const { folders, files } = isFiltered() ? { folders: [], files: found } : contentOf(state.folder, found);
    const open = (folder) => ((state.folder = folder), filter());
    fill(rows, folders.map((folder) => folderRow(folder, () => open(folder.path))), files.slice(0, state.most).map((file) => row(file, isFiltered() ? "" : state.folder)));
    fill(way, !isFiltered() && state.folder && wayTo(state.folder, open));
    said.textContent = saying(found.length);
    more.hidden = files.length <= state.most;
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
    said, way,
    el("table", { class: "list" },
      el("thead", {}, el("tr", {}, ["File", "Type", "Chunks", "Lines"].map((name, at) => el("th", { scope: "col", class: at > 1 ? "figure" : "" }, name)))),
      rows),
    more);
  return { element, load };
}

/** Return what is directly in a folder: {folders, files}; a folder with one folder in it counts as one. */
function contentOf(folder, files) {
  const folders = new Map();
  const here = [];
  for (const file of files) {
    if (!file.source.startsWith(folder)) continue;
    const [name, ...deeper] = file.source.slice(folder.length).split("/");
    if (!deeper.length) here.push(file);
    else if (folders.has(name)) folders.get(name).push(file);
    else folders.set(name, [file]);
  }
  const rows = [...folders].map(([name, inside]) => ({ name, path: `${folder}${name}/`, files: inside.length, chunks: sum(inside.map(({ chunks }) => chunks)), lines: sum(inside.map(({ lines }) => lines)) }));
  return { folders: rows.sort((left, right) => left.name.localeCompare(right.name)), files: here };
}

/** Return the way to a folder, whose parts lead to the folders above it. */
function wayTo(folder, open) {
  const parts = folder.split("/").slice(0, -1);
  const step = (text, path) => el("button", { type: "button", class: "quiet-button", on: { click: () => open(path) } }, text);
  return [step("All", ""), parts.map((part, at) => [" / ", step(part, `${parts.slice(0, at + 1).join("/")}/`)])];
}

const folderRow = ({ name, files, chunks, lines }, open) => el("tr", { class: "folder-row" },
  el("td", {}, el("button", { type: "button", class: "quiet-button", on: { click: open } }, `${name}/`)),
  el("td", {}, el("span", { class: "quiet" }, plural(files, "file"))),
  el("td", { class: "figure" }, count(chunks)), el("td", { class: "figure" }, count(lines)));

function row(file, folder) {
  return el("tr", {},
    el("td", {}, el("a", { href: sourceLink(file.source) }, file.source.slice(folder.length)),
      file.title !== file.source && el("span", { class: "quiet title-of" }, file.title)),
    el("td", {}, el("span", { class: "type" }, file.type)),
    el("td", { class: "figure" }, count(file.chunks)),
    el("td", { class: "figure" }, count(file.lines)));
}
