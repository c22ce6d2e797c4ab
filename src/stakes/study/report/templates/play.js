
"use strict";
/* What other costs, or acting on more or fewer records, would save: worked out from the test records in the page. */
(() => {
  const source = document.querySelector("#records"), section = document.querySelector(".play");
  const given = source && JSON.parse(source.textContent);
  if (!given || !section) return;
  const { money, percent } = Charts;
  const one = (selector) => section.querySelector(selector);

  const unpack = (text, kind) => new kind(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
  const positive = unpack(given.positive, Uint8Array), cost = unpack(given.cost, Float64Array);
  const [probability, critical, fp, fn] = ["probability", "critical", "fp", "fn"].map((name) => unpack(given[name], Float32Array));
  const weight = (i) => (positive[i] ? given.weight.positive : given.weight.negative);
  const { totals } = given;

  const FACTORS = [1 / 4, 1 / 3, 1 / 2, 2 / 3, 0.8, 1, 1.25, 1.5, 2, 3, 4];
  const miss = one("#miss"), act = one("#act"), share = one("#share");
  let capacity = null; // the share to act on; null leaves it to the model

  /* Put records in the order in which to act on them: those that the model acts on first, by what acting saves. */
  const ordered = (onMiss, onAct) => {
    const acted = Uint8Array.from(critical, (at) => onMiss / onAct > at);
    const saves = Float64Array.from(probability, (p, i) => p * fn[i] * onMiss - (1 - p) * fp[i] * onAct);
    const order = Uint32Array.from(critical, (_, i) => i).sort((i, j) => acted[j] - acted[i] || saves[j] - saves[i]);
    return { order, own: acted.reduce((sum, is) => sum + is, 0) };
  };

  /* Return what comes of acting on the first 0, 1, ... of some records. */
  const outcomes = (order) => {
    let found = 0, alarms = 0, missed = 0, wasted = 0;
    order.forEach((i) => { if (positive[i]) missed += weight(i) * cost[i]; });
    const rows = [{ found, alarms, missed, wasted }];
    order.forEach((i) => {
      if (positive[i]) { found += weight(i); missed -= weight(i) * cost[i]; } else { alarms += weight(i); wasted += weight(i) * cost[i]; }
      rows.push({ found, alarms, missed, wasted });
    });
    return rows;
  };

  // Where some records stand for all, only what changes is estimated: unmoved, the figures are those of all records.
  const start = ordered(1, 1), estimated = outcomes(start.order)[start.own];
  const corrected = (row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, Math.max(0, totals[key] + value - estimated[key])]));

  const figure = {
    x: { title: "Share of the records acted on", words: "acting on", range: [0, 1], unit: "share" },
    y: { title: "Saved per 1,000 records", words: "saves", range: [0, 1], unit: "money" },
    lines: [],
  };
  let picture = null;

  const show = (name, text, value) => {
    const element = one(`[data-play=${name}]`);
    element.textContent = text;
    if (value !== undefined) element.dataset.value = value;
  };

  const refresh = () => {
    const onMiss = FACTORS[miss.value], onAct = FACTORS[act.value];
    const { order, own } = ordered(onMiss, onAct), rows = outcomes(order);
    const nothing = onMiss * totals.nothing, everything = onAct * totals.everything;
    const policies = [nothing, (1 - given.most) * nothing + given.most * everything];
    const cheaper = policies[0] <= policies[1] ? 0 : 1;
    const result = (row) => {
      const sums = corrected(row);
      const spent = onMiss * sums.missed + onAct * sums.wasted;
      return { ...sums, spent, saved: policies[cheaper] - spent, share: (sums.found + sums.alarms) / given.n };
    };
    let k = own;
    if (capacity !== null) k = rows.findIndex((row) => row.found + row.alarms >= capacity * given.n - 1e-9);
    const at = result(rows[k < 0 ? rows.length - 1 : k]);
    if (capacity === null) share.value = 1000 * Math.sqrt(at.share);

    const times = (factor) => (factor === 1 ? "as given" : `× ${Number(factor.toFixed(2))}`);
    show("miss", times(onMiss));
    show("act", times(onAct));
    show("share", capacity === null ? `${percent(at.share)}, as the model decides` : percent(at.share));
    show("saved", `${money(Math.abs(1000 * at.saved / given.n))} ${at.saved < 0 ? "lost" : "saved"}`, at.saved);
    show("policy", `per 1,000 records, against ${section.dataset[cheaper ? "most" : "none"]}`);
    show("total", `${money(Math.abs(at.saved))} on the ${given.n.toLocaleString("en")} test records`);
    show("cost", money(1000 * at.spent / given.n), at.spent);
    show("acted", grouped(1000 * at.share), at.found + at.alarms);
    show("found", percent(totals.positives ? at.found / totals.positives : 0), at.found);
    show("alarms", percent(at.alarms / (given.n - totals.positives)), at.alarms);
    one(".tile").classList.toggle("loss", at.saved < 0);
    [[miss, "miss"], [act, "act"], [share, "share"]].forEach(([input, name]) => input.setAttribute("aria-valuetext", one(`[data-play=${name}]`).textContent));

    const step = Math.max(1, Math.floor(rows.length / 300));
    const points = rows.map((row, i) => (i % step && i !== rows.length - 1 && i > 50 ? null : result(row))).filter(Boolean)
      .map((found) => [found.share, 1000 * found.saved / given.n]);
    const best = points.reduce((most, point) => (point[1] > most[1] ? point : most));
    const seen = Math.max(best[0], at.share), end = seen < 0.2 ? Math.max(5 * seen, 0.001) : 1;
    const heights = points.filter(([x]) => x <= end).map((point) => point[1]);
    const top = Math.max(...heights, 1000 * at.saved / given.n, 0) || 1;
    const low = Math.max(Math.min(...heights, 1000 * at.saved / given.n, 0), -top);
    const changed = {
      x: { ...figure.x, range: [0, end] }, y: { ...figure.y, range: [low, 1.05 * top] },
      lines: [{ model: 0, name: "The model", points }, { model: 0, name: "Here", dot: true, points: [[at.share, 1000 * at.saved / given.n]] }],
    };
    if (picture) picture.redraw(changed);
    else picture = Charts.chart(one("#figure-play"), Object.assign(figure, changed));
  };

  const grouped = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 });
  const reset = () => {
    [miss.value, act.value, capacity] = [FACTORS.indexOf(1), FACTORS.indexOf(1), null];
    refresh();
  };
  [miss, act].forEach((input) => { input.max = FACTORS.length - 1; input.addEventListener("input", refresh); });
  share.addEventListener("input", () => { capacity = (share.value / share.max) ** 2; refresh(); });
  one("#own").addEventListener("click", () => { capacity = null; refresh(); });
  one("#play-reset").addEventListener("click", reset);
  section.hidden = false;
  reset();
})();
