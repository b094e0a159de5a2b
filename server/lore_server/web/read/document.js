// A file: rendered, as source, or with the passages of the index; with an outline beside it.

import { frontTable, showAuthors, ticketLine } from "./facts.js";
import { fileHistory } from "./file-history.js";
import { linesPane } from "./lines.js";
import { el, fill, go, headingsOf, linesOf, link, plural, reveal, say, span } from "../shared/base.js";
import { copyButton } from "../shared/copy.js";
import { followScroll, lastAbove, markCurrent } from "../shared/outline.js";
import { changedMark, editorAnchor, failure, headingsIn, isMarkdown, nodesOf, note, placesIn, standingMarks } from "../shared/parts.js";
import * as api from "../shared/server.js";
import { known, resource } from "../shared/server.js";

const TOKENS = 1_000_000;
const MODES = [["rendered", "Rendered"], ["source", "Source"], ["passages", "Passages"]];
const LONGEST_RENDERED = 2_000_000; // characters of a file
const RENDERED = 100_000; // characters of it that the server renders

/**
 * Return the view of `#/source/<path>?line=…&chunk=…&view=…&chapter=…`; in a `frame` of another view, `addressOf(path, params)`
 * returns the address of a place in the file.
 */
export function view(addressOf = (path, params) => link("source", path, params), frame = null) {
  const heading = el("h1", {}, "File");
  const facts = el("div", { class: "where file-head" });
  const about = el("div", {});
  const trouble = el("div", {});
  const article = el("article", { class: "prose" });
  const lines = linesPane((path, params) => addressOf(path, { ...shownParams(), ...params }), (first, last) => go(addressOf(state.path, { ...shownParams(), line: span([first, last]) })));
  const outline = el("nav", { class: "outline", "aria-label": "Outline" });
  const main = el("div", { class: "paper" }, lines.element);
  const body = el("div", { class: "beside file", hidden: true }, el("div", {}, article, main), outline);
  const past = fileHistory();
  const state = { path: null, file: null, drawn: "", params: {}, target: null };
  const file = resource({ part: heading, load, show: showFile, fail });

  async function load(path, signal) {
    let found = null;
    do {
      const page = await api.source({ path, max_tokens: TOKENS, cursor: found?.next_cursor }, signal);
      found = found ? { ...page, title: found.title, text: found.text + page.text, chunks: [...found.chunks, ...page.chunks] } : page;
    } while (found.next_cursor);
    const all = found.text.split("\n");
    if (all.length > 1 && all.length > found.lines[1]) all.pop(); // the line break of the last line
    const file = { ...found, all, isProse: isMarkdown(path) && found.text.length < LONGEST_RENDERED };
    const isWanted = state.params.view === "rendered" || defaultMode(file) === "rendered";
    return { ...file, page: file.isProse && isWanted ? await api.rendered(found.text, signal) : null };
  }

  function showFile(found, path) {
    Object.assign(state, { path, file: found, drawn: "" });
    const isTicket = found.type === "ticket";
    heading.textContent = found.title;
    fill(trouble);
    fill(about, isTicket && found.page && ticketLine(found.page.front, path), found.page && frontTable(found.page.front, isTicket),
      found.page?.metadata.problem && note("warn", `The front matter cannot be read: ${found.page.metadata.problem}.`));
    body.hidden = false;
    drawFrom();
  }

  function fail(problem, retry, path) {
    Object.assign(state, { path: null, file: null });
    heading.textContent = path;
    for (const part of [facts, about]) fill(part);
    body.hidden = true;
    fill(trouble, failure(problem, retry));
  }

  const modesOf = ({ isProse }) => MODES.filter(([name]) => name !== "rendered" || isProse);
  const modeOf = ({ view }) => modesOf(state.file).find(([name]) => name === view)?.[0] ?? defaultMode();
  const shownParams = () => ({ view: state.drawn === (state.file.isProse ? "rendered" : "source") ? "" : state.drawn });

  /** Return the mode of an address that names none: prose is rendered, unless the wanted lines are beyond what the server renders. */
  function defaultMode(file = state.file) {
    const [, last] = targetLines(file) ?? [0, 0];
    return file.isProse && file.all.slice(0, last).join("\n").length < RENDERED ? "rendered" : "source";
  }

  /** Draw the file in the wanted mode, and mark the target. */
  function draw() {
    const mode = modeOf(state.params);
    if (state.drawn !== mode) {
      state.drawn = mode;
      article.hidden = mode !== "rendered";
      main.hidden = mode === "rendered";
      if (mode === "rendered") showRendered();
      else lines.show(state.path, state.file.all, state.file.chunks.map((chunk) => chunk.lines[0] - 1), mode === "passages" ? state.file.chunks : []);
      showOutline(mode);
    }
    showFacts(mode);
    showTarget(mode);
  }

  function showRendered() {
    const { page, text, title, type } = state.file;
    const linesIn = (part) => part.split("\n").length;
    const nodes = nodesOf(page.elements, placesIn(state.path));
    const first = nodes.find(({ localName }) => /^h\d$/.test(localName));
    if (first?.textContent === title) first.classList.add("unseen"); // the page's own heading
    fill(article, nodes, page.rest && [
      note("warn", "The rest is too long to render and is shown as plain text."),
      el("pre", { tabindex: "0", "data-line": linesIn(text) - linesIn(page.rest) + 1 }, el("code", {}, page.rest)),
    ]);
    if (type === "ticket") showAuthors(article);
  }

  function showFacts(mode) {
    const { path, params, file: found } = state;
    const target = targetLines();
    const other = (view) => addressOf(path, { ...params, view: view === defaultMode() ? "" : view });
    fill(facts,
      el("span", { class: "modes", role: "group", "aria-label": "Show as" },
        modesOf(found).map(([name, label]) => el("a", { href: other(name), "aria-current": name === mode ? "true" : null }, label))),
      el("code", { class: "path" }, path), el("span", { class: "type" }, found.type), el("span", {}, plural(found.all.length, "line")),
      standingMarks(found), found.changed && changedMark(),
      el("span", { class: "copies", role: "group", "aria-label": "Copy" }, el("span", { "aria-hidden": "true" }, "Copy"),
        copyButton(target ? "path:lines" : "path", () => (target ? `${path}:${span(target)}` : path)),
        copyButton("link", () => location.href),
        copyButton("citation", () => citation(target)),
        copyButton(found.isProse ? "text" : "code", () => (target ? found.all.slice(target[0] - 1, target[1]) : found.all).join("\n"))),
      editorAnchor(path, target?.[0] ?? 1), past.button);
    past.show(path, target);
  }

  /** Return a Markdown link that names the file, the lines, and the commit that is indexed. */
  function citation(target) {
    const { commit } = known.freshness ?? {};
    const name = `${state.path}${target ? `:${span(target)}` : ""}${commit ? ` @ ${commit.slice(0, 7)}` : ""}`;
    return `[${state.file.title.replace(/[[\]\\]/g, "\\$&")} (${name})](${location.href.replaceAll(")", "%29")})`;
  }

  function showOutline(mode) {
    const rows = mode === "rendered"
      ? headingsIn(article).map((node) => outlineRow(addressOf(state.path, { chapter: node.dataset.anchor }), node.dataset.anchor, node.textContent, "", Number(node.localName[1]) - 1))
      : (mode === "source" ? wholes : (all) => all)(state.file.chunks).map(({ id, ids = id, heading, kind, lines: its }) => outlineRow(addressOf(state.path, { ...shownParams(), line: span(its), chunk: id }), ids, ...namesOf(kind, heading, its), heading.split(" > ").length));
    fill(outline, rows.length > 0 && [el("h2", {}, mode === "rendered" ? "Chapters" : mode === "passages" ? plural(rows.length, "passage") : "Outline"), el("ol", {}, rows)]);
  }

  const chunkOf = ({ chunk }, file = state.file) => file.chunks.find((candidate) => candidate.id === chunk);

  function targetLines(file = state.file) {
    const [first, last] = linesOf(state.params) ?? chunkOf(state.params, file)?.lines ?? [];
    return first && first <= file.all.length ? [first, Math.min(last, file.all.length)] : null;
  }

  function showTarget(mode) {
    const target = targetLines();
    const { chunk, chapter } = state.params;
    const node = mode === "rendered" ? markRendered(target, chapter) : markLines(target, chunk);
    const id = !node ? null : mode === "rendered" ? headingBefore(node) : (chunkOf(state.params) ?? innermost(target[0]))?.id;
    state.target = node && { node, id };
    markCurrent(outline, id);
    if (!node) return;
    const isLong = target && target[1] - target[0] > 10;
    reveal(node, isLong || chapter || node.matches(".chunk-head") ? "start" : "center");
    say(target ? `${target[0] === target[1] ? "Line" : "Lines"} ${span(target)}` : node.textContent);
  }

  function markLines(target, chunk) {
    const line = lines.mark(...(target ?? [0, 0]));
    const head = target && chunk ? main.querySelector(`[data-chunk="${CSS.escape(chunk)}"]`) : null;
    head?.classList.add("is-target");
    return head && chunkOf(state.params)?.lines[0] === target[0] ? head : line;
  }

  /** Mark the rendered blocks of the lines; return the first. */
  function markRendered(target, chapter) {
    const blocks = [...article.querySelectorAll(":scope > [data-line]")];
    const begin = (at) => (at < blocks.length ? Number(blocks[at].dataset.line) : Infinity);
    const marked = blocks.filter((block, at) => block.classList.toggle("is-target", target !== null && begin(at) <= target[1] && begin(at + 1) > target[0]));
    return chapter ? (headingsIn(article).find((node) => node.dataset.anchor === chapter) ?? null) : (marked.find((block) => !block.matches(".unseen")) ?? null);
  }

  /** Return the smallest chunk that contains a line, otherwise the previous chunk. */
  function innermost(line) {
    const around = state.file.chunks.filter((candidate) => candidate.lines[0] <= line && line <= candidate.lines[1]);
    const size = ({ lines: [first, last] }) => last - first;
    return around.sort((left, right) => size(left) - size(right))[0] ?? state.file.chunks.findLast((candidate) => candidate.lines[0] <= line);
  }

  const headingBefore = (node) => headingsIn(article).findLast((candidate) => candidate === node || candidate.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING)?.dataset.anchor;

  followScroll(outline, (top) => {
    if (state.drawn === "rendered") return lastAbove(headingsIn(article), top)?.dataset.anchor;
    const line = lines.lineAt(top);
    return line && innermost(line)?.id;
  }, () => state.target);

  async function showRoute({ path, params }) {
    state.params = params;
    if (path === state.path && state.file && (state.file.page || modeOf(params) !== "rendered")) return drawFrom();
    Object.assign(state, { path: null, file: null });
    for (const part of [trouble, facts, about]) fill(part);
    body.hidden = true;
    heading.textContent = path;
    await file.ask(path);
  }

  function drawFrom() {
    draw();
    if (!state.target) (frame ?? window).scrollTo(0, 0);
  }

  const content = [el("div", { class: "view-head" }, heading), about, facts, past.panel, trouble, body];
  return { content, title: (route) => route.path, show: showRoute, leave: file.leave };
}

/** Return the rows of an outline: the parts of a long definition are one, with all their ids; those of a long module are not. */
function wholes(chunks) {
  const found = [];
  for (const { id, heading, kind, lines } of chunks) {
    const last = found.at(-1);
    if (last?.heading !== heading || last.kind !== kind || kind === "module" || lines[0] <= last.lines[1]) found.push({ id, ids: id, heading, kind, lines });
    else Object.assign(last, { ids: `${last.ids} ${id}`, lines: [last.lines[0], lines[1]] });
  }
  return found;
}

/** Return the name of a passage and what else is known of it; imports may belong to the passage that is named. */
export function namesOf(kind, heading, lines) {
  const name = kind === "imports" ? "" : headingsOf(heading).at(-1);
  return name ? [name, `${kind} · ${span(lines)}`] : [kind, span(lines)];
}

function outlineRow(href, id, name, more, level) {
  return el("li", { class: `at-h${Math.min(level + 1, 6)}` }, el("a", { href, "data-id": id },
    el("span", { class: "outline-name" }, name), more && el("span", { class: "quiet" }, more)));
}
