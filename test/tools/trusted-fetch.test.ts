import { strict as assert } from 'node:assert';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { certificateFacts } from '../../src/base/network/certificate.ts';
import { trustedFetch } from '../../src/tools/trusted-fetch.ts';
import { startTestServer } from '../http/support.ts';
import { makeAuthority } from '../support/certificates.ts';

test('a connection is trusted by the authority that is named or by its one certificate, and by nothing else', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'trusted-fetch-'));
  context.after(() => rm(directory, { recursive: true }));
  const authority = await makeAuthority(directory);
  const other = await makeAuthority(directory, 'other');
  if (authority === undefined || other === undefined) return context.skip('openssl is not installed');
  const [served, another] = [await authority.issue('served'), await authority.issue('another')];
  const tls = { pem: served.pemFile, clientCa: undefined };
  let asked = 0;
  const handler = () => {
    asked++;
    return { status: 200, body: 'here' };
  };
  const it = await startTestServer([{ method: 'GET', path: '/', name: 'here', handler }], { tls });
  context.after(() => it.close());
  const url = `https://127.0.0.1:${it.server.port}/`;
  const fingerprint = (made: typeof served) => certificateFacts({ ...made, clientCa: undefined }).fingerprint;
  const text = async (...trust: Parameters<typeof trustedFetch>) =>
    (await (await trustedFetch(...trust))(url, {})).text();
  assert.equal(await text({ ca: authority.certFile }), 'here');
  assert.equal(await text({}, fingerprint(served)), 'here');
  await assert.rejects(text({ ca: other.certFile }));
  await assert.rejects(text({}, fingerprint(another)), /differs from the announced one/);
  await assert.rejects(text({ ca: other.certFile }, fingerprint(served)));
  await assert.rejects(text({}));
  assert.equal(asked, 2);
  await assert.rejects(trustedFetch({ cert: served.certFile }), /--cert: together with --cert-key alone/);
});
