// A commit: its author, its changes, and a button to revert it.

import { crumbs, toPaper, toProject } from "./crumbs.js";
import { diffOf } from "./diff.js";
import { authorOf, isOfPaper, subjectOf } from "./history.js";
import { el, fill, say, timeOf } from "../shared/base.js";
import { confirmed } from "../shared/confirm.js";
import { historyLink, loadHistory, paperOf, projectHistoryLink, takeBack } from "../shared/paper.js";
import { changeLink, failure, note } from "../shared/parts.js";
import { resource } from "../shared/server.js";

/** Return the view of `#/knowledge/change?commit=…&project=…&file=…&main=…`. */
export function view() {
  const way = el("p", { class: "crumbs" });
  const heading = el("h1", {}, "Change");
  const facts = el("p", { class: "where file-head" });
  const notes = el("div", { class: "notes" });
  const body = el("div", { class: "changes" });
  const button = el("button", { type: "button", class: "button danger", on: { click: revert } }, "Revert…");
  const state = { params: {} };
  const change = resource({ part: body, load: ({ commit }, signal) => loadHistory({ commit }, signal), show: showChange, fail });

  async function show({ params }) {
    if (JSON.stringify(params) === JSON.stringify(state.params)) return; // keep the result of the action
    state.params = params;
    button.disabled = true;
    for (const part of [notes, facts, body]) fill(part);
    const toHistory = ["History", isOfPaper(params) ? historyLink(paperOf(params)) : projectHistoryLink(params.project)];
    fill(way, crumbs(toProject(params), isOfPaper(params) && toPaper(params), toHistory));
    await change.ask(params);
  }

  function showChange({ commits: [commit], patch }, params) {
    fill(notes);
    heading.textContent = subjectOf(commit, params.project);
    fill(facts, authorOf(commit), timeOf(commit.date), el("code", {}, commit.id.slice(0, 10)));
    fill(body, explained(commit), diffOf(patch, pathName));
    button.disabled = false;
    say(heading.textContent);
  }

  function fail(problem, again) {
    state.params = {};
    heading.textContent = "Change";
    fill(notes, failure(problem, again));
  }

  async function revert() {
    const { params } = state;
    const text = "A new commit undoes this one. Later changes to other lines are kept.";
    if (!(await confirmed({ title: "Revert this change?", text, button: "Revert", isDanger: true }))) return;
    button.disabled = true;
    try {
      const done = await takeBack(params.commit);
      const lead = done.commit && el("a", { href: changeLink(params, done.commit) }, "Show the revert");
      fill(notes, note("info", done.commit ? "Reverted. " : "There was nothing left to revert.", lead));
      say(done.commit ? "Reverted." : "There was nothing left to revert.");
    } catch (problem) {
      const advice = "Later changes build on this one. Revert those first, or edit the document.";
      fill(notes, problem.code === "CONFLICT" ? failure(problem, undefined, advice) : failure(problem));
    } finally {
      button.disabled = false;
    }
  }

  const content = [way, el("div", { class: "view-head" }, heading, el("div", { class: "actions" }, button)), facts, notes, body];
  return { content, title: () => "Change", show };
}

/** Return the message of a commit below its subject, with its lines. */
function explained({ message }) {
  const more = message.split("\n").slice(1).join("\n").trim();
  return more && el("p", { class: "quiet message" }, more);
}

/** Return the display name of a path in the folder: guide.md, main.md, or a description. */
const pathName = (path) => path.replace(/^projects\/[^/]+\/(knowledge\/)?/, "");
