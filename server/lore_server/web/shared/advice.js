// Advice for users of the page, by error code. The server's own hints are for agents and for the shell.

const ENTER_ELSE = "Change your input and try again.";
const RELOAD = "Reload the page. It may be older than the server.";
const LOOK_AGAIN = "Go back to the list, which shows the current entries.";
const SYNC = "A sync repairs it. Nothing is lost, because the index is built from your files.";
const DISK = "Check the free space and the folder permissions on the machine where the server runs.";
const CONFIGURE = "Correct the project's configuration, then restart the server.";
const LATER = "Wait a moment, then try again.";

const ADVICE = {
  ERROR: "See Health for the cause.",
  USAGE: RELOAD,
  INVALID_ARGUMENT: ENTER_ELSE,
  INVALID_INPUT: ENTER_ELSE,
  INVALID_SEARCH_QUERY: "Search for a few words.",
  STALE_CURSOR: "The index has changed since this list was loaded. Load it again.",
  UNKNOWN_OPERATION: RELOAD,
  TOKEN_REQUIRED: "Enter the server's token when the page asks for it.",
  CONFIG_ERROR: CONFIGURE,
  CONFIRMATION_REQUIRED: "Start it again and confirm.",
  INVALID_PROJECT_ID: "Choose a project from the list in Knowledge.",
  INVALID_FILENAME: "Choose a title with letters or digits.",
  INVALID_GROUP_ID: "Choose a short name.",
  PATH_REFUSED: "Open a file from the list in Index.",
  INVALID_CONTENT: "Change the text and save again.",
  NOT_FOUND: LOOK_AGAIN,
  DOCUMENT_NOT_FOUND: "It may have been deleted or renamed, or it is not indexed yet. Search for it, or check the list of files in Index.",
  FRAMEWORK_NOT_FOUND: CONFIGURE,
  ANSWER_NOT_FOUND: "The server no longer knows the earlier answer. Ask a complete question instead.",
  JOB_NOT_FOUND: "It has ended. Index shows the last build.",
  CLASS_NOT_FOUND: "Filter the tree by part of its name.",
  PROJECT_NOT_FOUND: "It has no documents yet. Write the first one in Knowledge.",
  CHAPTER_NOT_FOUND: "Open the document to see its chapters.",
  SECTION_NOT_FOUND: "Open the main document to see its sections.",
  MEMORY_NOT_FOUND: LOOK_AGAIN,
  COMMIT_NOT_FOUND: "Open the history: it lists all changes.",
  FILE_ALREADY_EXISTS: "Choose another title, or edit the existing document.",
  SECTION_ALREADY_EXISTS: "Choose another title, or edit the existing section.",
  CONFLICT: "Someone else changed it in the meantime. Reload it, then make your change again.",
  INDEX_MISSING: "Sync the project. The first sync reads all files; later ones read only changed files.",
  SYNC_GUARD: "If these files were really deleted, sync anyway. If not, restore them first: a folder may be missing or not mounted.",
  CANCELLED: "Finished work is kept. Sync to continue.",
  PACKAGE_MISSING: "Install the package with the command in the message, and start Lore again.",
  MODEL_MISMATCH: "A sync computes new vectors. Search keeps working meanwhile.",
  STORAGE_ERROR: DISK,
  INVALID_PATH: "There is a symlink or a device in place of a file. Remove it on the machine where the server runs.",
  ACCESS_DENIED: DISK,
  GIT_ERROR: "Your text is saved and will enter the history with the next change. Check git on the machine where the server runs.",
  FILE_SYSTEM_ERROR: DISK,
  PROJECT_DELETE_FAILED: DISK,
  FOREIGN_INDEX: "Delete the index folder on the machine where the server runs, then sync: everything in it can be rebuilt.",
  DATABASE_UNAVAILABLE: "Start the Chroma server, or correct its address in the configuration, then try again.",
  INDEX_DAMAGED: SYNC,
  CATALOGUE_DAMAGED: SYNC,
  BUSY: LATER,
  UNAVAILABLE: "Check whether the change was made before you try again.",
  DEADLINE_EXCEEDED: "Try again. A smaller request takes less time.",
  PROVIDER_ERROR: "Check the model name, the API key and the network.",
  PROVIDER_UNAVAILABLE: "Check the API key and the network, then try again. Finished embeddings are kept.",
  INTERNAL_ERROR: "This is a bug in Lore. The server's log has the details under the trace ID below.",
  NO_ANSWER: "Start the server again. The page reconnects by itself.",
};
const SYNCED = new Set(["INDEX_DAMAGED", "CATALOGUE_DAMAGED", "MODEL_MISMATCH", "CANCELLED"]);
const FOR_THE_SHELL = /\s*[^.]*`lore [^`]*`[^.]*\.(?=\s|$)/g;

/** Return advice for a problem, after the server's "Did you mean" suggestion if it has one. */
export function adviceOf({ code, hint = "" }) {
  const near = hint.startsWith("Did you mean") ? `${hint} ` : "";
  return near + (ADVICE[code] ?? "Try again. If that does not help, look at Health.");
}

/** Return whether a sync fixes the problem. */
export const isForSync = ({ code }) => SYNCED.has(code);

/** Remove the sentences about shell commands from a server message. */
export const withoutCommands = (text) => text.replace(FOR_THE_SHELL, "").trim();
