// Render the server's elements as nodes, with links that have a valid target.

import * as api from "./api.js";
import { el } from "./dom.js";
import { paperLink } from "./paper.js";
import { link } from "./route.js";

const DOCUMENT = /^(?:\.\/)?(?:knowledge\/)?([^/]+\.md)$/;

/** Return whether a file is Markdown by its name, as for the server. */
export const isMarkdown = (path) => /\.(md|mdx|markdown|rmd|qmd|cursorrules|mdc)$/i.test(path);

/** Return the nodes of rendered elements; `placeOf(path, chapter)` returns the address of a relative link in this page, or null. */
export function nodesOf(elements, placeOf) {
  const nodes = elements.map((element) => nodeOf(element, placeOf));
  markHeadings(nodes);
  return nodes;
}

/** Return the nodes of parts of files, {text, path}: Markdown (also without a path), or code in colour. */
export async function nodesOfParts(parts, signal) {
  if (!parts.length) return [];
  const rendered = await api.renderedParts(parts.map(({ text, path }) => ({ text, path })), signal);
  return rendered.parts.map((elements, at) => nodesOf(elements, placesIn(parts[at].path)));
}

/** Return where the links of a paper lead: a chapter, a document, the main document or, in this project, a file. */
export function placesOf(paper, isCurrent) {
  return (path, chapter) => {
    if (!path) return paperLink("document", paper, { chapter });
    const file = path.match(DOCUMENT)?.[1];
    if (/^(\.\.\/)?main\.md$/.test(path)) return paperLink("document", { project: paper.project }, { chapter });
    if (file) return paperLink("document", { project: paper.project, file }, { chapter });
    return isCurrent && !path.startsWith("/") ? link("source", path.replace(/^(\.{1,2}\/)+/, "")) : null;
  };
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
