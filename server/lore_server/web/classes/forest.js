// The class tree as data: nodes, children and visible rows.

/** Return the classes as nodes with children, and the nodes without a parent. */
export function forestOf(classes) {
  const nodes = new Map(classes.map((entry) => [entry.class, { ...entry, name: entry.class, children: [], isOpen: false }]));
  const roots = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(node.parent);
    if (parent && !isUnder(nodes, parent, node)) parent.children.push(node);
    else roots.push(node);
  }
  const inherited = (node) => (node.children.length ? 0 : 1);
  roots.sort((left, right) => inherited(left) - inherited(right) || compare(left, right));
  for (const node of nodes.values()) node.children.sort(compare);
  return { nodes, roots };
}

/** Return the visible rows in order: {node, level, at, of, hasChildren, isOpen}. */
export function rowsOf({ roots }) {
  return walked(roots, (node) => node.children, (node) => node.isOpen);
}

/** Return the rows of a filter: classes whose names contain all words, and their ancestors; nodes in `shut` are closed. */
export function filteredRows({ roots, nodes }, words, shut) {
  const hits = [...nodes.values()].filter((node) => hasWords(node, words));
  const wanted = new Set();
  for (const hit of hits) for (let node = hit; node && !wanted.has(node); node = nodes.get(node.parent)) wanted.add(node);
  const below = (list) => list.filter((node) => wanted.has(node));
  return walked(below(roots), (node) => below(node.children), (node) => !shut.has(node));
}

/** Return whether the name of a class contains all of these words, in lower case. */
export const hasWords = (node, words) => words.every((word) => node.name.toLowerCase().includes(word));

/** Return the row that the words probably mean: an equal name, otherwise a prefix, otherwise the first row. */
export function bestOf(rows, words) {
  const hits = rows.map(({ node }) => node).filter((node) => hasWords(node, words));
  const last = words.at(-1);
  const names = (node) => [node.name.toLowerCase(), shortName(node.name).toLowerCase()];
  return hits.find((node) => names(node).includes(last)) ?? hits.find((node) => names(node)[1].startsWith(last)) ?? hits[0];
}

function walked(roots, childrenOf, isOpen) {
  const rows = [];
  const walk = (list, level) => list.forEach((node, at) => {
    const children = childrenOf(node);
    const row = { node, level, at: at + 1, of: list.length, hasChildren: children.length > 0, isOpen: children.length > 0 && isOpen(node) };
    rows.push(row);
    if (row.isOpen) walk(children, level + 1);
  });
  walk(roots, 1);
  return rows;
}

/** Open a class and its ancestors. */
export function openTo(forest, name) {
  for (let node = forest.nodes.get(name); node; node = forest.nodes.get(node.parent)) {
    node.isOpen = node.children.length > 0;
  }
}

/** Return the last part of a name. */
export const shortName = (name) => name.split(".").at(-1);

function isUnder(nodes, node, above) {
  for (const seen = new Set(); node && !seen.has(node); node = nodes.get(node.parent)) {
    if (node === above) return true;
    seen.add(node);
  }
  return false;
}

const compare = (left, right) => shortName(left.name).localeCompare(shortName(right.name)) || left.name.localeCompare(right.name);
