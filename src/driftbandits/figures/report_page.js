
// Draws all pictures and handles the controls.

// An explicit list, so that no button can send data elsewhere.
const BUTTONS = [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]];
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: BUTTONS };
const AROUND = 12000; // milliseconds of the whole animation
const experiments = JSON.parse(document.getElementById("data").textContent);

function formatted(value, signDisplay = "auto") {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay };
  return value.toLocaleString("en", options).replace("-", "−");
}

const part = (experiment, name) => document.getElementById(`${experiment.key}-${name}`);

function draw(experiment, name, { traces, layout }) {
  const place = part(experiment, `${name}-plot`);
  return Plotly.react(place, traces, layout, CONFIG);
}

function showRegret(experiment) {
  const logarithmic = part(experiment, "regret").querySelector(".logarithmic").checked;
  return draw(experiment, "regret", regretPlot(experiment, { logarithmic }));
}

function showEstimates(experiment) {
  const step = Number(part(experiment, "estimates").querySelector(".step").value);
  return draw(experiment, "estimates", estimatesPlot(experiment, { step }));
}

function show(experiment) {
  if (experiment.regret) showRegret(experiment);
  if (experiment.estimates) showEstimates(experiment);
  if (experiment.detections) draw(experiment, "detections", detectionsPlot(experiment));
  for (const panel of experiment.coverage?.panels ?? []) draw(experiment, panel.kind, coveragePlot(experiment, panel));
}

// Paired differences of final regret to the reference, with a 95% interval:
// `quantile` standard errors to each side, or none if there is a single run.
function paired(values, base, quantile) {
  const differences = values.map((value, n) => value - base[n]);
  const count = differences.length;
  const mean = differences.reduce((sum, x) => sum + x, 0) / count;
  const squares = differences.reduce((sum, x) => sum + (x - mean) ** 2, 0);
  return { mean, half: (quantile * Math.sqrt(squares / (count - 1))) / Math.sqrt(count) };
}

function fillDifferences(experiment) {
  const section = part(experiment, "final");
  const reference = Number(section.querySelector(".reference").value);
  const { final, quantile } = experiment.regret;
  section.querySelectorAll("tbody tr:not(.group)").forEach((row, i) => {
    const { mean, half } = paired(final[i], final[reference], quantile);
    const known = i !== reference && Number.isFinite(half);
    row.querySelector(".difference").textContent = i === reference ? "reference" : formatted(mean, "exceptZero");
    row.querySelector(".difference-interval").textContent =
      known ? `[${formatted(mean - half)}, ${formatted(mean + half)}]` : "–";
  });
}

function moveTo(experiment, step) {
  const section = part(experiment, "estimates");
  const slider = section.querySelector(".step");
  const words = `round ${experiment.estimates.rounds[step].toLocaleString("en")}`;
  slider.value = step;
  slider.setAttribute("aria-valuetext", words);
  section.querySelector(".round").textContent = words;
  const { x, y } = moving(experiment.estimates, step);
  // The circle and the path come first and do not change.
  return Plotly.restyle(part(experiment, "estimates-plot"), { x, y }, x.map((_, k) => k + 2));
}

function connectPlayer(experiment) {
  const section = part(experiment, "estimates");
  const [slider, button] = [section.querySelector(".step"), section.querySelector(".play")];
  const last = experiment.estimates.rounds.length - 1;
  let timer = null;
  slider.max = last;
  const pause = () => {
    clearInterval(timer);
    timer = null;
    button.textContent = "Play";
  };
  const advance = () => {
    if (Number(slider.value) >= last) pause();
    else moveTo(experiment, Number(slider.value) + 1);
  };
  button.addEventListener("click", () => {
    if (timer !== null) return pause();
    if (Number(slider.value) >= last) moveTo(experiment, 0);
    button.textContent = "Pause";
    timer = setInterval(advance, Math.min(250, Math.max(40, AROUND / (last + 1))));
  });
  slider.addEventListener("input", () => {
    pause();
    moveTo(experiment, Number(slider.value));
  });
  moveTo(experiment, 0);
}

for (const experiment of experiments) {
  show(experiment);
  if (experiment.regret) {
    part(experiment, "regret").querySelector(".logarithmic").addEventListener("change", () => showRegret(experiment));
    part(experiment, "final").querySelector(".reference").addEventListener("change", () => fillDifferences(experiment));
    fillDifferences(experiment);
  }
  if (experiment.estimates) connectPlayer(experiment);
}
dark.addEventListener("change", () => experiments.forEach(show));
