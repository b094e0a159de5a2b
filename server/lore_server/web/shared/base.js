// Build the page from nodes. Text is always a text node, so indexed content never becomes markup.

/** Create an element: el("a", {class: "x", href: "#", on: {click}}, "text", child). */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(node, name, value);
  node.append(...children.flat(Infinity).filter(isContent));
  return node;
}

/** Replace the children of an element. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(isContent));
  return node;
}

/** Replace the children of an element that differ: a selection, or a press that has begun, in the others is not lost. */
export function refill(node, children) {
  children.forEach((child, at) => {
    const before = node.childNodes[at];
    if (!before) node.append(child);
    else if (!before.isEqualNode(child)) before.replaceWith(child);
  });
  while (node.childNodes.length > children.length) node.lastChild.remove();
}

/** Render a text, with the parts in backquotes as code. */
export function codes(text) {
  return text.split("`").map((part, at) => (at % 2 ? el("code", {}, part) : part));
}

/** Return the headings of a passage, outermost first, as people read them: without the marks of code. */
export const headingsOf = (heading) => heading.replaceAll("`", "").split(" > ");

/** Return the element with this id. */
export const byId = (id) => document.getElementById(id);

/** Announce a text to screen readers. */
export function say(text) {
  byId("said").textContent = text;
}

/** Scroll to an element: smoothly if it is near and the user allows motion. */
export function reveal(node, block = "center") {
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const isFar = Math.abs(node.getBoundingClientRect().top) > 2 * innerHeight;
  node.scrollIntoView({ block, behavior: isStill || isFar ? "auto" : "smooth" });
}

function isContent(child) {
  return child !== null && child !== undefined && child !== false && child !== "";
}

function set(node, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name === "on") {
    for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
  } else if (name === "style") {
    for (const [property, of] of Object.entries(value)) node.style.setProperty(property, of);
  } else if (name === "value" || name === "checked") {
    node[name] = value;
  } else {
    node.setAttribute(name, value === true ? "" : value);
  }
}

// Format numbers for people.

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** 12,345 */
export const count = (number) => number.toLocaleString("en");

/** 1 file, 2 files */
export const plural = (number, noun, nouns = `${noun}s`) => `${count(number)} ${number === 1 ? noun : nouns}`;

/** 5.4 MB */
export function bytes(size) {
  let unit = 0;
  for (; size >= 1000 && unit < UNITS.length - 1; unit += 1) size /= 1000;
  return `${size.toFixed(unit && size < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

/** 0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 4 days */
export function duration(seconds) {
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
  if (whole < 172_800) return `${Math.floor(whole / 3600)} h ${Math.round((whole % 3600) / 60)} min`;
  return `${Math.round(whole / 86_400)} days`;
}

/** Format an age in seconds, such as "5 min ago". */
export function ago(seconds) {
  if (seconds === null || seconds === undefined) return "never";
  if (seconds < 5) return "just now";
  return `${duration(seconds < 60 ? Math.round(seconds) : seconds - (seconds % 60))} ago`;
}

/** Format a line range: 12, or 12-20. */
export const span = ([first, last]) => (first === last ? String(first) : `${first}-${last}`);

/** Format a score with the necessary precision. */
export const scoreText = (score) => (Math.abs(score) >= 10 ? count(Math.round(score)) : String(Number(score.toFixed(2))));

// The facts about the project that the server put into the page.

const meta = (name) => document.querySelector(`meta[name="lore-${name}"]`)?.content ?? "";

export const project = meta("project");
/** The path of this project, if the server has many. */
export const base = meta("base");
/** What a reader of the page can do about an error, by its code, from the contract. */
export const advice = JSON.parse(meta("advice") || "{}");
const root = meta("root").replace(/\/+$/, "");
const editor = meta("editor");
const KEPT = "lore-token";
const ELSEWHERE = "@lore/"; // documents written by agents, in the knowledge folder

/** Return a link that opens a project file in the editor; null without an editor or for other files. */
export function editorLink(source, line = 1) {
  if (!editor || !root || source.startsWith(ELSEWHERE)) return null;
  const path = `${root}/${source}`.split("/").map(encodeURIComponent).join("/");
  return editor.replace(path.startsWith("/") ? /\/?\{path\}/ : "{path}", path).replace("{line}", String(line));
}

/** Return the token that changes need: from the page, or entered by the reader for this session. */
export function token() {
  return meta("token") || sessionStorage.getItem(KEPT) || "";
}

/** Keep the token that the reader entered. */
export function keepToken(text) {
  sessionStorage.setItem(KEPT, text.trim());
}

// Deep links: the fragment holds the state of the view, so that back, forward and bookmarks work.

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
  SETTLED.tell();
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

// Format times for people. They use the server's clock and are updated while the page is open.

const DAY_SECONDS = 86_400;
const LONG_AGO_DAYS = 30;
const TICK_MS = 5_000;
let ahead = 0; // milliseconds by which the server's clock is ahead of the browser's

/** Set the server's time from an ISO 8601 timestamp. */
export function setClock(moment) {
  const difference = Date.parse(moment) - Date.now();
  ahead = Math.abs(difference) < 2000 ? 0 : difference; // ignores rounding to seconds and network delay
}

/** Return the age of an ISO 8601 timestamp; after a month, its date. Other text is unchanged. */
export function agoOf(moment) {
  const at = Date.parse(moment);
  if (Number.isNaN(at)) return moment ?? "never";
  const seconds = Math.max(0, (Date.now() + ahead - at) / 1000);
  return seconds < LONG_AGO_DAYS * DAY_SECONDS ? ago(seconds) : moment.slice(0, 10);
}

/** Return the same as a node that updates itself, with the full timestamp as its tooltip. */
export function timeOf(moment) {
  const at = Date.parse(moment);
  if (Number.isNaN(at)) return moment ?? "";
  return el("time", { datetime: moment, title: new Date(at).toLocaleString() }, agoOf(moment));
}

setInterval(() => {
  for (const node of document.querySelectorAll("time[datetime]")) {
    const text = agoOf(node.dateTime);
    if (text !== node.textContent) node.textContent = text;
  }
}, TICK_MS);

// The types of the indexed passages.

export const TYPES = "guide src example test ticket release blog prp adr rule memory knowledge library".split(" ");

/** Return the sum of the values. */
export const sum = (found) => Object.values(found).reduce((total, figure) => total + figure, 0);

// The modules of the views, and what the reader did in this browser.

/** Load a module below this page, whose export `view` creates it, and the style sheet of its folder; return the view. */
export async function loadView(module, ...given) {
  const [folder] = module.split("/");
  const href = new URL(`../${folder}/${folder}.css`, import.meta.url).href;
  const isNew = ![...document.styleSheets].some((sheet) => sheet.href === href);
  const sheet = el("link", { rel: "stylesheet", href });
  const styled = isNew && new Promise((done) => ["load", "error"].forEach((event) => sheet.addEventListener(event, done)));
  if (isNew) document.head.append(sheet);
  const [{ view }] = await Promise.all([import(`../${module}.js`), styled]);
  return view(...given);
}

const ASKED = "lore-asked";
const MOST_ASKED = 40;

/** Return the last searches or questions of this browser in this project, newest first. */
export const askedBefore = (kind) => allAsked().filter((asked) => asked.project === project && asked.kind === kind).map(({ query }) => query);

/** Remember a search or a question. */
export function rememberAsked(kind, query) {
  const others = allAsked().filter((asked) => asked.project !== project || asked.kind !== kind || asked.query !== query);
  localStorage.setItem(ASKED, JSON.stringify([{ project, kind, query }, ...others].slice(0, MOST_ASKED)));
}

const allAsked = () => stored(ASKED);
const PINNED = "lore-pinned";
const MOST_PINNED = 12;

/** Return the pinned questions of this project: {query, source}, the best source when it was pinned. */
export const pinned = () => stored(PINNED).filter((pin) => pin.project === project);

/** Pin a question with its best source; without a source, unpin it. */
export function setPin(query, source) {
  const others = stored(PINNED).filter((pin) => pin.project !== project || pin.query !== query);
  localStorage.setItem(PINNED, JSON.stringify((source ? [{ project, query, source }, ...others] : others).slice(0, MOST_PINNED)));
}

function stored(name) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? [];
  } catch {
    return []; // another program wrote it
  }
}

/** Return the day some days ago, YYYY-MM-DD. */
export const currentDay = (daysAgo) => new Date(Date.now() - daysAgo * DAY_SECONDS * 1000).toISOString().slice(0, 10);

// The events of the page, each by one name: who tells something does not know who hears it.

/** What is known of the server has changed. */
export const STATE = event("state");

/** The stream names the latest build. */
export const LATEST_JOB = event("latest-job");

/** The build has changed: {job, ended}. */
export const JOB = event("job");

/** The server has reported the health of its parts. */
export const HEALTH = event("health");

/** An agent or a person has changed a knowledge document or a memory. */
export const WRITTEN = event("written");

/** A reply says how fresh the index is. */
export const FRESHNESS = event("freshness");

/** A request has failed because the server does not respond. */
export const UNREACHABLE = event("unreachable");

/** The reader has entered the token. */
export const TOKEN = event("token");

/** The address describes what is shown. */
export const SETTLED = event("settled");

/** The reader wants to type a search. */
export const SEARCH_WANTED = event("search-wanted");

function event(name) {
  const full = `lore:${name}`;
  return {
    tell: (detail) => document.dispatchEvent(new CustomEvent(full, { detail })),
    hear: (act) => document.addEventListener(full, ({ detail }) => act(detail)),
  };
}

// Decide which searches become history entries: submitted, read or revisited ones, not every keystroke.

const READ_MS = 3000; // results shown for this long count as read

/** Maintain the address for a field that searches while the user types. */
export function searchSteps(input) {
  let isKept = false;
  let shownAt = Infinity;
  input.addEventListener("change", () => (isKept = true));
  input.addEventListener("input", () => (isKept ||= performance.now() - shownAt > READ_MS));
  return {
    /** Make the current address a history entry. */
    keep() {
      isKept = true;
    },
    /** Start the reading time of the results. */
    shown() {
      shownAt = performance.now();
    },
    /** Put the current query in the address. */
    settle(fragment) {
      if (fragment === location.hash) return settle(fragment);
      settle(fragment, isKept || !location.hash.includes("?")); // a first search leads back to the empty field
      isKept = false;
      shownAt = Infinity;
    },
  };
}
