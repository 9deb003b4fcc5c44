import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** PEM texts and their files. */
export interface Certificate {
  /** Both, as in TLS_CERT. */
  readonly pem: string;
  readonly pemFile: string;
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Authority extends Certificate {
  /** A certificate for a name, valid for localhost and 127.0.0.1. */
  issue(name: string): Promise<Certificate>;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

async function openssl(directory: string, args: readonly string[]): Promise<void> {
  await run('openssl', [...args], { cwd: directory });
}

async function read(directory: string, name: string): Promise<Certificate> {
  const [certFile, keyFile] = [join(directory, `${name}.pem`), join(directory, `${name}.key`)];
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  const pem = `${key}${cert}`;
  const pemFile = join(directory, `${name}-with-key.pem`);
  await writeFile(pemFile, pem);
  return { pem, pemFile, cert, key, certFile, keyFile };
}

/** A new authority, made by openssl in a directory; undefined without openssl. */
export async function makeAuthority(directory: string, name = 'authority'): Promise<Authority | undefined> {
  const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`];
  try {
    await openssl(directory, ['req', '-x509', ...newKey, ...files, '-days', '2', '-subj', `/CN=${name}`]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const issue = async (subject: string): Promise<Certificate> => {
    const request = ['-keyout', `${subject}.key`, '-out', `${subject}.csr`, '-subj', `/CN=${subject}`];
    await openssl(directory, ['req', ...newKey, ...request]);
    await writeFile(join(directory, 'names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
    const authority = ['-CA', `${name}.pem`, '-CAkey', `${name}.key`, '-CAcreateserial'];
    const signed = ['-in', `${subject}.csr`, '-out', `${subject}.pem`, '-days', '2', '-extfile', 'names'];
    await openssl(directory, ['x509', '-req', ...authority, ...signed]);
    return read(directory, subject);
  };
  return { ...(await read(directory, name)), issue };
}
