#!/usr/bin/env node
// The program that Tests/SystemTests/Interop/Programs/clients.py runs with this client library: give, follow, sink, query,
// calls, or a launched plugin.
import { createInterface } from "node:readline";
import { Hub, HubError, Pause, plugin } from "./health_hub.mjs";

const MANIFEST = {
  name: "conformance-javascript", summary: "Gives weights when it is asked to.", version: "1.0", protocol: [1],
  writes: ["weight"], checksSettings: true,
  settings: [{ name: "label", type: "string", required: true, help: "Begins the key of each record." }],
  commands: [{ name: "add", help: "Gives weights.", args: [
    { name: "count", type: "integer", minimum: 1, maximum: 1_000_000, required: true, help: "How many." }] }],
};

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const objections = (settings) => (settings.label === "bad" ? [{ setting: "label", reason: "the label is not to be bad" }] : []);

/** @param {Hub} hub */
async function run(hub) {
  const { label } = (await hub.welcome()).settings;
  if (label === "gone") process.exit(69);
  hub.command("add", async (command) => {
    const records = Array.from({ length: command.args.count }, (_, n) => (
      { type: "weight", value: 60 + (n % 100) / 8, unit: "kg", start: "2026-01-05T06:00:00+01:00", key: `${label}-${n}` }));
    const results = await hub.give(records);
    return { stored: results.filter((result) => result.result === "stored").length };
  });
  await hub.serve();
  console.error("stopped");
}

/** @param {Hub} hub */
async function play(hub, what, argument, more) {
  if (what === "give") {
    let given = [];
    const give = async () => {
      (await hub.give(given)).forEach((result, n) => say({ key: given[n].key, ...result }));
      given = [];
    };
    for await (const line of createInterface({ input: process.stdin })) {
      if (given.push(JSON.parse(line)) === Number(argument)) await give();
    }
    await give();
  } else if (what === "follow") {
    for await (const { record, place } of hub.follow([argument], more)) {
      say({ place, record });
    }
  } else if (what === "sink") {
    hub.sink({ want: "all", types: [argument], start: "beginning" }, (records) => {
      if (more) {
        say({ paused: records.length });
        throw new Pause(Number(more), "the target is away");
      }
      for (const record of records) say({ record });
      return records.map((record) => ({ result: "delivered", receipt: `line ${record.number}` }));
    });
    await hub.serve();
  } else if (what === "query") {
    const { want, ...question } = JSON.parse(argument);
    for await (const answer of want === "statistics" ? hub.statistics(question) : hub.records(question)) say(answer);
  } else if (what === "calls") {
    for (const [name, body] of JSON.parse(argument)) {
      try {
        say({ answer: await hub[name](body) });
      } catch (error) {
        if (!(error instanceof HubError)) throw error;
        say({ error: error.code });
      }
    }
  }
  await hub.close();
}

if (process.argv[2]?.startsWith("--")) process.exit(await plugin(MANIFEST, run, objections));
process.stdout.on("error", () => process.exit(0)); // its reader has gone
try {
  const [what, argument, more] = process.argv.slice(2);
  await play(new Hub(), what, argument, more);
} catch (error) {
  if (!(error instanceof HubError)) throw error;
  console.error(error.message);
  process.exit(error.code === "protocol" ? 76 : 77);
}
