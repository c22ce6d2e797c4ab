
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);

  /* Make an element; text stays text. */
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  // ---- Pictures -------------------------------------------------------------------------------------------------
  const figures = JSON.parse(one("#figures").textContent);
  const charts = Object.entries(figures).map(([name, figure]) => Charts.chart(one(`#figure-${name}`), figure));
  all("[data-model]").forEach((box) => box.addEventListener("change", () => {
    charts.forEach((chart) => chart.show(Number(box.dataset.model), box.checked));
  }));

  // ---- Leaderboards ---------------------------------------------------------------------------------------------
  const FIRST = 15;
  const boards = all(".board").filter((board) => one("tbody", board));
  const find = one("#find"), slider = one("#fpr"), limitShown = one("#fpr-limit");
  const families = all("[name=family]"), best = one("#best");

  /* The slider is fine where it matters, among low rates: its square is the share of the highest rate. */
  const limit = () => (!slider || slider.value === slider.max ? Infinity
    : Number(slider.dataset.highest) * (Number(slider.value) / Number(slider.max)) ** 2);
  const percent = (share) => `${(100 * share).toFixed(share < 0.01 ? 2 : 1)}%`;

  const refresh = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set(families.filter((box) => box.checked).map((box) => box.value));
    const highest = limit();
    if (slider) {
      limitShown.textContent = highest === Infinity ? "any" : percent(highest);
      slider.setAttribute("aria-valuetext", limitShown.textContent);
    }
    for (const board of boards) {
      const rows = all("tbody tr", board);
      let matching = rows.filter((row) => {
        const text = row.cells[1].textContent.toLowerCase();
        return (!families.length || wanted.has(row.dataset.family))
          && !(Number(row.dataset.fpr) > highest)
          && words.every((word) => text.includes(word));
      });
      if (best.checked) {
        const rank = (row) => Number(row.cells[0].dataset.value);
        const first = new Map();
        for (const row of [...matching].sort((a, b) => rank(b) - rank(a))) first.set(row.dataset.method, row);
        matching = matching.filter((row) => first.get(row.dataset.method) === row || row.dataset.chosen);
      }
      const shown = new Set(board.dataset.all ? matching : matching.slice(0, FIRST));
      rows.forEach((row) => { row.hidden = !shown.has(row); });
      one(".count", board).textContent = matching.length
        ? `${shown.size.toLocaleString("en")} of ${matching.length.toLocaleString("en")} models`
          + (matching.length < rows.length ? `, chosen from ${rows.length.toLocaleString("en")}` : "")
        : "No model matches. Loosen the filters.";
      const more = one(".more", board);
      more.hidden = matching.length <= FIRST;
      more.textContent = board.dataset.all ? `Show the first ${FIRST}` : `Show all ${matching.length.toLocaleString("en")}`;
    }
  };

  const sort = (board, header) => {
    const button = one("button", header);
    const opposite = { ascending: "descending", descending: "ascending" };
    const direction = opposite[header.getAttribute("aria-sort")] || button.dataset.first;
    all("thead th", board).forEach((other) => other.setAttribute("aria-sort", other === header ? direction : "none"));
    const column = header.cellIndex, sign = direction === "ascending" ? 1 : -1;
    const textual = !one("tbody tr", board).cells[column].classList.contains("number");
    const value = (row) => row.cells[column].dataset.value;
    const compare = (a, b) => {
      if (value(a) === undefined || value(b) === undefined) return (value(a) === undefined) - (value(b) === undefined);
      return sign * (textual ? value(a).localeCompare(value(b)) : value(a) - value(b));
    };
    const body = one("tbody", board);
    body.append(...[...body.rows].sort(compare));
    refresh();
  };

  for (const board of boards) {
    const count = make("p", { className: "count" });
    count.setAttribute("aria-live", "polite");
    const more = make("button", { type: "button", className: "more" });
    more.addEventListener("click", () => {
      if (board.dataset.all) delete board.dataset.all; else board.dataset.all = "yes";
      refresh();
    });
    board.append(make("div", { className: "below" }, count, more));
    all("thead th", board).forEach((header) => one("button", header).addEventListener("click", () => sort(board, header)));
  }

  const reset = () => {
    find.value = "";
    [best, ...families].forEach((box) => { box.checked = true; });
    if (slider) slider.value = slider.max;
    refresh();
  };
  one("#row-controls").hidden = false;
  [find, slider, best, ...families].filter(Boolean).forEach((control) => control.addEventListener("input", refresh));
  one("#reset").addEventListener("click", reset);

  // ---- One leaderboard at a time ----------------------------------------------------------------------------------
  const panels = all(".board");
  const tabs = panels.map((panel) => {
    const tab = make("button", { type: "button", id: `${panel.id}-tab` }, panel.dataset.title,
      make("span", { className: "detail" }, panel.dataset.motto));
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.classList.add("tabbed");
    return tab;
  });
  const choose = (chosen) => tabs.forEach((tab, i) => {
    tab.setAttribute("aria-selected", String(i === chosen));
    tab.tabIndex = i === chosen ? 0 : -1;
    panels[i].hidden = i !== chosen;
  });
  const list = make("div", { className: "tabs" }, ...tabs);
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Leaderboards");
  const steps = { ArrowLeft: -1, ArrowRight: 1 };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => choose(i));
    tab.addEventListener("keydown", (event) => {
      if (!(event.key in steps)) return;
      const next = (i + steps[event.key] + tabs.length) % tabs.length;
      choose(next);
      tabs[next].focus();
    });
  });
  panels[0].before(list);
  choose(0);
  reset();
  document.documentElement.dataset.drawn = "yes";
})();
