// Unsaved text: kept for this tab, also across reloads; the browser asks before it is lost.

const KEPT = "lore-draft:";
const drafts = new Map(Object.entries(sessionStorage).filter(([key]) => key.startsWith(KEPT)).map(([key, value]) => [key, JSON.parse(value)]));

/** Return the stored draft of a paper, {text, version, since}, or undefined. */
export const draftOf = (paper) => drafts.get(keyOf(paper));

/** Keep a draft. */
export function keepDraft(paper, draft) {
  drafts.set(keyOf(paper), draft);
  try {
    sessionStorage.setItem(keyOf(paper), JSON.stringify(draft));
  } catch (problem) {
    if (problem.name !== "QuotaExceededError") throw problem;
    sessionStorage.removeItem(keyOf(paper)); // the text stays in the page, and the browser asks before closing it
  }
}

/** Remove the draft after it was saved or discarded. */
export function dropDraft(paper) {
  drafts.delete(keyOf(paper));
  sessionStorage.removeItem(keyOf(paper));
}

addEventListener("beforeunload", (event) => {
  if (drafts.size) event.preventDefault();
});

const keyOf = ({ project, file }) => KEPT + JSON.stringify([project, file ?? null]);
