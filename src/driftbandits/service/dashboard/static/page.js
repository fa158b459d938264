// The dashboard: shows the values that the server sends once per second as tiles, plots and tables.
import { calibrationPlot, memoryPlot, rewardPlot } from "./plots.js";
import { listen } from "./stream.js";
import { NOTHING, bars, duration, element, number, percent, table, tiles } from "./words.js";

const MOST_POINTS = 3600; // one hour
const MOST_ACTIONS = 12;
const at = (id) => document.getElementById(id);
const plots = {};
const history = new Map(); // by policy: one row per point in time
let chosen = null;
let latest = null;

const STATES = { live: "live", lost: "the server does not answer; trying again" };

function say(state) {
  at("state").dataset.state = state;
  at("state").textContent = STATES[state];
}

function ask() {
  at("state").dataset.state = "waiting";
  at("state").textContent = "a key is needed";
  at("main").hidden = true;
  at("key-form").hidden = false;
  at("key").focus();
}

function show(value) {
  at("key-form").hidden = true;
  at("main").hidden = false;
  const before = latest;
  latest = value;
  remember(value);
  showServer(value, before);
  showChoice(Object.keys(value.policies));
  if (chosen !== null) showPolicy(value.policies[chosen], before?.policies[chosen], value.time - before?.time);
}

// Keep the values of each policy for the plots over time.
function remember({ time, policies }) {
  for (const [name, policy] of Object.entries(policies)) {
    const rows = history.get(name) ?? [];
    const means = ["shown", "learner", "baseline"].flatMap((who) => {
      const { mean, low, high } = policy.reward[who].recent;
      return [mean, low, high];
    });
    rows.push([time, policy.memory, ...means]);
    history.set(name, rows.slice(-MOST_POINTS));
  }
}

function showServer({ time, server, journal }, before) {
  const rate = before ? (server.committed - before.server.committed) / (time - before.time) : null;
  tiles(at("server"), [
    ["decide, median", duration(server.decide_seconds.p50)],
    ["decide, 99%", duration(server.decide_seconds.p99)],
    ["commit, median", duration(server.commit_seconds.p50)],
    ["commit, 99%", duration(server.commit_seconds.p99)],
    ["records per second", number(rate)],
    ["records in the journal", number(journal.records)],
    ["last record", `${duration(Math.max(0, time - journal.time))} ago`],
    ["records since the snapshot", number(journal.since_snapshot)],
    ["requests", number(server.requests)],
    ["server errors", number(server.errors)],
  ]);
}

function showChoice(names) {
  if (!names.includes(chosen)) chosen = names[0] ?? null;
  const shown = [...at("policies").children].map((button) => button.textContent);
  if (shown.join("\n") !== names.join("\n")) {
    at("policies").replaceChildren(...names.map((name) => {
      const button = element("button", name);
      button.type = "button";
      button.addEventListener("click", () => { chosen = name; show(latest); });
      return button;
    }));
  }
  for (const button of at("policies").children) button.ariaPressed = String(button.textContent === chosen);
  at("policies").hidden = names.length < 2;
  at("policy").hidden = chosen === null;
}

function showPolicy(policy, before, seconds) {
  at("policy-title").textContent = policy.policy;
  const rate = before && seconds > 0 ? (policy.decisions - before.decisions) / seconds : null;
  tiles(at("tiles"), [
    ["mode", policy.mode],
    ["learner", `${policy.learner}, d = ${policy.dim}`],
    ["version", number(policy.version)],
    ["decisions", number(policy.decisions)],
    ["decisions per second", number(rate)],
    ["open decisions", number(policy.open)],
    ["effective memory", policy.memory === null ? NOTHING : `${number(policy.memory)} rounds`],
    ["detections", number(policy.detections.length)],
    ["without a reward", percent(policy.expiry_rate)],
    ["delay of rewards", duration(policy.delay.mean)],
    ["least propensity", number(policy.least_propensity.recent)],
    ["price of exploring", number(difference(policy, "learner"))],
  ]);
  showAlarms(policy);
  showEstimates(policy.reward);
  showPlots(policy);
  showBars(policy);
}

// How much more the learner without its floor, or the baseline, would earn per decision.
function difference({ reward }, who) {
  const mean = reward[who].recent.mean;
  return mean === null || reward.shown.recent.mean === null ? null : mean - reward.shown.recent.mean;
}

function showAlarms(policy) {
  const alarms = [];
  if (policy.closed >= 100 && policy.expiry_rate === 1) {
    alarms.push("No decision has a reward. Are rewards sent, and with the right event ids?");
  }
  if ((policy.rewards.too_late ?? 0) > (policy.rewards.learned ?? 0) + (policy.rewards.held ?? 0)) {
    alarms.push("Most rewards come after the wait and are not learned. Is the wait long enough?");
  }
  const { coverage, all } = policy.reward.learner;
  if (all.count >= 100 && Math.abs(coverage - 1) > 0.5) {
    alarms.push("The weights of the learner do not average to 1. Its estimated reward cannot be trusted.");
  }
  at("alarms").replaceChildren(...alarms.map((text) => element("li", text)));
}

function showEstimates(reward) {
  const interval = ({ mean, low, high }) =>
    mean === null ? NOTHING : `${number(mean)}  (${number(low)} to ${number(high)})`;
  table(at("estimates"), [
    ["", "recent", "since the start", "decisions", "mean weight"],
    ...["shown", "learner", "baseline"].map((who) => [
      who, interval(reward[who].recent), interval(reward[who].all), number(reward[who].all.count),
      number(reward[who].coverage),
    ]),
  ]);
}

function showPlots(policy) {
  plots.reward ??= rewardPlot(at("reward-plot"));
  plots.memory ??= memoryPlot(at("memory-plot"));
  plots.calibration ??= calibrationPlot(at("calibration-plot"));
  const rows = history.get(policy.policy);
  const column = (place) => rows.map((row) => row[place]);
  plots.reward.show([column(0), ...Array.from({ length: 9 }, (_, place) => column(place + 2))]);
  plots.memory.show([column(0), column(1)]);
  const bins = policy.calibration;
  const predicted = bins.map((bin) => bin.predicted);
  plots.calibration.show([predicted, bins.map((bin) => bin.rewarded), predicted]);
}

function showBars(policy) {
  const shares = Object.entries(policy.shares).sort(([, one], [, other]) => other - one);
  const rest = shares.slice(MOST_ACTIONS).reduce((sum, [, share]) => sum + share, 0);
  const rows = shares.slice(0, MOST_ACTIONS).map(([name, share]) => [name, share, percent(share)]);
  if (rest > 0) rows.push([`${shares.length - MOST_ACTIONS} others`, rest, percent(rest)]);
  bars(at("shares"), rows);
  const { bins, counts } = policy.delay;
  const total = counts.reduce((sum, count) => sum + count, 0);
  const filled = counts.map((count, place) => [place, count]).filter(([, count]) => count > 0);
  bars(at("delays"), filled.map(([place, count]) => [
    place === 0 ? "below 1 s" : `from ${duration(bins[place])}`, count, percent(count / total),
  ]));
}

at("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const key = at("key").value;
  at("key").value = "";
  listen(key, { show, say, ask });
});
listen(null, { show, say, ask });
