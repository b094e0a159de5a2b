// Whether a document is outdated, according to the server and its metadata, and whether it is a file of the project.

import { el } from "./dom.js";
import { note } from "./notes.js";
import { paperLink } from "./paper.js";

const ORIGINS = { tracker: "pulled ticket", library: "library documentation", agent: "written by an agent", memory: "memory of an agent" };

/** Return marks for a row of a list, a result or a citation. */
export function standingMarks({ outdated = {}, valid_until, origin }) {
  return [
    ORIGINS[origin] && el("span", { class: "mark origin" }, ORIGINS[origin]),
    outdated.superseded_by && el("span", { class: "mark", title: `Superseded by ${outdated.superseded_by}` }, "superseded"),
    outdated.valid_until && el("span", { class: "mark" }, `expired: valid until ${outdated.valid_until}`),
    valid_until && !outdated.valid_until && el("span", {}, `valid until ${valid_until}`),
  ];
}

/** Return notes above a document; `papers` are all documents of its project. */
export function standingNotes(paper, { valid_until, supersedes = [] }, papers) {
  const { outdated = {} } = papers.find((candidate) => candidate.filename === paper.file) ?? {};
  const named = (name) => papers.find((candidate) => [candidate.filename, candidate.filename.replace(/\.md$/, ""), candidate.title].includes(name));
  const lead = (target, name) => (target ? el("a", { href: paperLink("document", { project: paper.project, file: target.filename }) }, target.title) : el("code", {}, name));
  return [
    outdated.superseded_by && note("warn", "Superseded by ", lead(named(outdated.superseded_by), outdated.superseded_by), "."),
    outdated.valid_until && note("warn", `Expired: valid until ${outdated.valid_until}.`),
    valid_until && !outdated.valid_until && note("info", `Valid until ${valid_until}.`),
    supersedes.length > 0 && note("info", "Supersedes ", supersedes.map((name, at) => [at ? ", " : "", lead(named(name), name)]), "."),
  ];
}
