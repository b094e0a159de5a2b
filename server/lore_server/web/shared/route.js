// Deep links: the fragment holds the state of the view, so that back, forward and bookmarks work.

import { span } from "./format.js";

const KNOWLEDGE = ["knowledge", "knowledge/document", "knowledge/edit", "knowledge/history", "knowledge/change"];
const VIEWS = ["search", "ask", ...KNOWLEDGE, "index", "classes", "source", "health", "insights"];

let current = ""; // the address of what is shown

/** Return the route of a fragment: {view, path, params}. An unknown view becomes the search. */
export function parse(hash) {
  const [where, query] = halves(hash.replace(/^#\/?/, ""));
  const view = VIEWS.includes(where) ? where : placeOf(where);
  const params = Object.fromEntries(new URLSearchParams(query));
  if (!VIEWS.includes(view)) return { view: "search", path: "", params: {} };
  return { view, path: where.slice(view.length + 1).split("/").map(decode).join("/"), params };
}

/** Return the navigation entry of a view. */
export const placeOf = (view) => view.split("/")[0];

/** Return the fragment of a route, without empty params. */
export function link(view, path = "", params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const where = path ? `/${path.split("/").map(encodeURIComponent).join("/")}` : "";
  return `#/${view}${where}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

/** Return a link to a file in the document view: the whole file, or lines such as `12` or `12-20`. */
export function sourceLink(source, lines, chunk) {
  return link("source", source, { line: lines && span(lines), chunk });
}

/** Return the lines in a link, [first, last]; null without lines. */
export function linesOf({ line = "" }) {
  const [, first, last = first] = line.match(/^(\d+)(?:-(\d+))?$/) ?? [];
  return first ? [Number(first), Math.max(Number(first), Number(last))] : null;
}

/** Navigate to a route with a new history entry. */
export function go(fragment) {
  location.hash = fragment;
}

/** Update the address to the current view, with a new history entry or by replacing the current one. */
export function settle(fragment, isStep = false) {
  if (location.hash !== current) return; // the reader has followed a link that is not shown yet
  if (fragment !== location.hash) history[isStep ? "pushState" : "replaceState"](null, "", fragment);
  rememberPlace();
  document.dispatchEvent(new CustomEvent("lore:settled"));
}

/** Make the link of a view return to its last state: the current address. */
export function rememberPlace() {
  current = location.hash;
  document.querySelector(`.nav a[data-view="${parse(location.hash).view}"]`)?.setAttribute("href", location.hash || "#/search");
}

/** Return what a view showed last. */
export const lastRoute = (view) => parse(new URL(document.querySelector(`.nav a[data-view="${view}"]`).href).hash);

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
