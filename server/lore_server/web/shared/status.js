// The pill in the top bar: freshness of the index, branch and running build.

import { byId } from "./dom.js";
import { count, plural } from "./format.js";
import { currentJob } from "./job.js";
import { known } from "./state.js";
import { agoOf } from "./time.js";

/** Show the state whenever it changes. */
export function watchStatus() {
  document.addEventListener("lore:state", show);
  document.addEventListener("lore:job", show);
  show();
}

function show() {
  const pill = byId("pill");
  const { state, text, title } = known.isUp && currentJob()?.state === "running" ? running(currentJob()) : resting();
  pill.dataset.state = state;
  pill.title = title;
  pill.setAttribute("aria-label", `Index: ${title}`);
  byId("pill-text").textContent = text;
}

function running(job) {
  const share = job.total ? ` ${Math.floor((100 * job.done) / job.total)} %` : "";
  return { state: "running", text: `${job.action}${share}`, title: `${job.action} is running: ${job.stage ?? "starting"}${share}` };
}

function resting() {
  const { isUp, problem, freshness } = known;
  if (problem?.code === "TOKEN_REQUIRED") return { state: "failed", text: "no token", title: "the server requires its token" };
  if (isUp === false) return { state: "failed", text: "no response", title: "the server does not respond" };
  if (problem?.code === "INDEX_MISSING") return { state: "empty", text: "no index", title: "nothing is indexed yet" };
  if (problem) return { state: "failed", text: "index failed", title: problem.message };
  if (!freshness) return { state: "unknown", text: "…", title: "unknown" };
  const head = freshness.commit ? ` · ${freshness.branch ?? "detached"}@${freshness.commit.slice(0, 7)}` : "";
  const text = `${freshness.state}${pending(freshness)}`;
  return { state: freshness.state, text: `${text}${head}`, title: `${text}, synced ${agoOf(freshness.synced_at)}${head}` };
}

function pending(freshness) {
  if (freshness.state === "stale" && freshness.changed_files) return `, ${plural(freshness.changed_files, "file")}`;
  return freshness.state === "partial" && freshness.pending_vectors ? `, ${count(freshness.pending_vectors)} pending` : "";
}
