// What charts have in common: the page's colors, axes, and how a number is written.
import { number } from "./number.js";

export { number };
export const LEFT = 56;
export const RIGHT = 22;
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const FONT = "12px system-ui, sans-serif";

export const axis = (more = {}) => ({
  stroke: css("ink"), font: FONT, grid: { stroke: css("grid"), width: 1 }, ticks: { stroke: css("line"), width: 1, size: 4 }, ...more,
});

// Labels of a time axis: the hour, and below it the day where it begins.
const times = (range) => {
  const [hour, day] = [{ hour: "2-digit", minute: "2-digit" }, { day: "numeric", month: "short" }].map(
    (form) => new Intl.DateTimeFormat("en-GB", { timeZone: range.zone, hourCycle: "h23", ...form }),
  );
  return (plot, splits) => splits.map((seconds, i) => {
    if (!range.calendar) return range.hours(range.time_of(seconds));
    const [at, before] = [seconds, splits[i - 1]].map((one) => one !== undefined && new Date(one * 1000));
    const date = day.format(at), isNew = !before || day.format(before) !== date;
    return splits[1] - splits[0] >= 86400 ? date : `${hour.format(at)}${isNew ? `\n${date}` : ""}`;
  });
};

export const timeAxis = (range, more = {}) => axis({ values: times(range), space: 64, ...more });

// Options of uPlot that every chart of a page shares: times in the cell's zone, one cursor, dragging zooms all.
export const shared = (range, width, height, uPlot) => ({
  width, height, padding: [8, RIGHT, 0, 0],
  tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), range.zone),
  legend: { show: false },
  scales: { x: { time: true, range: () => range.seconds } },
  cursor: { sync: { key: "time", setSeries: false }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
  hooks: {
    draw: [(plot) => mark(plot, range)],
    setSelect: [(plot) => {
      if (plot.select.width < 4) return;
      const [from, to] = [plot.select.left, plot.select.left + plot.select.width].map((x) => range.time_of(plot.posToVal(x, "x")));
      plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      range.set(from, to);
    }],
  },
});

// The moment that the address names.
const mark = (plot, range) => {
  if (range.at === null || range.at < range.from || range.at > range.to) return;
  const x = plot.valToPos(range.seconds_of(range.at), "x", true);
  plot.ctx.save();
  plot.ctx.strokeStyle = css("bad");
  plot.ctx.lineWidth = 1.5 * devicePixelRatio;
  plot.ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  plot.ctx.beginPath();
  plot.ctx.moveTo(x, plot.bbox.top);
  plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
  plot.ctx.stroke();
  plot.ctx.restore();
};

export const element = (tag, className, text = "") => {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
};
