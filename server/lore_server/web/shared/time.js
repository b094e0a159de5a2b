// Format times for people. They use the server's clock and are updated while the page is open.

import { el } from "./dom.js";
import { ago } from "./format.js";

const DAY_SECONDS = 86_400;
const LONG_AGO_DAYS = 30;
const TICK_MS = 5_000;
let ahead = 0; // milliseconds by which the server's clock is ahead of the browser's

/** Set the server's time from an ISO 8601 timestamp. */
export function setClock(moment) {
  const difference = Date.parse(moment) - Date.now();
  ahead = Math.abs(difference) < 2000 ? 0 : difference; // ignores rounding to seconds and network delay
}

/** Return the age of an ISO 8601 timestamp; after a month, its date. Other text is unchanged. */
export function agoOf(moment) {
  const at = Date.parse(moment);
  if (Number.isNaN(at)) return moment ?? "never";
  const seconds = Math.max(0, (Date.now() + ahead - at) / 1000);
  return seconds < LONG_AGO_DAYS * DAY_SECONDS ? ago(seconds) : moment.slice(0, 10);
}

/** Return the same as a node that updates itself, with the full timestamp as its tooltip. */
export function timeOf(moment) {
  const at = Date.parse(moment);
  if (Number.isNaN(at)) return moment ?? "";
  return el("time", { datetime: moment, title: new Date(at).toLocaleString() }, agoOf(moment));
}

setInterval(() => {
  for (const node of document.querySelectorAll("time[datetime]")) {
    const text = agoOf(node.dateTime);
    if (text !== node.textContent) node.textContent = text;
  }
}, TICK_MS);
