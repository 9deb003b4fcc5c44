/** Rounds of a test for rare events: `few` in the suite, `many` with TEST_ROUNDS=many. */
export function rounds(few: number, many: number): number {
  return process.env['TEST_ROUNDS'] === 'many' ? many : few;
}
