import { strict as assert } from 'node:assert';
import { EventEmitter } from 'node:events';
import { mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Channel } from '../../src/processes/channel.ts';
import { Place } from '../../src/processes/place.ts';
import type { ToFrontEnd, ToSupervisor } from '../../src/processes/questions.ts';

/** The two ends of what Node makes for a child process; messages pass as JSON. */
class End extends EventEmitter {
  connected = true;
  other: End | undefined;

  send(message: unknown, sent: (error: Error | null) => void): boolean {
    const text = JSON.stringify(message);
    setImmediate(() => this.other?.emit('message', JSON.parse(text)));
    sent(null);
    return true;
  }

  cut(): void {
    for (const end of [this, this.other]) {
      if (end === undefined) continue;
      end.connected = false;
      end.emit('disconnect');
    }
  }
}

type Asked = {
  double: { given: number; got: number };
  fail: { given: undefined; got: void };
  never: { given: undefined; got: void };
};
/** What this side asks and the other has never heard of. */
type Unknown = Asked & { what: { given: undefined; got: void } };

const answers = {
  double: async (number: number) => number * 2,
  fail: async () => Promise.reject(new Error('that cannot be')),
  never: () => new Promise<void>(() => undefined),
};

function pair() {
  const [here, there] = [new End(), new End()];
  here.other = there;
  there.other = here;
  const asking = new Channel<Unknown, Asked>(here, answers);
  // It answers from now on.
  void new Channel<Asked, Asked>(there, answers);
  return { here, asking };
}

test('each question gets its own answer, or the words of its failure', async () => {
  const { asking } = pair();
  assert.deepEqual(await Promise.all([1, 2, 3].map((n) => asking.ask('double', n))), [2, 4, 6]);
  await assert.rejects(asking.ask('fail', undefined), /that cannot be/);
  await assert.rejects(asking.ask('what', undefined), /nobody answers "what"/);
});

test('a question ends when its time is over, and when the other side goes', async () => {
  const { here, asking } = pair();
  await assert.rejects(asking.ask('never', undefined, 20), /did not answer "never" in time/);
  const waiting = asking.ask('never', undefined, 60_000);
  setImmediate(() => here.cut());
  await assert.rejects(waiting, /has gone/);
  await assert.rejects(asking.ask('double', 1), /has gone/);
});

test('a front end waits for its parent to announce it, also by way of a disk that is slow', async (t) => {
  const [here, there] = [new End(), new End()];
  here.other = there;
  there.other = here;
  let announced = (): void => undefined;
  type Parent = Pick<ToSupervisor, 'task' | 'listening'>;
  void new Channel<ToFrontEnd, Parent>(there, {
    task: async () => ({ number: 1, processes: 2, port: 0, engine: undefined }),
    listening: () => new Promise((resolve) => (announced = resolve)),
  });
  const place = await Place.take(
    here,
    () => [],
    () => undefined,
  );
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const listening = place.listening({ port: 8080 });
  await turn();
  mock.timers.tick(30_000);
  announced();
  await listening;
});

test('a front end waits for its task from a parent that is busy: without one the whole server would end', async (t) => {
  const [here, there] = [new End(), new End()];
  here.other = there;
  there.other = here;
  type Task = ToSupervisor['task']['got'];
  let give: (task: Task) => void = () => undefined;
  void new Channel<ToFrontEnd, Pick<ToSupervisor, 'task'>>(there, {
    task: () => new Promise((resolve) => (give = resolve)),
  });
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const taking = Place.take(
    here,
    () => [],
    () => undefined,
  );
  await turn();
  mock.timers.tick(30_000);
  give({ number: 2, processes: 2, port: 0, engine: undefined });
  assert.equal((await taking).number, 2);
});
