// Where one is in the knowledge of a project, and the way up.

import { el } from "./dom.js";
import { paperLink, projectLink } from "./paper.js";

/** Steps of [text, link]; Escape goes to the last of them. */
export function crumbs(...steps) {
  const there = steps.filter(Boolean);
  return there.map(([text, href], at) => [at > 0 && " › ", el("a", { href, "data-key": at === there.length - 1 ? "Escape" : null }, text)]);
}

/** The step to the documents of a project. */
export const toProject = ({ project }) => [project ?? "Knowledge", projectLink(project)];

/** The step to a paper. */
export const toPaper = (paper) => [paper.file ?? "Main document", paperLink("document", paper)];
