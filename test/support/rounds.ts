/** Rounds of a test that looks for what happens seldom: `few` in the suite, `many` with TEST_ROUNDS=many. */
export function rounds(few: number, many: number): number {
  return process.env['TEST_ROUNDS'] === 'many' ? many : few;
}

/** Why a test that takes long, and finds what shorter ones hardly leave, is skipped; false with TEST_ROUNDS=many. */
export const skippedForLength =
  process.env['TEST_ROUNDS'] === 'many' ? false : 'NOT TESTED: takes long; with TEST_ROUNDS=many only';
