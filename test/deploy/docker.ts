import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { patience } from '../support/patience.ts';
import { projectRoot } from '../support/project-root.ts';

/** Docker by its command line: containers, networks and volumes that the test removes at its end. */

const run = promisify(execFile);
const commandMsMax = 60_000;
/** Without a cache it installs the packages and compiles twice. */
const buildMsMax = 600_000;
const outputBytesMax = 64 * 1024 * 1024;

export interface Said {
  readonly stdout: string;
  readonly stderr: string;
}

/** One command; rejects with its output unless it exits with 0. */
export function docker(...args: readonly string[]): Promise<Said> {
  const options = { timeout: patience(commandMsMax), maxBuffer: outputBytesMax };
  return run('docker', [...args], options);
}

/** The reason why Docker cannot be used; false if it answers. */
export async function whyNotDocker(): Promise<string | false> {
  try {
    await docker('info');
    return false;
  } catch {
    return 'NOT TESTED: Docker does not answer';
  }
}

/** Builds a target of the Dockerfile, with this machine's network. */
export async function builtImage(target: 'embedded' | 'server'): Promise<string> {
  const tag = `auditlog-test:${target}`;
  const args = ['build', '--network', 'host', '--target', target, '--tag', tag, '.'];
  await run('docker', args, {
    cwd: projectRoot,
    timeout: patience(buildMsMax),
    maxBuffer: outputBytesMax,
  });
  return tag;
}

/** Resources of a test, under its own names. */
export class Made {
  readonly #id = randomBytes(4).toString('hex');
  readonly #containers: string[] = [];
  readonly #networks: string[] = [];
  readonly #volumes: string[] = [];

  /** The full name of a test's resource. */
  named(name: string): string {
    return `auditlog-${this.#id}-${name}`;
  }

  /** Starts a container and returns its name. */
  async start(name: string, args: readonly string[]): Promise<string> {
    const container = this.named(name);
    this.#containers.push(container);
    await docker('run', '--detach', '--name', container, ...args);
    return container;
  }

  /** Creates a container without starting it. */
  async create(name: string, args: readonly string[]): Promise<void> {
    this.#containers.push(this.named(name));
    await docker('create', '--name', this.named(name), ...args);
  }

  async volume(name: string): Promise<string> {
    const volume = this.named(name);
    await docker('volume', 'create', volume);
    this.#volumes.push(volume);
    return volume;
  }

  async network(name: string, args: readonly string[] = []): Promise<string> {
    const network = this.named(name);
    await docker('network', 'create', ...args, network);
    this.#networks.push(network);
    return network;
  }

  async remove(): Promise<void> {
    for (const container of this.#containers)
      await docker('rm', '--force', '--volumes', container).catch(unlessGone);
    for (const volume of this.#volumes) await docker('volume', 'rm', volume);
    for (const network of this.#networks) await docker('network', 'rm', network);
  }
}

/** A container that failed to start need not be removed. */
function unlessGone(error: Error): void {
  if (!/No such container/.test(error.message)) throw error;
}

/** Options of both images in `deploy/`. */
export const hardened = [
  '--read-only',
  '--tmpfs',
  '/tmp',
  '--cap-drop',
  'ALL',
  '--security-opt',
  'no-new-privileges',
] as const;

/** A member of `docker inspect`, by a template of Go. */
export async function inspected(container: string, template: string): Promise<string> {
  return (await docker('inspect', '--format', template, container)).stdout.trim();
}

/** A container's files, as `tar` lists them. */
export async function exportedFiles(container: string): Promise<{ mode: string; path: string }[]> {
  const { stdout } = await run('sh', ['-c', 'docker export "$0" | tar --list --verbose', container], {
    timeout: patience(commandMsMax),
    maxBuffer: outputBytesMax,
  });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [mode = '', , , , , path = ''] = line.split(/\s+/);
      return { mode, path };
    });
}
