// The syntax of the search box: its help, the words to mark, and filters that a click adds.

import { el } from "../shared/dom.js";

const EXAMPLES = [
  ['"exact phrase"', "these words in this order"],
  ["-word", "without this word"],
  ["path:docs/**", "only these files"],
  ["lang:python", "only this language"],
  ["after:2025-01-31", "dated this day or later; before: for earlier"],
  ["-path:tests", "not these files"],
];
const FILTER = /(^|\s)-?(?:type|path|lang|after|before):(?:"[^"]*"|\S+)/g;
const PATH = /(^|\s)path:(?:"[^"]*"|\S+)/g;
const EXCLUDED = /(^|\s)-(?:"[^"]*"|\p{L}\S+)/gu;

/** Return a list of what the search box understands. */
export function syntaxHelp() {
  return el("dl", { class: "syntax" }, EXAMPLES.map(([example, meaning]) => [el("dt", {}, el("code", {}, example)), el("dd", {}, meaning)]));
}

/** Return a query without its filters and excluded words. */
export const wordsIn = (query) => query.replace(FILTER, " ").replace(EXCLUDED, " ");

/** Return the query with a filter for a folder or a file in place of its other paths. */
export function withPath(query, path) {
  const value = /[\s"]/.test(path) ? `"${path.replaceAll('"', '""')}"` : path;
  return `${query.replace(PATH, " ").replace(/\s+/g, " ").trim()} path:${value}`;
}
