// The citations of an answer, and the other files that were found.

import { el, headingsOf, reveal, scoreText, sourceLink, span } from "../shared/base.js";
import { CODE, editorAnchor, isMarkdown, judgeButtons, standingMarks } from "../shared/parts.js";

/** Return the part of a file that a citation quotes. */
export const quoteOf = ({ type, source, quote }) => ({ text: quote, path: CODE.has(type) && !isMarkdown(source) ? source : "" });

/** List the cited passages, rendered, numbered as in the answer; a person can judge them for the question. */
export function citationList(citations, quotes, question) {
  if (!citations.length) return null;
  return [
    el("h2", {}, "Cited"),
    el("ol", { class: "citations" }, citations.map((citation, at) => el("li", { id: `cited-${citation.n}`, tabindex: "-1" },
      el("span", { class: "number", "aria-hidden": "true" }, `[${citation.n}]`),
      el("div", {},
        el("div", { class: "result-head" },
          el("h3", {}, headingsOf(citation.heading).join(" › ") || citation.source),
          el("span", { class: "on-demand" }, editorAnchor(citation.source, citation.lines[0]), judgeButtons(question, citation.source))),
        el("p", { class: "where" },
          el("a", { class: "path", href: sourceLink(citation.source, citation.lines) }, citation.source, el("span", {}, `:${span(citation.lines)}`)), standingMarks(citation)),
        el("blockquote", { class: "prose" }, withoutHeading(quotes[at], citation)))))),
  ];
}

/** Return the nodes of a quote without its first headings, which are shown above it. */
function withoutHeading(nodes, { heading }) {
  const shown = headingsOf(heading);
  return nodes.slice(nodes.findIndex((node) => !/^h\d$/.test(node.localName) || !shown.includes(node.textContent)));
}

/** List the files found for the question, best first. */
export function referenceList(references, question) {
  if (!references.length) return null;
  return [
    el("h2", {}, "Found"),
    el("ul", { class: "references" }, references.map((reference) => el("li", {},
      el("a", { href: sourceLink(reference.source, reference.lines) }, reference.title.split(/(?<=\/)/).flatMap((part) => [part, el("wbr")])),
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
