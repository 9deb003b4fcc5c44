import { closeSync, openSync, readSync } from 'node:fs';
import { createHistogram } from '../stats/histogram.ts';
import { type Connection, createConnection } from './connection.ts';
import { setTimesToNow } from './present.ts';
import { epochMs, type Job, type JobResult, type Step, type WireRequest } from './job.ts';

const failedShownMax = 3;
/** A body up to this size is sent in one write with its head. */
const joinedBytesMax = 64 * 1024;

/** Reads all bodies of a job before it begins, so that no file is touched while it is measured. */
function loadBodies({ steps, dataFile }: Job): (request: WireRequest) => Buffer | undefined {
  const bodies = steps.flat().flatMap(({ body }) => (body === undefined ? [] : [body]));
  if (dataFile === undefined || bodies.length === 0) return () => undefined;
  const first = bodies.reduce((lowest, { offset }) => Math.min(lowest, offset), Number.MAX_SAFE_INTEGER);
  const last = bodies.reduce((highest, { offset, length }) => Math.max(highest, offset + length), 0);
  const bytes = Buffer.allocUnsafeSlow(last - first);
  const file = openSync(dataFile, 'r');
  for (let at = 0; at < bytes.length; ) {
    const read = readSync(file, bytes, at, Math.min(bytes.length - at, 1 << 30), first + at);
    if (read === 0) throw new Error(`${dataFile} is shorter than the job says`);
    at += read;
  }
  closeSync(file);
  return ({ body }) => body && bytes.subarray(body.offset - first, body.offset - first + body.length);
}

/** The bytes of each request, made once. */
function createRequests(job: Job): (request: WireRequest) => readonly Buffer[] {
  const bodyOf = loadBodies(job);
  const made = new Map<WireRequest, readonly Buffer[]>();
  return (request) => {
    let parts = made.get(request);
    if (parts === undefined) {
      const body = bodyOf(request);
      const head = Buffer.from(`${job.heads[request.head]}Content-Length: ${body?.length ?? 0}\r\n\r\n`);
      if (body === undefined) parts = [head];
      else if (body.length <= joinedBytesMax) parts = [Buffer.concat([head, body])];
      else parts = [head, body];
      made.set(request, parts);
    }
    return parts;
  };
}

/** Runs a job to its end; the clients share this thread. Rejects only if the job cannot start. */
export async function runJob(job: Job): Promise<JobResult> {
  const requestParts = createRequests(job);
  // Made before the start: concatenation is not part of the load.
  for (const step of job.steps) for (const request of step) requestParts(request);
  const latency = createHistogram();
  const failed: string[] = [];
  const done = { steps: 0, bytes: 0, failures: 0 };
  const connections: Connection[] = [];
  const perClient = job.steps.reduce((most, step) => Math.max(most, step.length), 0);
  const stepsMax = 'steps' in job.stop ? job.stop.steps : Number.MAX_SAFE_INTEGER;
  const pauseMs = job.stepsPerSecond === undefined ? 0 : 1000 / job.stepsPerSecond;
  const cpuBefore = process.cpuUsage();
  const startedMs = epochMs();
  const began = performance.now();
  const endMs = 'seconds' in job.stop ? began + job.stop.seconds * 1000 : Number.MAX_SAFE_INTEGER;
  let next = 0;

  function client(resolve: () => void): void {
    const own = Array.from({ length: perClient }, (_, index) => {
      const target = job.targets[job.steps[0]?.[index]?.target ?? 0] ?? { host: '', port: 0 };
      return createConnection(target);
    });
    connections.push(...own);
    const turn = (): void => {
      if (next >= stepsMax || performance.now() >= endMs) return resolve();
      const number = next++;
      const step = job.steps[number % job.steps.length] as Step;
      const due = began + number * pauseMs;
      const wait = pauseMs === 0 ? 0 : due - performance.now();
      if (due >= endMs) return resolve();
      if (wait > 0.5) setTimeout(send, wait, step, due);
      else send(step, pauseMs === 0 ? performance.now() : due);
    };
    const send = (step: Step, due: number): void => {
      let left = step.length;
      for (const [index, request] of step.entries()) {
        const parts = requestParts(request);
        if (job.setTimesToNow === true) for (const part of parts) setTimesToNow(part);
        (own[index] as Connection).send(parts, (status, bytes) => {
          done.bytes += bytes;
          if (status !== job.status) {
            done.failures += 1;
            if (failed.length < failedShownMax) {
              failed.push(status === 0 ? 'the connection broke' : `status ${status}`);
            }
          }
          left -= 1;
          if (left > 0) return;
          latency.record((performance.now() - due) * 1000);
          done.steps += 1;
          // Without a server, this would loop for ever.
          if (done.failures > 100) return resolve();
          turn();
        });
      }
    };
    turn();
  }

  await Promise.all(Array.from({ length: job.clients }, () => new Promise<void>(client)));
  const endedMs = epochMs();
  const { user, system } = process.cpuUsage(cpuBefore);
  for (const connection of connections) connection.close();
  return {
    steps: done.steps,
    startedMs,
    endedMs,
    bytesReceived: done.bytes,
    latency: latency.data(),
    cpuMicros: user + system,
    failures: done.failures,
    failed,
  };
}
