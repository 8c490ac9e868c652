// A client of the health hub: give records, follow, take deliveries, ask, answer commands, be a plugin.
//
// Needs Node 18. With the addon (zmq.c) it speaks ZeroMQ; without, it starts `hub bridge`, which cannot do all of it
// (Docs/Clients.md, JavaScript). Records are objects with the members of Docs/Samples.md. Calls wait until the hub has answered,
// however long it is away; a refusal of the hub is a HubError. Nothing is kept on disk: if a call did not return, give its
// records again, which is harmless.
import { HubError, SettingsError, placeOf } from "./common.mjs";
import { BridgeRoute, LINES, LinesRoute, runBridged } from "./bridge.mjs";
import { ZeroMQRoute, addon } from "./zeromq.mjs";

export { HubError, Pause, SettingsError } from "./common.mjs";

/** A session with the hub, through its restarts. End it with `close`, because it keeps the program running. */
export class Hub {
  #route;

  /**
   * - instance, door, feed, key: see Docs/Clients.md; from the environment if not given.
   * - plugin: `source.plugin` of all records, the instance's name if not given.
   * - mode: `run` (one of an instance, a newer one ends the older) or `once` (any number).
   * - members: more of HELLO, such as `writes` and `declares`.
   * - route: `zeromq` or `bridge`; if not given, the first if its addon was built.
   */
  constructor(options = {}) {
    const { route, manifest, ...place } = options;
    const zmq = route === "bridge" || manifest ? null : addon();
    if (route === "zeromq" && !zmq) {
      throw new HubError("zeromq", "there is no health_hub_zmq.node beside health_hub.mjs: build it from zmq.c (Docs/Clients.md, JavaScript)");
    }
    if (manifest) {
      this.#route = new LinesRoute(manifest);
    } else if (zmq) {
      const found = placeOf(place);
      const { plugin = found.instance, version = "1.0", mode = "run", members } = place;
      this.#route = new ZeroMQRoute(zmq, found, { protocol: [1], instance: found.instance, plugin, version, mode, ...members });
    } else {
      this.#route = new BridgeRoute(placeOf(place), place);
    }
    /** `zeromq` or `bridge`. */
    this.route = zmq ? "zeromq" : "bridge";
  }

  /** Whether the hub has told this program to end. */
  get isStopping() {
    return this.#route.isStopping;
  }

  /** The hub's WELCOME (Protocol §4.2), with `settings` and `epoch`; waits for the first. */
  welcome() {
    return this.#route.welcome();
  }

  /**
   * Returns when the hub has them on its disk: an object for each record, in their order, whose `result` is `stored` or
   * `duplicate` with `number` and `seq`, or `rejected` with `code` and `reason`. The records of a group must be adjacent.
   * `backfill` is for history: the feed does not publish each record.
   */
  async give(records, { backfill = false } = {}) {
    return this.#route.give([...records], backfill);
  }

  /**
   * Publishes a live value, the body of LIVE (Protocol §5.2). It has no answer and is not kept: after the first session, for
   * which the call waits, it returns false if the hub is away.
   */
  live(body) {
    return this.#route.tell("LIVE", body);
  }

  /** Publishes an event, the body of EVENT (Protocol §5.2), such as `{ event: "disconnected" }`; otherwise as `live`. */
  event(body) {
    return this.#route.tell("EVENT", body);
  }

  /** The hub's answer to TOKEN (Protocol §11): `{ account: "me", for: "use" }`, `refresh` or `release`. */
  token(body) {
    return this.#route.ask(body, "TOKEN");
  }

  /**
   * Returns when the hub has the token on its disk: `{ account: "me", expect: 3, token: {…} }`. Error `field`: it has another
   * version than `expect`. `lost`: the session ended before the answer, `token` has the result.
   */
  putToken(body) {
    return this.#route.ask(body, "TOKEN-PUT");
  }

  /** One RESULT, a page, of QUERY with these members (Protocol §8.1). */
  ask(body) {
    return this.#route.ask(body);
  }

  /** Records over all pages: `for await (const record of hub.records({ types: ["weight"] })) …` */
  records(question = {}) {
    return this.#route.records(question);
  }

  /** Intervals of statistics over all pages (Protocol §8.4). */
  statistics(question) {
    return this.#route.statistics(question);
  }

  /**
   * Yields the newest version of each record since `place` and new versions, each once: `record`, and `place` to go on from,
   * kept with what was made of the record in one transaction. It replaces what you have under its `number`; a
   * `retraction` withdraws it. If `record` is null, delete all records: the hub has a new epoch, whose records follow. Ends when
   * the hub stops this plugin.
   */
  follow(types, place, { days = false } = {}) {
    return this.#route.follow(types, place, days);
  }

  /**
   * A subscription that the hub remembers (Protocol §10.1): `want` needs `want`, its name, and `start`. `deliver` is called
   * with the records of each delivery and returns, or promises, an answer for each, such as
   * `{ result: "delivered", receipt: "17" }`. A Pause that it throws stops the deliveries for a while; any other error of it is a
   * retry of these records.
   */
  sink(want, deliver) {
    this.#route.sink(want, deliver);
  }

  /** `carry` is called with each command of this name of a person, and returns or promises the result; a HubError is its failure. */
  command(name, carry) {
    this.#route.command(name, carry);
  }

  progress(command, done, total, text) {
    this.#route.progress(command, done, total, text);
  }

  /** Returns false when the hub stops this plugin, or true after `seconds`. Deliveries and commands are carried out meanwhile. */
  serve(seconds) {
    return this.#route.serve(seconds);
  }

  /** Says BYE and ends. */
  close() {
    return this.#route.close();
  }
}

/**
 * The main function of a program that the hub starts (Protocol §13): `process.exit(await plugin(MANIFEST, run))`.
 *
 * `run` is called with a Hub that has a session, and returns when `hub.serve()` returns false. `objections` is called with
 * settings, and returns their faults: `[{ setting: "file", reason: "…" }]`.
 */
export async function plugin(manifest, run, objections) {
  const { want, ...declared } = manifest; // the subscription of hub bridge is no part of what the hub asks for
  const words = process.argv.slice(2).join(" ");
  try {
    if (words === "--describe") {
      console.log(JSON.stringify(declared));
    } else if (words === "--check-settings") {
      const faults = objections ? await objections(JSON.parse(await readToEnd(process.stdin))) : [];
      console.log(JSON.stringify({ objections: faults }));
    } else if (words !== "--run") {
      console.error(`${manifest.name}: the hub starts it with --run; --describe prints what it is`);
      return 64;
    } else if (process.env[LINES]) {
      delete process.env[LINES];
      await runOn(new Hub({ manifest }), run);
    } else if (addon()) {
      const token = await readLine(process.stdin);
      if (token === null) return 75;
      const { name, version, reads, writes, declares } = manifest;
      await runOn(new Hub({ plugin: name, version, token, members: { reads, writes, declares } }), run);
    } else {
      return await runBridged(manifest);
    }
    return 0;
  } catch (error) {
    if (error instanceof SettingsError) {
      console.error(error.message);
      return 78;
    }
    if (!(error instanceof HubError)) throw error;
    console.error(error.message);
    return error.code === "protocol" ? 76 : 77;
  }
}

async function runOn(hub, run) {
  try {
    await hub.welcome();
    await run(hub);
  } catch (error) {
    if (error.code !== "stopping") throw error;
  }
  await hub.close();
}

async function readToEnd(stream) {
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += chunk;
  return text;
}

/** The first line; the stream is read on, because its end is the end of the program. */
function readLine(stream) {
  return new Promise((resolve) => {
    let text = "";
    const take = (chunk) => {
      text += chunk;
      if (!text.includes("\n")) return;
      stream.off("data", take);
      resolve(text.split("\n")[0]);
    };
    stream.setEncoding("utf8").on("data", take).once("end", () => resolve(null));
  });
}
