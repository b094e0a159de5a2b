// The filters of a search: types, the syntax of the box with its completion, and what narrows the results.

import { askedBefore, count, currentDay, el, fill, HEALTH, plural, sum, TYPES } from "../shared/base.js";
import { known } from "../shared/server.js";

// The type filter: check boxes that look like chips, with the number of indexed passages or of files found.

const ALL = "all";

/** Create a row of chips; `changed` is called when the chosen types change. */
export function typeChips(name, changed) {
  const row = el("div", { class: "chips-row" });
  const element = el("fieldset", { class: "chips" }, el("legend", { class: "unseen" }, "Only these types"), row);
  let chosen = [];
  let matching = null;
  let chips = new Map();

  function show() {
    chips = new Map([ALL, ...present(chosen)].map((type) => [type, chip(name, type)]));
    fill(row, [...chips.values()].map(({ label }) => label));
    update();
  }

  function update() {
    const figures = matching ?? counts();
    for (const [type, { label, input, figure }] of chips) {
      const number = type === ALL ? sum(figures) : (figures[type] ?? 0);
      input.checked = type === ALL ? !chosen.length : chosen.includes(type);
      figure.textContent = number || matching ? count(number) : "";
      label.title = number ? (matching ? `${plural(number, "file")} found` : plural(number, "passage")) : "";
      label.classList.toggle("none", !number);
    }
  }

  row.addEventListener("change", ({ target }) => {
    const { value, checked } = target;
    if (value === ALL) chosen = [];
    else chosen = TYPES.filter((type) => (type === value ? checked : chosen.includes(type)));
    update();
    changed();
  });
  HEALTH.hear(() => show());
  show();
  return {
    element,
    get types() {
      return chosen;
    },
    choose(types) {
      chosen = TYPES.filter((type) => types.includes(type));
      show();
    },
    /** Show the number of files found of each type; with null, the number of indexed passages. */
    showMatching(facets) {
      matching = facets && Object.fromEntries(facets.map(({ type, files }) => [type, files]));
      update();
    },
  };
}

const counts = () => known.health?.counts ?? {};

function present(chosen) {
  const found = counts();
  const types = Object.keys(found).length ? TYPES.filter((type) => found[type] || chosen.includes(type)) : [...TYPES];
  return types.sort((left, right) => (found[right] ?? 0) - (found[left] ?? 0));
}

function chip(name, type) {
  const input = el("input", { type: "checkbox", name, value: type });
  const figure = el("small", {});
  return { label: el("label", { class: "chip" }, input, el("span", {}, type, figure)), input, figure };
}

// The syntax of the search box: its help, the words to mark, and filters that a click adds.

const EXAMPLES = [
  ['"exact phrase"', "these words in this order"],
  ["-word", "without this word"],
  ["path:docs/**", "only these files"],
  ["lang:python", "only this language"],
  ["after:2025-01-31", "dated this day or later; before: for earlier"],
  ["-path:tests", "not these files"],
];
const AGES = [["today", 0], ["this week", 6], ["this month", 30], ["this year", 365]];
const EARLIER = 8;
const FOLDERS = 6;
const SUFFIXES = 3;
const FILTER = /(^|\s)-?(?:type|path|lang|after|before):(?:"[^"]*"|\S+)/g;
const EXCLUDED = /(^|\s)-(?:"[^"]*"|\p{L}\S+)/gu;

/** Return a list of what the search box understands. */
export function syntaxHelp() {
  return el("dl", { class: "syntax" }, EXAMPLES.map(([example, meaning]) => [el("dt", {}, el("code", {}, example)), el("dd", {}, meaning)]));
}

/** Return a query without its filters and excluded words. */
export const wordsIn = (query) => query.replace(FILTER, " ").replace(EXCLUDED, " ");

/** Return the query with another value of a filter, or without it. */
export function withFilter(query, name, value) {
  const rest = query.replace(new RegExp(`(^|\\s)${name}:(?:"[^"]*"|\\S+)`, "g"), " ").replace(/\s+/g, " ").trim();
  const quoted = /[\s"]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  return value ? `${rest} ${name}:${quoted}` : rest;
}

/** Return the queries that complete the filter at the end of a query, or earlier queries that begin like it. */
export function completions(query, folders) {
  const [, before, name, begun] = query.match(/^(.*?)(?<=^|\s|-)(type|path|lang|after|before):(\S*)$/) ?? [];
  if (!name) return askedBefore("search").filter((asked) => asked !== query && asked.startsWith(query)).slice(0, EARLIER);
  const values = { type: TYPES, path: folders, lang: languages(), after: AGES.map(([, days]) => currentDay(days)), before: AGES.map(([, days]) => currentDay(days)) }[name];
  return values.filter((value) => value.startsWith(begun) && value !== begun).map((value) => `${before}${name}:${value}`);
}

const languages = () => [...new Set((known.health?.inventory?.found ?? []).map(({ language }) => language.toLowerCase()))].filter((name) => !name.includes(" "));

/** Return the filters that narrow a reply, with the number of files that each selects: folders, languages and ages. */
export function narrowing({ facets, results }, query, narrow) {
  const button = (name, value, text, figure) => el("button", { type: "button", class: "folder", title: `Only ${value}`, on: { click: () => narrow(name, value) } }, text, el("small", {}, count(figure)));
  const since = query.match(/(?:^|\s)after:(\S+)/)?.[1] ?? "";
  const age = el("select", { class: "age", "aria-label": "Age", on: { change: ({ target }) => narrow("after", target.value) } },
    [["any age", ""], ...facets.ages.map(({ after, files }, at) => [`${AGES[at][0]}${since > after ? "" : ` (${count(files)})`}`, after])].map(([name, value]) => el("option", { value, selected: value === since }, name)));
  if (!results.length && !since) return [];
  return [
    facets.folders.length > 1 && facets.folders.slice(0, FOLDERS).map(({ path, files }) => button("path", path, path.replace(/^\/|\/\*\*$/g, ""), files)),
    facets.langs.length > 1 && facets.langs.slice(0, SUFFIXES).map(({ lang, files }) => button("lang", lang, `.${lang}`, files)),
    age,
  ];
}
