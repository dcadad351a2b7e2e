// The Handlebars of SendGrid and Iterable: handlebars.js with the helpers that the vendors document.
// A helper raises an error if the documentation does not establish its result.
//
// SendGrid: https://www.twilio.com/docs/sendgrid/for-developers/sending-email/using-handlebars
// Iterable (Handlebars.java): https://support.iterable.com/hc/en-us/articles/205480365 and
// https://support.iterable.com/hc/en-us/articles/115003884806

"use strict";

const Handlebars = require("handlebars");

const DOCUMENTED = new Set(["if", "unless", "each"]);

class Checker extends Handlebars.Visitor {
  constructor(helpers, subexpressions) {
    super();
    this.helpers = helpers;
    this.subexpressions = subexpressions;
  }

  reject(what) {
    throw new Error(`not documented: ${what}`);
  }

  BlockStatement(block) {
    const name = block.path.original;
    if (!(name in this.helpers) && !DOCUMENTED.has(name)) this.reject(`{{#${name}}}`);
    if (block.program?.blockParams) this.reject("block parameters");
    const inner = block.inverse?.chained ? block.inverse.body[0].path.original : "if";
    if (inner !== "if") this.reject(`{{else ${inner}}}`);
    super.BlockStatement(block);
  }

  MustacheStatement(statement) {
    const { original } = statement.path;
    if (statement.params.length > 0 && !(original in this.helpers)) this.reject(original);
    super.MustacheStatement(statement);
  }

  SubExpression(expression) {
    const name = expression.path.original;
    if (!this.subexpressions.has(name)) this.reject(`(${name})`);
    super.SubExpression(expression);
  }

  PathExpression(path) {
    if (path.depth > 0 || path.data) this.reject(path.original);
  }

  Hash(hash) {
    const isYear = hash.pairs.every((pair) => pair.key === "format" && pair.value.value === "yyyy");
    if (hash.pairs.length > 0 && !(isYear && "now" in this.helpers)) this.reject("named arguments");
  }

  UndefinedLiteral() {
    this.reject("undefined");
  }

  NullLiteral() {
    this.reject("null");
  }

  PartialStatement() {
    this.reject("partials");
  }

  PartialBlockStatement() {
    this.reject("partials");
  }

  DecoratorBlock() {
    this.reject("decorators");
  }

  Decorator() {
    this.reject("decorators");
  }
}

function engine(helpers, subexpressions) {
  const handlebars = Handlebars.create();
  handlebars.registerHelper(helpers);
  const knownHelpers = Object.fromEntries(Object.keys(helpers).map((name) => [name, true]));
  return (template) => {
    for (const [tag] of template.matchAll(/\{\{.*?\}\}/gs)) {
      if (/\\|^\{\{~?\^/.test(tag)) throw new Error(`not documented: ${tag}`);
    }
    const syntax = handlebars.parse(template);
    new Checker(helpers, new Set(subexpressions)).accept(syntax);
    return handlebars.compile(syntax, { knownHelpers, knownHelpersOnly: true });
  };
}

// A helper that is a block, or, in parentheses, a value.
function helper(compute) {
  return function (...parameters) {
    const options = parameters.pop();
    if (parameters.length !== compute.length) throw new Error(`${options.name}: wrong arguments`);
    const result = compute(...parameters);
    if (options.fn === undefined) return result;
    return result ? options.fn(this) : options.inverse(this);
  };
}

function notEstablished(...values) {
  throw new Error(`the result is not established for ${values.map((v) => JSON.stringify(v))}`);
}

const isMissing = (value) => value === undefined || value === null;
const isTrue = (value) => !Handlebars.Utils.isEmpty(value) && value !== 0;
const isNumeric = (text) => /^-?\d+(\.\d+)?$/.test(text);

function sameType(left, right) {
  if (typeof left !== typeof right) notEstablished(left, right);
}

// A missing value equals no literal.
function equalIfSameType(left, right) {
  if (isMissing(left) && isMissing(right)) notEstablished(left, right);
  if (isMissing(left) || isMissing(right)) return false;
  sameType(left, right);
  return left === right;
}

// An empty text can equal 0.
function differsFromEmptyText(number, text) {
  return text === "" && number !== 0 ? false : notEstablished(number, text);
}

// ---- SendGrid

// "For example, {{#equals 3 "3"}} will evaluate to true."
function equals(left, right) {
  const [number, text] = typeof left === "number" ? [left, right] : [right, left];
  if (typeof number === "number" && typeof text === "string") {
    return isNumeric(text) ? number === Number(text) : differsFromEmptyText(number, text);
  }
  return equalIfSameType(left, right);
}

// The documentation compares numbers only. JavaScript compares a text with a number by value.
function numbers(compare) {
  const isNumber = (value) => typeof value === "number" || isNumeric(value);
  return (left, right) => {
    if (!isNumber(left) || typeof right !== "number") notEstablished(left, right);
    return compare(Number(left), right);
  };
}

const SENDGRID = {
  and: helper((left, right) => isTrue(left) && isTrue(right)),
  or: helper((left, right) => isTrue(left) || isTrue(right)),
  equals: helper(equals),
  // For values of different types, the page contradicts itself.
  notEquals: helper((left, right) => !equalIfSameType(left, right)),
  greaterThan: helper(numbers((left, right) => left > right)),
  lessThan: helper(numbers((left, right) => left < right)),
  length: helper((value) => (typeof value === "string" ? [...value].length : 0)),
  insert: helper((value, text) => (isMissing(value) ? text.replace(/^default=/, "") : value)),
};

// ---- Iterable

// "If [the] expression references a non-existent or null field, the template will fail."
function comparison(compare) {
  return (left, right) => {
    if (isMissing(left) || isMissing(right)) throw new Error("the template fails: a missing value");
    sameType(left, right);
    return compare(left, right);
  };
}

// "Both arguments passed to `eq` must be of the same type: double or long." The type of a number in
// a field is not known, so `#ifEq` is the only safe comparison.
function eq(left, right) {
  if (typeof left === "number" || typeof right === "number") notEstablished(left, right);
  return equalIfSameType(left, right);
}

// "#ifEq can compare numbers represented as strings, longs, and doubles."
function ifEq(left, right) {
  if (isMissing(left) || isMissing(right) || left === right) return equalIfSameType(left, right);
  if ([left, right].every((value) => typeof value === "number" || isNumeric(value))) {
    const areTexts = typeof left === "string" && typeof right === "string";
    if (areTexts && Number(left) === Number(right)) notEstablished(left, right); // 1.0 and 1
    return Number(left) === Number(right);
  }
  if (left === "" && typeof right === "number") return differsFromEmptyText(right, left);
  return equalIfSameType(left, right);
}

function ifContainsStr(text, part) {
  if (isMissing(text) || text === "") throw new Error("the template fails: an empty value");
  if (typeof text !== "string" || typeof part !== "string") notEstablished(text, part);
  return text.includes(part);
}

// "If null, undefined, or an empty string". Handlebars.java also replaces 0 and false.
function defaultIfEmpty(value, other) {
  if ((value === 0 || value === false) && value !== other) notEstablished(value);
  return isMissing(value) || value === "" ? other : value;
}

const LESS = comparison((left, right) => left < right);
const AT_MOST = comparison((left, right) => left <= right);
const GREATER = comparison((left, right) => left > right);
const AT_LEAST = comparison((left, right) => left >= right);

const ITERABLE = {
  and: helper((left, right) => isTrue(left) && isTrue(right)),
  or: helper((left, right) => isTrue(left) || isTrue(right)),
  not: helper((value) => !isTrue(value)),
  eq: helper(eq),
  neq: helper((left, right) => !eq(left, right)),
  lt: helper((left, right) => LESS(left, right)),
  lte: helper((left, right) => AT_MOST(left, right)),
  gt: helper((left, right) => GREATER(left, right)),
  gte: helper((left, right) => AT_LEAST(left, right)),
  ifEq: helper(ifEq),
  ifLt: helper((left, right) => LESS(left, right)),
  ifLte: helper((left, right) => AT_MOST(left, right)),
  ifGt: helper((left, right) => GREATER(left, right)),
  ifGte: helper((left, right) => AT_LEAST(left, right)),
  ifContainsStr: helper(ifContainsStr),
  defaultIfEmpty: helper(defaultIfEmpty),
  now: (options) => String(options.hash.format === "yyyy" && new Date().getUTCFullYear()),
};

exports.sendgrid = engine(SENDGRID, ["length"]);

// The member `city` of the object `address` is the field "address.city".
function withObjects(values) {
  const objects = {};
  for (const [name, value] of Object.entries(values)) {
    const path = name.split(".");
    const last = path.pop();
    path.reduce((object, member) => (object[member] ??= {}), objects)[last] = value;
  }
  return objects;
}

const iterable = engine(ITERABLE, [
  ...["and", "or", "not", "eq", "neq", "lt", "lte", "gt", "gte", "defaultIfEmpty"],
]);

exports.iterable = (template) => {
  const render = iterable(template);
  return (values) => render(withObjects(values));
};

// ---- The syntax of an insertion code

// Returns JSON: the field of {{field}} or {{helper field "literal"}}, and its helper and literal.
exports["handlebars syntax"] = (template) => {
  const [tag, ...others] = Handlebars.parse(template).body;
  if (others.length > 0 || tag?.type !== "MustacheStatement") throw new Error("not one tag");
  const [field, literal, ...more] = tag.params.length > 0 ? tag.params : [tag.path];
  const isHelper = literal?.type === "StringLiteral" && more.length === 0;
  if (field.type !== "PathExpression" || field.depth > 0 || field.data || tag.hash !== undefined) {
    throw new Error("not a field");
  }
  if (tag.params.length > 0 && !isHelper) throw new Error("not a helper with a literal");
  const parts = { helper: isHelper ? tag.path.original : null, literal: literal?.value ?? null };
  return () => JSON.stringify({ ...parts, field: field.parts.join(".") });
};
