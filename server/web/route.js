// Deep links: what is shown is in the fragment, so that back, forward and bookmarks work.

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

/** A link to lines of a file in the document view. */
export function sourceLink(source, lines, chunk) {
  return link("source", source, { line: lines?.[0], chunk });
}

/** Go somewhere: a new step of the history. */
export function go(fragment) {
  location.hash = fragment;
}

/** Say in the address what is shown already, without a step of the history. */
export function settle(fragment) {
  if (fragment !== location.hash) history.replaceState(history.state, "", fragment);
  rememberPlace();
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
