(() => {
  "use strict";
  // Log level 1: errors; warnings speak to the author of a chart, not to its reader.
  const OPTIONS = { mode: "vega-lite", renderer: "svg", actions: false, logLevel: 1 };
  // So often a chart is drawn until it fits.
  const ROUNDS = 5;
  const charts = [...document.querySelectorAll("[data-chart]")];

  // Rows lie in the page column by column, texts as numbers of a list.
  const rowsOfColumns = (columns) => {
    const names = Object.keys(columns);
    const values = names.map((name) => {
      const { texts, numbers } = columns[name];
      return texts ? numbers.map((number) => (number === null ? null : texts[number])) : columns[name];
    });
    return values[0].map((_, row) => Object.fromEntries(names.map((name, column) => [name, values[column][row]])));
  };
  const specOf = (element) => {
    const text = document.getElementById("spec-" + element.dataset.chart).textContent;
    return JSON.parse(text, (_, value) => (value && value.byColumn ? rowsOfColumns(value.byColumn) : value));
  };

  // A folded chart has no width of its own: all are as wide as their column, or as the page asks for.
  const asked = Number(document.documentElement.dataset.width) || Infinity;
  const content = document.getElementById("content") || document.getElementById("main");
  const isOnScreen = (element) => Boolean(element.closest(".screen"));
  const widthOf = (element) => {
    if (isOnScreen(element)) return Math.floor(element.clientWidth);
    const { paddingLeft, paddingRight } = getComputedStyle(content);
    const question = element.closest(".question");
    const inset = question ? parseFloat(getComputedStyle(question).marginLeft) : 0;
    return Math.min(asked, Math.floor(content.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - inset));
  };
  const views = new Map();

  // How much room axes and legends take is known once they are drawn: drawings get what is left, or give what lacks.
  const embedFitting = async (element, width) => {
    let sizes = {};
    for (let round = 0; round < ROUNDS; round += 1) {
      if (views.has(element)) views.get(element).finalize();
      const spec = specOf(element);
      const leaves = chartLayout.fit(spec, width, sizes);
      const embedded = await vegaEmbed(element, spec, OPTIONS);
      views.set(element, embedded);
      sizes = chartLayout.measure(embedded.view, element.querySelector("svg"), leaves, width, sizes);
      element.dataset.rounds = round + 1;
      if (sizes.isFitting) break;
    }
  };

  const draw = async (element) => {
    if (element.dataset.state === "drawing") return;
    element.dataset.state = "drawing";
    const width = widthOf(element);
    element.dataset.width = width;
    try {
      await embedFitting(element, width);
      if (!isOnScreen(element)) offer(element);
      element.dataset.state = "drawn";
    } catch (error) {
      element.dataset.state = "failed";
      element.textContent = "This chart cannot be drawn: " + error.message;
      console.error(element.dataset.chart, error);
    }
  };

  const save = (name, type, content) => {
    const link = document.createElement("a");
    link.download = name;
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };

  // The drawing as a file of its own: the page's colors in place of their names, and its ground.
  const picture = (element) => {
    const svg = element.querySelector("svg").cloneNode(true);
    const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    Object.entries({ width: "100%", height: "100%", fill: "var(--paper)" }).forEach(([name, value]) => ground.setAttribute(name, value));
    svg.prepend(ground);
    const style = getComputedStyle(document.documentElement);
    return new XMLSerializer().serializeToString(svg).replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  };

  const savePng = (element, name) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.width * 2, image.height * 2];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(name + ".png", "image/png", blob));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(picture(element));
  };

  const line = (cells) => cells.map((cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",") + "\n";

  // What is drawn: the rows of each of its data sets, below one heading.
  const chartCsv = (element) => {
    const spec = specOf(element);
    const sets = new Set();
    const gather = (part) => {
      if (part.data && part.data.values) sets.add(part.data.values);
      [part.layer, part.hconcat, part.vconcat, part.concat, part.spec && [part.spec]].flat().filter(Boolean).forEach(gather);
    };
    gather(spec);
    const rows = [...Object.values(spec.datasets || {}), ...sets].flat().filter((row) => Object.keys(row).length);
    const names = [...new Set(rows.flatMap(Object.keys))];
    return line(names) + rows.map((row) => line(names.map((name) => String(row[name] ?? "")))).join("");
  };

  // Prints nothing but one element: what stands beside it, and beside what it stands in, is away meanwhile.
  const printAlone = (element) => {
    const away = [];
    for (let inner = element; inner !== document.body; inner = inner.parentElement) {
      away.push(...[...inner.parentElement.children].filter((other) => other !== inner && !other.hidden));
    }
    away.forEach((item) => { item.hidden = true; });
    window.print();
    away.forEach((item) => { item.hidden = false; });
  };

  const buttons = (works) => {
    const place = document.createElement("p");
    place.className = "downloads";
    for (const [name, title, work] of works) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: name, title });
      button.addEventListener("click", work);
      place.append(button);
    }
    return place;
  };

  const offer = (element) => {
    const figure = element.parentElement, name = element.dataset.chart;
    if (figure.querySelector(".downloads")) return;
    figure.append(buttons([
      ["SVG", "Save the chart as SVG", () => save(name + ".svg", "image/svg+xml", picture(element))],
      ["PNG", "Save the chart as PNG", () => savePng(element, name)],
      ["PDF", "Print the chart alone, for example to PDF", () => printAlone(figure)],
      ["CSV", "Save what is drawn as CSV", () => save(name + ".csv", "text/csv", chartCsv(element))],
    ]));
  };

  // Numbers without the commas between thousands, as programs read them.
  const plain = (text) => (/^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text) ? text.replaceAll(",", "") : text);
  document.querySelectorAll("table.data").forEach((table) => {
    const section = table.closest("[id].question, body"), name = (section.id || "table") + "-table.csv";
    const text = () => [...table.rows].map((row) => line([...row.cells].map((cell) => plain(cell.textContent.trim())))).join("");
    table.parentElement.after(buttons([["CSV", "Save these rows as CSV", () => save(name, "text/csv", text())]]));
  });

  // Rows by a column: numbers by size, texts by the alphabet, what is missing last.
  const valueOf = (cell) => {
    const text = cell.textContent.trim();
    const number = Number(text.replaceAll("\u202f", ""));
    return text === "–" ? null : Number.isNaN(number) ? text : number;
  };
  const compare = (one, other) => {
    if (one === null || other === null) return (one === null) - (other === null);
    return typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
  };
  const sortBy = (table, heading) => {
    // Numbers begin with the largest: that is what is looked for.
    const first = heading.classList.contains("n") ? "descending" : "ascending";
    const other = first === "descending" ? "ascending" : "descending";
    const order = heading.getAttribute("aria-sort") === first ? other : first;
    [...heading.parentElement.cells].forEach((cell) => cell.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", order);
    const body = table.tBodies[0], sign = order === "ascending" ? 1 : -1;
    const rows = [...body.rows].map((row) => [valueOf(row.cells[heading.cellIndex]), row]);
    rows.sort(([a], [b]) => (a === null || b === null ? compare(a, b) : sign * compare(a, b)));
    body.append(...rows.map(([, row]) => row));
  };
  document.querySelectorAll("table.data").forEach((table) => {
    if (table.tBodies[0].rows.length < 2) return;
    for (const heading of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sortBy(table, heading));
      heading.append(button);
    }
  });

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
        if (element.dataset.state === "drawn" && Math.abs(widthOf(element) - before) > 8) draw(element);
      }
    }, 200);
  });

  const contents = document.getElementById("contents");
  if (contents && window.matchMedia("(max-width: 60rem)").matches) contents.open = false;

  const questions = [...document.querySelectorAll("details.question")];

  // A link to a question opens it, whatever the filter says.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let fold = target && target.closest("#content details");
    if (!fold) return;
    while (fold) {
      fold.hidden = false;
      fold.open = true;
      fold = fold.parentElement.closest("#content details");
    }
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) reveal();
  });
  reveal();

  const filter = document.getElementById("filter");
  if (filter) {
    filter.hidden = false;
    const said = new Map();
    const words = (item) => {
      const parts = "summary, th, td, li, p, dt, dd";
      if (!said.has(item)) said.set(item, [...item.querySelectorAll(parts)].map((part) => part.textContent).join(" ").toLowerCase());
      return said.get(item);
    };
    const groups = [...document.querySelectorAll("details.group")];
    const { topic, verdict, text, fold } = filter.elements;
    const apply = () => {
      const sought = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const item of questions) {
        const isOf = (!topic.value || item.dataset.topic === topic.value) &&
          (!verdict.value || item.dataset.verdicts.split(" ").includes(verdict.value));
        item.hidden = !(isOf && sought.every((word) => words(item).includes(word)));
      }
      const isSought = Boolean(topic.value || verdict.value || sought.length);
      groups.forEach((group) => {
        group.hidden = !group.querySelector(".question:not([hidden])");
        // What is sought is shown: a folded topic would hide it.
        group.open = isSought;
      });
      filter.querySelector("output").textContent = `${questions.filter((item) => !item.hidden).length} of ${questions.length} questions`;
    };
    filter.addEventListener("input", apply);
    filter.addEventListener("submit", (event) => event.preventDefault());
    fold.addEventListener("click", () => {
      const open = fold.textContent === "Open all";
      groups.forEach((group) => { group.open = open; });
      questions.forEach((item) => { item.open = open && !item.hidden; });
      fold.textContent = open ? "Fold all" : "Open all";
    });
  }

  // On paper every fold is open.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open])")];
    folded.forEach((item) => { item.open = true; });
  });
  window.addEventListener("afterprint", () => folded.forEach((item) => { item.open = false; }));
})();
