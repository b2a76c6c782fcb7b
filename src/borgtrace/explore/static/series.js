// Values over time: stacked areas, steps, lines, and bands between two columns.
import uPlot from "./vendor/uPlot.js";
import { attach } from "./hand.js";
import { LEFT, axis, css, element, number, shared, timeAxis } from "./look.js";

const plots = new WeakMap();

// Windows of a task have ends: where none follows at once the line is broken.
const withGaps = ({ time, end, ...columns }) => {
  const starts = [], points = [];
  time.forEach((at, i) => {
    starts.push(at);
    points.push(i);
    const next = i + 1 < time.length ? time[i + 1] : Infinity;
    if (next > end[i]) { starts.push(end[i], end[i] + 1); points.push(i, null); }
  });
  const spread = (values) => points.map((i) => (i === null ? null : values[i]));
  return { time: starts, ...Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, spread(values)])) };
};

// Five bands lie on top of each other in a fan; one alone, such as the peaks of a queue, must be seen by itself.
const FILL = { stack: "c8", fan: "30", band: "78" };
const DASH = { dash: [6, 4] };

const build = (data, columns) => {
  const series = [{}], bands = [], values = [columns.time], raw = [null];
  const stacked = data.series.filter((one) => one.style === "stack");
  // From the top of the stack down, so that each area ends at the one below it.
  let below = columns.time.map(() => 0);
  const tops = new Map(stacked.map((one) => {
    below = columns[one.column].map((value, i) => (value === null ? (below[i] ?? null) : value + below[i]));
    return [one, columns[one.column].map((value, i) => (value === null && below[i] === 0 ? null : below[i]))];
  }));
  // A line of a moment has no length to be seen by.
  const isShort = columns.time.length < 5;
  const add = (one, shown, options) => {
    series.push({ paths: uPlot.paths.stepped({ align: 1 }), points: { show: isShort, size: 5 }, ...options });
    values.push(shown);
    raw.push(one);
    return series.length - 1;
  };
  const band = data.series.filter((one) => one.style === "band").length > 1 ? FILL.fan : FILL.band;
  let above = null;
  for (const one of [...stacked].reverse()) {
    const at = add(one, tops.get(one), { stroke: css(one.color), width: 1, fill: css(one.color) + FILL.stack });
    if (above !== null) bands.push({ series: [above, at], fill: css(data.series.find((other) => other === raw[above]).color) + FILL.stack });
    above = at;
  }
  for (const one of data.series.filter((other) => other.style !== "stack")) {
    if (one.style === "band") {
      const low = add(one, columns[one.column], { stroke: "transparent", width: 0 });
      const high = add(null, columns[one.to], { stroke: "transparent", width: 0 });
      bands.push({ series: [high, low], fill: css(one.color) + band });
    } else {
      add(one, columns[one.column], { stroke: css(one.color), width: 1.6, dash: DASH[one.style] });
    }
  }
  return { series, bands, values };
};

const legend = (figure, data, columns) => {
  figure.querySelector(".legend")?.remove();
  const list = element("ul", "legend");
  const values = data.series.filter((one) => one.label).map((one) => {
    const item = element("li", "");
    item.append(element("i", `${one.style} ${one.color}`), element("span", "", one.label), element("b", ""));
    list.append(item);
    return [one, item.lastChild];
  });
  figure.querySelector("figcaption").after(list);
  return (index) => values.forEach(([one, place]) => {
    const at = (name) => number(columns[name][index]);
    place.textContent = index === null || index === undefined ? "" : one.to ? `${at(one.column)} to ${at(one.to)}` : at(one.column);
  });
};

// Values as they are drawn: the data have fractions of the largest machine.
const scaled = ({ time, end, ...columns }, factor) => ({
  time, ...(end && { end }),
  ...Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values.map((value) => (value === null ? null : value * factor))])),
});

export const drawSeries = (figure, canvas, data, range) => {
  const amounts = data.factor === 1 ? data.columns : scaled(data.columns, data.factor);
  const columns = amounts.end ? withGaps(amounts) : amounts;
  figure.querySelector("h2").textContent = data.title;
  const say = legend(figure, data, columns);
  const { series, bands, values } = build(data, columns);
  const seconds = values[0].map((time) => range.seconds_of(time));
  const options = shared(range, canvas.clientWidth, 200, uPlot);
  options.series = series;
  options.bands = bands;
  options.scales.y = { range: (plot, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05] };
  options.axes = [timeAxis(range), axis({ size: LEFT, values: (plot, ticks) => ticks.map(number) })];
  options.hooks.setCursor = [(plot) => say(plot.cursor.idx)];
  const before = plots.get(canvas);
  before?.plot.destroy();
  before?.hands.abort();
  canvas.replaceChildren();
  const plot = new uPlot(options, [seconds, ...values.slice(1)], canvas);
  const hands = new AbortController();
  plots.set(canvas, { plot, hands });
  attach(plot, range, hands.signal);
  // The pointer in the lanes is shown here, too.
  range.addEventListener("pointer", () => {
    if (plot.over.matches(":hover")) return;
    say(range.pointer === null ? null : plot.valToIdx(range.seconds_of(range.pointer)));
  }, { signal: hands.signal });
  const windows = canvas.closest("[data-windows]");
  if (windows) plot.over.addEventListener("click", () => openWindow(plot, data.columns, windows.dataset.windows, range));
};

// A click on a task's chart opens the window under the cursor.
const openWindow = (plot, { time, end }, address, range) => {
  const at = range.time_of(plot.posToVal(plot.cursor.left, "x"));
  const i = time.findIndex((start, n) => start <= at && at < end[n]);
  if (i >= 0) location.assign(`${address}?${new URLSearchParams({ window: time[i], ...range.query })}`);
};
