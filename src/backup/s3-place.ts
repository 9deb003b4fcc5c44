import { AuditlogError } from '../client/error.ts';
import { retryPolicy, withRetries } from '../client/retry.ts';
import { requestBytes } from '../client/transport.ts';
import { limits } from './limits.ts';
import { objectUrl, type S3Access, signed } from '../tools/s3.ts';
import { latestName, type BackupPlace, requirePath } from './place.ts';

const nothing = new Uint8Array(0);
const policy = retryPolicy({}, limits.backupRetryMsMax);

/** Objects of a bucket. One is there whole or not at all, and a backup is once `latest.json` leads to it. */
export class S3Place implements BackupPlace {
  readonly name: string;
  readonly #access: S3Access;

  constructor(access: S3Access) {
    this.#access = access;
    this.name = `s3://${access.bucket}/${access.prefix}`;
  }

  async freeBytes(): Promise<undefined> {}

  async put(id: string, path: string, content: Uint8Array): Promise<void> {
    requirePath(id, path);
    await this.#call('PUT', `${id}/${path}`, content);
  }

  get(id: string, path: string): Promise<Buffer | undefined> {
    requirePath(id, path);
    return this.#get(`${id}/${path}`);
  }

  async finish(_id: string, latest: string): Promise<void> {
    await this.#call('PUT', latestName, Buffer.from(latest));
  }

  /** What was put stays, and nothing leads to it: a rule of the bucket for old objects removes it. */
  async abandon(): Promise<void> {}

  async latest(): Promise<string | undefined> {
    return (await this.#get(latestName))?.toString('utf8');
  }

  async unfinished(): Promise<string[]> {
    return [];
  }

  async #get(name: string): Promise<Buffer | undefined> {
    try {
      return await this.#call('GET', name, nothing);
    } catch (error) {
      if (error instanceof AuditlogError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #call(method: 'GET' | 'PUT', name: string, body: Uint8Array): Promise<Buffer> {
    try {
      return await withRetries(policy, {}, async () => {
        const call = await signed(this.#access, method, objectUrl(this.#access, name), body);
        const { buffer, byteOffset, byteLength } = await requestBytes({
          method,
          url: call.url,
          headers: Object.fromEntries(call.headers),
          ...(method === 'PUT' && { body }),
          timeoutMs: limits.backupRequestMsMax,
          responseBytesMax: limits.backupFileBytesMax,
        });
        return Buffer.from(buffer, byteOffset, byteLength);
      });
    } catch (error) {
      if (!(error instanceof AuditlogError) || (method === 'GET' && error.status === 404)) throw error;
      const { status } = error;
      const what = status === undefined ? error.message : `the service answered ${status}`;
      throw new Error(`${this.name}${name}: ${what}`, { cause: error });
    }
  }
}
