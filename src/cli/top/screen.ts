import type { CliIo } from '../context.ts';
import type { FrameSpace } from './frame.ts';

const [enter, leave] = ['\u001b[?1049h\u001b[?25l', '\u001b[?25h\u001b[?1049l'];
const [home, clearLine, clearBelow] = ['\u001b[H', '\u001b[K', '\u001b[J'];
const endOfText = '\u0003';

/** A terminal that is drawn on from the top again and again, and is afterwards what it was before. */
export class Screen {
  readonly #io: CliIo;
  readonly #hasColour: boolean;
  #onKey: ((keys: string | Buffer) => void) | undefined;

  private constructor(io: CliIo, hasColour: boolean) {
    this.#io = io;
    this.#hasColour = hasColour;
  }

  /** Does `work` with a screen, and restores the terminal whatever becomes of it. `quit` is called for q and Ctrl-C. */
  static async with<T>(
    io: CliIo,
    hasColour: boolean,
    quit: () => void,
    work: (screen: Screen) => Promise<T>,
  ): Promise<T> {
    const screen = new Screen(io, hasColour);
    try {
      screen.#begin(quit);
      return await work(screen);
    } finally {
      screen.#end();
    }
  }

  get space(): FrameSpace {
    return spaceOf(this.#io, this.#hasColour);
  }

  draw(lines: readonly string[]): void {
    this.#io.out(`${home}${lines.map((line) => `${line}${clearLine}`).join('\r\n')}${clearBelow}`);
  }

  #begin(quit: () => void): void {
    const { input } = this.#io;
    this.#io.out(enter);
    if (!('isTTY' in input && input.isTTY)) return;
    this.#onKey = (keys) => {
      if (/q/i.test(String(keys)) || String(keys).includes(endOfText)) quit();
    };
    input.setRawMode(true);
    input.on('data', this.#onKey);
    input.resume();
  }

  #end(): void {
    const { input } = this.#io;
    if (this.#onKey !== undefined && 'isTTY' in input) {
      input.off('data', this.#onKey);
      input.setRawMode(false);
      input.pause();
    }
    this.#io.out(leave);
  }
}

/** The room that there is; no end of it where output is no terminal. */
export function spaceOf({ output }: CliIo, hasColour: boolean): FrameSpace {
  const { columns, rows } = output as { columns?: number; rows?: number };
  const isColoured = hasColour && isTerminal(output);
  return { columns: columns ?? Number.POSITIVE_INFINITY, rows: rows ?? Number.POSITIVE_INFINITY, isColoured };
}

export function isTerminal(output: NodeJS.WritableStream): boolean {
  return 'isTTY' in output && output.isTTY === true;
}
