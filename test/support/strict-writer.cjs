/**
 * Loaded before the service and its commands in tests (`--require`): every JSON answer that fast-json-stringify writes
 * must hold what it was given. The library drops members that the schema does not name, and turns values into the type
 * that it names; here both throw, so a test meets a 500, or a command that fails.
 */
const assert = require('node:assert/strict');
const Module = require('node:module');

const load = Module._load;
Module._load = function (request, ...rest) {
  const loaded = load.call(this, request, ...rest);
  return request === 'fast-json-stringify' ? strict(loaded) : loaded;
};

function strict(build) {
  return (schema, options) => {
    const write = build(schema, options);
    return (value) => {
      const text = write(value);
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)), `an answer of ${schema.$ref}`);
      return text;
    };
  };
}
