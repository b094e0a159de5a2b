// The class tree, with the chosen class beside it.

import * as api from "../shared/api.js";
import { classCard } from "./class-card.js";
import { el, fill, reveal, say } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { bestOf, filteredRows, forestOf, hasWords, openTo, rowsOf, shortName } from "./forest.js";
import { failure } from "../shared/notes.js";
import { go, link } from "../shared/route.js";
import { treeOf } from "./tree.js";

const PAGE_TOKENS = 150_000;

/** Return the view of `#/classes/<name>`. */
export function classesView() {
  const filter = el("input", { id: "class-filter", type: "search", placeholder: "Filter classes", autocomplete: "off", spellcheck: "false", on: { input: filtered, keydown: toTree } });
  const said = el("p", { class: "said" });
  const trouble = el("div", {});
  const card = el("section", { class: "card class-card", "aria-label": "Class", tabindex: "-1" });
  const tree = treeOf("Classes", rowText, open, toggle);
  const body = el("div", { class: "beside classes-body" }, el("div", { class: "tree-side" }, tree.element), card);
  const state = { forest: null, loading: null, name: "", flight: null, visit: 0, shut: new Set() };

  document.addEventListener("lore:job", ({ detail }) => detail.ended && (state.loading = null));

  async function load() {
    const classes = [];
    let cursor;
    do {
      const page = await api.hierarchy({ max_tokens: PAGE_TOKENS, cursor });
      classes.push(...page.classes);
      cursor = page.next_cursor;
    } while (cursor);
    return forestOf(classes);
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

  async function choose(name) {
    state.name = name;
    state.flight?.abort();
    if (!name) return fill(card, el("p", { class: "quiet" }, "Choose a class to see its ancestors, subclasses and members."));
    const flight = (state.flight = new AbortController());
    card.setAttribute("aria-busy", "true");
    try {
      const found = await api.hierarchy({ root: name, max_tokens: PAGE_TOKENS }, flight.signal);
      if (state.flight !== flight) return;
      fill(card, classCard(found));
      card.scrollTop = 0;
      if (matchMedia("(max-width: 760px)").matches) reveal(card, "start");
      say(`${shortName(found.root)}: ${plural(found.total - 1, "subclass", "subclasses")}, ${plural(found.members.length, "member")}.`);
      openTo(state.forest, found.root);
      draw();
      tree.select(state.forest.nodes.get(found.root));
    } catch (problem) {
      if (problem.name !== "AbortError") fill(card, failure(problem));
    } finally {
      card.removeAttribute("aria-busy");
    }
  }

  async function show(route) {
    const mine = (state.visit += 1);
    try {
      state.loading ??= load();
      const forest = await state.loading;
      if (mine !== state.visit) return;
      const isNew = forest !== state.forest;
      state.forest = forest;
      fill(trouble);
      body.hidden = false;
      if (isNew) filtered();
      else draw();
      await choose(route.path);
    } catch (problem) {
      if (mine !== state.visit) return;
      state.loading = null;
      body.hidden = true;
      fill(trouble, failure(problem, () => show(route)));
    }
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
