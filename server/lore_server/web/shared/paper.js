// Papers, {project, file}: a knowledge document or, without a file, the main document of a project. Read and change them.

import { el, link } from "./base.js";
import { note, paperLink } from "./parts.js";
import { call } from "./server.js";

const AUTHOR = "page";
const LONGEST_NAME = 250;
const DOCUMENT = /^(?:\.\/)?(?:knowledge\/)?([^/]+\.md)$/;

/** Return the paper that a route names. */
export const paperOf = ({ project, file }) => ({ project, file });

/** Return a link to the documents of a project. */
export const projectLink = (project, more = {}) => link("knowledge", "", { project, ...more });

/** Return a link to the history of a paper. */
export const historyLink = ({ project, file }) => link("knowledge/history", "", { project, file, main: isMain(file) });

/** Return a link to the history of a whole project. */
export const projectHistoryLink = (project) => link("knowledge/history", "", { project });

/** Return the name of a paper for use in a sentence. */
export const nameOf = ({ file }) => file ?? "the main document";

/** Return the parameter of a history that is only of the main document. */
export const isMain = (file) => (file ? "" : "true");

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

/** Return where the links of a paper lead: a chapter, a document, the main document or, in this project, a file. */
export function placesOf(paper, isCurrent) {
  return (path, chapter) => {
    if (!path) return paperLink("document", paper, { chapter });
    const file = path.match(DOCUMENT)?.[1];
    if (/^(\.\.\/)?main\.md$/.test(path)) return paperLink("document", { project: paper.project }, { chapter });
    if (file) return paperLink("document", { project: paper.project, file }, { chapter });
    return isCurrent && !path.startsWith("/") ? link("source", path.replace(/^(\.{1,2}\/)+/, "")) : null;
  };
}

// What the server keeps of papers, and how it is changed.

/** Return the projects with knowledge, and the default project. */
export const loadProjects = (signal) => call("GET", "/api/projects", { signal });

/** Return the knowledge documents of a project. */
export const loadPapers = (query, signal) => call("GET", "/api/projects/files", { query, signal });

/** Return documents that contain the words of a query. */
export const searchPapers = (body, signal) => call("POST", "/api/projects/search", { body, signal });

/** Return commits, or the changes of a commit. */
export const loadHistory = (query, signal) => call("GET", "/api/projects/history", { query, signal });

/** Return the state of the folder with the knowledge, and of its remote repository. */
export const loadStorage = (signal) => call("GET", "/api/projects/storage", { signal });

/** Pull and push the folder with the knowledge. */
export const syncStorage = () => call("POST", "/api/projects/storage/sync", { body: { author: AUTHOR } });

/** Return its text and version, now or in a commit; `exists` is false if it has not been written. */
export async function read({ project, file }, commit, signal) {
  if (!file) {
    const main = await call("GET", "/api/projects/main", { query: { project_id: project, commit }, signal });
    return { project: main.project_id, text: main.content, version: main.version ?? "", exists: main.exists };
  }
  const found = await call("GET", "/api/projects/file", { query: { project_id: project, filename: file, commit }, signal });
  return { project: found.project_id, file: found.document.filename, text: found.document.full_content, version: found.version, exists: true };
}

/** Replace its text if it still has the expected version. */
export function write({ project, file }, content, expected) {
  const body = { project_id: project, content, expected_version: expected, author: AUTHOR };
  return file ? call("POST", "/api/projects/file", { body: { ...body, filename: file } }) : call("POST", "/api/projects/main", { body });
}

/** Create a document in a file named after its title. */
export const create = (project, body) => call("POST", "/api/projects/files", { body: { ...body, project_id: project, filename: fileNameOf(body.title), author: AUTHOR } });

/** Return a title that is valid as a file name: without slashes, invisible characters, or only dots. */
function fileNameOf(title) {
  const name = title.normalize("NFKC").replace(/[/\\\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim().slice(0, LONGEST_NAME);
  return /[^. ]/.test(name) ? name : "document";
}

/** Delete a document if it still has the expected version. */
export const remove = ({ project, file }, expected) => call("POST", "/api/projects/file/delete", { body: { project_id: project, filename: file, expected_version: expected, author: AUTHOR } });

/** Delete a project. */
export const removeProject = (project) => call("POST", "/api/projects/delete", { body: { project_id: project, author: AUTHOR } });

/** Revert a commit. */
export const takeBack = (commit) => call("POST", "/api/projects/revert", { body: { commit, author: AUTHOR } });

/** Return the last commit of a paper; undefined if it has never been written. */
export async function lastCommit({ project, file }) {
  try {
    return (await loadHistory({ project_id: project, filename: file, main: isMain(file), limit: 1 })).commits[0];
  } catch (problem) {
    if (problem.code === "PROJECT_NOT_FOUND") return undefined;
    throw problem;
  }
}

/** Return the changes of a paper since a commit as a patch. */
export async function changesSince({ project, file }, since) {
  return (await loadHistory({ project_id: project, filename: file, main: isMain(file), since })).patch;
}
