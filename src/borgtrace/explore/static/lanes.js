// Tasks as lanes of bars over time.  Only the lanes in sight are drawn, so that thousands scroll smoothly.
import { pan, wheel } from "./hand.js";
import { LEFT, RIGHT, css, element } from "./look.js";

const ROW = 18, TOP = 22, TALLEST = 520;
const states = new WeakMap();
const FONT = "11px system-ui, sans-serif";
const LARGEST_SHARE = 0.3, WIDEST = 230;
const ENDS = { FAIL: "bad", LOST: "bad", EVICT: "warn", FINISH: "good", KILL: "muted" };

// One lane for each task, with all of its attempts.
const laned = (data) => {
  const lanes = new Map();
  data.collection_id.forEach((job, i) => {
    const key = `${job}:${data.instance_index[i]}`;
    if (!lanes.has(key)) lanes.set(key, []);
    lanes.get(key).push(i);
  });
  return [...lanes];
};

const STEPS = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14400].map((minutes) => minutes * 60);

const ticks = (range, width) => {
  const [from, to] = range.seconds;
  const step = STEPS.find((one) => (to - from) / one <= Math.max(width / 90, 2)) ?? STEPS.at(-1);
  const first = Math.ceil((from - range.seconds_of(6e8)) / step);
  const count = Math.floor((to - range.seconds_of(6e8)) / step) - first + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, i) => range.seconds_of(6e8) + (first + i) * step);
};

const legend = (figure, data, range) => {
  figure.querySelector(".legend")?.remove();
  const list = element("ul", "legend");
  const add = (kind, text) => { const item = element("li", ""); item.append(element("i", kind), element("span", "", text)); list.append(item); };
  [...new Set(data.tier)].forEach((tier) => add(`stack ${range.tiers[tier]}`, tier));
  add("line muted", "waiting");
  [...new Set(data.end_type)].filter((end) => end).forEach((end) => add(`end ${ENDS[end]}`, end));
  figure.querySelector("figcaption").after(list);
};

export const drawLanes = (figure, canvas, data, range) => {
  const lanes = laned(data);
  const before = states.get(canvas);
  before?.keys.abort();
  const keys = new AbortController();
  const state = { keys, chosen: Math.min(before?.chosen ?? 0, Math.max(lanes.length - 1, 0)) };
  states.set(canvas, state);
  const heading = figure.querySelector("h2"), total = Number(figure.dataset.total ?? 0);
  heading.dataset.title ??= heading.textContent;
  const shown = total > lanes.length ? `the first ${lanes.length} of ${total}` : lanes.length;
  heading.textContent = `${heading.dataset.title}: ${shown} ${lanes.length === 1 ? "task" : "tasks"}, ${data.begin.length} ${data.begin.length === 1 ? "attempt" : "attempts"}`;
  legend(figure, data, range);

  const scroll = element("div", "lanes"), spacer = element("div", "spacer"), surface = element("canvas", "");
  scroll.append(surface, spacer);
  canvas.replaceChildren(scroll);
  const width = canvas.clientWidth, height = Math.min(lanes.length * ROW + TOP + 2, TALLEST), ratio = devicePixelRatio;
  scroll.style.height = `${height}px`;
  spacer.style.height = `${lanes.length * ROW + TOP + 2 - height}px`;
  [surface.width, surface.height] = [width * ratio, height * ratio];
  surface.style.width = `${width}px`;
  surface.style.height = `${height}px`;
  const pen = surface.getContext("2d");
  const from = () => range.from, to = () => range.to;
  pen.font = FONT;
  const names = lanes.map(([, attempts]) => data.name[attempts[0]]);
  const room = Math.min(WIDEST, width * LARGEST_SHARE);
  // The longest names stand for all: to measure thousands takes long.
  const longest = [...names].sort((one, other) => other.length - one.length).slice(0, 20);
  const left = Math.max(LEFT, Math.min(room, Math.max(0, ...longest.map((name) => pen.measureText(name).width)) + 12));
  const fitted = (name) => {
    if (pen.measureText(name).width <= left - 8) return name;
    // The end tells names apart: it is the index, or the container.
    let end = name.length;
    while (end > 1 && pen.measureText(`…${name.slice(-end)}`).width > left - 8) end -= 1;
    return `…${name.slice(-end)}`;
  };
  const x = (time) => left + ((Math.min(Math.max(time, from()), to()) - from()) / (to() - from())) * (width - left - RIGHT);
  const time_at = (event) => from() + ((event.clientX - surface.getBoundingClientRect().left - left) / (width - left - RIGHT)) * (to() - from());
  const look = Object.fromEntries(["ink", "muted", "grid", "paper", "panel", "link", "good", "bad", "warn"].map((name) => [name, css(name)]));
  const tiers = Object.fromEntries(Object.entries(range.tiers).map(([tier, color]) => [tier, css(color)]));

  const bar = (i, y) => {
    const start = data.start[i], end = data.end[i] ?? range.whole[1], begin = data.begin[i];
    const ran = start ?? end;
    if (begin !== null && begin < ran && begin < to() && ran > from()) {
      pen.fillStyle = look.muted;
      pen.fillRect(x(begin), y + ROW / 2 - 1, Math.max(x(ran) - x(begin), 1), 1.5);
    }
    if (start !== null && start < to() && end >= from()) {
      pen.fillStyle = tiers[data.tier[i]];
      pen.fillRect(x(start), y + 3, Math.max(x(end) - x(start), 1.5), ROW - 6);
    }
    if (data.end_type[i] && end >= from() && end <= to()) {
      pen.fillStyle = look[ENDS[data.end_type[i]]];
      pen.fillRect(x(end) - 1.5, y + 1, 3, ROW - 2);
    }
  };

  const draw = () => {
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, width, height);
    const top = scroll.scrollTop, first = Math.floor(top / ROW), last = Math.min(lanes.length, Math.ceil((top + height - TOP) / ROW));
    const marks = ticks(range, width);
    pen.font = FONT;
    pen.textBaseline = "middle";
    pen.fillStyle = look.grid;
    const places = marks.map((seconds) => x(range.time_of(seconds)));
    places.forEach((at) => pen.fillRect(at, TOP, 1, height));
    for (let lane = first; lane < last; lane += 1) {
      const y = TOP + lane * ROW - top;
      if (lane === state.chosen) { pen.fillStyle = look.panel; pen.fillRect(0, y, width, ROW); }
      lanes[lane][1].forEach((i) => bar(i, y));
      pen.fillStyle = lane === state.chosen ? look.link : look.ink;
      pen.textAlign = "right";
      pen.fillText(fitted(names[lane]), left - 6, y + ROW / 2);
    }
    const line = (time, color, dash) => {
      if (time === null || time < from() || time > to()) return;
      pen.strokeStyle = color;
      pen.setLineDash(dash);
      pen.beginPath();
      pen.moveTo(x(time), TOP);
      pen.lineTo(x(time), height);
      pen.stroke();
      pen.setLineDash([]);
    };
    line(range.at, look.bad, [4, 3]);
    line(range.pointer, look.muted, []);
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, width, TOP);
    pen.textAlign = "center";
    pen.fillStyle = look.ink;
    places.forEach((at, i) => {
      if (at > left + 30 && at < width - 36) pen.fillText(range.text(range.time_of(marks[i])), at, TOP / 2);
    });
  };

  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  const told = document.querySelector("[data-told]");
  const choose = (lane) => {
    if (lane < 0 || lane >= lanes.length) return;
    state.chosen = lane;
    const attempts = lanes[lane][1], name = names[lane];
    const ends = attempts.map((i) => data.end_type[i] ?? "no end known").join(", ");
    if (told) told.textContent = `Task ${name}, ${data.tier[attempts[0]]}: ${attempts.length} ${attempts.length === 1 ? "attempt" : "attempts"} (${ends})`;
    soon();
  };
  const open = () => {
    if (lanes.length) location.assign(range.address(`/task/${lanes[state.chosen][0].replace(":", "/")}`));
  };
  const under = (event) => Math.floor((event.clientY - surface.getBoundingClientRect().top - TOP + scroll.scrollTop) / ROW);
  const on = (target, name, work) => target.addEventListener(name, work, { signal: keys.signal, passive: name === "scroll" });
  on(scroll, "scroll", soon);
  on(surface, "pointermove", (event) => { choose(under(event)); range.point(Math.min(Math.max(time_at(event), from()), to())); });
  on(surface, "pointerleave", () => range.point(null));
  on(range, "pointer", soon);
  on(range, "slide", soon);
  pan(surface, range, { isPan: () => true, width: () => width - left - RIGHT, signal: keys.signal });
  wheel(surface, range, { time: time_at, signal: keys.signal });
  on(surface, "click", (event) => { const lane = under(event); if (lane >= 0 && lane < lanes.length) { state.chosen = lane; open(); } });
  on(canvas, "keydown", (event) => {
    const move = { ArrowUp: -1, ArrowDown: 1, PageUp: -20, PageDown: 20 }[event.key];
    if (event.key === "Enter") open();
    else if (move) {
      choose(Math.min(Math.max(state.chosen + move, 0), lanes.length - 1));
      const y = state.chosen * ROW;
      if (y < scroll.scrollTop) scroll.scrollTop = y;
      if (y + ROW + TOP > scroll.scrollTop + height) scroll.scrollTop = y + ROW + TOP - height;
    } else return;
    event.preventDefault();
  });
  draw();
};
