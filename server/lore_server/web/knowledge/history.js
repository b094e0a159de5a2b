// The history of a document or project: authors, times, sessions and changes.

import * as api from "../shared/api.js";
import { crumbs, toPaper, toProject } from "./crumbs.js";
import { el, fill, say } from "../shared/dom.js";
import { plural } from "../shared/format.js";
import { failure } from "../shared/notes.js";
import { changeLink, nameOf, paperLink } from "../shared/paper.js";
import { timeOf } from "../shared/time.js";

const PAGE = 50;

/** Return the view of `#/knowledge/history?project=…&file=…&main=…`; without file and main, it is the project's history. */
export function historyView() {
  const way = el("p", { class: "crumbs" });
  const heading = el("h1", {}, "History");
  const said = el("p", { class: "said" });
  const trouble = el("div", {});
  const list = el("ol", { class: "results commits" });
  const more = el("button", { type: "button", class: "button more", hidden: true, on: { click: () => load() } }, "Show more");
  const state = { flight: 0, params: {}, shown: 0 };

  async function load() {
    const mine = (state.flight += 1);
    const { project, file, main } = state.params;
    try {
      const found = await api.history({ project_id: project, filename: file, main, limit: PAGE, skip: state.shown });
      if (mine !== state.flight) return;
      const rows = found.commits.map((part) => el("li", {}, commitRow(part, state.params)));
      fill(trouble);
      state.shown ? list.append(...rows) : fill(list, rows);
      state.shown += rows.length;
      more.hidden = rows.length < PAGE;
      said.textContent = `${plural(state.shown, "entry", "entries")}${more.hidden ? "" : ", and older ones"}`;
      say(said.textContent);
    } catch (problem) {
      if (mine === state.flight) fill(trouble, failure(problem, () => load()));
    }
  }

  function show({ params }) {
    const isOther = JSON.stringify(params) !== JSON.stringify(state.params);
    if (isOther) for (const part of [list, said, trouble]) fill(part);
    Object.assign(state, { params, shown: 0 });
    heading.textContent = `History of ${isOfPaper(params) ? nameOf(params) : (params.project ?? "the project")}`;
    fill(way, crumbs(toProject(params), isOfPaper(params) && toPaper(params)));
    return load();
  }

  const content = [way, el("div", { class: "view-head" }, heading), said, trouble, list, more];
  return { content, title: ({ params }) => `History of ${isOfPaper(params) ? nameOf(params) : "the project"}`, show };
}

/** Return whether a history is that of a single document. */
export const isOfPaper = ({ file, main }) => Boolean(file || main);

function commitRow(commit, params) {
  const then = isOfPaper(params) && el("a", { href: paperLink("document", params, { commit: commit.id }) }, "view this version");
  return el("article", { class: "result" },
    el("h2", {}, el("a", { class: "title", href: changeLink(params, commit.id) }, subjectOf(commit, params.project))),
    el("p", { class: "where" }, authorOf(commit), timeOf(commit.date), el("code", {}, commit.id.slice(0, 10)), then));
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
