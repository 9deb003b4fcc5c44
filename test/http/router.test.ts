import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRouter, type Method } from '../../src/http/router.ts';

const route = (method: Method, path: string) => ({
  method,
  path,
  name: path,
  handler: () => ({ status: 204 }),
});

test('exact paths win over prefixes, long prefixes over short ones', () => {
  const router = createRouter([
    route('GET', '/*'),
    route('GET', '/portal/*'),
    route('GET', '/portal/x'),
    route('POST', '/portal/x'),
  ]);
  const name = (method: string, path: string): string => {
    const match = router.match(method, path);
    return match.kind === 'route' ? match.route.name : match.kind;
  };
  assert.equal(name('GET', '/portal/x'), '/portal/x');
  assert.equal(name('GET', '/portal/y/z'), '/portal/*');
  assert.equal(name('GET', '/portal'), '/*');
  assert.equal(name('PUT', '/portal/x'), 'other_method');
  assert.equal(name('OPTIONS', '/portal/x'), 'options');
  assert.deepEqual(router.match('PUT', '/portal/x'), { kind: 'other_method', allow: 'GET, POST, OPTIONS' });
  assert.equal(createRouter([route('GET', '/a')]).match('GET', '/b').kind, 'unknown_path');
});

test('a table that says the same twice is refused', () => {
  assert.throws(() => createRouter([route('GET', '/a'), route('GET', '/a')]), /two routes for GET \/a/);
});
