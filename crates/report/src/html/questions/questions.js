// The list of questions. Words of the recording go into the page as text only.
recap.near(document.getElementById("question-list"), async (place) => {
  const { make, foreign, choice, filters, numbered, count: counted, scroll: scrolled } = recap;
  const data = await recap.unpack("question-data");
  const outcomes = ["not graded", "kept", "lost", "gained", "neither"];
  const states = ["none is named", "verbatim", "edited", "folded", "gone"];
  const PAGE = 7;

  // One number per row: see `code` in mod.rs.
  const read = (question, strategy, window) => {
    let n = question.rows[strategy * data.windows.length + window];
    if (n < 0) return null;
    const take = (base) => { const rest = n % base; n = Math.floor(n / base); return rest; };
    const refused = take(2) === 1, there = take(3), evidence = take(5), outcome = take(5);
    return { strategy, window, refused, there, evidence, outcome, given: question.answers[n] };
  };
  const form = filters();
  const pick = (label, options, chosen) => choice(form, label, options, chosen, () => show(0));
  const kinds = [...new Set(data.questions.map((question) => question.kind))];
  const strategy = pick("strategy", [["", "all"], ...numbered(data.strategies.map((p) => p[0]))], String(data.first));
  const window_ = pick("window", [["", "all"], ...numbered(data.windows)], "0");
  const rest = make("details"), more = filters();
  rest.append(make("summary", "more filters"), more);
  const fine = (label, options) => choice(more, label, options, "", () => show(0));
  const session = fine("session", [["", "all"], ...numbered(data.sessions)]);
  const kind = fine("kind", [["", "all"], ...kinds.map((k) => [k, k])]);
  const outcome = pick("outcome", [["", "all"], ...[2, 3, 1, 4, 0].map((o) => [String(o), outcomes[o]])], "2");
  const evidence = fine("evidence", [["", "all"], ...[1, 2, 3, 4, 0].map((e) => [String(e), states[e]])]);
  const search = make("input"), box = make("label", "words ");
  search.type = "search";
  box.append(search);
  more.append(box);
  let typing = 0;
  search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => show(0), 200); });

  const wanted = () => search.value.trim().toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const has = (words, ...texts) => {
    const all = texts.join(" ").toLocaleLowerCase();
    return words.every((word) => all.includes(word));
  };
  const matching = (question, words) => {
    if (kind.value && question.kind !== kind.value) return [];
    if (session.value && question.session !== Number(session.value)) return [];
    const asked = has(words, question.id, question.question, question.expected);
    const rows = [];
    data.strategies.forEach((_, p) => data.windows.forEach((_, w) => {
      if (strategy.value && p !== Number(strategy.value)) return;
      if (window_.value && w !== Number(window_.value)) return;
      const row = read(question, p, w);
      if (!row || (outcome.value && row.outcome !== Number(outcome.value))) return;
      if (evidence.value && row.evidence !== Number(evidence.value)) return;
      if (asked || has(words, question.id, question.question, question.expected, row.given[0], row.given[3])) rows.push(row);
    }));
    return rows;
  };
  const graded = ([, verdict, score, why], refused) => {
    const points = refused ? " (0: the provider would refuse)" : score === null ? "" : ` (${Math.round(score * 100) / 100})`;
    return verdict + points + (why ? ": " + why : "");
  };
  // Where the evidence went: each message that answers it, what became of it
  // by the time of the question, and its words.
  const where = (question, rows) => {
    const box = make("details"), words = make("summary", "where its evidence went");
    box.append(words);
    if (!question.evidence.length) {
      box.append(make("p", "No message is named as its evidence."));
      return box;
    }
    const told = (message) => {
      const list = make("ul");
      states.slice(1).forEach((state, s) => {
        const mine = rows.filter((_, at) => message.states[at] === s);
        if (!mine.length) return;
        const line = make("li");
        line.append(make("b", state), ": ");
        mine.forEach((row, at) => line.append(at ? ", " : "", make("bdi", data.strategies[row.strategy][0]), ` (${data.windows[row.window]})`));
        list.append(line);
      });
      const text = message.text === null ? [] : [foreign("pre", message.text)];
      return [make("h4", message.described), ...text, list];
    };
    box.addEventListener("toggle", async () => {
      const found = await recap.evidence(question.session, question.request, question.evidence, rows);
      if (found) box.append(...found.flatMap(told));
      else box.append(make("p", `Messages ${question.evidence.map((m) => counted(m + 1)).join(", ")}; this session is not packed into the page, cells.jsonl and texts.jsonl have it.`));
    }, { once: true });
    return box;
  };
  const card = (question, rows) => {
    const box = make("details", undefined, "question");
    const head = make("summary");
    head.append(make("bdi", question.id), `: ${question.kind}, `, foreign("span", question.question || "(the words are left out)"));
    box.append(head);
    box.addEventListener("toggle", () => box.append(...opened(question, rows)), { once: true });
    return box;
  };
  const opened = (question, rows) => {
    const age = question.age === null ? "" : `, last said ${question.age.toLocaleString("en")} tokens before`;
    const place = make("p", "session ");
    place.append(make("bdi", data.sessions[question.session]), `, asked after message ${question.at}${age}`);
    const list = make("dl");
    const say = (term, text) => { if (text) list.append(make("dt", term), foreign("dd", text, "words")); };
    say("asked", question.question);
    say("expected", question.expected);
    say("wrong by now", question.stale.join(" | "));
    const before = data.before === null ? null : read(question, data.before, rows[0].window);
    if (before) say("before", [before.given[0], graded(before.given, before.refused)].filter(Boolean).join(" · "));
    const heads = ["strategy", "window", "outcome", ...(data.words ? ["answer after"] : []), "graded", "evidence", "findable"];
    const lines = rows.map((row) => {
      const [name, className] = data.strategies[row.strategy];
      const line = make("tr", undefined, className), th = make("th");
      th.scope = "row";
      th.append(make("bdi", name));
      line.append(th, make("td", data.windows[row.window]), make("td", outcomes[row.outcome]));
      if (data.words) line.append(foreign("td", row.given[0] || "–", "words"));
      line.append(foreign("td", graded(row.given, row.refused), "words"));
      line.append(make("td", states[row.evidence]), make("td", ["–", "no", "yes"][row.there]));
      return line;
    });
    const table = recap.table(heads.map((name) => [name, ""]), lines);
    return [place, list, scrolled(`Answers to ${question.id}`, table), where(question, rows)];
  };

  const count = make("p");
  count.setAttribute("role", "status");
  const cards = make("div");
  const pages = make("div");
  const show = (from) => {
    const words = wanted();
    const found = data.questions.map((question) => [question, matching(question, words)]).filter(([, rows]) => rows.length);
    const to = Math.min(from + PAGE, found.length);
    count.textContent = found.length ? `${from + 1}–${to} of ${found.length.toLocaleString("en")} questions` : "no question matches";
    cards.replaceChildren(...found.slice(from, to).map(([question, rows]) => card(question, rows)));
    pages.replaceChildren(recap.pager(from, PAGE, found.length, show));
  };
  const line = make("div", undefined, "listed");
  line.append(count, pages);
  place.replaceChildren(form, rest, line, cards);
  // Where nothing is lost the list opens with everything.
  if (!data.questions.some((question) => matching(question, []).length)) outcome.value = "";
  show(0);
  place.dataset.ready = "yes";
});
