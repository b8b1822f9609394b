// The context strip of one session: a column a request. See session.rs and session_shape.rs
// for what is packed.
(() => {
  const { make, foreign, draw, unpack, choice, filters, numbered, near, count, counted, tokens } = recap;
  const STATES = ["verbatim", "edited", "folded", "gone"];
  const NAMES = ["sent as recorded", "sent edited", "folded into a summary", "gone"];
  // Columns of a strip, and messages whose words are shown at once.
  const [COLUMNS, MESSAGES] = [480, 20];

  // Figures are packed as steps from the one before, tables by column.
  const sums = (steps) => {
    let sum = 0;
    return steps.map((step) => (sum += step));
  };
  const rows = (columns) => {
    const all = columns.map(sums);
    return all[0].map((_, at) => all.map((column) => column[at]));
  };
  const cell = (packed) => {
    if (!packed) return packed;
    const compaction = ([request, at_end, before, after, how], at) => ({ request, at_end, before, after, how, texts: packed.texts[at], note: packed.notes[at] });
    return { ...packed, sent: sums(packed.sent), loss: rows(packed.loss), compactions: rows(packed.compactions).map(compaction) };
  };

  const sessions = new Map();
  const session = (at) => {
    if (!sessions.has(at)) sessions.set(at, open(at));
    return sessions.get(at);
  };
  const open = async (at) => {
    const index = await unpack("details");
    const shape = await unpack(`shape-${at}`);
    const words = index.words.includes(at) ? await unpack(`words-${at}`) : null;
    return { at, ...shape, before: sums(shape.before), full: sums(shape.full), cells: shape.cells.map(cell), words, name: index.sessions[at] };
  };
  // The state of every message at a request.
  const states = (session, cell, request) => {
    const state = new Uint8Array(session.tokens.length);
    for (const [when, first, length, next] of cell.loss) {
      if (when <= request) state.fill(next, first, first + length);
    }
    return state;
  };
  const described = (session, at) => {
    const tool = session.tools[at] ? ` ${session.tools[at]}` : "";
    return `message ${count(at + 1)}, ${session.roles[at]}${tool}, ${counted(session.tokens[at], "token")}, id ${session.ids[at]}`;
  };
  // First and last of each run, as a flat list.
  const runs = (flat) => flat.flatMap((from, at) => (at % 2 ? [] : [[from, flat[at + 1]]]));
  const within = (flat, request) => runs(flat).some(([from, to]) => from <= request && request <= to);
  // Tokens by state at each request: what is said by then, whatever became of it.
  const columns = (session, cell) => {
    const state = new Uint8Array(session.tokens.length), sums = [0, 0, 0, 0], all = cell.loss;
    let said = 0, next = 0;
    return session.before.map((until, request) => {
      for (; said < until; said++) sums[state[said]] += session.tokens[said];
      for (; next < all.length && all[next][0] <= request; next++) {
        const [, first, length, to] = all[next];
        for (let at = first; at < first + length; at++) {
          if (at < said) { sums[state[at]] -= session.tokens[at]; sums[to] += session.tokens[at]; }
          state[at] = to;
        }
      }
      return [...sums];
    });
  };
  const strip = (session, cell, label) => {
    const all = columns(session, cell), requests = all.length, wide = Math.min(requests, COLUMNS);
    const column = (request) => Math.min(wide - 1, Math.floor((request * wide) / requests));
    const last = (at) => Math.floor(((at + 1) * requests) / wide) - 1;
    const preamble = Math.max(0, session.full[0] - all[0].reduce((a, b) => a + b, 0));
    const top = Math.max(1, ...session.full, ...cell.sent, ...all.map((sums) => preamble + sums.reduce((a, b) => a + b, 0)));
    const y = (n) => (100 - (n / top) * 100).toFixed(2);
    const svg = draw("svg", { viewBox: `0 0 ${wide} 100`, preserveAspectRatio: "none", role: "img", "aria-label": label });
    svg.append(draw("rect", { class: "is-preamble", x: 0, y: y(preamble), width: wide, height: 100 }));
    STATES.forEach((state, s) => {
      let path = "";
      for (let at = 0; at < wide; at++) {
        const sums = all[last(at)], from = preamble + sums.slice(0, s).reduce((a, b) => a + b, 0);
        if (sums[s]) path += `M${at} ${y(from)}V${y(from + sums[s])}h1V${y(from)}z`;
      }
      svg.append(draw("path", { class: `is-${state}`, d: path }));
    });
    const step = wide / Math.max(1, cell.sent.length);
    svg.append(draw("polyline", { class: "sent", points: cell.sent.map((n, at) => `${((at + 0.5) * step).toFixed(2)},${y(n)}`).join(" ") }));
    if (cell.window <= top) svg.append(draw("path", { class: "limit", d: `M0 ${y(cell.window)}H${wide}` }));
    const mark = draw("rect", { class: "chosen", y: 0, width: 1, height: 100 });
    svg.append(mark);
    const show = (request) => mark.setAttribute("x", column(request));
    const at = (share) => last(Math.min(wide - 1, Math.max(0, Math.floor(share * wide))));
    return { svg, show, at, top, sums: all, wide, column };
  };
  const track = ({ wide, column }, requests, className) => {
    const path = [...new Set(requests.map(column))].map((at) => `M${at} 0V10h1V0z`).join("");
    return draw("svg", { class: `ticks ${className}`, viewBox: `0 0 ${wide} 10`, preserveAspectRatio: "none", "aria-hidden": "true" }, draw("path", { d: path }));
  };

  const message = (session, at) => foreign("pre", described(session, at) + (session.words ? `\n${session.words.messages[at]}` : ""));
  const messages = (session, all) => {
    const box = make("div"), more = make("button", `show the other ${count(all.length - MESSAGES)}`);
    box.append(...all.slice(0, MESSAGES).map((at) => message(session, at)));
    more.type = "button";
    more.addEventListener("click", () => more.replaceWith(...all.slice(MESSAGES).map((at) => message(session, at))));
    if (all.length > MESSAGES) box.append(more);
    return box;
  };
  const folded = (words, fill) => {
    const box = make("details");
    box.append(make("summary", words));
    box.addEventListener("toggle", () => box.append(...fill()), { once: true });
    return box;
  };
  // What went into a compaction, and what came out.
  const sides = (session, cell, compaction) => {
    const touched = cell.loss.filter(([when, , , state]) => when === compaction.request && state);
    const all = touched.flatMap(([, first, length]) => Array.from({ length }, (_, at) => first + at));
    const both = make("div", undefined, "sides"), left = make("div"), right = make("div");
    left.append(make("h3", `went in: ${counted(all.length, "message")}`), messages(session, all));
    right.append(make("h3", "came out"));
    if (session.words) right.append(...compaction.texts.map((at) => foreign("pre", session.words.summaries[at])));
    else if (compaction.texts.length) right.append(make("p", "a summary, whose text this report leaves out"));
    if (compaction.note) right.append(foreign("p", compaction.note));
    else if (!compaction.texts.length) {
      const gone = touched.some(([, , , state]) => state === 3);
      right.append(make("p", gone ? "nothing: they are no longer sent" : all.length ? "the same messages, each with a part cut or replaced by a marker" : "the same: no message changed"));
    }
    both.append(left, right);
    return both;
  };

  // Numbers from 1 that stand together: 1–3, 7.
  const ranges = (all) => {
    const out = [];
    for (const at of all) {
      if (out.length && out.at(-1)[1] === at - 1) out.at(-1)[1] = at;
      else out.push([at, at]);
    }
    const shown = out.slice(0, 8).map(([from, to]) => (from === to ? count(from + 1) : `${count(from + 1)}–${count(to + 1)}`));
    return shown.join(", ") + (out.length > 8 ? " and others" : "");
  };
  // What is known of one request.
  const told = (session, cell, compactions, sums, request) => {
    const state = states(session, cell, request).subarray(0, session.before[request]), lines = make("ul", undefined, "told-states");
    const list = [...state].map((s, at) => [s, at]);
    NAMES.forEach((name, s) => {
      const mine = list.filter(([of]) => of === s).map(([, at]) => at);
      if (!mine.length) return;
      const line = make("li");
      line.append(make("span", undefined, `swatch ${STATES[s]}`), ` ${name}: message${mine.length > 1 ? "s" : ""} ${ranges(mine)} (${tokens(sums[request][s])} tokens)`);
      line.append(folded("read them", () => [messages(session, mine)]));
      lines.append(line);
    });
    const here = compactions.filter((c) => c.request === request && !c.at_end);
    return [lines, ...here.map((c) => folded(`compacted before this request: ${count(c.before)} → ${count(c.after)} tokens, ${session.how[c.how]}`, () => [sides(session, cell, c)]))];
  };
  const facts = (session, cell, request) => {
    const words = [`Request ${count(request + 1)} of ${count(session.before.length)}`];
    if (within(cell.breaks, request)) words.push("the provider’s cache is broken here: something before the end was edited or removed");
    if (within(cell.over, request)) words.push("over the window, the provider would refuse it");
    if (session.cuts.includes(request)) words.push("a cut: what the next requests need is looked at from here");
    return words.join("; ") + ".";
  };

  const show = (view, status, session, strategy, cell) => {
    if (!cell || !session.before.length) {
      status.textContent = "";
      return view.replaceChildren(make("p", "This strategy did not run through this session."));
    }
    const requests = session.before.length, compactions = cell.compactions;
    const at = compactions.filter((c) => !c.at_end).map((c) => c.request);
    const breaks = runs(cell.breaks).flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, n) => from + n));
    const words = `${counted(requests, "request")}, ${counted(cell.all, "compaction")}, ${counted(breaks.length, "cache break")}`;
    const drawn = strip(session, cell, `${strategy} in session ${session.name}: ${words}`);
    const grid = make("div", undefined, "strip");
    const row = (label, node) => grid.append(make("span", label), node);
    row(tokens(drawn.top) + " tokens", drawn.svg);
    row("compactions", track(drawn, at, "compacted"));
    if (session.cuts.length) row("cuts", track(drawn, session.cuts, "cut"));
    row("cache breaks", track(drawn, breaks, "broken"));
    const range = make("input"), box = make("label", "request "), line = make("p"), list = make("div");
    Object.assign(range, { type: "range", min: 1, max: requests, value: requests });
    box.append(range);
    line.setAttribute("aria-live", "polite");
    const move = (request) => {
      range.value = String(request + 1);
      drawn.show(request);
      line.textContent = facts(session, cell, request);
      list.replaceChildren(...told(session, cell, compactions, drawn.sums, request));
    };
    range.addEventListener("input", () => move(Number(range.value) - 1));
    const step = (text, find) => {
      const button = make("button", text);
      button.type = "button";
      button.disabled = !at.length;
      button.addEventListener("click", () => { const to = find(Number(range.value) - 1); if (to !== undefined) move(to); });
      return button;
    };
    const controls = make("div", undefined, "filters");
    controls.append(box, step("previous compaction", (now) => at.findLast((request) => request < now)), step("next compaction", (now) => at.find((request) => request > now)));
    const point = (event) => {
      const { left, width } = drawn.svg.getBoundingClientRect();
      move(drawn.at((event.clientX - left) / width));
    };
    drawn.svg.addEventListener("pointermove", point);
    drawn.svg.addEventListener("pointerdown", point);
    status.textContent = words;
    view.replaceChildren(grid, controls, line, list);
    move(at.at(-1) ?? requests - 1);
  };

  near(document.getElementById("session-view"), async (place) => {
    const index = await unpack("details");
    if (!index.shapes.length) return;
    const form = filters(), status = make("output"), view = make("div");
    const changed = async () => {
      const mine = await session(Number(which.value)), chosen = Number(strategy.value);
      show(view, status, mine, index.strategies[chosen], mine.cells[chosen * index.windows.length + Number(window_.value)]);
    };
    const first = index.shapes.includes(index.open) ? index.open : index.shapes[0];
    const which = choice(form, "session", index.shapes.map((at) => [String(at), index.sessions[at]]), String(first), changed);
    const strategy = choice(form, "strategy", numbered(index.strategies), String(index.first), changed);
    const window_ = choice(form, "window", numbered(index.windows), "0", changed);
    window_.parentElement.hidden = index.windows.length < 2;
    form.append(status);
    await changed();
    place.replaceChildren(form, view);
    place.dataset.ready = "yes";
  });
})();
