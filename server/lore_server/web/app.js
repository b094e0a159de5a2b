// Compose the page: views, routing, and the frame around them.

import { askView } from "./ask/ask.js";
import { changeView } from "./knowledge/change.js";
import { classesView } from "./classes/classes.js";
import { byId, el } from "./shared/dom.js";
import { documentView } from "./read/document.js";
import { editView } from "./knowledge/edit.js";
import { healthView } from "./index/health.js";
import { historyView } from "./knowledge/history.js";
import { indexView } from "./index/index-view.js";
import { insightsView } from "./index/insights-view.js";
import { watchKeys } from "./shared/keys.js";
import { knowledgeView } from "./knowledge/knowledge.js";
import { paperView } from "./knowledge/paper-view.js";
import { base, project } from "./shared/project.js";
import { go, link, parse, placeOf, rememberPlace } from "./shared/route.js";
import { searchView } from "./search/search.js";
import { watchState } from "./shared/state.js";
import { watchStatus } from "./shared/status.js";
import { themeButton } from "./shared/theme.js";

const BUILDERS = {
  search: searchView,
  ask: askView,
  knowledge: knowledgeView,
  "knowledge/document": paperView,
  "knowledge/edit": editView,
  "knowledge/history": historyView,
  "knowledge/change": changeView,
  index: indexView,
  classes: classesView,
  source: documentView,
  health: healthView,
  insights: insightsView,
};
const built = new Map();
let shown = null;

function show() {
  const route = parse(location.hash);
  const view = viewOf(route.view);
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
function viewOf(name) {
  if (!built.has(name)) {
    const view = BUILDERS[name]();
    view.element = el("section", { class: `view ${name.replace("/", "-")}`, "data-view": name, hidden: true }, view.content);
    view.heading = view.element.querySelector("h1");
    view.heading.tabIndex = -1;
    byId("main").append(view.element);
    built.set(name, view);
  }
  return built.get(name);
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

byId("project").textContent = project || "Lore";
if (base) document.querySelector(".nav").append(el("a", { href: "/" }, "Projects"));
byId("skip").addEventListener("click", skip);
document.addEventListener("lore:focus-search", () => {
  const search = built.get("search");
  if (search && search === shown) return search.focus();
  addEventListener("hashchange", () => built.get("search").focus(), { once: true }); // as soon as it is shown, because the user may type immediately
  go(link("search", "", search?.params() ?? {}));
});
history.scrollRestoration = "manual";
themeButton(byId("theme"));
watchKeys();
addEventListener("hashchange", show);
document.addEventListener("lore:settled", showTitle);
show();
watchStatus();
watchState();
