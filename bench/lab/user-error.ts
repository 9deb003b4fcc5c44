/** A fault that the user can correct: printed in one line, without a stack. */
export class UserError extends Error {}
