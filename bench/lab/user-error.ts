/** What whoever runs the bench can mend: told in one line, without a stack. */
export class UserError extends Error {}
