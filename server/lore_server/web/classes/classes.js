// The class tree, with the chosen class beside it.

import { classCard, loadClass } from "./class-card.js";
import { bestOf, filteredRows, forestOf, hasWords, openTo, rowsOf, shortName } from "./forest.js";
import { treeOf } from "./tree.js";
import { count, el, fill, go, link, plural, reveal, say } from "../shared/base.js";
import { failure } from "../shared/parts.js";
import * as api from "../shared/server.js";
import { resource } from "../shared/server.js";

const PAGE_TOKENS = 150_000;

/** Return the view of `#/classes/<name>`. */
export function view() {
  const filter = el("input", { id: "class-filter", type: "search", placeholder: "Filter classes", autocomplete: "off", spellcheck: "false", on: { input: filtered, keydown: toTree } });
  const said = el("p", { class: "said" });
  const trouble = el("div", {});
  const card = el("section", { class: "card class-card", "aria-label": "Class", tabindex: "-1" });
  const tree = treeOf("Classes", rowText, open, toggle);
  const body = el("div", { class: "beside classes-body", hidden: true }, el("div", { class: "tree-side" }, tree.element), card);
  const state = { forest: null, name: "", isAwaited: false, shut: new Set() };
  const all = resource({ part: filter, load, show: showForest, fail: (problem, again) => ((body.hidden = true), fill(trouble, failure(problem, again))), of: "index" });
  const one = resource({ part: card, load: loadClass, show: showClass, fail: (problem, again) => fill(card, failure(problem, again)), of: "index" });

  async function load(_, signal) {
    const classes = [];
    let cursor;
    do {
      const page = await api.hierarchy({ max_tokens: PAGE_TOKENS, cursor }, signal);
      classes.push(...page.classes);
      cursor = page.next_cursor;
    } while (cursor);
    return forestOf(classes);
  }

  function showForest(forest) {
    state.forest = forest;
    fill(trouble);
    body.hidden = false;
    filtered();
    if (state.name) openChosen();
  }

  const words = () => filter.value.toLowerCase().split(/\s+/).filter(Boolean);

  function draw() {
    if (state.forest) tree.show(rows());
  }

  function rows() {
    const own = [...state.forest.nodes.values()].filter((node) => node.source);
    const total = plural(own.length, "class", "classes");
    said.textContent = words().length ? `${count(own.filter((node) => hasWords(node, words())).length)} of ${total}` : total;
    return words().length ? filteredRows(state.forest, words(), state.shut) : rowsOf(state.forest);
  }

  /** Start a new filter with all nodes open and the most likely class active. */
  function filtered() {
    if (!state.forest) return;
    state.shut.clear();
    const found = rows();
    tree.show(found, words().length ? bestOf(found, words()) : undefined);
  }

  function toggle(node, isOpen) {
    if (!words().length) node.isOpen = isOpen;
    else if (isOpen) state.shut.delete(node);
    else state.shut.add(node);
    draw();
  }

  function open(node) {
    go(link("classes", node.name));
  }

  function showClass(loaded) {
    const { found } = loaded;
    state.name = found.root;
    fill(card, classCard(loaded));
    if (state.isAwaited) say(`${shortName(found.root)}: ${plural(found.total - 1, "subclass", "subclasses")}, ${plural(found.members?.length ?? 0, "member")}.`);
    openChosen();
  }

  /** Show the chosen class in the tree. */
  function openChosen() {
    if (!state.forest) return;
    openTo(state.forest, state.name);
    draw();
    tree.select(state.forest.nodes.get(state.name));
    if (!state.isAwaited || one.isLoading()) return; // the reader has not chosen it: it was loaded again
    state.isAwaited = false;
    if (matchMedia("(max-width: 760px)").matches) reveal(card, "start");
  }

  function show({ path }) {
    Object.assign(state, { name: path, isAwaited: true });
    if (!state.forest || all.problem() || all.isStale()) all.ask();
    if (path) return one.ask(path);
    one.leave();
    fill(card, el("p", { class: "quiet" }, "Choose a class to see its documentation, members, ancestors, subclasses and users."));
  }

  /** ↓ moves to the tree, Enter opens the active class. */
  function toTree(event) {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    tree.element.focus();
    if (event.key === "Enter" && state.forest && words().length) tree.open();
  }

  const content = [
    el("div", { class: "view-head" }, el("h1", {}, "Classes"), said),
    el("div", { class: "ask-row" }, el("label", { class: "unseen", for: "class-filter" }, "Filter classes"), filter),
    trouble, body,
  ];
  return { content, title: (route) => (route.path ? shortName(route.path) : "Classes"), show };
}

function rowText(node) {
  const isOutside = node.source === null;
  return [
    el("span", { class: isOutside ? "name outside" : "name" }, shortName(node.name)),
    el("span", { class: "quiet from" }, isOutside ? "outside" : node.name.split(".").slice(0, -1).join(".") || node.source),
  ];
}
