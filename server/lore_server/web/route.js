// Deep links: what is shown is in the fragment, so that back, forward and bookmarks work.

import { span } from "./format.js";

const KNOWLEDGE = ["knowledge", "knowledge/document", "knowledge/edit", "knowledge/history", "knowledge/change"];
const VIEWS = ["search", "ask", ...KNOWLEDGE, "index", "classes", "source", "health"];

/** The route of a fragment: {view, path, params}. What is unknown is the search. */
export function parse(hash) {
  const [where, query] = halves(hash.replace(/^#\/?/, ""));
  const view = VIEWS.includes(where) ? where : placeOf(where);
  const params = Object.fromEntries(new URLSearchParams(query));
  if (!VIEWS.includes(view)) return { view: "search", path: "", params: {} };
  return { view, path: where.slice(view.length + 1).split("/").map(decode).join("/"), params };
}

/** The place in the navigation that a view belongs to. */
export const placeOf = (view) => view.split("/")[0];

/** The fragment of a route; params that are empty are left out. */
export function link(view, path = "", params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const where = path ? `/${path.split("/").map(encodeURIComponent).join("/")}` : "";
  return `#/${view}${where}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

/** A link to lines of a file in the document view: all of them, as `12` or `12-20`. */
export function sourceLink(source, lines, chunk) {
  return link("source", source, { line: lines && span(lines), chunk });
}

/** The lines that a link names, [first, last]; null if it names none. */
export function linesOf({ line = "" }) {
  const [, first, last = first] = line.match(/^(\d+)(?:-(\d+))?$/) ?? [];
  return first ? [Number(first), Math.max(Number(first), Number(last))] : null;
}

/** Go somewhere: a new step of the history. */
export function go(fragment) {
  location.hash = fragment;
}

/** Put in the address what is shown already: as a step of the history, or in place of the present one. */
export function settle(fragment, isStep = false) {
  if (fragment !== location.hash) history[isStep ? "pushState" : "replaceState"](null, "", fragment);
  rememberPlace();
  document.dispatchEvent(new CustomEvent("lore:settled"));
}

/** Let the link of a view lead to where one was in it. */
export function rememberPlace() {
  document.querySelector(`.nav a[data-view="${parse(location.hash).view}"]`)?.setAttribute("href", location.hash || "#/search");
}

function halves(text) {
  const at = text.indexOf("?");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
