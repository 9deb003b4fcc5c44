import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { readFilter, readLimit, readOffset, readPageRequest, whereClause } from '../../src/read/filter.ts';

const organization = { id: '11111111-2222-3333-4444-555555555555', slug: 'own-slug' };
const uuid = 'ABCDEFAB-0000-4000-8000-00000000000f';

const parse = (query: string) => {
  const parameters = new URLSearchParams(query);
  return readPageRequest((name) => parameters.get(name) ?? undefined, organization);
};
const filterOf = (query: string) => parse(query).filter;

describe('limit and offset', () => {
  it('have defaults, also for what is no plain decimal', () => {
    const odd = ['', ' 5', '5 ', '+5', '-5', '0x5', '5e1', '5.0', '1_0', '५', 'five', '0', '-0', '00'];
    for (const text of odd) assert.equal(readLimit(text, 50, 1000), 50, JSON.stringify(text));
    for (const text of odd.slice(0, -3)) assert.equal(readOffset(text), 0, JSON.stringify(text));
    assert.deepEqual(parse(''), { filter: {}, limit: 50, offset: 0 });
  });

  it('are taken where they are good, a limit capped however long it is, an offset only where it is exact', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.nat(3), (value, zeros) => {
        const text = '0'.repeat(zeros) + value.toString();
        const expected = value === 0n ? 50 : Number(value > 1000n ? 1000n : value);
        assert.equal(readLimit(text, 50, 1000), expected);
        assert.equal(readOffset(text), value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : 0);
      }),
    );
    assert.equal(readLimit('9'.repeat(5000), 50, 1000), 1000);
    assert.equal(readOffset('9007199254740991'), 9007199254740991);
    assert.equal(readOffset('9007199254740992'), 0);
  });
});

describe('time filters', () => {
  it('need an offset; a plus sign may have become a space; digits beyond microseconds are cut', () => {
    const micros = 1_704_164_645_678_901;
    for (const text of [
      '2024-01-02T03:04:05.678901Z',
      '2024-01-02T03:04:05.678901999z',
      '2024-01-02T05:04:05.678901+02:00',
      '2024-01-02T05:04:05.678901%2B02:00',
      '2024-01-01T21:34:05.678901-05:30',
    ]) {
      assert.deepEqual(filterOf(`startTime=${text}`), { fromMicros: micros }, text);
      assert.deepEqual(filterOf(`endTime=${text}`), { toMicros: micros }, text);
    }
  });

  it('are ignored where they are invalid', () => {
    for (const text of [
      '',
      'now',
      '2024-01-02',
      '2024-01-02T03:04:05',
      '2024-02-30T00:00:00Z',
      '2023-02-29T00:00:00Z',
      '2024-13-01T00:00:00Z',
      '2024-01-01T24:00:00Z',
      '2024-01-01T00:00:61Z',
      '2024-01-01T00:00:20%2B24:00',
      '2024-01-01T00:00:20.1234567891Z',
      '12024-01-01T00:00:20Z',
      '2024-01-01T00:00:20Z%20',
      '2024-01-01T00:00:20Z%00',
      '1704164645',
    ]) {
      assert.deepEqual(filterOf(`startTime=${text}&endTime=${text}`), {}, text);
    }
  });

  it('from years that no event can have are held just outside of those that it can', () => {
    assert.deepEqual(filterOf('startTime=0001-01-01T00:00:00Z&endTime=9999-12-31T23:59:59Z'), {
      fromMicros: -1,
      toMicros: 7_258_118_400_000_001,
    });
  });
});

describe('text filters', () => {
  it('are lower-cased; empty ones are none', () => {
    assert.deepEqual(filterOf('actor=%C3%84nn@X.Org&userId=U-1&fileName=%E6%97%A5%20A.TXT&fileHash=ABC'), {
      actorEmail: 'änn@x.org',
      actorId: 'u-1',
      name: '日 a.txt',
      fileHash: 'abc',
    });
    assert.deepEqual(filterOf('actor=&userId=&fileName=&fileHash=&flowId=&orgId='), {});
    assert.deepEqual(filterOf('actor=%20'), { actorEmail: ' ' });
  });

  it('take a flow id in any case and ignore what is none; the nil one matches nothing', () => {
    assert.deepEqual(filterOf(`flowId=${uuid}`), { flowId: uuid.toLowerCase() });
    for (const text of ['x', `{${uuid}}`, `${uuid}0`, uuid.replaceAll('-', '')]) {
      assert.deepEqual(filterOf(`flowId=${text}`), {}, text);
    }
    assert.equal(filterOf('flowId=00000000-0000-0000-0000-000000000000').nothing, true);
  });

  it('let another organization match nothing', () => {
    assert.deepEqual(filterOf(`orgId=${organization.id.toUpperCase()}`), {});
    assert.deepEqual(filterOf('orgId=own-slug'), {});
    assert.deepEqual(filterOf('orgId=Own-Slug'), {});
    assert.deepEqual(filterOf(`orgId=${uuid}`), { nothing: true });
    assert.deepEqual(filterOf('orgId=acme'), { nothing: true });
  });

  it('count by their first value', () => {
    assert.deepEqual(filterOf('actor=a@x&actor=b@x'), { actorEmail: 'a@x' });
  });
});

describe('conditions', () => {
  it('bind every value and always name the organization', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (actor, name) => {
        const values: Record<string, string> = { actor, fileName: name, startTime: '2024-01-01T00:00:00Z' };
        const where = whereClause(
          organization.id,
          readFilter((of) => values[of], organization),
        );
        const plain = whereClause(
          organization.id,
          readFilter((of) => ({ ...values, actor: 'a', fileName: 'b' })[of], organization),
        );
        assert.equal(where.sql, plain.sql);
        assert.ok(where.sql.startsWith('org = {org:UUID} AND '));
        assert.equal(where.parameters['actor_email'], actor.toLowerCase());
        assert.equal(where.parameters['name'], name.toLowerCase());
      }),
    );
    assert.match(whereClause(organization.id, { nothing: true }).sql, / AND 0$/);
  });
});
