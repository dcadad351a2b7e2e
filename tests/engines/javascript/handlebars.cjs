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
  constructor(helpers, subexpressions, names) {
    super();
    this.helpers = helpers;
    this.subexpressions = subexpressions;
    this.names = names;
  }

  reject(what) {
    throw new Error(`not documented: ${what}`);
  }

  BlockStatement(block) {
    const name = block.path.original;
    if (!(name in this.helpers) && !DOCUMENTED.has(name)) this.reject(`{{#${name}}}`);
    if (block.program?.blockParams && name !== "each") this.reject("block parameters");
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
    const isKnown = !path.data || ["root", "first", "last"].includes(path.parts[0]);
    if (path.depth > 0 || !isKnown) this.reject(path.original);
  }

  Hash(hash) {
    for (const { key } of hash.pairs) if (!this.names.has(key)) this.reject(`${key}=`);
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

function engine(helpers, subexpressions, names = []) {
  const handlebars = Handlebars.create();
  handlebars.registerHelper(helpers);
  const knownHelpers = Object.fromEntries(Object.keys(helpers).map((name) => [name, true]));
  return (template) => {
    for (const [tag] of template.matchAll(/\{\{.*?\}\}/gs)) {
      if (/\\|^\{\{~?\^/.test(tag)) throw new Error(`not documented: ${tag}`);
    }
    const syntax = handlebars.parse(template);
    new Checker(helpers, new Set(subexpressions), new Set(names)).accept(syntax);
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

// A helper that shows a value. Its last parameter is the object of the named arguments.
function formatter(compute) {
  return (...parameters) => {
    const { hash } = parameters.pop();
    return compute(...parameters, hash);
  };
}

const MONTHS = (
  "January February March April May June July August September October November December"
).split(" ");
const WEEKDAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

// Formats a date in UTC. `tokens` are the letters of the vendor, in the order of this list.
function dateFormatter(tokens) {
  const pattern = new RegExp([...tokens].sort((a, b) => b.length - a.length).join("|"), "g");
  return (date, format) => {
    const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
    const two = (number) => String(number).padStart(2, "0");
    const values = [
      ...[String(day), two(day), String(month + 1), two(month + 1)],
      ...[MONTHS[month].slice(0, 3), MONTHS[month], two(year % 100), String(year).padStart(4, "0")],
      ...[WEEKDAYS[date.getUTCDay()].slice(0, 3), WEEKDAYS[date.getUTCDay()]],
      ...[two(date.getUTCHours()), two(date.getUTCMinutes()), two(date.getUTCSeconds())],
    ];
    const rest = format.replace(pattern, "");
    if (/[A-Za-z]/.test(rest)) notEstablished(format);
    return format.replace(pattern, (token) => values[tokens.indexOf(token)]);
  };
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

const momentDate = dateFormatter(
  "D DD M MM MMM MMMM YY YYYY ddd dddd HH mm ss".split(" "),
);

// "epoch or ISO 8601". The page does not state the time zone of other times than those in UTC,
// unless the third parameter is an offset.
function formatDate(...parameters) {
  const [value, format, offset] = parameters.slice(0, -1);
  const isEstablished = offset === undefined ? /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/ : /^\d{4}-.*T.*/;
  if (!isEstablished.test(value) || (offset ?? "+0000") !== "+0000") notEstablished(value, offset);
  return momentDate(new Date(value), format);
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
  formatDate,
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
// In Handlebars.java, ConditionalHelpers, values of different types are not equal.
function eq(left, right) {
  if (typeof left === "number" || typeof right === "number") notEstablished(left, right);
  if (typeof right === "boolean" || typeof left === "boolean") return left === right;
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

// Handlebars.java, StringHelpers: a missing value is an empty text.
const textHelper = (compute) =>
  formatter((value, ...rest) => (isMissing(value) || value === "" ? "" : compute(value, ...rest)));

// WordUtils.capitalize: a capital after white space.
function capitalize(text) {
  return text.replace(/(^|\s)(\S)/gu, (_, space, letter) => {
    const capital = letter.toUpperCase();
    return space + (capital.length === letter.length ? capital : letter);
  });
}

// StringUtils.abbreviate
function abbreviate(text, width) {
  if (width < 4) throw new Error("Minimum abbreviation width is 4");
  return text.length <= width ? text : `${text.slice(0, width - 3)}...`;
}

// DecimalFormat. A text is no number, and there is no result.
function numberFormat(value, named) {
  const { minimumFractionDigits: least, maximumFractionDigits: most } = named;
  if (least !== most || named.groupingUsed !== false || named.roundingMode !== "half_up") {
    notEstablished(value);
  }
  return typeof value === "number" ? value.toFixed(most) : "";
}

const javaDate = dateFormatter("d dd M MM MMM MMMM yy yyyy EEE EEEE HH mm ss".split(" "));

function dateFormat(value, { format, tz }) {
  if (tz !== "UTC" || Number.isNaN(Date.parse(value))) notEstablished(value, tz);
  return javaDate(new Date(value), format);
}

// URLEncoder
function urlEncode(options) {
  const hexadecimal = (text) => `%${text.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(options.fn(this)).replace(/%20/g, "+").replace(/[!'()~]/g, hexadecimal);
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
  upper: textHelper((text) => text.toUpperCase()),
  lower: textHelper((text) => text.toLowerCase()),
  capitalize: textHelper(capitalize),
  abbreviate: textHelper(abbreviate),
  numberFormat: textHelper(numberFormat),
  dateFormat: textHelper(dateFormat),
  urlEncode,
  now: (options) => String(options.hash.format === "yyyy" && new Date().getUTCFullYear()),
};

// The page has `(length …)` only. In Handlebars, each helper that returns a value can be in
// parentheses: https://handlebarsjs.com/guide/expressions.html#subexpressions
exports.sendgrid = engine(SENDGRID, ["length", "formatDate"]);

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

const iterable = engine(
  ITERABLE,
  [
    ...["and", "or", "not", "eq", "neq", "lt", "lte", "gt", "gte", "defaultIfEmpty"],
    ...["upper", "lower", "capitalize", "abbreviate", "numberFormat", "dateFormat"],
  ],
  [
    ...["minimumFractionDigits", "maximumFractionDigits", "groupingUsed", "roundingMode"],
    ...["format", "tz"],
  ],
);

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

exports.parse = (template) => {
  Handlebars.parse(template);
  return () => "";
};

// ---- The variables of a template

// Returns JSON: the names that the template reads in its data, and not in a member of a block.
exports.variables = (template) => {
  const names = new Set();

  function read(node, depth) {
    switch (node?.type) {
      case "PathExpression": {
        const isRoot = node.data && node.parts[0] === "root";
        if (isRoot) names.add(node.parts[1]);
        else if (!node.data && node.depth === depth && node.parts.length > 0) names.add(node.parts[0]);
        return;
      }
      case "SubExpression":
      case "MustacheStatement":
      case "BlockStatement": {
        const isHelper = node.params.length > 0 || node.hash !== undefined;
        if (!isHelper) read(node.path, depth);
        for (const each of node.params) read(each, depth);
        for (const each of node.hash?.pairs ?? []) read(each.value, depth);
        if (node.type !== "BlockStatement") return;
        const isMember = !isHelper || ["each", "with"].includes(node.path.original);
        for (const each of node.program?.body ?? []) read(each, depth + (isMember ? 1 : 0));
        for (const each of node.inverse?.body ?? []) read(each, depth);
        return;
      }
    }
  }

  for (const each of Handlebars.parse(template).body) read(each, 0);
  return () => JSON.stringify([...names]);
};
