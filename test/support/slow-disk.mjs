/** For `node --import`: a process whose disk takes `SLOW_DISK_MS` longer for each write of a file that it keeps open, and for each sync. */
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
