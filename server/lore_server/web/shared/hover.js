// A card with more about what is under the pointer or has the focus.

import { el, fill } from "./base.js";

const DWELL_MS = 250;
const LEAVE_MS = 200; // enough to move into the card
const GAP = 6;

const card = el("div", { class: "hover-card", popover: "manual", role: "tooltip" });
let timer = 0;
let shown = null;

card.addEventListener("pointerenter", () => clearTimeout(timer));
card.addEventListener("pointerleave", hideSoon);
document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
addEventListener("hashchange", hide);
document.addEventListener("scroll", hide, { passive: true, capture: true });

/** Show a card for each of these elements below `root`: the nodes that `contentOf(element)` returns; nothing if there are none. */
export function hoverCards(root, selector, contentOf) {
  const target = (event) => event.target.closest?.(selector);
  root.addEventListener("pointerover", (event) => target(event) && showSoon(target(event), target(event).getBoundingClientRect(), () => contentOf(target(event))));
  root.addEventListener("pointerout", (event) => target(event) && hideSoon());
  root.addEventListener("focusin", (event) => target(event)?.matches(":focus-visible") && show(target(event), target(event).getBoundingClientRect(), () => contentOf(target(event))));
  root.addEventListener("focusout", (event) => target(event) && hideSoon());
}

/** Show the card beside a rectangle after the pointer has rested on it; `key` is what the card is about. */
export function showSoon(key, at, contentOf) {
  clearTimeout(timer);
  if (shown === key) return;
  timer = setTimeout(() => show(key, at, contentOf), DWELL_MS);
}

/** Hide the card unless the pointer moves into it. */
export function hideSoon() {
  clearTimeout(timer);
  timer = setTimeout(hide, LEAVE_MS);
}

async function show(key, at, contentOf) {
  clearTimeout(timer);
  shown = key;
  const content = await contentOf();
  if (shown !== key || !content) return;
  fill(card, content);
  if (!card.isConnected) document.body.append(card);
  card.showPopover();
  const { width, height } = card.getBoundingClientRect();
  const below = at.bottom + GAP + height < innerHeight;
  card.style.setProperty("left", `${Math.max(GAP, Math.min(at.left, innerWidth - width - GAP))}px`);
  card.style.setProperty("top", `${below ? at.bottom + GAP : Math.max(GAP, at.top - GAP - height)}px`);
}

function hide() {
  clearTimeout(timer);
  shown = null;
  if (card.matches(":popover-open")) card.hidePopover();
}
