import { strict as assert } from 'node:assert';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  checkCertificate,
  checkDiskSpace,
  checkFileSystem,
  checkPermissions,
  checkSyncedWrites,
  faultsOf,
  mountFor,
} from '../../../src/cli/doctor/host.ts';
import { makeAuthority } from '../../support/certificates.ts';
import { removeDirectory, temporaryDirectory } from '../../support/directories.ts';

describe('what doctor finds of where the data lie', () => {
  let dataDir: string;
  before(async () => {
    dataDir = await temporaryDirectory();
  });
  after(() => removeDirectory(dataDir));

  test('the mount of a directory is the deepest one above it, and of two at one place the later', () => {
    const mountInfo = [
      '22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,errors=remount-ro',
      '30 22 0:25 / /data rw,nosuid - tmpfs tmpfs rw,size=1024k',
      '31 22 254:1 / /data rw,noatime - ext4 /dev/vdb rw,nobarrier',
      String.raw`32 22 0:40 / /data/with\040space rw - nfs4 server:/export rw`,
      '33 22 0:41 / /database rw - overlay overlay rw',
    ].join('\n');
    const at = (path: string) => mountFor(path, mountInfo)?.type;
    assert.equal(at('/srv'), 'ext4');
    assert.equal(at('/database/x'), 'overlay');
    assert.equal(at('/data/with space/x'), 'nfs4');
    const mount = mountFor('/data/x', mountInfo);
    assert.ok(mount);
    assert.deepEqual([mount.type, mount.options.has('nobarrier')], ['ext4', true]);
    assert.deepEqual(
      faultsOf(mount, '/data/x').map(({ remedy }) => remedy),
      ['mount it without nobarrier'],
    );
  });

  test('memory, the layer of a container and other machines are no place for evidence', () => {
    const faults = (type: string) =>
      faultsOf({ point: '/data', type, options: new Set(['rw']) }, '/data').map(({ detail }) => detail);
    assert.match(String(faults('tmpfs')), /in memory/);
    assert.match(String(faults('overlay')), /layer of a container/);
    assert.match(String(faults('fuse.sshfs')), /another machine/);
    for (const type of ['ext4', 'xfs', 'btrfs', 'zfs']) assert.deepEqual(faults(type), []);
  });

  test('this machine reports its disk, and test files are removed', async () => {
    const place = { dataDir, walMaxBytes: 1024 };
    const [space] = (await checkDiskSpace(place)).notes;
    assert.match(String(space), /^\d+ MiB free$/);
    const beyond = await checkDiskSpace({ dataDir, walMaxBytes: Number.MAX_SAFE_INTEGER });
    assert.ok(beyond.notes.some((note) => note.includes('WAL_MAX_BYTES')));
    // Below a changed root (chroot) the system does not show outer mounts.
    assert.match(String((await checkFileSystem(place)).notes), /^(\S+ at \/|this system does not tell$)/);
    assert.match(String((await checkSyncedWrites(place)).notes), /a synced write of 4 KiB takes \d/);
    assert.deepEqual(await readdir(dataDir), []);
  });

  test('a file of secrets that others can read', async () => {
    await writeFile(join(dataDir, 'session-secret'), 'x', { mode: 0o600 });
    await writeFile(join(dataDir, 'engine.json'), '{}', { mode: 0o600 });
    assert.equal((await checkPermissions({ dataDir, walMaxBytes: 0 })).healthy, true);
    for (const name of ['engine.json', 'pseudonym-secret']) {
      await writeFile(join(dataDir, name), 'x');
      await chmod(join(dataDir, name), 0o640);
    }
    const { findings } = await checkPermissions({ dataDir, walMaxBytes: 0 });
    assert.deepEqual(
      findings.map(({ id, detail }) => [id, detail.slice(0, 12)]),
      [
        ['engine.json', 'has mode 640'],
        ['pseudonym-secret', 'has mode 640'],
      ],
    );
  });

  test('certificates that end soon, or have ended', async (t) => {
    const directory = join(dataDir, 'certificates');
    await mkdir(directory);
    const authority = await makeAuthority(directory);
    if (authority === undefined) return t.skip('NOT TESTED: there is no openssl here');
    const { cert: pem } = authority;
    const good = checkCertificate(pem, Date.now() - 60 * 86_400_000);
    const until = Date.parse(/until (.*)$/.exec(String(good.notes))?.[1] ?? '');
    const at = (daysBefore: number) => checkCertificate(pem + pem, until - daysBefore * 86_400_000);
    assert.equal(at(31).healthy, true);
    assert.match(String(at(29).findings[0]?.detail), /is good until/);
    assert.match(String(at(-1).findings[1]?.detail), /was good until/);
  });
});
