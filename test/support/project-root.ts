/** With a trailing slash. */
export const projectRoot = new URL('../../', import.meta.url);
