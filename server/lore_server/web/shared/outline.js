// The outline beside a text, with the current row marked and visible.

const TOP = 140; // px: the line below the frame that counts as the top of the text

/** Mark the row that has this id among those of its `data-id`, and scroll the outline, not the page, to it. */
export function markCurrent(outline, id) {
  let current = null;
  for (const link of outline.querySelectorAll("a")) {
    const isCurrent = link.dataset.id.split(" ").includes(id);
    link.setAttribute("aria-current", String(isCurrent));
    if (isCurrent) current = link;
  }
  if (!current) return;
  const [frame, row] = [outline.getBoundingClientRect(), current.getBoundingClientRect()];
  if (row.top < frame.top || row.bottom > frame.bottom) outline.scrollTop += row.top - frame.top - (frame.height - row.height) / 2;
}

/** Mark the row of what is at the top of the window while the reader scrolls; a `target()`, {node, id}, while it is visible. */
export function followScroll(outline, idAt, target = () => null) {
  let isDue = false;
  addEventListener("scroll", () => {
    if (isDue || !outline.offsetParent) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      if (!outline.offsetParent) return;
      const id = isVisible(target()?.node) ? target().id : idAt(TOP);
      if (id) markCurrent(outline, id);
    });
  }, { passive: true });
}

/** Return the last of these nodes that begins above the top of the text, otherwise the first. */
export const lastAbove = (nodes, top) => nodes.findLast((node) => node.getBoundingClientRect().top <= top) ?? nodes[0];

function isVisible(node) {
  if (!node?.isConnected) return false;
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
