// Breadcrumbs in the knowledge of a project.

import { el } from "../shared/base.js";
import { projectLink } from "../shared/paper.js";
import { paperLink } from "../shared/parts.js";

/** Show steps of [text, link]; Escape follows the last link. */
export function crumbs(...steps) {
  const there = steps.filter(Boolean);
  return there.map(([text, href], at) => [at > 0 && " › ", el("a", { href, "data-key": at === there.length - 1 ? "Escape" : null }, text)]);
}

/** Return the step to the documents of a project. */
export const toProject = ({ project }) => [project ?? "Knowledge", projectLink(project)];

/** Return the step to a paper. */
export const toPaper = (paper) => [paper.file ?? "Main document", paperLink("document", paper)];
