// The reading view of a document: rendered text, metadata, outline and actions.

import * as api from "../shared/api.js";
import { confirmed } from "../shared/confirm.js";
import { crumbs, toProject } from "./crumbs.js";
import { el, fill, reveal, say } from "../shared/dom.js";
import { draftOf } from "./draft.js";
import { headingsIn, nodesOf, placesOf } from "../shared/markdown.js";
import { failure, note } from "../shared/notes.js";
import { followScroll, lastAbove, markCurrent } from "../shared/outline.js";
import { changeLink, historyLink, nameOf, paperLink, paperOf, projectLink, read, remove, write } from "../shared/paper.js";
import { keywordsOf } from "./paper-row.js";
import { go } from "../shared/route.js";
import { standingNotes } from "../shared/standing.js";
import { timeOf } from "../shared/time.js";

/** Return the view of `#/knowledge/document?project=…&file=…&commit=…&chapter=…`. */
export function paperView() {
  const way = el("p", { class: "crumbs" });
  const heading = el("h1", {}, "Document");
  const actions = el("div", { class: "actions" });
  const facts = el("p", { class: "where file-head" });
  const notes = el("div", { class: "notes" });
  const article = el("article", { class: "prose" });
  const outline = el("nav", { class: "outline", "aria-label": "Chapters" });
  const body = el("div", { class: "beside file", hidden: true }, article, outline);
  const state = { key: null, wanted: null, isOld: false, paper: null, commit: undefined, flight: 0 };

  async function load(key, params) {
    const mine = (state.flight += 1);
    const { commit } = params;
    try {
      const [found, { files }, { current }] = await Promise.all([
        read(paperOf(params), commit), api.papers({ project_id: params.project }), api.projects(),
      ]);
      const page = await api.rendered(found.text);
      if (mine !== state.flight) return false;
      Object.assign(state, { key, isOld: false, paper: found, commit });
      showHead(found, page.metadata);
      fill(notes, notesOf(found, page, files));
      fill(article, nodesOf(page.elements, placesOf(paperOf(found), found.project === current)), rest(page.rest));
      showOutline();
      body.hidden = false;
      return true;
    } catch (problem) {
      if (mine !== state.flight) return false;
      state.key = null;
      for (const part of [actions, facts]) fill(part);
      body.hidden = true;
      heading.textContent = params.file ?? "Main document";
      fill(way, crumbs(toProject(params)));
      fill(notes, failure(problem, () => show({ params })));
      return false;
    }
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
    await act(() => remove(state.paper, version), "Deleted.", projectLink(project));
  }

  async function restore() {
    const { text, file } = state.paper;
    const asked = { title: "Restore this version?", text: `A new commit gives ${file ?? "the main document"} this text again.`, button: "Restore" };
    if (!(await confirmed(asked))) return;
    await act(async () => write(state.paper, text, (await read(paperOf(state.paper))).version), "Restored.", paperLink("document", state.paper));
  }

  async function act(change, done, to) {
    const mine = state.flight;
    try {
      await change();
      say(done);
      if (mine === state.flight) go(to); // otherwise the user has already left this document
    } catch (problem) {
      if (mine === state.flight) fill(notes, failure(problem));
      else say(problem.message);
    }
  }

  function leave() {
    state.flight += 1;
    state.isOld = true;
  }

  async function show({ params }) {
    const { project, file, commit, chapter } = params;
    const key = JSON.stringify([project, file, commit]);
    const isOther = key !== state.key;
    if (key !== state.wanted) state.flight += 1; // a document that was left before it arrived is not shown
    state.wanted = key;
    if ((isOther || state.isOld) && !(await load(key, params))) return;
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

function rest(text) {
  return text && [note("warn", "The rest is too long to render and is shown as plain text."), el("pre", { tabindex: "0" }, el("code", {}, text))];
}
