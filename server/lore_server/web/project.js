// What the server told the page about the project when it was loaded.

const meta = (name) => document.querySelector(`meta[name="lore-${name}"]`)?.content ?? "";

export const project = meta("project");
export const version = meta("version");
const root = meta("root").replace(/\/+$/, "");
const editor = meta("editor");
const KEPT = "lore-token";
const ELSEWHERE = "@lore/"; // what agents wrote, in the knowledge folder

/** A link that opens a file of the project in the editor, or null if there is no editor, or the file is elsewhere. */
export function editorLink(source, line = 1) {
  if (!editor || !root || source.startsWith(ELSEWHERE)) return null;
  const path = `${root}/${source}`.split("/").map(encodeURIComponent).join("/");
  return editor.replace(path.startsWith("/") ? /\/?\{path\}/ : "{path}", path).replace("{line}", String(line));
}

/** The token that changes need: handed to the page, or given by the reader for this session. */
export function token() {
  return meta("token") || sessionStorage.getItem(KEPT) || "";
}

/** Keep the token that the reader gave. */
export function keepToken(text) {
  sessionStorage.setItem(KEPT, text.trim());
}
