// Building the page out of nodes. Text is only ever a text node: nothing that was indexed can become markup.

/** An element: el("a", {class: "x", href: "#", on: {click}}, "text", child). */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(node, name, value);
  node.append(...children.flat(Infinity).filter(isContent));
  return node;
}

/** Put these children in place of the present ones. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(isContent));
  return node;
}

/** A text whose parts in backquotes are code. */
export function codes(text) {
  return text.split("`").map((part, at) => (at % 2 ? el("code", {}, part) : part));
}

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** Tell a screen reader. */
export function say(text) {
  byId("said").textContent = text;
}

/** Scroll to an element: gently, if it is near and that is welcome. */
export function reveal(node, block = "center") {
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const isFar = Math.abs(node.getBoundingClientRect().top) > 2 * innerHeight;
  node.scrollIntoView({ block, behavior: isStill || isFar ? "auto" : "smooth" });
}

function isContent(child) {
  return child !== null && child !== undefined && child !== false && child !== "";
}

function set(node, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name === "on") {
    for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
  } else if (name === "style") {
    for (const [property, of] of Object.entries(value)) node.style.setProperty(property, of);
  } else if (name === "value" || name === "checked") {
    node[name] = value;
  } else {
    node.setAttribute(name, value === true ? "" : value);
  }
}
