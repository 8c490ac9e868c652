// The route to the hub through `hub bridge`, a process that reads and writes lines (Docs/Clients.md, "Any language").
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { Following, HubError, Target, Waits, closed, encode, isObject, pages, stopping } from "./common.mjs";

/** The environment variable of a plugin's program that `hub bridge plugin` has started. */
export const LINES = "HEALTH_HUB_LINES";
const REMEDY = "build the addon (Docs/Clients.md, JavaScript)";
const [MAXIMUM_RECORDS, MAXIMUM_BYTES] = [1000, 1_000_000]; // of a group; a line has at most as many bytes
const CODES = { 64: "field", 69: "absent", 71: "system", 75: "unfinished", 77: "forbidden" }; // by exit codes of hub

const without = (what) => new HubError("bridge", `hub bridge has no ${what}: ${REMEDY}`);

const absent = (error) => new HubError("bridge", `hub cannot be started (${error.code}): add its folder to PATH, or ${REMEDY}`);

/** The lines of a stream, in arrays of those that came together. A last line that was cut off is left out. */
async function* linesOf(stream) {
  stream.setEncoding("utf8");
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    if (lines.length) yield lines.filter((line) => line !== "").map((line) => JSON.parse(line));
  }
}

/** The lines of records, and whether an empty line has to end their last group. */
function linesFor(records) {
  const lines = records.map((record, n) => {
    if (!isObject(record) || !("type" in record || "kind" in record)) {
      throw new HubError("field", `records[${n}] is no record: it has neither type nor kind (Docs/Samples.md)`);
    }
    return encode(record, `records[${n}]`);
  });
  for (let start = 0, stop; start < lines.length; start = stop) {
    const group = records[start].group;
    let bytes = Buffer.byteLength(lines[start]);
    for (stop = start + 1; group != null && records[stop]?.group === group; stop++) bytes += Buffer.byteLength(lines[stop]);
    if (stop - start > MAXIMUM_RECORDS || bytes > MAXIMUM_BYTES) {
      const limit = `${MAXIMUM_RECORDS} records and ${MAXIMUM_BYTES} bytes`;
      throw new HubError("size", `records[${start}] to [${stop - 1}], ${bytes} bytes: the bridge takes at most ${limit} together`);
    }
  }
  return { lines, isOpen: records.at(-1)?.group != null };
}

/** Records that are given as lines, and their answers by the numbers of the lines. */
class Publisher {
  #count = 0;
  #waiting = new Map();
  #turn = Promise.resolve();
  #failure = null;

  /** @param write writes a text, and returns once there is room for more */
  constructor(write) {
    this.write = write;
  }

  async give(records) {
    const { lines, isOpen } = linesFor(records);
    if (!lines.length) return [];
    const results = new Array(lines.length);
    let left = lines.length;
    let settle;
    const stored = new Promise((resolve, reject) => {
      settle = { resolve, reject };
    });
    stored.catch(() => {}); // while the lines are written
    await this.#say(lines.concat(isOpen ? [""] : []), (number, n) => {
      if (n === lines.length) return;
      this.#waiting.set(number, {
        reject: settle.reject,
        take: ({ result, number, seq, code, reason }) => {
          if (result === "error") return settle.reject(new HubError("field", `records[${n}]: ${reason}`));
          results[n] = result === "rejected" ? { result, code, reason } : { result, number, seq };
          if (--left === 0) settle.resolve(results);
        },
      });
    });
    return stored;
  }

  say(...lines) {
    return this.#say(lines, () => {});
  }

  /** Takes an answer that has the number of a line. */
  take(answer) {
    this.#waiting.get(answer.line)?.take(answer);
    this.#waiting.delete(answer.line);
  }

  fail(error) {
    this.#failure = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  /** Writes lines that no other call may divide. */
  #say(lines, note) {
    this.#turn = this.#turn.catch(() => {}).then(async () => {
      for (let start = 0; start < lines.length; start += 1000) {
        if (this.#failure) throw this.#failure;
        const part = lines.slice(start, start + 1000);
        part.forEach((_, n) => note(++this.#count, start + n));
        await this.write(part.map((line) => `${line}\n`).join(""));
      }
    });
    return this.#turn;
  }
}

/** The lines that answer deliveries. */
async function answersTo(lines, target) {
  const { results } = await target.take(lines.map((line) => line.record));
  const words = { refused: "failed", retry: "later" };
  return results.map((answer, n) => encode(
    { ...answer, delivery: lines[n].delivery, result: words[answer?.result] ?? answer?.result }, `results[${n}]`));
}

/** A process of `hub`. */
class Process {
  #errors = [];
  #isEnding = false;

  constructor(words) {
    this.child = spawn("hub", words, { stdio: ["pipe", "pipe", "pipe"] });
    this.child.stdin.on("error", () => {}); // the process has ended, and its exit code says why
    this.ended = new Promise((resolve) => {
      this.child.on("error", (error) => resolve(absent(error)));
      this.child.on("close", (code, signal) => resolve(this.#error(words, code, signal)));
    });
    this.child.stderr.setEncoding("utf8");
    this.child.stderr.on("data", (text) => {
      this.#errors = [...this.#errors, ...text.split("\n").filter(Boolean)].slice(-20);
    });
  }

  #error(words, code, signal) {
    if (code === 0 || this.#isEnding) return null;
    // A line of the log of hub bridge has the hub's refusal.
    const refusal = this.#errors.map((line) => line.match(/ hub\.error="([a-z-]+): (.*)"$/)).find(Boolean);
    if (refusal) return new HubError(refusal[1], refusal[2]);
    const reason = this.#errors.map((line) => line.replace(/^hub: /, "")).join("; ");
    return new HubError(CODES[code] ?? "bridge", reason || `hub ${words.slice(0, 2).join(" ")} ended with ${signal ?? `exit code ${code}`}`);
  }

  async write(text) {
    if (!this.child.stdin.write(text)) await Promise.race([new Promise((resolve) => this.child.stdin.once("drain", resolve)), this.ended]);
  }

  /** Ends the process: by the end of its input, or by SIGTERM. */
  async end(signal) {
    this.#isEnding = true;
    this.child.stdin.end();
    if (signal) this.child.kill(signal);
    const timer = setTimeout(() => this.child.kill("SIGKILL"), 5000);
    await this.ended;
    clearTimeout(timer);
  }
}

/** The calls of Hub through processes of `hub bridge`, each of which has a session of its own. */
export class BridgeRoute {
  #place;
  #processes = new Set();
  #publishers = new Map();
  #isClosed = false;
  #isKnown = null;
  #failure = null;
  #waits = new Waits(() => this.#failure ?? (this.#isClosed ? closed() : null));

  constructor(place, options) {
    const { door, feed, members, mode = "once", plugin = place.instance } = options;
    const foreign = Object.entries({ door, feed, members, mode: mode === "run", plugin: plugin !== place.instance }).find(([, value]) => value);
    if (foreign) throw without(`option ${foreign[0]}; it finds the hub by hub.conf or a key file, and is named by instance alone`);
    this.#place = place;
  }

  isStopping = false;

  async welcome() {
    throw without("WELCOME, except in a plugin that the hub starts");
  }

  async give(records, backfill) {
    linesFor(records);
    return records.length ? (await this.#publisher(backfill)).give(records) : [];
  }

  async tell(verb, body) {
    await (await this.#publisher(false)).say(encode({ [verb.toLowerCase()]: body }, verb));
    return true;
  }

  async ask(question, verb = "QUERY") {
    if (verb !== "QUERY") throw without("tokens, except in a plugin that the hub starts");
    const { want = "records", ...others } = question;
    const answers = [];
    if (want === "records") {
      for await (const record of this.records(others)) answers.push(record);
      return { records: answers };
    }
    if (want !== "statistics") throw without(`query for ${want}`);
    return { statistics: await this.#statistics(others) };
  }

  async *records({ want, types = [], persons = [], sources = [], from, to, order, latest, limit = Infinity, ...others }) {
    this.#refuse("query for records", others);
    const sorted = latest ? ["--latest"] : options({ order: [order ?? "sequence"].flat().join(",") });
    const filter = options({ person: persons, source: sources, from, to });
    let count = 0;
    for await (const record of this.#output(await this.#query(["samples", "--json", ...typeWords(types), ...filter, ...sorted]))) {
      const { mirrors, ...stored } = record; // hub samples adds them to what the hub has
      if (count++ >= limit) return;
      yield stored;
    }
  }

  async *statistics({ want, limit = Infinity, ...question }) {
    yield* (await this.#statistics(question)).intervals.slice(0, limit);
  }

  async *follow(types, place, days) {
    const kinds = days ? ["quantity", "category", "correlation", "workout", "characteristic", "other", "day"] : [];
    const { instance, path } = this.#place;
    const filter = options({ kind: kinds, since: place ?? "beginning", as: instance, key: path });
    for await (const { cursor, restored, record } of this.#output(await this.#start(["bridge", "follow", ...typeWords(types ?? []), ...filter]))) {
      yield { record: record ?? null, place: cursor ?? restored };
    }
  }

  sink({ want, types = [], persons, kinds, start, batch, credit, ...others }, deliver) {
    this.#refuse("subscription", others);
    const { instance, path } = this.#place;
    const filter = options({ name: instance, person: persons, kind: kinds, start, batch, key: path });
    const run = async () => {
      const sink = await this.#start(["bridge", "sink", ...typeWords(types), ...filter]);
      const target = new Target(want, deliver);
      for await (const lines of this.#chunks(sink)) {
        const wrong = lines.find((line) => line.result === "error");
        if (wrong) throw new HubError("field", `${want}: ${wrong.reason}`);
        await sink.write((await answersTo(lines, target)).map((line) => `${line}\n`).join(""));
      }
    };
    run().catch((error) => {
      this.#failure ??= error;
      this.#waits.look();
    });
  }

  command(name) {
    throw without(`command ${name}, except in a plugin that the hub starts`);
  }

  progress() {}

  serve(seconds) {
    return this.#waits.serve(seconds);
  }

  async close() {
    this.#isClosed = true;
    const publishers = await Promise.allSettled(this.#publishers.values());
    const ends = publishers.filter((one) => one.value).map((one) => one.value.program.end());
    this.#publishers.clear();
    await Promise.all([...ends, ...[...this.#processes].map((program) => program.end("SIGTERM"))]);
    this.#waits.look();
  }

  // Inside

  #refuse(what, others) {
    const name = Object.keys(others).find((name) => others[name] !== undefined);
    if (name) throw without(`${name} in a ${what}`);
  }

  async #statistics({ types = [], persons = [], sources, from, to, figures, interval, ...others }) {
    this.#refuse("query for statistics", { ...others, anchor: interval?.anchor });
    if (types.length !== 1 || persons.length > 1) throw new HubError("field", "statistics are of one type and one person");
    const figure = figures?.filter((name) => name !== "bySource");
    const { unit, every, zone } = interval ?? {};
    const filter = options({ person: persons, source: sources, from, to, figure, by: unit, every, zone });
    if (unit === "week") filter.push("--week-from=monday"); // as the hub's default; that of hub stats is the locale's
    if (figures?.includes("bySource")) filter.push("--per-source");
    for await (const answer of this.#output(await this.#query(["stats", "--json", ...typeWords(types), ...filter]))) return answer;
    throw new HubError("bridge", "hub stats gave no answer");
  }

  #query(words) {
    if (this.#place.path) throw without("queries to the hub of a key file");
    return this.#start(words);
  }

  /** Starts `hub`, once it is known that it means the same hub as this program. */
  async #start(words) {
    await (this.#isKnown ??= this.#compare());
    if (this.#isClosed) throw closed();
    const program = new Process(words);
    this.#processes.add(program);
    program.ended.then(() => this.#processes.delete(program));
    return program;
  }

  async #compare() {
    const { door, path } = this.#place;
    if (!door || path) return;
    const status = new Process(["status", "--env"]);
    let said = "";
    status.child.stdout.setEncoding("utf8");
    status.child.stdout.on("data", (text) => {
      said += text;
    });
    const error = await status.ended;
    if (error) throw error;
    const other = said.match(/^export HUB_DOOR=(.*)$/m)?.[1].replace(/^'(.*)'$/, "$1").replaceAll("'\\''", "'"); // quoted for a shell
    if (other === door) return;
    throw new HubError("bridge", `HUB_DOOR is ${door}, and that of hub.conf is ${other}: set HUB_CONF to the hub.conf of that hub, or ${REMEDY}`);
  }

  async *#chunks(program) {
    try {
      yield* linesOf(program.child.stdout);
      const error = await program.ended;
      if (error) throw error;
    } finally {
      await program.end("SIGTERM");
    }
  }

  async *#output(program) {
    for await (const lines of this.#chunks(program)) yield* lines;
  }

  #publisher(backfill) {
    const name = Boolean(backfill);
    if (this.#isClosed) throw closed();
    if (!this.#publishers.has(name)) this.#publishers.set(name, this.#publish(name));
    return this.#publishers.get(name);
  }

  async #publish(backfill) {
    const { instance, path } = this.#place;
    let program;
    try {
      program = await this.#start(["bridge", "publish", ...options({ as: instance, key: path }), ...(backfill ? ["--backfill"] : [])]);
    } catch (error) {
      this.#publishers.delete(backfill);
      throw error;
    }
    this.#processes.delete(program); // it ends by the end of its input
    const publisher = new Publisher((text) => program.write(text));
    publisher.program = program;
    const hear = async () => {
      for await (const lines of linesOf(program.child.stdout)) for (const line of lines) publisher.take(line);
    };
    hear().catch(() => program.end("SIGTERM")).then(() => program.ended).then((error) => {
      this.#publishers.delete(backfill);
      publisher.fail(error ?? closed());
    });
    return publisher;
  }
}

/** Options of a command line: `--name=value` for each value; none for undefined. */
function options(values) {
  return Object.entries(values).flatMap(([name, value]) => (value == null ? [] : [value].flat().map((one) => `--${name}=${one}`)));
}

/** Types as words of a command line, none of which is an option. */
function typeWords(types) {
  const names = [...types];
  const other = names.find((type) => !/^[A-Za-z]/.test(type));
  if (other !== undefined) throw new HubError("field", `types: there is no type ${other}`);
  return names;
}

/** The calls of Hub in a plugin's program that `hub bridge plugin` has started: it speaks in lines on stdin and stdout. */
export class LinesRoute {
  #manifest;
  #output;
  #publisher;
  #first = null;
  #isStopping = false;
  #isClosed = false;
  #failure = null;
  #waits = new Waits(() => this.#end());
  #questions = new Map();
  #number = 0;
  #carry = new Map();
  #commands = new Map();
  #target = null;
  #undelivered = [];
  #isDelivering = false;

  constructor(manifest) {
    this.#manifest = manifest;
    // The stdout of a plugin is its log on the other route; here only lines for the bridge may be written there.
    this.#output = process.stdout.write.bind(process.stdout);
    process.stdout.write = process.stderr.write.bind(process.stderr);
    this.#publisher = new Publisher(async (text) => this.#write(text));
    this.#hear();
  }

  get isStopping() {
    return this.#isStopping;
  }

  async welcome() {
    await this.#waits.until(() => this.#first !== null);
    return this.#first;
  }

  async give(records, backfill) {
    if (backfill) throw without("backfill in a plugin");
    const results = this.#publisher.give(records);
    const state = { isDone: false };
    results.catch(() => {}).then(() => {
      state.isDone = true;
      this.#waits.look();
    });
    await this.#waits.until(() => state.isDone);
    return results;
  }

  async tell(verb, body) {
    await this.#publisher.say(encode({ [verb.toLowerCase()]: body }, verb));
    return true;
  }

  async ask(body, verb = "QUERY") {
    const name = { QUERY: "query", TOKEN: "token", "TOKEN-PUT": "tokenPut" }[verb];
    const id = ++this.#number;
    const text = encode({ [name]: body, id }, verb);
    await this.#waits.until(() => this.#questions.size < 8);
    this.#questions.set(id, null);
    try {
      await this.#publisher.say(text);
      await this.#waits.until(() => this.#questions.get(id) !== null);
      const { answer, error, reason, ...result } = this.#questions.get(id);
      if (error !== undefined) throw new HubError(error, reason);
      return result;
    } finally {
      this.#questions.delete(id);
      this.#waits.look();
    }
  }

  records(question) {
    return pages((asked) => this.ask(asked), "records", "records", (page) => page, question);
  }

  statistics(question) {
    return pages((asked) => this.ask(asked), "statistics", "intervals", (page) => page.statistics, question);
  }

  async *follow(types, place, days) {
    const following = new Following(types, place, days);
    // The lines have neither the epoch nor the feed: a cursor shows the epoch, and the door is asked each second.
    const epoch = async () => (await this.ask({ want: "records", limit: 1, ...(types ? { types: following.types } : {}) })).cursor.split("-")[0];
    for (;;) {
      let result;
      try {
        await this.#waits.until(() => following.hasMore, 1);
        result = await this.ask(following.question(following.place ?? await epoch()));
      } catch (error) {
        if (error.code === "stopping" || error.code === "closed") return;
        yield following.refused(error.code === "epoch" ? new HubError("epoch", error.reason, { epoch: await epoch() }) : error);
        continue;
      }
      yield* following.answer(result);
    }
  }

  sink(want, deliver) {
    const declared = { types: this.#manifest.reads, start: "beginning", ...this.#manifest.want };
    const differs = (name) => !["want", "credit", "batch"].includes(name) && JSON.stringify(want[name]) !== JSON.stringify(declared[name]);
    const missing = this.#manifest.sink ? Object.keys(want).find(differs) : "sink";
    if (missing) {
      const place = missing === "sink" ? "the manifest" : "want of the manifest";
      throw new HubError("bridge", `hub bridge subscribes as the manifest says: set ${missing} in ${place}, or ${REMEDY}`);
    }
    this.#target = new Target(want.want, deliver);
    this.#deliver();
  }

  command(name, carry) {
    this.#carry.set(name, carry);
  }

  progress(command, done, total, text) {
    if (this.#commands.has(command.id)) this.#publisher.say(encode({ command: command.id, done, total, text }, "progress"));
  }

  serve(seconds) {
    return this.#waits.serve(seconds);
  }

  async close() {
    this.#isClosed = true;
    this.#waits.look();
    process.stdin.destroy();
  }

  // Inside

  #write(text) {
    this.#output(text);
  }

  async #hear() {
    try {
      for await (const lines of linesOf(process.stdin)) for (const line of lines) this.#take(line);
    } catch (error) {
      if (!this.#isClosed) this.#failure = error;
    }
    this.#isStopping = true;
    this.#waits.look();
  }

  #take(line) {
    if ("settings" in line) this.#first = line;
    else if ("stop" in line) this.#isStopping = true;
    else if ("answer" in line) this.#questions.has(line.answer) && this.#questions.set(line.answer, line);
    else if ("delivery" in line) this.#undelivered.push(line);
    else if ("cancel" in line) Object.assign(this.#commands.get(line.cancel) ?? {}, { isCancelled: true });
    else if ("command" in line) this.#begin(line);
    else if ("result" in line) this.#publisher.take(line);
    this.#deliver();
    this.#waits.look();
  }

  async #begin({ command: id, name, args, dryRun }) {
    const command = { id, name, args: args ?? {}, dryRun: dryRun === true, isCancelled: false };
    this.#commands.set(id, command);
    let answer = { outcome: "failed", code: "command", reason: `there is no command ${name}` };
    try {
      await null; // as on the other route, where `run` registers commands before the first is carried out
      if (this.#carry.has(name)) answer = { outcome: "done", result: await this.#carry.get(name)(command) };
    } catch (error) {
      if (!(error instanceof HubError)) return this.#fail(error);
      answer = { outcome: "failed", code: error.code, reason: error.reason };
    }
    this.#commands.delete(id);
    // The hub already has the outcome of a cancelled command.
    if (!command.isCancelled) await this.#publisher.say(encode({ command: id, ...answer }, "outcome"));
  }

  async #deliver() {
    if (!this.#target || this.#isDelivering) return;
    this.#isDelivering = true;
    await null; // until the other lines that came together are here
    try {
      while (this.#undelivered.length) {
        const lines = this.#undelivered.splice(0, MAXIMUM_RECORDS);
        await this.#publisher.say(...(await answersTo(lines, this.#target)));
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#isDelivering = false;
  }

  #fail(error) {
    this.#failure ??= error;
    this.#waits.look();
  }

  #end() {
    if (this.#failure) return this.#failure;
    if (this.#isClosed) return closed();
    return this.#isStopping ? stopping() : null;
  }
}

/** Starts this program again below `hub bridge plugin`, and returns its exit code. */
export async function runBridged(manifest) {
  const file = `${process.env.HUB_STATE ?? "."}/manifest.json`;
  writeFileSync(file, JSON.stringify(manifest));
  const program = [process.execPath, ...process.execArgv, process.argv[1], "--run"];
  const words = ["bridge", "plugin", "--manifest", file, "--run", "--results", "--", ...program];
  // The hub sends its signals to the whole group; this process waits for the others.
  process.on("SIGTERM", () => {});
  return new Promise((resolve, reject) => {
    const child = spawn("hub", words, { stdio: "inherit", env: { ...process.env, [LINES]: "1" } });
    child.on("error", (error) => reject(absent(error)));
    child.on("close", (code, signal) => resolve(code ?? (signal === "SIGTERM" ? 143 : 137)));
  });
}
