// The citations of an answer, and the other files that were found.

import { answerText } from "./answer.js";
import { el, reveal } from "../shared/dom.js";
import { scoreText, span } from "../shared/format.js";
import { judgeButtons } from "../shared/judge.js";
import { CODE, editorAnchor } from "../shared/anchors.js";
import { sourceLink } from "../shared/route.js";
import { standingMarks } from "../shared/standing.js";

const PROSE = /\.(md|mdx|rst|adoc|org|txt)$/i;

/** List the cited passages, numbered as in the answer; a person can judge them for the question. */
export function citationList(citations, question) {
  if (!citations.length) return null;
  return [
    el("h2", {}, "Cited"),
    el("ol", { class: "citations" }, citations.map((citation) => el("li", { id: `cited-${citation.n}`, tabindex: "-1" },
      el("span", { class: "number", "aria-hidden": "true" }, `[${citation.n}]`),
      el("div", {},
        el("p", { class: "where" },
          el("a", { class: "path", href: sourceLink(citation.source, citation.lines) }, citation.source, el("span", {}, `:${span(citation.lines)}`)),
          editorAnchor(citation.source, citation.lines[0]), standingMarks(citation)),
        el("div", { class: "judged" }, el("p", { class: "quiet" }, citation.heading), judgeButtons(question, citation.source)),
        quoteOf(citation))))),
  ];
}

/** Show code as it is written, and the Markdown of other files as text. */
function quoteOf({ type, source, quote }) {
  const isCode = CODE.has(type) && !PROSE.test(source);
  return el("blockquote", {}, isCode ? el("pre", { tabindex: "0" }, el("code", {}, quote)) : answerText(quote));
}

/** List the files found for the question, best first. */
export function referenceList(references, question) {
  if (!references.length) return null;
  return [
    el("h2", {}, "Found"),
    el("ul", { class: "references" }, references.map((reference) => el("li", {},
      el("a", { href: sourceLink(reference.source, reference.lines) }, reference.title),
      el("span", { class: "type" }, reference.type),
      el("span", { class: "quiet figure", title: "Score" }, scoreText(reference.score)),
      judgeButtons(question, reference.source)))),
  ];
}

/** Scroll to a cited passage and mark it. */
export function showCited(side, number) {
  for (const element of side.querySelectorAll(".is-target")) element.classList.remove("is-target");
  const item = side.querySelector(`#cited-${number}`);
  if (!item) return;
  item.classList.add("is-target");
  reveal(item, "nearest");
  item.focus({ preventScroll: true });
}
