// The definitions of the names in code: a card under the pointer, and a click with Ctrl or Cmd that opens the definition.

import { el, go, sourceLink, span } from "../shared/base.js";
import { showSoon, hideSoon } from "../shared/hover.js";
import { CODE, nodesOfParts } from "../shared/parts.js";
import { search } from "../shared/server.js";

const NAME = /[\p{L}_$][\p{L}\p{N}_$]{2,}/gu;
const FOUND = { limit: 3, type: [...CODE], max_tokens: 1500, explain: true }; // an explained search is not logged as a question
const MOST_KNOWN = 200;
const known = new Map(); // name -> the promise of its definition, or null

/** Show and open the definitions of the names in the code below an element. */
export function followSymbols(element) {
  element.addEventListener("pointermove", (event) => {
    const found = nameAt(event);
    found ? showSoon(found.name, found.at, () => card(found.name)) : hideSoon();
  });
  element.addEventListener("pointerleave", hideSoon);
  element.addEventListener("click", async (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    const result = await definitionOf(nameAt(event)?.name);
    if (result) go(addressOf(result));
  });
}

/** Return the name under the pointer and its rectangle. */
function nameAt({ clientX, clientY, target }) {
  if (!target.closest(".line code")) return null;
  const place = document.caretPositionFromPoint?.(clientX, clientY);
  const text = place?.offsetNode.nodeType === Node.TEXT_NODE ? place.offsetNode.data : "";
  const match = [...text.matchAll(NAME)].find(({ 0: name, index }) => index <= place.offset && place.offset <= index + name.length);
  if (!match) return null;
  const range = document.createRange();
  range.setStart(place.offsetNode, match.index);
  range.setEnd(place.offsetNode, match.index + match[0].length);
  const at = range.getBoundingClientRect();
  return at.left <= clientX && clientX <= at.right ? { name: match[0], at } : null;
}

async function card(name) {
  const result = await definitionOf(name);
  if (!result) return null;
  const [nodes] = await nodesOfParts([{ text: result.excerpt, path: result.source }]);
  return [
    el("p", { class: "where" }, el("a", { class: "path", href: addressOf(result) }, result.source, el("span", {}, `:${span(result.lines)}`)), el("span", {}, result.relations ?? "")),
    nodes,
  ];
}

/** Return the passage that defines a name; null if none is known to. */
function definitionOf(name) {
  if (!name) return null;
  if (known.size > MOST_KNOWN) known.clear();
  if (!known.has(name)) known.set(name, search({ ...FOUND, query: name }).then(({ results }) => results.find(({ heading }) => heading.split(" > ").at(-1).split(".").at(-1) === name) ?? null, () => (known.delete(name), null)));
  return known.get(name);
}

const addressOf = ({ source, lines, id }) => sourceLink(source, lines, id);
