"use strict";

// What can be typed into the search: words, and conditions such as reward<0 or problem:"two words".

const TERM = /(\w+)(<=|>=|[<>=:])("[^"]*"|\S+)|"([^"]*)"|\S+/g;

const COMPARED = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b,
};

/** Return the words and conditions of what was typed; a word has no `column`. */
const terms = (typed) =>
  [...typed.matchAll(TERM)].map(([term, column, sign, value, quoted]) => ({
    term,
    column,
    sign,
    value: value?.startsWith('"') ? value.slice(1, -1) : value,
    word: quoted ?? term,
  }));

/** Return a column's condition as a function of a row; null if the column cannot have it. */
function condition(column, sign, text, kinds) {
  const kind = kinds[column];
  if (kind === "number" && sign !== ":") {
    const bound = Number(text);
    if (text === "" || Number.isNaN(bound)) return null;
    return (row) => row[column] !== null && COMPARED[sign](row[column], bound);
  }
  if (kind !== "text") return null;
  const plain = (row) => String(row[column]).toLowerCase();
  if (sign === ":") return (row) => plain(row).includes(text);
  return sign === "=" ? (row) => plain(row) === text : null;
}

/**
 * Return a function that tells whether a row has all that was typed.
 * @param typed  words and conditions, between blanks
 * @param kinds  by column: "number" or "text"; what names no column of these is a word
 */
function matcher(typed, kinds) {
  const tests = terms(typed.toLowerCase()).map(
    ({ column, sign, value, word }) =>
      (column && condition(column, sign, value, kinds)) || ((row) => row.haystack.includes(word)),
  );
  return (row) => tests.every((test) => test(row));
}

/** Return what each column holds, from rows. */
function kindsOf(rows) {
  const kinds = {};
  for (const row of rows) {
    for (const [column, value] of Object.entries(row)) {
      if (typeof value === "number") kinds[column] = "number";
      else if (typeof value === "string" || typeof value === "boolean") kinds[column] = "text";
    }
  }
  return kinds;
}
