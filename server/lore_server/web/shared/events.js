// The events of the page, each by one name: who tells something does not know who hears it.

/** What is known of the server has changed. */
export const STATE = event("state");

/** The stream names the latest build. */
export const LATEST_JOB = event("latest-job");

/** The build has changed: {job, ended}. */
export const JOB = event("job");

/** The server has reported the health of its parts. */
export const HEALTH = event("health");

/** An agent or a person has changed a knowledge document or a memory. */
export const WRITTEN = event("written");

/** A reply says how fresh the index is. */
export const FRESHNESS = event("freshness");

/** A request has failed because the server does not respond. */
export const UNREACHABLE = event("unreachable");

/** The reader has entered the token. */
export const TOKEN = event("token");

/** The address describes what is shown. */
export const SETTLED = event("settled");

/** The reader wants to type a search. */
export const SEARCH_WANTED = event("search-wanted");

function event(name) {
  const full = `lore:${name}`;
  return {
    tell: (detail) => document.dispatchEvent(new CustomEvent(full, { detail })),
    hear: (act) => document.addEventListener(full, ({ detail }) => act(detail)),
  };
}
