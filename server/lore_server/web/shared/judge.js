// A person's marks: whether a file answers a question. They become a judged set for `lore eval`.

import * as api from "./api.js";
import { el, say } from "./dom.js";
import { token } from "./project.js";

const VERDICTS = [["right", "✓", "answers the question"], ["wrong", "✗", "does not answer the question"]];
const known = new Map();
let loading = null;

/** Return two buttons that mark a file as right or wrong for a question; the pressed one removes its mark. */
export function judgeButtons(query, source) {
  const key = JSON.stringify([query, source]);
  const buttons = VERDICTS.map(([verdict, sign, meaning]) => el("button", {
    type: "button", class: `judge ${verdict}`, title: `This file ${meaning}`, "aria-label": `${source} ${meaning}`, "aria-pressed": "false",
    on: { click: () => toggle(verdict) },
  }, sign));

  function show() {
    for (const [at, [verdict]] of VERDICTS.entries()) buttons[at].setAttribute("aria-pressed", String(known.get(key) === verdict));
  }

  async function toggle(verdict) {
    const wanted = known.get(key) === verdict ? "none" : verdict;
    try {
      await api.mark({ query, source, verdict: wanted });
      known.set(key, wanted);
      say(wanted === "none" ? "The mark was removed." : `Marked as ${wanted}.`);
    } catch (problem) {
      say(problem.message);
      for (const button of buttons) button.title = problem.message;
    }
    show();
  }

  load().then(show);
  show();
  return el("span", { class: "judging", role: "group", "aria-label": "Does this file answer the question?" }, buttons);
}

/** Load the marks of earlier visits once, if the page has the token that this needs. */
function load() {
  loading ??= token() ? api.marks().then(remember, () => {}) : Promise.resolve();
  return loading;
}

function remember({ marks }) {
  for (const { query, source, verdict } of marks) known.set(JSON.stringify([query, source]), verdict);
}
