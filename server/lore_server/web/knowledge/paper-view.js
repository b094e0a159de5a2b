// The reading view of a document: rendered text, metadata, outline and actions.

import { crumbs, toProject } from "./crumbs.js";
import { draftOf } from "./draft.js";
import { keywordsOf } from "./paper-row.js";
import { el, fill, go, reveal, say, timeOf } from "../shared/base.js";
import { confirmed } from "../shared/confirm.js";
import { followScroll, lastAbove, markCurrent } from "../shared/outline.js";
import { historyLink, loadPapers, loadProjects, nameOf, paperOf, placesOf, projectLink, read, remove, standingNotes, write } from "../shared/paper.js";
import { changeLink, failure, headingsIn, nodesOf, note, paperLink } from "../shared/parts.js";
import * as api from "../shared/server.js";
import { resource } from "../shared/server.js";

/** Return the view of `#/knowledge/document?project=…&file=…&commit=…&chapter=…`. */
export function view() {
  const way = el("p", { class: "crumbs" });
  const heading = el("h1", {}, "Document");
  const actions = el("div", { class: "actions" });
  const facts = el("p", { class: "where file-head" });
  const notes = el("div", { class: "notes" });
  const article = el("article", { class: "prose" });
  const outline = el("nav", { class: "outline", "aria-label": "Chapters" });
  const body = el("div", { class: "beside file", hidden: true }, article, outline);
  const state = { key: null, paper: null, commit: undefined, shown: null };
  const paper = resource({ part: heading, load, show: showPaper, fail, of: "knowledge" });

  async function load({ commit, ...params }, signal) {
    const [found, { files }, { current }] = await Promise.all([
      read(paperOf(params), commit, signal), loadPapers({ project_id: params.project }, signal), loadProjects(signal),
    ]);
    return { found, files, current, page: await api.rendered(found.text, signal) };
  }

  function showPaper(reply, params) {
    const text = JSON.stringify([reply, params, draftOf(reply.found)]);
    if (state.shown === text) return; // a button that is drawn again loses the press that began on it
    const { found, files, current, page } = reply;
    Object.assign(state, { key: keyOf(params), paper: found, commit: params.commit, shown: text });
    showHead(found, page.metadata);
    fill(notes, notesOf(found, page, files));
    fill(article, nodesOf(page.elements, placesOf(paperOf(found), found.project === current)), rest(page.rest));
    showOutline();
    body.hidden = false;
  }

  function fail(problem, again, params) {
    state.key = state.shown = null;
    for (const part of [actions, facts]) fill(part);
    body.hidden = true;
    heading.textContent = params.file ?? "Main document";
    fill(way, crumbs(toProject(params)));
    fill(notes, failure(problem, again));
  }

  function showHead(found, metadata) {
    const isNow = !state.commit;
    heading.textContent = found.file ? metadata.title || found.file : "Main document";
    fill(way, crumbs(toProject(found)));
    fill(actions,
      isNow && el("a", { class: "button primary", href: paperLink("edit", found), "data-key": "e", "aria-keyshortcuts": "e" }, found.exists ? "Edit" : "Write"),
      isNow ? el("a", { class: "button", href: historyLink(found), "data-key": "h", "aria-keyshortcuts": "h" }, "History")
        : el("button", { type: "button", class: "button", on: { click: restore } }, "Restore…"),
      isNow && found.file && el("button", { type: "button", class: "button danger", on: { click: deletePaper } }, "Delete…"));
    fill(facts, found.file && el("code", {}, found.file), keywordsOf(metadata.keywords),
      metadata.updated && el("span", {}, "updated ", timeOf(metadata.updated)),
      metadata.created && el("span", {}, "created ", timeOf(metadata.created)));
  }

  function notesOf(found, page, files) {
    const { commit } = state;
    return [
      commit && note("info", "Version of commit ", el("a", { href: changeLink({ ...paperOf(found), main: !found.file || "" }, commit) }, el("code", {}, commit.slice(0, 10))), ". ",
        el("a", { href: paperLink("document", found) }, "Show the current version"), "."),
      !commit && draftOf(found) && note("warn", "You have unsaved text. ", el("a", { href: paperLink("edit", found) }, "Continue editing"), "."),
      page.metadata.problem && note("warn", `The front matter cannot be read: ${page.metadata.problem}.`),
      standingNotes(found, page.metadata, files),
      !found.exists && note("info", commit ? "It did not exist at this commit." : "It does not exist yet."),
    ].flat();
  }

  function showOutline() {
    const rows = headingsIn(article).map((heading) => el("li", { class: `at-${heading.localName}` },
      el("a", { href: paperLink("document", state.paper, { commit: state.commit, chapter: heading.dataset.anchor }), "data-id": heading.dataset.anchor }, heading.textContent)));
    fill(outline, rows.length > 1 && [el("h2", {}, "Chapters"), el("ol", {}, rows)]);
  }

  followScroll(outline, (top) => lastAbove(headingsIn(article), top)?.dataset.anchor);

  function showChapter(chapter) {
    markCurrent(outline, chapter);
    const target = chapter && headingsIn(article).find((heading) => heading.dataset.anchor === chapter);
    if (!target) return;
    target.tabIndex = -1;
    reveal(target, "start");
    target.focus({ preventScroll: true });
  }

  async function deletePaper() {
    const { file, version, project } = state.paper;
    const text = "It stays in the history; reverting the deletion restores it.";
    if (!(await confirmed({ title: `Delete ${file}?`, text, button: "Delete document", isDanger: true }))) return;
    paper.leave(); // the event of the deletion must not load it again
    await act(() => remove(state.paper, version), "Deleted.", projectLink(project));
  }

  async function restore() {
    const { text, file } = state.paper;
    const asked = { title: "Restore this version?", text: `A new commit gives ${file ?? "the main document"} this text again.`, button: "Restore" };
    if (!(await confirmed(asked))) return;
    await act(async () => write(state.paper, text, (await read(paperOf(state.paper))).version), "Restored.", paperLink("document", state.paper));
  }

  async function act(change, done, to) {
    const { key } = state;
    try {
      await change();
      say(done);
      if (key === state.wanted) go(to); // otherwise the user has already left this document
    } catch (problem) {
      state.shown = null; // drawn again, it no longer has the note
      if (key === state.wanted) fill(notes, failure(problem));
      else say(problem.message);
    }
  }

  function leave() {
    paper.leave();
    state.wanted = null;
  }

  async function show({ params }) {
    const { chapter, ...asked } = params;
    const isOther = keyOf(asked) !== state.key;
    const isBack = state.wanted !== keyOf(asked);
    state.wanted = keyOf(asked);
    if ((isOther || isBack) && !(await paper.ask(asked))) return;
    showChapter(chapter);
    if (isOther) say(`Showing ${nameOf(state.paper)}.`);
    if (isOther && !chapter) scrollTo(0, 0);
  }

  const content = [
    way, el("div", { class: "view-head" }, heading, actions), facts, notes,
    body,
  ];
  return { content, title: ({ params }) => params.file ?? "Main document", show, leave };
}

const keyOf = ({ project, file, commit }) => JSON.stringify([project, file, commit]);

function rest(text) {
  return text && [note("warn", "The rest is too long to render and is shown as plain text."), el("pre", { tabindex: "0" }, el("code", {}, text))];
}
