// The filters of the page and of the full table. They hide and show; they change
// no figure, only which one leads. What is chosen stands in the address, so that
// it can be sent.
(() => {
  const groups = [...document.querySelectorAll("#controls, #table-controls")];
  const tables = [...document.querySelectorAll("table.compared")];
  if (tables.length === 0) return;
  const { make } = recap;
  const one = (id) => document.getElementById(id);

  // What leads a row when no kind of question is chosen.
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]).map((row) => {
    const cell = row.querySelector(".kept");
    const kinds = (row.dataset.kinds ?? "").split(" ");
    return { row, cell, kinds, nodes: [...cell.childNodes], sort: cell.dataset.sort };
  });
  const heads = tables.map((table) => {
    const head = table.tHead.rows[0].cells[2];
    const words = head.querySelector("button") ?? head;
    return { words, own: words.textContent };
  });

  const lead = () => {
    const kind = one("by-kind")?.value ?? "";
    const name = kind === "" ? "" : one("by-kind").selectedOptions[0].textContent;
    for (const { words, own } of heads) {
      words.textContent = kind === "" ? own : "continuity, " + name;
    }
    for (const { cell, kinds, nodes, sort } of rows) {
      if (kind === "") {
        cell.replaceChildren(...nodes);
        cell.dataset.sort = sort;
        continue;
      }
      const text = kinds[Number(kind)] ?? "";
      const x = Number(text);
      cell.dataset.sort = text;
      if (text === "") cell.replaceChildren(make("b", "–"), make("small", "no such question counts here"));
      else cell.replaceChildren(make("b", x.toFixed(0)));
    }
    for (const table of tables) table.classList.toggle("by-kind", kind !== "");
  };

  const chosen = (name) => document.querySelector(`input[name=${name}]:checked`)?.value ?? "";
  const show = () => {
    const wanted = {
      window: chosen("by-window"),
      dataset: one("by-dataset")?.value ?? "",
      billing_model: one("by-billing model")?.value ?? "",
    };
    for (const block of document.querySelectorAll(".block")) {
      const off = Object.entries(wanted).some(
        ([key, value]) => value !== "" && block.dataset[key] !== undefined && block.dataset[key] !== value,
      );
      block.hidden = off;
    }
    const kinds = new Set(
      [...document.querySelectorAll("input[name=by-row-kind]:checked")].map((box) => box.value),
    );
    const name = one("by-name").value.trim().toLowerCase();
    let found = 0, all = 0;
    for (const { row } of rows) {
      const row_kind = ["control", "offline-summary"].find((s) => row.classList.contains(s)) ?? "ranked";
      const fits = kinds.has(row_kind) && row.cells[1].dataset.sort.toLowerCase().includes(name);
      row.hidden = !fits;
      if (row.closest(".block").hidden) continue;
      all += 1;
      found += fits ? 1 : 0;
    }
    const partial = (one("by-kind")?.value ?? "") !== "" ? "; rank, interval and verdict speak of all kinds together" : "";
    one("found").textContent = `${found} of ${all} rows${partial}`;
  };

  const inputs = groups.flatMap((group) => [...group.querySelectorAll("input, select")]);
  const key = (input) => (input.type === "checkbox" ? input.name + "-" + input.value : input.name || input.id);
  const standard = new Map(inputs.map((input) => [input, input.value]));
  const save = () => {
    const state = new URLSearchParams();
    for (const input of inputs) {
      if (input.type === "checkbox") { if (!input.checked) state.set(key(input), "0"); }
      else if (input.type === "radio") { if (input.checked && !input.defaultChecked) state.set(key(input), input.value); }
      else if (input.value !== standard.get(input)) state.set(key(input), input.value);
    }
    const words = state.toString();
    try { history.replaceState(null, "", words ? "#view?" + words : location.pathname + location.search); } catch { /* a sandbox may forbid it */ }
  };
  const load = () => {
    if (!location.hash.startsWith("#view?")) return;
    const state = new URLSearchParams(location.hash.slice(6));
    for (const input of inputs) {
      const value = state.get(key(input));
      if (value === null) continue;
      if (input.type === "checkbox") input.checked = value !== "0";
      else if (input.type === "radio") input.checked = input.value === value;
      else input.value = value;
      if (input.tagName === "SELECT" && input.selectedIndex < 0) input.selectedIndex = 0;
    }
    const all = document.querySelector("input[name=by-window][value='']");
    if (all && !chosen("by-window")) all.checked = true;
  };
  const update = () => { lead(); show(); };
  load();
  for (const group of groups) {
    group.addEventListener("input", () => { update(); save(); });
    group.hidden = false;
  }
  update();
})();
