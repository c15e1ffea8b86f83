"use strict";

// Read rows and samples: from blocks in the one file, or from the server that sent the page.

/** Return the JSON of a block: base64 of raw deflate. */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).json();
}

async function ask(address) {
  const answer = await fetch(address, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  return answer;
}

/** Turn rows, which are lists, into objects. */
function named({ columns, rows }) {
  return rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index]])));
}

/** Return the texts of a sample's page that the search in code looks at, in lower case. */
function searched(html) {
  const found = html.match(/<pre[^>]* data-searched[^]*?<\/pre>/g) ?? [];
  const names = { lt: "<", gt: ">", amp: "&", "#34": '"', "#39": "'" };
  const plain = (text) =>
    text.replaceAll('<span class="l">', "\n").replace(/<[^>]*>/g, "").replace(/&(#?\w+);/g, (_, name) => names[name]);
  return found.map(plain).join("\0").toLowerCase();
}

function fromFile(blocks) {
  let last = { number: -1, samples: [] };
  const texts = [];
  return {
    tables: async () => {
      const tables = await unpack(blocks.tables);
      return { samples: named(tables.samples), problems: named(tables.problems) };
    },
    /** Return a sample's HTML, or null if the file had no room for it. */
    sample: async (row) => {
      if (row.block === null) return null;
      const [number, place] = row.block;
      if (last.number !== number) last = { number, samples: await unpack(blocks.samples[number]) };
      return last.samples[place];
    },
    /** Return the lines of the rows whose code or completion has a text, of those with a page. */
    linesWith: async (text, rows) => {
      // One block after the other, so that the page reacts in between.
      for (let number = texts.length; number < blocks.samples.length; number = texts.length) {
        const found = (await unpack(blocks.samples[number])).map(searched);
        if (number === texts.length) texts.push(found);
      }
      const has = ([number, place]) => texts[number][place].includes(text);
      return rows.filter((row) => row.block !== null && has(row.block)).map((row) => row.line);
    },
  };
}

function fromServer() {
  return {
    tables: async () => {
      const tables = await (await ask("tables.json")).json();
      return { samples: named(tables.samples), problems: named(tables.problems) };
    },
    sample: async (row) => (await ask(`sample/${row.line}`)).text(),
    linesWith: async (text) => (await ask(`found?text=${encodeURIComponent(text)}`)).json(),
  };
}

function findSource() {
  const blocks = document.getElementById("blocks");
  return blocks ? fromFile(JSON.parse(blocks.textContent)) : fromServer();
}
