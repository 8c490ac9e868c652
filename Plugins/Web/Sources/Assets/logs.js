// Shows the lines of a log as they come. Without it the page has those that there were when it was loaded.
"use strict";
{
  const log = document.getElementById("log");
  const state = document.getElementById("log-state");
  const pause = 2000;
  let tag = null;

  const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  const say = (text) => { if (state.textContent !== text) state.textContent = text; };

  async function look() {
    if (!document.hidden) {
      try {
        const headers = tag ? { "If-None-Match": tag } : {};
        const answer = await fetch(log.dataset.lines, { headers, cache: "no-store", redirect: "error" });
        if (answer.status === 200) {
          const follows = isAtEnd();
          log.textContent = await answer.text();
          tag = answer.headers.get("ETag");
          if (follows) log.scrollTop = log.scrollHeight;
        }
        say(answer.status === 200 || answer.status === 304
          ? "New lines come by themselves." : "The hub does not answer now; this looks again.");
      } catch {
        say("The page is away, or you are logged out; this looks again.");
      }
    }
    setTimeout(look, pause);
  }

  if (log && state) {
    log.scrollTop = log.scrollHeight;
    look();
  }
}
