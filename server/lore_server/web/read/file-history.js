// The commits that changed a file or some of its lines, with their tickets, loaded on demand.

import { el, fill, plural, say, sourceLink, span } from "../shared/base.js";
import { failure } from "../shared/parts.js";
import * as api from "../shared/server.js";
import { resource } from "../shared/server.js";

let panels = 0; // the page may have several
const TOKENS = 6_000; // at most half of them are the history

/** Create a button and the panel that it opens; `show(path, lines)` sets what they are about. */
export function fileHistory() {
  const heading = el("h2", {}, "History");
  const rows = el("div", {});
  const panel = el("section", { class: "file-history", id: `file-history-${(panels += 1)}`, hidden: true, "aria-label": "History", tabindex: "0" }, heading, rows);
  const button = el("button", {
    type: "button", class: "button", "aria-expanded": "false", "aria-controls": panel.id, on: { click: () => open(panel.hidden) },
  }, "History");
  const state = { path: null, lines: null };
  const commits = resource({ part: rows, load: read, show: showCommits, fail: (problem, again) => fill(rows, failure(problem, again)), of: "index" });

  function open(isOpen) {
    panel.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) load();
  }

  function show(path, lines) {
    if (path === state.path && String(lines) === String(state.lines)) return;
    const isOther = path !== state.path;
    Object.assign(state, { path, lines });
    if (isOther) open(false);
    else if (!panel.hidden) load();
  }

  function load() {
    const { lines } = state;
    heading.textContent = lines ? `History of ${lines[0] === lines[1] ? "line" : "lines"} ${span(lines)}` : "History of this file";
    fill(rows, el("p", { class: "quiet" }, "Reading the commits…"));
    commits.ask(state);
  }

  function read({ path, lines }, signal) {
    const range = lines ? { start: lines[0], end: lines[1] } : {};
    return api.source({ path, ...range, history: true, max_tokens: TOKENS }, signal);
  }

  function showCommits({ history = [], history_note: note }) {
    fill(rows, history.length > 0 && el("ol", {}, history.map(commitRow)), note && el("p", { class: "quiet" }, note));
    say(plural(history.length, "commit"));
  }

  return { button, panel, show };
}

function commitRow({ commit, date, author, subject, body, tickets }) {
  return el("li", {},
    el("p", {}, el("strong", {}, subject)),
    body && el("p", { class: "quiet said-why" }, body),
    el("p", { class: "where" }, el("code", {}, commit), el("span", {}, date), el("span", {}, author), tickets.map(ticketMark)));
}

function ticketMark({ name, closes, via, source, title, state }) {
  const verb = closes ? `closes ${name}${via ? ` by ${via}` : ""}` : `names ${name}`;
  const label = [verb, state && ` (${state})`, title && `: ${title}`];
  return source ? el("a", { href: sourceLink(source) }, label) : el("span", {}, label);
}
