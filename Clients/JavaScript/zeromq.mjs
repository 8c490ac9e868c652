// The route to the hub over ZeroMQ, with the addon of zmq.c: the client's part of the protocol, and its sockets.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Following, HubError, Target, Waits, closed, encode, isObject, member, pages, stopping } from "./common.mjs";

const ADDON = "./health_hub_zmq.node";

/** The addon, or null if it was not built. */
export function addon() {
  try {
    return createRequire(import.meta.url)(ADDON);
  } catch (error) {
    if (error.code === "MODULE_NOT_FOUND") return null;
    const path = fileURLToPath(new URL(ADDON, import.meta.url));
    throw new HubError("zeromq", `${path} cannot be loaded: ${error.message}; build it again, or delete it to use hub bridge`);
  }
}

const [PAIR, SUB, DEALER] = [0, 2, 5];
const OPTIONS = {
  subscribe: 6, linger: 17, reconnect: 18, reconnectMaximum: 21, sendLimit: 23, receiveLimit: 24, immediate: 39,
  plainUser: 45, plainPassword: 46, curvePublic: 48, curveSecret: 49, curveServer: 50,
};
const [SUCCEEDED, FAILED_AUTH] = [0x1000, 0x4000]; // events of a monitor

const RESULTS = ["stored", "duplicate", "rejected"];
const MAXIMUM_TOKENS = 8; // TOKEN and TOKEN-PUT that may be open (Protocol R11.8)

const now = () => performance.now() / 1000;

/**
 * The client's part of the protocol, without sockets: HELLO, heartbeat, credit, and the repetition of open requests in a new
 * session.
 *
 * Messages to send are in `outgoing`; `receive` takes a message, `turn` takes the current time and returns the seconds
 * until the next call. `begin` is called with each delivery and command. `failure` is why it is over.
 */
class Session {
  welcome = null;
  sessions = 0;
  outgoing = [];
  failure = null;
  isStopping = false;
  isOver = false;
  #isOpen = false;
  #greeted = -1e9;
  #heard = 0;
  #pinged = 0;
  #hold = 0;
  #records = 0;
  #bytes = 0;
  #number = 0;
  #givings = [];
  #sent = new Map();
  #waiting = [];
  #asked = new Map();
  #wants = new Map();
  #wantDue = new Map();
  #commands = new Map();

  constructor(hello, begin) {
    this.hello = hello;
    this.begin = begin;
  }

  // Requests of a client: each is an object whose `isDone` turns true, with `result` or `error`

  give(records, backfill) {
    const texts = records.map((record, n) => encode(record, `records[${n}]`));
    const giving = {
      isDone: texts.length === 0, result: [], error: null, backfill, texts, next: 0,
      sizes: texts.map((text) => Buffer.byteLength(text)), groups: records.map((record) => record?.group),
    };
    if (!giving.isDone) this.#givings.push(giving);
    return giving;
  }

  /** QUERY and TOKEN are asked again in each session until they are answered. A TOKEN-PUT that was sent ends with its
   * session, because the hub may have stored it. */
  ask(body, verb = "QUERY") {
    encode(body, verb);
    const question = { isDone: false, result: null, error: null, verb, body, due: 0 };
    this.#waiting.push(question);
    return question;
  }

  get isOpen() {
    return this.#isOpen;
  }

  want(body) {
    encode(body, "WANT");
    this.#wants.set(body.want, body);
    if (this.#isOpen) this.#say("WANT", body);
  }

  /** LIVE and EVENT, which have no answer; whether there was a session to send them in. */
  tell(verb, body) {
    const text = encode(body, verb);
    if (this.#isOpen) this.outgoing.push([verb, text]);
    return this.#isOpen;
  }

  /** Answers a delivery, in its session only: the hub repeats deliveries without an answer. `pause` is in milliseconds. */
  done(delivery, results, pause) {
    if (!this.#isNow(delivery.session)) return;
    const credit = { records: results.length, bytes: delivery.size };
    this.#say("DONE", { want: delivery.want, delivery: delivery.number, results, credit, pause });
  }

  progress(command, done, total, text) {
    if (this.#isNow(command.session) && this.#commands.has(command.id)) this.#say("PROGRESS", { id: command.id, done, total, text });
  }

  /** `outcome` is `done` (with `result`), `failed` (with `code` and `reason`) or `cancelled`. */
  outcome(command, members) {
    if (this.#isNow(command.session) && this.#commands.delete(command.id)) this.#say("OUTCOME", { id: command.id, ...members });
  }

  bye() {
    if (this.#isOpen) this.#say("BYE", {});
    else this.isOver = true;
  }

  // Time

  turn(time) {
    if (this.failure || this.isOver) return 1;
    if (!this.#isOpen) {
      if (time - this.#greeted >= 2) {
        this.#greeted = time;
        this.#say("HELLO", this.hello);
      }
      return Math.max(0.01, this.#greeted + 2 - time);
    }
    const beat = this.welcome.heartbeat;
    if (time - this.#heard > beat.timeout / 1000) {
      this.#lose();
      this.#greeted = -1e9;
      return 0;
    }
    // If a call waits for an answer, check sooner whether the hub has been restarted.
    const waits = this.#sent.size > 0 || this.#asked.size > 0;
    const interval = waits ? Math.min(1, beat.interval / 1000) : beat.interval / 1000;
    if (time - Math.max(this.#heard, this.#pinged) >= interval) {
      this.#pinged = time;
      this.#say("PING", {});
    }
    let due = Math.max(this.#heard, this.#pinged) + interval;
    for (const [name, moment] of this.#wantDue) {
      if (time < moment) {
        due = Math.min(due, moment);
      } else {
        this.#wantDue.delete(name);
        this.#say("WANT", this.#wants.get(name));
      }
    }
    if (time >= this.#hold) this.#fill();
    else due = Math.min(due, this.#hold);
    for (const question of [...this.#waiting]) {
      if (question.due > time) {
        due = Math.min(due, question.due);
        continue;
      }
      const isQuery = question.verb === "QUERY";
      const open = [...this.#asked.values()].filter((other) => (other.verb === "QUERY") === isQuery).length;
      if (open >= (isQuery ? this.welcome.limits.queries : MAXIMUM_TOKENS)) continue;
      this.#waiting.splice(this.#waiting.indexOf(question), 1);
      this.#asked.set(++this.#number, question);
      this.#say(question.verb, { ...question.body, id: this.#number });
    }
    return Math.max(0, due - time);
  }

  /** There is another connection: if a session is open, the answer to PING shows whether the hub knows it. */
  connected() {
    if (this.#isOpen) this.#say("PING", {});
  }

  /** There is no connection for the messages to send: try again soon. */
  unsent(time) {
    this.#lose();
    this.#greeted = time - 1.9;
  }

  /** Ends everything that waits. */
  fail(error) {
    if (this.failure) return;
    this.failure = error;
    this.#isOpen = false;
    for (const pending of [...this.#givings, ...this.#waiting, ...this.#asked.values()]) end(pending, error);
  }

  // Messages

  receive(frames, time) {
    if (this.failure) return;
    try {
      this.#receive(frames, time);
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      this.fail(error);
    }
  }

  #receive(frames, time) {
    if (frames.length !== 2) throw new HubError("protocol", `the hub sent a message of ${frames.length} frames; a verb and a body are two`);
    const verb = frames[0].toString("latin1");
    const handle = Object.hasOwn(this.#handlers, verb) ? this.#handlers[verb] : null;
    if (!handle) return; // a verb of a newer protocol
    const text = frames[1].toString();
    let body;
    try {
      body = JSON.parse(text);
    } catch (error) {
      throw new HubError("protocol", `the hub's ${verb} is not JSON: ${error.message}`);
    }
    if (!isObject(body)) throw new HubError("protocol", `the hub's ${verb} is not a JSON object`);
    this.#heard = time;
    handle(body, frames[1].length, text, time);
  }

  #handlers = {
    WELCOME: (body) => this.#hearWelcome(body),
    STORED: (body) => this.#hearStored(body),
    RESULT: (body) => this.#answer(member(body, "RESULT.id", "integer"), body),
    TOKEN: (body) => this.#answer(member(body, "TOKEN.id", "integer"), body),
    DELIVER: (body, size) => {
      if (!this.welcome) throw new HubError("protocol", "the hub sent DELIVER before WELCOME");
      this.begin({
        want: member(body, "DELIVER.want", "text"), number: member(body, "DELIVER.delivery", "integer"),
        records: member(body, "DELIVER.records", "array"), size, session: this.welcome.session,
      });
    },
    COMMAND: (body) => this.#hearCommand(body),
    PING: (body, size, text) => this.outgoing.push(["PONG", text]),
    PONG: () => {},
    STOP: () => {
      this.isStopping = true;
    },
    BYE: () => {
      this.#lose();
      this.isOver = true;
    },
    ERROR: (body, size, text, time) => this.#hearError(body, time),
  };

  #hearWelcome(body) {
    const session = member(body, "WELCOME.session", "text");
    member(body, "WELCOME.epoch", "text");
    for (const path of ["limits.batchRecords", "limits.frameBytes", "limits.queries", "credit.records", "credit.bytes",
      "heartbeat.interval", "heartbeat.timeout"]) member(body, `WELCOME.${path}`, "integer");
    const isAnother = this.welcome?.session !== session;
    this.welcome = body;
    this.#isOpen = true;
    if (!isAnother) return;
    this.sessions += 1;
    this.isStopping = false;
    this.#records = body.credit.records;
    this.#bytes = body.credit.bytes;
    this.#hold = 0;
    this.#rewind();
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    for (const question of asked) {
      if (question.verb === "TOKEN-PUT") end(question, new HubError("lost", "the session ended before the hub answered: ask which token it has"));
    }
    this.#waiting.unshift(...asked.filter((question) => !question.isDone));
    for (const command of this.#commands.values()) command.isCancelled = true;
    this.#commands.clear();
    for (const want of this.#wants.values()) this.#say("WANT", want);
  }

  #hearStored(body) {
    const batch = member(body, "STORED.batch", "integer");
    const sent = this.#sent.get(batch);
    this.#sent.delete(batch);
    this.#earn(body);
    if (!sent) return; // it was sent again since then
    const results = member(body, "STORED.results", "array");
    if (results.length !== sent.stop - sent.start) {
      throw new HubError("protocol", `STORED.results has ${results.length} results for ${sent.stop - sent.start} records`);
    }
    const wrong = results.findIndex((result) => !RESULTS.includes(result?.result));
    if (wrong >= 0) throw new HubError("protocol", `STORED.results[${wrong}].result is none of ${RESULTS.join(", ")}`);
    const giving = sent.giving;
    for (const result of results) giving.result.push(result);
    if (giving.result.length === giving.texts.length) this.#remove(giving);
  }

  #hearCommand(body) {
    const id = member(body, "COMMAND.id", "integer");
    if ("command" in body && this.welcome) {
      const command = {
        id, name: member(body, "COMMAND.command", "text"), args: "args" in body ? member(body, "COMMAND.args", "object") : {},
        dryRun: body.dryRun === true, isCancelled: false, session: this.welcome.session,
      };
      this.#commands.set(id, command);
      this.begin(command);
    } else if (body.cancel && this.#commands.has(id)) {
      this.#commands.get(id).isCancelled = true;
    }
  }

  #hearError(body, time) {
    const code = member(body, "ERROR.code", "text");
    const error = new HubError(code, String(body.reason ?? ""), body);
    const after = time + (typeof body.after === "number" ? body.after : 1000) / 1000;
    this.#earn(body);
    const sent = this.#sent.get(body.ref);
    const question = this.#asked.get(body.ref);
    if (code === "hello-first") {
      if (!this.#isOpen) return;
      this.#lose();
      this.#greeted = -1e9;
    } else if ("want" in body) {
      if (code !== "store" || !this.#wants.has(body.want)) throw error;
      this.#wantDue.set(body.want, after);
    } else if (body.closed) {
      throw error;
    } else if (sent && (code === "store" || code === "stopping")) {
      // The hub also refuses the batches after it, in their order: send all of them again.
      this.#hold = code === "store" ? after : Infinity;
      this.isStopping ||= code === "stopping";
      this.#rewind();
    } else if (sent) {
      for (const [batch, other] of this.#sent) if (other.giving === sent.giving) this.#sent.delete(batch);
      this.#remove(sent.giving, error);
    } else if (question) {
      this.#asked.delete(body.ref);
      if (code === "store" || code === "busy") {
        question.due = after;
        this.#waiting.unshift(question);
      } else {
        end(question, error);
      }
    } else if (code !== "store" && code !== "stopping") {
      console.error(`the hub says: ${error.message}`);
    }
  }

  // Inside

  #say(verb, body) {
    this.outgoing.push([verb, encode(body, verb)]);
  }

  #answer(id, body) {
    const question = this.#asked.get(id);
    if (!question) return;
    this.#asked.delete(id);
    end(question, null, body);
  }

  /** The hub is away or has forgotten this session; open requests wait for the next one. */
  #lose() {
    this.#isOpen = false;
    this.outgoing.length = 0;
  }

  #isNow(session) {
    return this.#isOpen && this.welcome.session === session;
  }

  #earn(body) {
    if (!isObject(body.credit)) return;
    this.#records += member(body, "STORED.credit.records", "integer");
    this.#bytes += member(body, "STORED.credit.bytes", "integer");
  }

  #rewind() {
    for (const { giving, start } of this.#sent.values()) giving.next = Math.min(giving.next, start);
    this.#sent.clear();
  }

  #remove(giving, error) {
    this.#givings.splice(this.#givings.indexOf(giving), 1);
    end(giving, error, giving.result);
  }

  /** Sends as much as credit and limits allow; adjacent records of a group in one batch. */
  #fill() {
    const limits = this.welcome.limits;
    for (const giving of [...this.#givings]) {
      const { texts, sizes, groups } = giving;
      while (giving.next < texts.length) {
        const start = giving.next;
        let stop = start;
        let size = 100; // for the batch's other members
        while (stop < texts.length) {
          let unit = stop + 1;
          let more = size + sizes[stop] + 1;
          for (; groups[stop] != null && unit < texts.length && groups[unit] === groups[stop]; unit++) more += sizes[unit] + 1;
          if (unit - start > limits.batchRecords || more > limits.frameBytes) {
            if (stop > start) break;
            const what = unit - start > 1 ? `records[${start}] to [${unit - 1}], a group,` : `records[${start}]`;
            const limit = `a batch of ${limits.batchRecords} records and ${limits.frameBytes} bytes`;
            this.#remove(giving, new HubError("size", `${what} ${unit - start} records and ${more} bytes, do not fit into ${limit}`));
            return;
          }
          if (unit - start > this.#records || more > this.#bytes) break;
          [stop, size] = [unit, more];
        }
        if (stop === start) return; // more credit comes with STORED
        const batch = ++this.#number;
        const text = `{"batch":${batch},${giving.backfill ? '"backfill":true,' : ""}"records":[${texts.slice(start, stop).join(",")}]}`;
        this.#sent.set(batch, { giving, start, stop });
        giving.next = stop;
        this.#records -= stop - start;
        this.#bytes -= Buffer.byteLength(text);
        this.outgoing.push(["SAMPLES", text]);
      }
    }
  }
}

function end(pending, error, result = null) {
  if (!pending.isDone) Object.assign(pending, { isDone: true, error: error ?? null, result });
}

/** The sockets of a session, and the calls of Hub. */
export class ZeroMQRoute {
  #zmq;
  #place;
  #session;
  #context;
  #door;
  #handshakes;
  #feeds = new Set();
  #isLaunched;
  #hasStdin = true;
  #isClosed = false;
  #isPumping = false;
  #timer = null;
  #waits = new Waits(() => this.#end());
  #targets = new Map();
  #turns = new Map();
  #carry = new Map();

  constructor(zmq, place, hello) {
    if (!place.door) throw new HubError("door", 'no door: eval "$(hub status --env)" sets HUB_DOOR, and HUB_KEY names a key file');
    this.#zmq = zmq;
    this.#place = place;
    this.#isLaunched = place.token !== undefined;
    this.#session = new Session(hello, (item) => this.#begin(item));
    this.#context = zmq.context();
    this.#door = this.#open(DEALER, 10_000);
    // ZeroMQ must not queue messages for an absent hub: the next session repeats every open request.
    zmq.set(this.#door, OPTIONS.immediate, 1);
    // Without the monitor a log-in that the hub refuses, such as with a key that was revoked, looks like a hub that is away.
    zmq.monitor(this.#door, "inproc://handshakes", SUCCEEDED | FAILED_AUTH);
    this.#handshakes = zmq.open(this.#context, PAIR);
    zmq.set(this.#handshakes, OPTIONS.linger, 0);
    this.#call(() => zmq.connect(this.#handshakes, "inproc://handshakes"));
    this.#call(() => zmq.connect(this.#door, place.door));
    for (const socket of [this.#door, this.#handshakes]) zmq.watch(socket, () => this.#pump());
    if (this.#isLaunched) {
      this.#hasStdin = !process.stdin.readableEnded;
      process.stdin.on("end", () => {
        this.#hasStdin = false;
        this.#pump();
      });
      process.stdin.resume();
    }
    this.#pump();
  }

  get isStopping() {
    return this.#isLaunched && (this.#session.isStopping || !this.#hasStdin);
  }

  async welcome() {
    await this.#waits.until(() => this.#session.welcome !== null);
    return this.#session.welcome;
  }

  async give(records, backfill) {
    return this.#result(this.#session.give(records, backfill));
  }

  async tell(verb, body) {
    await this.welcome();
    const isSaid = this.#session.tell(verb, body);
    this.#pump();
    return isSaid && this.#session.isOpen;
  }

  async ask(body, verb) {
    return this.#result(this.#session.ask(body, verb));
  }

  records(question) {
    return pages((asked) => this.ask(asked), "records", "records", (page) => page, question);
  }

  statistics(question) {
    return pages((asked) => this.ask(asked), "statistics", "intervals", (page) => page.statistics, question);
  }

  async *follow(types, place, days) {
    const following = new Following(types, place, days);
    let [hasRung, sessions] = [false, 0];
    const feed = this.#place.feed ? this.#openFeed(following.topics, (frames) => {
      hasRung ||= following.rings(frames);
    }) : null;
    try {
      for (;;) {
        let result;
        try {
          await this.#waits.until(() => hasRung || following.hasMore || sessions !== this.#session.sessions, feed ? undefined : 1);
          hasRung = false; // the feed may ring again before the answer comes
          result = await this.ask(following.question((await this.welcome()).epoch));
        } catch (error) {
          if (error.code === "stopping" || error.code === "closed") return;
          yield following.refused(error);
          continue;
        }
        sessions = this.#session.sessions;
        yield* following.answer(result);
      }
    } finally {
      if (feed) this.#zmq.close(feed);
      this.#feeds.delete(feed);
    }
  }

  sink(want, deliver) {
    const body = { credit: { records: 1000, bytes: 1 << 20 }, ...want };
    this.#targets.set(body.want, new Target(body.want, deliver));
    this.#session.want(body);
    this.#pump();
  }

  command(name, carry) {
    this.#carry.set(name, carry);
  }

  progress(command, done, total, text) {
    this.#session.progress(command, done, total, text);
    this.#pump();
  }

  serve(seconds) {
    return this.#waits.serve(seconds);
  }

  async close() {
    if (this.#isClosed) return;
    if (!this.#session.failure) {
      this.#session.bye();
      this.#pump();
      await this.#waits.until(() => this.#session.isOver, 1).catch(() => {});
    }
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#waits.look();
    this.#zmq.monitor(this.#door, "", 0); // before its reader is closed, because libzmq's end waits for a reader
    for (const socket of [this.#door, this.#handshakes, ...this.#feeds]) this.#zmq.close(socket);
    this.#zmq.end(this.#context);
    if (this.#isLaunched) process.stdin.destroy();
  }

  // Inside

  #call(what) {
    try {
      return what();
    } catch (error) {
      throw new HubError("socket", error.message);
    }
  }

  #open(type, limit) {
    const { keys, path, token, instance } = this.#place;
    const set = (option, value) => this.#call(() => this.#zmq.set(socket, option, value));
    const socket = this.#call(() => this.#zmq.open(this.#context, type));
    set(OPTIONS.linger, 0);
    set(OPTIONS.reconnect, 50);
    set(OPTIONS.reconnectMaximum, 1000);
    set(OPTIONS.sendLimit, limit);
    set(OPTIONS.receiveLimit, limit);
    if (token !== undefined) {
      set(OPTIONS.plainUser, instance);
      set(OPTIONS.plainPassword, token);
    }
    if (path) {
      set(OPTIONS.curveServer, keys.serverKey);
      set(OPTIONS.curvePublic, keys.publicKey);
      set(OPTIONS.curveSecret, keys.secretKey);
    }
    return socket;
  }

  #openFeed(topics, ring) {
    const feed = this.#open(SUB, 1000); // the follower asks the door for messages that were dropped
    this.#feeds.add(feed);
    for (const topic of topics) this.#zmq.set(feed, OPTIONS.subscribe, topic);
    this.#call(() => this.#zmq.connect(feed, this.#place.feed));
    const hear = () => {
      for (let frames; (frames = this.#zmq.receive(feed));) ring(frames);
      this.#waits.look();
    };
    this.#zmq.watch(feed, hear);
    hear();
    return feed;
  }

  /** Why no call may wait any more, or null. */
  #end() {
    if (this.#session.failure) return this.#session.failure;
    if (this.#isClosed || this.#session.isOver) return closed();
    return this.isStopping ? stopping() : null;
  }

  async #result(pending) {
    this.#pump();
    await this.#waits.until(() => pending.isDone);
    if (pending.error) throw pending.error;
    return pending.result;
  }

  /** Handles what has arrived, sends what is due, and plans the next turn. */
  #pump() {
    if (this.#isClosed || this.#isPumping) return;
    this.#isPumping = true;
    clearTimeout(this.#timer);
    const session = this.#session;
    let [due, hasMoved] = [1, true];
    try {
      // The descriptor of a socket does not report a message again whose signal a send has consumed: receive after each send.
      for (let round = 0; hasMoved && round < 10; round++) {
        hasMoved = false;
        for (let frames; (frames = this.#zmq.receive(this.#handshakes)); hasMoved = true) this.#hearHandshake(frames);
        for (let n = 0, frames; n < 100 && (frames = this.#zmq.receive(this.#door)); n++, hasMoved = true) session.receive(frames, now());
        due = session.turn(now());
        for (; session.outgoing.length; hasMoved = true) {
          if (this.#zmq.send(this.#door, ...session.outgoing[0])) session.outgoing.shift();
          else session.unsent(now());
        }
      }
    } catch (error) {
      session.fail(error instanceof HubError ? error : new HubError("socket", error.message));
    }
    this.#isPumping = false;
    if (hasMoved) setImmediate(() => this.#pump());
    else this.#timer = setTimeout(() => this.#pump(), Math.max(1, Math.ceil(due * 1000)));
    this.#waits.look();
  }

  #hearHandshake(frames) {
    const kind = frames[0].readUInt16LE(0);
    if (kind === SUCCEEDED) this.#session.connected();
    if (kind !== FAILED_AUTH) return;
    const what = this.#isLaunched ? "this launch token" : `the key of ${this.#place.instance} (any more): hub keys list shows the keys`;
    this.#session.fail(new HubError("forbidden", `the hub at ${this.#place.door} does not know ${what}`));
  }

  /** Begins a delivery or a command: commands at once, the deliveries of a subscription one after the other. */
  #begin(item) {
    const after = item.records ? this.#turns.get(item.want) : undefined;
    const work = Promise.resolve(after).then(() => (item.records ? this.#handOver(item) : this.#carryOut(item)));
    const done = work.catch((error) => this.#session.fail(error)).then(() => this.#pump());
    if (item.records) this.#turns.set(item.want, done);
  }

  async #handOver(delivery) {
    const { results, pause } = await this.#targets.get(delivery.want).take(delivery.records);
    this.#session.done(delivery, results, pause);
  }

  async #carryOut(command) {
    const carry = this.#carry.get(command.name);
    if (command.isCancelled) return this.#session.outcome(command, { outcome: "cancelled" });
    if (!carry) return this.#session.outcome(command, { outcome: "failed", code: "command", reason: `there is no command ${command.name}` });
    try {
      this.#session.outcome(command, { outcome: "done", result: await carry(command) });
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      this.#session.outcome(command, { outcome: "failed", code: error.code, reason: error.reason });
    }
  }
}
