// A search result: location, excerpt and, on demand, the explanation of its score.

import { changedMark, CODE, editorAnchor } from "../shared/anchors.js";
import { el } from "../shared/dom.js";
import { count, span } from "../shared/format.js";
import { marked } from "../shared/highlight.js";
import { judgeButtons } from "../shared/judge.js";
import { sourceLink } from "../shared/route.js";
import { standingMarks } from "../shared/standing.js";
import { whyPanel } from "./why.js";

/** Create the card of a result; `asking` is its request, which the explanation repeats. */
export function resultCard(result, wanted, asking, number) {
  const { source, lines, title, heading, type, state } = result;
  const address = sourceLink(source, lines, result.id);
  const why = whyPanel(result, asking, number);
  const under = heading.split(" > ").filter((part) => part && part !== title).join(" › ");
  return el(
    "article",
    { class: "result" },
    el("div", { class: "result-head" },
      el("h2", {}, el("a", { class: "title", href: address }, marked(title, wanted))),
      el("span", { class: "type" }, state ? `${type}, ${state}` : type),
      why.button),
    under && el("p", { class: "heading" }, marked(under, wanted)),
    el("p", { class: "where" },
      el("a", { href: address, class: "path" }, source, el("span", {}, `:${span(lines)}`)),
      editorAnchor(source, lines[0]),
      result.changed && changedMark(), standingMarks(result), judgeButtons(asking.query, source)),
    result.similar && similarFiles(result),
    CODE.has(type) ? el("div", { class: "excerpt code" }, marked(result.excerpt, wanted)) : prose(result, wanted),
    why.panel,
  );
}

/** Return the number of other files with the same text, which opens their list. */
function similarFiles({ similar, similar_sources: sources = [] }) {
  const hidden = similar - sources.length;
  return el("details", { class: "similar" },
    el("summary", {}, `and ${count(similar)} similar`),
    el("ul", {}, sources.map((source) => el("li", {}, el("a", { href: sourceLink(source), class: "path" }, source))), hidden > 0 && el("li", {}, `… and ${count(hidden)} more`)));
}

const WRAP = /\n(?!\s*([-*+|>#=:`~]|\d+[.)]|\.\.))\s*/g; // a line break within a paragraph: not before a list, a table or a heading

/** Return the paragraphs, without the heading, which the card already shows. */
function prose({ excerpt, title, heading }, wanted) {
  const known = new Set([title, ...heading.split(" > ")]);
  const parts = excerpt.split(/\n{2,}/).filter((part) => part.trim() && !known.has(part.replace(/^#+\s*/, "").trim()));
  return el("div", { class: "excerpt" }, parts.map((part) => el("p", {}, pieces(part.replace(WRAP, " "), wanted))));
}

/** Render a text with code in backquotes, and mark the words in both. */
function pieces(text, wanted) {
  return text.split(/`+([^`\n]+)`+/).map((part, at) => (at % 2 ? el("code", {}, marked(part, wanted)) : marked(part, wanted)));
}
