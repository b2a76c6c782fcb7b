// Machines over time as colors: one image, drawn behind the axes of a chart, with a cell that the keys can move.
import uPlot from "./vendor/uPlot.js";
import { attach } from "./hand.js";
import { LEFT, axis, css, shared, timeAxis } from "./look.js";

const plots = new WeakMap();
const STOPS = 5;
const MOST_NAMED = 12, LONGEST = 18;
const cut = (name) => (name.length > LONGEST ? `…${name.slice(1 - LONGEST)}` : name);
const wide = (names) => Math.max(LEFT, Math.min(Math.max(...names.map((name) => cut(name).length)) * 7 + 16, 150));
const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

const image = ({ cells, percent: unit, absent }) => {
  const stops = Array.from({ length: STOPS }, (_, i) => rgb(css(`heat-${i}`)));
  const over = rgb(css("heat-over"));
  const [height, width] = [cells.length, cells[0]?.length ?? 0];
  const made = document.createElement("canvas");
  [made.width, made.height] = [Math.max(width, 1), Math.max(height, 1)];
  const pixels = new ImageData(made.width, made.height);
  cells.forEach((row, y) => row.forEach((value, x) => {
    if (value === absent) return;
    const percent = value * unit;
    const place = Math.min(percent, 100) / 100 * (STOPS - 1), low = Math.min(Math.floor(place), STOPS - 2);
    const color = percent > 100 ? over : stops[low].map((value, i) => value + (stops[low + 1][i] - value) * (place - low));
    pixels.data.set([...color, 255], (y * width + x) * 4);
  }));
  made.getContext("2d").putImageData(pixels, 0, 0);
  return made;
};

export const drawHeat = (figure, canvas, data, range) => {
  const { cells, times, step, machines, names, about, per_row: perRow, first, n_machines: all } = data;
  const rows = machines.length, last = Math.min(first + rows * perRow, all);
  const picture = image(data);
  const told = document.querySelector("[data-told]");
  const before = plots.get(canvas);
  let [row, column] = before?.at ?? [0, 0];
  figure.querySelector("h2").textContent = perRow > 1
    ? `How full each machine was: ${perRow} machines a row, the fullest first` : "How full each machine was, the fullest first";

  // Few machines have room for their names.
  const isNamed = perRow === 1 && rows <= MOST_NAMED;
  const options = shared(range, canvas.clientWidth, Math.max(160, Math.min(420, rows * (isNamed ? 22 : 4))), uPlot);
  options.series = [{}, { stroke: "transparent", points: { show: false } }];
  options.scales.y = { dir: -1, range: () => [first, Math.max(last, first + 1)] };
  options.axes = [timeAxis(range, { grid: { show: false } }), axis({ size: isNamed ? wide(names) : LEFT, grid: { show: false }, space: isNamed ? 10 : 30, ...(isNamed && { splits: () => names.map((_, i) => first + i + 0.5), values: (plot, middles) => middles.map((middle) => cut(names[middle - first - 0.5] ?? "")), ticks: { show: false } }), incrs: isNamed ? [1] : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] })];
  options.cursor.points = { show: false };
  options.hooks.drawClear = [(plot) => {
    if (!cells.length || !times.length) return;
    const { ctx, bbox } = plot;
    const [x0, x1] = [times[0], times[times.length - 1] + step].map((time) => plot.valToPos(range.seconds_of(time), "x", true));
    const [y0, y1] = [first, first + rows * perRow].map((rank) => plot.valToPos(rank, "y", true));
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(picture, x0, y0, x1 - x0, y1 - y0);
    ctx.restore();
  }];
  options.hooks.draw = [(plot) => {
    if (document.activeElement !== canvas || !cells.length) return;
    const [x, y] = [range.seconds_of(times[column]), first + row * perRow];
    const [x0, y0] = [plot.valToPos(x, "x", true), plot.valToPos(y, "y", true)];
    const [x1, y1] = [plot.valToPos(x + step / 1e6, "x", true), plot.valToPos(y + perRow, "y", true)];
    plot.ctx.strokeStyle = css("ink");
    plot.ctx.lineWidth = 2 * devicePixelRatio;
    plot.ctx.strokeRect(x0 - 2, y0 - 2, x1 - x0 + 4, y1 - y0 + 4);
  }];
  const tell = () => {
    const value = cells[row]?.[column];
    if (value === undefined || !told) return;
    const what = about[row] && perRow === 1 ? ` (${about[row]})` : "";
    const who = perRow > 1 ? `${Math.min(perRow, all - first - row * perRow)} machines from ${names[row]}` : `machine ${names[row]}${what}`;
    // The largest step stands for all that is fuller.
    const percent = `${value * data.percent} %${value === data.absent - 1 ? " or more" : ""} used`;
    told.textContent = `${who}, ${range.text(times[column])}: ${value === data.absent ? "not there, or not measured" : percent}`;
  };
  const open = () => {
    if (perRow === 1) location.assign(range.address(`/machine/${machines[row]}`));
    else range.set(range.from, range.to, { first: first + row * perRow, last: Math.min(first + (row + 1) * perRow, all) });
  };
  const point = (plot) => {
    const { left, top } = plot.cursor;
    if (left < 0 || top < 0) return false;
    row = Math.min(Math.max(Math.floor((plot.posToVal(top, "y") - first) / perRow), 0), rows - 1);
    column = Math.min(Math.max(Math.floor((range.time_of(plot.posToVal(left, "x")) - times[0]) / step), 0), times.length - 1);
    return true;
  };
  let isMine = false;
  options.hooks.setCursor = [(plot) => { if (isMine && point(plot)) tell(); }];

  before?.plot.destroy();
  before?.keys.abort();
  canvas.replaceChildren();
  const plot = new uPlot(options, [times.map((time) => range.seconds_of(time)), times.map(() => null)], canvas);
  const keys = new AbortController();
  attach(plot, range, keys.signal);
  const on = (target, name, work) => target.addEventListener(name, work, { signal: keys.signal });
  on(plot.over, "mouseenter", () => { isMine = true; });
  on(plot.over, "mouseleave", () => { isMine = false; });
  on(plot.over, "click", () => { if (point(plot)) open(); });
  on(canvas, "focus", () => { plot.redraw(); tell(); });
  on(canvas, "blur", () => plot.redraw());
  on(canvas, "keydown", (event) => {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0] };
    if (event.key === "Enter") open();
    else if (event.key === "Escape") range.set(range.from, range.to, { first: null, last: null });
    else if (event.key in moves) {
      row = Math.min(Math.max(row + moves[event.key][0], 0), rows - 1);
      column = Math.min(Math.max(column + moves[event.key][1], 0), times.length - 1);
      plots.get(canvas).at = [row, column];
      plot.redraw();
      tell();
    } else return;
    event.preventDefault();
  });
  plots.set(canvas, { plot, keys, at: [Math.min(row, Math.max(rows - 1, 0)), Math.min(column, Math.max(times.length - 1, 0))] });
  [row, column] = plots.get(canvas).at;
};
