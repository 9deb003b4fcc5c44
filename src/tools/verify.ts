import type { Command } from 'commander';
import { Problem } from '../base/errors/problem.ts';
import type { ToolDeps } from './context.ts';
import { openFileSource, peek } from './import-source.ts';
import { addRows, option, serviceAddress } from './option.ts';
import { counted, printJson } from './output.ts';
import { verifyCase } from './verify/case.ts';
import { filesOfCase } from './verify/case-files.ts';
import { verifyFile } from './verify/file.ts';
import { keepTree, type KeepOptions } from './verify/keep.ts';
import { trustRows } from './trusted-fetch.ts';
import { asProof, verifyProof } from './verify/proof.ts';
import { Unconfirmed } from './unconfirmed.ts';
import { type Confirmable, confirmedDigests, withConfirmed } from './verify/confirmed.ts';
import type { Report } from './verify/report.ts';

/** A proof: an event of 1 MiB, escaped as JSON, and hashes. */
const verifyProofBytesMax = 8 * 1024 * 1024;

export interface VerifyEngine {
  readonly options: readonly (readonly [flags: string, meaning: string])[];
  readonly verify: (organization: string, options: VerifyOptions) => Promise<Report>;
}

export interface VerifyOptions extends KeepOptions {
  readonly fullSpeed?: boolean;
  readonly org?: string;
  readonly confirmed?: readonly string[];
  readonly json?: true;
}

async function examine(
  deps: ToolDeps,
  path: string | undefined,
  options: VerifyOptions,
  engine: VerifyEngine | undefined,
): Promise<Report> {
  const { org, keep, url } = options;
  if (keep !== undefined) {
    if (
      path !== undefined ||
      org !== undefined ||
      options.checkpoint !== undefined ||
      options.copy !== undefined
    )
      throw new Problem('malformed', '--keep: without a file, --org, --checkpoint and --copy');
    return keepTree(deps, keep, options);
  }
  if (url !== undefined) throw new Problem('malformed', '--url: only with --keep');
  if (engine !== undefined && org !== undefined && path === undefined) return engine.verify(org, options);
  if (path === undefined || org !== undefined)
    throw new Problem(
      'malformed',
      'name an organization of the engine (--org), a file, or a directory to keep (--keep)',
    );
  if (options.fullSpeed)
    throw new Problem('malformed', '--full-speed: only with --org; a file is always read at full speed');
  const files = await filesOfCase(path);
  if (files !== undefined) {
    if (options.copy !== undefined || options.checkpoint !== undefined)
      throw new Problem('malformed', '--copy, --checkpoint: not with a case file');
    return verifyCase(files, options);
  }
  const source = await openFileSource(path);
  // A file larger than any proof is an export.
  const { head, whole: text } = await peek(source.text(0), verifyProofBytesMax);
  const proof = asProof(head.toString());
  if (proof === undefined) return verifyFile(deps, { path, source, text }, options);
  if (options.copy !== undefined) throw new Problem('malformed', '--copy: a proof is verified without one');
  return verifyProof(proof, options);
}

function verdictText({ findings, confirm }: Confirmable): string {
  if (findings.length > 0) return 'NOT AS SIGNED';
  return confirm.some(({ confirmed }) => !confirmed) ? 'AS SIGNED, AND NEEDS YOUR CONFIRMATION' : 'ok';
}

function reportText(report: Confirmable): string {
  const { origin, events, covered, findings, confirm, notes } = report;
  const lines = [
    `${verdictText(report)}: ${counted(events, 'event')} of ${origin}, checkpoints cover ${covered}`,
  ];
  lines.push(...findings.map(({ kind, detail }) => `  ${kind}: ${detail}`));
  for (const { detail, digest, confirmed } of confirm)
    lines.push(`  ${confirmed ? 'confirmed' : 'needs confirmation'}: ${detail}; its digest is ${digest}`);
  return [...lines, ...notes.map((note) => `  note: ${note}`)].join('\n');
}

async function verify(
  deps: ToolDeps,
  file: string | undefined,
  options: VerifyOptions,
  engine: VerifyEngine | undefined,
): Promise<void> {
  const confirmed = await confirmedDigests(options.confirmed);
  const report = withConfirmed(await examine(deps, file, options, engine), confirmed);
  const healthy = report.findings.length === 0;
  if (options.json === true) printJson(deps, 'CliVerification', { healthy, ...report });
  else deps.io.out(`${reportText(report)}\n`);
  if (!healthy) throw new Error('the events differ from the signed tree; see above');
  if (report.confirm.some((one) => !one.confirmed))
    throw new Unconfirmed(
      'nothing contradicts the signed tree; confirm the decisions above if they are right',
    );
}

const exitCodesText = `
Exit codes:
  0  as recorded
  1  not as signed, or not verified
  2  wrong usage
  3  as signed, and needs confirmation: a policy of retention or an erasure explains what is
     gone or changed, or a file is older than a kept checkpoint, and --confirmed does not name it`;

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

export function registerVerify(program: Command, deps: ToolDeps, engine?: VerifyEngine): void {
  const command = program
    .command('verify [file]')
    .description(
      `compare events with signed checkpoints: ${engine ? 'of an organization, ' : ''}of an export with --evidence, of a case file, or one by its proof; or keep a copy of the tree`,
    );
  for (const row of engine?.options ?? []) command.option(...row);
  command
    .option(
      '--key <key>',
      'public key of the log, a file of keys, or with one of these an answer of …/evidence/key; may be repeated',
      collect,
    )
    .option(
      '--checkpoint <file>',
      'kept checkpoint, a directory of them, or a directory of --keep; may be repeated',
      collect,
    )
    .option('--copy <directory>', 'directory of --keep, to compare each event with its kept entry')
    .option(
      '--confirmed <digest>',
      'digest of an intended decision, or a file of digests, one a line; may be repeated',
      collect,
    )
    .option('--keep <directory>', 'fetch the tree of --url, check that it continues the kept one, keep both')
    .addOption(option('--url <url>', 'with --keep: the service', serviceAddress))
    .option('--key-file <file>', 'with --keep: file with an API key (default: AUDITLOG_API_KEY)');
  addRows(command, trustRows);
  command
    .option('--json', 'print JSON')
    .addHelpText('after', exitCodesText)
    .action((file: string | undefined, options: VerifyOptions) => verify(deps, file, options, engine));
}
