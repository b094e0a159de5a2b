// What the server answers: one function for each operation of the contract that the page uses.

import { readEvents } from "./events.js";
import { token } from "./project.js";
import { askForToken } from "./token.js";

/** What the server answered instead of a result: a code, what happened, and what to do. */
export class Problem extends Error {
  constructor(record, status = 0) {
    super(record.message);
    this.code = record.code;
    this.hint = record.hint;
    this.trace = record.trace_id;
    this.status = status;
  }
}

/** The problem of a server that does not answer. */
export const unreachable = () => new Problem({ code: "NO_ANSWER", message: "The server does not respond." });

/** Ranked passages. */
export const search = (body, signal) => withFreshness(call("POST", "/api/documents/query", { body, signal }));

/** The classes under one, or all. */
export const hierarchy = (query, signal) => call("GET", "/api/knowledge/hierarchy", { query, signal });

/** A page of the indexed files. */
export const sources = (query, signal) => call("GET", "/api/sources", { query, signal });

/** A file with the lines of its chunks. */
export const source = (query, signal) => call("GET", "/api/source", { query, signal });

/** The state of every part. */
export const health = (query, signal) => call("GET", "/api/healthcheck", { query, signal });

/** Start a build, or join the one that runs. */
export const manage = (body) => call("POST", "/api/db/data/manage", { body: { wait_seconds: 0, ...body } });

/** Stop a job at its next step. */
export const cancel = (id) => call("POST", `/api/jobs/${encodeURIComponent(id)}/cancel`, {});

/** The events of an answer while it is written: {event, data}. */
export const ask = (body, signal) => stream("POST", "/api/knowledge/ask", { body, signal });

/** The state of the server and each change of it: {event, data}. */
export const states = (signal) => stream("GET", "/page/state", { signal });

/** The projects that have knowledge, and which one is meant where none is named. */
export const projects = (signal) => call("GET", "/api/projects", { signal });

/** Delete a project's knowledge. */
export const deleteProject = (body) => call("POST", "/api/projects/delete", { body });

/** A project's main document, now or as a commit has it. */
export const mainDocument = (query, signal) => call("GET", "/api/projects/main", { query, signal });

/** Replace a project's main document. */
export const writeMain = (body) => call("POST", "/api/projects/main", { body });

/** The knowledge documents of a project. */
export const papers = (query, signal) => call("GET", "/api/projects/files", { query, signal });

/** Documents that hold some words. */
export const searchPapers = (body, signal) => call("POST", "/api/projects/search", { body, signal });

/** A new document. */
export const createPaper = (body) => call("POST", "/api/projects/files", { body });

/** A whole document, now or as a commit has it. */
export const paper = (query, signal) => call("GET", "/api/projects/file", { query, signal });

/** Replace a document's text. */
export const writePaper = (body) => call("POST", "/api/projects/file", { body });

/** Delete a document. */
export const deletePaper = (body) => call("POST", "/api/projects/file/delete", { body });

/** Commits, or what one changed. */
export const history = (query, signal) => call("GET", "/api/projects/history", { query, signal });

/** Take a commit back. */
export const revert = (body) => call("POST", "/api/projects/revert", { body });

/** The text of a document as elements, with what its front matter says. */
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
  const response = await request(method, path, accept, given);
  if (response.status !== 401) return checked(response);
  if (!(await askForToken(token() !== ""))) return checked(response);
  return send(method, path, accept, given);
}

async function request(method, path, accept, { query, body, signal }) {
  const headers = { Accept: accept };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  if (method === "POST") headers["Content-Type"] = "application/json";
  const sent = method === "POST" ? JSON.stringify(body ?? {}) : undefined;
  try {
    return await fetch(`${path}${queryOf(query)}`, { method, headers, body: sent, signal, cache: "no-store" });
  } catch (error) {
    throw signalled(error);
  }
}

/** The error of a fetch that was aborted, else the problem that the server cannot be reached, which everyone hears of. */
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
