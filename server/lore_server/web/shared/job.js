// The latest build: start, join and cancel it, and follow it through the state stream. Changes are announced as `lore:job`.

import * as api from "./api.js";
import { known } from "./state.js";

const CANCELLING = new Set();
const GOING = ["running", "lost"];
let current;
let streamed = "";

/** Return the latest known job; null if there has been none, undefined if that is unknown. */
export const currentJob = () => current;

/** Start a sync. */
export const startSync = (given = {}) => start({ action: "sync", ...given });

/** Start a build; a refusal is shown as a failed job. */
export async function start(body) {
  const before = streamed;
  try {
    const job = await api.manage(body);
    const isLate = streamed !== before && current?.id === job.id; // the stream has announced it, maybe also its end
    if (!isLate) show(job);
  } catch (problem) {
    if (problem.code === "BUSY" && current?.state === "running") return; // its card is already shown
    show({ id: "", action: body.action, state: "failed", seconds: 0, problem });
  }
}

/** Ask the running job to stop at its next step. */
export async function cancelJob() {
  if (current?.state !== "running") return;
  CANCELLING.add(current.id);
  show(current);
  try {
    await api.cancel(current.id);
  } catch (problem) {
    CANCELLING.delete(current.id);
    show({ ...current, problem });
  }
}

document.addEventListener("lore:latest-job", ({ detail: job }) => {
  const now = job ? `${job.id} ${job.state}` : "";
  const isOld = current !== undefined && now === streamed && job?.state !== "running"; // a refusal is newer
  streamed = now;
  if (!isOld) show(job);
});

document.addEventListener("lore:state", () => {
  if (known.isUp === false && current?.state === "running") show({ ...current, state: "lost" });
});

function show(job) {
  const before = current;
  const isOther = before !== undefined && before?.id !== job?.id;
  current = job && { ...job, isEnding: job.state === "running" && CANCELLING.has(job.id) };
  const ended = ["done", "failed", "cancelled"].includes(job?.state) && (isOther || GOING.includes(before?.state));
  document.dispatchEvent(new CustomEvent("lore:job", { detail: { job: current, ended } }));
}
