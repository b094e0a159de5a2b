// Passages that nearly repeat others: all are compared, so this happens only on request.

import { count, el, fill, JOB, plural, sourceLink, span, sum } from "../shared/base.js";
import { failure } from "../shared/parts.js";
import * as api from "../shared/server.js";
import { known, resource } from "../shared/server.js";

const PAGE = { near_copies: true, limit: 1000, max_tokens: 150_000 };
const SHOWN = 4; // files of a row, before it is opened
const LISTED = 30; // passages of a group
const MEANING = "Near-copies share three quarters of their words. Passages with fewer than 20 different words are not compared.";

/** Create the card that finds near-copies. */
export function copiesPanel() {
  const find = el("button", { type: "button", class: "button", on: { click: () => ask() } }, "Find near-copies");
  const said = el("div", { class: "said", role: "status" });
  const list = el("ul", { class: "near-copies" });
  const more = el("button", { type: "button", class: "button more", hidden: true, on: { click: () => ask(state.cursor) } }, "Show more");
  const state = { rows: [], cursor: undefined };
  const found = resource({ part: list, load: (cursor, signal) => api.passages({ ...PAGE, cursor }, signal), show, fail });

  function ask(cursor) {
    find.disabled = more.disabled = true;
    if (!cursor) said.textContent = "Comparing all passages…";
    return found.ask(cursor);
  }

  function show({ documents, total, compared, next_cursor: next }, cursor) {
    Object.assign(state, { rows: cursor ? [...state.rows, ...documents] : documents, cursor: next });
    const all = sum(known.health?.counts ?? {});
    said.textContent = `${count(total)} of ${plural(compared, "passage")} nearly repeat another one.${compared < all ? ` Only the first ${count(compared)} of ${count(all)}, by path, were compared.` : ""}`;
    fill(list, byFiles(state.rows).map(rowOf));
    more.hidden = !next;
    find.disabled = more.disabled = false;
  }

  function fail(problem, again) {
    find.disabled = more.disabled = false;
    fill(said, failure(problem, problem.code === "STALE_CURSOR" ? () => ask() : again));
  }

  JOB.hear(({ ended }) => {
    if (ended && state.rows.length) said.textContent = "The index has changed since these were found.";
  });

  return el("section", { class: "card copies-card" },
    el("div", { class: "job-head" }, el("h2", {}, "Near-copies"), find), el("p", { class: "said" }, MEANING), said, list, more);
}

/** Join the groups of passages that are in the same files: {sources, groups, lines}; those that repeat most lines come first. */
function byFiles(rows) {
  const found = new Map();
  for (const group of Map.groupBy(rows, (row) => row.group).values()) {
    const sources = [...new Set(group.map(({ source }) => source))];
    const joined = found.get(String(sources)) ?? { sources, groups: [], lines: 0 };
    const lengths = group.map(({ lines: [first, last] }) => last - first + 1);
    joined.groups.push(group);
    joined.lines += sum(lengths) - Math.max(...lengths);
    found.set(String(sources), joined);
  }
  return [...found.values()].sort((left, right) => right.lines - left.lines);
}

function rowOf({ sources, groups, lines }) {
  const passages = groups.flat();
  const first = (source) => passages.find((passage) => passage.source === source);
  return el("li", {},
    el("p", { class: "where" }, sources.slice(0, SHOWN).map((source) => placeLink(first(source), source)), sources.length > SHOWN && el("span", {}, `and ${plural(sources.length - SHOWN, "more file", "more files")}`)),
    el("details", { class: "similar" },
      el("summary", {}, `${plural(passages.length, "passage")}, ${plural(lines, "repeated line")}`),
      el("ul", {}, groups.map((group) => el("li", { class: "where" }, group.slice(0, LISTED).map((passage) => placeLink(passage, `${passage.source}:${span(passage.lines)}`)), group.length > LISTED && el("span", {}, `and ${count(group.length - LISTED)} more`))))));
}

const placeLink = ({ source, lines, id }, text) => el("a", { class: "path", href: sourceLink(source, lines, id) }, text);
