// Notes about results: doubtful, degraded, stale or truncated replies, and failures.

import { adviceOf, isForSync, withoutCommands } from "./advice.js";
import { currentJob, startSync } from "./job.js";
import { codes, el } from "./dom.js";
import { count, plural } from "./format.js";
import { link } from "./route.js";

/** Create a note; `kind` is info, warn or bad. */
export function note(kind, ...children) {
  return el("p", { class: `note ${kind}` }, ...children);
}

/** Return the notes of a reply. */
export function notesOf(reply) {
  const fresh = reply.freshness;
  return [
    reply.doubt && note("warn", reply.doubt),
    reply.degraded && note("warn", `Degraded: ${reply.degraded}`),
    fresh?.state === "stale" && note("warn", staleness(fresh), " ", el("a", { href: link("index") }, "Sync")),
    fresh?.state === "partial" && note("warn", partiality(fresh), " ", el("a", { href: link("index") }, "See the index")),
  ].filter(Boolean);
}

/** Show a failure with advice, and a button if the page can perform the remedy. */
export function failure(problem, retry, advice = adviceOf(problem)) {
  if (problem.code === "INDEX_MISSING") return emptyIndex(problem);
  return el(
    "div",
    { class: "note bad failure", role: "alert" },
    el("strong", {}, codes(withoutCommands(problem.message || "") || "Something went wrong in the page.")),
    el("p", {}, codes(advice)),
    el("p", { class: "quiet" }, el("code", {}, problem.code ?? problem.name), problem.trace && [" · trace ", el("code", {}, problem.trace)]),
    isForSync(problem) && actionButton("Sync", syncHere),
    problem.code === "SYNC_GUARD" && actionButton("Sync and delete them", () => startSync({ allow_mass_delete: true }), "danger"),
    retry && actionButton("Try again", retry),
  );
}

const actionButton = (name, click, kind = "") => el("button", { type: "button", class: `button ${kind}`, on: { click } }, name);

function syncHere() {
  location.hash = link("index");
  startSync();
}

/** Show the state before the first sync, or how far it is. */
export function emptyIndex(problem) {
  const job = currentJob()?.state === "running" ? currentJob() : null;
  const reason = problem?.code === "INDEX_MISSING" && !/no index|is empty/i.test(problem.message) ? problem.message
    : "The first sync reads all files of the project. Later ones read only changed files.";
  return el(
    "div",
    { class: "empty" },
    el("h2", {}, job ? `The ${job.action} is running` : "Nothing is indexed yet"),
    el("p", {}, job ? stepOf(job) : reason),
    !job && el("button", { type: "button", class: "button primary big", on: { click: syncHere } }, "Sync the project"),
  );
}

const stepOf = ({ stage = "starting", done, total }) => [
  `${stage[0].toUpperCase()}${stage.slice(1)}${total ? `: ${count(done)} of ${count(total)}` : ""}. This view continues when it is done. `,
  el("a", { href: link("index") }, "Watch it"),
];

const staleness = (fresh) => `${fresh.changed_files ? plural(fresh.changed_files, "file") : "Files"} changed since the last sync.`;

function partiality(fresh) {
  if (fresh.job) return "The index is being updated.";
  if (!fresh.pending_vectors) return "The last sync did not finish.";
  return `Only keyword search finds ${plural(fresh.pending_vectors, "chunk")} so far.`;
}
