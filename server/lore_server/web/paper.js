// What agents write: a document of a project or, without a file, its main document, as one thing {project, file}.

import * as api from "./api.js";
import { link } from "./route.js";

const AUTHOR = "page";
const LONGEST_NAME = 250;

/** What a route names. */
export const paperOf = ({ project, file }) => ({ project, file });

/** A link to a paper in one of the views of knowledge. */
export const paperLink = (view, { project, file }, more = {}) => link(`knowledge/${view}`, "", { project, file, ...more });

/** A link to the documents of a project. */
export const projectLink = (project, more = {}) => link("knowledge", "", { project, ...more });

/** A link to the history of a paper. */
export const historyLink = ({ project, file }) => link("knowledge/history", "", { project, file, main: isMain(file) });

/** A link to the history of all of a project. */
export const projectHistoryLink = (project) => link("knowledge/history", "", { project });

/** A link to an entry of a history: of a document, with `main` of the main document, else of the project. */
export const changeLink = ({ project, file, main }, commit) => link("knowledge/change", "", { project, file, main, commit });

/** A link to what the index has of this project's knowledge, under `@lore/`; null for other files. */
export function writtenLink(source) {
  if (source === "@lore/main.md") return paperLink("document", {});
  const [, file] = source.match(/^@lore\/knowledge\/([^/]+)$/) ?? [];
  return file ? paperLink("document", { file }) : null;
}

/** How it is called in a sentence. */
export const nameOf = ({ file }) => file ?? "the main document";

/** Its text and version, now or as a commit has it; `exists` is false where nothing was written. */
export async function read({ project, file }, commit) {
  if (!file) {
    const main = await api.mainDocument({ project_id: project, commit });
    return { project: main.project_id, text: main.content, version: main.version ?? "", exists: main.exists };
  }
  const found = await api.paper({ project_id: project, filename: file, commit });
  return { project: found.project_id, file: found.document.filename, text: found.document.full_content, version: found.version, exists: true };
}

/** Replace its text, if it still has the version that is expected. */
export function write({ project, file }, content, expected) {
  const body = { project_id: project, content, expected_version: expected, author: AUTHOR };
  return file ? api.writePaper({ ...body, filename: file }) : api.writeMain(body);
}

/** A new document, in a file that is named after its title. */
export const create = (project, body) => api.createPaper({ ...body, project_id: project, filename: fileNameOf(body.title), author: AUTHOR });

/** A title without what no file name can have: slashes in any writing, invisible characters, nothing but dots. */
function fileNameOf(title) {
  const name = title.normalize("NFKC").replace(/[/\\\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim().slice(0, LONGEST_NAME);
  return /[^. ]/.test(name) ? name : "document";
}

/** Delete a document, if it still has the version that is expected. */
export const remove = ({ project, file }, expected) => api.deletePaper({ project_id: project, filename: file, expected_version: expected, author: AUTHOR });

/** Delete all of a project. */
export const removeProject = (project) => api.deleteProject({ project_id: project, author: AUTHOR });

/** Take a commit back. */
export const takeBack = (commit) => api.revert({ commit, author: AUTHOR });

/** The last commit of a paper; undefined where nothing was ever written. */
export async function lastCommit({ project, file }) {
  try {
    return (await api.history({ project_id: project, filename: file, main: isMain(file), limit: 1 })).commits[0];
  } catch (problem) {
    if (problem.code === "PROJECT_NOT_FOUND") return undefined;
    throw problem;
  }
}

/** What became of a paper since a commit, as a patch. */
export async function changesSince({ project, file }, since) {
  return (await api.history({ project_id: project, filename: file, main: isMain(file), since })).patch;
}

const isMain = (file) => (file ? "" : "true");
