// How a chart fits the width of its place: panels side by side or below each other, names and titles in lines.
const chartLayout = (() => {
  "use strict";
  const NARROW = 560;
  // No panel is narrower where the page has the room, and its axis takes so much beside it.
  const PANEL = 280, AXIS = 75;
  // A drawing that is narrower says nothing.
  const LEAST = 60;
  // Between panels that stand side by side: Vega-Lite's own.
  const SPACING = 20;
  // Widths of letters of an axis, of a title of an axis, and of a heading, about.
  const LETTER = 6.6, TITLE_LETTER = 7, HEADING_LETTER = 8.6;
  // Vega's padding around a chart.
  const PADDING = 5;
  // Stands where a line of a title ends, as the configuration says.
  const LINE_BREAK = " \u2063";

  // The views of a part, each with its data: layers have that of what they stand in, where they name none.
  const viewsOf = (part, data) => {
    const own = part.data || data;
    return [{ view: part, data: own }, ...(part.layer || []).flatMap((layer) => viewsOf(layer, own))];
  };

  const rowsOf = (data, place) => (data ? data.values || place.datasets[data.name] || [] : []);

  const isNamed = (channel) => channel && channel.field && ["nominal", "ordinal"].includes(channel.type);

  const valuesOf = (views, place, field) => {
    const values = new Set(views.flatMap(({ data }) => rowsOf(data, place).map((row) => row[field])));
    return [...values].filter((value) => value !== undefined && value !== null);
  };

  const count = (views, place, field) => valuesOf(views, place, field).length || 1;

  // A name of many letters may be broken where its words meet.
  const wordsOf = (text, letters) => text.split(" ").flatMap((word) => (word.length <= letters ? [word] : word.split(/(?<=[_/,:.-])/)));

  // Breaks a text into lines that fit.
  const lines = (text, width, letter) => {
    const letters = Math.floor(width / letter), parts = [""];
    for (const word of wordsOf(text, letters)) {
      const last = parts[parts.length - 1];
      const joint = last && !/[_/,:.-]$/.test(last) || text.includes(`${last} ${word}`) ? " " : "";
      if (last && last.length + joint.length + word.length > letters) parts.push(word);
      else parts[parts.length - 1] = last ? last + joint + word : word;
    }
    return parts;
  };

  const roomForNames = (width) => Math.max(90, Math.floor(width * 0.42));

  const linesOf = (names, width) => Math.max(1, ...names.map((name) => lines(String(name), width, LETTER).length));

  // The names of a discrete axis beside a drawing: each has its row, none is left out, and none is cut.
  const nameRows = ({ view, data }, place, width) => {
    const { y, yOffset } = view.encoding;
    const names = valuesOf([{ data }], place, y.field).map(String);
    const limit = roomForNames(width);
    const step = 6 + 14 * linesOf(names, limit);
    const n = names.length * (yOffset ? count([{ data }], place, yOffset.field) : 1);
    const axis = { labelLimit: limit + 2 * LETTER, labelOverlap: false };
    const texts = Object.fromEntries(names.map((name) => [name, lines(name, limit, LETTER)]));
    const isBroken = Object.values(texts).some((parts) => parts.length > 1);
    if (isBroken && !(y.axis || {}).labelExpr) axis.labelExpr = `(${JSON.stringify(texts)})[datum.label] || datum.label`;
    y.axis = Object.assign({}, y.axis, axis);
    return { height: n * step, least: n * Math.max(20, step), isBroken };
  };

  const layNamesFlat = (x, views, place, drawing) => {
    const names = valuesOf(views, place, x.field).map(String);
    const longest = Math.max(0, ...names.map((name) => name.length));
    if (names.length * (longest * 8.5 + 10) < drawing) x.axis = Object.assign({ labelAngle: 0 }, x.axis);
    // Upright names need little room: none is left out.
    else if (names.length * 14 < drawing) x.axis = Object.assign({ labelOverlap: false }, x.axis);
  };

  // Breaks the title of an axis into lines. Vega-Lite would join the different titles of layers into one line.
  const wrapAxisTitle = (views, name, width) => {
    const channels = views.map(({ view }) => (view.encoding || {})[name]).filter((channel) => channel && typeof channel.title === "string");
    const title = [...new Set(channels.map((channel) => channel.title))].join(", ");
    channels.forEach((channel) => { channel.title = lines(title, width, TITLE_LETTER).join(LINE_BREAK); });
  };

  // Fits titles of axes and names to the width of a drawing, which stands in a place of a width.
  const label = (part, place, drawing, width) => {
    const views = viewsOf(part, place.data);
    for (const one of views) {
      const { x, y } = one.view.encoding || {};
      if (isNamed(x) && x.axis !== null) layNamesFlat(x, [one], place, drawing);
      if (isNamed(y) && y.axis !== null) {
        const { height, isBroken } = nameRows(one, place, width);
        if (isBroken && !(part.height >= height)) part.height = height;
      }
    }
    // A title that is wider than its panel would lie on that of the next, and one that is higher is cut.
    wrapAxisTitle(views, "x", drawing);
    if (typeof part.height === "number") wrapAxisTitle(views, "y", Math.max(part.height, 90));
  };

  const wrapped = (title, width) => {
    const own = typeof title === "string" || Array.isArray(title) ? { text: title } : Object.assign({}, title);
    const broken = (text, letter) => [text].flat().flatMap((line) => lines(line, width, letter));
    if (own.text) own.text = broken(own.text, HEADING_LETTER);
    if (own.subtitle) own.subtitle = broken(own.subtitle, LETTER);
    return own;
  };

  // How many panels stand side by side.
  const across = (wanted, n, width) => Math.max(1, Math.min(wanted || n, n, Math.floor(width / (PANEL + AXIS))));

  // What a panel is called: its value, or what the heading calls it.
  const calledBy = (channel) => {
    const expression = ((channel.header || {}).labelExpr || "").match(/^(\{.*\})\[/);
    const names = expression ? JSON.parse(expression[1]) : {};
    return (value) => names[value] || String(value);
  };

  const inOrder = (values, sort) => (Array.isArray(sort) ? sort : sort === null ? values : [...values].sort());

  // Panels in rows and columns, as panels that follow each other: each is named by its row and its column.
  const listed = (views, place, row, column) => {
    const [rowName, columnName] = [calledBy(row), calledBy(column)];
    const name = (one, other) => `${rowName(one)}, ${columnName(other)}`;
    const field = `${row.field} and ${column.field}`;
    const columns = inOrder(valuesOf(views, place, column.field), column.sort);
    const sort = inOrder(valuesOf(views, place, row.field), row.sort).flatMap((one) => columns.map((other) => name(one, other)));
    views.forEach(({ data }) => rowsOf(data, place).forEach((item) => { item[field] = name(item[row.field], item[column.field]); }));
    return { field, type: "nominal", title: null, sort };
  };

  // Chooses how panels stand: in their rows and columns where these have room, else one after the other.
  const arrange = (views, place, { row, column, facet }) => {
    const hasRoom = (channel) => place.width / count(views, place, channel.field) >= PANEL + AXIS;
    if (facet) return { facet };
    if (!column || hasRoom(column)) return { row, column };
    if (!row) return { facet: column };
    return hasRoom(row) ? { row: column, column: row } : { facet: listed(views, place, row, column) };
  };

  const columnsOf = (views, place, { column, facet }, wanted) => {
    if (facet) return across(wanted, count(views, place, facet.field), place.width);
    return column ? count(views, place, column.field) : 1;
  };

  const defined = (channels) => Object.fromEntries(Object.entries(channels).filter(([, channel]) => channel));

  // A diagram has places instead of axes: it is drawn no wider than it was made, or its arrows would miss their ends.
  const isDiagram = (part, place) => {
    const axes = viewsOf(part, place.data).map(({ view }) => (view.encoding || {}).x).filter(Boolean);
    return Boolean(part.width && axes.length) && axes.every((x) => x.axis === null);
  };

  // A drawing, or several of one kind beside each other; `leaves` gathers them with the width that each has.
  const size = (part, place, width, columns, isWhole) => {
    const share = (place.width - SPACING * (columns - 1)) / columns;
    const chosen = place.widths[place.name];
    const named = viewsOf(part, place.data).find(({ view }) => isNamed((view.encoding || {}).y));
    const beside = isWhole && named ? roomForNames(share) : AXIS;
    const most = isDiagram(part, place) ? part.width : Infinity;
    const drawing = Math.min(most, chosen || Math.max(LEAST, Math.floor(share - beside)));
    part.width = isWhole ? width : drawing;
    viewsOf(part).slice(1).forEach(({ view }) => { delete view.width; });
    place.leaves.push({ name: place.name, width: drawing, room: place.width, columns, isWhole, isAlone: place.isAlone, most });
    // Vega-Lite makes room for a title that is wider than a drawing that fits itself, until nothing of it is left.
    label(part, place, isWhole ? 0.85 * drawing : drawing, share);
  };

  const shapePanels = (part, place) => {
    const facet = part.facet.field ? { facet: part.facet } : part.facet;
    const views = viewsOf(part.spec, place.data);
    const channels = arrange(views, place, facet);
    const columns = columnsOf(views, place, channels, part.columns);
    part.facet = channels.facet || defined(channels);
    if (channels.facet) part.columns = columns;
    const inner = Object.assign({}, place, { width: (place.width - SPACING * (columns - 1)) / columns });
    if (part.spec.concat || part.spec.hconcat || part.spec.vconcat) return shape(part.spec, inner);
    heading(part.spec, inner.width);
    return size(part.spec, place, inner.width, columns, false);
  };

  const shapeView = (part, place) => {
    const encoding = part.encoding || {};
    const { row, column, facet } = encoding;
    if (row || column || facet) {
      const views = viewsOf(part, place.data);
      const channels = arrange(views, place, { row, column, facet });
      const columns = columnsOf(views, place, channels, (facet || {}).columns);
      ["row", "column", "facet"].forEach((name) => { delete encoding[name]; });
      Object.assign(encoding, defined(channels));
      if (channels.facet) channels.facet.columns = columns;
      return size(part, place, place.width, columns, false);
    }
    if (!place.isTop) return size(part, place, place.width, 1, false);
    // Vega-Lite complains of a height by names beside a width that fits: the same height, as a number.
    const named = viewsOf(part, place.data).find(({ view }) => isNamed((view.encoding || {}).y));
    if (named && part.height === undefined) part.height = nameRows(named, place, place.width).least;
    part.autosize = { type: "fit-x", contains: "padding" };
    return size(part, place, place.width, 1, true);
  };

  const heading = (part, width) => {
    for (const { view } of viewsOf(part)) {
      if (view.title) view.title = wrapped(view.title, width - 10);
    }
  };

  // Panels below each other: those that left their names to the one beside them have names of their own.
  const withNames = (part) => {
    for (const { view } of viewsOf(part)) {
      const axis = ((view.encoding || {}).y || {}).axis;
      if (axis && axis.labels === false) delete axis.labels;
    }
  };

  const shapeParts = (part, place) => {
    const parts = part.hconcat || part.vconcat || part.concat;
    const wanted = part.vconcat ? 1 : part.columns;
    const columns = place.width < NARROW ? 1 : across(wanted, parts.length, place.width);
    const width = (place.width - SPACING * (columns - 1)) / columns;
    delete part.hconcat;
    delete part.vconcat;
    Object.assign(part, { concat: parts, columns });
    parts.forEach((child, number) => {
      if (columns === 1) withNames(child);
      shape(child, Object.assign({}, place, { width, name: `${place.name}concat_${number}_`, isTop: false, isAlone: place.isAlone && columns === 1 }));
    });
  };

  const shape = (part, place) => {
    const inside = Object.assign({}, place, { data: part.data || place.data });
    if (part.name) inside.name = `${part.name}_`;
    // The heading of a panel begins where its axis does, which is further to the right than others.
    heading(part, place.isTop || place.width >= NARROW ? place.width : 0.75 * place.width);
    if (part.hconcat || part.vconcat || part.concat) return shapeParts(part, inside);
    return part.spec ? shapePanels(part, inside) : shapeView(part, inside);
  };

  const isOne = (spec) => {
    const { facet, column, row } = spec.encoding || {};
    return !(spec.hconcat || spec.concat || spec.vconcat || spec.facet || facet || column || row);
  };

  const LEGEND_CHANNELS = ["color", "fill", "stroke", "shape", "strokeDash", "opacity", "size"];

  const partsOf = (part, data) => {
    const parts = [...(part.hconcat || part.vconcat || part.concat || []), ...(part.spec ? [part.spec] : [])];
    return parts.length ? parts.flatMap((child) => partsOf(child, part.data || data)) : viewsOf(part, data);
  };

  const legendNames = (views, place) => views.flatMap((one) => {
    const channels = LEGEND_CHANNELS.map((name) => (one.view.encoding || {})[name]);
    const named = channels.filter((channel) => isNamed(channel) && channel.legend !== null);
    return named.flatMap((channel) => valuesOf([one], place, channel.field).map(String));
  });

  // Puts legends below the drawings, in as many columns as their names leave room for.
  const legendsBelow = (spec, place) => {
    const { width } = place;
    const views = partsOf(spec, spec.data);
    const longest = Math.max(10, ...legendNames(views, place).map((name) => name.length));
    // They begin where the drawing does, to the right of its names.
    const isStacked = isOne(spec) || width < NARROW;
    const hasNames = isStacked && views.some(({ view }) => isNamed((view.encoding || {}).y));
    const room = hasNames ? width - roomForNames(width) - 20 : width;
    const columns = Math.max(1, Math.floor(room / Math.max(110, longest * LETTER + 36)));
    const layout = { bottom: { direction: "vertical", anchor: "start" } };
    const below = { orient: "bottom", columns, labelLimit: width - 40, titleLimit: width, gradientLength: Math.min(200, room - 60) };
    spec.config.legend = Object.assign({}, spec.config.legend, below, { layout });
  };

  // Fits a specification, in place, to a width; what `measure` tells of the last drawing makes it fit better.
  const fit = (spec, width, { widths = {}, padding = null, cut = 0 } = {}) => {
    const place = { data: spec.data, datasets: spec.datasets || {}, width: width - cut, name: "", isTop: true, isAlone: true, widths, leaves: [] };
    if (width < NARROW || !isOne(spec)) legendsBelow(spec, place);
    if (padding) spec.padding = padding;
    shape(spec, place);
    return place.leaves;
  };

  // From where to where the mark of a name reaches within a drawing; nothing where there is none.
  const reachOf = (group, name, left) => {
    for (const mark of group.items || []) {
      if (mark.name === name) return { left: left + mark.bounds.x1, right: left + mark.bounds.x2 };
      const items = mark.marktype === "group" ? mark.items : [];
      const inner = items.map((item) => reachOf(item, name, left + (item.x || 0))).find(Boolean);
      if (inner) return inner;
    }
    return null;
  };

  const originOf = (svg) => svg.querySelector("g").getAttribute("transform").match(/-?[\d.]+/g).map(Number);

  // By how much a drawing is wider than its room. The scenegraph has sizes, in contrast to the page, where the chart
  // may be folded away.
  const excessOf = (leaf, root, svg, width) => {
    // A drawing that fits itself tells how wide it has become: titles of its axes go by that.
    if (leaf.isWhole) return leaf.width - root.width;
    const reach = leaf.name ? reachOf(root, `${leaf.name}group`, originOf(svg)[0]) : null;
    if (!reach) return Number(svg.getAttribute("width")) - width;
    // What stands below others begins where the widest names of all of them end.
    return leaf.isAlone ? reach.right + PADDING - width : reach.right - reach.left - leaf.room;
  };

  // How wide the drawings of a chart have to be that it fits, as far as one that is drawn tells.
  const measure = (view, svg, leaves, width, before) => {
    const root = view.scenegraph().root.items[0];
    const excesses = new Map(leaves.map((leaf) => [leaf, excessOf(leaf, root, svg, width)]));
    const isOff = (excess) => excess > 1 || excess < -12;
    const widths = Object.assign({}, before.widths);
    let isFitting = true;
    for (const [leaf, excess] of excesses) {
      const next = Math.min(leaf.most, Math.max(LEAST, Math.floor(leaf.width - excess / leaf.columns)));
      if (!isOff(excess) || Math.abs(next - leaf.width) <= 1) continue;
      widths[leaf.name] = next;
      isFitting = false;
    }
    if (!isFitting) return Object.assign({}, before, { widths, isFitting });
    const padding = missingRoom(svg, root, width, before.padding);
    // Panels that line up take more room together than each alone.
    const surplus = Number(svg.getAttribute("width")) - width;
    const cut = (before.cut || 0) + (surplus > 1 ? Math.ceil(surplus) : 0);
    return { widths, padding, cut, isFitting: padding === before.padding && cut === (before.cut || 0) };
  };

  // The padding that texts beyond the edge of a drawing need; that of before where all lie within.
  const missingRoom = (svg, root, width, before) => {
    const [left, top] = originOf(svg);
    const [right, bottom] = ["width", "height"].map((side) => Number(svg.getAttribute(side)));
    const { x1, y1, x2, y2 } = root.bounds;
    const beyond = { left: -(left + x1), top: -(top + y1), right: left + x2 - right, bottom: top + y2 - bottom };
    if (Math.max(...Object.values(beyond)) <= 0.5) return before;
    const now = before || { left: PADDING, top: PADDING, right: PADDING, bottom: PADDING };
    // A drawing keeps most of the width, whatever is beside it.
    const most = Math.floor(width / 6);
    return Object.fromEntries(Object.entries(beyond).map(([side, excess]) => [side, Math.min(most, now[side] + Math.max(0, Math.ceil(excess)))]));
  };

  return { fit, measure };
})();
