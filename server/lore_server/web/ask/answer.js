// Convert the Markdown subset of answers to nodes; `[n]` links to its citation.

import { el } from "../shared/dom.js";
import { link } from "../shared/route.js";

const INLINE = /(`+)([\s\S]+?)\1|\*\*([\s\S]+?)\*\*|\[(\d+(?:\s*,\s*\d+)*)\]/g;
const NONE = { numbers: new Set(), params: {} };

/** Return the nodes of an answer to the question of these route params. Numbers without a citation remain text. */
export function answerText(text, citations = [], params = {}) {
  const known = { numbers: new Set(citations.map((citation) => citation.n)), params };
  const nodes = [];
  let list = null;
  for (const block of blocksOf(text)) {
    const item = block.match(/^\s*(?:[-*]|(\d+)[.)])\s+([\s\S]*)/);
    if (!item) list = null;
    if (item) {
      const tag = item[1] ? "ol" : "ul";
      if (list?.localName !== tag) nodes.push((list = el(tag, item[1] ? { start: item[1] } : {})));
      list.append(el("li", {}, inline(item[2], known)));
    } else {
      nodes.push(blockNode(block, known));
    }
  }
  return nodes;
}

/** Return the source of each paragraph, list item, heading and fence. */
function blocksOf(text) {
  const blocks = [];
  let fence = false;
  let isOpen = false;
  for (const line of text.split("\n")) {
    const isMark = line.startsWith("```");
    if (fence || isMark) {
      if (isMark && !fence) blocks.push(line);
      else blocks[blocks.length - 1] += `\n${line}`;
      if (isMark) fence = !fence;
      isOpen = false;
    } else if (!line.trim()) {
      isOpen = false;
    } else if (isOpen && !/^\s*([-*]|\d+[.)])\s+|^#{1,6} /.test(line)) {
      blocks[blocks.length - 1] += `\n${line}`;
    } else {
      blocks.push(line);
      isOpen = !/^#{1,6} /.test(line);
    }
  }
  return blocks;
}

function blockNode(block, known) {
  if (block.startsWith("```")) return el("pre", { tabindex: "0" }, el("code", {}, block.replace(/^```.*\n?/, "").replace(/\n?```$/, "")));
  const heading = block.match(/^#{1,6} (.*)/);
  return heading ? el("h2", {}, inline(heading[1], known)) : el("p", {}, inline(block, known));
}

/** Render a line with code and emphasis; `[n]` is a link if n is known. */
export function inline(text, known = NONE) {
  const nodes = [];
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    nodes.push(text.slice(last, match.index));
    last = match.index + match[0].length;
    if (match[2] !== undefined) nodes.push(el("code", {}, match[2].replace(/^ (?=\S)|(?<=\S) $/g, "")));
    else if (match[3] !== undefined) nodes.push(el("strong", {}, inline(match[3], known)));
    else nodes.push(match[4].split(",").map((number) => citation(Number(number), known)));
  }
  return [...nodes, text.slice(last)];
}

function citation(number, { numbers, params }) {
  if (!numbers.has(number)) return `[${number}]`;
  return el("a", { class: "cite", href: link("ask", "", { ...params, cite: number }), "aria-label": `Source ${number}` }, `[${number}]`);
}
