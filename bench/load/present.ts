const member = Buffer.from('"timestamp":"');
const secondLength = '2026-01-01T00:00:00'.length;

/** Sets the times of the demo's events in a body to this second; fractions stay. */
export function setTimesToNow(body: Buffer, now = new Date()): void {
  const second = now.toISOString().slice(0, secondLength);
  for (let at = body.indexOf(member); at !== -1; at = body.indexOf(member, at + secondLength)) {
    at += member.length;
    body.write(second, at, 'latin1');
  }
}
