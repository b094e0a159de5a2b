// The history of a document or project: authors, times, sessions and changes.

import { crumbs, toPaper, toProject } from "./crumbs.js";
import { confirmed } from "../shared/confirm.js";
import { loadHistory, nameOf, takeBack } from "../shared/paper.js";
import { el, fill, plural, say, timeOf } from "../shared/base.js";
import { changeLink, failure, paperLink } from "../shared/parts.js";
import { resource } from "../shared/server.js";

const PAGE = 50;

/** Return the view of `#/knowledge/history?project=…&file=…&main=…`; without file and main, it is the project's history. */
export function view() {
  const way = el("p", { class: "crumbs" });
  const heading = el("h1", {}, "History");
  const said = el("p", { class: "said" });
  const trouble = el("div", {});
  const list = el("ol", { class: "results commits" });
  const state = { params: {}, shown: 0 };
  const commits = resource({ part: list, load, show: showCommits, fail: (problem, again) => fill(trouble, failure(problem, again)), of: "knowledge" });
  const more = el("button", { type: "button", class: "button more", hidden: true, on: { click: () => commits.ask(state.shown) } }, "Show more");

  function load(skip = 0, signal) {
    const { project, file, main } = state.params;
    return loadHistory({ project_id: project, filename: file, main, limit: PAGE, skip }, signal);
  }

  function showCommits(found, skip = 0) {
    const rows = found.commits.map((part) => el("li", {}, commitRow(part, state.params, revert)));
    fill(trouble);
    skip ? list.append(...rows) : fill(list, rows);
    state.shown = skip + rows.length;
    more.hidden = rows.length < PAGE;
    said.textContent = `${plural(state.shown, "entry", "entries")}${more.hidden ? "" : ", and older ones"}`;
    say(said.textContent);
  }

  function show({ params }) {
    const isOther = JSON.stringify(params) !== JSON.stringify(state.params);
    if (isOther) for (const part of [list, said, trouble]) fill(part);
    state.params = params;
    heading.textContent = `History of ${isOfPaper(params) ? nameOf(params) : (params.project ?? "the project")}`;
    fill(way, crumbs(toProject(params), isOfPaper(params) && toPaper(params)));
    return commits.ask();
  }

  async function revert(commit) {
    if (!(await confirmed({ title: "Revert this change?", text: `${subjectOf(commit, state.params.project)}. A new commit undoes it; later changes to other lines are kept.`, button: "Revert", isDanger: true }))) return;
    try {
      const done = await takeBack(commit.id);
      say(done.commit ? "Reverted." : "There was nothing left to revert.");
      await commits.ask();
    } catch (problem) {
      fill(trouble, failure(problem));
    }
  }

  const content = [way, el("div", { class: "view-head" }, heading), said, trouble, list, more];
  return { content, title: ({ params }) => `History of ${isOfPaper(params) ? nameOf(params) : "the project"}`, show };
}

/** Return whether a history is that of a single document. */
export const isOfPaper = ({ file, main }) => Boolean(file || main);

function commitRow(commit, params, revert) {
  const then = isOfPaper(params) && el("a", { href: paperLink("document", params, { commit: commit.id }) }, "view this version");
  return el("article", { class: "result" },
    el("h2", {}, el("a", { class: "title", href: changeLink(params, commit.id) }, subjectOf(commit, params.project))),
    el("p", { class: "where" }, authorOf(commit), timeOf(commit.date), el("code", {}, commit.id.slice(0, 10)), then,
      el("button", { type: "button", class: "quiet-button", on: { click: () => revert(commit) } }, "Revert…")));
}

/** Return the summary of a commit, without the name of this project. */
export function subjectOf(commit, project) {
  const subject = commit.message.split("\n")[0];
  const known = `Update knowledge for ${project}: `;
  return subject.startsWith(known) ? subject.slice(known.length) : subject;
}

/** Return the author of a commit. */
export function authorOf(commit) {
  return el("span", {}, commit.author, commit.session && el("span", { class: "session" }, ` in session ${commit.session}`));
}
