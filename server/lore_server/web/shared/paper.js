// A paper, {project, file}: a knowledge document or, without a file, the main document of a project.

import * as api from "./api.js";
import { link } from "./route.js";

const AUTHOR = "page";
const LONGEST_NAME = 250;

/** Return the paper that a route names. */
export const paperOf = ({ project, file }) => ({ project, file });

/** Return a link to a paper in a knowledge view. */
export const paperLink = (view, { project, file }, more = {}) => link(`knowledge/${view}`, "", { project, file, ...more });

/** Return a link to the documents of a project. */
export const projectLink = (project, more = {}) => link("knowledge", "", { project, ...more });

/** Return a link to the history of a paper. */
export const historyLink = ({ project, file }) => link("knowledge/history", "", { project, file, main: isMain(file) });

/** Return a link to the history of a whole project. */
export const projectHistoryLink = (project) => link("knowledge/history", "", { project });

/** Return a link to a history entry: of a document, of the main document (`main`), or of the project. */
export const changeLink = ({ project, file, main }, commit) => link("knowledge/change", "", { project, file, main, commit });

/** Return a link to the indexed file of this project's knowledge, under `@lore/`; null for other files. */
export function writtenLink(source) {
  if (source === "@lore/main.md") return paperLink("document", {});
  const [, file] = source.match(/^@lore\/knowledge\/([^/]+)$/) ?? [];
  return file ? paperLink("document", { file }) : null;
}

/** Return the name of a paper for use in a sentence. */
export const nameOf = ({ file }) => file ?? "the main document";

/** Return its text and version, now or in a commit; `exists` is false if it has not been written. */
export async function read({ project, file }, commit) {
  if (!file) {
    const main = await api.mainDocument({ project_id: project, commit });
    return { project: main.project_id, text: main.content, version: main.version ?? "", exists: main.exists };
  }
  const found = await api.paper({ project_id: project, filename: file, commit });
  return { project: found.project_id, file: found.document.filename, text: found.document.full_content, version: found.version, exists: true };
}

/** Replace its text if it still has the expected version. */
export function write({ project, file }, content, expected) {
  const body = { project_id: project, content, expected_version: expected, author: AUTHOR };
  return file ? api.writePaper({ ...body, filename: file }) : api.writeMain(body);
}

/** Create a document in a file named after its title. */
export const create = (project, body) => api.createPaper({ ...body, project_id: project, filename: fileNameOf(body.title), author: AUTHOR });

/** Return a title that is valid as a file name: without slashes, invisible characters, or only dots. */
function fileNameOf(title) {
  const name = title.normalize("NFKC").replace(/[/\\\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim().slice(0, LONGEST_NAME);
  return /[^. ]/.test(name) ? name : "document";
}

/** Delete a document if it still has the expected version. */
export const remove = ({ project, file }, expected) => api.deletePaper({ project_id: project, filename: file, expected_version: expected, author: AUTHOR });

/** Delete a project. */
export const removeProject = (project) => api.deleteProject({ project_id: project, author: AUTHOR });

/** Revert a commit. */
export const takeBack = (commit) => api.revert({ commit, author: AUTHOR });

/** Return the last commit of a paper; undefined if it has never been written. */
export async function lastCommit({ project, file }) {
  try {
    return (await api.history({ project_id: project, filename: file, main: isMain(file), limit: 1 })).commits[0];
  } catch (problem) {
    if (problem.code === "PROJECT_NOT_FOUND") return undefined;
    throw problem;
  }
}

/** Return the changes of a paper since a commit as a patch. */
export async function changesSince({ project, file }, since) {
  return (await api.history({ project_id: project, filename: file, main: isMain(file), since })).patch;
}

const isMain = (file) => (file ? "" : "true");
