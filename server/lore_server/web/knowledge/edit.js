// Edit the text of a document beside its preview. A draft is kept until it is saved or discarded.

import { conflictPanel } from "./conflict.js";
import { crumbs, toPaper, toProject } from "./crumbs.js";
import { draftOf, dropDraft, keepDraft } from "./draft.js";
import { el, fill, go, say } from "../shared/base.js";
import { confirmed } from "../shared/confirm.js";
import { lastCommit, loadProjects, nameOf, paperOf, placesOf, read, write } from "../shared/paper.js";
import { failure, nodesOf, note, paperLink } from "../shared/parts.js";
import * as api from "../shared/server.js";
import { resource } from "../shared/server.js";

const PAUSE_MS = 150;

/** Return the view of `#/knowledge/edit?project=…&file=…`. */
export function view() {
  const way = el("p", { class: "crumbs" });
  const heading = el("h1", {}, "Edit");
  const said = el("p", { class: "said", role: "status" });
  const trouble = el("div", { class: "notes" });
  const input = el("textarea", { id: "paper-text", class: "code", spellcheck: "true", disabled: true, "aria-keyshortcuts": "Control+S", on: { input: typed, scroll: follow } });
  const preview = el("div", { class: "prose preview", role: "region", tabindex: "0", "aria-label": "Preview" });
  const button = el("button", { type: "button", class: "button primary", title: "Save (Ctrl+S)", on: { click: () => save() } }, "Save");
  const drop = el("button", { type: "button", class: "button danger", hidden: true, on: { click: discard } }, "Discard…");
  const body = el("div", { class: "editing", hidden: true }, el("label", { class: "unseen", for: "paper-text" }, "Document text"), input, preview);
  const state = { key: null, paper: null, isCurrent: false, base: null, isBusy: false, isDrawing: false, timer: 0 };
  const source = resource({ part: heading, load, show: showText, fail });

  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "s" || !input.offsetParent || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    save();
  });

  async function load(asked, signal) {
    input.disabled = button.disabled = true;
    const since = (await lastCommit(asked))?.id; // before the text: a change in between is reported twice rather than never
    const [found, { current }] = await Promise.all([read(asked, undefined, signal), loadProjects(signal)]);
    return { found, current, since };
  }

  async function showText({ found, current, since }) {
    const draft = draftOf(found);
    const { version, end } = draft ?? { version: found.version, end: endOf(found.text) };
    input.value = found.text;
    Object.assign(state, { paper: paperOf(found), isCurrent: found.project === current, base: { shown: input.value, version, since: draft ? draft.since : since, end } });
    heading.textContent = found.exists ? `Edit ${nameOf(found)}` : `Write ${nameOf(found)}`;
    fill(way, crumbs(toProject(found), toPaper(found)));
    fill(trouble, draft && note("warn", "This is your unsaved text."), end === null && note("warn", "Its line endings are mixed. Saving makes them uniform."));
    if (draft) input.value = draft.text;
    input.disabled = button.disabled = body.hidden = false;
    if (matchMedia("(hover: hover)").matches) input.focus({ preventScroll: true });
    showState();
    await draw();
  }

  function fail(problem, again) {
    state.key = null;
    fill(trouble, failure(problem, again));
  }

  function typed() {
    const { paper, base } = state;
    if (isDirty()) keepDraft(paper, { text: input.value, version: base.version, since: base.since, end: base.end });
    else dropDraft(paper);
    showState();
    clearTimeout(state.timer);
    state.timer = setTimeout(draw, PAUSE_MS);
  }

  /** Render the preview with one request at a time; the latest text is always rendered. */
  async function draw() {
    if (state.isDrawing) return;
    state.isDrawing = true;
    const text = input.value;
    try {
      const page = await api.rendered(text);
      fill(preview, previewHead(page.metadata), nodesOf(page.elements, placesOf(state.paper, state.isCurrent)), page.rest && el("pre", { tabindex: "0" }, el("code", {}, page.rest)));
      follow();
    } catch (problem) {
      fill(preview, failure(problem, draw));
    }
    state.isDrawing = false;
    if (text !== input.value) draw();
  }

  /** Scroll the preview to the position of the text. */
  function follow() {
    const share = input.scrollTop / Math.max(1, input.scrollHeight - input.clientHeight);
    preview.scrollTop = share * (preview.scrollHeight - preview.clientHeight);
  }

  async function save(expected = state.base.version) {
    if (state.isBusy || input.disabled) return;
    const { key, paper, base } = state;
    const isLeft = () => key !== state.key; // its draft keeps the text
    state.isBusy = input.readOnly = true;
    button.disabled = true;
    try {
      await write(paper, restored(), expected);
      dropDraft(paper);
      say("Saved.");
      if (!isLeft()) go(paperLink("document", paper));
    } catch (problem) {
      const panel = problem.code === "CONFLICT" ? await conflictPanel(problem, paper, base.since, { overwrite: save, discard }) : failure(problem);
      if (isLeft()) return say(problem.message);
      fill(trouble, panel);
      panel.scrollIntoView({ block: "nearest" });
    } finally {
      state.isBusy = input.readOnly = false;
      button.disabled = input.disabled;
    }
  }

  async function discard() {
    const text = "Your changes since the last save will be lost.";
    if (!(await confirmed({ title: "Discard your text?", text, button: "Discard", isDanger: true }))) return;
    dropDraft(state.paper);
    state.key = null;
    go(paperLink("document", state.paper));
  }

  function showState() {
    drop.hidden = !isDirty();
    said.textContent = isDirty() ? "Not saved. Your text is kept while this tab is open." : "Press Ctrl+S to save.";
  }

  const isDirty = () => state.base !== null && input.value !== state.base.shown;
  const restored = () => (state.base.end === "\r\n" ? input.value.replaceAll("\n", "\r\n") : input.value);

  async function show({ params }) {
    const key = JSON.stringify([params.project, params.file]);
    if (key === state.key) return;
    state.key = key;
    await source.ask(paperOf(params));
  }

  function leave() {
    state.key = null;
    source.leave();
  }

  const content = [way, el("div", { class: "view-head" }, heading, el("div", { class: "actions" }, drop, button)), said, trouble, body];
  return { content, title: ({ params }) => `Edit ${params.file ?? "the main document"}`, show, leave, field: input };
}

function previewHead(metadata) {
  const line = [metadata.title, metadata.keywords.join(", ")].filter(Boolean).join(" · ");
  return [
    line && el("p", { class: "where" }, line),
    metadata.problem && note("warn", `The front matter cannot be read: ${metadata.problem}.`),
  ];
}

/** Return the line ending of a text, because text fields support only one; null if the endings differ. */
function endOf(text) {
  const [all, long] = [text.split("\n").length, text.split("\r\n").length];
  if (text.replaceAll("\r\n", "").includes("\r") || (long > 1 && long < all)) return null;
  return long > 1 ? "\r\n" : "\n";
}
