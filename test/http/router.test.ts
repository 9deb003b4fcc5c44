import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRouter, type Method, type Router } from '../../src/http/router.ts';

const route = (method: Method, path: string) => ({
  method,
  path,
  name: path,
  handler: () => ({ status: 204 }),
});

const paths = (router: Router) => (method: string, path: string) => {
  const match = router.match(method, path);
  return match.kind === 'route' ? [match.route.path, { ...match.parameters }] : match.kind;
};

test('paths match whole, with parameters of one segment each; a fixed path wins', () => {
  const match = paths(
    createRouter([
      route('POST', '/users/:id/disable'),
      route('POST', '/users/:id/keys/:key'),
      route('GET', '/users/:id'),
      route('GET', '/users/all'),
      route('GET', '/v1.0/:id'),
    ]),
  );
  assert.deepEqual(match('GET', '/users/all'), ['/users/all', {}]);
  assert.deepEqual(match('GET', '/users/a b.\n'), ['/users/:id', { id: 'a b.\n' }]);
  assert.deepEqual(match('POST', '/users/ann/disable'), ['/users/:id/disable', { id: 'ann' }]);
  assert.deepEqual(match('POST', '/users/ann/keys/k'), ['/users/:id/keys/:key', { id: 'ann', key: 'k' }]);
  for (const path of ['/users', '/users/', '/users//disable', '/users/a/disable/', '/x/users/a', '/v1x0/a']) {
    assert.equal(match('POST', path), 'unknown_path', path);
  }
});

test('a path with another method names its methods', () => {
  const router = createRouter([
    route('GET', '/portal/x'),
    route('POST', '/portal/x'),
    { ...route('GET', '/portal/:id/y'), head: true },
  ]);
  assert.deepEqual(router.match('PUT', '/portal/x'), { kind: 'other_method', allow: 'GET, POST, OPTIONS' });
  assert.deepEqual(router.match('OPTIONS', '/portal/x'), { kind: 'options', allow: 'GET, POST, OPTIONS' });
  assert.deepEqual(router.match('PUT', '/portal/1/y'), { kind: 'other_method', allow: 'GET, HEAD, OPTIONS' });
  assert.equal(router.match('HEAD', '/portal/1/y').kind, 'route');
});

test('a table with a duplicate is refused', () => {
  assert.throws(() => createRouter([route('GET', '/a'), route('GET', '/a')]), /two routes for GET \/a/);
  assert.throws(() => createRouter([route('GET', '/:a'), route('GET', '/:a')]), /two routes for GET \/:a/);
});
