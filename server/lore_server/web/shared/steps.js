// Decide which searches become history entries: submitted, read or revisited ones, not every keystroke.

import { settle } from "./route.js";

const READ_MS = 3000; // results shown for this long count as read

/** Maintain the address for a field that searches while the user types. */
export function searchSteps(input) {
  let isKept = false;
  let shownAt = Infinity;
  input.addEventListener("change", () => (isKept = true));
  input.addEventListener("input", () => (isKept ||= performance.now() - shownAt > READ_MS));
  return {
    /** Make the current address a history entry. */
    keep() {
      isKept = true;
    },
    /** Start the reading time of the results. */
    shown() {
      shownAt = performance.now();
    },
    /** Put the current query in the address. */
    settle(fragment) {
      if (fragment === location.hash) return settle(fragment);
      settle(fragment, isKept || !location.hash.includes("?")); // a first search leads back to the empty field
      isKept = false;
      shownAt = Infinity;
    },
  };
}
