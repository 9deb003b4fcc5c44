import { hold } from '../finding.ts';
import { limits } from '../limits.ts';
import type { Batch } from '../batch.ts';
import type { ModelOrganization } from '../model.ts';
import type { Operation, World } from '../world.ts';
import { postEvents, postPath, send, writersOf } from './post.ts';

/** Repeats requests, beside bodies of others. */

interface Keyed {
  readonly organization: ModelOrganization;
  readonly batch: Batch;
}

function keyed(world: World): readonly Keyed[] {
  return world.model.here.flatMap((organization) =>
    organization.batches
      .filter(
        ({ idempotencyKey, isRemembered, isRepeatable }) =>
          idempotencyKey !== undefined && isRemembered && isRepeatable,
      )
      .filter(({ headers }) => organization.goodKeys.some(({ text }) => text === headers['x-api-key']))
      .map((batch) => ({ organization, batch })),
  );
}

const repeat: Operation = {
  name: 'repeat a request',
  weight: 5,
  kind: 'actor',
  run: async (world, draw) => {
    const one = draw.pickAny(keyed(world));
    if (one === undefined) return undefined;
    const { organization, batch } = one;
    const times = draw.int(1, 3);
    let answered = 0;
    for (let n = 0; n < times; n++)
      answered += (await send(world, organization, batch)) === undefined ? 0 : 1;
    return `${organization.slug}: request ${batch.number} again, ${answered} of ${times} answered`;
  },
};

const repeatBesideOthers: Operation = {
  name: 'repeat many times beside others',
  weight: 3,
  kind: 'actor',
  run: async (world, draw) => {
    const all = keyed(world);
    if (all.length === 0) return undefined;
    const large = all.filter(({ batch }) => batch.body.length > 20_000);
    const one = draw.pick(large.length > 0 ? large : all);
    const others = writersOf(world);
    const other =
      draw.pickAny(others.filter((organization) => organization !== one.organization)) ?? others[0];
    const again = Array.from({ length: limits.repeatsAtOnce }, () =>
      send(world, one.organization, one.batch),
    );
    const mine = [0, 1].map(async () => {
      if (other === undefined || world.model.events > limits.eventsOfRunMax) return;
      await postEvents(world, other, draw, { kinds: ['plain'], count: draw.int(100, 600), ages: [50, 150] });
    });
    await Promise.all([...again, ...mine]);
    // Freed memory is reused at once.
    const readers = [one.organization, other ?? one.organization];
    const pages = Array.from({ length: limits.pagesAtOnce }, (_, n) =>
      world.read(readers[n % 2] ?? one.organization, '/api/v1/audit?limit=1000'),
    );
    await Promise.all(pages);
    return `${one.organization.slug}: request ${one.batch.number} ${limits.repeatsAtOnce} times at once, beside two of ${other?.slug}, then pages of both`;
  },
};

const anotherBody: Operation = {
  name: 'another body under a known key',
  weight: 1,
  kind: 'actor',
  run: async (world, draw) => {
    const one = draw.pickAny(
      // A restore has lost the request, so its key is free again.
      keyed(world).filter(
        ({ batch }) =>
          batch.answer !== undefined && batch.state === 'stored' && batch.idempotencyKey !== 'body',
      ),
    );
    if (one === undefined) return undefined;
    const { organization, batch } = one;
    const { 'content-encoding': _, ...headers } = batch.headers;
    const answer = await world.ask(postPath, {
      organization,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ message: { timestamp: world.model.beganMicros, action: 1 } }),
      mayBeBusy: true,
    });
    if (answer === undefined || answer.status === 503) return undefined;
    hold(
      answer.status === 422,
      'a key is good for one body',
      () => `request ${batch.number}: ${answer.status} ${answer.text}`,
    );
    return `${organization.slug}: another body under the key of request ${batch.number}: 422`;
  },
};

export const repeats: readonly Operation[] = [repeat, repeatBesideOthers, anotherBody];
