// Moments, as people read them. All are counted by the server's clock, and stay right while the page is open.

import { el } from "./dom.js";
import { ago } from "./format.js";

const DAY_SECONDS = 86_400;
const LONG_AGO_DAYS = 30;
const TICK_MS = 5_000;
let ahead = 0; // milliseconds that the server's clock is ahead of the browser's

/** Learn what time it is on the server, from a moment in ISO 8601. */
export function setClock(moment) {
  const difference = Date.parse(moment) - Date.now();
  ahead = Math.abs(difference) < 2000 ? 0 : difference; // whole seconds, and the way here
}

/** How long ago a moment in ISO 8601 was; after a month, its day. Text that is not a moment stays as it is. */
export function agoOf(moment) {
  const at = Date.parse(moment);
  if (Number.isNaN(at)) return moment ?? "never";
  const seconds = Math.max(0, (Date.now() + ahead - at) / 1000);
  return seconds < LONG_AGO_DAYS * DAY_SECONDS ? ago(seconds) : moment.slice(0, 10);
}

/** The same as a node that counts on, with the whole moment as its tooltip. */
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
