// Call the server: one function for each operation of the contract that several views use.

import { base, FRESHNESS, HEALTH, JOB, LATEST_JOB, setClock, STATE, TOKEN, token, UNREACHABLE, WRITTEN } from "./base.js";

/** An error of the server: its code, message and hint. */
export class Problem extends Error {
  constructor(record, status = 0) {
    super(record.message);
    this.code = record.code;
    this.hint = record.hint;
    this.trace = record.trace_id;
    this.status = status;
  }
}

/** The problem of a server that does not respond. */
const unreachable = () => new Problem({ code: "NO_ANSWER", message: "The server does not respond." });

/** Return ranked passages. */
export const search = (body, signal) => withFreshness(call("POST", "/api/documents/query", { body, signal }));

/** Return the classes below a class, or all classes. */
export const hierarchy = (query, signal) => call("GET", "/api/knowledge/hierarchy", { query, signal });

/** Return a page of the indexed files. */
export const sources = (query, signal) => call("GET", "/api/sources", { query, signal });

/** Return a page of the indexed passages, without their texts. */
export const passages = (query, signal) => call("GET", "/api/documents", { query, signal });

/** Return a file with the lines of its chunks. */
export const source = (query, signal) => call("GET", "/api/source", { query, signal });

/** Return the state of every part. */
const healthcheck = (query, signal) => call("GET", "/api/healthcheck", { query, signal });

/** Start a build, or join the running build. */
const manage = (body) => call("POST", "/api/db/data/manage", { body: { wait_seconds: 0, ...body } });

/** Stop a job at its next step. */
const cancel = (id) => call("POST", `/api/jobs/${encodeURIComponent(id)}/cancel`, {});

/** Return the events of an answer while it is written: {event, data}. */
export const ask = (body, signal) => stream("POST", "/api/knowledge/ask", { body, signal });

/** Save an answer as a document. */
export const saveAnswer = (body) => call("POST", "/api/projects/answers", { body });

/** Return what was asked, and what was not answered. */
export const insights = (query, signal) => call("GET", "/api/insights", { query, signal });

/** Return the results that were marked. */
export const marks = () => call("GET", "/api/insights/marks", {});

/** Mark a result: right, wrong or none. */
export const mark = (body) => call("POST", "/api/insights/marks", { body });

/** Delete the log of questions and the marks. */
export const clearInsights = () => call("POST", "/api/insights/clear", { body: { confirm: true } });

/** Return the state of the server and its changes as events: {event, data}. */
const states = (signal) => stream("GET", "/page/state", { signal });

/** Return a chunk with its text. */
export const chunk = (id, signal) => call("GET", `/api/documents/${encodeURIComponent(id)}`, { query: { max_tokens: 20_000 }, signal });

/** Return parts of files as elements. */
export const renderedParts = (parts, signal) => call("POST", "/page/markdown", { body: { parts }, signal });

/** Return the text of a document as elements, with its front matter. */
export const rendered = (text, signal) => call("POST", "/page/markdown", { body: { text }, signal });

/** Call a tool as an MCP client does; return what it passes on to its model, {text, structured}. */
export async function callTool(name, given) {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } };
  const response = await send("POST", "/mcp", "application/json, text/event-stream", { body });
  const isStream = response.headers.get("content-type").startsWith("text/event-stream");
  let reply = isStream ? null : await response.json();
  if (isStream) for await (const { data } of readEvents(response.body)) reply = data;
  if (reply.error) throw new Problem({ code: "ERROR", message: reply.error.message });
  return { text: reply.result.content.map(({ text }) => text).join("\n"), structured: reply.result.structuredContent };
}

/** Call an operation; `given` is {query, body, signal}. */
export async function call(method, path, given) {
  const response = await send(method, path, "application/json", given);
  return response.json();
}

async function* stream(method, path, given) {
  const response = await send(method, path, "text/event-stream", given);
  try {
    yield* readEvents(response.body);
  } catch (error) {
    throw signalled(error);
  }
}

async function send(method, path, accept, given) {
  const used = token();
  const response = await request(method, path, accept, given);
  if (response.status !== 401) return checked(response);
  const isOutdated = token() !== used; // the token was entered while the request was under way
  if (!isOutdated && !(await (await import("./token-dialog.js")).askForToken(used !== ""))) return checked(response);
  return send(method, path, accept, given);
}

async function request(method, path, accept, { query, body, signal }) {
  const headers = { Accept: accept };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  if (method === "POST") headers["Content-Type"] = "application/json";
  const sent = method === "POST" ? JSON.stringify(body ?? {}) : undefined;
  try {
    return await fetch(`${base}${path}${queryOf(query)}`, { method, headers, body: sent, signal, cache: "no-store" });
  } catch (error) {
    throw signalled(error);
  }
}

/** Return the error of an aborted fetch; otherwise the problem of an unreachable server, after announcing it. */
function signalled(error) {
  if (!(error instanceof TypeError)) return error;
  UNREACHABLE.tell();
  return unreachable();
}

async function checked(response) {
  if (response.ok) return response;
  const text = await response.text();
  let record;
  try {
    record = JSON.parse(text);
  } catch {
    record = { code: `HTTP_${response.status}`, message: "The server sent an invalid reply.", hint: "" };
  }
  throw new Problem(record, response.status);
}

async function withFreshness(reply) {
  const value = await reply;
  FRESHNESS.tell(value.freshness);
  return value;
}

function queryOf(query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

// Server-sent events from a fetch: EventSource can neither POST nor send a token.

/** Yield each event of a body as {event, data}; the data is JSON. */
async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).replace(/\r\n?/g, "\n").split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const event = eventOf(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function eventOf(block) {
  let event = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { event, data: JSON.parse(data.join("\n")) } : null;
}

// The state of the server, from one event stream while the tab is visible: availability, latest job, freshness, health and
// the last change of the knowledge. All views use this state, so that they agree.

const SILENT_MS = 15_000; // the server sends something every 5 s
const RETRY_MS = [500, 1000, 2000, 5000];

/** The known state. `isUp` is null before the first event; `problem` is the reason why the index or server is unavailable. */
export const known = { isUp: null, freshness: null, problem: null, health: null, written: undefined, changed: [] };
let flight = null;
let isListening = false;
let lastJob;
let wake = () => {};

/** Listen while the page is open; hidden tabs close their connection, because browsers allow six per server. */
export function watchState() {
  document.addEventListener("visibilitychange", () => (document.hidden ? flight?.abort() : listen()));
  UNREACHABLE.hear(() => known.isUp && flight?.abort("unreachable"));
  TOKEN.hear(() => wake());
  FRESHNESS.hear((freshness) => change({ isUp: true, freshness, problem: null }));
  listen();
}

/** Check every part again, and tell every view. Throws a Problem. */
export async function checkHealth() {
  const before = known.health;
  const found = await healthcheck({ refresh: true });
  if (known.health === before) learn(found); // otherwise the stream has told a newer one
}

function learn(health) {
  known.health = health;
  HEALTH.tell(health);
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
    for await (const { event, data } of states(flight.signal)) {
      clearTimeout(timer);
      timer = watchdog();
      heard();
      if (event === "health") learn(data);
      else receive(data);
    }
    return unreachable();
  } catch (problem) {
    if (problem.name === "AbortError") return null; // the tab was hidden
    return problem instanceof Problem ? problem : unreachable();
  } finally {
    clearTimeout(timer);
  }
}

const watchdog = () => setTimeout(() => flight.abort("silent"), SILENT_MS);

function receive({ job = null, freshness = null, problem = null, knowledge: { commit: written }, changed: { paths: changed = [] } = {}, now }) {
  setClock(now);
  const isWritten = known.written !== undefined && known.written !== written;
  change({ isUp: true, freshness, problem, written, changed });
  if (isWritten) WRITTEN.tell();
  if (JSON.stringify(job) === lastJob) return;
  lastJob = JSON.stringify(job);
  LATEST_JOB.tell(job);
}

function change(given) {
  Object.assign(known, given);
  STATE.tell();
}

/** Wait this long, or until the reader enters a token. */
function pause(milliseconds) {
  return new Promise((resolve) => {
    wake = resolve;
    if (milliseconds !== null) setTimeout(resolve, milliseconds);
  });
}

// The latest build: start, join and cancel it, and follow it through the state stream. Changes are announced as `lore:job`.

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
    const job = await manage(body);
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
    await cancel(current.id);
  } catch (problem) {
    CANCELLING.delete(current.id);
    show({ ...current, problem });
  }
}

LATEST_JOB.hear((job) => {
  const now = job ? `${job.id} ${job.state}` : "";
  const isOld = current !== undefined && now === streamed && job?.state !== "running"; // a refusal is newer
  streamed = now;
  if (!isOld) show(job);
});

STATE.hear(() => {
  if (known.isUp === false && current?.state === "running") show({ ...current, state: "lost" });
});

function show(job) {
  const before = current;
  const isOther = before !== undefined && before?.id !== job?.id;
  current = job && { ...job, isEnding: job.state === "running" && CANCELLING.has(job.id) };
  const ended = ["done", "failed", "cancelled"].includes(job?.state) && (isOther || GOING.includes(before?.state));
  JOB.tell({ job: current, ended });
}

// What a view shows: loaded once at a time, and again when the server returns or what it shows has changed.

/**
 * Create a resource of a part of the page: `load(given, signal)` returns what `show(found, given)` draws, and
 * `fail(problem, retry, given)` says why not. A reply that arrives after another question, or after `leave`, is dropped.
 * While the part is visible, it is loaded again when the server answers after a failure, and after `of`: "index", each
 * change of the index, or "knowledge", also each change of a document.
 */
export function resource({ part, load, show, fail, of = "" }) {
  let flight = null;
  let asked = null;
  let failed = null;
  let isStale = false; // it has changed, and was not loaded again

  /** Load; return whether it is shown now. */
  async function ask(given) {
    flight?.abort();
    const mine = (flight = new AbortController());
    [asked, failed, isStale] = [{ given }, null, false];
    try {
      const found = await load(given, mine.signal);
      if (flight !== mine) return false;
      flight = null;
      await show(found, given);
      return true;
    } catch (problem) {
      if (flight !== mine && flight !== null) return false;
      if (problem.name === "AbortError") return false;
      flight = null;
      failed = problem;
      fail(problem, () => ask(given), given);
      return false;
    }
  }

  function leave() {
    flight?.abort();
    flight = asked = failed = null;
  }

  /** Load again what the reader sees, unless it is being loaded, or the reader is in it and may lose the place. */
  function renew() {
    if (!asked || flight) return;
    isStale = !part?.checkVisibility() || (!failed && part.contains(document.activeElement));
    if (!isStale) ask(asked.given);
  }

  STATE.hear(() => failed && isCured(failed) && renew());
  JOB.hear(({ ended }) => ended && of && renew());
  WRITTEN.hear(() => of === "knowledge" && renew());
  return { ask, leave, isLoading: () => flight !== null, problem: () => failed, isStale: () => isStale };
}

/** Return whether the reason of a failure is gone: the server responds, and has an index. */
const isCured = ({ code }) => known.isUp === true && (code === "NO_ANSWER" || (code === "INDEX_MISSING" && !known.problem));
