// Show a git patch by file and hunk. Each line keeps its sign, so that colour is not required.

import { count, el, plural } from "../shared/base.js";

const MAX_LINES = 2000;
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const KINDS = { "+": "added", "-": "removed" };
const SIGNS = { "+": "+", "-": "−" };

/** Parse the files of a patch: {path, note, hunks: [{at, lines}]}. The header of a hunk limits its lines. */
export function filesOf(patch) {
  const files = [];
  let left = { old: 0, new: 0 };
  for (const line of patch.split("\n")) {
    const file = files.at(-1);
    if (left.old > 0 || left.new > 0) {
      file.hunks.at(-1).lines.push(line);
      if (!line.startsWith("+") && !line.startsWith("\\")) left.old -= 1;
      if (!line.startsWith("-") && !line.startsWith("\\")) left.new -= 1;
    } else if (line.startsWith("diff --git ")) {
      files.push({ path: line.slice(13, 13 + (line.length - 16) / 2), note: "", hunks: [] }); // a/path b/path: no renames
    } else if (HUNK.test(line)) {
      const [, , oldLines = "1", at, newLines = "1"] = line.match(HUNK);
      left = { old: Number(oldLines), new: Number(newLines) };
      file.hunks.push({ at: Number(at), lines: [] });
    } else if (/^(new|deleted) file|^Binary files/.test(line)) {
      file.note = line.replace(/ mode \d+$/, "").replace(/^Binary.*/, "binary");
    } else if (line.startsWith("\\") && file?.hunks.length) {
      file.hunks.at(-1).lines.push(line);
    }
  }
  return files;
}

/** Render a patch as nodes; `nameOf` returns the display name of a path. */
export function diffOf(patch, nameOf = (path) => path) {
  const files = filesOf(patch);
  if (!files.length) return [el("p", { class: "quiet" }, "No lines differ.")];
  let room = MAX_LINES;
  return files.map((file) => {
    const rows = file.hunks.flatMap((hunk) => [el("div", { class: "hunk" }, `from line ${count(hunk.at)}`), ...hunk.lines.map(lineOf)]);
    const shown = rows.slice(0, Math.max(0, room));
    room -= shown.length;
    return el("section", { class: "diff", "aria-label": `Changes to ${nameOf(file.path)}` },
      el("h2", {}, el("code", {}, nameOf(file.path)), file.note && el("span", { class: "quiet" }, ` ${file.note}`), tally(file)),
      linesOf(shown, rows.slice(shown.length)));
  });
}

function linesOf(shown, rest) {
  const lines = el("div", { class: "diff-lines", tabindex: "0" }, shown);
  const more = el("button", { type: "button", class: "button more", on: { click: () => (lines.append(...rest), more.remove()) } }, `Show ${plural(rest.length, "more line")}`);
  return [lines, rest.length > 0 && more];
}

function tally(file) {
  const lines = file.hunks.flatMap((hunk) => hunk.lines);
  const [added, removed] = ["+", "-"].map((sign) => lines.filter((line) => line.startsWith(sign)).length);
  return el("span", { class: "tally" }, el("span", { class: "added" }, `+${count(added)}`), el("span", { class: "removed" }, `−${count(removed)}`));
}

function lineOf(line) {
  if (line.startsWith("\\")) return el("div", { class: "diff-line quiet" }, el("span", { class: "sign-of" }), el("span", {}, line.slice(2)));
  const sign = line[0];
  const tag = { "+": "ins", "-": "del" }[sign] ?? "span";
  return el("div", { class: `diff-line ${KINDS[sign] ?? ""}` }, el("span", { class: "sign-of" }, SIGNS[sign] ?? ""), el(tag, {}, line.slice(1) || "\u00a0"));
}
