// The search: filters, results, and a file beside them.

import { completions, narrowing, syntaxHelp, typeChips, withFilter, wordsIn } from "./filters.js";
import { codes, count, el, fill, go, headingsOf, JOB, link, loadView, parse, plural, project, refill, rememberAsked, say, scoreText, searchSteps, settle, sourceLink, span, STATE } from "../shared/base.js";
import { alongList, changedMark, CODE, editorAnchor, failure, freshnessNote, intoList, isMarkdown, judgeButtons, marked, nodesOfParts, note, notesOf, replaceTexts, standingMarks, wordsOf } from "../shared/parts.js";
import { known, resource, search } from "../shared/server.js";

// Find passages, and render their excerpts.

const LONGEST_HINT = 160; // characters; longer ones list every language
const LINES = 3; // of code in a result, as in the style sheet
const PAGE = { limit: 20, max_tokens: 9000, passages: 2 };

/** Return a page of results with their rendered excerpts, and how long the search took. */
async function found(asking, signal) {
  const started = performance.now();
  const reply = await search({ ...PAGE, ...asking }, signal);
  const milliseconds = performance.now() - started;
  return { reply, milliseconds, excerpts: await nodesOfParts(reply.results.map(partOf), signal) };
}

/** Return how much was found, unless it is not meant. */
export function figureOf({ results, doubt, total }) {
  if (!results.length) return "Nothing found";
  return doubt ? "Only near in meaning" : `${plural(total, "file")} found`;
}

/** Return what is wrong with a query. */
const mistakeIn = ({ message, hint }) => `${message} ${hint.length > LONGEST_HINT ? hint.split(" Valid values:")[0] : hint}`;

/** Return the part of a file that a result shows; of code, the lines that are visible, whose indentation counts. */
function partOf({ excerpt, source, type }) {
  const isCode = CODE.has(type) && !isMarkdown(source);
  return { text: isCode ? excerpt.split("\n").slice(0, LINES).join("\n").trimEnd() : excerpt, path: isCode || isMarkdown(source) ? source : "" };
}

// A search result: a file with its best passage, further passages and, on demand, the explanation of its score.

/** Create the card of a result; `nodes` are its rendered excerpt, `asking` is its request, which the explanation repeats. */
function resultCard(result, nodes, wanted, asking, number) {
  const { source, lines, type, state, passages = [] } = result;
  const address = sourceLink(source, lines, result.id);
  const why = el("div", { class: "why", id: `why-${number}`, hidden: true });
  const [title, under] = namesOf(result);
  return el(
    "article",
    { class: "result" },
    el("div", { class: "result-head" },
      el("h2", {}, el("a", { class: "title", href: address }, marked(title, wanted))),
      el("span", { class: "type" }, state ? `${type}, ${state}` : type),
      el("span", { class: "on-demand" }, editorAnchor(source, lines[0]), judgeButtons(asking.query, source), scoreButton(result, asking, why))),
    el("p", { class: "where" },
      el("a", { href: address, class: "path" }, source, el("span", {}, `:${span(lines)}`)),
      under && el("span", { class: "heading" }, marked(under, wanted)),
      passages.length > 0 && el("span", { class: "further-passages" }, passages.map((passage) =>
        el("a", { href: sourceLink(source, passage.lines, passage.id) }, marked(headingsOf(passage.heading).at(-1) || "lines", wanted), el("span", {}, ` ${span(passage.lines)}`)))),
      result.changed && changedMark(), standingMarks(result)),
    el("div", { class: CODE.has(type) ? "excerpt code" : "excerpt" }, excerptOf(result, nodes, wanted)),
    result.similar && similarFiles(result),
    why,
  );
}

/** Create the button with the score, which opens its explanation. */
function scoreButton(result, asking, panel) {
  const toggle = async () => {
    panel.hidden = !panel.hidden;
    button.setAttribute("aria-expanded", String(!panel.hidden));
    if (!panel.hidden && !panel.childElementCount) (await import("./why.js")).showWhy(panel, result, asking);
  };
  const button = el("button", {
    type: "button", class: "score", "aria-expanded": "false", "aria-controls": panel.id, title: "Why this score? (s)", on: { click: toggle },
  }, el("span", { class: "unseen" }, "Score "), scoreText(result.score));
  return button;
}

/** Return the title of a result and the headings below it: code is named by its symbol. */
function namesOf({ title, heading, type, source }) {
  const parts = headingsOf(heading).filter((part) => part && part !== title);
  if (!CODE.has(type)) return [title, parts.join(" › ")];
  return [parts.at(-1) ?? source.split("/").at(-1), parts.slice(0, -1).join(" › ")];
}

/** Return the rendered excerpt without the heading that the card already shows, with the words of the query marked. */
function excerptOf({ title, heading }, nodes, wanted) {
  const known = new Set([title, ...headingsOf(heading)]);
  const box = el("div", {}, nodes.filter((node) => !(isHeading(node) && known.has(node.textContent))));
  for (const node of box.querySelectorAll("h2, h3, h4, h5, h6")) node.replaceWith(el("p", {}, el("strong", {}, ...node.childNodes)));
  for (const node of box.querySelectorAll("[tabindex]")) node.removeAttribute("tabindex");
  replaceTexts(box, (text) => marked(text, wanted));
  return [...box.childNodes];
}

const isHeading = (node) => /^h\d$/.test(node.localName ?? "");

/** Return the number of other files with the same text, which opens their list. */
function similarFiles({ similar, similar_sources: sources = [] }) {
  const hidden = similar - sources.length;
  return el("details", { class: "similar" },
    el("summary", {}, `and ${count(similar)} similar`),
    el("ul", {}, sources.map((source) => el("li", {}, el("a", { href: sourceLink(source), class: "path" }, source))), hidden > 0 && el("li", {}, `… and ${count(hidden)} more`)));
}

// Search as you type; in a wide window, the results stay while a file is read beside them.

const PAUSE_MS = 120;
const WIDE = matchMedia("(min-width: 1400px)");

/** Return the view of `#/search?q=…&type=…,…&open=…`; `open` is a file that is read beside the results. */
export function searchView() {
  const input = el("input", {
    id: "q", type: "search", class: "big-input", placeholder: "Search: a question or an exact name", maxlength: 2000, list: "q-completions",
    autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-describedby": "search-said", "aria-keyshortcuts": "/",
  });
  const completed = el("datalist", { id: "q-completions" });
  const chips = typeChips("search-type", () => (steps.keep(), ask()));
  const folders = el("div", { class: "folders", role: "group", "aria-label": "Narrow the search" });
  const said = el("p", { class: "said", id: "search-said" });
  const agent = el("button", { type: "button", class: "quiet-button", hidden: true, "aria-expanded": "false", on: { click: showAgent } }, "As an agent sees it");
  const agentPanel = el("div", { class: "agent-panel", hidden: true });
  const fresh = freshnessNote();
  const notes = el("div", { class: "notes" });
  const list = el("ol", { class: "results", "aria-label": "Results", on: { click: openBeside, focusin: followFocus } });
  const more = el("button", { type: "button", class: "button more", hidden: true, on: { click: () => rest.ask(state.results) } }, "Load more");
  const start = startPage();
  const beside = fileBeside(addressOf, () => (go(addressOf("")), focusOpened()));
  const state = { asked: "", timer: 0, done: null, opened: {}, results: null }; // the results shown: {asked, cursor, count, folders}
  const entering = intoList(() => ask(), () => titles());
  const steps = searchSteps(input);
  const first = resource({ part: list, load: (asked, signal) => found({ ...asked, facets: true }, signal), show, fail, of: "index" });
  const rest = resource({ load: ({ asked, cursor }, signal) => found({ ...asked, cursor }, signal), show: showRest, fail: (problem, again) => fill(notes, failure(problem, again)) });

  input.addEventListener("input", () => {
    entering.forget();
    complete();
    clearTimeout(state.timer);
    state.timer = setTimeout(ask, PAUSE_MS);
  });
  input.addEventListener("keydown", onInputKey);
  input.addEventListener("focus", complete);
  input.addEventListener("change", () => input.value.trim() && rememberAsked("search", input.value.trim()));
  list.addEventListener("keydown", (event) => alongList(event, titles(), input, () => (more.hidden ? null : more)));
  STATE.hear(renewEmpty);
  JOB.hear(renewEmpty);

  function complete() {
    fill(completed, completions(input.value.trimStart(), state.results?.folders ?? []).map((value) => el("option", { value })));
  }

  /** Say what is waited for while there is no index, or that there is one now. */
  function renewEmpty() {
    if (list.checkVisibility() && !input.value.trim() && !list.contains(document.activeElement)) showEmpty(known.problem);
    else if (first.problem()?.code === "INDEX_MISSING") showEmpty(first.problem());
  }

  function ask() {
    clearTimeout(state.timer);
    const asked = { query: input.value.trim(), type: chips.types };
    if (state.asked === JSON.stringify(asked)) return state.done;
    state.asked = JSON.stringify(asked);
    steps.settle(link("search", "", params()));
    if (!asked.query) {
      first.leave();
      return (state.done = showEmpty(known.problem));
    }
    rest.leave();
    list.classList.add("old");
    list.setAttribute("aria-busy", "true");
    return (state.done = first.ask(asked));
  }

  /** Keep the old results, dimmed, while an incomplete filter or quote is typed. */
  function fail(problem, again) {
    state.asked = "";
    if (problem.code !== "INVALID_ARGUMENT") return showEmpty(problem, again);
    list.removeAttribute("aria-busy");
    said.textContent = "";
    fill(notes, note("warn", codes(mistakeIn(problem))));
    say(problem.message);
  }

  function show({ reply, excerpts, milliseconds }, asked) {
    fill(notes, notesOf(reply));
    said.textContent = `${figureOf(reply)} · ${Math.round(milliseconds)} ms`;
    say(reply.results.length ? `${figureOf(reply)}. The first is ${reply.results[0].title}.` : "Nothing found.");
    chips.showMatching(reply.facets.types);
    fill(folders, narrowing(reply, input.value, narrow));
    settled();
    steps.shown();
    agentPanel.hidden = true;
    agent.hidden = fresh.hidden = false;
    if (JSON.stringify(state.results?.asked) !== JSON.stringify(asked)) fill(list); // a row is judged for its question
    state.results = { asked, cursor: undefined, count: 0, folders: reply.facets.folders.map(({ path }) => path) };
    append(reply, excerpts);
    if (!reply.results.length) fill(list, el("li", { class: "empty" }, el("p", {}, "Nothing found. Try fewer or other words", asked.type.length ? ", or all types." : "."), syntaxHelp()));
  }

  function narrow(name, value) {
    steps.keep();
    input.value = withFilter(input.value, name, value);
    focus();
    ask();
  }

  function append(reply, excerpts) {
    const { asked, cursor, count } = state.results;
    const asking = { ...asked, ...PAGE, cursor };
    const wanted = wordsOf(wordsIn(asked.query));
    const rows = reply.results.map((result, at) => el("li", {}, resultCard(result, excerpts[at], wanted, asking, count + at + 1)));
    if (count) list.append(...rows);
    else refill(list, rows);
    Object.assign(state.results, { cursor: reply.next_cursor, count: count + reply.results.length });
    more.hidden = !reply.next_cursor;
    markOpened();
  }

  function showRest({ reply, excerpts }, results) {
    if (state.results !== results) return;
    const before = results.count;
    append(reply, excerpts);
    say(`${results.count} results shown.`);
    titles()[before]?.focus();
  }

  /** Show why there are no results: no question yet, no index yet, or a failure. */
  function showEmpty(problem, again) {
    settled();
    said.textContent = "";
    state.results = null;
    chips.showMatching(null);
    for (const part of [folders, notes]) fill(part);
    more.hidden = agent.hidden = agentPanel.hidden = fresh.hidden = true;
    if (problem) return fill(list, el("li", {}, failure(problem, again)));
    start.show(list);
  }

  function settled() {
    list.classList.remove("old");
    list.removeAttribute("aria-busy");
  }

  function onInputKey(event) {
    if (event.key === "ArrowDown" && completed.childElementCount) return; // the browser's list of completions is open
    const isForList = entering.press(event);
    if (isForList) steps.keep();
    if (isForList || event.key !== "Escape" || !input.value) return;
    event.preventDefault();
    steps.keep();
    input.value = "";
    ask();
  }

  async function showAgent() {
    agentPanel.hidden = !agentPanel.hidden;
    agent.setAttribute("aria-expanded", String(!agentPanel.hidden));
    const { query, type } = state.results.asked;
    if (!agentPanel.hidden) (await import("../shared/agent.js")).showReply(agentPanel, "query_documents", { query, ...(type.length && { type }) }, "/api/documents/query");
  }

  const titles = () => [...list.querySelectorAll(".title")];
  const params = () => ({ q: input.value.trim(), type: chips.types.join(",") });
  const focus = () => (input.focus(), input.select());

  /** Return the address of a file beside these results. */
  function addressOf(open, more = {}) {
    return link("search", "", { ...params(), open, ...more });
  }

  function openBeside(event) {
    const href = event.target.closest("a")?.getAttribute("href");
    if (!WIDE.matches || !href?.startsWith("#/source/") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    steps.keep();
    const { path, params: at } = parse(href);
    go(addressOf(path, at));
  }

  /** While a file is read beside the results, the arrow keys show the next one. */
  function followFocus({ target }) {
    if (!state.opened.open || !target.matches(".title")) return;
    const { path, params: at } = parse(target.getAttribute("href"));
    settle(addressOf(path, at));
    showOpened({ ...params(), open: path, ...at });
  }

  function showOpened(given) {
    state.opened = given;
    markOpened();
    return beside.show(given);
  }

  function markOpened() {
    for (const title of titles()) {
      const isOpen = Boolean(state.opened.open) && parse(title.getAttribute("href")).path === state.opened.open;
      isOpen ? title.setAttribute("aria-current", "true") : title.removeAttribute("aria-current");
    }
  }

  const focusOpened = () => list.querySelector(".title[aria-current]")?.focus();

  function showRoute(route) {
    const { q = "", type = "" } = route.params;
    if (q !== input.value.trim() || type !== chips.types.join(",")) {
      input.value = q;
      chips.choose(type.split(","));
    }
    if (q) steps.keep();
    showOpened(route.params);
    ask();
  }

  const content = [
    el("h1", { class: "unseen" }, "Search"),
    el("form", { class: "ask-row", role: "search", on: { submit: (event) => event.preventDefault() } },
      el("label", { class: "unseen", for: "q" }, "Search the project"), input, completed),
    chips.element, folders, el("div", { class: "said-row" }, said, agent), agentPanel, fresh, notes, list, more, beside.element,
  ];
  const leave = () => {
    clearTimeout(state.timer);
    beside.leave();
  };
  return { content, title: (route) => route.params.q || "Search", show: showRoute, leave, focus, params, field: input };
}

/** Create the pane for a file beside the results; `addressOf` returns the address of a place in it. */
function fileBeside(addressOf, close) {
  const alone = el("a", { class: "quiet-button" }, "Open alone");
  const frame = el("div", { class: "reading-frame" });
  const element = el("aside", { class: "reading", "aria-label": "File", hidden: true },
    el("p", { class: "reading-bar" }, alone, el("button", { type: "button", class: "quiet-button", "data-key": "Escape", on: { click: close } }, "Close")), frame);
  let reader = null;

  async function show({ open, ...given }) {
    element.hidden = !open;
    document.body.classList.toggle("is-reading", Boolean(open));
    if (!open) return reader?.leave();
    reader ??= await loadView("read/document", addressOf, frame);
    if (element.hidden) return;
    if (!frame.childElementCount) fill(frame, reader.content);
    alone.href = link("source", open, { line: given.line, chunk: given.chunk, view: given.view });
    await reader.show({ path: open, params: given });
  }

  return { element, show, leave: () => (document.body.classList.remove("is-reading"), reader?.leave()) };
}

/** Create the page of an empty search: how to search, and what is new. */
function startPage() {
  const cards = el("div", { class: "news" });
  const news = resource({ part: cards, load: async (_, signal) => (await import("./start.js")).newsCards(signal), show: (found) => fill(cards, found), fail: () => {}, of: "knowledge" });
  const element = el("div", { class: "start" },
    el("p", { class: "quiet" }, `Search the guides, code, tickets, decisions, release notes, rules and memories of ${project || "the project"}. Exact names come first. `, el("kbd", {}, "/"), " searches from anywhere, ", el("kbd", {}, "?"), " shows all shortcuts."),
    cards,
    el("details", { class: "similar" }, el("summary", {}, "What the search box understands"), syntaxHelp()));
  let isAsked = false;

  return {
    show(list) {
      const isNew = !element.isConnected;
      if (isNew) fill(list, el("li", {}, element));
      if (!known.freshness || (isAsked && !isNew)) return;
      isAsked = true;
      news.ask();
    },
  };
}
