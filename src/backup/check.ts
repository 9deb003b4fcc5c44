import { Problem } from '../base/errors/problem.ts';
import { limits } from './limits.ts';
import { filesOf, type Manifest, sha256Of, type StoredFile } from './manifest.ts';
import type { BackupPlace } from './place.ts';

/** A file of a backup that is not what was put there. */
export interface BackupFinding {
  readonly kind: 'missing' | 'altered';
  readonly backup: string;
  readonly path: string;
}

/** The bytes of a file as they were put, or what is wrong with them. */
async function look(
  place: BackupPlace,
  id: string,
  file: StoredFile,
): Promise<Buffer | BackupFinding['kind']> {
  const content = await place.get(id, file.path);
  if (content === undefined) return 'missing';
  return content.length === file.bytes && sha256Of(content) === file.sha256 ? content : 'altered';
}

/** The content of files, each looked at before it is handed out. Rejects with a Problem that names one that is not as it was. */
export async function* contentOf(
  place: BackupPlace,
  id: string,
  files: readonly StoredFile[],
): AsyncGenerator<Buffer, void, undefined> {
  for (const file of files) {
    const content = await look(place, id, file);
    if (typeof content === 'string')
      throw new Problem('conflict', `${file.path} of the backup ${id} in ${place.name} is ${content}`);
    yield content;
  }
}

/** Holds every file of backups against what their manifests say. `onFile` hears of its bytes. */
export async function findingsIn(
  place: BackupPlace,
  chain: readonly Manifest[],
  onFile: (bytes: number) => void,
): Promise<BackupFinding[]> {
  const findings: BackupFinding[] = [];
  for (const manifest of chain)
    for (const file of filesOf(manifest)) {
      const content = await look(place, manifest.id, file);
      onFile(file.bytes);
      if (typeof content !== 'string') continue;
      findings.push({ kind: content, backup: manifest.id, path: file.path });
      if (findings.length >= limits.backupFindingsMax) return findings;
    }
  return findings;
}

export const bytesOf = (manifest: Manifest): number =>
  filesOf(manifest).reduce((sum, { bytes }) => sum + bytes, 0);
