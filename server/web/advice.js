// What a reader of the page can do about a problem. The server's own hints are for agents and for the shell.

const ENTER_ELSE = "Change what you entered and try again.";
const RELOAD = "Reload the page: it may be older than the server.";
const LOOK_AGAIN = "Go back to the list: it shows what there is now.";
const SYNC = "A sync repairs it. Nothing is lost: the index is built from your files.";
const DISK = "Check the free space and the permissions of the folder on the machine where the server runs.";
const CONFIGURE = "Correct the configuration of the project, then start the server again.";
const LATER = "Wait a moment, then try again.";

const ADVICE = {
  ERROR: "Look at Health to see what is wrong.",
  USAGE: RELOAD,
  INVALID_ARGUMENT: ENTER_ELSE,
  INVALID_INPUT: ENTER_ELSE,
  INVALID_SEARCH_QUERY: "Search for a few words.",
  UNKNOWN_OPERATION: RELOAD,
  TOKEN_REQUIRED: "Enter the token of the server when the page asks for it.",
  CONFIG_ERROR: CONFIGURE,
  CONFIRMATION_REQUIRED: "Start it again and confirm.",
  INVALID_PROJECT_ID: "Choose a project from the list in Knowledge.",
  INVALID_FILENAME: "Choose a title with letters or digits.",
  INVALID_GROUP_ID: "Choose a short name.",
  PATH_REFUSED: "Open a file from the list in Index.",
  INVALID_CONTENT: "Change the text and save again.",
  NOT_FOUND: LOOK_AGAIN,
  DOCUMENT_NOT_FOUND: "It may have been deleted, renamed or not indexed yet. Search for it, or look at the files in Index.",
  FRAMEWORK_NOT_FOUND: CONFIGURE,
  JOB_NOT_FOUND: "It has ended. Index shows the last build.",
  CLASS_NOT_FOUND: "Filter the tree for a part of its name.",
  PROJECT_NOT_FOUND: "Nothing was written for it yet. Write its first document in Knowledge.",
  CHAPTER_NOT_FOUND: "Open the document to see its chapters.",
  SECTION_NOT_FOUND: "Open the main document to see its sections.",
  MEMORY_NOT_FOUND: LOOK_AGAIN,
  COMMIT_NOT_FOUND: "Open the history: it lists all changes.",
  FILE_ALREADY_EXISTS: "Choose another title, or edit the document that is there.",
  SECTION_ALREADY_EXISTS: "Choose another title, or edit the section that is there.",
  CONFLICT: "Somebody changed it in the meantime. Reload it, then make your change again.",
  INDEX_MISSING: "Sync the project: its files are read once, and after that only what changed.",
  SYNC_GUARD: "If these files were really deleted, sync anyway. If not, bring them back first: a folder may be missing or not mounted.",
  CANCELLED: "What was done stays. Sync to continue.",
  MODEL_MISMATCH: "A sync computes new vectors. Searches go on meanwhile.",
  STORAGE_ERROR: DISK,
  INVALID_PATH: "A link or a device is where a file should be. Remove it on the machine where the server runs.",
  ACCESS_DENIED: DISK,
  GIT_ERROR: "What you wrote is saved, and becomes part of the history with the next change. Check git on the machine where the server runs.",
  FILE_SYSTEM_ERROR: DISK,
  PROJECT_DELETE_FAILED: DISK,
  FOREIGN_INDEX: "Delete the index folder on the machine where the server runs, then sync: everything in it can be rebuilt.",
  DATABASE_UNAVAILABLE: "Start the Chroma server, or correct its address in the configuration, then try again.",
  INDEX_DAMAGED: SYNC,
  CATALOGUE_DAMAGED: SYNC,
  BUSY: LATER,
  UNAVAILABLE: "Check whether it was done before you try again.",
  DEADLINE_EXCEEDED: "Try again. A smaller request takes less time.",
  PROVIDER_ERROR: "Check the name of the model, its key and the network.",
  PROVIDER_UNAVAILABLE: "Check the key and the network, then try again. What was embedded so far is kept.",
  INTERNAL_ERROR: "This is a bug in Lore. The server's log has the details under the trace below.",
  NO_ANSWER: "Start the server again. The page reconnects by itself.",
};
const SYNCED = new Set(["INDEX_DAMAGED", "CATALOGUE_DAMAGED", "MODEL_MISMATCH", "CANCELLED"]);
const FOR_THE_SHELL = /\s*[^.]*`lore [^`]*`[^.]*\.(?=\s|$)/g;

/** What to do about a problem. Names that the server found near the one that was asked for are kept. */
export function adviceOf({ code, hint = "" }) {
  const near = hint.startsWith("Did you mean") ? `${hint} ` : "";
  return near + (ADVICE[code] ?? "Try again. If that does not help, look at Health.");
}

/** Whether a sync is what to do about it. */
export const isForSync = ({ code }) => SYNCED.has(code);

/** A text of the server without its sentences about commands of the shell. */
export const withoutCommands = (text) => text.replace(FOR_THE_SHELL, "").trim();
