// Every measure: a table is written when it is opened.
(() => {
  const place = document.getElementById("measure-tables");
  if (!place || !("DecompressionStream" in window)) return;
  let reading = null;
  const read = async () => {
    const packed = atob(document.getElementById("measure-data").textContent.trim());
    const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  };
  const make = (name, text, className) => {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  };
  const head = (scope, text, className) => {
    const cell = make("th", undefined, className);
    cell.scope = scope;
    cell.append(make("bdi", text));
    return cell;
  };
  const table = ({ presets, measures, reasons }) => {
    const table = make("table", undefined, "measures");
    const top = table.createTHead().insertRow();
    top.append(head("col", "measure"), ...presets.map((name) => head("col", name, "number")));
    const body = table.createTBody();
    for (const [id, ...cells] of measures) {
      const row = body.insertRow();
      row.append(head("row", id), ...cells.map((text) => make("td", text, "number")));
    }
    const scroll = make("div", undefined, "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Every measure");
    scroll.append(table);
    if (reasons.length === 0) return [scroll];
    const list = make("ul");
    list.append(...reasons.map(([ids, why]) => make("li", `${ids}: ${why}`)));
    return [scroll, make("p", "Not measured:"), list];
  };
  [...place.querySelectorAll("details")].forEach((details, at) => {
    details.addEventListener("toggle", async () => {
      if (!details.open || details.dataset.done) return;
      details.dataset.done = "1";
      reading ??= read();
      details.append(...table((await reading)[at]));
    });
  });
  place.hidden = false;
  document.getElementById("measures-hint").hidden = false;
})();
