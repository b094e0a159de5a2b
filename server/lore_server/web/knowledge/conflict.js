// A conflict: somebody else changed the document while it was edited.

import { diffOf } from "./diff.js";
import { el, timeOf } from "../shared/base.js";
import { changesSince, lastCommit, nameOf, read } from "../shared/paper.js";

/** Show who changed it, and how; `overwrite` receives the current version, `discard` drops the draft. */
export async function conflictPanel(problem, paper, since, { overwrite, discard }) {
  const [now, last, patch] = await Promise.all([orNone(read(paper)), orNone(lastCommit(paper)), since && orNone(changesSince(paper, since))]);
  return el("div", { class: "note bad failure conflict", role: "alert" },
    el("strong", {}, `Not saved: someone else changed ${nameOf(paper)} in the meantime.`),
    last && el("p", {}, `${last.author}, `, timeOf(last.date), `: ${last.message.split("\n")[0]}`),
    el("p", {}, "Your text is still here. Copy what you need from the change, or overwrite it with yours. The history keeps both.", " ", el("code", { class: "quiet" }, problem.code)),
    patch && el("details", { open: true }, el("summary", {}, "Their changes"), diffOf(patch, () => nameOf(paper))),
    el("div", { class: "actions" },
      now && el("button", { type: "button", class: "button", on: { click: () => overwrite(now.version) } }, "Overwrite with mine"),
      el("button", { type: "button", class: "button danger", on: { click: discard } }, "Discard mine…")));
}

/** Load details of a conflict. If that fails, the conflict is still shown. */
function orNone(promise) {
  return promise.catch(() => null);
}
