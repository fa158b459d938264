// The plots: uPlot with the colours of the page.

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const COLOURS = ["--accent", "--good", "--bad"];

function axes(labels) {
  return labels.map((label) => ({
    label, labelSize: label ? 22 : 0, stroke: style("--muted"), grid: { stroke: style("--rule") },
    ticks: { stroke: style("--rule") }, size: 56,
  })).map((axis, place) => (place === 0 ? { ...axis, size: 52 } : axis));
}

// A plot that fills its element and follows changes of its size.
class Plot {
  constructor(target, options) {
    this.target = target;
    this.options = options;
    this.data = null;
    new ResizeObserver(() => this.fit()).observe(target);
  }

  fit() {
    this.plot?.setSize(this.size());
  }

  size() {
    return { width: this.target.clientWidth, height: this.target.clientHeight };
  }

  show(data) {
    if (this.plot) this.plot.setData(data);
    else this.plot = new uPlot({ legend: { show: false }, ...this.options, ...this.size() }, data, this.target);
  }
}

const line = (label, place, more = {}) => ({
  label, stroke: style(COLOURS[place]), width: 2, spanGaps: true, points: { show: false }, ...more,
});
const edge = (label, place) => line(label, place, { width: 0.5, dash: [4, 3] });

// Three means with their intervals over time. Data: time, then mean, low and high of each mean.
export function rewardPlot(target) {
  const names = ["shown", "learner", "baseline"];
  const series = names.flatMap((name, place) => [
    line(name, place), edge(`${name} low`, place), edge(`${name} high`, place),
  ]);
  const bands = names.map((_, place) => ({
    series: [3 * place + 3, 3 * place + 2], fill: `${style(COLOURS[place])}22`,
  }));
  return new Plot(target, { series: [{}, ...series], bands, axes: axes(["", ""]) });
}

export function memoryPlot(target) {
  return new Plot(target, { series: [{}, line("memory", 0)], axes: axes(["", ""]) });
}

// Mean reward by prediction, and the line on which both are equal.
export function calibrationPlot(target) {
  const points = { show: true, size: 8, fill: style("--accent") };
  return new Plot(target, {
    scales: { x: { time: false } }, axes: axes(["predicted", "rewarded"]),
    series: [{}, line("rewarded", 0, { paths: () => null, points }), line("equal", 1, { width: 1, dash: [4, 3] })],
  });
}
