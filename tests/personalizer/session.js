// A session with Personalizer's published client; only the address is changed.
// Prints the answers as one JSON document; the Python test checks it.
const { PersonalizerClient } = require("@azure/cognitiveservices-personalizer");
const { CognitiveServicesCredentials } = require("@azure/ms-rest-azure-js");

const [endpoint, key] = process.argv.slice(2);
const client = new PersonalizerClient(new CognitiveServicesCredentials(key), endpoint);

const actions = ["NewsArticle", "SportsArticle", "EntertainmentArticle"].map((id) => ({
  id,
  features: [{ kind: id.replace("Article", "") }, { length: { minutes: id.length } }],
}));
const request = {
  contextFeatures: [{ timeOfDay: "Morning" }, { device: { mobile: true } }],
  actions,
  excludedActions: ["SportsArticle"],
  eventId: "75269AD0-BFEE-4598-8196-C57383D38E10",
  deferActivation: false,
};

async function failure(call) {
  try {
    await call();
    return null;
  } catch (error) {
    return { status: error.statusCode, body: error.body };
  }
}

async function main() {
  const status = (result) => result._response.status;
  const first = await client.rank(request);
  const again = await client.rank(request);
  const reward = await client.events.reward(first.eventId, { value: 1.0 });
  const deferred = await client.rank({ actions, deferActivation: true });
  const activated = await client.events.activate(deferred.eventId);
  const odd = await client.rank({ actions, eventId: "js/a b?c%d" });
  const oddReward = await client.events.reward(odd.eventId, { value: 0.5 });
  const strangers = new PersonalizerClient(new CognitiveServicesCredentials("wrong"), endpoint);
  console.log(JSON.stringify({
    first: { status: status(first), ranking: first.ranking, eventId: first.eventId,
             rewardActionId: first.rewardActionId },
    again: again.rewardActionId,
    reward: status(reward),
    deferred: status(deferred),
    activated: status(activated),
    odd: { eventId: odd.eventId, reward: status(oddReward) },
    empty: await failure(() => client.rank({ actions: [] })),
    unknown: await failure(() => client.events.reward("nobody", { value: 1.0 })),
    stranger: await failure(() => strangers.rank(request)),
  }));
}

main().catch((error) => { console.error(error); process.exit(1); });
