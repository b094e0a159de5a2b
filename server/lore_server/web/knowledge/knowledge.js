// The knowledge of a project: main document, documents and search; and the other projects.

import { newPaper } from "./new-paper.js";
import { mainRow, matchRow, noPapers, paperRow } from "./paper-row.js";
import { count, el, fill, go, plural, say, searchSteps } from "../shared/base.js";
import { confirmed } from "../shared/confirm.js";
import { menuOf } from "../shared/menu.js";
import { loadPapers, loadProjects, loadStorage, projectHistoryLink, projectLink, removeProject, searchPapers, syncStorage } from "../shared/paper.js";
import { alongList, failure, intoList, paperLink, partsOf } from "../shared/parts.js";
import { resource } from "../shared/server.js";

const PAUSE_MS = 120;
const MAX_FOUND = 50;

/** Return the view of `#/knowledge?project=…&q=…`. */
export function view() {
  const heading = el("h1", {}, "Knowledge");
  const input = el("input", { id: "knowledge-q", type: "search", placeholder: "Search documents", maxlength: 200, autocomplete: "off", spellcheck: "false", on: { input: typed, keydown: (event) => entering.press(event) && steps.keep() } });
  const said = el("p", { class: "said" });
  const trouble = el("div", {});
  const list = el("ol", { class: "results papers", "aria-label": "Documents", on: { keydown: (event) => alongList(event, titles(), input) } });
  const folder = el("section", { class: "side storage", "aria-label": "Storage" });
  const stored = resource({ part: folder, load: (_, signal) => loadStorage(signal), show: (state) => fill(folder, storageOf(state, () => stored.ask())), fail: () => fill(folder), of: "knowledge" });
  const others = el("nav", { class: "side outline projects", "aria-label": "Projects" });
  const begin = () => newPaper(state.project, (file) => go(paperLink("edit", { project: state.project, file })));
  const add = el("button", { type: "button", class: "button primary big", "data-key": "n", "aria-keyshortcuts": "n", on: { click: begin } }, "New document");
  const menu = menuOf([["History", () => go(projectHistoryLink(state.project))], ["Delete project…", deleteProject, "danger"]]);
  const actions = el("div", { class: "actions", inert: true }, add, menu); // until the project is known
  const state = { project: "", wanted: "", papers: [], timer: 0, done: null };
  const project = resource({ part: heading, load, show: showProject, fail, of: "knowledge" });
  const matches = resource({ part: list, load: (query, signal) => searchPapers({ project_id: state.project, query, limit: MAX_FOUND }, signal), show: showFound, fail });
  const steps = searchSteps(input);
  const entering = intoList(() => (state.timer ? ask() : state.done), () => titles());

  async function load(wanted, signal) {
    const { projects, current } = await loadProjects(signal);
    const name = wanted || current;
    const { files } = await loadPapers({ project_id: name }, signal);
    return { projects, current, name, files };
  }

  function showProject({ projects, current, name, files }) {
    Object.assign(state, { project: name, current, papers: files, known: projects.find((entry) => entry.project_id === name) });
    fill(trouble);
    body.hidden = false;
    actions.inert = false;
    heading.textContent = `Knowledge of ${name}`;
    fill(others, el("h2", {}, "Projects"), el("ol", {}, ordered(projects, current).map((entry) => projectRow(entry, current))));
    return find();
  }

  function fail(problem, again) {
    fill(trouble, failure(problem, again));
  }

  /** Search, or wait for the project that is being loaded, which is searched then. */
  const ask = () => (project.isLoading() ? state.done : (state.done = find()));

  async function find() {
    clearTimeout(state.timer);
    state.timer = 0;
    const query = input.value.trim();
    steps.settle(projectLink(state.wanted, { q: query }));
    if (query) return matches.ask(query);
    matches.leave();
    showAll();
  }

  function showAll() {
    const { project: name, papers, known } = state;
    said.textContent = plural(papers.length, "document");
    fill(list, [mainRow(name, Boolean(known?.has_main)), ...papers.map((paper) => paperRow(name, paper))].map((row) => el("li", {}, row)),
      !papers.length && el("li", {}, noPapers(begin)));
  }

  function showFound(found, query) {
    const wanted = partsOf(query);
    steps.shown();
    fill(trouble);
    said.textContent = `${count(found.total_documents)} of ${plural(state.papers.length, "document")}`;
    say(`${plural(found.total_documents, "document")} found.`);
    fill(list, found.results.map((match) => el("li", {}, matchRow(state.project, match, wanted))),
      !found.results.length && el("li", { class: "empty" }, el("p", {}, "Nothing found. The search matches words exactly as typed, including inside longer words.")));
  }

  function projectRow(entry, current) {
    return el("li", {}, el("a", { href: projectLink(entry.project_id === current ? "" : entry.project_id), "aria-current": String(entry.project_id === state.project) },
      entry.project_id, entry.project_id === current && el("span", { class: "quiet" }, "this project")));
  }

  async function deleteProject() {
    const { project: name } = state;
    const text = "Deletes the main document and all other documents. They stay in the history; reverting the deletion restores them.";
    if (!(await confirmed({ title: `Delete the knowledge of ${name}?`, text, button: "Delete project", isDanger: true, name }))) return;
    try {
      await removeProject(name);
      say("Deleted.");
      await project.ask(state.wanted);
    } catch (problem) {
      fill(trouble, failure(problem));
    }
  }

  function typed() {
    entering.forget();
    clearTimeout(state.timer);
    state.timer = setTimeout(ask, PAUSE_MS);
  }

  const titles = () => [...list.querySelectorAll(".title")];

  function leave() {
    clearTimeout(state.timer);
    project.leave();
    matches.leave();
  }

  function show(route) {
    const { project: wanted = "", q = "" } = route.params;
    if (q !== input.value.trim()) input.value = q;
    if (q) steps.keep();
    state.wanted = wanted;
    state.done = project.ask(wanted);
    stored.ask();
  }

  const body = el("div", { class: "beside knowledge-body", hidden: true },
    el("div", {},
      el("div", { class: "ask-row" }, el("label", { class: "unseen", for: "knowledge-q" }, "Search documents"), input),
      said, list),
    el("div", {}, others, folder));
  const content = [el("div", { class: "view-head" }, heading, actions), trouble, body];
  return { content, title: (route) => route.params.q || "Knowledge", show, leave };
}

/** Return the projects, the current project first even if it has no knowledge yet. */
function ordered(projects, current) {
  return [{ project_id: current }, ...projects.filter((entry) => entry.project_id !== current)];
}

/** Return the state of the knowledge folder, and a button that synchronizes it if it has a remote repository. */
function storageOf({ current_branch: branch, remote_status: remote, uncommitted_files: open }, again) {
  const said = el("p", { class: "quiet", role: "status" }, [branch, remote].filter(Boolean).join(", "), open > 0 && `, ${plural(open, "uncommitted file")}`);
  const sync = el("button", { type: "button", class: "quiet-button", on: { click: run } }, "Sync");

  async function run() {
    try {
      say((await syncStorage()).message);
      again();
    } catch (problem) {
      fill(said, failure(problem));
    }
  }

  return [el("h2", {}, "Storage"), said, sync];
}
