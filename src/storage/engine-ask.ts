import { request } from 'node:http';
import { limits } from './limits.ts';
import { shortMessage } from './response-body.ts';
import { EngineError } from '../base/engine-error.ts';
import type { EngineConnection } from './storage.ts';

/**
 * One small statement over a connection of its own, closed after it: for starting and stopping the engine, where a
 * pooled connection would hold up its exit by seconds.
 *
 * @returns the text of the answer; rejects with an EngineError after `timeoutMs` at the latest
 */
export function askEngine(connection: EngineConnection, sql: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(connection.url, {
      method: 'POST',
      agent: false,
      auth: `${connection.user}:${connection.password}`,
      headers: { ...connection.headers, Connection: 'close' },
      signal: AbortSignal.timeout(timeoutMs),
    });
    outgoing.on('error', (error) => {
      reject(new EngineError('unreachable', shortMessage(error.message), undefined, error));
    });
    outgoing.on('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        if (text.length < limits.engineStderrBytesMax) text += part;
      });
      answer.on('error', (error) => {
        reject(new EngineError('unreachable', shortMessage(error.message), undefined, error));
      });
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(text);
        else reject(new EngineError('refused', shortMessage(text)));
      });
    });
    outgoing.end(sql);
  });
}
