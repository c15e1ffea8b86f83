"use strict";

// A table that sorts, filters and turns pages. All text in it is set as text, never as markup.

const PAGE_ROWS = 50;

/** Make an element: make("td", {class: "num"}, "text", child). */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

class Table {
  /**
   * @param root      holds a `table` with an empty head and body, a `.pager` and a `.count`
   * @param rows      objects, never changed
   * @param columns   {key, label, cell(row), numeric}; a column without a key does not sort
   * @param things    what the rows are called
   */
  constructor(root, rows, columns, things) {
    this.rows = rows;
    this.shown = rows;
    this.columns = columns;
    this.things = things;
    this.page = 0;
    this.order = null;
    this.accepts = () => true;
    this.onSort = () => {};
    this.body = root.querySelector("tbody");
    this.count = root.querySelector(".count");
    this.pager = root.querySelector(".pager");
    this.buildHead(root.querySelector("thead"));
    this.body.addEventListener("keydown", (event) => this.onKey(event));
    this.update();
  }

  buildHead(head) {
    this.heads = this.columns.map((column) => {
      const cell = make("th", { scope: "col", class: column.numeric ? "num" : "" });
      if (column.key) {
        const button = make("button", { type: "button" }, column.label);
        button.addEventListener("click", () => this.sortBy(column));
        cell.append(button);
      } else {
        cell.append(column.label);
      }
      return cell;
    });
    head.replaceChildren(make("tr", {}, ...this.heads));
  }

  /**
   * Sort by a column.
   * @param column  one of `columns`
   * @param up      the smallest first; null: numbers from the largest, text from A, and a second
   *                time the other way
   */
  sortBy(column, up = null) {
    const again = this.order?.column === column;
    this.order = { column, up: up ?? (again ? !this.order.up : !column.numeric) };
    this.columns.forEach((each, index) => {
      const way = this.order.up ? "ascending" : "descending";
      if (each === column) this.heads[index].setAttribute("aria-sort", way);
      else this.heads[index].removeAttribute("aria-sort");
    });
    this.update();
    this.onSort();
  }

  /** Show the rows for which `accepts` is true. */
  filter(accepts) {
    this.accepts = accepts;
    this.update();
  }

  update() {
    this.shown = this.rows.filter(this.accepts);
    if (this.order) {
      const { column, up } = this.order;
      const sign = up ? 1 : -1;
      this.shown.sort((a, b) => {
        const [x, y] = [a[column.key], b[column.key]];
        if (x === y) return 0;
        if (x === null) return 1;
        if (y === null) return -1;
        return x < y ? -sign : sign;
      });
    }
    this.page = 0;
    this.draw();
  }

  draw() {
    const start = this.page * PAGE_ROWS;
    const rows = this.shown.slice(start, start + PAGE_ROWS);
    this.body.replaceChildren(...rows.map((row) => this.drawRow(row)));
    const all = this.rows.length.toLocaleString("en");
    const count = this.shown.length.toLocaleString("en");
    this.count.textContent =
      this.shown.length === this.rows.length
        ? `${all} ${this.things}`
        : `${count} of ${all} ${this.things}`;
    this.drawPager();
  }

  drawRow(row) {
    const cells = this.columns.map((column) =>
      make(
        "td",
        { class: `${column.numeric ? "num" : ""} ${column.kind ?? ""}`, "data-label": column.label },
        column.cell(row),
      ),
    );
    return make("tr", {}, ...cells);
  }

  drawPager() {
    const pages = Math.ceil(this.shown.length / PAGE_ROWS);
    this.pager.hidden = pages < 2;
    const turn = (label, to) => {
      const button = make("button", { type: "button" }, label);
      button.disabled = to < 0 || to >= pages;
      button.addEventListener("click", () => this.turnTo(to));
      return button;
    };
    this.pager.replaceChildren(
      turn("First", this.page === 0 ? -1 : 0),
      turn("Previous", this.page - 1),
      make("span", {}, `page ${this.page + 1} of ${pages}`),
      turn("Next", this.page + 1),
      turn("Last", this.page === pages - 1 ? -1 : pages - 1),
    );
  }

  turnTo(page) {
    this.page = page;
    this.draw();
    this.links()[0]?.focus();
  }

  /** Turn to the page that shows a row, and return its link. */
  reveal(row) {
    const index = this.shown.indexOf(row);
    if (index < 0) return null;
    this.page = Math.floor(index / PAGE_ROWS);
    this.draw();
    return this.links()[index % PAGE_ROWS] ?? null;
  }

  links() {
    return [...this.body.querySelectorAll("a.open")];
  }

  /** Move between rows with the arrows or j and k. */
  onKey(event) {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    const links = this.links();
    const row = event.target.closest("tr");
    const next = links[links.findIndex((link) => row.contains(link)) + step];
    if (next) next.focus();
    event.preventDefault();
  }
}
