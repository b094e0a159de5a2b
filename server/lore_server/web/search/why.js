// The explanation of a score: its terms as bars, loaded on demand.

import { el, fill } from "../shared/base.js";
import { failure } from "../shared/parts.js";
import { search } from "../shared/server.js";

const explained = new Map(); // one request explains all results of a page

/** Show the terms of the score of a result, and the time of each step of the search. */
export async function showWhy(panel, result, asking) {
  fill(panel, el("p", { class: "quiet" }, "Explaining…"));
  try {
    const { terms, timings } = await explain(asking);
    fill(panel, terms.has(result.id) ? [bars(terms.get(result.id), result.score), timings && steps(timings)] : el("p", { class: "quiet" }, "The index has changed. Search again."));
  } catch (problem) {
    fill(panel, failure(problem));
  }
}

function explain(asking) {
  const key = JSON.stringify(asking);
  if (!explained.has(key)) {
    const found = search({ ...asking, explain: true, max_tokens: 4 * asking.max_tokens });
    const reply = found.then(({ results, timings }) =>
      ({ terms: new Map(results.map((result) => [result.id, result.why])), timings }));
    reply.catch(() => explained.delete(key));
    explained.clear();
    explained.set(key, reply);
  }
  return explained.get(key);
}

function bars(terms, score) {
  const most = Math.max(...terms.map(({ value }) => Math.abs(value)), 1e-9);
  return el(
    "table",
    { class: "bars" },
    el("caption", { class: "unseen" }, "Terms of the score"),
    el("tbody", {}, terms.map(({ term, value }) => el("tr", {},
      el("th", { scope: "row" }, spaced(term)),
      el("td", {}, el("span", { class: value < 0 ? "bar minus" : "bar", style: { "--share": String(Math.abs(value) / most) } })),
      el("td", { class: "figure" }, `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`)))),
    el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "score"), el("td"), el("td", { class: "figure" }, score.toFixed(1)))),
  );
}

/** Create a line with the time of the search and of each step. */
function steps(timings) {
  const total = Object.values(timings).reduce((sum, taken) => sum + taken, 0);
  const parts = Object.entries(timings).map(([step, taken]) => `${step} ${taken.toFixed(1)}`);
  return el("p", { class: "quiet steps" }, `The search took ${total.toFixed(1)} ms: ${parts.join(", ")}.`);
}

/** intentMatch -> intent match */
const spaced = (term) => term.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
