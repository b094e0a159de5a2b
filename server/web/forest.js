// The class tree as data: who is under whom, and which rows are to be seen.

/** The classes as nodes with children, and the nodes without a parent. */
export function forestOf(classes) {
  const nodes = new Map(classes.map((one) => [one.class, { ...one, name: one.class, children: [], isOpen: false }]));
  const roots = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(node.parent);
    if (parent && !isUnder(nodes, parent, node)) parent.children.push(node);
    else roots.push(node);
  }
  const inherited = (node) => (node.children.length ? 0 : 1);
  roots.sort((one, other) => inherited(one) - inherited(other) || compare(one, other));
  for (const node of nodes.values()) node.children.sort(compare);
  return { nodes, roots };
}

/** The rows to be seen, in order: {node, level, at, of}. With words, what has them and all above it. */
export function rowsOf(forest, words) {
  const wanted = words.length ? matching(forest, words) : null;
  const rows = [];
  const walk = (list, level) => {
    const seen = wanted ? list.filter((node) => wanted.has(node)) : list;
    seen.forEach((node, at) => {
      rows.push({ node, level, at: at + 1, of: seen.length });
      if (node.isOpen || wanted) walk(node.children, level + 1);
    });
  };
  walk(forest.roots, 1);
  return rows;
}

/** Open a class and all that is above it. */
export function openTo(forest, name) {
  for (let node = forest.nodes.get(name); node; node = forest.nodes.get(node.parent)) {
    node.isOpen = node.children.length > 0;
  }
}

/** The last part of a name. */
export const shortName = (name) => name.split(".").at(-1);

function matching(forest, words) {
  const wanted = new Set();
  for (const node of forest.nodes.values()) {
    const name = node.name.toLowerCase();
    if (!words.every((word) => name.includes(word))) continue;
    for (let one = node; one && !wanted.has(one); one = forest.nodes.get(one.parent)) wanted.add(one);
  }
  return wanted;
}

function isUnder(nodes, node, above) {
  for (const seen = new Set(); node && !seen.has(node); node = nodes.get(node.parent)) {
    if (node === above) return true;
    seen.add(node);
  }
  return false;
}

const compare = (one, other) => shortName(one.name).localeCompare(shortName(other.name)) || one.name.localeCompare(other.name);
