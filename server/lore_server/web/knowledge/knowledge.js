// The knowledge of a project: main document, documents and search; and the other projects.

import * as api from "../shared/api.js";
import { confirmed } from "../shared/confirm.js";
import { el, fill, say } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { partsOf } from "../shared/highlight.js";
import { alongList, intoList } from "../shared/into-list.js";
import { menuOf } from "../shared/menu.js";
import { newPaper } from "./new-paper.js";
import { failure } from "../shared/notes.js";
import { paperLink, projectHistoryLink, projectLink, removeProject } from "../shared/paper.js";
import { mainRow, matchRow, noPapers, paperRow } from "./paper-row.js";
import { go } from "../shared/route.js";
import { searchSteps } from "../shared/steps.js";

const PAUSE_MS = 120;
const MAX_FOUND = 50;

/** Return the view of `#/knowledge?project=…&q=…`. */
export function knowledgeView() {
  const heading = el("h1", {}, "Knowledge");
  const input = el("input", { id: "knowledge-q", type: "search", placeholder: "Search documents", maxlength: 200, autocomplete: "off", spellcheck: "false", on: { input: typed, keydown: (event) => entering.press(event) && steps.keep() } });
  const said = el("p", { class: "said" });
  const trouble = el("div", {});
  const list = el("ol", { class: "results papers", "aria-label": "Documents", on: { keydown: (event) => alongList(event, titles(), input) } });
  const others = el("nav", { class: "side outline projects", "aria-label": "Projects" });
  const begin = () => newPaper(state.project, (file) => go(paperLink("edit", { project: state.project, file })));
  const add = el("button", { type: "button", class: "button primary big", "data-key": "n", "aria-keyshortcuts": "n", on: { click: begin } }, "New document");
  const menu = menuOf([["History", () => go(projectHistoryLink(state.project))], ["Delete project…", deleteProject, "danger"]]);
  const actions = el("div", { class: "actions", inert: true }, add, menu); // until the project is known
  const state = { project: "", wanted: "", papers: [], flight: null, loading: null, timer: 0, done: null };
  const steps = searchSteps(input);
  const entering = intoList(() => (state.timer ? ask() : state.done), () => titles());

  document.addEventListener("lore:job", ({ detail }) => detail.ended && heading.offsetParent && !state.loading && load(state.wanted || undefined));

  async function load(wanted) {
    const flight = (state.loading = begun());
    try {
      const { projects, current } = await api.projects(flight.signal);
      const project = wanted ?? current;
      const { files } = await api.papers({ project_id: project }, flight.signal);
      if (state.flight !== flight) return;
      Object.assign(state, { project, current, loading: null, papers: files, known: projects.find((entry) => entry.project_id === project) });
      fill(trouble);
      body.hidden = false;
      actions.inert = false;
      heading.textContent = `Knowledge of ${project}`;
      fill(others, el("h2", {}, "Projects"), el("ol", {}, ordered(projects, current).map((entry) => projectRow(entry, current))));
      await find();
    } catch (problem) {
      if (problem.name === "AbortError") return;
      state.loading = null;
      fill(trouble, failure(problem, () => load(wanted)));
    }
  }

  /** Search, or wait for the project that is being loaded, which is searched then. */
  const ask = () => (state.loading ? state.done : (state.done = find()));

  async function find() {
    clearTimeout(state.timer);
    state.timer = 0;
    const query = input.value.trim();
    steps.settle(projectLink(state.wanted, { q: query }));
    if (!query) return showAll();
    const flight = begun();
    try {
      const found = await api.searchPapers({ project_id: state.project, query, limit: MAX_FOUND }, flight.signal);
      if (state.flight === flight) showFound(found, partsOf(query));
    } catch (problem) {
      if (problem.name !== "AbortError") fill(trouble, failure(problem, find));
    }
  }

  function showAll() {
    const { project, papers, known } = state;
    said.textContent = plural(papers.length, "document");
    fill(list, [mainRow(project, Boolean(known?.has_main)), ...papers.map((paper) => paperRow(project, paper))].map((row) => el("li", {}, row)),
      !papers.length && el("li", {}, noPapers(begin)));
  }

  function showFound(found, wanted) {
    steps.shown();
    fill(trouble);
    said.textContent = `${count(found.total_documents)} of ${plural(state.papers.length, "document")}`;
    say(`${plural(found.total_documents, "document")} found.`);
    fill(list, found.results.map((match) => el("li", {}, matchRow(state.project, match, wanted))),
      !found.results.length && el("li", { class: "empty" }, el("p", {}, "Nothing found. The search matches words exactly as typed, including inside longer words.")));
  }

  function begun() {
    state.flight?.abort();
    return (state.flight = new AbortController());
  }

  function projectRow(entry, current) {
    return el("li", {}, el("a", { href: projectLink(entry.project_id === current ? "" : entry.project_id), "aria-current": String(entry.project_id === state.project) },
      entry.project_id, entry.project_id === current && el("span", { class: "quiet" }, "this project")));
  }

  async function deleteProject() {
    const { project } = state;
    const text = "Deletes the main document and all other documents. They stay in the history; reverting the deletion restores them.";
    if (!(await confirmed({ title: `Delete the knowledge of ${project}?`, text, button: "Delete project", isDanger: true, name: project }))) return;
    try {
      await removeProject(project);
      say("Deleted.");
      await load(state.wanted || undefined);
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
    state.flight?.abort();
    state.flight = state.loading = null;
  }

  function show(route) {
    const { project, q = "" } = route.params;
    if (q !== input.value.trim()) input.value = q;
    if (q) steps.keep();
    state.wanted = project ?? "";
    state.done = load(project);
  }

  const body = el("div", { class: "beside knowledge-body", hidden: true },
    el("div", {},
      el("div", { class: "ask-row" }, el("label", { class: "unseen", for: "knowledge-q" }, "Search documents"), input),
      said, list),
    others);
  const content = [el("div", { class: "view-head" }, heading, actions), trouble, body];
  return { content, title: (route) => route.params.q || "Knowledge", show, leave };
}

/** Return the projects, the current project first even if it has no knowledge yet. */
function ordered(projects, current) {
  return [{ project_id: current }, ...projects.filter((entry) => entry.project_id !== current)];
}
