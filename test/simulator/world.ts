import { AssertionError } from 'node:assert';
import { call, type HttpAnswer, type HttpCall } from '../support/http.ts';
import { type CliAnswer, type Key, printed, runCliHere } from '../support/server.ts';
import type { Drawable, Plan } from './plan.ts';
import { Draw } from './draw.ts';
import { idPattern, secretMark } from './events.ts';
import { brief, Finding, hold } from './finding.ts';
import type { Kept } from './checks/evidence.ts';
import type { Follower } from './checks/follow.ts';
import { type DamageKind, linesOf } from './checks/log.ts';
import type { SmallDisk } from './faults/disk.ts';
import { limits } from './limits.ts';
import { Model, type ModelKey, type ModelOrganization } from './model.ts';
import { Service } from './service.ts';
import { ending, patiently } from './waiting.ts';

/** An operation or a fault. Returns a line about what it did; undefined: it had nothing to do. */
export interface Operation extends Drawable {
  run(world: World, draw: Draw): Promise<string | undefined>;
}

type Words = string | RegExp;

/** Names of members in other spellings, and one removed name. */
const drawnRedactKeys = ['', '', 'Si-Ze,region', 'file_hash,!otp,a'] as const;

export interface Asked extends HttpCall {
  /** The answer may have nothing of another organization. */
  readonly organization: ModelOrganization;
  /** A 503 is allowed without a fault: a repeat while the first request is in progress. */
  readonly mayBeBusy?: boolean;
  /** The client gives up after `timeoutMs`. */
  readonly isCut?: boolean;
  /** An answer above 499 may be final. */
  readonly isFinal?: boolean;
}

/** Shared by the clients of one run: the service, its model, and the checks of each answer. */
export class World {
  readonly service: Service;
  readonly model: Model;
  readonly followers = new Map<string, Follower[]>();
  /** Evidence that an auditor keeps of each organization, by slug. */
  readonly kept = new Map<string, Kept>();
  readonly directory: string;
  readonly lines: string[] = [];
  /** The data directory's disk, if it can be filled. */
  disk: SmallDisk | undefined;
  /** Erased texts, each with the moment from which no answer may have it. */
  readonly erased: { readonly text: string; readonly fromMs: number }[] = [];
  /** Lines of the operational log above `warn` that faults of this run explain: until the next check, and for ever. */
  #expected: Words[] = [];
  readonly #expectedForGood: Words[] = [];
  /** Lines that it must have by the next check. */
  #due: string[] = [];
  readonly #damaged = new Set<string>();
  #disturbances = 0;
  #isDisturbed = false;
  readonly #locks = new Map<string, Promise<unknown>>();
  #commands = 0;

  #answers = 0;
  readonly #said: (line: string) => void;
  readonly #toleratesFailures: boolean;

  constructor(
    directory: string,
    dataDir: string,
    said: (line: string) => void,
    { seed, toleratesFailures = false }: Pick<Plan, 'seed' | 'toleratesFailures'>,
  ) {
    this.directory = directory;
    this.#said = said;
    this.#toleratesFailures = toleratesFailures;
    if (toleratesFailures) this.expectForGood(/./);
    const redactKeys = new Draw(seed).pick(drawnRedactKeys);
    this.model = new Model(Date.now() * 1000, redactKeys);
    this.service = new Service(dataDir, redactKeys);
  }

  say(line: string): void {
    this.lines.push(line);
    this.#said(line);
  }

  /** A request may fail now, because something was killed. */
  get isDisturbed(): boolean {
    return this.#isDisturbed;
  }

  /** Number of answers so far: a measure of time that does not depend on the machine's speed. */
  get answers(): number {
    return this.#answers;
  }

  get disturbances(): number {
    return this.#disturbances;
  }

  /** Work that began at this number of disturbances may have failed because of a later one. */
  mayFail(disturbancesBefore: number): boolean {
    return this.#isDisturbed || this.#disturbances !== disturbancesBefore;
  }

  get expectedWords(): readonly Words[] {
    return [...this.#expected, ...this.#expectedForGood];
  }

  /** The operational log may have these lines until the next check. */
  expect(...words: readonly Words[]): void {
    this.#expected.push(...words);
  }

  expectForGood(...words: readonly Words[]): void {
    this.#expectedForGood.push(...words);
  }

  /** It must have these lines by the next check. */
  demand(...words: readonly string[]): void {
    this.#expected.push(...words);
    this.#due.push(...words);
  }

  /** Lines that it must have by now; later ones need a new explanation. */
  takeDue(): readonly string[] {
    const due = this.#due;
    this.#due = [];
    this.#expected = [];
    return due;
  }

  /** Records damage that `/readyz` and the operational log report from now on, or may report. */
  damaged(kind: DamageKind, words: readonly Words[]): void {
    this.#damaged.add(kind);
    this.#expectedForGood.push(...words);
  }

  /** Damage of this kind, or any, was done. */
  isDamaged(kind?: string): boolean {
    return kind === undefined ? this.#damaged.size > 0 : this.#damaged.has(kind);
  }

  /** From now on until `calm` requests may break or be refused. */
  disturb(): void {
    this.#disturbances += 1;
    this.#isDisturbed = true;
    this.expect(...linesOf.requests);
  }

  async calm(): Promise<void> {
    if (!this.#isDisturbed) return;
    await this.service.ready();
    this.#isDisturbed = false;
  }

  /** Serializes work on the same thing. */
  async alone<T>(what: string, work: () => Promise<T>): Promise<T> {
    const before = this.#locks.get(what) ?? Promise.resolve();
    const run = before.catch(() => undefined).then(work);
    this.#locks.set(
      what,
      run.catch(() => undefined),
    );
    return run;
  }

  /** Sends a request and checks its answer; undefined if it broke because something was killed. */
  async ask(path: string, asked: Asked): Promise<HttpAnswer | undefined> {
    const server = await this.service.up();
    const disturbances = this.#disturbances;
    const began = Date.now();
    const answer = await call(`${server.url}${path}`, { timeoutMs: limits.requestMsMax, ...asked }).catch(
      (error: unknown) => {
        const said = `${asked.method ?? 'GET'} ${path}: ${String(error)}`;
        const isAnswered = error instanceof SyntaxError || error instanceof AssertionError;
        hold(!isAnswered, 'every answer is as the contract says', () => said);
        if (asked.isCut === true || this.mayFail(disturbances)) return undefined;
        throw new Finding('every request is answered', said);
      },
    );
    if (answer === undefined) return undefined;
    this.#answers += 1;
    this.#look(answer, asked.organization, path, began);
    hold(
      this.#toleratesFailures ||
        this.mayFail(disturbances) ||
        answer.status < 500 ||
        (asked.mayBeBusy === true && answer.status === 503),
      'nothing fails without a fault',
      () => `${asked.method ?? 'GET'} ${path}: ${answer.status} ${brief(answer.text)}`,
    );
    return answer.status >= 500 && asked.isFinal !== true ? undefined : answer;
  }

  #look(answer: HttpAnswer, organization: ModelOrganization, path: string, beganMs: number): void {
    const { text } = answer;
    for (const [mark, slug] of text.matchAll(idPattern))
      hold(
        slug === organization.slug,
        'no answer has events of others',
        () => `${path} for ${organization.slug}: ${mark}`,
      );
    hold(
      !text.includes(secretMark),
      'no secret is shown',
      () => `${path}: ${brief(text.slice(text.indexOf(secretMark) - 200))}`,
    );
    for (const { text: erased, fromMs } of this.erased)
      hold(beganMs < fromMs || !text.includes(erased), 'no answer has an erased person', () => {
        const at = text.indexOf(erased);
        return `${path}: ${brief(text.slice(Math.max(0, at - 300), at + 100))}`;
      });
  }

  /** A read that must succeed; undefined if a fault may have broken it. */
  async read(organization: ModelOrganization, path: string): Promise<HttpAnswer | undefined> {
    const { reader } = organization;
    if (reader === undefined) return undefined;
    const answer = await this.ask(path, { organization, headers: { 'x-api-key': reader.text } });
    if (path.startsWith('/api/v1/audit/export') && answer?.status !== 401)
      organization.own.note(`2030 Audit events exported by API key ${reader.id}`, answer?.status === 200);
    if (answer === undefined) return undefined;
    if (answer.status === 401 && (organization.state !== 'here' || reader.state !== 'good')) return undefined;
    hold(answer.status === 200, 'a good key reads', () => `${path}: ${answer.status} ${brief(answer.text)}`);
    return answer;
  }

  /** A command beside the service, in this process. The caller judges its exit code. */
  async command(args: readonly string[], stdin?: string): Promise<CliAnswer> {
    await this.service.up();
    this.#commands += 1;
    try {
      const { dataDir, commandEnvironment: env } = this.service;
      const answer = await ending(
        `auditlog ${args.join(' ')}`,
        limits.commandMsMax,
        runCliHere(args, { dataDir, env, stdin }),
      );
      hold(
        !answer.stdout.includes(secretMark) && !answer.stderr.includes(secretMark),
        'no secret is shown',
        () => args.join(' '),
      );
      return answer;
    } finally {
      this.#commands -= 1;
    }
  }

  /** A command that must succeed; undefined if something was killed meanwhile. */
  async done(args: readonly string[], stdin?: string): Promise<unknown> {
    const disturbances = this.#disturbances;
    const answer = await this.command([...args, '--json'], stdin);
    if (answer.code === 0) return printed(answer);
    hold(
      this.mayFail(disturbances),
      'a command without a fault succeeds',
      () => `auditlog ${args.join(' ')}: ${answer.code} ${brief(answer.stderr)}`,
    );
    return undefined;
  }

  /** Running commands must end before a server starts: one may have started an engine. */
  async commandsEnd(): Promise<void> {
    const began = performance.now();
    while (this.#commands > 0) {
      hold(
        performance.now() - began < patiently(limits.operationMsMax),
        'everything ends',
        () => 'a command',
      );
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Resolves when the service knows the key. */
  async knowKey(organization: ModelOrganization, key: Key, scopes: string): Promise<ModelKey> {
    const made: ModelKey = { id: key.id, text: key.key, ended: [], scopes, state: 'good' };
    await new Promise((resolve) => setTimeout(resolve, patiently(limits.graceMs) / 3));
    organization.keys.push(made);
    return made;
  }
}
