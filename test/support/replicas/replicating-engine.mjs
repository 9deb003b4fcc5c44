/**
 * Preloaded (`node --import`) into the process of an engine. It changes four places of the library in memory, so that
 * replicas can fetch parts from each other and outlive each other: README.md says why. All addresses belong to one build
 * of the library.
 */
import { Buffer } from 'node:buffer';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { DataType, load, open } from 'ffi-rs';
import { buildIdOf, knownBuildId } from './build-id.mjs';

/** Replicas listen for each other here; `127.0.0.1` is for clients. */
const host = '127.0.0.2';
const [, , libraryPath = '', configArgument = ''] = process.argv;
const config = readFileSync(configArgument.replace('--config-file=', ''), 'utf8');
const port = Number(/<http_port>(\d+)</.exec(config)?.[1]);

const found = buildIdOf(libraryPath);
if (found !== knownBuildId)
  throw new Error(
    `libchdb.so has build id ${found}; the addresses in ${import.meta.filename} are for ${knownBuildId}`,
  );
open({ library: 'chdb', path: libraryPath });
open({ library: 'libc', path: 'libc.so.6' });

/** Where the library was loaded: its segments have their addresses from there on. */
const base = (() => {
  const first = readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .find((line) => line.endsWith('/libchdb.so') && / 00000000 /.test(line));
  if (first === undefined) throw new Error('libchdb.so is not loaded');
  return Number.parseInt(first.split('-')[0] ?? '', 16);
})();

const { I32, I64, U8Array } = DataType;
const libc = (funcName, paramsType, paramsValue) =>
  load({ library: 'libc', funcName, retType: I64, paramsType, paramsValue });

function requireBytes(address, expected) {
  const bytes = Buffer.alloc(expected.length / 2);
  const memory = openSync('/proc/self/mem', 'r');
  readSync(memory, bytes, 0, bytes.length, base + address);
  closeSync(memory);
  if (bytes.toString('hex') !== expected)
    throw new Error(`at ${address.toString(16)}: ${bytes.toString('hex')}`);
}

const [read, readWrite, readExecute, readWriteExecute] = [1, 3, 5, 7];

function writeBytes(address, bytes, accessMeanwhile, accessAfterwards) {
  const page = base + address - ((base + address) % 4096);
  const protect = (access) => libc('mprotect', [I64, I64, I32], [page, 8192, access]);
  protect(accessMeanwhile);
  libc('memcpy', [I64, U8Array, I32], [base + address, Buffer.from(bytes), bytes.length]);
  protect(accessAfterwards);
}

/** Writes code; `end` is the first address that it must not reach. */
function write(address, code, end) {
  if (address + code.length > end) throw new Error(`no room at ${address.toString(16)}`);
  writeBytes(address, code, readWriteExecute, readExecute);
}

const int32 = (number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(number);
  return [...bytes];
};
/** Eight characters of a text, from one on; zeros behind its end. */
const eight = (text, from = 0) => [...Buffer.alloc(8).fill(text.slice(from, from + 8).padEnd(8, '\0'))];
/** A jump, with its operation code, from where `code` ends. */
const jump = (address, code, operation, target) =>
  code.push(...operation, ...int32(target - (address + code.length + operation.length + 4)));

/**
 * Context::getInterserverIOAddress throws as the address is not set. In place of the throw: set host, port and scheme, which
 * are short strings and a number in the object that r14 points to, and run the function again.
 */
function announceAddress() {
  const [throwing, end, again] = [0x1417ca3c, 0x1417caa8, 0x1417c9ca];
  requireBytes(throwing, 'bf80010000');
  const code = [];
  const moveRaxTo = (offset) => [0x49, 0x89, 0x86, ...int32(offset)];
  const moveByteTo = (offset, byte) => [0x41, 0xc6, 0x86, ...int32(offset), byte];
  code.push(0x48, 0xb8, ...eight(host), ...moveRaxTo(0x150));
  code.push(0x48, 0xb8, ...eight(host, 8), ...moveRaxTo(0x158), ...moveByteTo(0x167, host.length));
  code.push(0x48, 0xb8, ...eight('http'), ...moveRaxTo(0x170), ...moveByteTo(0x187, 4));
  code.push(0x66, 0x41, 0xc7, 0x86, ...int32(0x168), port & 255, port >> 8);
  jump(throwing, code, [0xe9], again);
  write(throwing, code, end);
}

/** createHandlerFactory: the listener at the second `listen_host` gets the handler for replicas, all others the one for HTTP. */
function listenToReplicas() {
  const [comparison, http, other, replicas] = [0x18395d32, 0x18395ffa, 0x18395d38, 0x18395dbc];
  const [cave, caveEnd, counter] = [0x1417cb02, 0x1417cb40, 0x22b98900];
  requireBytes(comparison, '0f84c2020000');
  const code = [];
  jump(cave, code, [0x0f, 0x85], other);
  code.push(0xb8, 1, 0, 0, 0); // mov eax, 1
  jump(cave, code, [0xf0, 0x0f, 0xc1, 0x05], counter); // lock xadd [counter], eax
  code.push(0x83, 0xf8, 1); // cmp eax, 1
  jump(cave, code, [0x0f, 0x84], replicas);
  jump(cave, code, [0xe9], http);
  write(cave, code, caveEnd);
  const detour = [];
  jump(comparison, detour, [0xe9], cave);
  write(comparison, [...detour, 0x90], comparison + 6);
}

/**
 * Context::getInterserverCredentials returns null, as nothing sets them. Who fetches a part gets empty ones (zeroed memory);
 * the handler of replicas, which the return address tells apart, still gets null.
 */
function emptyCredentials() {
  const [returning, cave, caveEnd] = [0x1417c977, 0x1417c983, 0x1417c9c0];
  const [empty, firstAddressOfHandlers] = [0x22b98a00, 0x18380000];
  requireBytes(returning, '4c89f04c89fa5b415e415fc3');
  const code = [0x4c, 0x89, 0xf0, 0x4c, 0x89, 0xfa, 0x48, 0x85, 0xc0, 0x75, 21]; // not null: return it
  jump(cave, code, [0x48, 0x8d, 0x0d], firstAddressOfHandlers);
  code.push(0x48, 0x39, 0x4c, 0x24, 0x18, 0x77, 0x07); // called by a handler: return null
  jump(cave, code, [0x48, 0x8d, 0x05], empty);
  code.push(0x5b, 0x41, 0x5e, 0x41, 0x5f, 0xc3);
  write(cave, code, caveEnd);
  const detour = [];
  jump(returning, detour, [0xe9], cave);
  write(returning, detour, returning + 12);
}

/**
 * KillingErrorHandler ends the process once a connection breaks while its thread writes; a server logs that and goes on.
 * Its table of functions has the destructor first, which does nothing. That takes the place of the three that terminate.
 */
function outliveConnections() {
  const [table, destructor, terminating] = [0x21138b98, 0x9175380, 0xf113480];
  const pointer = (address) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(base + address));
    return bytes;
  };
  requireBytes(destructor, 'c3'); // ret
  for (const n of [2, 3, 4]) {
    requireBytes(table + n * 8, pointer(terminating).toString('hex'));
    writeBytes(table + n * 8, pointer(destructor), readWrite, read);
  }
}

announceAddress();
listenToReplicas();
emptyCredentials();
outliveConnections();
