// The class tree, and the class that is chosen beside it.

import * as api from "./api.js";
import { classCard } from "./class-card.js";
import { el, fill, reveal, say } from "./dom.js";
import { count, plural } from "./format.js";
import { forestOf, openTo, rowsOf, shortName } from "./forest.js";
import { failure } from "./notes.js";
import { go, link } from "./route.js";
import { treeOf } from "./tree.js";

const PAGE_TOKENS = 150_000;

/** The view of `#/classes/<name>`. */
export function classesView() {
  const filter = el("input", { id: "class-filter", type: "search", placeholder: "Filter classes", autocomplete: "off", spellcheck: "false", on: { input: draw, keydown: toTree } });
  const said = el("p", { class: "said" });
  const trouble = el("div", {});
  const card = el("section", { class: "card class-card", "aria-label": "Class", tabindex: "-1" });
  const tree = treeOf("Classes", rowText, (node) => go(link("classes", node.name)), draw);
  const body = el("div", { class: "beside classes-body" }, el("div", { class: "tree-side" }, tree.element), card);
  const state = { forest: null, loading: null, name: "", flight: null };

  document.addEventListener("lore:job", ({ detail }) => detail.ended && (state.forest = state.loading = null));

  async function load() {
    const classes = [];
    let cursor;
    do {
      const page = await api.hierarchy({ max_tokens: PAGE_TOKENS, cursor });
      classes.push(...page.classes);
      cursor = page.next_cursor;
    } while (cursor);
    state.forest = forestOf(classes);
  }

  function draw() {
    if (!state.forest) return;
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const own = [...state.forest.nodes.values()].filter((node) => node.source);
    const hits = words.length ? own.filter((node) => words.every((word) => node.name.toLowerCase().includes(word))) : own;
    said.textContent = words.length ? `${count(hits.length)} of ${plural(own.length, "class", "classes")}` : plural(own.length, "class", "classes");
    tree.show(rowsOf(state.forest, words));
  }

  async function choose(name) {
    state.name = name;
    state.flight?.abort();
    if (!name) return fill(card, el("p", { class: "quiet" }, "Choose a class to see its chain, its subclasses and its members."));
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
    try {
      state.loading ??= load();
      await state.loading;
      fill(trouble);
      body.hidden = false;
      draw();
      await choose(route.path);
    } catch (problem) {
      state.loading = null;
      body.hidden = true;
      fill(trouble, failure(problem, () => show(route)));
    }
  }

  function toTree(event) {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    tree.element.focus();
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
