import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readIfThere, replaceFile } from '../base/files/durable-file.ts';
import { Ledger, type LedgerState } from './ledger.ts';

interface LedgerContent {
  /** SHA-256 of the text of `ledger`: a damaged ledger must not be taken for a damaged table. */
  readonly sha256: string;
  readonly ledger: LedgerState;
}

const pathOf = (dataDir: string): string => join(dataDir, 'ledger.json');
const sumOf = (state: LedgerState): string =>
  createHash('sha256').update(JSON.stringify(state)).digest('hex');

/**
 * The ledger of a data directory; undefined when there is none, and when it is damaged, which `onDamage` hears of.
 * Rejects when the file cannot be read.
 */
export async function readLedger(dataDir: string, onDamage: () => void): Promise<Ledger | undefined> {
  const text = await readIfThere(pathOf(dataDir));
  if (text === undefined) return undefined;
  const state = parse(text);
  if (state === undefined) onDamage();
  return state === undefined ? undefined : new Ledger(state);
}

function parse(text: string): LedgerState | undefined {
  try {
    const content = JSON.parse(text) as Partial<LedgerContent> | null;
    const state = content?.ledger;
    return state !== undefined && content?.sha256 === sumOf(state) ? state : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Replaces the file; resolves when that survives a power cut. */
export async function writeLedger(dataDir: string, ledger: Ledger): Promise<void> {
  const state = ledger.state();
  const content: LedgerContent = { sha256: sumOf(state), ledger: state };
  await replaceFile(pathOf(dataDir), `${JSON.stringify(content)}\n`);
}
