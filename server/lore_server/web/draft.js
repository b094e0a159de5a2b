// Text that was typed and not saved: kept for this tab, also over a reload; the browser asks before it would be lost.

const KEPT = "lore-draft:";
const drafts = new Map(Object.entries(sessionStorage).filter(([key]) => key.startsWith(KEPT)).map(([key, value]) => [key, JSON.parse(value)]));

/** The draft of a paper: {text, version, since} as it was kept, or undefined. */
export const draftOf = (paper) => drafts.get(keyOf(paper));

/** Keep a draft. */
export function keepDraft(paper, draft) {
  drafts.set(keyOf(paper), draft);
  try {
    sessionStorage.setItem(keyOf(paper), JSON.stringify(draft));
  } catch (problem) {
    if (problem.name !== "QuotaExceededError") throw problem;
    sessionStorage.removeItem(keyOf(paper)); // it stays in the page, and closing it asks
  }
}

/** The draft was saved, or is not wanted. */
export function dropDraft(paper) {
  drafts.delete(keyOf(paper));
  sessionStorage.removeItem(keyOf(paper));
}

addEventListener("beforeunload", (event) => {
  if (drafts.size) event.preventDefault();
});

const keyOf = ({ project, file }) => KEPT + JSON.stringify([project, file ?? null]);
