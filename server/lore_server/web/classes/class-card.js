// A class: its place in the tree, documentation, members with signatures, inherited members, users and implementers.

import { count, el, link, plural, sourceLink, span } from "../shared/base.js";
import { editorAnchor, nodesOfParts } from "../shared/parts.js";
import * as api from "../shared/server.js";
import { shortName } from "./forest.js";

const TOKENS = 150_000;
const ANCESTORS = 5; // whose members are listed
const ANCESTOR_TOKENS = 8_000;
const SHOWN_BELOW = 8; // subclasses in the diagram
const HEAD_LINES = 24; // of the class, before its first member

/** Load a class with its text and the members of its ancestors. */
export async function loadClass(name, signal) {
  const found = await api.hierarchy({ root: name, max_tokens: TOKENS }, signal);
  const node = found.classes.find((entry) => entry.class === found.root);
  const own = new Set(found.members?.map((member) => member.name));
  const [text, ...above] = await Promise.all([
    node?.source ? api.source({ path: node.source, start: node.lines[0], end: node.lines[1], max_tokens: TOKENS }, signal).then((file) => file.text.split("\n"), () => []) : [],
    ...(found.chain ?? []).slice(0, ANCESTORS).map((base) => api.hierarchy({ root: base, depth: 1, max_tokens: ANCESTOR_TOKENS }, signal).catch(() => null)),
  ]);
  const inherited = above.filter(Boolean).map((base) => ({ name: base.root, source: base.classes[0]?.source, members: (base.members ?? []).filter(({ name: member }) => !own.has(member) && own.add(member)) }));
  const begin = Math.min(...(found.members ?? []).filter((member) => !member.source).map(({ lines }) => lines[0]), Infinity);
  const head = text.slice(0, Math.min(HEAD_LINES, begin - (node?.lines[0] ?? 0))).join("\n").trimEnd();
  const [shown = []] = head ? await nodesOfParts([{ text: head, path: node.source }], signal) : [];
  return { found, node, text, inherited: inherited.filter(({ members }) => members.length), head: shown };
}

/** Create the card of a loaded class. */
export function classCard({ found, node, text, inherited, head }) {
  const below = found.classes.filter((entry) => entry.class !== found.root);
  const direct = below.filter((entry) => entry.bases.some((base) => isNamed(found.root, base)) || entry.parent === found.root);
  return [
    el("h2", {}, shortName(found.root)),
    shortName(found.root) !== found.root && el("p", { class: "where" }, el("span", { class: "path" }, found.root)),
    place(node),
    diagram(found, node, direct),
    head.length > 0 && el("div", { class: "class-head" }, head),
    list("Members", found.members ?? [], (member) => memberRow(member, member.source ?? node.source, member.source ? undefined : signatureOf(member, node, text))),
    inherited.map((base) => el("details", { class: "inherited" },
      el("summary", {}, `${plural(base.members.length, "member")} from `, shortName(base.name)),
      el("ul", { class: "members" }, base.members.map((member) => el("li", {}, memberRow(member, member.source ?? base.source)))))),
    list("Subclasses", direct, (child) => [classLink(child.class), child.source && el("span", { class: "quiet" }, child.source)], found.total - 1 - direct.length),
    list("Implements", (node?.implements ?? []).filter((name) => !node.mixins?.includes(name)), classLink),
    list("Mixes in", node?.mixins ?? [], classLink),
    list("Used by", found.used_by ?? [], userRow),
    found.used_by && found.not_covered && el("p", { class: "quiet small" }, `Not counted: ${found.not_covered}.`),
  ];
}

function place(node) {
  if (!node?.source) return el("p", { class: "where" }, "Defined outside the project.");
  return el("p", { class: "where" },
    el("a", { class: "path", href: sourceLink(node.source, node.lines) }, node.source, el("span", {}, `:${span(node.lines)}`)),
    editorAnchor(node.source, node.lines[0]));
}

/** Draw the class between its ancestors and its subclasses. */
function diagram({ chain = [], root }, node, direct) {
  const others = (node?.bases ?? []).filter((base) => !chain.some((name) => isNamed(name, base)));
  if (!chain.length && !direct.length && !others.length) return null;
  const more = direct.length - SHOWN_BELOW;
  return el("figure", { class: "diagram", "aria-label": "Ancestors and subclasses" },
    el("ol", { class: "chain" }, [...chain].reverse().map((name) => el("li", {}, classLink(name))),
      el("li", { "aria-current": "true" }, shortName(root), others.length > 0 && el("span", { class: "quiet" }, `, also ${others.map(shortName).join(", ")}`))),
    direct.length > 0 && el("ul", { class: "below" }, direct.slice(0, SHOWN_BELOW).map((child) => el("li", {}, classLink(child.class))), more > 0 && el("li", { class: "quiet" }, `${count(more)} more`)));
}

function list(title, rows, rowOf, deeper = 0) {
  if (!rows.length) return null;
  return [
    el("h3", {}, title, " ", el("span", { class: "quiet" }, count(rows.length), deeper > 0 && `, and ${plural(deeper, "class", "classes")} below them`)),
    el("ul", { class: "members" }, rows.map((row) => el("li", {}, rowOf(row)))),
  ];
}

function memberRow(member, source, signature = member.name) {
  const at = signature.indexOf(member.name);
  const parts = at < 0 ? [el("strong", {}, member.name)] : [signature.slice(0, at), el("strong", {}, member.name), signature.slice(at + member.name.length)];
  return [
    el("a", { href: sourceLink(source, member.lines, member.id) }, el("code", {}, parts)),
    el("span", { class: "quiet" }, member.kind), el("span", { class: "quiet figure" }, span(member.lines)),
  ];
}

/** Return the line of the class that declares a member, without its indentation and the beginning of its body. */
function signatureOf({ name, lines: [first, last] }, node, text) {
  const from = first - node.lines[0];
  const line = text.slice(from, last - node.lines[0] + 1).find((candidate) => candidate.includes(name) && !/^\s*(\*|\/|#|@)/.test(candidate)) ?? name;
  return line.trim().replace(/\s*[{:,;]$/, "");
}

function userRow(text) {
  const [, path, line, more = ""] = text.match(/^(.+):(\d+)(.*)$/) ?? [null, text, ""];
  return [el("a", { class: "path", href: link("source", path, { line }) }, path, el("span", {}, `:${line}`)), el("span", { class: "quiet" }, more)];
}

const classLink = (name) => el("a", { href: link("classes", name), title: name }, shortName(name));
const isNamed = (name, base) => name === base || name.endsWith(`.${base}`) || base.endsWith(`.${name}`);
