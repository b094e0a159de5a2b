// Ask: stream the answer and show its citations, below it if they are the answer and beside it otherwise.

import { answerNodes } from "./answer.js";
import { citationList, quoteOf, referenceList, showCited } from "./citations.js";
import { saveAnswer } from "./save-answer.js";
import { askedBefore, codes, duration, el, fill, FRESHNESS, go, headingsOf, lastRoute, link, pinned, plural, project, rememberAsked, say, setPin, span, TYPES } from "../shared/base.js";
import { hoverCards } from "../shared/hover.js";
import { failure, freshnessNote, notesOf, paperLink } from "../shared/parts.js";
import * as api from "../shared/server.js";
import { resource } from "../shared/server.js";

const FIRST_SOURCES = { limit: 6, brief: true, max_tokens: 2000, explain: true }; // an explained search is not logged as a question
const MOST_QUESTIONS = 8;
const MODES = { synthesized: "written by the answer model", extractive: "quoted from the sources", structural: "looked up in the class tree, the history or a document" };

/** Return the view of `#/ask?q=…&type=…&after=…&cite=…`; `after` is the id of the answer that the question follows. */
export function view() {
  const input = el("input", { id: "question", class: "big-input", placeholder: "Ask: how, where, why …", maxlength: 2000, required: true, autocomplete: "off", on: { input: () => showButtons() } });
  const type = el("select", { id: "ask-type", on: { change: () => showButtons() } }, ["all", ...TYPES].map((name) => el("option", { value: name }, name === "all" ? "all types" : name)));
  const button = el("button", { class: "button primary big" }, "Ask");
  const stopButton = el("button", { type: "button", class: "button big", hidden: true, on: { click: stop } }, "Stop");
  const said = el("p", { class: "said" });
  const fresh = freshnessNote();
  const answer = el("div", { class: "answer", "aria-label": "Answer", role: "region", tabindex: "-1" });
  const evidence = el("div", { class: "evidence" });
  const side = el("aside", { class: "side", "aria-label": "Sources" });
  const before = el("p", { class: "before", hidden: true });
  const further = el("div", { class: "further", hidden: true });
  const state = { asked: "", text: "", isDrawing: false, citations: [] };
  const earlier = new Map(); // answer id -> its question and address
  const sources = resource({ load: ({ q, type: only }, signal) => api.search({ query: q, ...(only && { type: [only] }), ...FIRST_SOURCES }, signal), show: showFound, fail: () => {} });
  const reply = resource({ part: answer, load: stream, show: finish, fail });

  hoverCards(answer, ".cite", (cite) => {
    const citation = state.citations.find(({ n }) => n === Number(cite.dataset.n));
    return citation && [el("p", { class: "where" }, el("span", { class: "path" }, `${citation.source}:${span(citation.lines)}`)), el("strong", {}, headingsOf(citation.heading).at(-1)), el("p", {}, citation.quote)];
  });

  function submit(event) {
    event.preventDefault();
    const query = input.value.trim();
    if (!query || isBeingAnswered()) return;
    const fragment = link("ask", "", paramsOf(query, type.value));
    if (fragment === location.hash) run(paramsOf(query, type.value, ""));
    else go(fragment);
  }

  function run(params) {
    rememberAsked("ask", params.q);
    return reply.ask(params);
  }

  /** Stream an answer; return it with the time it took. */
  async function stream({ q, type: only, after }, signal) {
    const started = performance.now();
    Object.assign(state, { asked: keyOf(q, only || "all", after), text: "", citations: [] });
    begin({ q, type: only, after });
    for await (const { event, data } of api.ask({ query: q, type: only || "all", ...(after && { follow_up: after }) }, signal)) {
      if (signal.aborted) break;
      if (event === "text") write(data, signal);
      else if (event === "problem") throw new api.Problem(data);
      else return { found: data, milliseconds: performance.now() - started };
    }
    throw new api.Problem({ code: "NO_ANSWER", message: "The answer was interrupted." });
  }

  function begin(params) {
    const { after } = params;
    queueMicrotask(showButtons); // when the request is under way
    further.hidden = fresh.hidden = true;
    before.hidden = !after;
    if (after) fill(before, "Follow-up to ", earlier.has(after) ? el("a", { href: earlier.get(after).address }, earlier.get(after).question) : "an earlier answer");
    said.textContent = "Searching for passages…";
    say("Asking.");
    for (const part of [side, evidence]) fill(part);
    fill(answer, el("p", { class: "waiting" }, el("span", { class: "caret" })));
    answer.setAttribute("aria-busy", "true");
    if (!after) sources.ask(params);
  }

  /** Show what was found while the answer is awaited. */
  function showFound({ results }, { q }) {
    if (reply.isLoading()) fill(side, referenceList(results, q));
  }

  function write(delta, signal) {
    said.textContent = "Writing…";
    state.text += delta;
    if (!state.isDrawing) draw(signal);
  }

  /** Render what has been written with one request at a time; the latest text is always rendered. */
  async function draw(signal) {
    state.isDrawing = true;
    const { text } = state;
    const [nodes] = await answerNodes(text, [], {}, [], signal).catch(() => [[text]]);
    state.isDrawing = false;
    if (signal.aborted || !reply.isLoading()) return;
    fill(answer, nodes, el("span", { class: "caret" }));
    if (text !== state.text) draw(signal);
  }

  async function finish({ found, milliseconds }, params) {
    sources.leave();
    const { citations } = (state.citations = found.citations, found);
    const [nodes, ...quotes] = await answerNodes(found.answer, citations, params, citations.map(quoteOf));
    if (state.asked !== keyOf(params.q, params.type || "all", params.after)) return;
    said.textContent = `${found.found ? `Answer ${MODES[found.mode]}` : "No answer"} · ${duration(milliseconds / 1000)}`;
    const isTold = found.doubt && found.answer.startsWith(found.doubt);
    fill(answer, notesOf({ doubt: !isTold && found.doubt }), nodes, found.degraded && el("p", { class: "quiet why-not" }, codes(found.degraded)));
    const question = found.searched ?? params.q;
    const cited = citationList(citations, quotes, question);
    const isWritten = found.mode === "synthesized";
    fill(evidence, !isWritten && cited);
    fill(side, isWritten && cited, referenceList(found.references, question));
    showFurther(params, found);
    say(found.found ? `Answered with ${plural(citations.length, "citation")}.` : "No answer was found.");
    FRESHNESS.tell(found.freshness);
    fresh.hidden = false;
    end();
  }

  function fail(problem, retry) {
    state.asked = "";
    said.textContent = "";
    fill(answer, failure(problem, retry));
    end();
  }

  /** Show the field for a follow-up question, and what can be done with the answer. */
  function showFurther(params, { id, references, citations }) {
    const next = el("input", { id: "follow-up", maxlength: 2000, required: true, autocomplete: "off", placeholder: "Ask further: and how do I turn it off?" });
    const done = el("p", { class: "quiet", role: "status" });
    const saved = (file) => fill(done, "Saved as ", el("a", { href: paperLink("document", { file }) }, file), ".");
    const source = citations[0]?.source ?? references[0]?.source;
    const agentPanel = el("div", { class: "agent-panel", hidden: true });
    earlier.set(id, { question: params.q, address: link("ask", "", params) });
    fill(further,
      el("form", { class: "ask-row", on: { submit: (event) => (event.preventDefault(), follow(next.value.trim(), id)) } },
        el("label", { class: "unseen", for: "follow-up" }, "Follow-up question"), next,
        el("button", { class: "button" }, "Follow up"),
        el("button", { type: "button", class: "button", on: { click: () => saveAnswer(id, params.q, saved) } }, "Save…")),
      el("p", { class: "further-actions" },
        source && pinButton(params.q, source),
        el("button", { type: "button", class: "quiet-button", on: { click: () => showAgent(agentPanel, params) } }, "As an agent sees it")),
      done, agentPanel);
    further.hidden = false;
  }

  async function showAgent(panel, { q, type: only }) {
    panel.hidden = !panel.hidden;
    if (!panel.hidden) (await import("../shared/agent.js")).showReply(panel, "ask_knowledge_base", { query: q, ...(only && { type: only }) }, "/api/knowledge/ask");
  }

  function follow(query, id) {
    if (query) go(link("ask", "", paramsOf(query, type.value, id)));
  }

  async function stop() {
    reply.leave();
    sources.leave();
    said.textContent = "Stopped.";
    end();
    const [nodes] = state.text ? await answerNodes(state.text).catch(() => [[state.text]]) : [null];
    if (!reply.isLoading()) fill(answer, nodes);
  }

  function end() {
    showButtons();
    if (!reply.isLoading()) answer.removeAttribute("aria-busy");
  }

  /** Show buttons to stop the answer in progress or to ask another question instead. */
  function showButtons() {
    const hadFocus = document.activeElement === stopButton;
    stopButton.hidden = !reply.isLoading();
    button.hidden = isBeingAnswered();
    if (hadFocus && stopButton.hidden) button.focus();
  }

  /** Show the page as before the first question, to which Back leads. */
  function clear() {
    for (const flight of [reply, sources]) flight.leave();
    state.asked = input.value = said.textContent = "";
    for (const part of [answer, evidence, side]) fill(part);
    further.hidden = fresh.hidden = before.hidden = true;
    end();
  }

  const isBeingAnswered = () => reply.isLoading() && state.asked.startsWith(keyOf(input.value.trim(), type.value));

  async function showRoute(route) {
    const { q = "", type: wanted = "all", after = "", cite } = route.params;
    if (!q && state.asked) clear();
    if (!q && !input.value) input.value = lastRoute("search").params.q ?? "";
    if (!q && !state.asked) showQuestions(answer);
    if (q && state.asked !== keyOf(q, wanted, after)) {
      input.value = q;
      type.value = wanted;
      await run(paramsOf(q, wanted, after));
    }
    if (cite) showCited(beside, Number(cite));
  }

  const beside = el("div", { class: "beside" }, el("div", {}, fresh, answer, evidence, further), side);
  const content = [
    el("h1", { class: "unseen" }, "Ask"),
    el("form", { class: "ask-row", on: { submit } },
      el("label", { class: "unseen", for: "question" }, "Question"), input,
      el("label", { class: "unseen", for: "ask-type" }, "Answer from"), type, button, stopButton),
    before, said,
    beside,
  ];
  return { content, title: (route) => route.params.q || "Ask", show: showRoute, field: input };
}

/** Show what was asked before, in this browser and by everyone who uses this index. */
async function showQuestions(place) {
  const list = (title, queries) => queries.length > 0 && [el("h2", {}, title), el("ul", { class: "questions" }, queries.map((query) => el("li", {}, el("a", { href: link("ask", "", { q: query }) }, query))))];
  const mine = askedBefore("ask").slice(0, MOST_QUESTIONS);
  const { frequent = [], questions = 0 } = await api.insights({ days: 90, limit: MOST_QUESTIONS }).catch(() => ({}));
  if (!place.querySelector("h2, p, .note")) fill(place, list("Your last questions", mine), list("Asked often", frequent.map(({ query }) => query)),
    !mine.length && !questions && el("p", { class: "quiet" }, `Ask how something in ${project || "the project"} works, where it is, or why it was decided. The answer cites the passages it is from.`));
}

/** Create a button that pins a question to the start page, or unpins it. */
function pinButton(query, source) {
  const isPinned = () => pinned().some((pin) => pin.query === query);
  const button = el("button", { type: "button", class: "quiet-button", title: "Pinned questions are checked again on the start page", on: { click: toggle } });
  const show = () => (button.textContent = isPinned() ? "Unpin" : "Pin");
  function toggle() {
    setPin(query, isPinned() ? null : source);
    show();
  }
  show();
  return button;
}

const paramsOf = (q, type, after) => ({ q, type: type === "all" ? "" : type, after });

const keyOf = (query, type, after = "") => `${type} ${query}\n${after}`;
