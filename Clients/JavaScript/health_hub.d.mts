// health_hub.mjs describes each call.

/** A JSON object. */
export type Body = Record<string, any>;

/** The hub's answer to one record. */
export type Result =
  | { result: "stored" | "duplicate"; number: number; seq: number }
  | { result: "rejected"; code: string; reason: string };

/** An answer of a sink to one record (Protocol §10.2). */
export type DeliveryResult =
  | { result: "delivered"; receipt?: string }
  | { result: "retry"; after: number; reason?: string }
  | { result: "refused" | "auth"; reason: string };

export interface Change {
  /** Null: delete all records, because the hub has a new epoch, whose records follow. */
  record: Body | null;
  place: string;
}

/** A command from a person to a plugin; with `dryRun` change nothing. `isCancelled` turns true when the person cancels it. */
export interface Command {
  readonly id: number;
  readonly name: string;
  readonly args: Body;
  readonly dryRun: boolean;
  readonly isCancelled: boolean;
}

export interface Options {
  instance?: string;
  plugin?: string;
  version?: string;
  mode?: "run" | "once";
  door?: string;
  feed?: string;
  key?: string;
  members?: Body;
  route?: "zeromq" | "bridge";
}

export class HubError extends Error {
  constructor(code: string, reason: string, body?: Body);
  readonly code: string;
  readonly reason: string;
  readonly body: Body;
}

export class SettingsError extends Error {}

export class Pause extends Error {
  constructor(seconds: number, reason?: string);
  readonly seconds: number;
  readonly reason: string;
}

export class Hub {
  constructor(options?: Options);
  readonly route: "zeromq" | "bridge";
  readonly isStopping: boolean;
  welcome(): Promise<Body>;
  give(records: Iterable<Body>, options?: { backfill?: boolean }): Promise<Result[]>;
  live(body: Body): Promise<boolean>;
  event(body: Body): Promise<boolean>;
  token(body: Body): Promise<Body>;
  putToken(body: Body): Promise<Body>;
  ask(body: Body): Promise<Body>;
  records(question?: Body): AsyncGenerator<Body, void>;
  statistics(question: Body): AsyncGenerator<Body, void>;
  follow(types?: Iterable<string> | null, place?: string | null, options?: { days?: boolean }): AsyncGenerator<Change, void>;
  sink(want: Body, deliver: (records: Body[]) => DeliveryResult[] | Promise<DeliveryResult[]>): void;
  command(name: string, carry: (command: Command) => unknown): void;
  progress(command: Command, done: number, total?: number, text?: string): void;
  serve(seconds?: number): Promise<boolean>;
  close(): Promise<void>;
}

export function plugin(
  manifest: Body, run: (hub: Hub) => unknown,
  objections?: (settings: Body) => Body[] | Promise<Body[]>): Promise<number>;
