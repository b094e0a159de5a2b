// Mark the words of a query in a text, with text nodes and <mark>, never with markup.

import { el } from "./dom.js";
import { stem } from "./stem.js";

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const HUMP = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+/gu; // retryPolicy, HTTPServer, base64
const SPACELESS = /[\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]/u;
const SHORTEST_PREFIX = 4; // letters; shorter words are not matched as prefixes
const SEGMENTS = new Intl.Segmenter(undefined, { granularity: "word" });
const PLAIN = new Set(
  "a an and are as at be by can could did do does for from had has have how i if in is it its me my no not of on or our should so that the their then there these they this to was we were what when where which who why will with would you your".split(" "),
);

/** Return the words of a question to mark, in all their forms. */
export function wordsOf(query) {
  const words = (query.match(WORD) ?? []).flatMap((word) => (SPACELESS.test(word) ? segments(word).map(({ segment }) => segment) : [word, ...humps(word).map(([part]) => part)]));
  const telling = words.map(folded).filter((word) => !PLAIN.has(word) && (word.length > 1 || /[^a-z]/.test(word)));
  const stems = new Set(telling.map(stem));
  const prefixes = telling.filter((word) => word.length >= SHORTEST_PREFIX);
  const isForm = (word) => stems.has(stem(folded(word)));
  const isWanted = (word) => isForm(word) || prefixes.some((prefix) => folded(word).startsWith(prefix));
  return (text) => [...text.matchAll(WORD)].flatMap(({ 0: word, index }) => moved(SPACELESS.test(word) ? spaceless(word, telling) : formsIn(word, isForm, isWanted), index));
}

/** Return the text to mark for a search inside words: the query itself, at any position. */
export function partsOf(query) {
  const parts = query.split(/\s+/).filter(Boolean).map((part) => part.normalize("NFC").replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = parts.length ? new RegExp(parts.sort((left, right) => right.length - left.length).join("|"), "giu") : /(?!)/g;
  return (text) => [...text.matchAll(pattern)].map(({ 0: part, index }) => [index, index + part.length]);
}

/** Return the text as nodes, with the matches of `wanted` in <mark>. */
export function marked(text, wanted) {
  const nodes = [];
  let last = 0;
  for (const [start, end] of wanted(text)) {
    nodes.push(text.slice(last, start), el("mark", {}, text.slice(start, end)));
    last = end;
  }
  return [...nodes, text.slice(last)];
}

/** Match the whole word, its parts (`retry` finds `retryPolicy`), or words that begin with the typed text. */
function formsIn(word, isForm, isWanted) {
  const parts = isForm(word) ? [] : humps(word).filter(([part]) => isWanted(part));
  if (parts.length) return parts.map(({ 0: part, index }) => [index, index + part.length]);
  return isWanted(word) ? [[0, word.length]] : [];
}

/** Return the positions of these words in a text without spaces. */
function spaceless(run, words) {
  const found = [];
  for (const { index } of segments(run)) {
    const length = Math.max(0, ...words.filter((word) => folded(run.slice(index, index + word.length)) === word).map((word) => word.length));
    if (length && index >= (found.at(-1)?.[1] ?? 0)) found.push([index, index + length]);
  }
  return found;
}

const segments = (run) => [...SEGMENTS.segment(run)];
const moved = (spans, by) => spans.map(([start, end]) => [start + by, end + by]);
const folded = (word) => word.normalize("NFC").toLowerCase();

function humps(word) {
  const parts = [...word.matchAll(HUMP)];
  return parts.length > 1 ? parts : [];
}
