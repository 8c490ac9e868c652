// Each chart gets a slider that goes from mark to mark and says what stands there; also a pointer on the chart moves it.
for (const figure of document.querySelectorAll(".chart-figure")) enhance(figure);

function enhance(figure) {
  const chart = figure.querySelector("svg.chart");
  if (!chart || figure.querySelector(".slider")) return;
  const marks = [...chart.querySelectorAll(".mark")].filter((mark) => mark.querySelector("title"));
  if (marks.length < 2) return;
  const places = () => marks.map((mark) => {
    const box = mark.getBoundingClientRect();
    return box.left + box.width / 2;
  });
  // Measured and carried days are drawn one after the other, and read in the order of time.
  const first = places();
  const order = marks.map((_, place) => place).sort((a, b) => first[a] - first[b]);
  const sorted = order.map((place) => marks[place]);
  marks.splice(0, marks.length, ...sorted);

  const slider = document.createElement("input");
  slider.type = "range";
  slider.className = "slider";
  slider.min = 0;
  slider.max = marks.length - 1;
  slider.value = marks.length - 1;
  slider.setAttribute("aria-label", "Move along the chart");
  const words = document.createElement("p");
  words.className = "reading";
  let chosen = null;

  function choose(place, isLit = true) {
    if (chosen) chosen.classList.remove("chosen");
    chosen = marks[place];
    chosen.classList.toggle("chosen", isLit);
    slider.value = place;
    const text = chosen.querySelector("title").textContent;
    words.textContent = text;
    slider.setAttribute("aria-valuetext", text);
  }

  slider.addEventListener("input", () => choose(Number(slider.value)));
  chart.addEventListener("pointermove", (event) => {
    const distances = places().map((x) => Math.abs(x - event.clientX));
    choose(distances.indexOf(Math.min(...distances)));
  });
  chart.after(words, slider);
  choose(marks.length - 1, false);
}
