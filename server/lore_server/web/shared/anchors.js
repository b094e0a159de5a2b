// What every view says about a file: where to edit it, and whether it has changed.

import { el } from "./dom.js";
import { writtenLink } from "./paper.js";
import { editorLink } from "./project.js";

export const CODE = new Set(["src", "example", "test"]);

/** Return a link for editing a file: in the editor, or in this page for knowledge; otherwise nothing. */
export function editorAnchor(source, line) {
  const written = writtenLink(source);
  const href = written ?? editorLink(source, line);
  return href && el("a", { class: "editor", href, title: "Open for editing (e)" }, written ? "Open in Knowledge" : "Open in editor");
}

/** Return a mark for a file that has changed since it was indexed. */
export function changedMark() {
  return el("span", { class: "changed", title: "The file was changed or deleted since the last sync" }, "changed");
}
