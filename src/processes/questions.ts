import type { DamageRegister } from '../base/observability/damage.ts';
import type { MetricsOfProcess } from '../base/observability/metrics.ts';
import type { EngineLook } from '../storage/own-engine.ts';
import type { EngineConnection } from '../storage/storage.ts';

/** What a front end is to do. */
export interface Task {
  /** From 1 on. */
  readonly number: number;
  /** How many there are. */
  readonly processes: number;
  /** 0: any; the others then get the one that the first has taken. */
  readonly port: number;
  /** How the embedded engine is reached; undefined where a ClickHouse server is used. */
  readonly engine: EngineConnection | undefined;
}

type Damage = ReturnType<DamageRegister['list']>;

/** Where a front end listens. */
export interface Listening {
  readonly port: number;
  /** SHA-256 of the certificate that it serves; undefined: plain HTTP. */
  readonly certificate?: string | undefined;
}

/** What front ends ask the supervisor. */
export type ToSupervisor = {
  task: { given: undefined; got: Task };
  listening: { given: Listening; got: void };
  /** Whether all front ends have listened once. */
  started: { given: undefined; got: boolean };
  /** Answers for all processes. */
  metrics: { given: undefined; got: readonly MetricsOfProcess[] };
  damage: { given: undefined; got: Damage };
  /** See `OwnEngine`. */
  look: { given: undefined; got: EngineLook };
  checkWritten: { given: { process: number }; got: void };
  unreadable: { given: { part: string }; got: void };
};

/** What the supervisor asks front ends. */
export type ToFrontEnd = {
  stop: { given: undefined; got: void };
  /** Answers for this process alone. */
  metrics: { given: undefined; got: MetricsOfProcess };
  damage: { given: undefined; got: Damage };
};
