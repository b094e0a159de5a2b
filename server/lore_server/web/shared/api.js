// Call the server: one function for each operation of the contract that the page uses.

import { readEvents } from "./events.js";
import { base, token } from "./project.js";
import { askForToken } from "./token.js";

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
export const unreachable = () => new Problem({ code: "NO_ANSWER", message: "The server does not respond." });

/** Return ranked passages. */
export const search = (body, signal) => withFreshness(call("POST", "/api/documents/query", { body, signal }));

/** Return the classes below a class, or all classes. */
export const hierarchy = (query, signal) => call("GET", "/api/knowledge/hierarchy", { query, signal });

/** Return a page of the indexed files. */
export const sources = (query, signal) => call("GET", "/api/sources", { query, signal });

/** Return a file with the lines of its chunks. */
export const source = (query, signal) => call("GET", "/api/source", { query, signal });

/** Return the state of every part. */
export const health = (query, signal) => call("GET", "/api/healthcheck", { query, signal });

/** Start a build, or join the running build. */
export const manage = (body) => call("POST", "/api/db/data/manage", { body: { wait_seconds: 0, ...body } });

/** Stop a job at its next step. */
export const cancel = (id) => call("POST", `/api/jobs/${encodeURIComponent(id)}/cancel`, {});

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
export const states = (signal) => stream("GET", "/page/state", { signal });

/** Return the projects with knowledge, and the default project. */
export const projects = (signal) => call("GET", "/api/projects", { signal });

/** Delete a project's knowledge. */
export const deleteProject = (body) => call("POST", "/api/projects/delete", { body });

/** Return a project's main document, now or in a commit. */
export const mainDocument = (query, signal) => call("GET", "/api/projects/main", { query, signal });

/** Replace a project's main document. */
export const writeMain = (body) => call("POST", "/api/projects/main", { body });

/** Return the knowledge documents of a project. */
export const papers = (query, signal) => call("GET", "/api/projects/files", { query, signal });

/** Return documents that contain the words of a query. */
export const searchPapers = (body, signal) => call("POST", "/api/projects/search", { body, signal });

/** Create a document. */
export const createPaper = (body) => call("POST", "/api/projects/files", { body });

/** Return a whole document, now or in a commit. */
export const paper = (query, signal) => call("GET", "/api/projects/file", { query, signal });

/** Replace a document's text. */
export const writePaper = (body) => call("POST", "/api/projects/file", { body });

/** Delete a document. */
export const deletePaper = (body) => call("POST", "/api/projects/file/delete", { body });

/** Return commits, or the changes of a commit. */
export const history = (query, signal) => call("GET", "/api/projects/history", { query, signal });

/** Revert a commit. */
export const revert = (body) => call("POST", "/api/projects/revert", { body });

/** Return parts of files as elements. */
export const renderedParts = (parts, signal) => call("POST", "/page/markdown", { body: { parts }, signal });

/** Return the text of a document as elements, with its front matter. */
export const rendered = (text, signal) => call("POST", "/page/markdown", { body: { text }, signal });

async function call(method, path, given) {
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
  if (!isOutdated && !(await askForToken(used !== ""))) return checked(response);
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
  document.dispatchEvent(new CustomEvent("lore:unreachable"));
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
  document.dispatchEvent(new CustomEvent("lore:freshness", { detail: value.freshness }));
  return value;
}

function queryOf(query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}
