/** Unix time in whole microseconds, UTC. Injected where a test needs to hold time still. */
export type Clock = () => number;

export const systemClock: Clock = () => Math.floor((performance.timeOrigin + performance.now()) * 1000);
