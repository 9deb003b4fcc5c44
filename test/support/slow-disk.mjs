/** For `node --import`: each sync, and each write of an open file, takes `SLOW_DISK_MS` longer. */
import { open } from 'node:fs/promises';
import { devNull } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const slowMs = Number(process.env['SLOW_DISK_MS'] ?? 0);
const handle = await open(devNull);
const fileHandle = Object.getPrototypeOf(handle);
await handle.close();
for (const name of ['writev', 'sync', 'datasync']) {
  const quick = fileHandle[name];
  fileHandle[name] = async function slow(...args) {
    await sleep(slowMs);
    return quick.apply(this, args);
  };
}
