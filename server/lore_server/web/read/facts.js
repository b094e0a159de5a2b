// What the front matter of a file says: the state, people and dates of a ticket, and everything else as a table.

import { el, timeOf } from "../shared/base.js";

const PEOPLE = [["by", ["author", "creator", "reporter", "user"]], ["assigned to", ["assignees", "assignee"]], ["reviewed by", ["reviewers"]]];
const DATES = [["opened", ["createdAt", "created", "date"]], ["updated", ["updatedAt", "updated"]], ["closed", ["closedAt", "mergedAt", "closed"]]];
const NUMBERS = ["id", "number", "iid"];
const LABELS = ["labels", "tags", "keywords"];
const SHOWN = new Set(["title", "state", "url", ...NUMBERS, ...LABELS, ...[...PEOPLE, ...DATES].flatMap(([, keys]) => keys)]);

/** Return the line of a ticket: number, state, labels, people and dates. */
export function ticketLine(front, path) {
  const number = first(front, NUMBERS)?.[0] ?? path.match(/(\d+)\.\w+$/)?.[1];
  const state = textsOf(front.state)[0]?.toLowerCase();
  return el("p", { class: "where ticket-head" },
    number && el("strong", {}, `#${number}`),
    state && el("span", { class: `state is-${state === "open" || state === "opened" ? "open" : "closed"}` }, state),
    first(front, LABELS)?.map((label) => el("span", { class: "type" }, label)),
    PEOPLE.map(([role, keys]) => first(front, keys) && el("span", {}, `${role} ${first(front, keys).join(", ")}`)),
    DATES.map(([what, keys]) => first(front, keys) && el("span", {}, `${what} `, timeOf(first(front, keys)[0]))),
    /^https?:\/\//.test(front.url ?? "") && el("a", { href: front.url, class: "outside", target: "_blank", rel: "noopener noreferrer" }, "in the tracker"));
}

/** Return the front matter as a table; of a ticket, what its line does not say. */
export function frontTable(front, isTicket) {
  const rows = Object.entries(front).filter(([key, value]) => textsOf(value).length && !(isTicket ? SHOWN.has(key) : key === "title"));
  if (!rows.length) return null;
  const table = el("table", { class: "front" },
    el("caption", { class: "unseen" }, "Front matter"),
    el("tbody", {}, rows.map(([key, value]) => el("tr", {}, el("th", { scope: "row" }, key), el("td", {}, textsOf(value).join(", "))))));
  return isTicket ? el("details", { class: "similar" }, el("summary", {}, "More front matter"), table) : table;
}

/** Show the heading of a comment, "@name - date", as its author and age. */
export function showAuthors(article) {
  for (const heading of article.querySelectorAll("h3, h4, h5, h6")) {
    const [, name, date] = heading.textContent.match(/^@(\S+) - (\d{4}-\d\d-\d\dT\S+)$/) ?? [];
    if (name) heading.replaceChildren(name, " ", el("span", { class: "quiet" }, timeOf(date)));
  }
}

const first = (front, keys) => keys.map((key) => textsOf(front[key])).find((texts) => texts.length);

/** Return the texts in a value: it is a text, a list or a mapping. */
function textsOf(value) {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (value && typeof value === "object") return textsOf(value.login ?? value.name ?? Object.entries(value).map(([key, inner]) => `${key}: ${textsOf(inner).join(", ")}`));
  return value ? [String(value)] : [];
}
