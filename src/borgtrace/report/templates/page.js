(() => {
  "use strict";
  const NARROW = 560;
  // Log level 1: errors; warnings speak to the author of a chart, not to its reader.
  const OPTIONS = { mode: "vega-lite", renderer: "svg", actions: false, logLevel: 1 };
  const charts = [...document.querySelectorAll("[data-chart]")];

  // Width that each of several drawings may take beside its axis; where it is too little, the chart scrolls.
  const room = (width, columns) => Math.max(columns > 1 ? 120 : 90, Math.floor(width / columns) - (columns > 1 ? 75 : 92));

  const rowsOf = (spec, root) => {
    const data = spec.data || root.data;
    if (!data) return [];
    return data.values || (root.datasets || {})[data.name] || [];
  };

  const distinct = (spec, root, field) => new Set(rowsOf(spec, root).map((row) => row[field])).size || 1;

  const isNamed = (channel) => channel && channel.field && ["nominal", "ordinal"].includes(channel.type);

  // Lays the names of a discrete axis flat where they have room, and cuts those beside it to their share.
  const label = (part, spec, width) => {
    for (const view of [part, ...(part.layer || [])]) {
      const { x, y } = view.encoding || {};
      if (isNamed(x) && x.axis !== null) {
        const names = [...new Set(rowsOf(view.data ? view : part, spec).map((row) => String(row[x.field])))];
        const longest = Math.max(0, ...names.map((name) => name.length));
        if (names.length * (longest * 8.5 + 10) < width - 75) x.axis = Object.assign({ labelAngle: 0 }, x.axis);
      }
      if (isNamed(y) && y.axis !== null) {
        const limit = Math.max(90, Math.floor(width * 0.42));
        y.axis = Object.assign({}, y.axis, { labelLimit: Math.min((y.axis || {}).labelLimit || 240, limit) });
      }
    }
  };

  // Breaks a title into lines that fit.
  const wrap = (title, width) => {
    const text = title && (typeof title === "string" ? title : title.text);
    if (typeof text !== "string") return title;
    const lines = [""];
    for (const word of text.split(" ")) {
      const last = lines[lines.length - 1];
      if (last && (last.length + word.length + 1) * 8 > width) lines.push(word);
      else lines[lines.length - 1] = last ? last + " " + word : word;
    }
    return Object.assign({}, typeof title === "string" ? {} : title, { text: lines });
  };

  // How many facets stand side by side.
  const across = (wanted, count, width) => Math.max(1, Math.min(wanted || count, count, Math.floor(width / 200)));

  // Fits a part of a specification to a width: one view takes it all, several share it or stack.
  const shape = (part, spec, width, isTop) => {
    for (const view of [part, ...(part.layer || [])]) {
      if (view.title) view.title = wrap(view.title, width - 40);
    }
    const parts = part.hconcat || part.concat;
    const encoding = part.encoding || {};
    if (parts) {
      part.columns = width < NARROW ? 1 : across(part.columns, parts.length, width);
      delete part.hconcat;
      part.concat = parts;
      parts.forEach((child) => shape(child, spec, width / part.columns, false));
    } else if (part.vconcat) {
      part.vconcat.forEach((child) => shape(child, spec, width, false));
    } else if (part.spec) {
      const facet = part.facet || {};
      const field = facet.field || (facet.column || {}).field;
      const count = field ? distinct(part, spec, field) : 1;
      if (facet.field) part.columns = across(part.columns, count, width);
      shape(part.spec, spec, width / (part.columns || count), false);
    } else {
      if (encoding.column && !encoding.row && width / distinct(part, spec, encoding.column.field) < 160) {
        encoding.facet = encoding.column;
        delete encoding.column;
      }
      if (encoding.facet) {
        const count = distinct(part, spec, encoding.facet.field);
        encoding.facet.columns = across(encoding.facet.columns, count, width);
        part.width = room(width, encoding.facet.columns);
      } else if (encoding.column) {
        part.width = room(width, distinct(part, spec, encoding.column.field));
      } else if (encoding.row || !isTop) {
        part.width = room(width, 1);
      } else {
        part.width = "container";
        part.autosize = { type: "fit-x", contains: "padding" };
      }
      const drawn = typeof part.width === "number" ? part.width : width;
      if (typeof part.width === "number") spec.config.axisX = { titleLimit: part.width };
      label(part, spec, drawn);
    }
  };

  const fit = (spec, width) => {
    const { facet, column, row } = spec.encoding || {};
    const isOne = !(spec.hconcat || spec.concat || spec.vconcat || spec.facet || facet || column || row);
    const isWide = width >= NARROW && isOne;
    if (!isWide) {
      const below = { orient: "bottom", columns: Math.max(1, Math.floor(width / 180)) };
      const layout = { bottom: { direction: "vertical", anchor: "start" } };
      spec.config.legend = Object.assign({}, spec.config.legend, below, { layout });
    }
    shape(spec, spec, width, true);
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
