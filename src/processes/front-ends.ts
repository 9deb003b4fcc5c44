import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../base/observability/log.ts';
import { Channel } from './channel.ts';
import { limits } from './limits.ts';
import type { LineOutput } from './line-output.ts';
import type { Listening, Task, ToFrontEnd, ToSupervisor } from './questions.ts';

type FrontEndChannel = Channel<ToFrontEnd, ToSupervisor>;

/** What the supervisor answers to every front end; the rest is of the one that asks. */
export type SupervisorAnswers = {
  readonly [Name in Exclude<keyof ToSupervisor, 'task' | 'listening' | 'started'>]: (
    given: ToSupervisor[Name]['given'],
  ) => Promise<ToSupervisor[Name]['got']>;
};

interface FrontEndsOptions {
  readonly processes: number;
  /** 0: any. */
  readonly port: number;
  readonly engine: Task['engine'];
  /** The environment of the front ends: the configuration of this process. */
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

/**
 * The front ends of a server: one process each, on one address. One that is killed is started again, at its start as
 * later; one that cannot be started at all ends the server.
 */
export class FrontEnds {
  readonly #options: FrontEndsOptions;
  readonly #running = new Map<number, Running>();
  readonly #stopping = new AbortController();
  #port: number;
  readonly #supervisions: Promise<void>[] = [];
  #areUp = false;
  #hasFailed = false;
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

  /** All have listened once. */
  get areUp(): boolean {
    return this.#areUp;
  }

  /** Starts all, and keeps them running until `stop`. */
  start(): void {
    this.#supervisions.push(this.#startAll());
  }

  /**
   * The first one alone: so what is wrong with the configuration is told once, and it is the first that takes over what
   * other processes have left, before anybody reads.
   */
  async #startAll(): Promise<void> {
    const { processes, log } = this.#options;
    const others = Array.from({ length: processes - 1 }, (_, index) => index + 2);
    await this.#supervise(1);
    if (this.#hasFailed) return;
    await Promise.all(others.map((number) => this.#supervise(number)));
    if (this.#stopping.signal.aborted || this.#hasFailed) return;
    this.#areUp = true;
    log.info({ processes, port: this.#port }, 'all front ends are up');
  }

  /** Keeps one running. Resolves when it has listened once, or will not. */
  #supervise(number: number): Promise<void> {
    return new Promise((resolve) => {
      this.#supervisions.push(this.#keepRunning(number, resolve).then(resolve));
    });
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

  /**
   * What a front end cannot be started with it has told, and to start it again would change nothing: that ends the server.
   * One that a signal has ended, or that has been up before, is started again: its files, such as a certificate that is half
   * written, may be mended, and the others go on meanwhile.
   */
  async #keepRunning(number: number, listens: () => void): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    let hasListened = false;
    let delayMs: number = limits.restartDelayMsMin;
    while (!signal.aborted) {
      const began = performance.now();
      const { ended } = this.#spawn(number, () => {
        hasListened = true;
        listens();
      });
      const code = await ended;
      if (signal.aborted) return;
      if (code !== null && code !== 0 && !hasListened) {
        log.error({ process: number, code }, 'a front end cannot be started');
        return this.#failWith(code);
      }
      if (performance.now() - began > limits.restartDelayMsMax) delayMs = limits.restartDelayMsMin;
      log.error({ process: number, code, delayMs }, 'a front end has ended and is started again');
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
      delayMs = Math.min(delayMs * 2, limits.restartDelayMsMax);
    }
  }

  #failWith(code: number): void {
    this.#hasFailed = true;
    this.#fail(code);
  }

  #spawn(number: number, listens: () => void): Running {
    const { environment, output, processes, engine, answers, announce } = this.#options;
    const child = spawn(process.execPath, frontEndArguments(), {
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    if (child.stdout !== null) output.take(child.stdout);
    const channel: FrontEndChannel = new Channel<ToFrontEnd, ToSupervisor>(child, {
      ...answers,
      started: async () => this.#areUp,
      task: async () => ({ number, processes, port: this.#port, engine }),
      listening: async (address) => {
        this.#port = address.port;
        await announce(address);
        this.#options.log.info({ process: number, pid: child.pid }, 'a front end is up');
        listens();
      },
    });
    const ended = endOf(child).then((code) => {
      if (this.#running.get(number)?.child === child) this.#running.delete(number);
      return code;
    });
    const running = { child, channel, ended };
    this.#running.set(number, running);
    return running;
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
