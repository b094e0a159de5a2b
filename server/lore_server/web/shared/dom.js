// Build the page from nodes. Text is always a text node, so indexed content never becomes markup.

/** Create an element: el("a", {class: "x", href: "#", on: {click}}, "text", child). */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(node, name, value);
  node.append(...children.flat(Infinity).filter(isContent));
  return node;
}

/** Replace the children of an element. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(isContent));
  return node;
}

/** Render a text, with the parts in backquotes as code. */
export function codes(text) {
  return text.split("`").map((part, at) => (at % 2 ? el("code", {}, part) : part));
}

/** Return the element with this id. */
export const byId = (id) => document.getElementById(id);

/** Announce a text to screen readers. */
export function say(text) {
  byId("said").textContent = text;
}

/** Scroll to an element: smoothly if it is near and the user allows motion. */
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
