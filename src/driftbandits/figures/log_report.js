"use strict";

// The pictures of a log's report, from the page's data.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// An explicit list, so that no button can send data elsewhere.
const BUTTONS = [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]];
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: BUTTONS };
const data = JSON.parse(document.getElementById("data").textContent);
// Plotly reads labels as a subset of HTML; a user's label is plain text.
const plain = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const colorOf = (look) => (dark.matches ? look.dark : look.color);

function layout(xaxis, yaxis) {
  const axis = {
    gridcolor: variable("--grid"), linecolor: variable("--muted"), zeroline: false,
    tickcolor: variable("--muted"), ticks: "outside", ticklen: 4, automargin: true,
  };
  return {
    font: { family: variable("--sans"), size: 13, color: variable("--ink") },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 56, r: 28, t: 28, b: 48 }, uirevision: "keep",
    legend: { orientation: "h", x: 0, y: 0, yref: "container", yanchor: "bottom" },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: variable("--muted"), activecolor: variable("--ink") },
    hoverlabel: { bgcolor: variable("--raised"), bordercolor: variable("--rule"), font: { color: variable("--ink") } },
    xaxis: { ...axis, ...xaxis }, yaxis: { ...axis, ...yaxis },
  };
}

function memoryPlot({ words, evidence, instant }) {
  const line = (y, name, dash, color) => ({
    x: words, y, name, type: "scatter", mode: "lines+markers", line: { dash, color },
  });
  return {
    traces: [
      line(evidence, "as rewards came", "solid", variable("--accent")),
      line(instant, "had they come at once", "dot", variable("--muted")),
    ],
    layout: layout(
      { type: "category", title: { text: "memory in decisions" } },
      { title: { text: "log-evidence above never" } },
    ),
  };
}

function driftPlot({ times, gain, dated, changed }) {
  const look = layout(
    { type: dated ? "date" : "linear", title: { text: dated ? "" : "hours" } },
    { title: { text: "log-evidence for drift" } },
  );
  const [from, to] = changed;
  const shade = { type: "rect", yref: "paper", y0: 0, y1: 1, x0: from, x1: to, fillcolor: variable("--change"), opacity: 0.15, line: { width: 0 } };
  return {
    traces: [{ x: times, y: gain, type: "scatter", mode: "lines", name: "evidence", line: { color: variable("--accent") } }],
    layout: { ...look, shapes: changed.length ? [shade] : [] },
  };
}

// One line per answer, the logger's on top, and a vertical line at the logged mean.
function wholePlot({ whole }) {
  const logged = whole.find((answer) => answer.label === "logged");
  const traces = whole.map((answer) => ({
    x: answer.estimate, y: [plain(answer.label)], name: plain(answer.label), type: "scatter", mode: "markers",
    marker: { color: colorOf(answer), size: 10 },
    error_x: {
      type: "data", symmetric: false, array: answer.above, arrayminus: answer.below,
      color: colorOf(answer), thickness: 2, width: 5,
    },
  }));
  const look = layout(
    { title: { text: "mean reward" } },
    { type: "category", autorange: "reversed", showgrid: false },
  );
  const line = { type: "line", yref: "paper", y0: 0, y1: 1, line: { color: variable("--muted"), width: 1, dash: "dot" } };
  const shapes = logged ? [{ ...line, x0: logged.estimate[0], x1: logged.estimate[0] }] : [];
  return { traces, layout: { ...look, showlegend: false, shapes } };
}

function valuePlot({ periods }) {
  const traces = periods.map((policy) => ({
    x: policy.periods, y: policy.estimate, name: plain(policy.label), type: "scatter", mode: "lines+markers",
    line: { color: colorOf(policy), dash: policy.dash },
    error_y: {
      type: "data", symmetric: false, array: policy.above, arrayminus: policy.below,
      color: colorOf(policy), thickness: 1.2,
    },
  }));
  return {
    traces,
    layout: layout(
      { type: "category", title: { text: "period" } },
      { title: { text: "mean reward" } },
    ),
  };
}

const PLOTS = [
  ["memory", data.memory, memoryPlot],
  ["drift", data.drift, driftPlot],
  ["whole", data.value, wholePlot],
  ["value", data.value, valuePlot],
];

function show() {
  for (const [name, shown, plot] of PLOTS) {
    const place = document.getElementById(`${name}-plot`);
    if (!place || !shown) continue;
    const { traces, layout } = plot(shown);
    Plotly.react(place, traces, layout, CONFIG);
  }
}

show();
dark.addEventListener("change", show);
