// Changes of the index other than a sync: in a menu, with confirmation.

import { confirmed } from "../shared/confirm.js";
import { menuOf } from "../shared/menu.js";
import { start } from "../shared/server.js";

const ACTIONS = {
  create: {
    title: "Only read the files?",
    text: "Writes the chunks and the class tree from the files. Search results do not change until you sync or embed.",
    button: "Read the files",
  },
  embed: {
    title: "Only load the chunks?",
    text: "Updates the keyword index and the vectors from the last read, without reading the files again.",
    button: "Load the chunks",
  },
  delete: {
    title: "Delete the index?",
    text: "Empties the index, so searches find nothing until the next sync. The project's files and the cached vectors are kept, so a sync restores it quickly.",
    button: "Delete the index",
  },
};

/** Create a menu of actions with confirmations; a deletion requires typing the name that `project` returns. */
export function manageMenu(project) {
  const run = async (action) => {
    const isDelete = action === "delete";
    if (!(await confirmed({ ...ACTIONS[action], isDanger: isDelete, name: isDelete ? project() : "" }))) return;
    start(isDelete ? { action, confirm: true } : { action });
  };
  return menuOf([["Create…", () => run("create")], ["Embed…", () => run("embed")], ["Delete…", () => run("delete"), "danger"]]);
}
