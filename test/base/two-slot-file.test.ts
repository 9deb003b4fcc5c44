import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import * as fc from 'fast-check';
import { TwoSlotFile } from '../../src/base/files/two-slot-file.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';

let directory: string;
before(async () => {
  directory = await temporaryDirectory();
});
after(() => removeDirectory(directory));

test('a write that was cut short anywhere leaves the content before or the one after, also for another process', async () => {
  const path = join(directory, 'head');
  const contents = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(contents, fc.nat(999), async (written, share) => {
      await new TwoSlotFile(path, 300).remove();
      const file = new TwoSlotFile(path, 300);
      assert.equal(await file.read(), undefined);
      for (const content of written) {
        await file.write(content);
        assert.deepEqual(await new TwoSlotFile(path, 300).read(), Buffer.from(content));
      }
      const old = await readFile(path);
      const last = randomFillSync(Buffer.alloc(200));
      await new TwoSlotFile(path, 300).write(last);
      const whole = await readFile(path);
      const changed = [...whole.keys()].filter((at) => whole[at] !== old[at]);
      // Of what has changed a part is on the disk, in any order.
      for (const at of changed) if ((at * 7919) % 1000 < share) old[at] = whole[at] as number;
      await writeFile(path, old);
      const found = await new TwoSlotFile(path, 300).read();
      assert.ok(
        found instanceof Buffer && (found.equals(written.at(-1) as Uint8Array) || found.equals(last)),
      );
    }),
    { numRuns: 30 },
  );
});

test('a file with no intact slot is damaged, and can be written again; what does not fit is refused', async () => {
  const path = join(directory, 'harmed');
  await writeFile(path, 'nothing of this kind');
  const file = new TwoSlotFile(path, 100);
  assert.equal(await file.read(), 'damaged');
  await file.write(Buffer.from('again'));
  assert.deepEqual(await file.read(), Buffer.from('again'));
  await assert.rejects(file.write(Buffer.alloc(101)), /too much content/);
});
