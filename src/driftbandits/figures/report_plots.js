"use strict";

// Traces and layouts for Plotly, from the page's data. Nothing here touches the page.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colorOf = (policy) => (dark.matches ? policy.dark : policy.color);
// Plotly reads labels as a subset of HTML; a user's label is plain text.
const plain = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const faint = (color) => color + "2b";
const TRAIL = 12;

function baseLayout(experiment, what, more) {
  const axis = {
    gridcolor: variable("--grid"), linecolor: variable("--muted"), zeroline: false,
    tickcolor: variable("--muted"), ticks: "outside", ticklen: 4, automargin: true,
  };
  const { xaxis, yaxis, ...rest } = more;
  return {
    title: {
      text: plain(experiment.title), subtitle: { text: what, font: { size: 13, color: variable("--muted") } },
      x: 0, xref: "container", xanchor: "left", pad: { l: 8 }, font: { size: 15 },
    },
    font: { family: variable("--sans"), size: 13, color: variable("--ink") },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 56, r: 28, t: 70, b: 48 },
    legend: { orientation: "h", x: 0, y: 0, yref: "container", yanchor: "bottom", itemwidth: 40 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: variable("--muted"), activecolor: variable("--ink") },
    hoverlabel: { bgcolor: variable("--raised"), bordercolor: variable("--rule"), font: { color: variable("--ink") } },
    uirevision: "keep",
    xaxis: { ...axis, ...xaxis },
    yaxis: { ...axis, ...yaxis },
    ...rest,
  };
}

const roundAxis = (experiment) => ({
  title: { text: "round", standoff: 8 }, range: [0, experiment.horizon], tickformat: ",d",
});

// A vertical line over the whole height; it is shown or hidden with its legend group.
function vertical(at, color, more) {
  return {
    type: "line", x0: at, x1: at, y0: 0, y1: 1, yref: "paper", layer: "above",
    line: { color, width: 1.4, dash: "dash" }, ...more,
  };
}

function changeLines(experiment) {
  return experiment.changes.map((at, i) =>
    vertical(at, variable("--change"), {
      name: "change", legendgroup: "changes", legendrank: 2000, showlegend: i === 0,
    }));
}

function band(policy, i, rounds, low, high) {
  return {
    x: rounds.concat(rounds.toReversed()), y: high.concat(low.toReversed()),
    type: "scatter", mode: "lines", fill: "toself", fillcolor: faint(colorOf(policy)),
    line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: `policy-${i}`,
    name: plain(policy.label),
  };
}

function curve(policy, i, rounds, values, low, high, format) {
  return {
    x: rounds, y: values, customdata: low.map((value, c) => [value, high[c]]),
    type: "scatter", mode: "lines", name: plain(policy.label), legendgroup: `policy-${i}`,
    line: { color: colorOf(policy), width: 2.4, dash: policy.dash },
    hovertemplate: `%{y:${format}} (%{customdata[0]:${format}} to %{customdata[1]:${format}})`,
  };
}

// Bands first, lines on top.
function bandsAndCurves(experiment, rounds, { mean, low, high }, format) {
  const each = (make) => experiment.policies.map(make);
  return [
    ...each((policy, i) => band(policy, i, rounds, low[i], high[i])),
    ...each((policy, i) => curve(policy, i, rounds, mean[i], low[i], high[i], format)),
  ];
}

function regretPlot(experiment, { logarithmic }) {
  const { rounds, high, bounds, noticed } = experiment.regret;
  const format = Math.max(...high.map((row) => row.at(-1))) >= 100 ? ",.0f" : ",.2f";
  const boundTraces = bounds.map(({ policy, values }) => ({
    x: rounds, y: values, type: "scatter", mode: "lines", visible: "legendonly",
    name: `${plain(experiment.policies[policy].label)}: bound`, legendrank: 3000,
    line: { color: colorOf(experiment.policies[policy]), width: 1.6, dash: "dot" },
    hovertemplate: `%{y:${format}}`,
  }));
  const detectionLines = noticed.map(({ policy, round, rate }) =>
    vertical(round, colorOf(experiment.policies[policy]), {
      legendgroup: `policy-${policy}`, showlegend: false,
      label: {
        text: `${Math.round(100 * rate)}%`, textposition: "end", textangle: 0, xanchor: "left",
        yanchor: "top", font: { size: 12, color: colorOf(experiment.policies[policy]) },
      },
    }));
  const layout = baseLayout(experiment, "cumulative regret", {
    hovermode: "x unified",
    xaxis: { ...roundAxis(experiment), hoverformat: ",d" },
    yaxis: {
      title: { text: "cumulative regret", standoff: 10 }, type: logarithmic ? "log" : "linear",
      tickformat: ",", rangemode: "tozero", dtick: logarithmic ? 1 : undefined,
    },
    shapes: [...changeLines(experiment), ...detectionLines],
  });
  return { traces: [...bandsAndCurves(experiment, rounds, experiment.regret, format), ...boundTraces], layout };
}

// The positions at one step: the true parameter, and each estimate with its last steps.
function moving({ path, means }, step) {
  const from = Math.max(0, step - TRAIL);
  const coordinates = (rows, i) => rows.map((row) => row[i]);
  const pieces = [[path[step]], ...means.flatMap(({ values }) => [values.slice(from, step + 1), [values[step]]])];
  return { x: pieces.map((rows) => coordinates(rows, 0)), y: pieces.map((rows) => coordinates(rows, 1)) };
}

function fixedTraces({ path, positions }) {
  const angles = Array.from({ length: 181 }, (_, i) => (i * Math.PI) / 90);
  const ink = variable("--muted");
  const circle = {
    x: angles.map(Math.cos), y: angles.map(Math.sin), type: "scatter", mode: "lines",
    line: { color: ink, width: 1, dash: "dot" }, hoverinfo: "skip", name: "unit circle", legendrank: 2000,
  };
  const truth = positions.length
    ? {
      x: positions.map(({ place }) => place[0]), y: positions.map(({ place }) => place[1]),
      text: positions.map(({ label }) => label), mode: "markers+text", textposition: "top right",
      textfont: { size: 15 }, cliponaxis: false, marker: { symbol: "star-open", size: 15, color: ink },
      name: "true positions, in order", hovertemplate: "(%{x:.2f}, %{y:.2f})<extra>position %{text}</extra>",
    }
    : {
      x: path.map((row) => row[0]), y: path.map((row) => row[1]), mode: "lines",
      line: { color: ink, width: 2 }, name: "true path", hoverinfo: "skip",
    };
  return [circle, { type: "scatter", legendrank: 1900, ...truth }];
}

function estimatesPlot(experiment, { step }) {
  const { means, path, one_run: oneRun } = experiment.estimates;
  const hovertemplate = "(%{x:.3f}, %{y:.3f})<extra>%{fullData.name}</extra>";
  const movers = [{
    mode: "markers", name: "true parameter", legendrank: 1, hovertemplate, cliponaxis: false,
    marker: { symbol: "star", size: 20, color: variable("--ink") },
  }];
  for (const { policy: i } of means) {
    const policy = experiment.policies[i];
    const common = { legendgroup: `policy-${i}`, name: plain(policy.label) };
    const line = { color: colorOf(policy), width: 1.5 };
    const marker = { symbol: policy.marker, size: 11, color: colorOf(policy), line: { width: 1, color: variable("--paper") } };
    movers.push({ ...common, mode: "lines", line, opacity: 0.6, showlegend: false, hoverinfo: "skip" });
    movers.push({ ...common, mode: "markers", marker, hovertemplate });
  }
  const { x, y } = moving(experiment.estimates, step);
  const reach = 1.15 * Math.max(1, ...path.flat().map(Math.abs), ...means.flatMap(({ values }) => values.flat().map(Math.abs)));
  const range = [-reach, reach];
  const layout = baseLayout(experiment, oneRun ? "estimates of the first run" : "mean estimates", {
    hovermode: "closest",
    xaxis: { title: { text: "θ₁", standoff: 8 }, range, constrain: "domain" },
    yaxis: { title: { text: "θ₂", standoff: 8 }, range, scaleanchor: "x", constrain: "domain" },
  });
  const traces = movers.map((trace, k) => ({ type: "scatter", ...trace, x: x[k], y: y[k] }));
  return { traces: [...fixedTraces(experiment.estimates), ...traces], layout };
}

function detectionsPlot(experiment) {
  const { edges, counts } = experiment.detections;
  const width = edges[1] - edges[0];
  const traces = counts.map(({ policy: i, values }) => ({
    x: values.map((_, k) => edges[k] + width / 2), y: values, width, type: "bar", opacity: 0.75,
    name: plain(experiment.policies[i].label), marker: { color: colorOf(experiment.policies[i]) },
    customdata: values.map((_, k) => [edges[k], edges[k + 1]]), showlegend: true,
    hovertemplate: "rounds %{customdata[0]:,.0f} to %{customdata[1]:,.0f}: %{y}<extra>%{fullData.name}</extra>",
  }));
  const layout = baseLayout(experiment, `detections in ${experiment.replications} runs`, {
    barmode: "overlay", shapes: changeLines(experiment), xaxis: roundAxis(experiment),
    yaxis: { title: { text: "detections", standoff: 10 }, rangemode: "tozero" },
  });
  return { traces, layout };
}

function coveragePlot(experiment, panel) {
  const { rounds, level, panels } = experiment.coverage;
  const lowest = Math.min(level ?? 1, ...panels.flatMap(({ low }) => low.flat()));
  const line = { type: "line", xref: "paper", x0: 0, x1: 1, y0: level, y1: level, line: { color: variable("--ink"), width: 1.2, dash: "dash" } };
  const layout = baseLayout(experiment, `coverage ${panel.words}`, {
    hovermode: "x unified", shapes: level === null ? [] : [line],
    xaxis: { ...roundAxis(experiment), hoverformat: ",d" },
    yaxis: { range: [lowest - 0.03 * (1 - lowest) - 0.005, 1 + 0.03 * (1 - lowest) + 0.005], tickformat: ".0%" },
  });
  return { traces: bandsAndCurves(experiment, rounds, panel, ".1%"), layout };
}
