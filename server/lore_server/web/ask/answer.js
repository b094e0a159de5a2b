// An answer as nodes: rendered Markdown whose numbers `[n]` lead to their citations.

import { el, link } from "../shared/base.js";
import { nodesOfParts, replaceTexts } from "../shared/parts.js";

const NUMBERS = /\[(\d+(?:\s*,\s*\d+)*)\]/g;

/** Return the nodes of an answer to the question of these route params, and those of its quotes. */
export async function answerNodes(text, citations = [], params = {}, parts = [], signal) {
  const [nodes, ...quotes] = await nodesOfParts([{ text, path: "" }, ...parts], signal);
  const box = el("div", {}, nodes);
  const known = new Set(citations.map((citation) => citation.n));
  replaceTexts(box, (part) => linked(part, known, params), true);
  return [[...box.childNodes], ...quotes];
}

/** Return a text with a link for each number that has a citation; others remain text. */
function linked(text, known, params) {
  const nodes = [];
  let last = 0;
  for (const match of text.matchAll(NUMBERS)) {
    nodes.push(text.slice(last, match.index), ...match[1].split(",").map((number) => citation(Number(number), known, params)));
    last = match.index + match[0].length;
  }
  return [...nodes, text.slice(last)];
}

function citation(number, known, params) {
  if (!known.has(number)) return `[${number}]`;
  return el("a", { class: "cite", "data-n": number, href: link("ask", "", { ...params, cite: number }), "aria-label": `Source ${number}` }, `[${number}]`);
}
