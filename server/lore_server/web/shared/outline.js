// The outline beside a text, with the current row marked and visible.

/** Mark the row with this `data-id` as the current one, and scroll the outline, not the page, to it. */
export function markCurrent(outline, id) {
  let current = null;
  for (const link of outline.querySelectorAll("a")) {
    link.setAttribute("aria-current", String(link.dataset.id === id));
    if (link.dataset.id === id) current = link;
  }
  if (!current) return;
  const [frame, row] = [outline.getBoundingClientRect(), current.getBoundingClientRect()];
  if (row.top < frame.top || row.bottom > frame.bottom) outline.scrollTop += row.top - frame.top - (frame.height - row.height) / 2;
}
