// What is new, for a first look in the morning: changes since yesterday, questions without an answer, and pinned questions.

import { askedBefore, count, currentDay, el, link, pinned, setPin, sourceLink, timeOf } from "../shared/base.js";
import { loadHistory } from "../shared/paper.js";
import { changeLink } from "../shared/parts.js";
import * as api from "../shared/server.js";
import { known } from "../shared/server.js";

const ROWS = 6;
const UNLOGGED = { brief: true, explain: true }; // an explained search is not logged as a question
const DAYS = 7;

/** Return what the server tells; a part that cannot be loaded is left out. */
export function newsCards(signal) {
  const asked = [changedFiles(signal), written(signal), unanswered(signal), checkedPins(signal)];
  return Promise.all([...recent(), ...asked.map((card) => card.catch(() => null))]);
}

/** Return what this browser asked last. */
function recent() {
  const rows = [["search", "Searches"], ["ask", "Questions"]].map(([view, name]) => [name, askedBefore(view).slice(0, ROWS).map((query) => el("li", {}, el("a", { href: link(view, "", { q: query }) }, query)))]);
  return rows.map(([name, items]) => card(`Your last ${name.toLowerCase()}`, items));
}

/** Return the documents and tickets with a date since yesterday, and what the last build changed. */
async function changedFiles(signal) {
  const { results } = await api.search({ query: `changed updated new after:${currentDay(1)}`, limit: ROWS, ...UNLOGGED, max_tokens: 3000 }, signal);
  return card("Dated since yesterday", results.map(({ source, title, type, state }) => el("li", {}, el("a", { href: sourceLink(source) }, title), el("span", { class: "type" }, state ? `${type}, ${state}` : type))));
}

/** Return what agents and people wrote since yesterday. */
async function written(signal) {
  if (!known.written) return null;
  const { commits } = await loadHistory({ everything: true, limit: 20 }, signal);
  const since = currentDay(1);
  return card("Written by agents since yesterday", commits.filter(({ date }) => date >= since).slice(0, ROWS).map((commit) => el("li", {},
    el("a", { href: changeLink({}, commit.id) }, commit.message.split("\n")[0].replace(/^Update knowledge for [^:]+: /, "")), el("span", { class: "quiet" }, commit.author, " ", timeOf(commit.date)))));
}

/** Return the questions of this week that found nothing, or nothing close. */
async function unanswered(signal) {
  const { unanswered: none, doubtful } = await api.insights({ days: DAYS, limit: ROWS }, signal);
  return card("Questions without an answer", [...none, ...doubtful].slice(0, ROWS).map(({ query, count: times }) => el("li", {},
    el("a", { href: link("ask", "", { q: query }) }, query), times > 1 && el("span", { class: "quiet" }, `${count(times)} ×`))));
}

/** Return the pinned questions, and whether their best source is still the same. */
async function checkedPins(signal) {
  const rows = await Promise.all(pinned().map(async ({ query, source }) => {
    const { results: [best], doubt } = await api.search({ query, limit: 1, ...UNLOGGED, max_tokens: 1000 }, signal);
    const state = !best || doubt ? "no close source" : best.source === source ? "same source" : `now ${best.source}`;
    const drop = el("button", { type: "button", class: "quiet-button", "aria-label": `Unpin ${query}`, on: { click: () => (setPin(query, null), row.remove()) } }, "Unpin");
    const row = el("li", {}, el("a", { href: link("ask", "", { q: query }) }, query), el("span", { class: state === "same source" ? "quiet" : "mark" }, state), drop);
    return row;
  }));
  return card("Pinned questions", rows);
}

const card = (title, rows) => rows.length > 0 && el("section", {}, el("h2", {}, title), el("ul", {}, rows));
