// List what TypeScript's compiler finds: `node benchmarks/relations.cjs FOLDER OUT.json`, with `typescript` from npm.
//
// Writes {"implements": {"file:Class": [name]}, "uses": {"file:name": [file]}} for the files that git lists; each class,
// interface and function has an entry, used or not.

const { execFileSync } = require("child_process");
const fs = require("fs");
const path = require("path");
const ts = require(require.resolve("typescript", { paths: [process.cwd()] }));

const root = path.resolve(process.argv[2]);
const listed = execFileSync("git", ["ls-files"], { cwd: root, maxBuffer: 1e8, encoding: "utf8" }).split("\n");
const files = listed.filter((file) => /\.(tsx?|mts)$/.test(file)).map((file) => path.join(root, file));
const options = { allowJs: false, skipLibCheck: true, noLib: true, target: 99, module: 1, moduleResolution: 2, types: [] };
const program = ts.createProgram(files, options);
const checker = program.getTypeChecker();
const below = (file) => path.relative(root, file.fileName);
const found = { implements: {}, uses: {} };

const isListed = (node) => (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isFunctionDeclaration(node)) && node.name;

function declarationsOf(name) {
  let symbol = checker.getSymbolAtLocation(name);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  return ((symbol && symbol.declarations) || []).filter(isListed);
}

function visit(node, file) {
  if (isListed(node)) found.uses[`${file}:${node.name.text}`] ||= [];
  if (ts.isClassDeclaration(node) && node.name) {
    const clauses = (node.heritageClauses || []).filter((one) => one.token === ts.SyntaxKind.ImplementsKeyword);
    const names = clauses.flatMap((one) => one.types.map((type) => type.expression.getText().split(".").pop()));
    found.implements[`${file}:${node.name.text}`] = names;
  }
  for (const one of ts.isIdentifier(node) ? declarationsOf(node) : []) {
    const users = (found.uses[`${below(one.getSourceFile())}:${one.name.text}`] ||= []);
    if (!users.includes(file)) users.push(file);
  }
  ts.forEachChild(node, (child) => visit(child, file));
}

for (const source of program.getSourceFiles()) {
  if (files.includes(source.fileName)) visit(source, below(source));
}
fs.writeFileSync(process.argv[3], JSON.stringify(found));
