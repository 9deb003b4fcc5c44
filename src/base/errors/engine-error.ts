export type EngineFailure =
  /** No answer: refused, reset, name not found. Whether a write took effect is unknown. */
  | 'unreachable'
  /** No answer within the time allowed. Whether a write took effect is unknown. */
  | 'timeout'
  /** The engine answered with an exception; `engineCode` has its number. */
  | 'refused'
  /** The caller's signal ended it. */
  | 'aborted';

/** Rejection of every failed query or write; its words are for the operator, never for a client. */
export class EngineError extends Error {
  readonly failure: EngineFailure;
  /** ClickHouse exception number, such as 252 (too many parts) or 241 (memory limit). */
  readonly engineCode: number | undefined;
  /** The damaged part that the engine names: no retry will read it. */
  readonly damagedPart: string | undefined;
  /** The table of that part, where the engine names it. */
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
