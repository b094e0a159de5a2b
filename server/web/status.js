// The pill in the top bar: how fresh the index is, on which branch, and the build that runs.

import * as api from "./api.js";
import { byId } from "./dom.js";
import { ago, count, plural } from "./format.js";
import { follow } from "./job.js";
import { project } from "./project.js";

const EVERY_MS = 30_000;
let fresh = null;
let job = null;

/** Show the state now, whenever a reply brings it, and from time to time while the page is looked at. */
export function watchStatus() {
  document.addEventListener("lore:freshness", ({ detail }) => {
    fresh = detail;
    if (fresh.job && job?.state !== "running") follow(fresh.job);
    show();
  });
  document.addEventListener("lore:job", ({ detail }) => {
    job = detail.job;
    show();
    if (detail.ended) look();
  });
  document.addEventListener("visibilitychange", () => document.hidden || look());
  setInterval(() => document.hidden || look(), EVERY_MS);
  look();
}

/** One small search says how fresh the index is, and warms the model for the next one. */
async function look() {
  try {
    await api.search({ query: project || "lore", limit: 1 });
  } catch (problem) {
    fresh = { state: problem.code === "INDEX_MISSING" ? "empty" : "failed", problem };
    show();
  }
}

function show() {
  const pill = byId("pill");
  const { state, text, title } = job?.state === "running" ? running() : resting();
  pill.dataset.state = state;
  pill.title = title;
  pill.setAttribute("aria-label", `Index: ${title}`);
  byId("pill-text").textContent = text;
}

function running() {
  const share = job.total ? ` ${Math.floor((100 * job.done) / job.total)} %` : "";
  return { state: "running", text: `${job.action}${share}`, title: `${job.action} is running: ${job.stage ?? "starting"}${share}` };
}

function resting() {
  if (!fresh) return { state: "unknown", text: "…", title: "not known yet" };
  if (fresh.state === "empty") return { state: "empty", text: "no index", title: "nothing is indexed yet" };
  if (fresh.state === "failed") return { state: "failed", text: "no answer", title: fresh.problem.message };
  const head = fresh.commit ? ` · ${fresh.branch ?? "detached"}@${fresh.commit.slice(0, 7)}` : "";
  return { state: fresh.state, text: `${fresh.state}${pending()}${head}`, title: `${fresh.state}${pending()}, synced ${ago(fresh.age_seconds)}${head}` };
}

function pending() {
  if (fresh.state === "stale" && fresh.changed_files) return `, ${plural(fresh.changed_files, "file")}`;
  return fresh.state === "partial" && fresh.pending_vectors ? `, ${count(fresh.pending_vectors)} pending` : "";
}
