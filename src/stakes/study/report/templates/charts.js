
"use strict";
/* Line charts as SVG: drawn at the size of their place, so that text is as large on a phone as on a screen. */
const Charts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = { right: 20, top: 10, bottom: 42 };
  const TITLE = 30, LETTER = 7.4; // what the title of an axis takes, and a letter of its numbers

  const make = (name, attributes, ...children) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  /* Numbers as the rest of the page writes them: see stakes._format. */
  const grouped = (value, decimals) => value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
    .replace("-", "−");
  const money = (value) => {
    const size = Math.abs(value);
    if (size >= 999.995) return grouped(value, 0);
    if (size >= 1 || Math.abs(100 * size - Math.round(100 * size)) < 1e-9) return grouped(value, 2);
    return grouped(value, Math.min(12, 2 - Math.floor(Math.log10(size))));
  };
  const percent = (share) => (share === 0 || share === 1 ? `${100 * share}%`
    : `${Math.abs(share) < 0.001 ? Number((100 * share).toPrecision(2)) : (100 * share).toFixed(1)}%`.replace("-", "−"));
  const WRITE = { money, share: percent, number: (value) => String(Number(value.toPrecision(3))) };
  /* Ticks have as many digits as they need, and no more. */
  const TICK = {
    money: (value) => value.toLocaleString("en", { maximumSignificantDigits: 5, notation: Math.abs(value) >= 1e6 ? "compact" : "standard" }).replace("-", "−"),
    share: (value) => `${Number((100 * value).toPrecision(6))}%`,
    number: (value) => String(Number(value.toPrecision(6))),
  };

  /* Round numbers within a range, some `wanted` of them. */
  const ticks = ([low, high], wanted) => {
    const rough = (high - low) / wanted || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) found.push(i * step + 0); // no minus before 0
    return found;
  };

  const stairs = (points) => points.flatMap(([x, y], i) => (i ? [[x, points[i - 1][1]], [x, y]] : [[x, y]]));

  /* Draw a figure into an element, whenever its size changes; `hidden` are the models that are left out. */
  const chart = (host, figure) => {
    const hidden = new Set();
    const tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
    let svg = null, places = [];

    const draw = () => {
      const width = host.clientWidth, height = host.clientHeight;
      if (!width || !height) return;
      const { x, y } = figure;
      const heights = ticks(y.range, 5).map((value) => [value, TICK[y.unit](value)]);
      const left = TITLE + LETTER * Math.max(...heights.map(([, label]) => label.length));
      const [right, bottom] = [width - MARGIN.right, height - MARGIN.bottom];
      const scale = ([low, high], from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);
      const toX = scale(x.range, left, right), toY = scale(y.range, bottom, MARGIN.top);
      const text = (content, attributes) => make("text", attributes, content);
      const grid = make("g", { class: "grid" });
      for (const [value, label] of heights) {
        grid.append(make("line", { x1: left, x2: right, y1: toY(value), y2: toY(value), class: value === 0 ? "zero" : "" }),
          text(label, { x: left - 8, y: toY(value) + 4, "text-anchor": "end", class: "tick" }));
      }
      for (const value of ticks(x.range, Math.max(2, Math.min(6, width / 80)))) {
        grid.append(make("line", { x1: toX(value), x2: toX(value), y1: MARGIN.top, y2: bottom }),
          text(TICK[x.unit](value), { x: toX(value), y: bottom + 17, "text-anchor": "middle", class: "tick" }));
      }
      const clip = `${host.id}-clip`;
      const lines = make("g", { "clip-path": `url(#${clip})`, class: "lines" }), dots = make("g", { class: "dots" });
      places = [];
      for (const line of figure.lines) {
        if (hidden.has(line.model)) continue;
        const at = line.points.map(([a, b]) => [toX(a), toY(b)]);
        const kind = line.model === null ? line.style : `m${line.model}`;
        if (line.dot) {
          dots.append(make("circle", { cx: at[0][0], cy: at[0][1], r: line.model === 0 ? 6 : 5, class: `dot ${kind}` }));
        } else {
          const drawn = line.steps ? stairs(at) : at;
          lines.append(make("polyline", { points: drawn.map((point) => point.map((v) => v.toFixed(2)).join()).join(" "), class: `line ${kind}` }));
          (line.sizes || []).forEach((size, i) => lines.append(make("circle", { cx: at[i][0], cy: at[i][1], r: size, class: `mark ${kind}` })));
        }
        if (line.name) at.forEach((place, i) => places.push({ place, line, i }));
      }
      svg?.remove();
      // A picture that is printed is scaled with its page.
      svg = make("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", "aria-hidden": "true" },
        make("clipPath", { id: clip }, make("rect", { x: left, y: MARGIN.top - 2, width: right - left, height: bottom - MARGIN.top + 4 })),
        grid, lines, dots,
        text(x.title, { x: (left + right) / 2, y: height - 6, "text-anchor": "middle", class: "title" }),
        text(y.title, { transform: `translate(12 ${(MARGIN.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "title" }));
      host.append(svg);
    };

    /* Say what is nearest to the pointer. */
    const point = (event) => {
      const box = host.getBoundingClientRect();
      const [px, py] = [event.clientX - box.left, event.clientY - box.top];
      let nearest = null, least = 40;
      for (const found of places) {
        const distance = Math.hypot(found.place[0] - px, found.place[1] - py);
        if (distance < least) [nearest, least] = [found, distance];
      }
      tip.hidden = !nearest;
      if (!nearest) return;
      const { line, i, place } = nearest, [a, b] = line.points[i];
      const values = `${figure.x.words} ${WRITE[figure.x.unit](a)}, ${figure.y.words} ${WRITE[figure.y.unit](b)}`;
      tip.textContent = line.model === null ? line.name
        : `${line.name}: ${values}${line.counts ? ` of ${line.counts[i].toLocaleString("en")} records` : ""}`;
      tip.style.left = `${Math.min(Math.max(place[0], 90), box.width - 90)}px`;
      tip.style.top = `${place[1]}px`;
    };
    host.append(tip);
    host.addEventListener("pointermove", point);
    host.addEventListener("pointerleave", () => { tip.hidden = true; });
    new ResizeObserver(draw).observe(host);
    draw();
    return {
      show: (model, shown) => { if (shown) hidden.delete(model); else hidden.add(model); draw(); },
      redraw: (changed) => { Object.assign(figure, changed); draw(); },
    };
  };

  return { chart, money, percent, ticks };
})();
