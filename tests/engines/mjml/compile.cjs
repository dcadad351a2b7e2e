// Reads JSON arrays of MJML files, one per line, and writes their HTML as JSON arrays.
const { createInterface } = require("readline");
const mjml = require("mjml");

createInterface({ input: process.stdin }).on("line", (line) => {
  const files = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(files.map((file) => mjml(file).html))}\n`);
});
