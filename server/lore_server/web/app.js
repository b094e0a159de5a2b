// Compose the page: views, routing, and the frame around them.

import { agoOf, base, byId, count, el, fill, go, headingsOf, JOB, link, loadView, parse, placeOf, plural, project, rememberPlace, SEARCH_WANTED, SETTLED, sourceLink, span, STATE, UNREACHABLE } from "./shared/base.js";
import { failure } from "./shared/parts.js";
import { currentJob, known, resource, search, watchState } from "./shared/server.js";
import { searchView } from "./search/search.js";

/** The module of each view, loaded with its style sheet when it is first shown. The search is in the first view. */
const MODULES = {
  ask: "ask/ask",
  knowledge: "knowledge/knowledge",
  "knowledge/document": "knowledge/paper-view",
  "knowledge/edit": "knowledge/edit",
  "knowledge/history": "knowledge/history",
  "knowledge/change": "knowledge/change",
  index: "index/index-view",
  classes: "classes/classes",
  source: "read/document",
  health: "index/health",
  insights: "index/insights-view",
};
const built = new Map();
let shown = null;
let wanted = ""; // the address that is being shown

async function show() {
  const address = (wanted = location.hash);
  const route = parse(address);
  const view = built.get(route.view) ?? (route.view === "search" ? add("search", searchView()) : await viewOf(route.view));
  if (address !== wanted) return;
  const isOther = shown !== view;
  if (isOther) {
    if (shown) leave(shown);
    view.element.hidden = false;
    scrollTo(0, view.scrolled ?? 0);
  }
  const isFirst = shown === null;
  shown = view;
  markPlace(placeOf(route.view));
  rememberPlace();
  showTitle();
  view.show(route);
  if (isOther) focusIn(view, isFirst);
}

function showTitle() {
  document.title = `${shown.title(parse(location.hash))} · ${project || "Lore"}`;
}

/** Restore the focus of a view; otherwise focus its field if a keyboard is likely, or its heading. */
function focusIn(view, isFirst) {
  const field = matchMedia("(hover: hover)").matches ? view.field : null;
  const wanted = view.remembered?.isConnected ? view.remembered : (field ?? (isFirst ? null : view.heading));
  wanted?.focus({ preventScroll: true });
}

/** Build a view when it is first shown, and keep it, so that returning restores its content. */
async function viewOf(name) {
  const view = await loadView(MODULES[name]).catch(unloaded);
  return built.get(name) ?? add(name, view); // it may have been wanted twice
}

function add(name, view) {
  view.element = el("section", { class: `view ${name.replace("/", "-")}`, "data-view": name, hidden: true }, view.content);
  view.heading = view.element.querySelector("h1");
  view.heading.tabIndex = -1;
  byId("main").append(view.element);
  if (!view.isTemporary) built.set(name, view);
  return view;
}

/** Say why a view cannot be shown: the server is down, or has been upgraded since the page was loaded. */
function unloaded() {
  const content = [el("h1", {}, "This view is not loaded"), failure({ code: "NO_ANSWER", message: "The server does not respond, or is of a newer version." }, () => location.reload())];
  const view = { content, title: () => "Not loaded", show: () => {}, isTemporary: true };
  let isDown = known.isUp === false;
  STATE.hear(() => {
    if (isDown && known.isUp && shown === view) location.reload();
    isDown = known.isUp === false;
  });
  UNREACHABLE.tell(); // so that the stream looks for the server
  return view;
}

function leave(view) {
  view.scrolled = scrollY;
  view.remembered = view.element.contains(document.activeElement) ? document.activeElement : null;
  view.element.hidden = true;
  view.leave?.();
}

function markPlace(name) {
  for (const link of document.querySelectorAll(".nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const nav = document.querySelector(".nav");
  const current = nav.querySelector("[aria-current]");
  if (nav.scrollWidth > nav.clientWidth && current) nav.scrollLeft = current.offsetLeft - nav.clientWidth / 2; // on a narrow screen
}

function skip(event) {
  event.preventDefault();
  byId("main").focus();
}

// The pill in the top bar: freshness of the index, branch and running build.

/** Show the state whenever it changes. */
function watchStatus() {
  STATE.hear(showPill);
  JOB.hear(showPill);
  showPill();
}

function showPill() {
  const pill = byId("pill");
  const { state, text, title } = known.isUp && currentJob()?.state === "running" ? running(currentJob()) : resting();
  pill.dataset.state = state;
  pill.title = title;
  pill.setAttribute("aria-label", `Index: ${title}`);
  byId("pill-text").textContent = text;
}

function running(job) {
  const share = job.total ? ` ${Math.floor((100 * job.done) / job.total)} %` : "";
  return { state: "running", text: `${job.action}${share}`, title: `${job.action} is running: ${job.stage ?? "starting"}${share}` };
}

function resting() {
  const { isUp, problem, freshness } = known;
  if (problem?.code === "TOKEN_REQUIRED") return { state: "failed", text: "no token", title: "the server requires its token" };
  if (isUp === false) return { state: "failed", text: "no response", title: "the server does not respond" };
  if (problem?.code === "INDEX_MISSING") return { state: "empty", text: "no index", title: "nothing is indexed yet" };
  if (problem) return { state: "failed", text: "index failed", title: problem.message };
  if (!freshness) return { state: "unknown", text: "…", title: "unknown" };
  const head = freshness.commit ? ` · ${freshness.branch ?? "detached"}@${freshness.commit.slice(0, 7)}` : "";
  const text = `${freshness.state}${pending(freshness)}`;
  return { state: freshness.state, text: `${text}${head}`, title: `${text}, synced ${agoOf(freshness.synced_at)}${head}` };
}

function pending(freshness) {
  if (freshness.state === "stale" && freshness.changed_files) return `, ${plural(freshness.changed_files, "file")}`;
  return freshness.state === "partial" && freshness.pending_vectors ? `, ${count(freshness.pending_vectors)} pending` : "";
}

// Dark or light theme: the system's, until the reader chooses another.

const KEPT = "lore-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const kept = localStorage.getItem(KEPT);
if (kept) document.documentElement.dataset.theme = kept;

/** Return whether the page is dark. */
function isDark() {
  return (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
}

/** Make a button go through the themes: the other one, the system's by name, and again whatever the system has. */
function themeButton(button) {
  const next = () => {
    const own = document.documentElement.dataset.theme;
    const systems = dark.matches ? "dark" : "light";
    return own === undefined ? (dark.matches ? "light" : "dark") : own === systems ? null : systems;
  };
  const show = () => {
    button.textContent = isDark() ? "☾" : "☀";
    button.title = next() ? `Use the ${next()} theme` : "Use the system's theme";
    button.setAttribute("aria-label", button.title);
  };
  button.addEventListener("click", () => {
    const chosen = next();
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
    chosen ? localStorage.setItem(KEPT, chosen) : localStorage.removeItem(KEPT);
    show();
  });
  dark.addEventListener("change", show);
  show();
}

// Keyboard shortcuts that work everywhere, and the dialog that lists them.

const LIST = [
  ["/", "search"],
  ["Ctrl K", "go to a file, a symbol, a document or a view"],
  ["↓ ↑", "next and previous result"],
  ["Enter", "open the result"],
  ["e", "open the result or file in the editor; edit the document"],
  ["s", "explain the score of the result"],
  ["h", "history of the document"],
  ["n", "new document"],
  ["Ctrl S", "save the document"],
  ["Esc", "back"],
  ["g then s a k i c q h", "search, ask, knowledge, index, classes, insights, health"],
  ["?", "show these shortcuts"],
];
const PLACES = { s: "search", a: "ask", k: "knowledge", i: "index", c: "classes", q: "insights", h: "health" };
let isGoing = false;

/** Listen for the keys. */
function watchKeys() {
  byId("keys").addEventListener("click", showKeys);
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "k" && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      return jump();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") return escape(event);
    if (isTyping(event.target)) return;
    const handler = isGoing && PLACES[event.key] ? () => go(link(PLACES[event.key])) : handlerOf(event.key);
    isGoing = event.key === "g";
    if (!handler || (event.target.role === "tree" && event.key.length === 1 && event.key !== "/" && event.key !== "?")) return;
    event.preventDefault();
    handler();
  });
}

/** Show the dialog with the shortcuts. */
function showKeys() {
  const dialog = el(
    "dialog",
    { class: "dialog", "aria-labelledby": "keys-title" },
    el("h2", { id: "keys-title" }, "Keyboard shortcuts"),
    el("dl", { class: "keys" }, LIST.map(([keys, what]) => [el("dt", {}, keys.split(" ").map(keyOf)), el("dd", {}, what)])),
    el("form", { method: "dialog", class: "actions" }, el("button", { class: "button primary" }, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const HANDLERS = {
  "/": () => SEARCH_WANTED.tell(),
  "?": showKeys,
  e: () => (current()?.querySelector("a.editor") ?? keyed("e"))?.click(),
  s: () => current()?.querySelector("button.score")?.click(),
};

/** Return the global action of a key, otherwise its action in this view. */
function handlerOf(key) {
  return HANDLERS[key] ?? (keyed(key) && (() => keyed(key).click()));
}

/** Return the action of a key in the current view, if it can be used now. */
function keyed(key) {
  return document.querySelector(`section.view:not([hidden]) :not([inert]) > [data-key="${CSS.escape(key)}"]`);
}

/** Return the focused result, or the shown file. */
function current() {
  return document.activeElement.closest(".result") ?? document.querySelector("section.view:not([hidden]) .file-head");
}

function escape(event) {
  const view = document.querySelector("section.view:not([hidden])")?.dataset.view;
  if (view === "source") {
    event.preventDefault();
    canGoBack() ? history.back() : go(link("search"));
  } else if (view === "search" && event.target.closest(".result")) {
    HANDLERS["/"]();
  } else if (view?.startsWith("knowledge/") && !isTyping(event.target)) {
    keyed("Escape")?.click();
  } else {
    document.activeElement.blur();
  }
}

/** Return whether the previous history entry belongs to this page, because going back must not leave it. */
function canGoBack() {
  return globalThis.navigation ? navigation.canGoBack : history.length > 1;
}

function isTyping(target) {
  return target.matches("input:not([type=radio]), textarea, select, [contenteditable]");
}

function keyOf(text) {
  return text === "then" ? ` ${text} ` : [el("kbd", {}, text), " "];
}

// The overlay that leads anywhere: views, files, symbols and documents by name; a search or a question for the rest.

const FOUND = { limit: 8, max_tokens: 2000, brief: true, explain: true }; // an explained search is not logged as a question
const PAUSE_MS = 80;
const LONGEST = 200;
let overlay = null;

/** Open the overlay. */
function jump() {
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
  const places = resource({ load: (query, signal) => search({ ...FOUND, query }, signal), show: ({ results }) => draw(exactFirst(results.map(rowOf), input.value)), fail: () => draw([]) });
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
    const views = Object.values(PLACES).filter((view) => view.startsWith(query.toLowerCase())).map((view) => ({ name: view[0].toUpperCase() + view.slice(1), more: "view", href: link(view) }));
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
    else if (event.key === "Escape") dialog.close(); // a search field would only be emptied
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
      input.value = getSelection().toString().trim().slice(0, LONGEST); // the name that the reader has selected
      draw([]);
      dialog.showModal();
      typed();
    },
  };
}

/** Return the rows with those of this very name first. */
function exactFirst(rows, name) {
  const isExact = (row) => row.name.toLowerCase() === name.trim().toLowerCase();
  return [...rows.filter(isExact), ...rows.filter((row) => !isExact(row))];
}

/** Return the row of a result: its symbol, title or file name, and its place. */
function rowOf({ title, heading, source, lines, id }) {
  const name = headingsOf(heading).at(-1) || source.split("/").at(-1);
  return { name: title === source ? name : title, more: `${source}:${span(lines)}`, href: sourceLink(source, lines, id) };
}

// The page begins.

byId("project").textContent = project || "Lore";
if (base) document.querySelector(".nav").append(el("a", { href: "/" }, "Projects"));
byId("skip").addEventListener("click", skip);
SEARCH_WANTED.hear(() => {
  const search = built.get("search");
  if (search && search === shown) return search.focus();
  addEventListener("hashchange", () => built.get("search").focus(), { once: true }); // as soon as it is shown, because the user may type immediately
  go(link("search", "", search?.params() ?? {}));
});
history.scrollRestoration = "manual";
themeButton(byId("theme"));
watchKeys();
addEventListener("hashchange", show);
SETTLED.hear(showTitle);
show();
watchStatus();
watchState();
