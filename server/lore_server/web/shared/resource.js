// What a view shows: loaded once at a time, and again when the server returns or the index has changed.

import { known } from "./state.js";

/**
 * Create a resource: `load(given, signal)` returns what `show(found, given)` draws, `fail(problem, retry)` says why not.
 * A reply that arrives after another question, or after `leave`, is dropped. With `isShown`, the resource is loaded again
 * when the server answers after a failure; with `isOfIndex` too, also after each change of the index.
 */
export function resource({ load, show, fail, isShown = () => false, isOfIndex = false }) {
  let flight = null;
  let asked;
  let failed = null;

  /** Load; return whether it is shown now. */
  async function ask(given) {
    flight?.abort();
    const mine = (flight = new AbortController());
    [asked, failed] = [given, null];
    try {
      const found = await load(given, mine.signal);
      if (flight !== mine) return false;
      flight = null;
      show(found, given);
      return true;
    } catch (problem) {
      if (flight !== mine) return false;
      flight = null;
      failed = problem;
      fail(problem, () => ask(given), given);
      return false;
    }
  }

  function leave() {
    flight?.abort();
    flight = null;
  }

  document.addEventListener("lore:state", () => failed && isShown() && isCured(failed) && ask(asked));
  document.addEventListener("lore:job", ({ detail }) => detail.ended && isOfIndex && asked !== undefined && !flight && isShown() && ask(asked));
  return { ask, leave, isLoading: () => flight !== null };
}

/** Return whether the reason of a failure is gone: the server responds, and has an index. */
export const isCured = ({ code }) => known.isUp === true && (code === "NO_ANSWER" || (code === "INDEX_MISSING" && !known.problem));
