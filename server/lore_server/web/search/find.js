// Find passages, and render their excerpts.

import { CODE } from "../shared/anchors.js";
import * as api from "../shared/api.js";
import { plural } from "../shared/format.js";
import { isMarkdown, nodesOfParts } from "../shared/markdown.js";

const LONGEST_HINT = 160; // characters; longer ones list every language

export const PAGE = { limit: 20, max_tokens: 9000, passages: 2 };

/** Return a page of results with their rendered excerpts, and how long the search took. */
export async function found(asking, signal) {
  const started = performance.now();
  const reply = await api.search({ ...PAGE, ...asking }, signal);
  const milliseconds = performance.now() - started;
  return { reply, milliseconds, excerpts: await nodesOfParts(reply.results.map(partOf), signal) };
}

/** Return how much was found, unless it is not meant. */
export function figureOf({ results, doubt, total }) {
  if (!results.length) return "Nothing found";
  return doubt ? "Only near in meaning" : `${plural(total, "file")} found`;
}

/** Return what is wrong with a query. */
export const mistakeIn = ({ message, hint }) => `${message} ${hint.length > LONGEST_HINT ? hint.split(" Valid values:")[0] : hint}`;

/** Return the part of a file that a result shows. */
const partOf = ({ excerpt, source, type }) => ({ text: excerpt, path: CODE.has(type) || isMarkdown(source) ? source : "" });
