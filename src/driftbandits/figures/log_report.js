"use strict";

// The pictures of a log's report, from the page's data.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Named one by one: a button that would send data elsewhere has no place here.
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

function driftPlot({ times, gain, dated }) {
  return {
    traces: [{ x: times, y: gain, type: "scatter", mode: "lines", name: "evidence", line: { color: variable("--accent") } }],
    layout: layout(
      { type: dated ? "date" : "linear", title: { text: dated ? "" : "hours" } },
      { title: { text: "log-evidence for drift" } },
    ),
  };
}

function valuePlot({ policies }) {
  const traces = policies.map((policy) => ({
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

const PLOTS = { memory: memoryPlot, drift: driftPlot, value: valuePlot };

function show() {
  for (const [name, plot] of Object.entries(PLOTS)) {
    const place = document.getElementById(`${name}-plot`);
    if (!place || !data[name]) continue;
    const { traces, layout } = plot(data[name]);
    Plotly.react(place, traces, layout, CONFIG);
  }
}

show();
dark.addEventListener("change", show);
