// Insights: what was asked, what was not answered, and what to document next.

import { codes, count, el, fill, link, plural, sourceLink } from "../shared/base.js";
import { confirmed } from "../shared/confirm.js";
import { failure, note } from "../shared/parts.js";
import * as api from "../shared/server.js";
import { resource } from "../shared/server.js";

const OPERATIONS = { ask_knowledge_base: "answers", query_documents: "searches" };
const PERIODS = [7, 30, 90];
const ROWS = 20;
const LISTS = [
  ["unanswered", "Unanswered", "Every question was answered."],
  ["doubtful", "Doubtful", "No answer was doubtful."],
  ["frequent", "Frequent", "Nothing was asked twice."],
];
const NOTHING = "Nothing was asked yet.";
const EXPORT = "Mark results with ✓ and ✗ in Search and Ask. `lore insights --export DIR` writes the marks as a set for `lore eval`.";
const CLEAR = { title: "Delete the log of questions?", text: "All logged questions and all marks of this project are deleted. They cannot be restored.", button: "Delete the log", isDanger: true };

/** Return the view of `#/insights`. */
export function view() {
  const period = el("select", { id: "insights-days", on: { change: () => load() } }, PERIODS.map((days) => el("option", { value: days }, `${days} days`)));
  const said = el("p", { class: "said" });
  const body = el("div", { class: "insights-body" });
  period.value = "30";
  const found = resource({
    part: body,
    load: (_, signal) => api.insights({ days: period.value, limit: ROWS }, signal),
    show: draw,
    fail: (problem, again) => ((said.textContent = ""), fill(body, failure(problem, again))),
  });
  const load = () => found.ask();

  function draw(found) {
    said.textContent = `${count(found.questions)} questions and searches · ${count(found.right)} marked right, ${count(found.wrong)} wrong`;
    fill(body,
      !found.enabled && note("info", codes("Questions are not logged: `insights.log` is false.")),
      el("div", {},
        LISTS.map(([name, title, none]) => card(title, found[name].length ? questions(found[name]) : quiet(found.questions ? none : NOTHING))),
        card("Latency", found.latency.length ? latency(found.latency) : quiet(NOTHING)),
        card("Judged results", quiet(codes(EXPORT)))),
      card("Never found", files(found)));
  }

  async function clear() {
    if (!(await confirmed(CLEAR))) return;
    try {
      await api.clearInsights();
      await load();
    } catch (problem) {
      fill(body, failure(problem, clear));
    }
  }

  const content = [
    el("div", { class: "view-head" }, el("h1", {}, "Insights"),
      el("div", { class: "actions" }, el("label", { class: "quiet", for: "insights-days" }, "The last"), period,
        el("button", { type: "button", class: "button", on: { click: clear } }, "Delete the log…"))),
    said, body,
  ];
  return { content, title: () => "Insights", show: load };
}

const card = (title, ...content) => el("section", { class: "card" }, el("h2", {}, title), ...content);

const quiet = (...content) => el("p", { class: "quiet" }, ...content);

const questions = (rows) => el("ul", { class: "asked" }, rows.map(({ query, count: times, last }) => el("li", {},
  el("a", { href: link("ask", "", { q: query }) }, query),
  el("span", { class: "quiet figure", title: `Last asked ${last}` }, times > 1 && `${count(times)} ×`))));

function files({ files: { indexed, never_found: never, examples }, questions: asked }) {
  if (!asked || !never) return quiet(asked ? "Every file was found." : NOTHING);
  return [
    quiet(`${count(never)} of ${plural(indexed, "file")}, documents first`),
    el("ul", { class: "asked" }, examples.map((path) => el("li", {}, el("a", { class: "path", href: sourceLink(path) }, path)))),
  ];
}

function latency(rows) {
  const columns = ["calls", "p50", "p95", "p99"];
  return el("table", { class: "list" },
    el("caption", { class: "unseen" }, "Latency in milliseconds"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "milliseconds"), columns.map((name) => el("th", { scope: "col", class: "figure" }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", {},
      el("td", {}, OPERATIONS[row.operation] ?? row.operation),
      columns.map((name) => el("td", { class: "figure" }, count(Math.round(row[name]))))))));
}
