// Renders templates until standard input ends.
//
// Each line of the input is an array: the engine's name and its cases. A case is an array of a
// template and the values of one recipient. Each line of the output is an array with one object
// per case: {"text": …}, or {"error": …} if the engine rejects the template.

"use strict";

const readline = require("node:readline");

const engines = { ...require("./liquid.cjs"), ...require("./handlebars.cjs") };

function attempt(action) {
  try {
    return { text: action() };
  } catch (error) {
    return { error: error.message };
  }
}

function renderAll(compile, cases) {
  const compiled = new Map();
  return cases.map(([template, values]) =>
    attempt(() => {
      if (!compiled.has(template)) {
        compiled.clear();
        compiled.set(template, compile(template));
      }
      return compiled.get(template)(values);
    }),
  );
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const [engine, cases] = JSON.parse(line);
  process.stdout.write(JSON.stringify(renderAll(engines[engine], cases)) + "\n");
});
