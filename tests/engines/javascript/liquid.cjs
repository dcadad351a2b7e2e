// The Liquid of Braze and Customer.io: LiquidJS, restricted to what Ruby's Liquid reads in the same
// way. https://shopify.github.io/liquid/ describes the language.

"use strict";

const { Liquid, defaultOperators } = require("liquidjs");

// Ruby ends a tag at the first closing delimiter, even in a string, and its strings have no escapes.
const STRING = String.raw`(?:"[^"\\{}]*"|'[^'\\{}]*')`;
const PATH = String.raw`[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[(?:${STRING}|\d)\])*`;
const OPERAND = String.raw`(?:${STRING}|-?\d+(?:\.\d+)?|${PATH})`;
const OPERATION = String.raw`\s*(?:[=!]=|[<>]=?|\bcontains\b)\s*${OPERAND}`;
const COMPARISON = String.raw`${OPERAND}(?:${OPERATION})?`;
const CONDITION = String.raw`${COMPARISON}(?:\s+(?:and|or)\s+${COMPARISON})*`;
const FILTERS = String.raw`(?:\s*\|\s*\w+(?::\s*${OPERAND}(?:\s*,\s*${OPERAND})*)?)*`;
const TAG = new RegExp(
  String.raw`^(?:(?:if|elsif|unless)\s+${CONDITION}|else|endif|endunless` +
    String.raw`|for\s+[A-Za-z_]\w*\s+in\s+${PATH}(?:\s+reversed)?` +
    String.raw`(?:\s+(?:limit|offset):\s*${OPERAND})*|endfor` +
    String.raw`|assign\s+[A-Za-z_]\w*\s*=\s*${OPERAND}${FILTERS})$`,
);
const OUTPUT = new RegExp(`^${OPERAND}${FILTERS}$`);
const RAW = /\{% raw %\}.*?\{% endraw %\}/gs;
const COMMENT = /\{%-? comment -?%\}[^{}]*\{%-? endcomment -?%\}/g;
const TAGS = /\{%-?\s*(.*?)\s*-?%\}|\{\{-?\s*(.*?)\s*-?\}\}/gs;

function checkSyntax(template) {
  const text = template.replace(RAW, "").replace(COMMENT, "").replace(TAGS, (_, tag, output) => {
    if (!(tag === undefined ? OUTPUT.test(output) : TAG.test(tag))) {
      throw new Error(`Liquid implementations differ in how they read ${tag ?? output}`);
    }
    return "\0";
  });
  if (/\{[{%]|[%}]\}/.test(text)) throw new Error("unbalanced delimiters");
  return template;
}

// LiquidJS orders null like 0. Ruby: a comparison with nil is false, and one of a string with a
// number is an error (Liquid::Condition).
function ordered(compare) {
  return (left, right) => {
    if (left == null || right == null) return false;
    if (typeof left !== typeof right) throw new Error("a comparison of values of different types");
    return compare(left, right);
  };
}

const OPTIONS = { strictFilters: true, ownPropertyOnly: true };
const javascript = new Liquid(OPTIONS);
const ruby = new Liquid({
  ...OPTIONS,
  operators: {
    ...defaultOperators,
    "<": ordered((left, right) => left < right),
    "<=": ordered((left, right) => left <= right),
    ">": ordered((left, right) => left > right),
    ">=": ordered((left, right) => left >= right),
  },
});

// The filter of Customer.io that LiquidJS does not have.
function titlecase(value) {
  const text = value ?? "";
  if (!/^[a-z ]*$/i.test(text)) throw new Error(`the result is not established for ${text}`);
  return text.replace(/\w+/g, (word) => word[0].toUpperCase() + word.slice(1).toLowerCase());
}

for (const engine of [javascript, ruby]) engine.registerFilter("titlecase", titlecase);

// Both implementations must render the same text.
function compile(template) {
  const variants = [javascript, ruby].map((engine) => [engine, engine.parse(template)]);
  return (context) => {
    const texts = new Set(variants.map(([engine, parsed]) => engine.renderSync(parsed, context)));
    if (texts.size > 1) throw new Error(`Liquid implementations differ: ${[...texts].join(" / ")}`);
    return [...texts][0];
  };
}

exports.liquid = (template) => compile(checkSyntax(template));
