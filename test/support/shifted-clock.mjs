/** For `node --import`: shifts the wall clock by `CLOCK_SHIFT_MS` until signal SIGUSR2. */
const rightNow = Date.now;
const origin = performance.timeOrigin;
let shiftMs = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
Date.now = () => rightNow() + shiftMs;
Object.defineProperty(performance, 'timeOrigin', { get: () => origin + shiftMs });
process.on('SIGUSR2', () => {
  shiftMs = 0;
});
