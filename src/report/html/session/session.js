// Context size, loss map and compactions of any session; see details.rs and
// shape.rs for what is packed.
(() => {
  const { make, foreign, draw, unpack, choice, filters, numbered, near, count, counted, tokens, scroll, pager, standing } = recap;
  const STATES = ["verbatim", "edited", "folded", "gone"];
  const SAID_LATER = 255;

  // Undoes `differences` of shape.rs.
  const summed = (steps) => { let last = 0; return steps.map((step) => (last += step)); };

  const sessions = new Map();
  const session = (at) => {
    if (!sessions.has(at)) sessions.set(at, open(at));
    return sessions.get(at);
  };
  const open = async (at) => {
    const index = await unpack("details");
    const shape = await unpack(`shape-${at}`);
    const words = index.words.includes(at) ? await unpack(`words-${at}`) : null;
    return { at, ...shape, said: summed(shape.said), full: summed(shape.full), words, name: index.sessions[at] };
  };
  // Every change of a message: request, message, how many from there, state.
  const changes = (cell) => {
    const out = [];
    for (let at = 0, request = 0, message = 0; at < cell.loss.length; at += 4) {
      request += cell.loss[at];
      message += cell.loss[at + 1];
      out.push([request, message, cell.loss[at + 2], cell.loss[at + 3]]);
    }
    return out;
  };
  const described = (session, at) => {
    const tool = session.tools[at] ? ` ${session.tools[at]}` : "";
    return `message ${count(at + 1)}, ${session.roles[at]}${tool}, ${counted(session.tokens[at], "token")}, id ${session.ids[at]}`;
  };
  // What the list of questions asks about its evidence.
  recap.evidence = async (at, request, messages, rows) => {
    const index = await unpack("details");
    if (!index.shapes.includes(at)) return null;
    const mine = await session(at);
    return messages.map((message) => ({
      described: described(mine, message),
      text: mine.words ? mine.words.messages[message] : null,
      states: rows.map(({ preset, window }) => {
        const cell = mine.cells[preset * index.windows.length + window];
        if (!cell) return null;
        let state = 0;
        for (const [when, first, length, next] of changes(cell)) {
          if (when <= request && first <= message && message < first + length) state = next;
        }
        return state;
      }),
    }));
  };

  // A form that chooses a session, a window and, if asked for, a strategy that
  // has something to show.
  const chooser = async (place, shows, update) => {
    const index = await unpack("details");
    if (!index.shapes.length) return;
    const form = filters(), view = make("div");
    const changed = async () => {
      const mine = await session(Number(which.value));
      const at = Number(window_.value);
      const cells = index.presets.map((preset, p) => ({ preset, cell: mine.cells[p * index.windows.length + at] }));
      if (shows) {
        const able = cells.map(({ cell }, p) => [p, cell]).filter(([, cell]) => cell && shows(cell)).map(([p]) => p);
        const before = strategy.value;
        strategy.replaceChildren(...able.map((p) => { const option = make("option", standing(index.presets[p])); option.value = String(p); return option; }));
        const kept = able.includes(Number(before)) && before !== "" ? before : able.includes(index.first) ? String(index.first) : String(able[0] ?? "");
        strategy.value = kept;
      }
      const chosen = shows && strategy.value !== "" ? cells[Number(strategy.value)] : null;
      update(view, { session: mine, index, window: index.windows[at], cells, ...chosen });
    };
    const first = index.shapes.includes(index.open) ? index.open : index.shapes[0];
    const names = index.shapes.map((at) => [String(at), index.sessions[at]]);
    const which = choice(form, "session", names, String(first), changed);
    const window_ = choice(form, "window", numbered(index.windows), "0", changed);
    const strategy = shows ? choice(form, "strategy", [], "", changed) : null;
    await changed();
    place.replaceChildren(form, view);
    place.dataset.ready = "yes";
  };

  // Context size: a panel for each strategy, all on one scale.
  const panel = (session, { preset, cell }, top) => {
    const [width, height] = [320, 130];
    const requests = session.said.length;
    const x = (at, all) => (all > 1 ? (at / (all - 1)) * width : 0);
    const y = (n) => height - (n / top) * height;
    const points = (line) => line.map((n, at) => `${x(at, line.length).toFixed(1)},${y(n).toFixed(1)}`);
    const sent = points(summed(cell.sent)), full = points(session.full);
    let over = 0;
    for (let at = 0; at < cell.over.length; at += 2) over += cell.over[at + 1] - cell.over[at] + 1;
    const compactions = cell.compactions ? cell.compactions.all : 0;
    const caption = `peak ${tokens(cell.peak)}, ${counted(compactions, "compaction")}${over ? `, over the window ${count(over)}×` : ""}`;
    const svg = draw("svg", { viewBox: `-44 -6 ${width + 52} ${height + 28}`, role: "img", "aria-label": `${standing(preset)}: ${caption}` });
    svg.append(draw("polygon", { class: "whole", points: `0,${height} ${full.join(" ")} ${width},${height}` }));
    if (cell.window <= top) svg.append(draw("line", { class: "limit", x1: 0, x2: width, y1: y(cell.window), y2: y(cell.window) }));
    svg.append(draw("polyline", { class: "sent", points: sent.join(" ") }));
    for (let at = 0; at < cell.over.length; at += 2) {
      const from = x(cell.over[at], requests), to = x(cell.over[at + 1], requests);
      svg.append(draw("rect", { class: "over", x: Math.min(from, width - 1), y: height - 4, width: Math.max(to - from, 1), height: 4 }));
    }
    svg.append(draw("text", { x: -4, y: 8, class: "end" }, tokens(top)), draw("text", { x: -4, y: height, class: "end" }, "0"));
    svg.append(draw("text", { x: 0, y: height + 15 }, "request 1"), draw("text", { x: width, y: height + 15, class: "end" }, count(requests)));
    const figure = make("figure", undefined, preset[1]), head = make("figcaption"), name = make("b");
    name.append(make("bdi", standing(preset)));
    head.append(name, " ", make("small", caption));
    figure.append(head, svg);
    return figure;
  };
  near(document.getElementById("context-view"), (place) => chooser(place, null, (view, { session, cells, window }) => {
    const ran = cells.filter(({ cell }) => cell && cell.sent.length);
    let top = Math.max(1, ...session.full);
    const whole = top;
    for (const { cell } of ran) top = Math.max(top, cell.peak, cell.window <= whole * 1.3 ? cell.window : 0);
    const panels = make("div", undefined, "panels lines");
    panels.append(...ran.map((each) => panel(session, each, top * 1.05)));
    const head = make("h3", "session ");
    head.append(make("bdi", session.name), `, window ${window}`);
    view.replaceChildren(head, panels);
  }));

  // Loss map: messages down, requests across, and one of both told in words.
  const [ROWS, COLUMNS] = [200, 120];
  const map = (session, cell) => {
    const [messages, requests] = [session.tokens.length, session.said.length];
    const [rows, columns] = [Math.min(messages, ROWS), Math.min(requests, COLUMNS)];
    const start = (row) => Math.floor((row * messages) / rows);
    const last = (column) => Math.floor(((column + 1) * requests) / columns) - 1;
    const grid = [];
    const state = new Uint8Array(messages);
    const all = changes(cell);
    let sums = [0, 0, 0, 0];
    for (let column = 0, next = 0; column < columns; column++) {
      const request = last(column), said = session.said[request];
      for (; next < all.length && all[next][0] <= request; next++) {
        const [, first, length, to] = all[next];
        state.fill(to, first, first + length);
      }
      const line = [];
      sums = [0, 0, 0, 0];
      for (let row = 0; row < rows; row++) {
        const mine = [0, 0, 0, 0];
        for (let at = start(row); at < Math.min(start(row + 1), said); at++) mine[state[at]] += Math.max(session.tokens[at], 1);
        const most = Math.max(...mine);
        line.push(most ? mine.indexOf(most) : SAID_LATER);
        mine.forEach((n, s) => { sums[s] += n; });
      }
      grid.push(line);
    }
    return { rows, columns, start, last, grid, sums };
  };
  const shares = (sums) => {
    const all = sums.reduce((a, b) => a + b, 0);
    const share = (n) => (n / all < 0.005 ? "under 1 %" : `${Math.round((n / all) * 100)} %`);
    return sums.map((n, s) => [n, s]).filter(([n]) => n).map(([n, s]) => `${share(n)} ${STATES[s]}`).join(", ") || "nothing was said";
  };
  const drawing = ({ rows, columns, grid, sums }, name) => {
    const across = 600 / columns, down = Math.min(400 / rows, 14);
    const svg = draw("svg", { viewBox: `0 0 600 ${(rows * down).toFixed(1)}`, role: "img", "aria-label": `Loss map of ${name}: at the last request ${shares(sums)}` });
    STATES.forEach((state, s) => {
      let path = "";
      for (let row = 0; row < rows; row++) {
        for (let from = 0; from < columns; from++) {
          if (grid[from][row] !== s) continue;
          let to = from;
          while (to < columns && grid[to][row] === s) to++;
          path += `M${(from * across).toFixed(1)} ${(row * down).toFixed(2)}H${(to * across).toFixed(1)}v${down.toFixed(2)}H${(from * across).toFixed(1)}z`;
          from = to;
        }
      }
      svg.append(draw("path", { class: `is-${state}`, d: path }));
    });
    const mark = draw("rect", { class: "chosen", width: Math.max(across, 4).toFixed(1), height: Math.max(down, 4).toFixed(1) });
    svg.append(mark);
    return { svg, point: (row, column) => { mark.setAttribute("x", (column * across).toFixed(1)); mark.setAttribute("y", (row * down).toFixed(1)); } };
  };
  const slider = (label, most, changed) => {
    const box = make("label", `${label} `), input = make("input"), value = make("output");
    Object.assign(input, { type: "range", min: 1, max: Math.max(most, 1), value: 1 });
    box.append(input, " ", value);
    input.addEventListener("input", changed);
    return { box, get: () => Number(input.value) - 1, set: (at) => { input.value = String(at + 1); value.textContent = `${count(at + 1)} of ${count(most)}`; } };
  };
  // Why a message is in a state: since when, and in which it was before.
  const history = (cell, message, request) => {
    let [state, since, before] = [0, null, 0];
    for (const [when, first, length, next] of changes(cell)) {
      if (when > request) break;
      if (first <= message && message < first + length && next !== state) [state, since, before] = [next, when, state];
    }
    return since === null ? STATES[state] : `${STATES[state]} since request ${count(since + 1)} (before that ${STATES[before]})`;
  };
  near(document.getElementById("loss-view"), (place) => chooser(place, (cell) => cell.loss.length > 0, (view, { session, preset, cell }) => {
    if (!cell || !session.said.length) return view.replaceChildren(make("p", "No strategy took anything from this session at this window."));
    const lost = map(session, cell);
    const { svg, point } = drawing(lost, standing(preset));
    const told = make("p"), text = foreign("pre", "");
    told.setAttribute("aria-live", "polite");
    const show = (message, request) => {
      ofMessage.set(message);
      ofRequest.set(request);
      const row = Math.min(lost.rows - 1, Math.floor(((message + 1) * lost.rows - 1) / session.tokens.length));
      const column = Math.min(lost.columns - 1, Math.floor(((request + 1) * lost.columns - 1) / session.said.length));
      point(row, column);
      const there = message < session.said[request] ? history(cell, message, request) : "not said yet";
      told.textContent = `${described(session, message)}. At request ${count(request + 1)}: ${there}.`;
      text.textContent = session.words ? session.words.messages[message] || "(no words)" : "The words are left out of this report.";
    };
    const moved = () => show(ofMessage.get(), ofRequest.get());
    const ofMessage = slider("message", session.tokens.length, moved), ofRequest = slider("request", session.said.length, moved);
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const part = (n, from, size) => Math.min(0.9999, Math.max(0, (n - from) / size));
      show(lost.start(Math.floor(part(event.clientY, box.top, box.height) * lost.rows)), lost.last(Math.floor(part(event.clientX, box.left, box.width) * lost.columns)));
    };
    svg.addEventListener("pointermove", at);
    svg.addEventListener("pointerdown", at);
    const head = make("h3"), axes = make("p", undefined, "axes"), controls = make("div", undefined, "filters"), figure = make("figure", undefined, "map");
    head.append(make("bdi", standing(preset)), " ", make("small", shares(lost.sums)));
    axes.append(make("span", "↓ messages"), make("span", "requests →"));
    controls.append(ofMessage.box, ofRequest.box);
    figure.append(axes, svg);
    view.replaceChildren(head, figure, make("p", "Point at the map, touch it, or move the two sliders: what became of one message by one request."), controls, told, text);
    show(0, session.said.length - 1);
  }));

  // Compactions: what went in, what came out.
  const [PAGE, MESSAGES] = [20, 30];
  const listed = (session, cell) => {
    const c = cell.compactions;
    const requests = summed(c.request), texts = summed(c.text);
    let after = 0, text = 0;
    return requests.map((request, at) => {
      const before = after + c.before[at];
      after = before - c.saved[at];
      const mine = texts.slice(text, (text += c.texts[at]));
      const note = c.notes.find(([of]) => of === at);
      return { request, before, after, how: session.how[c.how[at]], texts: mine, end: c.at_end.includes(at), paid: c.paid[at], note: note && note[1] };
    });
  };
  const paid = (compaction, session) => {
    if (compaction.end || compaction.paid === undefined || compaction.paid === -2) return "";
    const left = session.said.length - compaction.request;
    return compaction.paid < 0 ? `not paid for before the session ended (${counted(left, "request")} left)` : `paid for itself after ${counted(compaction.paid, "request")}`;
  };
  const sides = (session, cell, compaction) => {
    const touched = [];
    for (const [when, first, length, state] of changes(cell)) {
      if (when === compaction.request && state) for (let at = first; at < first + length; at++) touched.push([at, state]);
    }
    const both = make("div", undefined, "sides"), left = make("div"), right = make("div");
    const side = ([at, state]) => {
      const words = session.words ? `\n${session.words.messages[at]}` : "";
      return foreign("pre", `${STATES[state]}: ${described(session, at)}${words}`);
    };
    left.append(make("h4", `went in: ${counted(touched.length, "message")}`), ...touched.slice(0, MESSAGES).map(side));
    if (touched.length > MESSAGES) {
      const more = make("button", `show the other ${count(touched.length - MESSAGES)}`);
      more.type = "button";
      more.addEventListener("click", () => more.replaceWith(...touched.slice(MESSAGES).map(side)));
      left.append(more);
    }
    right.append(make("h4", "came out"));
    if (session.words) right.append(...compaction.texts.map((at) => foreign("pre", session.words.summaries[at])));
    else if (compaction.texts.length) right.append(make("p", "a summary, whose text this report leaves out"));
    if (compaction.note) right.append(foreign("p", compaction.note));
    else if (!compaction.texts.length) {
      const gone = touched.some(([, state]) => state === 3);
      right.append(make("p", gone ? "nothing: they are no longer sent" : touched.length ? "the same messages, each with a part cut or replaced by a marker" : "the same: no message changed"));
    }
    both.append(left, right);
    return both;
  };
  near(document.getElementById("compaction-view"), (place) => chooser(place, (cell) => cell.compactions, (view, { session, preset, cell }) => {
    if (!cell) return view.replaceChildren(make("p", "Nothing was compacted in this session at this window."));
    const all = listed(session, cell);
    const status = make("p"), list = make("div"), pages = make("div");
    status.setAttribute("role", "status");
    const show = (from) => {
      const to = Math.min(from + PAGE, all.length);
      const missing = cell.compactions.all - all.length;
      status.textContent = `${standing(preset)}: ${count(from + 1)}–${count(to)} of ${counted(cell.compactions.all, "compaction")}${missing ? `; the last ${count(missing)} are only in compactions.csv` : ""}`;
      list.replaceChildren(...all.slice(from, to).map((compaction) => {
        const box = make("details"), head = make("summary");
        const when = compaction.end ? "for the questions at the end" : `before request ${count(compaction.request + 1)}`;
        head.append(`${when}: ${count(compaction.before)} → ${count(compaction.after)} tokens, `, make("bdi", compaction.how), " ", make("small", paid(compaction, session)));
        box.append(head);
        box.addEventListener("toggle", () => box.append(sides(session, cell, compaction)), { once: true });
        return box;
      }));
      pages.replaceChildren(pager(from, PAGE, all.length, show));
    };
    show(0);
    view.replaceChildren(status, list, pages);
  }));
})();
