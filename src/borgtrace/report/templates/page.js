(() => {
  "use strict";
  const NARROW = 560;
  // Log level 1: errors; warnings speak to the author of a chart, not to its reader.
  const OPTIONS = { mode: "vega-lite", renderer: "svg", actions: false, logLevel: 1 };
  const charts = [...document.querySelectorAll("[data-chart]")];

  // Width that the drawings of a view may take beside their axes, titles and legend.
  const room = (width, columns) => Math.max(90, Math.floor(width / columns) - 75);

  const rowsOf = (spec, root) => {
    const data = spec.data || root.data;
    if (!data) return [];
    return data.values || (root.datasets || {})[data.name] || [];
  };

  const distinct = (spec, root, field) => new Set(rowsOf(spec, root).map((row) => row[field])).size || 1;

  // Fits a specification to the page: one view takes the container's width, several share it or stack.
  const fit = (spec, width) => {
    const narrow = width < NARROW;
    const shape = (part, available, isTop) => {
      if (part.hconcat || part.concat) {
        const parts = part.hconcat || part.concat;
        const columns = narrow ? 1 : Math.min(part.columns || parts.length, parts.length, Math.max(1, Math.floor(available / 260)));
        delete part.hconcat;
        part.concat = parts;
        part.columns = columns;
        parts.forEach((child) => shape(child, available / columns, false));
      } else if (part.vconcat) {
        part.vconcat.forEach((child) => shape(child, available, false));
      } else if (part.spec) {
        const field = part.facet && part.facet.field;
        const across = field ? distinct(part, spec, field) : distinct(part, spec, ((part.facet || {}).column || {}).field);
        const columns = field ? Math.max(1, Math.min(part.columns || across, across, Math.floor(available / 240))) : across;
        if (field) part.columns = columns;
        shape(part.spec, available / columns, false);
      } else {
        const encoding = part.encoding || {};
        const facet = encoding.facet;
        if (facet && facet.field) {
          const across = distinct(part, spec, facet.field);
          facet.columns = Math.max(1, Math.min(facet.columns || across, across, Math.floor(available / 240)));
          part.width = room(available, facet.columns);
        } else if (encoding.column) {
          part.width = room(available, distinct(part, spec, encoding.column.field));
        } else if (encoding.row || !isTop) {
          part.width = room(available, 1);
        } else {
          part.width = "container";
          part.autosize = { type: "fit-x", contains: "padding" };
        }
      }
    };
    const legend = narrow || spec.hconcat || spec.concat || spec.vconcat || spec.facet
      ? { orient: "bottom", columns: Math.max(1, Math.floor(width / 150)) } : {};
    spec.config.legend = Object.assign({}, spec.config.legend, legend);
    shape(spec, width, true);
    return spec;
  };

  const draw = async (element) => {
    if (element.dataset.state === "drawing") return;
    element.dataset.state = "drawing";
    const text = document.getElementById("spec-" + element.dataset.chart).textContent;
    const width = element.clientWidth;
    element.dataset.width = width;
    try {
      await vegaEmbed(element, fit(JSON.parse(text), width), OPTIONS);
      element.dataset.state = "drawn";
    } catch (error) {
      element.dataset.state = "failed";
      element.textContent = "This chart cannot be drawn: " + error.message;
      console.error(element.dataset.chart, error);
    }
  };

  // Charts in sight first, the others when the browser has time.
  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 30));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && entry.target.dataset.state === "waiting") draw(entry.target);
    }
  }, { rootMargin: "300px" });
  charts.forEach((element) => watch.observe(element));
  const drawNext = () => {
    const next = charts.find((element) => element.dataset.state === "waiting");
    if (next) draw(next).then(() => idle(drawNext));
  };
  idle(drawNext);

  let timer = 0;
  window.addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      for (const element of charts) {
        const before = Number(element.dataset.width);
        if (element.dataset.state === "drawn" && Math.abs(element.clientWidth - before) > 8) draw(element);
      }
    }, 200);
  });

  const contents = document.getElementById("contents");
  if (contents && window.matchMedia("(max-width: 60rem)").matches) contents.open = false;

  // On paper every fold is open.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open])")];
    folded.forEach((item) => { item.open = true; });
  });
  window.addEventListener("afterprint", () => folded.forEach((item) => { item.open = false; }));
})();
