// Reads a JSON array of MJML files, and writes their HTML as a JSON array.
const { readFileSync } = require("fs");
const mjml = require("mjml");

const files = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(files.map((file) => mjml(file).html)));
