"use strict";
// Values under the pointer, or by arrow keys, from the table behind each chart; and the choice of a key.
(() => {
  const tip = document.getElementById("tip");
  const hide = (figure) => { tip.hidden = true; figure.querySelector(".hair").classList.remove("on"); };
  for (const figure of document.querySelectorAll("figure.chart")) {
    const picture = figure.querySelector(":scope > .canvas > svg"), hair = figure.querySelector(".hair");
    let rows = null, heads = null, at = -1;
    const read = () => {
      if (rows) return;
      heads = [...figure.querySelectorAll("thead th")].map((cell) => cell.textContent);
      rows = [...figure.querySelectorAll("tbody tr")].map((row) => ({ x: +row.dataset.x, row }));
    };
    const show = (index, top) => {
      at = Math.max(0, Math.min(rows.length - 1, index));
      const { x, row } = rows[at], box = picture.getBoundingClientRect();
      hair.setAttribute("transform", `translate(${x} 0)`);
      hair.classList.add("on");
      tip.textContent = [...row.cells].map((cell, i) => [heads[i], cell.textContent.trim()]).filter((pair) => pair[1])
        .map((pair) => pair.join(": ")).join("\n");
      tip.hidden = false;
      const left = box.left + x * box.width / picture.viewBox.baseVal.width;
      tip.style.left = `${Math.max(4, left + 14 + tip.offsetWidth > innerWidth ? left - 14 - tip.offsetWidth : left + 14)}px`;
      tip.style.top = `${Math.max(4, Math.min(innerHeight - tip.offsetHeight - 4, top ?? box.top + 10))}px`;
    };
    const nearest = (x) => {
      let low = 0, high = rows.length - 1;
      while (high - low > 1) { const middle = (low + high) >> 1; if (rows[middle].x < x) low = middle; else high = middle; }
      return Math.abs(rows[low].x - x) <= Math.abs(rows[high].x - x) ? low : high;
    };
    picture.addEventListener("pointermove", (event) => {
      read();
      if (!rows.length) return;
      const box = picture.getBoundingClientRect();
      show(nearest((event.clientX - box.left) * picture.viewBox.baseVal.width / box.width), event.clientY + 12);
    });
    picture.addEventListener("pointerleave", () => hide(figure));
    figure.addEventListener("blur", () => hide(figure));
    figure.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
      if (event.key === "Escape") hide(figure);
      if (step === undefined || event.target !== figure) return;
      read();
      if (rows.length) show(at < 0 && step < 0 ? rows.length - 1 : at + step);
      event.preventDefault();
    });
  }
  for (const choice of document.querySelectorAll("select.key")) {
    const charts = choice.closest(".keys").querySelectorAll(".of-key");
    choice.addEventListener("change", () => charts.forEach((chart, index) => { chart.hidden = index !== +choice.value; }));
  }
})();
