// The overlay that leads anywhere: views, files, symbols and documents by name; a search or a question for the rest.

import * as api from "./api.js";
import { el, fill } from "./dom.js";
import { span } from "./format.js";
import { resource } from "./resource.js";
import { go, link, sourceLink } from "./route.js";

const VIEWS = ["search", "ask", "knowledge", "index", "classes", "insights", "health"];
const FOUND = { limit: 8, max_tokens: 2000 };
const PAUSE_MS = 80;
let overlay = null;

/** Open the overlay. */
export function jump() {
  overlay ??= build();
  overlay.open();
}

function build() {
  const input = el("input", {
    id: "jump", type: "search", role: "combobox", "aria-expanded": "true", "aria-controls": "jump-list", "aria-autocomplete": "list", "aria-label": "Go to",
    placeholder: "Go to a file, a symbol, a document or a view", autocomplete: "off", spellcheck: "false", on: { input: typed, keydown },
  });
  const list = el("ul", { id: "jump-list", role: "listbox", "aria-label": "Places", on: { click } });
  const dialog = el("dialog", { class: "dialog jump", "aria-label": "Go to" }, input, list);
  const places = resource({ load: (query, signal) => api.search({ ...FOUND, query }, signal), show: ({ results }) => draw(results.map(placeOf)), fail: () => draw([]) });
  let rows = [];
  let at = 0;
  let timer = 0;

  function typed() {
    clearTimeout(timer);
    if (!input.value.trim()) {
      places.leave();
      draw([]);
    } else timer = setTimeout(() => places.ask(input.value.trim()), PAUSE_MS);
  }

  /** Show the matching views, what was found, and a search and a question with these words. */
  function draw(found) {
    const query = input.value.trim();
    const views = VIEWS.filter((view) => view.startsWith(query.toLowerCase())).map((view) => ({ name: view[0].toUpperCase() + view.slice(1), more: "view", href: link(view) }));
    const onward = query ? [{ name: query, more: "search", href: link("search", "", { q: query }) }, { name: query, more: "ask", href: link("ask", "", { q: query }) }] : [];
    rows = [...views, ...found, ...onward];
    fill(list, rows.map(({ name, more }, number) => el("li", { role: "option", id: `jump-${number}` }, el("span", { class: "name" }, name), el("span", { class: "quiet" }, more))));
    choose(0);
  }

  function choose(number) {
    at = Math.max(0, Math.min(number, rows.length - 1));
    [...list.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === at)));
    input.setAttribute("aria-activedescendant", `jump-${at}`);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }

  function keydown(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) choose(at + step);
    else if (event.key === "Enter") enter(rows[at]);
    else return;
    event.preventDefault();
  }

  function click({ target }) {
    enter(rows[[...list.children].indexOf(target.closest("li"))]);
  }

  async function enter(row) {
    if (!row) return;
    dialog.close();
    go(row.href);
  }

  document.body.append(dialog);
  return {
    open() {
      if (dialog.open) return;
      input.value = "";
      draw([]);
      dialog.showModal();
    },
  };
}

/** Return the row of a result: its symbol or title, and its place. */
function placeOf({ title, heading, source, lines, id }) {
  const symbol = heading.split(" > ").at(-1);
  return { name: title === source ? symbol || title : title, more: `${source}:${span(lines)}`, href: sourceLink(source, lines, id) };
}
