// The bill of any strategy in parts, and forgetting curves as whole tables.
(() => {
  const { make, unpack, choice, filters, numbered, near, count, scroll, table, tokens, standing } = recap;
  const dollars = (usd) => (usd >= 0.995 || usd === 0 ? `$${usd.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}` : `$${usd.toFixed(4)}`);

  const waterfall = (parts, [bill, uncached]) => {
    const total = bill.reduce((sum, [, usd]) => sum + usd, 0);
    const line = (label, kind, amount, usd, from) => {
      const row = make("tr"), th = make("th", label), fall = make("td", undefined, "fall"), bar = make("span", undefined, `fall-${kind}`);
      th.scope = "row";
      bar.setAttribute("aria-hidden", "true");
      bar.style.setProperty("margin-left", `${total ? (from / total) * 100 : 0}%`);
      bar.style.setProperty("width", `${total ? (usd / total) * 100 : 0}%`);
      fall.append(bar);
      row.append(th, make("td", amount, "number"), make("td", dollars(usd), "number"), make("td", total ? `${Math.round((usd / total) * 100)} %` : "–", "number"), fall);
      return row;
    };
    let from = 0;
    const rows = bill.map(([amount, usd], at) => {
      const start = from;
      from += usd;
      return amount || usd > 1e-9 ? line(parts[at][0], parts[at][1], amount ? tokens(amount) : "–", usd, start) : null;
    });
    const heads = [["part", ""], ["tokens", "number"], ["dollars", "number"], ["share", "number"], ["", ""]];
    const all = table(heads, [...rows.filter(Boolean), line("together", "total", "", total, 0)]);
    all.className = "waterfall";
    return [make("p", `${dollars(total)}; without a cache ${dollars(uncached)}`), scroll("Bill in parts", all)];
  };
  near(document.getElementById("bill-view"), async (place) => {
    const data = await unpack("bills");
    const form = filters(), view = make("div");
    const show = () => {
      const at = (Number(payer.value) * data.presets.length + Number(preset.value)) * data.windows.length + Number(window_.value);
      const bill = data.bills[at];
      view.replaceChildren(...(bill ? waterfall(data.parts, bill) : [make("p", "There is no bill: it did not run through, or a price is unknown.")]));
    };
    const preset = choice(form, "strategy", numbered(data.presets.map(standing)), String(data.first), show);
    const window_ = choice(form, "window", numbered(data.windows), "0", show);
    const payer = choice(form, "billed as", numbered(data.payers), "0", show);
    show();
    place.replaceChildren(form, view, ...place.childNodes);
    place.dataset.ready = "yes";
  });

  // The tables hold those that are named in the drawing, until they are opened.
  for (const part of document.querySelectorAll("table[data-all]")) {
    const opened = async () => {
      const rows = await unpack(part.dataset.all);
      part.tBodies[0].replaceChildren(...rows.map(([name, cells]) => {
        const row = make("tr"), th = make("th");
        th.scope = "row";
        th.append(make("bdi", name));
        row.append(th, ...cells.map((cell) => make("td", cell, "number")));
        return row;
      }));
      const rest = part.parentElement.nextElementSibling;
      rest.textContent = `All ${count(rows.length)} strategies.`;
    };
    if ("DecompressionStream" in window) part.closest("details").addEventListener("toggle", opened, { once: true });
  }
})();
