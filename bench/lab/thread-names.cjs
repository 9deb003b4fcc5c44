'use strict';

/**
 * Required into every program that a lab starts, and into its worker threads: each says which thread of the kernel it is. The
 * threads that are there before the first line of a program are the runtime's own: its collector and compiler.
 */
const { appendFileSync, readdirSync, readlinkSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const thread = readlinkSync('/proc/thread-self').split('/').at(-1);
const line = (name, threads) => `${process.pid} ${name} ${threads.join(',')}\n`;
const text = isMainThread
  ? line('runtime', readdirSync('/proc/self/task')) + line('main', [thread])
  : line('workers', [thread]);
appendFileSync(process.env.BENCH_THREADS_FILE, text);
