import { readFile } from 'node:fs/promises';
import { isIPv6, type Socket } from 'node:net';
import { errorCode } from '../../base/errors/system-error.ts';

export interface TcpFacts {
  readonly unacknowledged: number;
  /** This side closed, and the other system acknowledged everything. */
  readonly isEndTaken: boolean;
}

/** FIN_WAIT2 and TIME_WAIT, in the kernel's numbers. */
const endTakenStates: readonly string[] = ['05', '06'];

export interface TcpEnds {
  readonly table: string;
  readonly text: string;
}

export function tcpEnds(socket: Socket): TcpEnds | undefined {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (localAddress === undefined || localPort === undefined) return undefined;
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  const text = ` ${endText(localAddress, localPort)} ${endText(remoteAddress, remotePort)} `;
  return { table: isIPv6(localAddress) ? '/proc/net/tcp6' : '/proc/net/tcp', text };
}

/** Undefined if the system has no such connection or table. */
export async function tcpFacts({ table, text }: TcpEnds): Promise<TcpFacts | undefined> {
  let lines: string;
  try {
    lines = await readFile(table, 'latin1');
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
  const at = lines.indexOf(text);
  if (at === -1) return undefined;
  // After the addresses: state, then queues as `sent:received`, all in hexadecimal.
  const [state = '', queues = ''] = lines.slice(at + text.length, at + text.length + 32).split(' ');
  return { unacknowledged: parseInt(queues, 16), isEndTaken: endTakenStates.includes(state) };
}

function endText(address: string, port: number): string {
  const bytes = isIPv6(address) ? bytesOfIPv6(address) : Uint8Array.from(address.split('.'), Number);
  // The kernel prints four-byte words in this machine's byte order.
  const words = Array.from(new Uint32Array(bytes.buffer), (word) => word.toString(16).padStart(8, '0'));
  return `${words.join('')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

function bytesOfIPv6(address: string): Uint8Array<ArrayBuffer> {
  const [plain = ''] = address.split('%');
  const grouped = plain.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a, b, c, d] = parts.slice(0, 4).map((part) => Number(part).toString(16).padStart(2, '0'));
    return `${a}${b}:${c}${d}`;
  });
  const [before = '', after] = grouped.split('::');
  const groupsOf = (text: string | undefined) => (text ? text.split(':') : []);
  const [first, last] = [groupsOf(before), groupsOf(after)];
  const groups = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
  return Uint8Array.from(
    groups.flatMap((group) => {
      const value = parseInt(group, 16);
      return [value >> 8, value & 255];
    }),
  );
}
