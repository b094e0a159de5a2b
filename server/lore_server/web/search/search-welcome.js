// What the search view shows before a question.

import { el } from "../shared/dom.js";
import { project } from "../shared/project.js";
import { syntaxHelp } from "./syntax.js";

/** Return the introduction to the search. */
export function searchWelcome() {
  return el("div", { class: "empty" },
    el("p", {}, `Search the guides, code, tickets, decisions, release notes, rules and memories of ${project || "the project"}.`),
    el("p", { class: "quiet" }, "Exact names come first. Press ", el("kbd", {}, "/"), " to search from anywhere, ", el("kbd", {}, "?"), " for all shortcuts."),
    syntaxHelp());
}
