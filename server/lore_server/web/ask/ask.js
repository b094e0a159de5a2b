// Ask: stream the answer and show its citations, below it if they are the answer and beside it otherwise.

import * as api from "../shared/api.js";
import { withoutCommands } from "../shared/advice.js";
import { answerNodes } from "./answer.js";
import { TYPES } from "../shared/chips.js";
import { citationList, quoteOf, referenceList, showCited } from "./citations.js";
import { el, fill, say } from "../shared/dom.js";
import { duration } from "../shared/format.js";
import { failure, notesOf } from "../shared/notes.js";
import { paperLink } from "../shared/paper.js";
import { go, lastRoute, link } from "../shared/route.js";
import { saveAnswer } from "./save-answer.js";

const MODES = { synthesized: "written by the answer model", extractive: "quoted from the sources", structural: "read from the class tree or the named document" };

/** Return the view of `#/ask?q=…&type=…&after=…&cite=…`; `after` is the id of the answer that the question follows. */
export function askView() {
  const input = el("input", { id: "question", class: "big-input", placeholder: "Ask: how, where, why …", maxlength: 2000, required: true, autocomplete: "off", on: { input: () => showButtons() } });
  const type = el("select", { id: "ask-type", on: { change: () => showButtons() } }, ["all", ...TYPES].map((name) => el("option", { value: name }, name === "all" ? "all types" : name)));
  const button = el("button", { class: "button primary big" }, "Ask");
  const stopButton = el("button", { type: "button", class: "button big", hidden: true, on: { click: stop } }, "Stop");
  const said = el("p", { class: "said" });
  const answer = el("div", { class: "answer", "aria-label": "Answer", role: "region", tabindex: "-1" });
  const evidence = el("div", { class: "evidence" });
  const side = el("aside", { class: "side", "aria-label": "Sources" });
  const before = el("p", { class: "before", hidden: true });
  const further = el("div", { class: "further", hidden: true });
  const state = { asked: "", flight: null, reply: null, text: "" };
  const earlier = new Map(); // answer id -> its question and address

  function submit(event) {
    event.preventDefault();
    const query = input.value.trim();
    if (!query || isBeingAnswered()) return;
    const fragment = link("ask", "", paramsOf(query, type.value));
    if (fragment === location.hash) run(query, type.value, "");
    else go(fragment);
  }

  async function run(query, wanted, after) {
    state.flight?.abort();
    const flight = (state.flight = new AbortController());
    const started = performance.now();
    Object.assign(state, { asked: key(query, wanted, after), reply: null, text: "" });
    begin(after);
    try {
      for await (const { event, data } of api.ask({ query, type: wanted, ...(after && { follow_up: after }) }, flight.signal)) {
        if (state.flight !== flight) return;
        if (event === "text") write(data);
        else if (event === "result") await finish(flight, paramsOf(query, wanted, after), data, performance.now() - started);
        else if (event === "problem") throw new api.Problem(data);
      }
      if (!state.reply) throw new api.Problem({ code: "NO_ANSWER", message: "The answer was interrupted." });
    } catch (problem) {
      if (state.flight === flight && problem.name !== "AbortError") fail(problem, () => run(query, wanted, after));
    } finally {
      if (state.flight === flight) end();
    }
  }

  function begin(after) {
    showButtons();
    further.hidden = true;
    before.hidden = !after;
    if (after) fill(before, "Follow-up to ", earlier.has(after) ? el("a", { href: earlier.get(after).address }, earlier.get(after).question) : "an earlier answer");
    said.textContent = "Searching for passages…";
    say("Asking.");
    fill(side);
    fill(evidence);
    fill(answer, el("p", { class: "waiting" }, el("span", { class: "caret" })));
    answer.setAttribute("aria-busy", "true");
  }

  function write(delta) {
    said.textContent = "Writing…";
    state.text += delta;
    if (!state.isDrawing) draw(state.flight);
  }

  /** Render what has been written with one request at a time; the latest text is always rendered. */
  async function draw(flight) {
    state.isDrawing = true;
    const { text } = state;
    const [nodes] = await answerNodes(text, [], {}, [], flight.signal).catch(() => [[text]]);
    state.isDrawing = false;
    if (state.flight !== flight || state.reply) return;
    fill(answer, nodes, el("span", { class: "caret" }));
    if (text !== state.text) draw(flight);
  }

  async function finish(flight, params, reply, milliseconds) {
    state.reply = reply;
    const [nodes, ...quotes] = await answerNodes(reply.answer, reply.citations, params, reply.citations.map(quoteOf), flight.signal);
    if (state.flight !== flight) return;
    said.textContent = `Answer ${MODES[reply.mode]} · ${duration(milliseconds / 1000)}`;
    fill(answer, notesOf({ ...reply, degraded: undefined }), reply.degraded && el("p", { class: "quiet why-not" }, withoutCommands(reply.degraded)), nodes);
    const question = reply.searched ?? params.q;
    const cited = citationList(reply.citations, quotes, question);
    const isWritten = reply.mode === "synthesized";
    fill(evidence, !isWritten && cited);
    fill(side, isWritten && cited, referenceList(reply.references, question));
    showFurther(params, reply);
    say(`Answered with ${reply.citations.length} citations.`);
    document.dispatchEvent(new CustomEvent("lore:freshness", { detail: reply.freshness }));
  }

  function fail(problem, retry) {
    state.asked = "";
    said.textContent = "";
    fill(answer, failure(problem, retry));
  }

  /** Show the field for a follow-up question and the button that saves the answer. */
  function showFurther(params, { id }) {
    const next = el("input", { id: "follow-up", maxlength: 2000, required: true, autocomplete: "off", placeholder: "Ask further: and how do I turn it off?" });
    const done = el("p", { class: "quiet", role: "status" });
    const saved = (file) => fill(done, "Saved as ", el("a", { href: paperLink("document", { file }) }, file), ".");
    earlier.set(id, { question: params.q, address: link("ask", "", params) });
    fill(further,
      el("form", { class: "ask-row", on: { submit: (event) => (event.preventDefault(), follow(next.value.trim(), id)) } },
        el("label", { class: "unseen", for: "follow-up" }, "Follow-up question"), next,
        el("button", { class: "button" }, "Follow up"),
        el("button", { type: "button", class: "button", on: { click: () => saveAnswer(id, params.q, saved) } }, "Save…")),
      done);
    further.hidden = false;
  }

  function follow(query, id) {
    if (query) go(link("ask", "", paramsOf(query, type.value, id)));
  }

  async function stop() {
    const { flight, text } = state;
    flight?.abort();
    said.textContent = "Stopped.";
    end();
    const [nodes] = text ? await answerNodes(text).catch(() => [[text]]) : [null];
    if (!state.flight) fill(answer, nodes);
  }

  function end() {
    state.flight = null;
    showButtons();
    answer.removeAttribute("aria-busy");
  }

  /** Show buttons to stop the answer in progress or to ask another question instead. */
  function showButtons() {
    const hadFocus = document.activeElement === stopButton;
    stopButton.hidden = !state.flight;
    button.hidden = isBeingAnswered();
    if (hadFocus && stopButton.hidden) button.focus();
  }

  const isBeingAnswered = () => state.flight !== null && state.asked.startsWith(key(input.value.trim(), type.value, ""));

  async function showRoute(route) {
    const { q = "", type: wanted = "all", after = "", cite } = route.params;
    if (!q && !input.value) input.value = lastRoute("search").params.q ?? "";
    if (q && state.asked !== key(q, wanted, after)) {
      input.value = q;
      type.value = wanted;
      await run(q, wanted, after);
    }
    if (cite) showCited(beside, Number(cite));
  }

  const beside = el("div", { class: "beside" }, el("div", {}, answer, evidence, further), side);
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

const paramsOf = (q, type, after) => ({ q, type: type === "all" ? "" : type, after });

const key = (query, type, after) => `${type} ${query}\n${after}`;
