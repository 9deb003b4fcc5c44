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

/** An operation or a fault. What it did is said in a line; undefined: there was nothing that it could be done to. */
export interface Operation extends Drawable {
  run(world: World, draw: Draw): Promise<string | undefined>;
}

type Words = string | RegExp;

/** Names of members that events have, in other spellings, and one that is taken out. */
const drawnRedactKeys = ['', '', 'Si-Ze,region', 'file_hash,!otp,a'] as const;

export interface Asked extends HttpCall {
  /** Whose answer it is: nothing of another organization may be in it. */
  readonly organization: ModelOrganization;
  /** 503 is an answer also without a fault: a repeat, while another request works on the first. */
  readonly mayBeBusy?: boolean;
  /** The client gives up after `timeoutMs`, whatever the service does. */
  readonly isCut?: boolean;
  /** What an answer above 499 says counts, where there may be one. */
  readonly tells?: boolean;
}

/** What the clients of one run share: the service, the model of it, and how each answer is looked at. */
export class World {
  readonly service: Service;
  readonly model: Model;
  readonly followers = new Map<string, Follower[]>();
  /** What an auditor keeps of each organization, by slug. */
  readonly kept = new Map<string, Kept>();
  readonly directory: string;
  readonly lines: string[] = [];
  /** The disk of the data directory, where it is one that can be filled. */
  disk: SmallDisk | undefined;
  /** What was erased, with the moment from which on no answer has it. */
  readonly erased: { readonly text: string; readonly fromMs: number }[] = [];
  /** Words of the operational log above `warn` that the faults of this run explain: until the next look, and for good. */
  #expected: Words[] = [];
  readonly #expectedForGood: Words[] = [];
  /** Words that it must have at the next look. */
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

  /** Whether a request may fail now, as somebody has killed something. */
  get isDisturbed(): boolean {
    return this.#isDisturbed;
  }

  /** How many requests have had an answer: by them moments of a run are told on a machine of any speed. */
  get answers(): number {
    return this.#answers;
  }

  get disturbances(): number {
    return this.#disturbances;
  }

  /** Whether what began when there had been so many disturbances may have failed by one. */
  mayFail(disturbancesBefore: number): boolean {
    return this.#isDisturbed || this.#disturbances !== disturbancesBefore;
  }

  get expectedWords(): readonly Words[] {
    return [...this.#expected, ...this.#expectedForGood];
  }

  /** The operational log may say this until somebody has looked at it at rest. */
  expect(...words: readonly Words[]): void {
    this.#expected.push(...words);
  }

  expectForGood(...words: readonly Words[]): void {
    this.#expectedForGood.push(...words);
  }

  /** It must say this before that. */
  demand(...words: readonly string[]): void {
    this.#expected.push(...words);
    this.#due.push(...words);
  }

  /** What it must have said by now; whatever comes next must be explained anew. */
  takeDue(): readonly string[] {
    const due = this.#due;
    this.#due = [];
    this.#expected = [];
    return due;
  }

  /** Damage was done that `/readyz` and the operational log tell from now on, or may. */
  damaged(kind: DamageKind, words: readonly Words[]): void {
    this.#damaged.add(kind);
    this.#expectedForGood.push(...words);
  }

  /** Whether a kind of damage is explained, or, without one, anything was harmed. */
  isDamaged(kind?: string): boolean {
    return kind === undefined ? this.#damaged.size > 0 : this.#damaged.has(kind);
  }

  /** From now on until `calm` requests may be broken off or refused. */
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

  /** One after the other, for all that name the same thing. */
  async alone<T>(what: string, work: () => Promise<T>): Promise<T> {
    const before = this.#locks.get(what) ?? Promise.resolve();
    const run = before.catch(() => undefined).then(work);
    this.#locks.set(
      what,
      run.catch(() => undefined),
    );
    return run;
  }

  /** A request, its answer looked at; undefined where something was killed and nobody answered. */
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
    return answer.status >= 500 && asked.tells !== true ? undefined : answer;
  }

  #look(answer: HttpAnswer, organization: ModelOrganization, path: string, beganMs: number): void {
    const { text } = answer;
    for (const [mark, slug] of text.matchAll(idPattern))
      hold(
        slug === organization.slug,
        'nobody is shown events of others',
        () => `${path} for ${organization.slug}: ${mark}`,
      );
    hold(
      !text.includes(secretMark),
      'no secret is shown',
      () => `${path}: ${brief(text.slice(text.indexOf(secretMark) - 200))}`,
    );
    for (const { text: erased, fromMs } of this.erased)
      hold(beganMs < fromMs || !text.includes(erased), 'who was erased is in no answer', () => {
        const at = text.indexOf(erased);
        return `${path}: ${brief(text.slice(Math.max(0, at - 300), at + 100))}`;
      });
  }

  /** A read with a key of the organization that must succeed; undefined where it may have failed. */
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

  /** A command beside the service, in this process. Its code is the caller's to judge. */
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

  /** A command that must succeed; undefined where something was killed meanwhile. */
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

  /** Commands that started must end before a server starts: one of them may have started an engine of its own. */
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

  /** A key, once the service knows it. */
  async knowKey(organization: ModelOrganization, key: Key, scopes: string): Promise<ModelKey> {
    const made: ModelKey = { id: key.id, text: key.key, ended: [], scopes, state: 'good' };
    await new Promise((resolve) => setTimeout(resolve, patiently(limits.graceMs) / 3));
    organization.keys.push(made);
    return made;
  }
}
