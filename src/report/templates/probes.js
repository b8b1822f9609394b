// The list of questions. Words of the recording go into the page as text only.
(async () => {
  const place = document.getElementById("probe-list");
  if (!place || !("DecompressionStream" in window)) return;
  const packed = atob(document.getElementById("probe-data").textContent.trim());
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const data = await new Response(stream).json();
  const outcomes = ["not graded", "kept", "lost", "gained", "neither"];
  const states = ["none is named", "verbatim", "edited", "folded", "gone"];
  const PAGE = 25;

  // One number per row: see `code` in probes.rs.
  const read = (probe, preset, window) => {
    let n = probe.rows[preset * data.windows.length + window];
    if (n < 0) return null;
    const take = (base) => { const rest = n % base; n = Math.floor(n / base); return rest; };
    const refused = take(2) === 1, there = take(3), evidence = take(5), outcome = take(5);
    return { preset, window, refused, there, evidence, outcome, given: probe.answers[n] };
  };
  const make = (name, text, className) => {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  };
  const foreign = (name, text) => { const node = make(name, text, "words"); node.dir = "auto"; return node; };
  const form = make("form", undefined, "filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  const choice = (label, options, chosen) => {
    const box = make("label", label + " "), select = make("select");
    options.forEach(([value, text]) => {
      const option = make("option", text);
      option.value = value;
      option.selected = value === chosen;
      select.append(option);
    });
    box.append(select);
    form.append(box);
    select.addEventListener("change", () => show(0));
    return select;
  };
  const numbered = (names) => names.map((name, at) => [String(at), name]);
  const kinds = [...new Set(data.probes.map((probe) => probe.kind))];
  const preset = choice("strategy", [["", "all"], ...numbered(data.presets.map((p) => p[0]))], String(data.first));
  const window_ = choice("window", [["", "all"], ...numbered(data.windows)], "0");
  const session = choice("session", [["", "all"], ...numbered(data.sessions)], "");
  const kind = choice("kind", [["", "all"], ...kinds.map((k) => [k, k])], "");
  const outcome = choice("outcome", [["", "all"], ...[2, 3, 1, 4, 0].map((o) => [String(o), outcomes[o]])], "2");

  const matching = (probe) => {
    if (kind.value && probe.kind !== kind.value) return [];
    if (session.value && probe.session !== Number(session.value)) return [];
    const rows = [];
    data.presets.forEach((_, p) => data.windows.forEach((_, w) => {
      if (preset.value && p !== Number(preset.value)) return;
      if (window_.value && w !== Number(window_.value)) return;
      const row = read(probe, p, w);
      if (row && (!outcome.value || row.outcome === Number(outcome.value))) rows.push(row);
    }));
    return rows;
  };
  const graded = ([, verdict, score, why], refused) => {
    const points = refused ? " (0: the provider would refuse)" : score === null ? "" : ` (${Math.round(score * 100) / 100})`;
    return verdict + points + (why ? ": " + why : "");
  };
  const card = (probe, rows) => {
    const box = make("article", undefined, "probe");
    const age = probe.age === null ? "" : `, last said ${probe.age.toLocaleString("en")} tokens before`;
    const head = make("h4");
    head.append(make("bdi", probe.id), `: ${probe.kind}, `, make("bdi", data.sessions[probe.session]), `, asked after message ${probe.at}${age}`);
    const list = make("dl");
    const say = (term, text) => { if (text) list.append(make("dt", term), foreign("dd", text)); };
    say("asked", probe.question);
    say("expected", probe.expected);
    say("wrong by now", probe.stale.join(" | "));
    const before = data.before === null ? null : read(probe, data.before, rows[0].window);
    if (before) say("before", [before.given[0], graded(before.given, before.refused)].filter(Boolean).join(" · "));
    const scroll = make("div", undefined, "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `Answers to ${probe.id}`);
    const table = make("table"), body = make("tbody"), top = make("tr");
    const columns = ["strategy", "window", "outcome", ...(data.words ? ["answer after"] : []), "graded", "evidence", "value in context"];
    columns.forEach((name) => { const th = make("th", name); th.scope = "col"; top.append(th); });
    const thead = make("thead");
    thead.append(top);
    rows.forEach((row) => {
      const [name, className] = data.presets[row.preset];
      const line = make("tr", undefined, className), th = make("th");
      th.scope = "row";
      th.append(make("bdi", name));
      line.append(th, make("td", data.windows[row.window]), make("td", outcomes[row.outcome]));
      if (data.words) line.append(foreign("td", row.given[0] || "–"));
      line.append(foreign("td", graded(row.given, row.refused)));
      line.append(make("td", states[row.evidence]), make("td", ["–", "no", "yes"][row.there]));
      body.append(line);
    });
    table.append(thead, body);
    scroll.append(table);
    box.append(head, list, scroll);
    return box;
  };

  const count = make("p");
  count.setAttribute("role", "status");
  const cards = make("div");
  const pager = make("p", undefined, "pager");
  const show = (from) => {
    const found = data.probes.map((probe) => [probe, matching(probe)]).filter(([, rows]) => rows.length);
    const to = Math.min(from + PAGE, found.length);
    count.textContent = found.length ? `${from + 1}–${to} of ${found.length.toLocaleString("en")} questions` : "no question matches";
    cards.replaceChildren(...found.slice(from, to).map(([probe, rows]) => card(probe, rows)));
    const step = (text, start, possible) => {
      const button = make("button", text);
      button.type = "button";
      button.disabled = !possible;
      button.addEventListener("click", () => { show(start); place.scrollIntoView(); });
      return button;
    };
    pager.replaceChildren(step("previous", from - PAGE, from > 0), " ", step("next", from + PAGE, to < found.length));
  };
  place.replaceChildren(form, count, cards, pager);
  // Where nothing is lost the list opens with everything.
  if (!data.probes.some((probe) => matching(probe).length)) outcome.value = "";
  show(0);
})();
