/** Unix time in whole microseconds, UTC. */
export type Clock = () => number;

export const systemClock: Clock = () => Math.floor((performance.timeOrigin + performance.now()) * 1000);
