// Render the lines of a file page by page, below the headings of their chunks.

import { el } from "../shared/dom.js";
import { span } from "../shared/format.js";
import { link, sourceLink } from "../shared/route.js";

/** Add a page to the existing lines; `chunks` are all known chunks, including those of the page. */
export function addLines(text, path, page, chunks) {
  const lines = page.text.split("\n");
  if (lines.length > 1 && lines.length > page.lines[1] - page.lines[0] + 1) lines.pop(); // the line break of the last line
  const begun = text.querySelector(`#L${page.lines[0]} code`); // the line was too long for the previous page
  if (begun) begun.append(lines.shift());
  const first = page.lines[0] + (begun ? 1 : 0);
  const fragment = document.createDocumentFragment();
  lines.forEach((line, at) => {
    const number = first + at;
    fragment.append(...chunks.filter((chunk) => chunk.lines[0] === number).map((chunk) => head(path, chunk)));
    fragment.append(row(path, number, line, chunks.filter((chunk) => chunk.lines[0] <= number && number <= chunk.lines[1])));
  });
  text.append(fragment);
}

function head(path, chunk) {
  return el("p", { class: "chunk-head", "data-chunk": chunk.id, "data-of": chunk.id },
    el("span", { class: "kind" }, chunk.kind), chunk.heading && el("span", { class: "chunk-name" }, chunk.heading.replaceAll(" > ", " › ")),
    el("a", { class: "chunk-id", href: sourceLink(path, chunk.lines, chunk.id), title: `Chunk ${chunk.id}, lines ${span(chunk.lines)}` }, chunk.id.slice(0, 8)));
}

function row(path, number, line, over) {
  return el("div", { class: over.length ? "line in" : "line", id: `L${number}`, "data-of": over.map((chunk) => chunk.id).join(" ") || null },
    el("a", { class: "number", href: link("source", path, { line: number }), "aria-label": `Line ${number}` }, String(number)),
    el("code", {}, line));
}
