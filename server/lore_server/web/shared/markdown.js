// Render the server's elements as nodes, with links that have a valid target.

import { el } from "./dom.js";
import { paperLink } from "./paper.js";
import { link } from "./route.js";

const DOCUMENT = /^(?:\.\/)?(?:knowledge\/)?([^/]+\.md)$/;

/** Return the nodes of a paper's text; with `isCurrent`, its links may refer to files of this project. */
export function nodesOf(elements, paper, isCurrent = false) {
  const leads = { paper, isCurrent };
  const nodes = elements.map((element) => nodeOf(element, leads));
  markHeadings(nodes);
  return nodes;
}

/** Return the anchor of a heading, in the format of code hosts. */
export function anchorOf(title) {
  return title.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]+/gu, "").replace(/\s/g, "-");
}

/** Return the headings below a node. */
export const headingsIn = (node) => [...node.querySelectorAll("[data-anchor]")];

function nodeOf(element, leads) {
  if (typeof element === "string") return element;
  const [tag, props, ...children] = element;
  const inner = children.map((child) => nodeOf(child, leads));
  if (tag === "a") return anchor(props.href, inner, leads);
  if (tag === "table") return el("div", { class: "wide", tabindex: "0" }, el("table", {}, inner));
  return el(tag, tag === "pre" ? { ...props, tabindex: "0" } : props, inner);
}

function anchor(href, inner, leads) {
  if (/^(https?|mailto):/i.test(href)) return el("a", { href, class: "outside", target: "_blank", rel: "noopener noreferrer" }, inner);
  const to = placeOf(href, leads);
  return to ? el("a", { href: to }, inner) : el("span", { class: "nowhere", title: `${href} is not in this project's knowledge` }, inner);
}

/** Return the target of a relative link in this page: a chapter, a document, the main document or a file. */
function placeOf(href, { paper, isCurrent }) {
  const [path, chapter] = decoded(href).split("#");
  if (!path) return paperLink("document", paper, { chapter });
  const file = path.match(DOCUMENT)?.[1];
  if (/^(\.\.\/)?main\.md$/.test(path)) return paperLink("document", { project: paper.project }, { chapter });
  if (file) return paperLink("document", { project: paper.project, file }, { chapter });
  return isCurrent && !path.startsWith("/") ? link("source", path.replace(/^(\.{1,2}\/)+/, "")) : null;
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
