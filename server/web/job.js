// The build that is running: started, joined, followed to its end, cancelled. Everyone hears of it as `lore:job`.

import * as api from "./api.js";

let current = null;
let followed = null;

/** The last record that is known of the latest job. */
export const currentJob = () => current;

/** Start a sync and follow it. */
export const startSync = (given = {}) => start({ action: "sync", ...given });

/** Start a build and follow it; a refusal is told as a job that failed at once. */
export async function start(body) {
  try {
    tell(await api.manage(body));
    if (current.state === "running") follow(current.id);
  } catch (problem) {
    if (problem.code === "BUSY" && (await resume())) return;
    tell({ id: "", action: body.action, state: "failed", seconds: 0, problem });
  }
}

/** Pick up the latest job, running or not; whether there is one. */
export async function resume() {
  try {
    tell(await api.job("latest"));
  } catch (problem) {
    if (problem.code === "JOB_NOT_FOUND") return false;
    throw problem;
  }
  if (current.state === "running") follow(current.id);
  return true;
}

/** Ask the running job to end at its next step. */
export async function cancelJob() {
  if (current?.state !== "running") return;
  tell({ ...current, isEnding: true });
  await api.cancel(current.id);
}

/** Follow a job until it ends; where the connection is lost, look again. */
export async function follow(id) {
  if (followed === id) return;
  followed = id;
  try {
    for await (const { event, data } of api.follow(id)) {
      if (event === "job") tell(data);
    }
    if (current?.id === id && current.state === "running") tell(await api.job(id));
  } catch (problem) {
    tell({ ...(current ?? { id, action: "sync", seconds: 0 }), state: "lost", problem });
  } finally {
    followed = null;
  }
}

function tell(record) {
  const ended = current?.state === "running" && record.state !== "running";
  const isEnding = record.state === "running" && (record.isEnding ?? (current?.id === record.id && current.isEnding));
  current = { ...record, isEnding };
  document.dispatchEvent(new CustomEvent("lore:job", { detail: { job: current, ended } }));
}
