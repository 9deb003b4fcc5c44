import { readFile, stat } from 'node:fs/promises';
import type { Environment } from './context.ts';
import { unreadable, wrong } from './option.ts';

const secretFileBytesMax = 64 * 1024;

/**
 * The key from `--key-file`, otherwise from the environment; never an argument, which every user of the
 * machine sees.
 */
export async function givenKey(
  { keyFile }: { readonly keyFile?: string },
  environment: Environment,
): Promise<string | undefined> {
  const key =
    keyFile === undefined
      ? environment['AUDITLOG_API_KEY']?.trim() || undefined
      : await readSecretFile('--key-file', keyFile);
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw wrong(keyFile === undefined ? 'AUDITLOG_API_KEY' : '--key-file', 'no API key');
  return key;
}

export async function neededKey(...given: Parameters<typeof givenKey>): Promise<string> {
  const key = await givenKey(...given);
  if (key === undefined) throw wrong('AUDITLOG_API_KEY', 'an API key is needed, here or in --key-file');
  return key;
}

export async function readSecretFile(name: string, path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size <= secretFileBytesMax) return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    throw unreadable(name, path, error);
  }
  throw wrong(name, `a file of at most ${secretFileBytesMax} bytes`);
}
