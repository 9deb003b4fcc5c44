import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../base/log.ts';
import { Channel } from './channel.ts';
import { limits } from './limits.ts';
import type { LineOutput } from './line-output.ts';
import type { Listening, Task, ToFrontEnd, ToSupervisor } from './questions.ts';

type FrontEndChannel = Channel<ToFrontEnd, ToSupervisor>;

/** What the supervisor answers to every front end; the rest is of the one that asks. */
export type SupervisorAnswers = {
  readonly [Name in Exclude<keyof ToSupervisor, 'task' | 'listening'>]: (
    given: ToSupervisor[Name]['given'],
  ) => Promise<ToSupervisor[Name]['got']>;
};

interface FrontEndsOptions {
  readonly processes: number;
  /** 0: any. */
  readonly port: number;
  readonly engine: Task['engine'];
  /** Of the front ends: the configuration of this process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly answers: SupervisorAnswers;
  /** Told of where each listens, and of each certificate. */
  announce(address: Listening): Promise<void>;
  readonly output: LineOutput;
  readonly log: Logger;
}

interface Running {
  readonly child: ChildProcess;
  readonly channel: FrontEndChannel;
  /** Exit code; null where a signal ended it. */
  readonly ended: Promise<number | null>;
}

/** Exit code of a process whose configuration cannot be used: to start it again would change nothing. */
const wrongUsage = 2;

/**
 * The front ends of a server: one process each, on one address. One that ends is started again; one that cannot be
 * started at all ends the server.
 */
export class FrontEnds {
  readonly #options: FrontEndsOptions;
  readonly #running = new Map<number, Running>();
  readonly #stopping = new AbortController();
  #port: number;
  #supervisions: Promise<void>[] = [];
  #fail!: (code: number) => void;
  /** Resolves with an exit code when the server has to end, as a front end cannot be started. */
  readonly failed = new Promise<number>((resolve) => {
    this.#fail = resolve;
  });

  constructor(options: FrontEndsOptions) {
    this.#options = options;
    this.#port = options.port;
  }

  /** Where they listen. */
  get port(): number {
    return this.#port;
  }

  /**
   * Starts all, the first one alone: so what is wrong with the configuration is told once, and it is the first that takes
   * over what other processes have left, before anybody reads. Resolves with false when one has failed.
   */
  async start(): Promise<boolean> {
    const numbers = Array.from({ length: this.#options.processes }, (_, index) => index + 1);
    if (!(await this.#begin(1))) return false;
    const others = await Promise.all(numbers.slice(1).map((number) => this.#begin(number)));
    return others.every(Boolean);
  }

  /** The same question to all; who does not answer is left out. */
  async ask<Name extends keyof ToFrontEnd>(name: Name): Promise<ToFrontEnd[Name]['got'][]> {
    const asked = [...this.#running.values()].map(({ channel }) => channel.ask(name, undefined));
    return (await Promise.allSettled(asked)).flatMap((one) =>
      one.status === 'fulfilled' ? [one.value] : [],
    );
  }

  /** Ends all in good order: each finishes its requests and sends what is in its log. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.ask('stop');
    const all = [...this.#running.values()];
    const ended = Promise.all(all.map((one) => one.ended));
    if ((await Promise.race([ended, sleep(limits.stopMsMax, 'late' as const, { ref: false })])) === 'late') {
      this.#options.log.error(
        {},
        'front ends did not end in time and are killed; the next start sends what is left',
      );
      for (const { child } of all) child.kill('SIGKILL');
      await ended;
    }
    await Promise.all(this.#supervisions);
  }

  /** Resolves with true once it listens, with false where it has ended before, which ends the server. */
  async #begin(number: number): Promise<boolean> {
    const { running, listening } = this.#spawn(number);
    const code = await Promise.race([listening, running.ended]);
    if (code !== 'listening') {
      this.#options.log.error({ process: number, code }, 'a front end has ended at its start');
      this.#fail(code ?? 1);
      return false;
    }
    this.#supervisions.push(this.#supervise(number, running));
    return true;
  }

  async #supervise(number: number, first: Running): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    let delayMs: number = limits.restartDelayMsMin;
    for (let running = first; ; ) {
      const began = performance.now();
      const code = await running.ended;
      if (signal.aborted) return;
      if (code === wrongUsage) return this.#fail(code);
      if (performance.now() - began > limits.restartDelayMsMax) delayMs = limits.restartDelayMsMin;
      log.error({ process: number, code, delayMs }, 'a front end has ended and is started again');
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      delayMs = Math.min(delayMs * 2, limits.restartDelayMsMax);
      ({ running } = this.#spawn(number));
    }
  }

  #spawn(number: number): { readonly running: Running; readonly listening: Promise<'listening'> } {
    const { environment, output, processes, engine, answers, announce } = this.#options;
    const child = spawn(process.execPath, frontEndArguments(), {
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    if (child.stdout !== null) output.take(child.stdout);
    let listens: (word: 'listening') => void = () => undefined;
    const listening = new Promise<'listening'>((resolve) => {
      listens = resolve;
    });
    const channel: FrontEndChannel = new Channel<ToFrontEnd, ToSupervisor>(child, {
      ...answers,
      task: async () => ({ number, processes, port: this.#port, engine }),
      listening: async (address) => {
        this.#port = address.port;
        await announce(address);
        this.#options.log.info({ process: number, pid: child.pid }, 'a front end is up');
        listens('listening');
      },
    });
    const ended = endOf(child).then((code) => {
      if (this.#running.get(number)?.child === child) this.#running.delete(number);
      return code;
    });
    const running = { child, channel, ended };
    this.#running.set(number, running);
    return { running, listening };
  }
}

function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.once('close', resolve);
    // It could not even be started; then there is no other event.
    child.once('error', () => resolve(null));
  });
}

/** From TypeScript sources the child needs the same loader as this process; from compiled ones it needs none. */
function frontEndArguments(): string[] {
  const fromSource = import.meta.url.endsWith('.ts');
  const program = new URL(`../front-end.${fromSource ? 'ts' : 'js'}`, import.meta.url);
  return [...(fromSource ? ['--import', import.meta.resolve('tsx')] : []), fileURLToPath(program)];
}
