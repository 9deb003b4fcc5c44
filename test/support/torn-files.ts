import type { LogFile, LogFiles, SyncedFile } from '../../src/ingest/files.ts';

/** A source of random numbers in [0, 1). */
export type Random = () => number;

interface Stored {
  /** Everything written, as a process sees it. */
  written: Buffer;
  /** Survives a power cut. */
  synced: Buffer;
}

export class PowerCut extends Error {}
export class DiskFault extends Error {
  readonly code = 'EIO';
}

const sectorBytes = 512;

/**
 * Log files on a disk that keeps only synced data. After `cutAfter` operations the power fails: that operation and
 * later ones fail, and `afterPowerCut` returns what a new process finds. Unsynced data may be there, torn by
 * sectors, or lost.
 */
export function createTornFiles(options: {
  cutAfter: number;
  faultAt?: ReadonlySet<number>;
  random: Random;
}) {
  const { random } = options;
  let operations = 0;
  /** Power cuts so far: operations of an old process do not reach the next. */
  let lives = 0;
  /** Files that a process has open. */
  let handles = 0;
  /** Files beside the folder, replaced whole and synced. */
  const beside = new Map<'head' | 'order', Buffer>();
  /** Names as a process sees them, and as they surely are on the disk. */
  let names = new Map<string, Stored>();
  let syncedNames = new Map<string, Stored>();

  /**
   * Waits a random time, then changes the disk; a power cut may leave a part. Operations of an ended process do
   * not reach the disk of the next.
   */
  async function step(life: number, wholly: () => unknown, partly = (): unknown => undefined): Promise<void> {
    while (random() < 0.3) await new Promise((resolve) => setImmediate(resolve));
    if (lives !== life) throw new PowerCut('the process is gone');
    operations += 1;
    if (operations > options.cutAfter) {
      if (operations === options.cutAfter + 1 && random() < 0.5) partly();
      throw new PowerCut('the power is gone');
    }
    if (options.faultAt?.has(operations)) {
      if (random() < 0.5) partly();
      throw new DiskFault('injected fault');
    }
    wholly();
  }

  async function sync(life: number, file: Stored): Promise<void> {
    await step(life, () => {
      file.synced = Buffer.from(file.written);
    });
  }

  function handle(life: number, file: Stored): LogFile {
    handles += 1;
    let isOpen = true;
    return {
      async append(parts) {
        const all = Buffer.concat([file.written, ...parts]);
        const write = (length: number): void => {
          file.written = all.subarray(0, length);
        };
        const { length } = file.written;
        await step(
          life,
          () => write(all.length),
          () => write(length + Math.floor(random() * (all.length - length))),
        );
        await sync(life, file);
      },
      async truncate(length) {
        await step(life, () => {
          file.written = file.written.subarray(0, length);
        });
        await sync(life, file);
      },
      async close() {
        if (!isOpen) throw new Error('closed twice');
        isOpen = false;
        if (life === lives) handles -= 1;
      },
    };
  }

  function existing(name: string): Stored {
    const file = names.get(name);
    if (!file) throw Object.assign(new Error(`there is no ${name}`), { code: 'ENOENT' });
    return file;
  }

  const syncedFile = (life: number, name: 'head' | 'order'): SyncedFile => ({
    read: async () => beside.get(name),
    async write(content) {
      const replace = () => beside.set(name, Buffer.from(content));
      await step(life, replace, replace);
    },
    remove: () => step(life, () => beside.delete(name)),
  });

  function files(): LogFiles {
    const life = lives;
    return {
      list: async () => [...names.keys()].sort(),
      read: async (name) => Buffer.from(existing(name).written),
      async openReader(name) {
        const file = existing(name);
        handles += 1;
        return {
          read: async (into, from) => file.written.copy(into, 0, from),
          size: async () => file.written.length,
          async close() {
            if (life === lives) handles -= 1;
          },
        };
      },
      async create(name) {
        if (names.has(name)) throw new Error(`${name} exists`);
        const file: Stored = { written: Buffer.alloc(0), synced: Buffer.alloc(0) };
        const add = () => names.set(name, file);
        await step(life, add, add);
        return handle(life, file);
      },
      open: async (name) => handle(life, existing(name)),
      async remove(name) {
        existing(name);
        const remove = () => names.delete(name);
        await step(life, remove, remove);
      },
      async rename(from, to) {
        const file = existing(from);
        await step(life, () => {
          names.delete(from);
          names.set(to, file);
        });
      },
      async syncDirectory() {
        await step(life, () => {
          syncedNames = new Map(names);
        });
      },
      freeBytes: () => Promise.resolve(Number.MAX_SAFE_INTEGER),
      head: syncedFile(life, 'head'),
      order: syncedFile(life, 'order'),
    };
  }

  /** The synced bytes, then the others: whole, cut, or with missing sectors. */
  function survivor({ written, synced }: Stored): Stored {
    const tail =
      written.length > synced.length ? Buffer.from(written.subarray(synced.length)) : Buffer.alloc(0);
    const kept = Buffer.from(tail.subarray(0, Math.floor(random() * (tail.length + 1))));
    if (random() < 0.5) {
      for (let at = 0; at < kept.length; at += sectorBytes) {
        if (random() < 0.4) kept.fill(0, at, Math.min(kept.length, at + sectorBytes));
      }
    }
    const content = Buffer.concat([synced, kept]);
    return { written: content, synced: content };
  }

  return {
    files: files(),
    operations: () => operations,
    handles: () => handles,
    /** What a new process finds; the disk works again. */
    afterPowerCut(): LogFiles {
      const found = new Map<string, Stored>();
      for (const [name, file] of syncedNames) {
        // An unsynced removal may be undone.
        if (names.has(name) || random() < 0.5) found.set(name, survivor(file));
      }
      for (const [name, file] of names) {
        if (syncedNames.has(name)) continue;
        // A rename happens wholly or not at all; an unsynced creation may be lost.
        const renamed = [...syncedNames].find(([old, same]) => same === file && !names.has(old));
        const isKept = renamed === undefined ? random() < 0.5 : !found.has(renamed[0]);
        if (isKept) found.set(name, survivor(file));
      }
      lives += 1;
      handles = 0;
      names = found;
      syncedNames = new Map(found);
      operations = 0;
      options.cutAfter = Number.MAX_SAFE_INTEGER;
      options.faultAt = new Set();
      return files();
    },
  };
}
