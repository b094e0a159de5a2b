// A class: its location, base classes, subclasses and members.

import { el } from "../shared/dom.js";
import { count, plural, span } from "../shared/format.js";
import { shortName } from "./forest.js";
import { editorAnchor } from "../shared/anchors.js";
import { link, sourceLink } from "../shared/route.js";

/** Create the card of the root of a hierarchy. */
export function classCard(found) {
  const node = found.classes.find((entry) => entry.class === found.root);
  const below = found.classes.filter((entry) => entry.class !== found.root);
  const direct = below.filter((entry) => entry.bases.some((base) => isNamed(found.root, base)) || entry.parent === found.root);
  return [
    el("h2", {}, shortName(found.root)),
    el("p", { class: "quiet full-name" }, found.root),
    where(node),
    chain(found),
    otherBases(node, found),
    members(found.members, node),
    subclasses(direct, below, found),
  ];
}

function where(node) {
  if (!node?.source) return el("p", { class: "where" }, "Defined outside the project.");
  return el("p", { class: "where" },
    el("a", { class: "path", href: sourceLink(node.source, node.lines) }, node.source, el("span", {}, `:${span(node.lines)}`)),
    editorAnchor(node.source, node.lines[0]));
}

function chain({ chain: above, root }) {
  if (!above.length) return null;
  const steps = [...above].reverse();
  return [
    el("h3", {}, "Ancestors"),
    el("ol", { class: "chain" }, steps.map((name) => el("li", {}, classLink(name))), el("li", { "aria-current": "true" }, shortName(root))),
  ];
}

function otherBases(node, { chain: above }) {
  const others = (node?.bases ?? []).filter((base) => !above.some((name) => isNamed(name, base)));
  return others.length > 0 && el("p", { class: "quiet" }, "Also inherits from ", others.map((base, at) => [at ? ", " : "", el("code", {}, base)]), ".");
}

function members(list, node) {
  if (!list.length) return null;
  return [
    el("h3", {}, `Members `, el("span", { class: "quiet" }, count(list.length))),
    el("ul", { class: "members" }, list.map((member) => el("li", {},
      el("a", { href: sourceLink(node.source, member.lines, member.id) }, el("code", {}, member.name)),
      el("span", { class: "quiet" }, member.kind), el("span", { class: "quiet figure" }, span(member.lines))))),
  ];
}

function subclasses(direct, below, found) {
  if (!below.length) return null;
  const deeper = found.total - 1 - direct.length;
  return [
    el("h3", {}, "Subclasses ", el("span", { class: "quiet" }, count(direct.length), deeper > 0 && `, and ${plural(deeper, "class", "classes")} below them`)),
    el("ul", { class: "members" }, direct.map((child) => el("li", {}, classLink(child.class), child.source && el("span", { class: "quiet" }, child.source)))),
  ];
}

const classLink = (name) => el("a", { href: link("classes", name), title: name }, shortName(name));
const isNamed = (name, base) => name === base || name.endsWith(`.${base}`) || base.endsWith(`.${name}`);
