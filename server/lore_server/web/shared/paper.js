// Read and change a paper, {project, file}: a knowledge document or, without a file, the main document of a project.

import { isMain } from "./parts.js";
import * as api from "./server.js";

const AUTHOR = "page";
const LONGEST_NAME = 250;

/** Return its text and version, now or in a commit; `exists` is false if it has not been written. */
export async function read({ project, file }, commit, signal) {
  if (!file) {
    const main = await api.mainDocument({ project_id: project, commit }, signal);
    return { project: main.project_id, text: main.content, version: main.version ?? "", exists: main.exists };
  }
  const found = await api.paper({ project_id: project, filename: file, commit }, signal);
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
