// Finds what a page holds, and brings it to life.  Text from the trace is only ever set as text, never as HTML.
import { drawHeat } from "./heat.js";
import { drawLanes } from "./lanes.js";
import { drawSeries } from "./series.js";
import { Range } from "./range.js";
import { edit } from "./editor.js";
import { element } from "./look.js";
import { copy, savePicture } from "./export.js";
import { offerSaving } from "./saved.js";

const DRAW = { series: drawSeries, heat: drawHeat, lanes: drawLanes };
const range = new Range(JSON.parse(document.body.dataset.clock));

const load = async (figure, running) => {
  const query = new URLSearchParams(range.asked);
  const here = new URLSearchParams(location.search);
  for (const name of ["resource", "first", "last"]) if (here.has(name)) query.set(name, here.get(name));
  for (const link of figure.querySelectorAll("[data-download]")) {
    link.href = `${figure.dataset.source}.${link.dataset.download}?${query}`;
  }
  const response = await fetch(`${figure.dataset.source}.json?${query}`, { signal: running.signal });
  const data = await response.json();
  if (!response.ok) throw new Error(data.error || response.statusText);
  return data;
};

const bring = (figure) => {
  const canvas = figure.querySelector(".canvas");
  let running = new AbortController();
  const refresh = async () => {
    // Only the latest answer counts: whoever pans quickly leaves the others behind.
    running.abort();
    const mine = (running = new AbortController());
    const began = performance.now();
    try {
      const data = await load(figure, mine);
      if (mine.signal.aborted) return;
      DRAW[figure.dataset.draw](figure, canvas, data, range);
      figure.dataset.state = "drawn";
      figure.dataset.milliseconds = Math.round(performance.now() - began);
    } catch (error) {
      if (error.name === "AbortError") return;
      figure.dataset.state = "failed";
      canvas.textContent = `This chart cannot be drawn: ${error.message}`;
    }
  };
  range.addEventListener("change", refresh);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);
  let width = canvas.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(canvas.clientWidth - width) < 4) return;
    width = canvas.clientWidth;
    refresh();
  }).observe(canvas);
  canvas.addEventListener("keydown", (event) => {
    if (!event.defaultPrevented && range.key(event.key)) event.preventDefault();
  });
  refresh();
};

document.querySelectorAll("[data-draw]").forEach(bring);
document.querySelectorAll("[data-png]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", () => savePicture(button.closest("figure"), range));
});
document.querySelectorAll("[data-link]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", () => copy(location.href, button));
});
document.querySelectorAll("[data-copy]").forEach((code) => {
  const button = element("button", "copy", "Copy");
  button.type = "button";
  button.addEventListener("click", () => copy(code.textContent, button));
  code.after(button);
});
range.show();
const query = document.getElementById("query");
if (query) offerSaving(query, edit(query));
