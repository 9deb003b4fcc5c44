import { strict as assert } from 'node:assert';
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');

export interface TakenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export const s3Environment = {
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'secret/of+tests',
  AWS_SESSION_TOKEN: 'session',
};

/** Signature version 4: fails unless the request is signed with the secret for the region. */
export function checkSignature(
  { method, path, headers, body }: TakenRequest,
  secret: string,
  region: string,
): void {
  const authorization = String(headers.authorization);
  const [, id, date, scope, names = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      authorization,
    ) ?? assert.fail(authorization);
  assert.deepEqual([id, scope], ['AKIDEXAMPLE', `${region}/s3/aws4_request`]);
  assert.equal(headers['x-amz-content-sha256'], sha256(body));
  for (const name of ['host', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token'])
    assert.ok(names.split(';').includes(name), name);
  const listed = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const canonical = [method, path, '', listed.join(''), names, sha256(body)].join('\n');
  const amzDate = String(headers['x-amz-date']);
  assert.ok(amzDate.startsWith(date ?? '-'));
  const toSign = ['AWS4-HMAC-SHA256', amzDate, `${date}/${scope}`, sha256(canonical)].join('\n');
  const key = ['s3', 'aws4_request'].reduce(hmac, hmac(hmac(`AWS4${secret}`, date ?? ''), region));
  assert.equal(signature, hmac(key, toSign).toString('hex'));
}

/** An object store in memory that refuses unsigned requests. */
export interface Bucket {
  readonly url: string;
  readonly objects: Map<string, Buffer>;
  /** Answers with a status instead of the work; undefined: works. */
  refuse: (request: TakenRequest) => number | undefined | Promise<undefined>;
  close(): Promise<void>;
}

export async function startBucket(region = 'us-east-1'): Promise<Bucket> {
  const objects = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    void buffer(request).then(async (body) => {
      const { method = '', url: path = '', headers } = request;
      const received = { method, path, headers, body };
      try {
        checkSignature(received, s3Environment.AWS_SECRET_ACCESS_KEY, region);
      } catch (error) {
        response.writeHead(403).end(String(error));
        return;
      }
      const object = objects.get(path);
      const status =
        (await bucket.refuse(received)) ?? (method === 'GET' && object === undefined ? 404 : 200);
      if (status === 200 && method === 'PUT') objects.set(path, body);
      response.writeHead(status).end(status === 200 && method === 'GET' ? object : '<Error>secret</Error>');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bucket: Bucket = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    refuse: () => undefined,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return bucket;
}
