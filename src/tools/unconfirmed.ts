/** A command is done, and what it has found needs somebody's word: an exit code of its own, so that no script takes it for good. */
export class Unconfirmed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Unconfirmed';
  }
}
