// Ask: stream the answer and show its citations beside it.

import * as api from "./api.js";
import { withoutCommands } from "./advice.js";
import { answerText } from "./answer.js";
import { TYPES } from "./chips.js";
import { citationList, referenceList, showCited } from "./citations.js";
import { el, fill, say } from "./dom.js";
import { duration } from "./format.js";
import { failure, note, notesOf } from "./notes.js";
import { go, link } from "./route.js";

const MODES = { synthesized: "written by the answer model", extractive: "quoted from the sources", structural: "read from the class tree or the named document" };

/** Return the view of `#/ask?q=…&type=…&cite=…`. */
export function askView() {
  const input = el("input", { id: "question", class: "big-input", placeholder: "Ask: how, where, why …", maxlength: 2000, required: true, autocomplete: "off", on: { input: () => showButtons() } });
  const type = el("select", { id: "ask-type", on: { change: () => showButtons() } }, ["all", ...TYPES].map((one) => el("option", { value: one }, one === "all" ? "all types" : one)));
  const button = el("button", { class: "button primary big" }, "Ask");
  const stopButton = el("button", { type: "button", class: "button big", hidden: true, on: { click: stop } }, "Stop");
  const said = el("p", { class: "said" });
  const answer = el("div", { class: "answer", "aria-label": "Answer", role: "region", tabindex: "-1" });
  const side = el("aside", { class: "side", "aria-label": "Sources" });
  const state = { asked: "", flight: null, reply: null, text: "" };

  function submit(event) {
    event.preventDefault();
    const query = input.value.trim();
    if (!query || isBeingAnswered()) return;
    const fragment = link("ask", "", { q: query, type: type.value === "all" ? "" : type.value });
    if (fragment === location.hash) run(query, type.value);
    else go(fragment);
  }

  async function run(query, wanted) {
    state.flight?.abort();
    const flight = (state.flight = new AbortController());
    const started = performance.now();
    Object.assign(state, { asked: key(query, wanted), reply: null, text: "" });
    begin();
    try {
      for await (const { event, data } of api.ask({ query, type: wanted }, flight.signal)) {
        if (state.flight !== flight) return;
        if (event === "text") write(data);
        else if (event === "result") finish(data, performance.now() - started);
        else if (event === "problem") throw new api.Problem(data);
      }
      if (!state.reply) throw new api.Problem({ code: "NO_ANSWER", message: "The answer was interrupted." });
    } catch (problem) {
      if (state.flight === flight && problem.name !== "AbortError") fail(problem, () => run(query, wanted));
    } finally {
      if (state.flight === flight) end();
    }
  }

  function begin() {
    showButtons();
    said.textContent = "Searching for passages…";
    say("Asking.");
    fill(side);
    fill(answer, el("p", { class: "waiting" }, el("span", { class: "caret" })));
    answer.setAttribute("aria-busy", "true");
  }

  function write(delta) {
    said.textContent = "Writing…";
    if (!state.text) requestAnimationFrame(draw);
    else if (!state.isDrawing) requestAnimationFrame(draw);
    state.isDrawing = true;
    state.text += delta;
  }

  function draw() {
    state.isDrawing = false;
    if (!state.reply && state.text) fill(answer, answerText(state.text, []), el("span", { class: "caret" }));
  }

  function finish(reply, milliseconds) {
    state.reply = reply;
    said.textContent = `Answer ${MODES[reply.mode]} · ${duration(milliseconds / 1000)}`;
    const notes = [reply.degraded && note("info", withoutCommands(reply.degraded)), notesOf({ ...reply, degraded: undefined })];
    fill(answer, notes, answerText(reply.answer, reply.citations));
    fill(side, citationList(reply.citations), referenceList(reply.references));
    say(`Answered with ${reply.citations.length} citations.`);
    document.dispatchEvent(new CustomEvent("lore:freshness", { detail: reply.freshness }));
  }

  function fail(problem, retry) {
    state.asked = "";
    said.textContent = "";
    fill(answer, failure(problem, retry));
  }

  function stop() {
    state.flight?.abort();
    said.textContent = "Stopped.";
    fill(answer, state.text ? answerText(state.text, []) : null);
    end();
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

  const isBeingAnswered = () => state.flight !== null && state.asked === key(input.value.trim(), type.value);

  async function showRoute(route) {
    const { q = "", type: wanted = "all", cite } = route.params;
    if (q && state.asked !== key(q, wanted)) {
      input.value = q;
      type.value = wanted;
      await run(q, wanted);
    }
    if (cite) showCited(side, Number(cite));
  }

  const content = [
    el("h1", { class: "unseen" }, "Ask"),
    el("form", { class: "ask-row", on: { submit } },
      el("label", { class: "unseen", for: "question" }, "Question"), input,
      el("label", { class: "unseen", for: "ask-type" }, "Answer from"), type, button, stopButton),
    said,
    el("div", { class: "beside" }, answer, side),
  ];
  return { content, title: (route) => route.params.q || "Ask", show: showRoute, field: input };
}

const key = (query, type) => `${type} ${query}`;
