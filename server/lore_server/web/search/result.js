// A search result: a file with its best passage, further passages and, on demand, the explanation of its score.

import { changedMark, CODE, editorAnchor } from "../shared/anchors.js";
import { el } from "../shared/dom.js";
import { count, span } from "../shared/format.js";
import { marked } from "../shared/highlight.js";
import { judgeButtons } from "../shared/judge.js";
import { replaceTexts } from "../shared/markdown.js";
import { sourceLink } from "../shared/route.js";
import { standingMarks } from "../shared/standing.js";
import { whyPanel } from "./why.js";

/** Create the card of a result; `nodes` are its rendered excerpt, `asking` is its request, which the explanation repeats. */
export function resultCard(result, nodes, wanted, asking, number) {
  const { source, lines, type, state, passages = [] } = result;
  const address = sourceLink(source, lines, result.id);
  const why = whyPanel(result, asking, number);
  const [title, under] = namesOf(result);
  return el(
    "article",
    { class: "result" },
    el("div", { class: "result-head" },
      el("h2", {}, el("a", { class: "title", href: address }, marked(title, wanted))),
      el("span", { class: "type" }, state ? `${type}, ${state}` : type),
      el("span", { class: "on-demand" }, editorAnchor(source, lines[0]), judgeButtons(asking.query, source), why.button)),
    el("p", { class: "where" },
      el("a", { href: address, class: "path" }, source, el("span", {}, `:${span(lines)}`)),
      under && el("span", { class: "heading" }, marked(under, wanted)),
      result.changed && changedMark(), standingMarks(result)),
    el("div", { class: CODE.has(type) ? "excerpt code" : "excerpt" }, excerptOf(result, nodes, wanted)),
    passages.length > 0 && el("p", { class: "further-passages" }, "Also ", passages.map((passage) =>
      el("a", { href: sourceLink(source, passage.lines, passage.id) }, marked(passage.heading.split(" > ").at(-1) || "lines", wanted), el("span", {}, ` ${span(passage.lines)}`)))),
    result.similar && similarFiles(result),
    why.panel,
  );
}

/** Return the title of a result and the headings below it: code is named by its symbol. */
function namesOf({ title, heading, type, source }) {
  const parts = heading.split(" > ").filter((part) => part && part !== title);
  if (!CODE.has(type)) return [title, parts.join(" › ")];
  return [parts.at(-1) ?? source.split("/").at(-1), parts.slice(0, -1).join(" › ")];
}

/** Return the rendered excerpt without the heading that the card already shows, with the words of the query marked. */
function excerptOf({ title, heading }, nodes, wanted) {
  const known = new Set([title, ...heading.split(" > ")]);
  const box = el("div", {}, nodes.filter((node) => !(isHeading(node) && known.has(node.textContent))));
  for (const node of box.querySelectorAll("h2, h3, h4, h5, h6")) node.replaceWith(el("p", {}, el("strong", {}, ...node.childNodes)));
  for (const node of box.querySelectorAll("[tabindex]")) node.removeAttribute("tabindex");
  replaceTexts(box, (text) => marked(text, wanted));
  return [...box.childNodes];
}

const isHeading = (node) => /^h\d$/.test(node.localName ?? "");

/** Return the number of other files with the same text, which opens their list. */
function similarFiles({ similar, similar_sources: sources = [] }) {
  const hidden = similar - sources.length;
  return el("details", { class: "similar" },
    el("summary", {}, `and ${count(similar)} similar`),
    el("ul", {}, sources.map((source) => el("li", {}, el("a", { href: sourceLink(source), class: "path" }, source))), hidden > 0 && el("li", {}, `… and ${count(hidden)} more`)));
}
