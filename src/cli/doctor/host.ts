import { randomBytes, X509Certificate } from 'node:crypto';
import { constants } from 'node:fs';
import { open, realpath, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere } from '../../base/files/durable-file.ts';
import { ifThere, isDiskFull } from '../../base/errors/system-error.ts';
import type { Config } from '../../config/config.ts';
import { limits as storageLimits } from '../../storage/limits.ts';
import { secretNames } from '../../backup/take.ts';
import { type Check, hostCheck, type Finding } from './check.ts';

const doctorFreeFilesMin = 10_000;
const doctorSyncedWrites = 32;
const doctorSyncedWriteBytes = 4096;
const doctorSyncedWriteMsMax = 100;
const doctorCertificateDaysMin = 30;

type LogSettings = Pick<Config, 'dataDir' | 'walMaxBytes'>;

const mebibyte = 1024 * 1024;
const inMebibytes = (bytes: number): string => `${Math.floor(bytes / mebibyte)} MiB`;

export async function checkDiskSpace({ dataDir, walMaxBytes }: LogSettings): Promise<Check> {
  const { bavail, bsize, files, ffree } = await statfs(dataDir);
  const free = bavail * bsize;
  const findings: Finding[] = [];
  if (free < 2 * storageLimits.engineFreeBytesMin)
    findings.push({
      id: dataDir,
      detail: `${inMebibytes(free)} are free; below ${inMebibytes(storageLimits.engineFreeBytesMin)} nothing more is stored`,
      remedy: 'free some space on this disk, or shorten the retention of organizations',
    });
  // File systems that create inodes on demand report none.
  if (files > 0 && ffree < doctorFreeFilesMin)
    findings.push({
      id: dataDir,
      detail: `${ffree} inodes are free on this disk`,
      remedy: 'remove unneeded files',
    });
  const notes = [`${inMebibytes(free)} free`];
  if (free < walMaxBytes + storageLimits.engineFreeBytesMin)
    notes.push(
      `without the engine the log may take ${inMebibytes(walMaxBytes)} (WAL_MAX_BYTES), more than is free`,
    );
  return hostCheck('disk_space', findings, notes);
}

interface Mount {
  readonly point: string;
  readonly type: string;
  readonly options: ReadonlySet<string>;
}

/** A line of /proc/self/mountinfo; spaces in paths are `\040` there. */
function parseMount(line: string): Mount {
  const [before = '', after = ''] = line.split(' - ');
  const fields = before.split(' ');
  const [type = '', , superOptions = ''] = after.split(' ');
  const point = (fields[4] ?? '').replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
  return { point, type, options: new Set(`${fields[5]},${superOptions}`.split(',')) };
}

/**
 * The mount of a path, from the text of /proc/self/mountinfo. The last line of a mount point is the visible
 * one.
 */
export function mountFor(path: string, mountInfo: string): Mount | undefined {
  const lies = ({ point }: Mount): boolean => point === '/' || path === point || path.startsWith(`${point}/`);
  let mounted: Mount | undefined;
  for (const mount of mountInfo.trimEnd().split('\n').map(parseMount))
    if (lies(mount) && mount.point.length >= (mounted?.point.length ?? 0)) mounted = mount;
  return mounted;
}

/** File systems that are unfit for evidence. */
const unfit: readonly (readonly [types: RegExp, detail: string, remedy: string])[] = [
  [/^(tmpfs|ramfs)$/, 'is in memory: all events are lost when the machine stops', 'put DATA_DIR on a disk'],
  [
    /^(overlay|aufs)$/,
    'is the layer of a container: all events are lost when the container is replaced',
    'mount a volume at DATA_DIR',
  ],
  [
    /^(nfs4?|cifs|smb3?|9p|fuse\..+)$/,
    'is on another machine: locks and synced writes depend on the network between',
    'put DATA_DIR on a disk of this machine or a block device',
  ],
];

/** File system and mount options of DATA_DIR. */
export async function checkFileSystem({ dataDir }: LogSettings): Promise<Check> {
  const mountInfo = await readIfThere('/proc/self/mountinfo');
  const mount = mountInfo === undefined ? undefined : mountFor(await realpath(dataDir), mountInfo);
  if (mount === undefined) return hostCheck('file_system', [], ['unknown on this system']);
  return hostCheck('file_system', faultsOf(mount, dataDir), [`${mount.type} at ${mount.point}`]);
}

export function faultsOf({ point, type, options }: Mount, dataDir: string): Finding[] {
  const findings = unfit
    .filter(([types]) => types.test(type))
    .map(([, detail, remedy]) => ({ id: dataDir, detail: `${type} at ${point} ${detail}`, remedy }));
  for (const option of ['nobarrier', 'barrier=0', 'data=writeback'])
    if (options.has(option))
      findings.push({
        id: dataDir,
        detail: `${point} is mounted with ${option}: after a power cut, acknowledged events may be missing`,
        remedy: `mount it without ${option}`,
      });
  return findings;
}

export async function checkSyncedWrites(settings: LogSettings): Promise<Check> {
  try {
    return await trySyncedWrites(settings);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    return hostCheck('synced_writes', [], ['not measured: the disk is full']);
  }
}

async function trySyncedWrites({ dataDir }: LogSettings): Promise<Check> {
  const path = join(dataDir, `doctor-${randomBytes(6).toString('hex')}.tmp`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_DSYNC;
  const page = randomBytes(doctorSyncedWriteBytes);
  const file = await open(path, flags, 0o600);
  const durations: number[] = [];
  try {
    for (let n = 0; n < doctorSyncedWrites; n++) {
      const begun = performance.now();
      await file.write(page);
      durations.push(performance.now() - begun);
    }
  } finally {
    await file.close();
    await rm(path);
  }
  durations.sort((a, b) => a - b);
  const [median, longest] = [durations[durations.length >> 1] ?? 0, durations.at(-1) ?? 0];
  const figures = `a synced write of 4 KiB takes ${median.toFixed(2)} ms, ${longest.toFixed(1)} ms at most of ${durations.length}`;
  const findings =
    median > doctorSyncedWriteMsMax
      ? [
          {
            id: dataDir,
            detail: `${figures}: acknowledgements take at least as long`,
            remedy: 'put DATA_DIR on a faster disk without other heavy writes',
          },
        ]
      : [];
  return hostCheck('synced_writes', findings, [figures]);
}

/** Files of DATA_DIR whose content gives access. */
const secretFiles = ['engine.json', ...secretNames];
const othersBits = 0o077;

/** Every start and command corrects the mode of DATA_DIR itself. */
export async function checkPermissions({ dataDir }: LogSettings): Promise<Check> {
  const findings: Finding[] = [];
  for (const name of secretFiles) {
    const mode = (await ifThere(stat(join(dataDir, name))))?.mode;
    if (mode !== undefined && (mode & othersBits) !== 0)
      findings.push({
        id: name,
        detail: `has mode ${(mode & 0o777).toString(8)}: other users can read the secrets of the service`,
        remedy: `chmod 600 ${join(dataDir, name)}, and replace the secret if others have accounts here`,
      });
  }
  const { uid } = await stat(dataDir);
  const own = process.getuid?.();
  const notes =
    own === 0 && uid !== 0
      ? [
          `DATA_DIR belongs to user ${uid} and this is root: the service cannot change files that root creates there`,
        ]
      : [];
  return hostCheck('permissions', findings, notes);
}

const dayMs = 86_400_000;

export function checkCertificate(pem: string, nowMs: number): Check {
  const findings: Finding[] = [];
  const notes: string[] = [];
  for (const [text] of pem.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)) {
    const { subject, validTo } = new X509Certificate(text);
    const name = subject.replaceAll('\n', ', ');
    const days = Math.floor((Date.parse(validTo) - nowMs) / dayMs);
    notes.push(`TLS_CERT: ${name}, until ${validTo}`);
    if (days < doctorCertificateDaysMin)
      findings.push({
        id: 'TLS_CERT',
        detail: `the certificate of ${name} ${days < 0 ? 'was good' : 'is good'} until ${validTo}`,
        remedy: 'get a new certificate and put it into the file',
      });
  }
  return hostCheck('certificates', findings, notes);
}
