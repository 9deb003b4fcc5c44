import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { readFilter, readLimit, readOffset, readPageRequest, whereClause } from '../../src/read/filter.ts';
import { QueryParameters } from '../../src/read/parameters.ts';

const organization = { id: '11111111-2222-3333-4444-555555555555', slug: 'own-slug' };
const uuid = 'ABCDEFAB-0000-4000-8000-00000000000f';

const parse = (query: string) =>
  readPageRequest(new QueryParameters(new URLSearchParams(query)), organization);
const limitOf = (limit: string) => readLimit(new QueryParameters({ limit }), 50, 1000);
const offsetOf = (offset: string) => readOffset(new QueryParameters({ offset }));
const filterOf = (query: string) => parse(query).filter;

describe('limit and offset', () => {
  it('have defaults, also for texts that are not plain decimal', () => {
    const odd = ['', ' 5', '5 ', '+5', '-5', '0x5', '5e1', '5.0', '1_0', '५', 'five', '0', '-0', '00'];
    for (const text of odd) assert.equal(limitOf(text), 50, JSON.stringify(text));
    for (const text of odd.slice(0, -3)) assert.equal(offsetOf(text), 0, JSON.stringify(text));
    assert.deepEqual(parse(''), { filter: {}, limit: 50, offset: 0 });
  });

  it('are used if valid, a limit is capped at any length, an offset only if exact', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.nat(3), (value, zeros) => {
        const text = '0'.repeat(zeros) + value.toString();
        const expected = value === 0n ? 50 : Number(value > 1000n ? 1000n : value);
        assert.equal(limitOf(text), expected);
        assert.equal(offsetOf(text), value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : 0);
      }),
    );
    assert.equal(limitOf('9'.repeat(5000)), 1000);
    assert.equal(offsetOf('9007199254740991'), 9007199254740991);
    assert.equal(offsetOf('9007199254740992'), 0);
  });
});

describe('time filters', () => {
  it('need an offset; a plus sign may have become a space; digits beyond microseconds are cut', () => {
    const micros = 1_704_164_645_678_901;
    for (const text of '2024-01-02T03:04:05.678901Z 2024-01-02T03:04:05.678901999z 2024-01-02T05:04:05.678901+02:00 2024-01-02T05:04:05.678901%2B02:00 2024-01-01T21:34:05.678901-05:30'.split(
      ' ',
    )) {
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

  it('from impossible years become the first or last possible time', () => {
    assert.deepEqual(filterOf('startTime=0001-01-01T00:00:00Z&endTime=9999-12-31T23:59:59Z'), {
      fromMicros: -1,
      toMicros: 7_258_118_400_000_001,
    });
  });
});

describe('text filters', () => {
  it('are lower-cased; empty ones are none', () => {
    assert.deepEqual(filterOf('actor=%C3%84nn@X.Org&userId=U-1&fileName=%E6%97%A5%20A.TXT&fileHash=ABC'), {
      is: { actor: 'änn@x.org', userId: 'u-1', fileName: '日 a.txt', fileHash: 'abc' },
    });
    assert.deepEqual(filterOf('actor=&userId=&fileName=&fileHash=&flowId=&orgId='), {});
    assert.deepEqual(filterOf('actor=%20'), { is: { actor: ' ' } });
  });

  it('accept a flow id in any case and ignore invalid ones; the nil one matches nothing', () => {
    assert.deepEqual(filterOf(`flowId=${uuid}`), { is: { flowId: uuid.toLowerCase() } });
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
    assert.deepEqual(filterOf('actor=a@x&actor=b@x'), { is: { actor: 'a@x' } });
  });
});

describe('lists and words', () => {
  it('have up to twenty values, a comma in one encoded; one that cannot be meant makes the list none', () => {
    const values = (query: string) => {
      const parameters = new QueryParameters(new URLSearchParams(query));
      return [readFilter(parameters, organization), parameters.ignored()];
    };
    assert.deepEqual(values('fileName.in=A%2CB%252Cc%2C100%25%2C%2C'), [
      { in: { fileName: ['a', 'b,c', '100%'] } },
      [],
    ]);
    assert.deepEqual(values('activity.not=1,-2'), [{ not: { activity: ['1', '-2'] } }, []]);
    assert.deepEqual(values('activity.in=7'), [{ is: { activity: '7' } }, []]);
    assert.deepEqual(values('activity.in=7&activity=8'), [
      { is: { activity: '8' }, in: { activity: ['7'] } },
      [],
    ]);
    assert.deepEqual(values('activity.in=1,x'), [{}, ['activity.in']]);
    const many = Array.from({ length: 21 }, (_, index) => index);
    assert.deepEqual(values(`activity.in=${many.join(',')}`), [{}, ['activity.in']]);
    assert.deepEqual(values('severity.in=HIGH,medium&status=FAILURE'), [
      { is: { status: 'Failure' }, in: { severity: ['High', 'Medium'] } },
      [],
    ]);
    const nil = '00000000-0000-0000-0000-000000000000';
    assert.deepEqual(values(`flowId.in=${nil}`), [{ nothing: true }, []]);
    assert.deepEqual(values(`flowId.not=${nil}`), [{}, []]);
    assert.deepEqual(values('orgId.in=acme,own-slug'), [{}, []]);
    assert.deepEqual(values('orgId.not=acme'), [{}, []]);
    assert.deepEqual(values('orgId.not=own-slug'), [{ nothing: true }, []]);
    assert.deepEqual(values('q=%20Two%09words%20'), [{ words: ['Two', 'words'] }, []]);
    assert.deepEqual(values(`q=${many.join('+')}`), [{}, ['q']]);
    assert.deepEqual(values(`q=a+${'b'.repeat(256)}`), [{}, ['q']]);
  });

  it('know addresses and ranges, however they are written', () => {
    const range = (text: string) => filterOf(new URLSearchParams({ ip: text }).toString()).is?.ip;
    const of = (first: string, last: string = first) => ({ first, last });
    assert.deepEqual(range('192.0.2.1'), of('0:0:0:0:0:ffff:c000:201'));
    assert.deepEqual(range('::ffff:192.0.2.1'), of('0:0:0:0:0:ffff:c000:201'));
    assert.deepEqual(range('2001:DB8::1'), of('2001:db8:0:0:0:0:0:1'));
    assert.deepEqual(range('192.0.2.77/24'), of('0:0:0:0:0:ffff:c000:200', '0:0:0:0:0:ffff:c000:2ff'));
    assert.deepEqual(range('2001:db8::/126'), of('2001:db8:0:0:0:0:0:0', '2001:db8:0:0:0:0:0:3'));
    assert.deepEqual(range('0.0.0.0/0'), of('0:0:0:0:0:ffff:0:0', '0:0:0:0:0:ffff:ffff:ffff'));
    assert.deepEqual(range('::/0'), of('0:0:0:0:0:0:0:1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'));
    const none = ':: ::/128 10.0.0 10.0.0.0/33 10.0.0.0/ 10.0.0.0/08 10.0.0.0/8/8 fe80::1%eth0 x'.split(' ');
    for (const text of none) assert.equal(range(text), undefined, text);
  });

  it('without effect are named', () => {
    const parameters = new QueryParameters(
      new URLSearchParams('actor=a&actor=b&limit=x&offset=&flowid=1&startTime=now&ip=1.2&limit=3'),
    );
    readPageRequest(parameters, organization);
    assert.deepEqual(parameters.ignored(), ['limit', 'flowid', 'startTime', 'ip']);
  });
});

describe('conditions', () => {
  it('bind every value and always name the organization', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (actor, name) => {
        const values: Record<string, string> = { actor, fileName: name, startTime: '2024-01-01T00:00:00Z' };
        const where = whereClause(organization.id, readFilter(new QueryParameters(values), organization));
        const plain = whereClause(
          organization.id,
          readFilter(new QueryParameters({ ...values, actor: 'a', fileName: 'b' }), organization),
        );
        assert.equal(where.sql, plain.sql);
        assert.ok(where.sql.startsWith('org = {org:UUID} AND '));
        assert.equal(where.parameters['actor_email'], actor.toLowerCase());
        assert.equal(where.parameters['names'], name.toLowerCase());
      }),
    );
    assert.match(whereClause(organization.id, { nothing: true }).sql, / AND 0$/);
  });
});
