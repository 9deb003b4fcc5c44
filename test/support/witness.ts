import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseCheckpoint, type TreeHead } from '../../src/tlog/checkpoint.ts';
import { cosign, NoteError, parseVerifierKey, verifyNote, witnessKey } from '../../src/tlog/note.ts';
import { isConsistent } from './consistency.ts';

type Answer = readonly [status: number, text: string, type?: string];

/** A witness as C2SP tlog-witness wants one: strict about everything, with what it has cosigned in memory. */
export class TestWitness {
  readonly key: string;
  readonly #name: string;
  readonly #seed: Buffer;
  readonly #logKeyOf: (origin: string) => string;
  readonly #heads = new Map<string, TreeHead>();
  readonly #server: Server;
  /** Statuses of its answers, in their order. */
  readonly answers: number[] = [];
  /** Takes requests and answers none; signs for something else. */
  isSilent = false;
  isLying = false;

  /** `logKeyOf` tells the key that a log of this origin must have signed with. */
  constructor(name: string, logKeyOf: (origin: string) => string) {
    this.#name = name;
    this.#seed = Buffer.alloc(32, name);
    this.#logKeyOf = logKeyOf;
    this.key = witnessKey(name, this.#seed);
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** Resolves with its address. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/witness`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request).catch(() => undefined);
    if (this.isSilent || body === undefined) return;
    const isCall = request.method === 'POST' && request.url === '/witness/add-checkpoint';
    const [status, content, type = 'text/plain'] = isCall ? this.#judge(body) : [404, ''];
    this.answers.push(status);
    response.writeHead(status, { 'Content-Type': type }).end(content);
  }

  #judge(body: string): Answer {
    const border = body.indexOf('\n\n');
    const [old = '', ...lines] = body.slice(0, border).split('\n');
    const [, digits] = /^old (0|[1-9]\d*)$/.exec(old) ?? [];
    const proof = lines.map((line) => Buffer.from(line, 'base64'));
    const isProof = proof.every((hash, n) => hash.length === 32 && hash.toString('base64') === lines[n]);
    if (border < 0 || digits === undefined || !isProof || lines.length > 63) return [400, ''];
    try {
      const checkpoint = parseCheckpoint(body.slice(border + 2));
      const { note, origin, size } = checkpoint;
      verifyNote(note, [parseVerifierKey(this.#logKeyOf(origin))]);
      if (Number(digits) > size) return [400, ''];
      const known = this.#heads.get(origin);
      if (Number(digits) !== (known?.size ?? 0)) return [409, `${known?.size ?? 0}\n`, 'text/x.tlog.size'];
      const isSame = known === undefined ? proof.length === 0 : isConsistent(known, checkpoint, proof);
      if (!isSame) return [422, ''];
      this.#heads.set(origin, checkpoint);
      const signedText = this.isLying ? note.text.replace(/^/, 'x') : note.text;
      return [200, cosign(this.#name, this.#seed, signedText, Math.floor(Date.now() / 1000))];
    } catch (error) {
      return error instanceof NoteError ? [403, error.message] : [500, String(error)];
    }
  }
}
