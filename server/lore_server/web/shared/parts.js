// What several views show: advice and notes, links to documents, rendered text, marked words, judgements.

import { advice, codes, count, editorLink, el, fill, go, link, plural, say, STATE, token } from "./base.js";
import * as api from "./server.js";
import { currentJob, known as state, startSync } from "./server.js";

const SYNCED = new Set(["INDEX_DAMAGED", "CATALOGUE_DAMAGED", "MODEL_MISMATCH", "CANCELLED"]);

const SUGGESTED = { DOCUMENT_NOT_FOUND: "source", CLASS_NOT_FOUND: "classes" }; // the view of the names in a suggestion

/** Return the contract's advice for readers of the page. */
export const adviceOf = ({ code }) => advice[code] ?? "Try again. If that does not help, look at Health.";

/** Return the server's "Did you mean" suggestion if it has one, with files and classes as links. */
function suggestionOf({ code, hint = "" }) {
  const [, names] = hint.match(/^Did you mean (.+)\?$/) ?? [];
  if (!names) return null;
  const view = SUGGESTED[code];
  const parts = view ? names.split(", ").map((name, at) => [at > 0 && ", ", el("a", { href: link(view, name) }, name)]) : codes(names);
  return ["Did you mean ", parts, "? "];
}

// Notes about results: doubtful or degraded replies, a stale or partial index, and failures.

/** Create a note; `kind` is info, warn or bad. */
export function note(kind, ...children) {
  return el("p", { class: `note ${kind}` }, ...children);
}

/** Return the notes of a reply. */
export const notesOf = ({ doubt, degraded }) => [doubt && note("warn", codes(doubt)), degraded && note("warn", `Degraded: ${degraded}`)];

/** Create the note about a stale or partial index, which always agrees with the pill in the top bar. */
export function freshnessNote() {
  const place = el("div", { class: "notes", hidden: true });
  const show = () => fill(place, noteOn(state.freshness));
  STATE.hear(show);
  show();
  return place;
}

function noteOn(fresh) {
  const lead = (name) => el("a", { href: link("index") }, name);
  if (fresh?.state === "stale") return note("warn", staleness(fresh), " ", lead("Sync"));
  return fresh?.state === "partial" && note("warn", partiality(fresh), " ", lead("See the index"));
}

/** Show a failure with advice, and a button if the page can perform the remedy. */
export function failure(problem, retry, advice = adviceOf(problem)) {
  if (problem.code === "INDEX_MISSING") return emptyIndex(problem);
  return el(
    "div",
    { class: "note bad failure", role: "alert" },
    el("strong", {}, codes(problem.message || "Something went wrong in the page.")),
    el("p", {}, suggestionOf(problem), codes(advice)),
    el("p", { class: "quiet" }, el("code", {}, problem.code ?? problem.name), problem.trace && [" · trace ", el("code", {}, problem.trace)]),
    SYNCED.has(problem.code) && actionButton("Sync", syncHere),
    problem.code === "SYNC_GUARD" && actionButton("Sync and delete them", () => startSync({ allow_mass_delete: true }), "danger"),
    retry && actionButton("Try again", retry),
  );
}

const actionButton = (name, click, kind = "") => el("button", { type: "button", class: `button ${kind}`, on: { click } }, name);

/** Show the index and start a sync there. */
function syncHere() {
  go(link("index"));
  startSync();
}

/** Show the state before the first sync, or how far it is. */
export function emptyIndex(problem) {
  const job = currentJob()?.state === "running" ? currentJob() : null;
  const reason = problem?.code === "INDEX_MISSING" && !/no index|is empty/i.test(problem.message) ? problem.message
    : "The first sync reads all files of the project. Later ones read only changed files.";
  return el(
    "div",
    { class: "empty" },
    el("h2", {}, job ? `The ${job.action} is running` : "Nothing is indexed yet"),
    el("p", {}, job ? stepOf(job) : reason),
    !job && el("button", { type: "button", class: "button primary big", on: { click: syncHere } }, "Sync the project"),
  );
}

const stepOf = ({ stage = "starting", done, total }) => [
  `${stage[0].toUpperCase()}${stage.slice(1)}${total ? `: ${count(done)} of ${count(total)}` : ""}. This view continues when it is done. `,
  el("a", { href: link("index") }, "Watch it"),
];

const staleness = (fresh) => `${fresh.changed_files ? plural(fresh.changed_files, "file") : "Files"} changed since the last sync.`;

function partiality(fresh) {
  if (fresh.job) return "The index is being updated.";
  if (!fresh.pending_vectors) return "The last sync did not finish.";
  return `Only keyword search finds ${plural(fresh.pending_vectors, "chunk")} so far.`;
}

// The links to a paper, {project, file}: a knowledge document or, without a file, the main document of a project.

/** Return a link to a paper in a knowledge view. */
export const paperLink = (view, { project, file }, more = {}) => link(`knowledge/${view}`, "", { project, file, ...more });

/** Return a link to a history entry: of a document, of the main document (`main`), or of the project. */
export const changeLink = ({ project, file, main }, commit) => link("knowledge/change", "", { project, file, main, commit });

/** Return a link to the indexed file of this project's knowledge, under `@lore/`; null for other files. */
export function writtenLink(source) {
  if (source === "@lore/main.md") return paperLink("document", {});
  const [, file] = source.match(/^@lore\/knowledge\/([^/]+)$/) ?? [];
  return file ? paperLink("document", { file }) : null;
}

// What every view says about a file: where to edit it, and whether it has changed.

export const CODE = new Set(["src", "example", "test"]);

/** Return a link for editing a file: in the editor, or in this page for knowledge; otherwise nothing. */
export function editorAnchor(source, line) {
  const written = writtenLink(source);
  const href = written ?? editorLink(source, line);
  return href && el("a", { class: "editor", href, title: "Open for editing (e)" }, written ? "Open in Knowledge" : "Open in editor");
}

/** Return a mark for a file that has changed since it was indexed. */
export function changedMark() {
  return el("span", { class: "changed", title: "The file was changed or deleted since the last sync" }, "changed");
}

// Whether a document is outdated, according to the server and its metadata, and whether it is a file of the project.

const ORIGINS = { tracker: "pulled ticket", library: "library documentation", agent: "written by an agent", memory: "memory of an agent" };

/** Return marks for a row of a list, a result or a citation. */
export function standingMarks({ outdated = {}, valid_until, origin }) {
  return [
    ORIGINS[origin] && el("span", { class: "mark origin" }, ORIGINS[origin]),
    outdated.superseded_by && el("span", { class: "mark", title: `Superseded by ${outdated.superseded_by}` }, "superseded"),
    outdated.valid_until && el("span", { class: "mark" }, `expired: valid until ${outdated.valid_until}`),
    valid_until && !outdated.valid_until && el("span", {}, `valid until ${valid_until}`),
  ];
}

// Render the server's elements as nodes, with links that have a valid target.

/** Return whether a file is Markdown by its name, as for the server. */
export const isMarkdown = (path) => /\.(md|mdx|markdown|rmd|qmd|cursorrules|mdc)$/i.test(path);

/** Return the nodes of rendered elements; `placeOf(path, chapter)` returns the address of a relative link in this page, or null. */
export function nodesOf(elements, placeOf) {
  const nodes = elements.map((element) => nodeOf(element, placeOf));
  markHeadings(nodes);
  return nodes;
}

/** Return the nodes of parts of files, {text, path}: Markdown (also without a path), or code in colour, without its common indentation. */
export async function nodesOfParts(parts, signal) {
  if (!parts.length) return [];
  const rendered = await api.renderedParts(parts.map(({ text, path }) => ({ text: path && !isMarkdown(path) ? dedented(text) : text, path })), signal);
  return rendered.parts.map((elements, at) => nodesOf(elements, placesIn(parts[at].path)));
}

function dedented(text) {
  const lines = text.split("\n").filter((line) => line.trim() && line !== "…"); // it stands for omitted lines
  const [common = "", ...others] = lines.map((line) => line.match(/^\s*/)[0]).sort((left, right) => left.length - right.length);
  return others.every((indent) => indent.startsWith(common)) ? text.replaceAll(new RegExp(`^${common}`, "gm"), "") : text;
}

/** Return where the links of a file lead: a chapter, a file beside it, or lines of one (`#L12`). */
export function placesIn(source) {
  return (path, chapter) => {
    const [, line] = chapter?.match(/^L(\d+)/) ?? [];
    const base = `http://file/${source.split("/").map(encodeURIComponent).join("/")}`;
    const target = path ? decodeURIComponent(new URL(encodeURI(path), base).pathname).slice(1) : source;
    return target ? link("source", target, line ? { line } : { chapter }) : null;
  };
}

/** Return the anchor of a heading, in the format of code hosts. */
export function anchorOf(title) {
  return title.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]+/gu, "").replace(/\s/g, "-");
}

/** Return the headings below a node. */
export const headingsIn = (node) => [...node.querySelectorAll("[data-anchor]")];

/** Replace the text nodes below a node, outside code blocks if `isProse`, by what `nodesFor(text)` returns. */
export function replaceTexts(node, nodesFor, isProse = false) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) if (!(isProse && text.parentElement.closest("code, a"))) text.replaceWith(...nodesFor(text.data));
}

function nodeOf(element, placeOf) {
  if (typeof element === "string") return document.createTextNode(element);
  const [tag, props, ...children] = element;
  const inner = children.map((child) => nodeOf(child, placeOf));
  if (tag === "a") return anchor(props.href, inner, placeOf);
  if (tag === "table") return el("div", { class: "wide", tabindex: "0", "data-line": props["data-line"] }, el("table", {}, inner));
  return el(tag, tag === "pre" ? { ...props, tabindex: "0" } : props, inner);
}

function anchor(href, inner, placeOf) {
  if (/^(https?|mailto):/i.test(href)) return el("a", { href, class: "outside", target: "_blank", rel: "noopener noreferrer" }, inner);
  const [path, chapter] = decoded(href).split("#");
  const to = placeOf(path, chapter);
  return to ? el("a", { href: to }, inner) : el("span", { class: "nowhere", title: `${href} is not in this project's knowledge` }, inner);
}

function decoded(href) {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}

function markHeadings(nodes) {
  const seen = new Map();
  for (const node of nodes.filter((candidate) => /^h\d$/.test(candidate.localName ?? ""))) {
    const name = anchorOf(node.textContent);
    const times = seen.get(name) ?? 0;
    seen.set(name, times + 1);
    node.dataset.anchor = times ? `${name}-${times}` : name;
  }
}

// Stem English words with the main rules of the keyword index's stemmer, enough to recognize
// two forms of the same word. https://snowballstem.org/algorithms/english/stemmer.html

const PLAIN_WORD = /^[a-z]{3,}$/;
const SHORT_WORD = /^(?:[^aeiouy]*[aeiouy][^aeiouywx]|[aeiouy][^aeiouy])$/; // hop, us: hoping and using end in e
const LONG_ENDINGS = /(?:ement|ance|ence|able|ible|ment|ant|ent|ism|ate|iti|ous|ive|ize|al|er|ic|(?<=[st])ion)$/;

/** Return the stem of a lower-case word; short words and words with letters other than a to z stay unchanged. */
export function stem(word) {
  if (!PLAIN_WORD.test(word)) return word;
  const plain = withoutTense(withoutPlural(word)).replace(/(.[^aeiou])y$/, "$1i");
  const short = plain.replace(/(?<=[aeiouy][^aeiouy].*)(?:ational|ation|ator)$/, "ate").replace(/(ful|ous|ive)ness$/, "$1").replace(/(?<=.[cdeghkmnrt])li$/, "");
  const whole = withoutLong(short);
  const bare = whole.replace(/e$/, "");
  return (SHORT_WORD.test(bare) ? whole : bare).replace(/([b-df-hj-np-t])\1$/, "$1");
}

function withoutPlural(word) {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (/ie[sd]$/.test(word)) return word.slice(0, word.length > 4 ? -2 : -1);
  return /[aeiouy].+s$/.test(word) && !/(us|ss)$/.test(word) ? word.slice(0, -1) : word;
}

function withoutTense(word) {
  const rest = word.replace(/(?:ing|(?<!e)ed)(?:ly)?$/, "");
  if (rest === word || !/[aeiouy]/.test(rest)) return word;
  return /(?:at|bl|iz)$/.test(rest) || SHORT_WORD.test(rest) ? `${rest}e` : rest;
}

/** Return whether an ending may be removed: two groups of vowels remain, each followed by a consonant. */
function withoutLong(word) {
  const [region = ""] = word.match(/(?<=^[^aeiouy]*[aeiouy]+[^aeiouy]+[aeiouy]+[^aeiouy]).*$/) ?? [];
  const [ending = ""] = region.match(LONG_ENDINGS) ?? [];
  return word.slice(0, word.length - ending.length);
}

// Mark the words of a query in a text, with text nodes and <mark>, never with markup.

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

// A person's marks: whether a file answers a question. They become a judged set for `lore eval`.

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

// Move from a search field into its list with the keyboard.

/** Move between the titles of a list with the arrow keys; above the first is the field, below the last what `after()` returns. */
export function alongList(event, titles, field, after = () => null) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || event.target.closest(".why")) return;
  event.preventDefault();
  const at = titles.indexOf(event.target.closest(".result")?.querySelector(".title")) + step;
  (at < 0 ? field : (titles[at] ?? after()))?.focus();
}

/** Move down by the number of keys pressed while waiting for `ready`; `forget` drops them when the query changes. */
export function intoList(ready, titles) {
  let steps = 0;
  return {
    forget() {
      steps = 0;
    },
    /** Handle a key in the field; return whether it was meant for the list. */
    press(event) {
      if (event.key !== "ArrowDown" && event.key !== "Enter") return false;
      event.preventDefault();
      steps = event.key === "Enter" ? Math.max(steps, 1) : steps + 1;
      enter();
      return true;
    },
  };

  async function enter() {
    await ready();
    const wanted = steps;
    steps = 0;
    if (wanted) titles().slice(0, wanted).at(-1)?.focus();
  }
}
