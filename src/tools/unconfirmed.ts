/** A person must confirm a result: it has its own exit code. */
export class Unconfirmed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Unconfirmed';
  }
}
