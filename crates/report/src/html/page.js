// What the scripts below share. Words of a recording go into the page as text
// only, and nothing is unpacked before somebody comes near it.
const recap = (() => {
  const make = (name, text, className) => {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  };
  // A long text scrolls by itself, and only then it takes the focus: by it the keyboard scrolls.
  const long = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      const scrolls = target.scrollHeight > target.clientHeight;
      for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", "long text"]]) {
        if (scrolls) target.setAttribute(name, value);
        else target.removeAttribute(name);
      }
    }
  });
  // Words that strangers wrote, in their own reading direction.
  const foreign = (name, text, className) => {
    const node = make(name, text, className);
    node.dir = "auto";
    if (name === "pre") long.observe(node);
    return node;
  };
  const draw = (name, attributes, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const blocks = new Map();
  const unpack = (id) => {
    if (!blocks.has(id)) blocks.set(id, read(id));
    return blocks.get(id);
  };
  const read = async (id) => {
    const packed = atob(document.getElementById(id).textContent.trim());
    const bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  };
  const choice = (form, label, options, chosen, changed) => {
    const box = make("label", label + " "), select = make("select");
    options.forEach(([value, text]) => {
      const option = make("option", text);
      option.value = value;
      option.selected = value === chosen;
      select.append(option);
    });
    box.append(select);
    form.append(box);
    select.addEventListener("change", changed);
    return select;
  };
  const filters = () => {
    const form = make("form", undefined, "filters");
    form.addEventListener("submit", (event) => event.preventDefault());
    return form;
  };
  const numbered = (names) => names.map((name, at) => [String(at), name]);
  // Once, when the place comes near the part of the page that is seen.
  const near = (place, run) => {
    if (!place || !("DecompressionStream" in window)) return;
    const watch = new IntersectionObserver((seen) => {
      if (!seen.some((entry) => entry.isIntersecting)) return;
      watch.disconnect();
      run(place);
    }, { rootMargin: "400px" });
    watch.observe(place);
  };
  const count = (n) => n.toLocaleString("en");
  const counted = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
  const tokens = (n) => (n < 1000 ? String(Math.round(n)) : n < 99500 ? `${Math.round(n / 100) / 10}k` : n < 999500 ? `${Math.round(n / 1000)}k` : `${Math.round(n / 1e4) / 100}M`);
  return { make, foreign, draw, unpack, choice, filters, numbered, near, count, counted, tokens };
})();

// Sorting by a click on a heading, the theme, and folds that a link leads into.
(() => {
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = ({ cells }) => cells[at].dataset.sort ?? cells[at].textContent.replace(/^–$/, "");
        const order = (a, b) => {
          const [x, y] = [key(a), key(b)];
          if (x === "" || y === "") return (x === "") - (y === "");
          const number = Number(x) - Number(y);
          const by = Number.isNaN(number) ? x.localeCompare(y) : number;
          return down ? -by : by;
        };
        for (const body of table.tBodies) body.append(...[...body.rows].filter((row) => !row.matches(".group")).sort(order));
      });
    });
  }

  for (const copy of document.querySelectorAll(".copy")) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(copy.dataset.copy); } catch { getSelection().selectAllChildren(copy.previousElementSibling); document.execCommand("copy"); }
      copy.textContent = "Copied";
      setTimeout(() => { copy.textContent = "Copy"; }, 1600);
    });
  }

  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  system.addEventListener("change", name);
  button.hidden = false;
  name();

  const unfold = () => {
    const place = document.getElementById(location.hash.slice(1));
    let fold = place?.querySelector(":scope > details") ?? place?.closest("details");
    for (; fold; fold = fold.parentElement?.closest("details")) fold.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
