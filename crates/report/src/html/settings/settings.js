// Every measure: a table is written when it is opened.
(() => {
  const place = document.getElementById("measure-tables");
  if (!place || !("DecompressionStream" in window)) return;
  const { make, scroll, unpack } = recap;
  const head = (scope, text, className) => {
    const cell = make("th", undefined, className);
    cell.scope = scope;
    cell.append(make("bdi", text));
    return cell;
  };
  const table = ({ strategies, measures, reasons }) => {
    const table = make("table", undefined, "measures");
    const top = table.createTHead().insertRow();
    top.append(head("col", "measure"), ...strategies.map((name) => head("col", name, "number")));
    const body = table.createTBody();
    for (const [id, ...cells] of measures) {
      const row = body.insertRow();
      row.append(head("row", id), ...cells.map((text) => make("td", text, "number")));
    }
    const all = scroll("Every measure", table);
    if (reasons.length === 0) return [all];
    const list = make("ul");
    list.append(...reasons.map(([ids, why]) => make("li", `${ids}: ${why}`)));
    return [all, make("p", "Not measured:"), list];
  };
  [...place.querySelectorAll("details")].forEach((details, at) => {
    details.addEventListener("toggle", async () => {
      if (!details.open || details.dataset.done) return;
      details.dataset.done = "1";
      details.append(...table((await unpack("measure-data"))[at]));
    });
  });
  place.hidden = false;
  document.getElementById("measures-hint").hidden = false;
})();
