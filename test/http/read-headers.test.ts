import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { pageLinks } from '../../src/http/read-headers.ts';

test('the next page of a search that came less far than the one before is behind what that has handed out', () => {
  const context = { head: { path: '/p' }, query: new URLSearchParams('q=word&limit=10') };
  const nextOf = (offset: number, total: number, searchedBackTo?: string) => {
    const links = pageLinks(context as never, { limit: 10, offset }, { total, searchedBackTo });
    const query = /<[^>]*\?([^>]*)>; rel="next"/.exec(String(links['Link']))?.[1];
    const { offset: to, endTime } = Object.fromEntries(new URLSearchParams(query));
    return [to, endTime];
  };
  const back = '2026-01-01T00:00:00Z';
  assert.deepEqual(nextOf(10, 4, back), ['6', back]);
  assert.deepEqual(nextOf(10, 14, back), ['0', back]);
  assert.deepEqual(nextOf(10, 24, back), ['20', undefined]);
  assert.deepEqual(nextOf(10, 14), [undefined, undefined]);
});
