import { type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { connect } from 'node:tls';
import { errorCode } from '../base/errors/system-error.ts';
import { readSecretFile } from './secret.ts';
import { wrong } from './option.ts';

export interface TrustOptions {
  /** Replaces the usual authorities. */
  readonly ca?: string;
  readonly cert?: string;
  readonly certKey?: string;
}

export const trustRows = [
  ['--ca <file>', "certificates to trust in place of the system's"],
  ['--cert <file>', 'client certificate, if the service requires one'],
  ['--cert-key <file>', 'key of that certificate'],
] as const;

interface Trust {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** SHA-256 of the one certificate to trust. */
  readonly fingerprint?: string | undefined;
}

/** `fingerprint` applies if no authority is given. */
export async function trustedFetch(
  { ca, cert, certKey }: TrustOptions,
  fingerprint?: string,
): Promise<typeof fetch> {
  if ((cert === undefined) !== (certKey === undefined))
    throw wrong('--cert', 'together with --cert-key alone');
  const text = async (name: string, path: string | undefined): Promise<string | undefined> =>
    path === undefined ? undefined : readSecretFile(name, path);
  const trust: Trust = {
    ca: await text('--ca', ca),
    cert: await text('--cert', cert),
    key: await text('--cert-key', certKey),
    fingerprint: ca === undefined ? fingerprint : undefined,
  };
  if (Object.values(trust).every((one) => one === undefined)) return fetch;
  return fetchBy(new TrustingAgent(trust));
}

class TrustingAgent extends Agent {
  readonly #trust: Trust;

  constructor(trust: Trust) {
    const { ca, cert, key } = trust;
    super({ keepAlive: true, ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) });
    this.#trust = trust;
  }

  override createConnection(...[options, made]: Parameters<Agent['createConnection']>) {
    const { fingerprint } = this.#trust;
    if (fingerprint === undefined) return super.createConnection(options, made);
    // The fingerprint proves the certificate, so name and issuer do not matter.
    const socket = connect({ ...(options as object), rejectUnauthorized: false }, () => {
      if (socket.getPeerX509Certificate()?.fingerprint256 === fingerprint) return made?.(null, socket);
      const error = new Error('the certificate of the server differs from the announced one');
      socket.destroy();
      made?.(error, socket);
    });
    socket.once('error', (error) => made?.(error, socket));
    return undefined;
  }
}

const certificateCode = /CERT|LEAF_SIGNATURE|_CA$|^INVALID_PURPOSE$|^HOSTNAME_MISMATCH$/;

/** Whether a request failed because of trust, so a retry is useless. `cause` is the connection's error. */
export const isUntrusted = ({ cause }: Error): boolean => certificateCode.test(errorCode(cause) ?? '');

function fetchBy(agent: Agent): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const { method = 'GET', body, signal } = init;
    const headers = Object.fromEntries(new Headers(init.headers));
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { method, headers, ...(signal && { signal }) };
      const sent =
        url.protocol === 'https:' ? httpsRequest(url, { ...options, agent }) : httpRequest(url, options);
      sent.once('response', resolve).once('error', reject);
      sent.end(body instanceof Uint8Array ? body : undefined);
    });
    return toResponse(message);
  };
}

/** Answers of these statuses have no body, and `Response` accepts none. */
const bodiless = [204, 205, 304];

function toResponse(message: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = '' } = message;
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers))
    for (const one of [value ?? []].flat()) headers.append(name, one);
  if (!bodiless.includes(status))
    return new Response(Readable.toWeb(message) as ReadableStream, { status, statusText, headers });
  message.resume();
  return new Response(null, { status, statusText, headers });
}
