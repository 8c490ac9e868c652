// Shows what a scale says while someone stands on it, and fetches the page again when a new value has been stored.
const now = () => document.querySelector("[data-live]");
let shown = null, quiet = 0, waiting = 0;

function live(event) {
  const said = JSON.parse(event.data), place = now();
  if (!place || said.type !== place.dataset.live || !said.text) return;
  if (said.person && said.person !== place.dataset.person) return;
  if (shown === null) shown = place.textContent;
  place.textContent = said.text;
  place.classList.add("moving");
  clearTimeout(quiet);
  quiet = setTimeout(settle, 15000);
}

// Nothing moves any more, and nothing was stored: the value is again the last that was.
function settle() {
  const place = now();
  if (place && shown !== null) place.textContent = shown;
  if (place) place.classList.remove("moving");
  shown = null;
}

function stored(event) {
  const said = JSON.parse(event.data), place = now();
  if (!place || said.person !== place.dataset.person) return;
  clearTimeout(waiting);
  waiting = setTimeout(refresh, 300);
}

async function refresh() {
  const answer = await fetch(location.href, { credentials: "same-origin", headers: { "X-Background": "yes" } });
  if (!answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector("[data-refresh]"), old = document.querySelector("[data-refresh]");
  if (!fresh || !old) return;
  clearTimeout(quiet);
  shown = null;
  old.replaceWith(fresh);
  for (const figure of fresh.querySelectorAll(".chart-figure")) if (typeof enhance === "function") enhance(figure);
}

if (now() && "EventSource" in window) {
  const events = new EventSource(now().dataset.events);
  events.addEventListener("live", live);
  events.addEventListener("record", stored);
}
