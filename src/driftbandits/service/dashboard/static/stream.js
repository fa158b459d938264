// Reads server-sent events with fetch, because EventSource cannot send a key.

const RETRY_AFTER = 2000; // milliseconds

// Calls `show` with each value, `say` with "live" or "lost", and `ask` when a key is needed.
// Returns when a key is needed; otherwise it never returns.
export async function listen(key, { show, say, ask }) {
  for (;;) {
    try {
      const headers = key ? { Authorization: `Bearer ${key}` } : {};
      const answer = await fetch("dashboard/events", { headers, cache: "no-store" });
      if (answer.status === 401 || answer.status === 403) {
        ask();
        return;
      }
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      say("live");
      for await (const value of events(answer.body)) show(value);
    } catch (error) {
      console.debug(error);
    }
    say("lost");
    await new Promise((resume) => setTimeout(resume, RETRY_AFTER));
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) if (part.startsWith("data: ")) yield JSON.parse(part.slice(6));
  }
}
