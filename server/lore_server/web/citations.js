// The citations of an answer, and other results, shown beside it.

import { inline } from "./answer.js";
import { el, reveal } from "./dom.js";
import { scoreText, span } from "./format.js";
import { editorAnchor } from "./result.js";
import { sourceLink } from "./route.js";
import { standingMarks } from "./standing.js";

/** List the cited passages, numbered as in the answer. */
export function citationList(citations) {
  if (!citations.length) return null;
  return [
    el("h2", {}, "Cited"),
    el("ol", { class: "citations" }, citations.map((one) => el("li", { id: `cited-${one.n}`, tabindex: "-1" },
      el("span", { class: "number", "aria-hidden": "true" }, `[${one.n}]`),
      el("div", {},
        el("p", { class: "where" },
          el("a", { class: "path", href: sourceLink(one.source, one.lines) }, one.source, el("span", {}, `:${span(one.lines)}`)),
          editorAnchor(one.source, one.lines[0]), standingMarks(one)),
        one.heading && el("p", { class: "quiet" }, one.heading),
        el("blockquote", {}, inline(one.quote)))))),
  ];
}

/** List the files found for the question, best first. */
export function referenceList(references) {
  if (!references.length) return null;
  return [
    el("h2", {}, "Found"),
    el("ul", { class: "references" }, references.map((one) => el("li", {},
      el("a", { href: sourceLink(one.source, one.lines) }, one.title),
      el("span", { class: "type" }, one.type),
      el("span", { class: "quiet figure", title: "Score" }, scoreText(one.score))))),
  ];
}

/** Scroll to a cited passage and mark it. */
export function showCited(side, number) {
  for (const one of side.querySelectorAll(".is-target")) one.classList.remove("is-target");
  const item = side.querySelector(`#cited-${number}`);
  if (!item) return;
  item.classList.add("is-target");
  reveal(item, "nearest");
  item.focus({ preventScroll: true });
}
