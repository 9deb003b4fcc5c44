/** A command has found something that a person must confirm: an exit code of its own. */
export class Unconfirmed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Unconfirmed';
  }
}
