import type { Draw } from './draw.ts';
import { listOf, type Profile, type ThingType } from './profile.ts';

/** A target of events. */
export interface DemoThing {
  readonly id: string;
  readonly name: string;
  /** JSON text of `message.target`. */
  readonly json: string;
}

export interface DemoFile extends DemoThing {
  readonly bytes: number;
  /**
   * JSON text of `message.sender` up to the e-mail address, and JSON members of `message.extra`, without
   * braces.
   */
  readonly senderJson: string;
  readonly extraJson: string;
}

/** Bytes of the smallest and largest usual file, by extension. */
const sizes = new Map(
  listOf(`csv 2e3 30e6; docx 15e3 3e6; dwg 100e3 20e6; edl 3e3 60e3; exr 6e6 60e6; fdx 80e3 400e3; jpg 400e3 9e6;
    json 1e3 5e6; md 500 30e3; mov 1.5e9 60e9; mp3 2e6 12e6; mp4 80e6 2.5e9; nc 10e3 4e6; pdf 40e3 15e6;
    png 1e6 40e6; pptx 2e6 90e6; psd 60e6 1.2e9; srt 30e3 140e3; step 500e3 120e6; gz 200e6 8e9; txt 500 20e3;
    wav 80e6 2e9; xlsx 12e3 8e6; zip 20e6 900e6`).map((text) => {
    const [ending = '', min, max] = text.split(' ');
    return [ending, [Number(min), Number(max)] as const];
  }),
);

const playable = /\.(mp4|mov|mp3|wav)$/;
/** Maximum of files of one name pattern: about two thousand in all. */
const filesOfPattern = 32;

export function makeThing(id: string, name: string, type: string): DemoThing {
  return { id, name, json: JSON.stringify({ id, name, type }) };
}

export function makeFile(draw: Draw, name: string, folder: string): DemoFile {
  const [min, max] = sizes.get(name.slice(name.lastIndexOf('.') + 1)) ?? [1e3, 1e6];
  const bytes = Math.floor(min * (max / min) ** draw.next());
  const facts = { fileName: name, fileSize: bytes, destination: `Drive/${folder}` };
  return {
    ...makeThing(`file_${draw.hex(12)}`, name, 'file'),
    bytes,
    senderJson: `{"file":${JSON.stringify(name)},"hash":"${draw.hex(64)}","email":`,
    extraJson: JSON.stringify(facts).slice(1, -1),
  };
}

function fileName(draw: Draw, pattern: string, projects: readonly string[]): string {
  return pattern
    .replace('{p}', draw.pick(projects))
    .replace('{n}', () => String(draw.integer(1, 60)))
    .replace('{v}', () => String(draw.integer(1, 9)))
    .replace('{m}', () => String(draw.integer(1, 12)).padStart(2, '0'));
}

/** Files and folders of one department. */
interface Shelf {
  readonly files: readonly DemoFile[];
  readonly folders: readonly DemoThing[];
}

function fillShelf(draw: Draw, folders: readonly (readonly [string, string])[], projects: string[]): Shelf {
  const files = new Map<string, DemoFile>();
  for (let copy = 0; copy < filesOfPattern; copy += 1)
    for (const [folder, patterns] of folders)
      for (const pattern of listOf(patterns)) {
        const name = fileName(draw, pattern, projects);
        if (!files.has(name)) files.set(name, makeFile(draw, name, folder));
      }
  const made = folders.map(([name]) => makeThing(`dir_${draw.hex(12)}`, name, 'folder'));
  return { files: [...files.values()], folders: made };
}

/** The files, folders, policies and so on of one organization, which recur. */
export class DemoThings {
  readonly #draw: Draw;
  readonly #shelves: ReadonlyMap<string, Shelf>;
  readonly #all: Shelf;
  readonly #recordings: readonly DemoFile[];
  readonly #things: ReadonlyMap<string, readonly DemoThing[]>;

  constructor(draw: Draw, { folders, things }: Profile) {
    this.#draw = draw;
    const entries = Object.entries(folders);
    const departments = [...new Set(entries.map(([path]) => path.split('/')[0] ?? ''))];
    const foldersOf = (name: string) => entries.filter(([path]) => path.startsWith(`${name}/`));
    const projects = listOf(things.project);
    this.#shelves = new Map(departments.map((name) => [name, fillShelf(draw, foldersOf(name), projects)]));
    const shelves = [...this.#shelves.values()];
    this.#all = {
      files: shelves.flatMap((one) => one.files),
      folders: shelves.flatMap((one) => one.folders),
    };
    this.#recordings = this.#all.files.filter(({ name }) => playable.test(name));
    const make = (type: string) => (name: string) =>
      makeThing(`${type.toLowerCase()}_${draw.hex(12)}`, name, type);
    this.#things = new Map(
      Object.entries(things).map(([type, names]) => [type, listOf(names).map(make(type))]),
    );
  }

  /** A file of the department: nearly always one of its own. */
  file(department: string): DemoFile {
    return this.#draw.pick(this.#shelfOf(department).files);
  }

  folder(department: string): DemoThing {
    return this.#draw.pick(this.#shelfOf(department).folders);
  }

  /** An audio or video file. */
  recording(): DemoFile {
    return this.#draw.pick(this.#recordings);
  }

  thing(type: ThingType): DemoThing {
    return this.#draw.pick(this.#things.get(type) ?? []);
  }

  #shelfOf(department: string): Shelf {
    const own = this.#draw.chance(0.85) ? this.#shelves.get(department) : undefined;
    return own ?? this.#all;
  }
}
