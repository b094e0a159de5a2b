// The facts about the project that the server put into the page.

const meta = (name) => document.querySelector(`meta[name="lore-${name}"]`)?.content ?? "";

export const project = meta("project");
export const base = meta("base"); // the path of this project, if the server has many
export const version = meta("version");
const root = meta("root").replace(/\/+$/, "");
const editor = meta("editor");
const KEPT = "lore-token";
const ELSEWHERE = "@lore/"; // documents written by agents, in the knowledge folder

/** Return a link that opens a project file in the editor; null without an editor or for other files. */
export function editorLink(source, line = 1) {
  if (!editor || !root || source.startsWith(ELSEWHERE)) return null;
  const path = `${root}/${source}`.split("/").map(encodeURIComponent).join("/");
  return editor.replace(path.startsWith("/") ? /\/?\{path\}/ : "{path}", path).replace("{line}", String(line));
}

/** Return the token that changes need: from the page, or entered by the reader for this session. */
export function token() {
  return meta("token") || sessionStorage.getItem(KEPT) || "";
}

/** Keep the token that the reader entered. */
export function keepToken(text) {
  sessionStorage.setItem(KEPT, text.trim());
}
