// Keyboard shortcuts that work everywhere, and the dialog that lists them.

import { byId, el } from "./dom.js";
import { jump } from "./jump.js";
import { go, link } from "./route.js";

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
export function watchKeys() {
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
export function showKeys() {
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
  "/": () => document.dispatchEvent(new CustomEvent("lore:focus-search")),
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
