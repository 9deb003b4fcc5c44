/** The folder of the project, also for tests that `npm test` has compiled. */
export const projectRoot = new URL(import.meta.url.endsWith('.ts') ? '../../' : '../../../', import.meta.url);
