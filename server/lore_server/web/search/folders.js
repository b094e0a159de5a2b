// The folders that have matches.

import { el } from "../shared/dom.js";
import { count } from "../shared/format.js";

const FOLDERS = 8;

/** Return a button for each of the best folders, which calls `enter` with its pattern; none if there is only one. */
export function folderButtons(found, enter) {
  if (found.length < 2) return null;
  return found.slice(0, FOLDERS).map(({ path, files }) =>
    el("button", { type: "button", class: "folder", title: `Only ${path}`, on: { click: () => enter(path) } },
      path.replace(/^\/|\/\*\*$/g, ""), el("small", {}, count(files))));
}
