// The words of a question, marked in a text: by text nodes and <mark>, never by markup.

import { el } from "./dom.js";

const WORD = /[\p{L}\p{N}]+/gu;
const STEM = 5; // as the server matches excerpts: words of the same beginning are the same word
const PLAIN = new Set(
  "a an and are as at be by can do does for from has have how i if in is it its me my no not of on or our so that the their then there this to was we what when where which who why will with you".split(" "),
);

/** What to look for: the beginnings of the words that mean something. */
export function stems(query) {
  const words = (query.match(WORD) ?? []).map((word) => word.toLowerCase());
  const telling = words.filter((word) => !PLAIN.has(word) && (word.length > 1 || /\d/.test(word)));
  return new Set(telling.map((word) => word.slice(0, STEM)));
}

/** The text as nodes, words with these stems marked. */
export function marked(text, wanted) {
  const nodes = [];
  let last = 0;
  for (const match of text.matchAll(WORD)) {
    if (!wanted.has(match[0].toLowerCase().slice(0, STEM))) continue;
    nodes.push(text.slice(last, match.index), el("mark", {}, match[0]));
    last = match.index + match[0].length;
  }
  return [...nodes, text.slice(last)];
}
