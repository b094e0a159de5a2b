// Rows of a project's documents, in a list and in search results.

import { codes, el, plural, timeOf } from "../shared/base.js";
import { anchorOf, marked, paperLink, standingMarks } from "../shared/parts.js";

const SETUP = "lore install claude-code --toolsets query,documents,manage,projects";
const INTRODUCTION = "(Document Introduction)";

/** Create the row of the main document, or an invitation to write it. */
export function mainRow(project, isThere) {
  return el("article", { class: "result" },
    el("h2", {}, el("a", { class: "title", href: paperLink(isThere ? "document" : "edit", { project }) }, isThere ? "Main document" : "Write the main document")),
    el("p", { class: "where" }, "The instructions that every agent reads first."));
}

/** Create the row of a document. */
export function paperRow(project, row) {
  return el("article", { class: "result" },
    el("h2", {}, el("a", { class: "title", href: linkTo(project, row.filename) }, row.title)),
    el("p", { class: "where" },
      el("code", {}, row.filename), keywordsOf(row.keywords),
      row.updated && el("span", {}, "updated ", timeOf(row.updated)), row.chapters > 0 && el("span", {}, plural(row.chapters, "chapter")),
      standingMarks(row)));
}

/** Create the row of a document found by a search, with its matching chapters. */
export function matchRow(project, found, wanted) {
  const { title, keywords, updated } = found.metadata;
  return el("article", { class: "result" },
    el("h2", {}, el("a", { class: "title", href: linkTo(project, found.file) }, marked(title, wanted))),
    el("p", { class: "where" },
      el("code", {}, found.file), keywordsOf(keywords), updated && el("span", {}, "updated ", timeOf(updated)),
      standingMarks({ ...found.metadata, outdated: found.outdated })),
    found.matching_chapters.length > 0 && el("ul", { class: "matches" }, found.matching_chapters.map((match) => chapter(project, found.file, match, wanted))));
}

/** Show advice if nothing has been written yet. */
export function noPapers(begin) {
  return el("div", { class: "empty" },
    el("h2", {}, "No documents yet"),
    el("p", {}, "Agents record here what they learn about the project for later sessions: guides, lessons, failed attempts."),
    el("p", { class: "quiet" }, codes(`To give agents the tools for this, add Lore with the toolset \`projects\`: \`${SETUP}\``)),
    el("button", { type: "button", class: "button primary big", on: { click: begin } }, "Write the first document"));
}

/** Render keywords as labels. */
export const keywordsOf = (keywords) => keywords.map((word) => el("span", { class: "type" }, word));

function chapter(project, file, found, wanted) {
  const name = found.chapter === INTRODUCTION ? "" : found.chapter;
  const contexts = Object.values(found.match_context).flat();
  return el("li", {},
    el("a", { href: linkTo(project, file, name && anchorOf(name)) }, name ? marked(name, wanted) : "Introduction"),
    (contexts.length ? contexts : [found.chapter_summary]).map((text) => el("p", {}, marked(text, wanted))));
}

const linkTo = (project, file, chapter) => paperLink("document", { project, file }, { chapter });
