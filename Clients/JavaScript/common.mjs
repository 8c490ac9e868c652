// The parts that both routes to the hub have in common: errors, the hub's address, and the questions of a follower.
import { readFileSync } from "node:fs";

/** `code` is the hub's (Protocol §9.1), or `protocol` if its answer was invalid; `body` is the whole ERROR. */
export class HubError extends Error {
  constructor(code, reason, body = {}) {
    super(`${code}: ${reason}`);
    this.name = "HubError";
    this.code = code;
    this.reason = reason;
    this.body = body;
  }
}

/** The settings are wrong, and a person has to correct them: exit code 78 of a plugin. */
export class SettingsError extends Error {}

/**
 * Thrown by the function of a sink if its target is away: the hub pauses the subscription for this many seconds
 * (0.1 to 604,800). Then all records of the delivery come again.
 */
export class Pause extends Error {
  constructor(seconds, reason = "the target is away") {
    super(reason);
    this.seconds = seconds;
    this.reason = reason;
  }
}

/** Compact JSON. Numbers that JSON does not have, and values that are not JSON, are an error that names the place. */
export function encode(value, where) {
  const isFinite = (name, part) => {
    if (typeof part === "number" && !Number.isFinite(part)) throw new TypeError(`${name || "the value"} is ${part}, and JSON has no such number`);
    return part;
  };
  let text;
  try {
    text = JSON.stringify(value, isFinite);
  } catch (error) {
    throw new HubError("json", `${where}: ${error.message}`);
  }
  if (text === undefined) throw new HubError("json", `${where}: a ${typeof value} is not JSON`);
  return text;
}

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const KINDS = {
  object: isObject,
  array: Array.isArray,
  text: (value) => typeof value === "string",
  integer: Number.isInteger,
};

/** The member at `VERB.a.b` of a body, which is of this kind, or an error that names it. */
export function member(body, path, kind) {
  const value = path.split(".").slice(1).reduce((part, name) => (isObject(part) ? part[name] : undefined), body);
  if (!KINDS[kind](value)) throw new HubError("protocol", `the hub's ${path} is not of the kind ${kind}: is this a hub, and how old is it?`);
  return value;
}

/** The hub's two endpoints and the credentials for them: from the options, the key file, or the environment. */
export function placeOf({ instance, door, feed, key, token }) {
  const path = key ?? (door ? undefined : process.env.HUB_KEY || undefined);
  let keys = {};
  if (path) {
    try {
      keys = JSON.parse(readFileSync(path, "utf8"));
    } catch (error) {
      throw new HubError("key", `${path}: ${error.message}`);
    }
    const missing = ["serverKey", "publicKey", "secretKey", "door", "instance"].filter((name) => typeof keys?.[name] !== "string");
    if (missing.length) throw new HubError("key", `${path} lacks ${missing.join(", ")}: hub keys new NAME makes such a file`);
  }
  const place = {
    instance: instance ?? keys.instance ?? process.env.HUB_INSTANCE,
    door: door ?? keys.door ?? process.env.HUB_DOOR,
    feed: feed ?? (path ? keys.feed : process.env.HUB_FEED),
    path, keys, token,
  };
  if (!place.instance) throw new HubError("instance", 'no instance: give one, such as new Hub({ instance: "kitchen" }), or set HUB_INSTANCE');
  return place;
}

/**
 * The questions of a follower, and the changes in their answers.
 *
 * The feed only wakes the follower, which then asks the door for the records after `place`. So messages that the feed
 * drops, their order and their epoch do not matter: the door's answer has each record once.
 */
export class Following {
  constructor(types, place, days) {
    this.types = types ? [...types] : undefined;
    this.place = place ?? undefined;
    this.days = days;
    this.hasMore = true;
  }

  get topics() {
    const names = ["sample", "retraction", ...(this.days ? ["day"] : [])];
    return ["hub/pulse/", ...names.flatMap((name) => (this.types ? this.types.map((type) => `${name}/${type}/`) : [`${name}/`]))];
  }

  question(epoch) {
    this.place ??= `${epoch}-0`;
    const question = { want: "records", since: this.place };
    if (this.types) question.types = this.types;
    if (this.days) question.kinds = ["quantity", "category", "correlation", "workout", "characteristic", "other", "day"];
    return question;
  }

  *answer(result) {
    const records = member(result, "RESULT.records", "array");
    const cursor = member(result, "RESULT.cursor", "text");
    this.hasMore = "next" in result;
    const epoch = cursor.split("-")[0];
    for (const record of records) {
      this.place = `${epoch}-${member(record, "RESULT.seq", "integer")}`;
      yield { record, place: this.place };
    }
    this.place = cursor;
  }

  /** After a restore, or a loss of the newest records, the follower begins again in the current epoch. */
  refused(error) {
    if (error.code !== "epoch") throw error;
    this.place = `${member(error.body, "ERROR.epoch", "text")}-0`;
    this.hasMore = true;
    return { record: null, place: this.place };
  }

  /** Whether the message of the feed means that the hub may have more than the follower. */
  rings(frames) {
    if (frames.length !== 3 || frames[0].toString() !== "hub/pulse/") return true;
    try {
      const pulse = JSON.parse(frames[2]);
      return `${pulse.epoch}-${pulse.head}` !== this.place;
    } catch {
      return true;
    }
  }
}

/** All pages of a question, one after the other: the items under `name` of each page. */
export async function* pages(ask, want, name, part, question) {
  for (let asked = { ...question, want }; ;) {
    const page = part(await ask(asked));
    yield* member(page, `RESULT.${name}`, "array");
    if (!("next" in page)) return;
    asked = { ...asked, next: page.next };
  }
}

/** The calls that wait: `look` is called when something has changed, and `end` returns the error that ends all of them, or null. */
export class Waits {
  #looks = new Set();

  constructor(end) {
    this.end = end;
  }

  /** Returns once that is so, or after `seconds`. */
  until(isSo, seconds) {
    return new Promise((resolve, reject) => {
      let timer = null;
      const finish = (settle, value) => {
        clearTimeout(timer);
        this.#looks.delete(look);
        settle(value);
      };
      const look = () => {
        if (isSo()) return finish(resolve);
        const error = this.end();
        if (error) finish(reject, error);
      };
      if (seconds !== undefined) timer = setTimeout(() => finish(resolve), seconds * 1000);
      this.#looks.add(look);
      look();
    });
  }

  look() {
    for (const look of [...this.#looks]) look();
  }

  /** Returns true after `seconds`, and false if the hub stops this program. */
  async serve(seconds) {
    try {
      await this.until(() => false, seconds);
      return true;
    } catch (error) {
      if (error.code !== "stopping") throw error;
      return false;
    }
  }
}

export const closed = () => new HubError("closed", "this Hub is closed");
export const stopping = () => new HubError("stopping", "the hub stops this program; what was not stored is given again");

/** The function of a sink, and the pause that it has asked for. */
export class Target {
  #pause = { until: 0, reason: "" };

  constructor(name, deliver) {
    this.name = name;
    this.deliver = deliver;
  }

  /** The results of a delivery's records, and `pause` in milliseconds if the target is away. */
  async take(records) {
    let results, pause;
    try {
      const left = this.#pause.until - performance.now();
      if (left > 0) throw new Pause(left / 1000, this.#pause.reason); // also for deliveries that were already in transit
      results = await this.deliver(records);
    } catch (error) {
      let retry = { result: "retry", after: 60_000, reason: error?.name ?? typeof error };
      if (error instanceof Pause) {
        this.#pause = { until: performance.now() + error.seconds * 1000, reason: error.reason };
        pause = Math.max(100, Math.trunc(error.seconds * 1000));
        retry = { result: "retry", after: pause, reason: error.reason };
      }
      results = records.map(() => retry);
    }
    if (!Array.isArray(results) || results.length !== records.length) {
      const came = Array.isArray(results) ? `${results.length} results` : "no array of results";
      throw new HubError("field", `${this.name}: ${records.length} records were delivered, ${came} came`);
    }
    return { results, pause };
  }
}
