// What changes the index beside a sync: behind a menu, and asked about first.

import { confirmed } from "./confirm.js";
import { start } from "./job.js";
import { menuOf } from "./menu.js";

const ACTIONS = {
  create: {
    title: "Only read the files?",
    text: "Writes the chunks and the class tree from the files. Searches stay as they are until a sync or an embed.",
    button: "Read the files",
  },
  embed: {
    title: "Only load the chunks?",
    text: "Brings words and vectors to what was read last, without looking at the files.",
    button: "Load the chunks",
  },
  delete: {
    title: "Delete the index?",
    text: "Empties the index: nothing is found until the next sync. The project's files stay, and so do cached vectors, so a sync brings it back quickly.",
    button: "Delete the index",
  },
};

/** A menu of actions, each with its confirmation; to delete, the name that `project` gives must be typed. */
export function manageMenu(project) {
  const run = async (action) => {
    const isDelete = action === "delete";
    if (!(await confirmed({ ...ACTIONS[action], isDanger: isDelete, name: isDelete ? project() : "" }))) return;
    start(isDelete ? { action, confirm: true } : { action });
  };
  return menuOf([["Create…", () => run("create")], ["Embed…", () => run("embed")], ["Delete…", () => run("delete"), "danger"]]);
}
