// Which searches of a field become steps of the history: those that were sent, read or come back to, not each key.

import { settle } from "./route.js";

const READ_MS = 3000; // results that were looked at for so long were read

/** Keeps the address of a field that searches while one types. */
export function searchSteps(input) {
  let isKept = false;
  let shownAt = Infinity;
  input.addEventListener("change", () => (isKept = true));
  input.addEventListener("input", () => (isKept ||= performance.now() - shownAt > READ_MS));
  return {
    /** What the address says is a step to come back to. */
    keep() {
      isKept = true;
    },
    /** Results are there to be read. */
    shown() {
      shownAt = performance.now();
    },
    /** Put what is asked now in the address. */
    settle(fragment) {
      if (fragment === location.hash) return settle(fragment);
      settle(fragment, isKept);
      isKept = false;
      shownAt = Infinity;
    },
  };
}
