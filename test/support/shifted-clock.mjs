/**
 * For `node --import`: a process whose wall clock is wrong. It is `CLOCK_SHIFT_MS` ahead (or behind, below zero)
 * until the signal SIGUSR2 sets it right.
 */
const rightNow = Date.now;
const origin = performance.timeOrigin;
let shiftMs = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
Date.now = () => rightNow() + shiftMs;
Object.defineProperty(performance, 'timeOrigin', { get: () => origin + shiftMs });
process.on('SIGUSR2', () => {
  shiftMs = 0;
});
