// Shows what /dashboard/events sends, as text: names of policies and actions are never HTML.
const state = document.getElementById("state");
const values = document.getElementById("values");
const events = new EventSource("dashboard/events");
events.onmessage = (event) => {
  state.textContent = "live";
  values.textContent = JSON.stringify(JSON.parse(event.data), null, 2);
};
events.onerror = () => { state.textContent = "the server does not answer"; };
