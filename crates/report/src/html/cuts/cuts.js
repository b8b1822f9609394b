// The facts, one by one; see `Packed` in mod.rs.
recap.near(document.getElementById("fact-view"), async (place) => {
  const { make, unpack, choice, filters, numbered, count, counted, table, scroll, pager, row_kind, follow } = recap;
  const data = await unpack("fact-data");
  const PAGE = 5;
  const form = filters(), status = make("p"), list = make("div"), pages = make("div");
  const sessions = [...new Set(data.cuts.map((cut) => cut.session))];
  const pick = (label, options, chosen) => choice(form, label, options, chosen, () => show(0));
  const strategy = pick("strategy", numbered(data.strategies.map(row_kind)), String(data.first));
  const session = pick("session", [["", "all"], ...numbered(sessions)], "");
  const state = pick("what became of it", [["no", "not kept"], ["", "anything"], ...numbered(data.states.map(([name]) => name))], "no");
  status.setAttribute("role", "status");

  const facts = () => data.cuts.flatMap((cut) => {
    const found = cut.found[Number(strategy.value)];
    if (!found || (session.value && cut.session !== sessions[Number(session.value)])) return [];
    return cut.facts.map((fact, at) => ({ cut, fact, at, state: Number(found[at]) }));
  });
  const wanted = ({ state: found }) => (state.value === "" ? true : state.value === "no" ? !data.states[found][1] : found === Number(state.value));
  const row = ({ cut, fact: [text, kind, request], at, state: found }) => {
    const line = make("tr"), th = make("th"), became = make("td");
    th.scope = "row";
    th.append(text ? make("code") : "(left out)");
    if (text) th.firstChild.append(make("bdi", text));
    became.append(make("span", undefined, `swatch piece-${data.states[found][0]}`), ` ${data.states[found][0]}`);
    const where = make("small", undefined, "below");
    where.append(`${kind}, `, make("bdi", cut.session), `, cut at request ${count(cut.request + 1)}, used at ${count(request + 1)}`);
    th.append(where);
    const evaluated = cut.found.filter(Boolean), kept = evaluated.filter((all) => data.states[Number(all[at])][1]);
    line.append(th, became, make("td", `${kept.length} of ${evaluated.length}`, "number"));
    return line;
  };
  const show = (from) => {
    const all = facts(), found = all.filter(wanted), to = Math.min(from + PAGE, found.length);
    status.textContent = found.length ? `${count(from + 1)}–${count(to)} of ${counted(found.length, "fact")}, of ${count(all.length)}` : all.length ? "no fact matches" : "this strategy was not evaluated here";
    const heads = [["fact", ""], ["became", ""], ["strategies that keep it", "number"]];
    const rows = table(heads, found.slice(from, to).map(row));
    rows.className = "facts";
    list.replaceChildren(...(found.length ? [scroll("Facts", rows)] : []));
    pages.replaceChildren(...(found.length > PAGE ? [pager(from, PAGE, found.length, show)] : []));
  };
  const line = make("div", undefined, "listed");
  line.append(status, pages);
  place.replaceChildren(form, line, list);
  show(0);
  follow(({ name }) => {
    if (!sessions.includes(name)) return;
    session.value = String(sessions.indexOf(name));
    show(0);
  });
  place.dataset.ready = "yes";
});
