export type EngineFailure =
  /** No answer: refused, reset, unknown host. Whether a write took effect is unknown. */
  | 'unreachable'
  /** No answer in time. Whether a write took effect is unknown. */
  | 'timeout'
  | 'refused'
  | 'aborted';

/** The message is for operators, never for clients. */
export class EngineError extends Error {
  readonly failure: EngineFailure;
  /** ClickHouse exception number, such as 252 (too many parts) or 241 (memory limit). */
  readonly engineCode: number | undefined;
  /** The damaged part that the engine names: retries do not help. */
  readonly damagedPart: string | undefined;
  readonly damagedTable: string | undefined;

  constructor(
    failure: EngineFailure,
    message: string,
    engineCode?: number,
    cause?: unknown,
    damaged?: { readonly part: string; readonly table: string | undefined },
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'EngineError';
    this.failure = failure;
    this.engineCode = engineCode;
    this.damagedPart = damaged?.part;
    this.damagedTable = damaged?.table;
  }
}
