import type { Command } from 'commander';
import { faultText } from '../base/errors/fault.ts';
import { Problem } from '../base/errors/problem.ts';
import type { Fault } from '../ocsf/ocsf110/fault.ts';
import { validateEvent } from '../ocsf/ocsf110/validate.ts';
import type { ToolDeps } from './context.ts';
import { openFileSource, openInputSource } from './import-source.ts';
import { splitLines } from './lines.ts';
import { type JsonOption, printJson } from './output.ts';

/** Of `ocsf validate`: a line may be a whole document. */
const validateLineBytesMax = 256 * 1024 ** 2;
/** Lines of a document, which is held in memory. */
const validateDocumentLinesMax = 10_000_000;
const validateFaultsMax = 1_000;

interface Numbered {
  readonly line: number;
  readonly text: string;
}

interface LineFault extends Fault {
  readonly line: number;
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** The events of NDJSON or of one JSON document: an event, a list, or an answer with a list `data`. */
async function* readEvents(lines: AsyncIterable<string>): AsyncGenerator<Numbered> {
  let line = 0;
  let document: string[] | undefined;
  for await (const text of lines) {
    line += 1;
    if (document !== undefined) {
      document.push(text);
      if (document.length > validateDocumentLinesMax)
        throw new Problem(
          'malformed',
          `a document of more than ${validateDocumentLinesMax} lines: use NDJSON`,
        );
    } else if (text.trim() !== '') {
      const first = line === 1 ? parsed(text) : undefined;
      const isDocument = line === 1 && (first === undefined ? /^\s*[{[]/.test(text) : isList(first.value));
      if (isDocument) document = [text];
      else yield { line, text };
    }
  }
  if (document !== undefined) yield* eventsOfDocument(document.join('\n'));
}

function isList(value: unknown): boolean {
  const data: unknown = typeof value === 'object' && value !== null && 'data' in value ? value.data : value;
  return Array.isArray(data);
}

function* eventsOfDocument(text: string): Generator<Numbered> {
  const value = parsed(text)?.value;
  const holder = typeof value === 'object' && value !== null && 'data' in value ? value.data : value;
  if (!Array.isArray(holder)) yield { line: 1, text };
  else for (const [index, one] of holder.entries()) yield { line: index + 1, text: JSON.stringify(one) };
}

function findFaults({ line, text }: Numbered): LineFault[] {
  const event = parsed(text);
  const faults = event === undefined ? [{ pointer: '', rule: 'is not JSON' }] : validateEvent(event.value);
  return faults.map((fault) => ({ line, ...fault }));
}

/** Node's line reader would also split at U+2028. */
async function* textLines(text: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const lines of splitLines(text, validateLineBytesMax))
    for (const line of lines) yield line.toString();
}

async function validate(deps: ToolDeps, file: string, options: JsonOption): Promise<void> {
  const source = file === '-' ? openInputSource(deps.io.input) : await openFileSource(file);
  const reported: LineFault[] = [];
  let events = 0;
  let invalid = 0;
  for await (const one of readEvents(textLines(source.text(0)))) {
    const faults = findFaults(one);
    events += 1;
    if (faults.length > 0) invalid += 1;
    if (options.json !== true)
      for (const { line, pointer, rule } of faults)
        deps.io.out(`line ${line}: ${faultText('event', pointer, rule)}\n`);
    else reported.push(...faults.slice(0, validateFaultsMax - reported.length));
  }
  if (options.json === true) printJson(deps, 'CliOcsfValidation', { events, invalid, faults: reported });
  if (events === 0) throw new Error('the file contains no event');
  if (invalid > 0)
    throw new Error(`${invalid} of ${events} events ${invalid === 1 ? 'is' : 'are'} not valid OCSF 1.1.0`);
  if (options.json !== true)
    deps.io.error(`${events} ${events === 1 ? 'event is' : 'events are'} valid OCSF 1.1.0\n`);
}

export function registerOcsf(program: Command, deps: ToolDeps): void {
  const ocsf = program.command('ocsf').description('events of OCSF 1.1.0');
  ocsf
    .command('validate')
    .description("validate any producer's events strictly against OCSF 1.1.0")
    .argument('<file>', 'NDJSON or a JSON document, plain, .gz or .zst; - for standard input')
    .option('--json', 'print JSON')
    .action((file: string, options: JsonOption) => validate(deps, file, options));
}
