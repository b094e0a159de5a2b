// Moments, as people read them.

import { el } from "./dom.js";
import { ago } from "./format.js";

const DAY_SECONDS = 86_400;
const LONG_AGO_DAYS = 30;

/** A moment in ISO 8601 as a node: how long ago, later its day, and the whole of it behind. What is none stays text. */
export function timeOf(moment) {
  const at = Date.parse(moment);
  if (Number.isNaN(at)) return moment ?? "";
  const seconds = Math.max(0, (Date.now() - at) / 1000);
  const text = seconds < LONG_AGO_DAYS * DAY_SECONDS ? ago(seconds) : moment.slice(0, 10);
  return el("time", { datetime: moment, title: new Date(at).toLocaleString() }, text);
}
