import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventHead, eventTail } from '../../src/ocsf/envelope.ts';

test('head and tail are the constants of every event, around what varies', () => {
  const tail = eventTail({ vendorName: 'V "1" \\', productName: 'P\n' });
  assert.deepEqual(JSON.parse(`${eventHead}"time":1,"metadata":{"logged_time":2${tail}`), {
    category_name: 'Audit',
    category_uid: 3,
    class_name: 'Application Activity',
    class_uid: 3001,
    type_uid: 300101,
    time: 1,
    metadata: { logged_time: 2, product: { name: 'P\n', vendor_name: 'V "1" \\' }, version: '1.1.0' },
  });
});
