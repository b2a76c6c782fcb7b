// What a hand does in a chart: dragging pans, Ctrl and the wheel zoom at the pointer.

// Pans while the mouse is held: `isPan` says whether a press begins that, `width` how many pixels the range has.
export const pan = (surface, range, { isPan, width, signal }) => {
  surface.addEventListener("mousedown", (press) => {
    if (press.button !== 0 || !isPan(press)) return;
    // Before the chart itself sees it, which would zoom.
    press.stopPropagation();
    press.preventDefault();
    const [from, to] = [range.from, range.to], perPixel = (to - from) / width();
    let isMoved = false;
    const shifted = ({ clientX }) => [from, to].map((time) => time - (clientX - press.clientX) * perPixel);
    const move = (event) => {
      isMoved ||= Math.abs(event.clientX - press.clientX) > 3;
      if (isMoved) range.slide(...shifted(event));
    };
    const release = (event) => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", release);
      if (!isMoved) return;
      range.set(...shifted(event));
      // The release of a drag is no click.
      surface.addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
      setTimeout(() => surface.dispatchEvent(new Event("click")));
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", release);
  }, { capture: true, signal });
};

export const wheel = (surface, range, { time, signal }) => {
  surface.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    range.zoom(event.deltaY > 0 ? 1.25 : 0.8, time(event));
  }, { passive: false, signal });
};

// Everything that a chart of uPlot shares with the others of its page, until it is drawn anew.
export const attach = (plot, range, signal) => {
  const isPan = (event) => event.shiftKey || Boolean(event.target.closest(".u-axis"));
  const width = () => plot.over.clientWidth;
  const time = (event) => range.time_of(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
  pan(plot.root, range, { isPan, width, signal });
  wheel(plot.root, range, { time, signal });
  plot.over.addEventListener("mousemove", (event) => range.point(time(event)), { signal });
  plot.over.addEventListener("mouseleave", () => range.point(null), { signal });
  range.addEventListener("slide", () => { const [min, max] = range.seconds; plot.setScale("x", { min, max }); }, { signal });
};
