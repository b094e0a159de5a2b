// The state of the server, from one event stream while the tab is visible: availability, latest job and freshness of the
// index. All views use this state and the health report, so that they agree.

import * as api from "./api.js";
import { setClock } from "./time.js";

const SILENT_MS = 15_000; // the server sends something every 5 s
const RETRY_MS = [500, 1000, 2000, 5000];

/** The known state. `isUp` is null before the first event; `problem` is the reason why the index or server is unavailable. */
export const known = { isUp: null, freshness: null, problem: null, health: null };
let flight = null;
let isListening = false;
let lastJob;
let asking = null;
let isOutdated = false; // the index has changed since the health report was requested
let wake = () => {};

/** Listen while the page is open; hidden tabs close their connection, because browsers allow six per server. */
export function watchState() {
  document.addEventListener("visibilitychange", () => (document.hidden ? flight?.abort() : listen()));
  document.addEventListener("lore:unreachable", () => known.isUp && flight?.abort("unreachable"));
  document.addEventListener("lore:token", () => wake());
  document.addEventListener("lore:freshness", ({ detail }) => change({ isUp: true, freshness: detail, problem: null }));
  document.addEventListener("lore:job", ({ detail }) => detail.ended && renewHealth());
  listen();
}

/** Fetch the health report once for all concurrent requests, and announce it to every view. Throws a Problem. */
export async function learnHealth(query) {
  asking ??= requestHealth(query).finally(() => (asking = null));
  const health = await asking;
  if (health === known.health) return health;
  known.health = health;
  if (health.freshness) change({ isUp: true, freshness: health.freshness, problem: null });
  document.dispatchEvent(new CustomEvent("lore:health", { detail: health }));
  return health;
}

/** Return a health report that was requested after the last change of the index. */
async function requestHealth(query) {
  let health;
  do {
    isOutdated = false;
    health = await api.health(query);
  } while (isOutdated);
  return health;
}

function renewHealth() {
  if (asking) isOutdated = true;
  else if (known.health) learnHealth().catch(() => {});
}

async function listen() {
  if (isListening) return;
  isListening = true;
  for (let failures = 0; !document.hidden; failures += 1) {
    const problem = await hear(() => (failures = 0));
    if (!problem) continue;
    lastJob = undefined;
    change({ isUp: false, freshness: null, problem });
    await pause(problem.code === "TOKEN_REQUIRED" ? null : RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
  }
  isListening = false;
}

/** Dispatch events until the stream ends; return the problem that ended it, or null if the page ended it. */
async function hear(heard) {
  flight = new AbortController();
  let timer = watchdog();
  try {
    for await (const { data } of api.states(flight.signal)) {
      clearTimeout(timer);
      timer = watchdog();
      heard();
      receive(data);
    }
    return api.unreachable();
  } catch (problem) {
    if (problem.name === "AbortError") return null; // the tab was hidden
    return problem instanceof api.Problem ? problem : api.unreachable();
  } finally {
    clearTimeout(timer);
  }
}

const watchdog = () => setTimeout(() => flight.abort("silent"), SILENT_MS);

function receive({ job = null, freshness = null, problem = null, now }) {
  setClock(now);
  change({ isUp: true, freshness, problem });
  if (JSON.stringify(job) === lastJob) return;
  lastJob = JSON.stringify(job);
  document.dispatchEvent(new CustomEvent("lore:latest-job", { detail: job }));
}

function change(given) {
  Object.assign(known, given);
  document.dispatchEvent(new CustomEvent("lore:state"));
}

/** Wait this long, or until the reader enters a token. */
function pause(milliseconds) {
  return new Promise((resolve) => {
    wake = resolve;
    if (milliseconds !== null) setTimeout(resolve, milliseconds);
  });
}
