// Search as you type.

import { typeChips } from "../shared/chips.js";
import { codes, el, fill, say } from "../shared/dom.js";
import { figureOf, found, mistakeIn, PAGE } from "./find.js";
import { folderButtons } from "./folders.js";
import { wordsOf } from "../shared/highlight.js";
import { alongList, intoList } from "../shared/into-list.js";
import { emptyIndex, failure, note, notesOf } from "../shared/notes.js";
import { isCured } from "../shared/resource.js";
import { resultCard } from "./result.js";
import { link } from "../shared/route.js";
import { searchWelcome } from "./search-welcome.js";
import { known } from "../shared/state.js";
import { searchSteps } from "../shared/steps.js";
import { syntaxHelp, withPath, wordsIn } from "./syntax.js";

const PAUSE_MS = 120;

/** Return the view of `#/search?q=…&type=…,…`. */
export function searchView() {
  const input = el("input", {
    id: "q", type: "search", class: "big-input", placeholder: "Search: a question or an exact name", maxlength: 2000,
    autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-describedby": "search-said",
    "aria-keyshortcuts": "/",
  });
  const chips = typeChips("search-type", () => (steps.keep(), ask()));
  const folders = el("div", { class: "folders", role: "group", "aria-label": "Matches by folder" });
  const said = el("p", { class: "said", id: "search-said" });
  const notes = el("div", { class: "notes" });
  const list = el("ol", { class: "results", "aria-label": "Results" });
  const more = el("button", { type: "button", class: "button more", hidden: true, on: { click: loadMore } }, "Load more");
  const state = { asked: null, timer: 0, flight: null, problem: null, results: null }; // the results shown: {asked, cursor, count}
  const entering = intoList(() => ask(), () => titles());
  const steps = searchSteps(input);

  input.addEventListener("input", () => {
    entering.forget();
    clearTimeout(state.timer);
    state.timer = setTimeout(ask, PAUSE_MS);
  });
  input.addEventListener("keydown", onInputKey);
  list.addEventListener("keydown", (event) => alongList(event, titles(), input, () => (more.hidden ? null : more)));
  document.addEventListener("lore:job", ({ detail }) => (detail.ended ? askAgain() : renew()));
  document.addEventListener("lore:state", renew);

  /** Search again when the reason of a failure is gone, and update what is shown instead of results. */
  function renew() {
    if (state.problem && isCured(state.problem)) askAgain();
    else if (list.offsetParent && (state.problem?.code === "INDEX_MISSING" || !input.value.trim())) waiting();
  }

  async function ask() {
    clearTimeout(state.timer);
    const asked = { query: input.value.trim(), type: chips.types };
    if (state.asked && JSON.stringify(state.asked) === JSON.stringify(asked)) return state.done;
    state.flight?.abort();
    Object.assign(state, { asked, problem: null });
    steps.settle(link("search", "", params()));
    state.done = asked.query ? find(asked) : waiting();
    return state.done;
  }

  /** Search again after the index changed, without removing the results that the reader is using. */
  function askAgain() {
    state.asked = null;
    if (list.offsetParent && !list.contains(document.activeElement)) ask();
  }

  async function find(asked) {
    const flight = (state.flight = new AbortController());
    list.classList.add("old");
    list.setAttribute("aria-busy", "true");
    try {
      const page = await found({ ...asked, facets: true }, flight.signal);
      if (state.flight === flight) show(asked, page);
    } catch (problem) {
      if (problem.name === "AbortError" || state.flight !== flight) return;
      Object.assign(state, { asked: null, problem });
      if (problem.code === "INVALID_ARGUMENT") unfinished(problem);
      else waiting();
    }
  }

  /** Report an incomplete filter or quote, and keep the old results, dimmed, while it is typed. */
  function unfinished(problem) {
    list.removeAttribute("aria-busy");
    said.textContent = "";
    fill(notes, note("warn", codes(mistakeIn(problem))));
    say(problem.message);
  }

  function show(asked, { reply, excerpts, milliseconds }) {
    fill(notes, notesOf(reply));
    said.textContent = `${figureOf(reply)} · ${Math.round(milliseconds)} ms`;
    say(reply.results.length ? `${figureOf(reply)}. The first is ${reply.results[0].title}.` : "Nothing found.");
    chips.showMatching(reply.facets.types);
    showFolders(reply.facets.folders);
    settled();
    steps.shown();
    state.results = { asked, cursor: undefined, count: 0 };
    more.disabled = false;
    fill(list);
    append(reply, excerpts);
    if (!reply.results.length) fill(list, el("li", { class: "empty" }, el("p", {}, "Nothing found. Try fewer or other words", asked.type.length ? ", or all types." : "."), syntaxHelp()));
  }

  const showFolders = (found) => fill(folders, folderButtons(found, enter));

  function enter(path) {
    steps.keep();
    input.value = withPath(input.value, path);
    focus();
    ask();
  }

  function append(reply, excerpts) {
    const { asked, cursor, count } = state.results;
    const asking = { ...asked, ...PAGE, cursor };
    const wanted = wordsOf(wordsIn(asked.query));
    list.append(...reply.results.map((result, at) => el("li", {}, resultCard(result, excerpts[at], wanted, asking, count + at + 1))));
    Object.assign(state.results, { cursor: reply.next_cursor, count: count + reply.results.length });
    more.hidden = !reply.next_cursor;
  }

  async function loadMore() {
    const { results, results: { asked, cursor, count } } = state;
    more.disabled = true;
    try {
      const { reply, excerpts } = await found({ ...asked, cursor });
      if (state.results !== results) return;
      append(reply, excerpts);
      say(`${results.count} results shown.`);
      titles()[count]?.focus();
    } catch (problem) {
      if (state.results === results) fill(notes, failure(problem));
    } finally {
      if (state.results === results) more.disabled = false;
    }
  }

  /** Show why there are no results: no question yet, no index yet, or a failure. */
  function waiting() {
    const { problem } = state;
    const isMissing = (problem ?? known.problem)?.code === "INDEX_MISSING";
    empty(isMissing ? emptyIndex(problem ?? known.problem) : problem ? failure(problem, ask) : searchWelcome());
  }

  function empty(what) {
    settled();
    said.textContent = "";
    state.results = null;
    chips.showMatching(null);
    showFolders([]);
    fill(notes);
    fill(list, el("li", {}, what));
    more.hidden = true;
  }

  function settled() {
    list.classList.remove("old");
    list.removeAttribute("aria-busy");
  }

  function onInputKey(event) {
    const isForList = entering.press(event);
    if (isForList) steps.keep();
    if (isForList || event.key !== "Escape" || !input.value) return;
    event.preventDefault();
    steps.keep();
    input.value = "";
    ask();
  }

  const titles = () => [...list.querySelectorAll(".title")];
  const params = () => ({ q: input.value.trim(), type: chips.types.join(",") });

  const focus = () => (input.focus(), input.select());

  function showRoute(route) {
    const { q = "", type = "" } = route.params;
    if (q !== input.value.trim() || type !== chips.types.join(",")) {
      input.value = q;
      chips.choose(type.split(","));
    }
    if (q) steps.keep();
    ask();
  }

  const content = [
    el("h1", { class: "unseen" }, "Search"),
    el("form", { class: "ask-row", role: "search", on: { submit: (event) => event.preventDefault() } },
      el("label", { class: "unseen", for: "q" }, "Search the project"), input),
    chips.element, folders, said, notes, list, more,
  ];
  return { content, title: (route) => route.params.q || "Search", show: showRoute, leave: () => clearTimeout(state.timer), focus, params, field: input };
}
